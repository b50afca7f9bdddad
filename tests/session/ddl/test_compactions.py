"""COMPACT, CONCATENATE, SHOW and ABORT COMPACTIONS; who carries compactions out is played by the
test. No Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from acidsql.ddl.compactions import COLUMNS, compact
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import BindError, ExecutionError
from acidsql.metastore.store import CommitFailedError
from acidsql.plan.plans import CatalogCommand
from acidsql.planner.bind.bound_transactions import BoundCompact
from acidsql.result import Result
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState

NOW = 1_700_000_000
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


class Time:
    """Epoch seconds; it stands still until a test moves it."""

    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def plain(warehouse: Path, time: Time) -> Iterator[Session]:
    """A session with tables to compact, that must not start Spark."""
    with Session(warehouse, clock=time) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
        session.sql("ALTER TABLE p ADD PARTITION (ds='a') PARTITION (ds='b')")
        yield session
        assert not session.spark_started


def run(
    session: Session,
    sql: str,
    *,
    sleep: Callable[[float], None],
    change: Callable[[Warehouse], Warehouse] = lambda warehouse: warehouse,
) -> Result:
    """Carries out a COMPACT whose pauses are ``sleep``. Unless ``change`` says otherwise every
    partition needs it, and others carry it out.
    """
    _, plan = session._spine.plan(sql)
    assert isinstance(plan, CatalogCommand)
    assert isinstance(plan.action, BoundCompact)
    warehouse = replace(
        session._spine._warehouse(),
        need_compaction=lambda table, partitions, type: [True for _ in partitions],
        compact_until=lambda compaction_ids: None,
        left_by_compactions=lambda table, entries: [],
    )
    return compact(change(warehouse), plan.action, sleep=sleep)


def never(seconds: float) -> None:
    raise AssertionError("there is nothing to wait for")


def rows(session: Session, sql: str) -> list[dict[str, str]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in session.sql(sql).rows()]


def work(session: Session) -> int:
    """Carries out the oldest compaction there is."""
    taken = session.store.next_compaction("node-1-7")
    assert taken is not None
    session.store.begin_compaction(taken.compaction_id)
    session.store.finish_compaction(taken.compaction_id)
    return taken.compaction_id


# ---- waiting


def test_and_wait_waits_until_it_is_ready_for_cleaning(plain: Session) -> None:
    """With growing pauses, up to the setting's; what Hive says comes as notes."""
    plain.sql("SET hive.compactor.wait.timeout=300")
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            work(plain)

    result = run(plain, "ALTER TABLE t COMPACT 'minor' AND WAIT", sleep=sleep)
    assert pauses == [0.1, 0.2, 0.3, 0.3]
    assert result.notes == (
        "Compaction enqueued with id 1",
        "Compaction with id 1 finished with status: ready for cleaning",
    )
    assert result.warnings == ()


def test_every_partition_is_waited_for(plain: Session) -> None:
    """However many there are."""
    result = run(plain, "ALTER TABLE p COMPACT 'minor' AND WAIT", sleep=lambda _: work(plain))
    assert result.notes == (
        "Compaction enqueued with id 1",
        "Compaction enqueued with id 2",
        "Compaction with id 1 finished with status: ready for cleaning",
        "Compaction with id 2 finished with status: ready for cleaning",
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (CompactionState.FAILED, "compaction 1 failed"),
        (CompactionState.REFUSED, "compaction 1 was refused"),
    ],
)
def test_what_came_to_nothing_is_warned_of(
    plain: Session, state: CompactionState, words: str
) -> None:
    """With the reason."""

    def sleep(seconds: float) -> None:
        assert plain.store.next_compaction("node-1-7") is not None
        plain.store.end_compaction(1, state, "because")

    result = run(plain, "ALTER TABLE t COMPACT 'minor' AND WAIT", sleep=sleep)
    assert result.notes[-1] == f"Compaction with id 1 finished with status: {state.words}"
    assert [(w.message, w.detail) for w in result.warnings] == [(words, "because")]


def test_a_table_that_is_dropped_ends_the_waiting(plain: Session) -> None:
    """In Hive's words."""
    sql = "ALTER TABLE t COMPACT 'minor' AND WAIT"
    with pytest.raises(ExecutionError, match="No suitable compaction found"):
        run(plain, sql, sleep=lambda _: plain.sql("DROP TABLE t") and None)


