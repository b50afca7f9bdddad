"""What a query has chosen stays until its rows have come, or it says that it is not there any more:
results that are fetched late, DataFrames, transactions, other processes.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.catalog.model import TableName
from acidsql.errors import SnapshotTooOldError
from acidsql.session import Session
from acidsql.txn.compactions import CompactionType
from tests.compaction.cleaning import ACID, clean_all, queued, states
from tests.compaction.compacting import MAJOR, MINOR, directories
from tests.contracts import Clock

pytestmark = pytest.mark.spark

BEFORE = [(1, 10), (2, 20), (3, 30)]
QUERY = "SELECT * FROM t ORDER BY id"


@pytest.fixture
def other(session: Session, warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """Another session, which compacts and cleans. The table ``t`` has three rows and a delete."""
    for statement in (
        f"CREATE TABLE t (id INT, n INT) {ACID}",
        "INSERT INTO t VALUES (1, 10), (2, 0)",
        "INSERT INTO t VALUES (3, 30)",
        "UPDATE t SET n = 20 WHERE id = 2",
    ):
        session.sql(statement)
    with Session(str(warehouse), spark=spark) as opened:
        yield opened


def change_and_compact(session: Session) -> None:
    """All rows are others afterwards, and what was before is obsolete."""
    session.sql("UPDATE t SET n = -1")
    queued(session, "t", MAJOR)
    clean_all(session)


def is_clean(session: Session) -> bool:
    clean_all(session)
    return states(session) == ["succeeded"]


@pytest.mark.parametrize("locks", ["true", "false"])
def test_rows_that_are_fetched_late_are_those_of_the_statement(
    session: Session, other: Session, locks: str
) -> None:
    """Its files stay until then and no longer, with Hive's locks and without."""
    session.sql(f"SET hive.support.concurrency={locks}")
    result = session.sql(QUERY)
    change_and_compact(other)
    assert not is_clean(other)
    assert list(result.rows()) == BEFORE
    assert is_clean(other)
    assert list(result.rows()) == BEFORE
    assert [tuple(row) for row in result.df.collect()] == BEFORE


def test_a_dataframe_keeps_its_files_until_the_session_is_closed(
    other: Session, warehouse: Path, spark: SparkSession
) -> None:
    """However often it is used, though its result is gone and its rows were fetched."""
    with Session(str(warehouse), spark=spark) as reading:
        result = reading.sql(QUERY)
        frame = result.df
        assert list(result.rows()) == BEFORE
        del result
        gc.collect()
        change_and_compact(other)
        for _ in range(2):
            assert not is_clean(other)
            assert [tuple(row) for row in frame.collect()] == BEFORE
    assert is_clean(other)


def test_a_result_that_nobody_has_any_more_keeps_nothing(session: Session, other: Session) -> None:
    """Once its session has told so, with its next statement."""
    result = session.sql(QUERY)
    change_and_compact(other)
    del result
    gc.collect()
    session.sql("SELECT count(*) FROM t").to_arrow()
    assert is_clean(other)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_result_outlives_its_transaction(session: Session, other: Session, end: str) -> None:
    """And a DataFrame, though the transaction kept their files until then."""
    session.sql("START TRANSACTION")
    result, frame = session.sql(QUERY), session.sql(QUERY).df
    change_and_compact(other)
    session.sql(end)
    assert not is_clean(other)
    assert list(result.rows()) == BEFORE
    assert [tuple(row) for row in frame.collect()] == BEFORE
    session.close()
    assert is_clean(other)


def test_a_transaction_keeps_all_that_it_has_seen(session: Session, other: Session) -> None:
    """It reads the same rows again, as often as it likes."""
    session.sql("START TRANSACTION")
    assert list(session.sql(QUERY).rows()) == BEFORE
    change_and_compact(other)
    assert not is_clean(other)
    assert list(session.sql(QUERY).rows()) == BEFORE
    session.sql("COMMIT")
    assert is_clean(other)


