"""Metrics under Hive's names, as OpenMetrics text that a strict reader takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.model import TableName
from acidsql.compaction.metrics import HIVE_COUNTERS, Family, Sample, openmetrics, render
from acidsql.session import Session
from acidsql.txn.compactions import CompactionRequest, CompactionState, CompactionType
from tests.compaction.openmetrics import ParsedFamily, parse_openmetrics

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NOW = 1_700_000_000.0
T = TableName("default", "t")
HIVES = """
compaction_num_initiated compaction_num_working compaction_num_ready_for_cleaning
compaction_num_succeeded compaction_num_failed compaction_num_did_not_initiate
compaction_num_refused compaction_num_aborted compaction_oldest_enqueue_age_in_sec
compaction_oldest_working_age_in_sec compaction_oldest_cleaning_age_in_sec
oldest_ready_for_cleaning_age_in_sec compaction_pools_initiated_item_count
compaction_pools_working_item_count compaction_pools_oldest_enqueue_age_in_sec
compaction_pools_oldest_working_age_in_sec compaction_num_initiators compaction_num_workers
compaction_num_initiator_versions compaction_num_worker_versions num_open_non_repl_transactions
oldest_open_non_repl_txn_id oldest_open_non_repl_txn_age_in_sec num_open_repl_transactions
oldest_open_repl_txn_id oldest_open_repl_txn_age_in_sec num_aborted_transactions
oldest_aborted_txn_id oldest_aborted_txn_age_in_sec num_locks oldest_lock_age_in_sec
compaction_num_active_deltas compaction_num_obsolete_deltas compaction_num_small_deltas
"""


@pytest.fixture
def clock() -> list[float]:
    return [NOW]


@pytest.fixture
def session(warehouse: Path, clock: list[float]) -> Iterator[Session]:
    """A session that needs no Spark, whose time stands still."""
    with Session(warehouse, metastore="", clock=lambda: clock[0]) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        yield session


def metrics(session: Session, now: float, **counters: float) -> dict[str, ParsedFamily]:
    return parse_openmetrics(
        openmetrics(session.store, session.files, session.settings, now=now, counters=counters)
    )


def value(families: dict[str, ParsedFamily], name: str, **labels: str) -> float:
    return families[name].samples[tuple(sorted(labels.items()))]


def test_every_name_of_hive_is_there(session: Session) -> None:
    """Also an idle store tells all numbers, each with what it means."""
    families = metrics(session, NOW)
    assert set(families) == set(HIVES.split())
    assert all(family.help for family in families.values())
    assert all(sum(family.samples.values()) == 0 for family in families.values())


def test_queue_and_ages(session: Session, clock: list[float]) -> None:
    """Entries are counted by state, and the oldest one that waits has its age."""
    session.store.enqueue_compaction(
        CompactionRequest(table=T, partition=None, type=CompactionType.MINOR, initiator="h-1")
    )
    clock[0] = NOW + 90
    families = metrics(session, clock[0])
    assert value(families, "compaction_num_initiated") == 1
    assert value(families, "compaction_oldest_enqueue_age_in_sec") == 90
    assert value(families, "compaction_pools_initiated_item_count", pool="default") == 1
    assert value(families, "compaction_num_initiators") == 1
    session.store.note_compaction(
        CompactionRequest(table=T, partition=None, type=CompactionType.MINOR, initiator="h-1"),
        CompactionState.DID_NOT_INITIATE,
        "too often",
    )
    families = metrics(session, clock[0])
    assert value(families, "compaction_num_did_not_initiate") == 1
    assert value(families, "compaction_num_initiated") == 0


def test_transactions_locks_and_deltas(session: Session, clock: list[float]) -> None:
    """Open and aborted transactions, locks and the deltas of each table are counted."""
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    aborted = session.store.open_txn()
    session.store.allocate_write_id(aborted, T)
    session.store.abort(aborted)
    still_open = session.store.open_txn()
    clock[0] = NOW + 60
    families = metrics(session, clock[0])
    assert value(families, "num_open_non_repl_transactions") == 1
    assert value(families, "oldest_open_non_repl_txn_id") == still_open
    assert value(families, "oldest_open_non_repl_txn_age_in_sec") == 60
    assert value(families, "num_aborted_transactions") == 1
    assert value(families, "oldest_aborted_txn_id") == aborted
    labels = {"database": "default", "table": "t"}
    assert value(families, "compaction_num_active_deltas", **labels) == 2
    session.sql("TRUNCATE TABLE t")
    families = metrics(session, clock[0])
    assert value(families, "compaction_num_obsolete_deltas", **labels) == 2


def test_a_table_that_cannot_be_read_hides_no_other(session: Session, warehouse: Path) -> None:
    """Metrics go on where one directory is not Hive's."""
    session.sql(f"CREATE TABLE good (id INT) {ACID}")
    session.sql("INSERT INTO good VALUES (1)")
    (warehouse / "t" / "delta_nonsense").mkdir(parents=True)
    families = metrics(session, NOW)
    labels = {"database": "default", "table": "good"}
    assert value(families, "compaction_num_active_deltas", **labels) == 1


def test_counters_of_a_process(session: Session) -> None:
    """Whoever runs the threads hands in what they have counted."""
    families = metrics(session, NOW, **dict.fromkeys(HIVE_COUNTERS, 3))
    for name in HIVE_COUNTERS:
        assert families[name].kind == "counter"
        assert value(families, name) == 3


@given(st.dictionaries(st.sampled_from(["table", "partition"]), st.text()), st.floats())
def test_labels_are_escaped(labels: dict[str, str], number: float) -> None:
    """Whatever a name holds, a reader gets it back, and no more than one sample."""
    family = Family(
        name="m", kind="gauge", help='a "b"\\\nc', samples=[Sample(value=number, labels=labels)]
    )
    (sample,) = parse_openmetrics(render([family]))["m"].samples.items()
    assert sample[0] == tuple(sorted(labels.items()))
    assert sample[1] == number or number != number


def test_a_name_that_is_none_is_refused() -> None:
    """A metric of another alphabet would make the whole text unreadable."""
    with pytest.raises(ValueError, match="no name"):
        render([Family(name="a-b", kind="gauge", help="", samples=[])])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# TYPE a gauge\na 1\n",
        "a 1\n# EOF\n",
        "# TYPE a gauge\nb 1\n# EOF\n",
        "# TYPE a counter\na 1\n# EOF\n",
        '# TYPE a gauge\na{x="1",} 1\n# EOF\n',
        '# TYPE a gauge\na{x="""} 1\n# EOF\n',
        "# TYPE a gauge\na 1\na 2\n# EOF\n",
        "# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n",
    ],
)
def test_the_checker_is_strict(text: str) -> None:
    """What OpenMetrics does not allow the checker of these tests does not, either."""
    with pytest.raises(AssertionError):
        parse_openmetrics(text)