def test_ctrl_c_ends_the_waiting_alone(plain: Session) -> None:
    """The interrupt says, in Hive's words, that the compaction goes on."""

    def sleep(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run(plain, "ALTER TABLE t COMPACT 'minor' AND WAIT", sleep=sleep)
    assert caught.value.__notes__ == ["Interrupted while waiting for compaction with id=1"]
    assert [row["state"] for row in rows(plain, "SHOW COMPACTIONS")] == ["initiated"]


def test_who_waits_may_carry_it_out(plain: Session) -> None:
    """Where nobody else does; then there is no pause."""
    carried: list[list[int]] = []

    def compact_until(compaction_ids: Collection[int]) -> None:
        carried.append(list(compaction_ids))
        assert [work(plain) for _ in compaction_ids] == list(compaction_ids)

    run(
        plain,
        "ALTER TABLE p COMPACT 'major' AND WAIT",
        sleep=never,
        change=lambda warehouse: replace(warehouse, compact_until=compact_until),
    )
    assert carried == [[1, 2]]


def test_concatenate_is_a_major_compaction_that_is_waited_for(plain: Session) -> None:
    """Unless hive.transactional.concatenate.noblock is on."""
    result = run(plain, "ALTER TABLE t CONCATENATE", sleep=lambda _: work(plain))
    assert result.notes[-1] == "Compaction with id 1 finished with status: ready for cleaning"
    assert rows(plain, "SHOW COMPACTIONS")[0]["type"] == "MAJOR"
    plain.sql("SET hive.transactional.concatenate.noblock=true")
    result = run(plain, "ALTER TABLE p PARTITION (ds='b') CONCATENATE", sleep=never)
    assert result.notes == ("Compaction enqueued with id 2",)


def test_a_commit_without_an_answer_is_looked_up(
    plain: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker whose result was committed all the same is not told that it failed."""
    plain.sql("ALTER TABLE t COMPACT 'minor'")
    assert plain.store.next_compaction("node-1-7") is not None
    plain.store.begin_compaction(1)
    write = plain.store._store.write

    @contextmanager
    def no_answer(**options: bool) -> Iterator[Connection]:
        with write(**options) as connection:
            yield connection
        raise CommitFailedError("the connection went away")

    with monkeypatch.context() as broken:
        broken.setattr(plain.store._store, "write", no_answer)
        plain.store.finish_compaction(1)
        with pytest.raises(CommitFailedError):
            plain.store.mark_cleaned(1)
    assert [row["state"] for row in rows(plain, "SHOW COMPACTIONS")] == ["succeeded"]


# ---- what is asked for


@pytest.mark.parametrize("strict", [False, True])
def test_partitions_without_need_are_passed_over(plain: Session, strict: bool) -> None:
    """Unless they are named. It is said: as a note where there is nothing to do, as a warning where
    Hive's thresholds decline what could be done.
    """
    plain.sql(f"SET acidsql.strict.hive={strict}")

    def change(warehouse: Warehouse) -> Warehouse:
        return replace(
            warehouse,
            need_compaction=lambda table, partitions, type: [
                p.values == ("b",) for p in partitions
            ],
        )

    result = run(plain, "ALTER TABLE p COMPACT 'minor'", sleep=never, change=change)
    enqueued, *notes = result.notes
    assert enqueued == "Compaction enqueued with id 1"
    assert [warning.message for warning in result.warnings] == (
        ["Not enough deltas to initiate compaction for table=p partition=ds=a"] if strict else []
    )
    assert notes == (
        []
        if strict
        else [
            "nothing to compact in default.p partition ds=a: there are no two deltas to merge; a"
            " major compaction takes out what was deleted"
        ]
    )
    sql = "ALTER TABLE p PARTITION (ds='a') COMPACT 'minor'"
    assert run(plain, sql, sleep=never, change=change).notes == ("Compaction enqueued with id 2",)


def test_what_is_in_the_queue_already_is_declined_with_a_warning(plain: Session) -> None:
    """The other partitions are asked for; an error only where there are no others."""
    run(plain, "ALTER TABLE p PARTITION (ds='b') COMPACT 'major'", sleep=never)
    result = run(plain, "ALTER TABLE p COMPACT 'minor'", sleep=never)
    assert result.notes == ("Compaction enqueued with id 2",)
    assert [warning.message for warning in result.warnings] == [
        "Compaction request for default.p partition(ds=b) is refused, details: Compaction is"
        " already scheduled with state='initiated' and id=1."
    ]
    with pytest.raises(BindError):
        run(plain, "ALTER TABLE p COMPACT 'minor'", sleep=never)


def test_a_request_keeps_its_clauses(plain: Session) -> None:
    """For whoever carries it out."""
    plain.sql(
        "ALTER TABLE t COMPACT 'rebalance' CLUSTERED INTO 4 BUCKETS ORDER BY id DESC, abs(id)"
        " POOL 'night' WITH OVERWRITE TBLPROPERTIES ('compactor.a'='b', 'c'='')"
    )
    (entry,) = plain.store.compactions()
    asked = entry.request
    assert (asked.buckets, asked.order_by, asked.pool) == (4, "id DESC, abs(id)", "night")
    assert asked.properties == {"compactor.a": "b", "c": ""}
    assert asked.initiator == f"{plain.store.host}-manual"


def test_ready_for_cleaning_is_in_the_way_until_something_is_written(plain: Session) -> None:
    """As in Hive 4."""
    plain.sql("ALTER TABLE t COMPACT 'minor'")
    work(plain)
    with pytest.raises(BindError, match="state='ready for cleaning' and id=1") as caught:
        plain.sql("ALTER TABLE t COMPACT 'minor'")
    assert caught.value.code == 10432
    plain.sql("INSERT INTO t VALUES (1)")
    assert plain.sql("ALTER TABLE t COMPACT 'minor'").notes == ("Compaction enqueued with id 2",)


# ---- SHOW COMPACTIONS


def test_a_compaction_is_shown_through_its_life(plain: Session, time: Time) -> None:
    """Hive's values in each state; times in milliseconds."""
    start = NOW * 1000

    def shown() -> dict[str, str]:
        (row,) = rows(plain, "SHOW COMPACTIONS")
        return row

    plain.sql("ALTER TABLE t COMPACT 'minor'")
    first = shown()
    assert list(first.values()) == [
        "1", "default", "t", " --- ", "MINOR", "initiated", " --- ", " --- ", str(start),
        *[" --- "] * 4, plain.store.host, "manual", "default", "0", "0", "0", " --- ",
    ]  # fmt: skip
    time.now += 1
    assert plain.store.next_compaction("node-1-7") is not None
    txn_id = plain.store.begin_compaction(1).txn_id
    working = {
        "state": "working",
        "workerhost": "node-1",
        "workerid": "7",
        "starttime": str(start + 1000),
        "txnid": str(txn_id),
    }
    assert shown() == first | working
    time.now += 2
    plain.store.finish_compaction(1)
    ready = first | {
        "state": "ready for cleaning",
        "starttime": str(start + 1000),
        "txnid": str(txn_id),
        "nexttxnid": str(txn_id + 1),
        "committime": str(start + 3000),
    }
    assert shown() == ready
    time.now += 1
    plain.store.mark_cleaned(1)
    assert shown() == ready | {"state": "succeeded", "duration": "3000"}


def test_what_happened_last_is_shown_first(plain: Session, time: Time) -> None:
    """Whatever is only initiated comes at the end."""
    for sql in ("t", "p PARTITION (ds='a')", "p PARTITION (ds='b')"):
        plain.sql(f"ALTER TABLE {sql} COMPACT 'minor'")
    time.now += 1
    first = work(plain)
    time.now += 1
    second = work(plain)
    shown = [row["compactionid"] for row in rows(plain, "SHOW COMPACTIONS")]
    assert shown == [str(second), str(first), "3"]


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("compactionid DESC", "321"),
        ("tabname, partname DESC", "321"),
        ("poolname", "132"),
        ("type, compactionid", "231"),
        ("state DESC, compactionid DESC", "132"),
        ("starttime, compactionid", "231"),
        ("workerid, hadoopjobid, initiatorid, compactionid", "123"),
    ],
)
def test_order_by_orders(plain: Session, order: str, ids: str) -> None:
    """By several columns, each either way."""
    plain.sql("ALTER TABLE t COMPACT 'minor'")
    plain.sql("ALTER TABLE p PARTITION (ds='a') COMPACT 'major' POOL 'z'")
    plain.sql("ALTER TABLE p PARTITION (ds='b') COMPACT 'major'")
    work(plain)
    shown = [row["compactionid"] for row in rows(plain, f"SHOW COMPACTIONS ORDER BY {order}")]
    assert "".join(shown) == ids