@pytest.mark.parametrize("ask", ["rows", "df"])
def test_a_lease_that_has_ended_is_an_error(
    warehouse: Path, other: Session, spark: SparkSession, ask: str
) -> None:
    """It says what to do; fewer rows never come."""
    clock = Clock()
    settings = {"acidsql.reader.lease": "100s", "hive.txn.timeout": "1000s"}
    with Session(str(warehouse), spark=spark, settings=settings, clock=clock) as reading:
        result = reading.sql(QUERY)
        clock.now += 101
        reading.sql("UPDATE t SET n = -1")
        queued(reading, "t", MINOR)
        clean_all(reading)
        queued(reading, "t", MAJOR)
        clean_all(reading)
        assert directories(reading, "t") == ["base_0000004"]
        with pytest.raises(SnapshotTooOldError, match="not kept for it any more") as caught:
            list(result.rows()) if ask == "rows" else result.df
        assert caught.value.retryable
        assert "acidsql.reader.lease" in str(caught.value)
        assert [n for _, n in reading.sql(QUERY).rows()] == [-1, -1, -1]


def test_a_statement_that_lost_its_files_gives_no_rows(session: Session, other: Session) -> None:
    """Even where it came to an end, as its files might have gone while it looked for them."""
    result = session.sql(QUERY)
    other.store.close_readers([one.reader_id or 0 for one in other.store.list_readers()])
    with pytest.raises(SnapshotTooOldError):
        list(result.rows())


def test_a_transaction_that_asks_too_late_is_told_so(session: Session, other: Session) -> None:
    """A base has taken the place of what it would have read; it may be run again."""
    other.sql("START TRANSACTION")
    other.sql("UPDATE t SET n = 0 WHERE id = 1")
    with session.begin_work() as late:
        other.sql("COMMIT")
        queued(other, "t", MAJOR)
        clean_all(other)
        with pytest.raises(SnapshotTooOldError, match="too old to read"):
            late.txn.write_ids(TableName("default", "t"))
    assert [n for _, n in session.sql(QUERY).rows()] == [0, 20, 30]


@pytest.mark.parametrize("kind", [MINOR, MAJOR])
def test_an_insert_only_table_keeps_its_files(
    session: Session, other: Session, kind: CompactionType
) -> None:
    """Its rows do not tell who wrote them, so an old reader needs what was before."""
    properties = "'transactional'='true', 'transactional_properties'='insert_only'"
    session.sql(f"CREATE TABLE m (id INT) STORED AS ORC TBLPROPERTIES ({properties})")
    session.sql("INSERT INTO m VALUES (1)")
    other.sql("START TRANSACTION")
    other.sql("INSERT INTO m VALUES (2)")
    session.sql("START TRANSACTION")
    assert list(session.sql("SELECT id FROM m").rows()) == [(1,)]
    with session.begin_work() as late:
        other.sql("COMMIT")
        queued(other, "m", kind)
        clean_all(other)
        assert list(session.sql("SELECT id FROM m").rows()) == [(1,)]
        session.sql("COMMIT")
        clean_all(other)
        assert states(other) == ["succeeded"]
        with pytest.raises(SnapshotTooOldError):
            late.txn.write_ids(TableName("default", "m"))
    assert sorted(session.sql("SELECT id FROM m").rows()) == [(1,), (2,)]


READER = """
import sys
from acidsql.session import Session
with Session(sys.argv[1]) as session:
    session.begin()
    session.sql("SELECT count(*) FROM t").to_arrow()
    print("reading", flush=True)
    sys.stdin.readline()
"""


def test_a_process_keeps_its_tables_files_and_no_others(session: Session, other: Session) -> None:
    """While it lives: killed, it keeps nothing."""
    session.sql(f"CREATE TABLE u (id INT) {ACID}")
    session.sql("INSERT INTO u VALUES (1)")
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, session.warehouse],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        text=True,
    )
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        session.sql("INSERT INTO u VALUES (2)")
        queued(other, "t", MAJOR)
        queued(other, "u", MAJOR)
        clean_all(other)
        assert states(other) == ["ready for cleaning", "succeeded"]
        reader.kill()
        reader.wait(60)
        clean_all(other)
    assert states(other) == ["succeeded", "succeeded"]
