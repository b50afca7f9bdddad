"""What becomes of an entry of the queue in a worker's hands."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.catalog.statistics import BYTES, FILES, ROWS, is_accurate
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.cleaning import clean_all
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    REBALANCE,
    clean,
    directories,
    enqueue,
    entry,
    find,
    rows,
    work,
    worker,
)
from tests.compaction.tables import TABLES

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
READY, REFUSED, FAILED = (
    CompactionState.READY_FOR_CLEANING,
    CompactionState.REFUSED,
    CompactionState.FAILED,
)


def names_of(session: Session, table: str) -> list[str]:
    """All names in a table's directory, hidden ones too."""
    return sorted(p.name for p in Path(find(session, table).location).iterdir())


@pytest.mark.parametrize("name", TABLES)
def test_ids_stay(session: Session, tmp_path: Path, name: str) -> None:
    """Minor, then major: every row has the ROW__ID it had, nothing hidden is left, and the
    statistics count the rows that there are.
    """
    TABLES[name](session, tmp_path)
    table = find(session, "t")
    partitions = (
        ["p=x", "p=y", "p=__HIVE_DEFAULT_PARTITION__"] if table.partition_columns else [None]
    )
    before = rows(session, "t")
    for kind in (MINOR, MAJOR):
        for partition in partitions:
            done = work(session, "t", kind, partition)
            assert done.state in (READY, REFUSED), done.message
            if done.state is READY:
                assert done.highest_write_id is not None
                session.store.mark_cleaned(done.compaction_id)
        assert rows(session, "t") == before
        clean(session, "t")
        assert rows(session, "t") == before
    assert not any(name.startswith(".") for name in directories(session, "t"))
    assert all(t.state != "o" for t in session.store.list_txns())
    statistics = [p.statistics for p in session.store.list_partitions(table)]
    for one in statistics or [find(session, "t").statistics]:
        assert not is_accurate(one) or int(one[FILES]) >= 0
    if not table.partition_columns and is_accurate(find(session, "t").statistics):
        counted = find(session, "t").statistics
        files = [p for p in Path(table.location).rglob("bucket_*") if p.is_file()]
        assert int(counted[ROWS]) == len(before)
        assert int(counted[FILES]) == len(files)
        assert int(counted[BYTES]) == sum(p.stat().st_size for p in files)


def test_nothing_to_do(session: Session) -> None:
    """Without work the worker says so; an entry that asks for nothing is refused in Hive's words."""
    assert not worker(session).run_once()
    session.sql(f"CREATE TABLE t (id INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1)")
    done = work(session, "t", MINOR)
    assert done.state is REFUSED
    assert done.message == "None of the compaction thresholds met, compaction request is refused!"


def test_what_was_published_is_found(session: Session) -> None:
    """A result whose maker died before he could say so is what the next one finds: there is nothing
    to merge, but to clean.
    """
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    for number in range(3):
        session.sql(f"INSERT INTO t VALUES ({number}, 'v')")
    assert work(session, "t", MAJOR).state is READY
    again = enqueue_again(session)
    assert entry(session, again).state is READY
    assert directories(session, "t")[0] == "base_0000003"


def enqueue_again(session: Session) -> int:
    for one in session.store.compactions():
        session.store.mark_cleaned(one.compaction_id)
    compaction_id = enqueue(session, "t", MAJOR)
    assert worker(session).run_once()
    return compaction_id


def test_gone_and_forbidden(session: Session) -> None:
    """A table or partition that is gone, and a table that may not be compacted."""
    session.sql(f"CREATE TABLE t (id INT) PARTITIONED BY (p INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    missing = work(session, "t", MAJOR, "p=7")
    assert missing.state is REFUSED
    assert missing.message == (
        "Unable to find partition default.t.p=7, assuming it was dropped and moving on."
    )
    whole = work(session, "t", MAJOR)
    assert whole.state is READY
    none = work(session, "nothing", MAJOR)
    assert none.message == (
        "Unable to find table default.nothing, assuming it was dropped and moving on."
    )
    session.sql("CREATE TABLE plain (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='false')")
    assert work(session, "plain", MAJOR).state is REFUSED
    session.sql(f"CREATE TABLE b (id INT) CLUSTERED BY (id) INTO 2 BUCKETS {ACID}")
    session.sql("INSERT INTO b VALUES (1)")
    assert work(session, "b", REBALANCE).message == (
        "Cannot execute rebalancing compaction on bucketed tables."
    )


def test_a_damaged_file_fails_the_compaction(session: Session) -> None:
    """An error is noted with the entry and does not come out; the table is as it was."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    for number in range(3):
        session.sql(f"INSERT INTO t VALUES ({number}, 'v')")
    file = Path(find(session, "t").location, "delta_0000002_0000002_0000", "bucket_00000")
    file.write_bytes(b"not an ORC file")
    before = names_of(session, "t")
    done = work(session, "t", MAJOR)
    assert done.state is FAILED
    assert "bucket_00000" in (done.message or "")
    assert names_of(session, "t") == before
    assert all(t.state != "o" for t in session.store.list_txns())


def test_an_open_write_id_bounds_it(session: Session, warehouse: Path) -> None:
    """What is written above an open write id is left alone, and the open transaction commits."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a')")
    session.sql("INSERT INTO t VALUES (2, 'b')")
    with Session(str(warehouse), spark=session.engine.spark) as other:
        other.sql("START TRANSACTION")
        other.sql("INSERT INTO t VALUES (3, 'open')")
        session.sql("INSERT INTO t VALUES (4, 'above')")
        assert work(session, "t", MAJOR).state is READY
        assert "base_0000002" in directories(session, "t")
        other.sql("COMMIT")
    assert [row[3:] for row in rows(session, "t")] == [
        (1, "a"),
        (2, "b"),
        (3, "open"),
        (4, "above"),
    ]


CHANGES = (
    "UPDATE t SET v = 'new' WHERE id = 2",
    "DELETE FROM t WHERE id = 2",
    "INSERT INTO t VALUES (9, 'nine')",
    "INSERT OVERWRITE TABLE t VALUES (9, 'nine')",
    "MERGE INTO t USING (SELECT 2 AS i UNION ALL SELECT 8) s ON t.id = s.i"
    " WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (s.i, 'new')",
)


@pytest.mark.parametrize("granularity", ["row", "partition"])
@pytest.mark.parametrize("kind", [MAJOR, MINOR])
def test_no_writer_and_no_compaction_fails_the_other(
    session: Session, warehouse: Path, granularity: str, kind: object
) -> None:
    """Statements that begin before a compaction and commit behind it, or the other way round,
    change the rows they would have changed without it.
    """
    for statement in CHANGES:
        expected = None
        ways = (None, "writer first", "compaction first")
        for beside in ways:
            session.sql("DROP TABLE IF EXISTS t")
            session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
            for number in range(4):
                session.sql(f"INSERT INTO t VALUES ({number}, 'v')")
            session.sql("DELETE FROM t WHERE id = 3")
            with Session(str(warehouse), spark=session.engine.spark) as other:
                other.sql(f"SET acidsql.conflict.granularity={granularity}")
                run_beside(session, other, statement, kind, beside)
            values = sorted(session.sql("SELECT * FROM t").rows())
            expected = expected or values
            assert values == expected, (statement, beside)
            clean(session, "t")
            assert sorted(session.sql("SELECT * FROM t").rows()) == expected, (statement, beside)


def run_beside(
    session: Session, other: Session, statement: str, kind: object, beside: str | None
) -> None:
    match beside:
        case None:
            other.sql(statement)
        case "writer first":
            other.sql("START TRANSACTION")
            other.sql(statement)
            done = work(session, "t", kind)  # type: ignore[arg-type]
            locked = "OVERWRITE" in statement  # given back: the lock of an overwriting keeps it out
            assert done.state is (CompactionState.INITIATED if locked else READY)
            other.sql("COMMIT")
        case _:
            during(session, kind, lambda: other.sql(statement))


def during(session: Session, kind: object, run: object) -> None:
    """Has something run between the look at the inputs and the publishing of a compaction."""

    def hook(point: str) -> None:
        if point == "compaction staged":
            crash_points.hook = None
            run()  # type: ignore[operator]

    crash_points.hook = hook
    try:
        assert work(session, "t", kind).state is READY  # type: ignore[arg-type]
    finally:
        crash_points.hook = None


@pytest.mark.parametrize("properties", ["", "'transactional_properties'='insert_only', "])
@pytest.mark.parametrize("statement", ["INSERT OVERWRITE TABLE t VALUES (9)", "TRUNCATE TABLE t"])
def test_an_overwriting_between_is_what_counts(
    session: Session, warehouse: Path, properties: str, statement: str
) -> None:
    """Its rows and its numbers; cleaning takes away the result with what it was made from."""
    session.sql(
        f"CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ({properties}'transactional'='true')"
    )
    for number in range(3):
        session.sql(f"INSERT INTO t VALUES ({number})")
    with Session(str(warehouse), spark=session.engine.spark) as other:
        during(session, MAJOR, lambda: other.sql(statement))
    left = [(9,)] if "INSERT" in statement else []
    assert list(session.sql("SELECT * FROM t").rows()) == left
    statistics = find(session, "t").statistics
    assert (statistics[FILES], statistics[ROWS]) == (str(len(left)), str(len(left)))
    clean_all(session)
    assert work(session, "t", MAJOR).state is READY
    clean_all(session)
    assert directories(session, "t") == ["base_0000004"]
    assert list(session.sql("SELECT * FROM t").rows()) == left


def test_a_reader_with_an_older_snapshot(session: Session, warehouse: Path) -> None:
    """A transaction that began before others wrote and compacted sees its rows until it ends: of
    tables with and without ROW__IDs.
    """
    for properties in (
        "'transactional'='true'",
        "'transactional'='true', 'transactional_properties'='insert_only'",
    ):
        for kind in (MINOR, MAJOR):
            session.sql("DROP TABLE IF EXISTS t")
            session.sql(f"CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ({properties})")
            session.sql("INSERT INTO t VALUES (1)")
            session.sql("INSERT INTO t VALUES (2)")
            with Session(str(warehouse), spark=session.engine.spark) as other:
                other.sql("START TRANSACTION")
                assert sorted(other.sql("SELECT * FROM t").rows()) == [(1,), (2,)]
                session.sql("INSERT INTO t VALUES (3)")
                assert work(session, "t", kind).state is READY
                assert sorted(other.sql("SELECT * FROM t").rows()) == [(1,), (2,)]
                other.sql("ROLLBACK")
            assert sorted(session.sql("SELECT * FROM t").rows()) == [(1,), (2,), (3,)]
