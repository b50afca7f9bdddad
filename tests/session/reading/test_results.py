"""What programs do with a result, and that its rows are those of its statement's snapshot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import DataError, InterfaceError, SnapshotTooOldError
from acidsql.files.local_files import LocalFileIO
from acidsql.result import tuples_of
from acidsql.session import Session
from tests.compaction.cleaning import clean_all, queued, states
from tests.compaction.compacting import MAJOR

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(params=[ACID, "STORED AS ORC"], ids=["acid", "plain"])
def alone(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session without Spark, with a table and one that has partitions, of both kinds."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING) {request.param}")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
        session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {request.param}")
        session.sql("INSERT INTO p VALUES (1, 1), (2, NULL)")
        yield session


def test_rows_are_iterated_counted_and_fetched(alone: Session) -> None:
    """Each iteration begins at the first row; what was fetched is not fetched again."""
    result = alone.sql("SELECT * FROM t ORDER BY id")
    assert list(result) == list(result) == [(1, "a"), (2, None)]
    assert len(result) == 2
    assert result.fetchone() == (1, "a")
    assert result.fetchall() == [(2, None)]
    assert (result.fetchone(), result.fetchall()) == (None, [])
    assert alone.sql("SELECT id FROM t WHERE id > 9")  # a result is true, also without rows


def test_a_result_without_rows_says_so(alone: Session) -> None:
    """It has counts instead."""
    done = alone.sql("INSERT INTO t VALUES (3, 'c')")
    with pytest.raises(InterfaceError, match="gives no rows"):
        len(done)
    with pytest.raises(InterfaceError, match="gives no rows"):
        list(done)
    assert str(done) == "INSERT: 1 row inserted"
    assert str(alone.sql("CREATE TABLE u (id INT)")) == "CREATE TABLE: done"


def test_a_result_is_printed_as_a_table(alone: Session) -> None:
    """Numbers to the right, long cells cut, control characters visible; IPython shows the same."""
    result = alone.sql(
        "SELECT id, concat(coalesce(name, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'), '\\n', '日本') s FROM t ORDER BY id"
    )
    text = "\n".join(
        [
            "+----+" + "-" * 42 + "+",
            "| id | s" + " " * 40 + "|",
            "+----+" + "-" * 42 + "+",
            "|  1 | a\\n日本" + " " * 34 + "|",
            "|  2 | " + "x" * 39 + "… |",
            "+----+" + "-" * 42 + "+",
            "2 rows",
        ]
    )
    assert str(result) == text
    shown: list[str] = []

    class Printer:
        text = staticmethod(shown.append)

    result._repr_pretty_(Printer(), cycle=False)
    assert shown == [text]
    plan = str(alone.sql("EXPLAIN SELECT id, name FROM t WHERE id > 1 ORDER BY name"))
    assert "…" not in plan
    alone.register("many", pa.table({"n": pa.array(range(1234), pa.int32())}))
    lines = str(alone.sql("SELECT n FROM many")).splitlines()
    assert (len(lines), lines[-1]) == (25, "1,234 rows, 1,214 of them not shown")
    assert str(alone.sql("SELECT n FROM many WHERE n < 0")).splitlines()[-1] == "0 rows"


def test_frames_have_types(alone: Session) -> None:
    """Arrow's are those of the columns; pandas can be asked to keep them."""
    result = alone.sql("SELECT id, CAST(1.5 AS DECIMAL(3,1)) d, CAST(NULL AS BIGINT) b FROM t")
    assert result.to_arrow().schema.types == [pa.int32(), pa.decimal128(3, 1), pa.int64()]
    typed = result.to_pandas(arrow_types=True)
    assert list(typed.dtypes) == [pd.ArrowDtype(kind) for kind in result.to_arrow().schema.types]
    assert list(typed["d"]) == [Decimal("1.5")] * 2
    assert str(result.to_pandas()["b"].dtype) == "float64"


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE t"],
        ["DROP TABLE t PURGE", "CREATE TABLE t (other STRING)"],
        ["TRUNCATE TABLE t"],
        ["INSERT OVERWRITE TABLE t VALUES (7, 'z')"],
        ["ALTER TABLE t RENAME TO u"],
        ["DROP DATABASE default CASCADE"],
    ],
)
def test_rows_outlive_their_table(alone: Session, statements: list[str]) -> None:
    """Whatever the session does to it before they are fetched; what is not read is left alone."""
    if "DATABASE" in statements[0]:
        statements = ["CREATE DATABASE d", "ALTER TABLE t RENAME TO d.t", "DROP DATABASE d CASCADE"]
    late, other = alone.sql("SELECT * FROM t ORDER BY id"), alone.sql("SELECT * FROM p")
    for statement in statements:
        alone.sql(statement)
    assert late.fetchall() == [(1, "a"), (2, None)]
    assert "_table" not in vars(other)


def test_rows_outlive_their_partition(alone: Session) -> None:
    """One that is dropped."""
    late = alone.sql("SELECT id FROM p WHERE k = 1")
    alone.sql("ALTER TABLE p DROP PARTITION (k = 1)")
    assert late.fetchall() == [(1,)]


MOVED_AWAY = {
    "dropped": ("t", "DROP TABLE t"),
    "made anew": ("t", "DROP TABLE t", "CREATE TABLE t LIKE t2", "INSERT INTO t SELECT * FROM t2"),
    "renamed": (
        "t",
        "ALTER TABLE t RENAME TO u",
        "CREATE TABLE t LIKE t2",
        "INSERT INTO t SELECT * FROM t2",
    ),
    "partition": ("p", "ALTER TABLE p DROP PARTITION (k = 1)"),
    "partition made anew": (
        "p",
        "ALTER TABLE p DROP PARTITION (k = 1)",
        "INSERT INTO p PARTITION (k = 1) VALUES (9)",
    ),
    "partition renamed": ("p", "ALTER TABLE p PARTITION (k = 1) RENAME TO PARTITION (k = 2)"),
}


@pytest.mark.parametrize("case", MOVED_AWAY)
@pytest.mark.parametrize("locks", ["true", "false"])
def test_rows_outlive_what_others_move_away(alone: Session, case: str, locks: str) -> None:
    """Others may have files of the same names there by now (see test_dropped for processes)."""
    table, *statements = MOVED_AWAY[case]
    alone.sql("CREATE TABLE t2 LIKE t")
    alone.sql("INSERT INTO t2 VALUES (5, 'other')")
    alone.sql(f"SET hive.support.concurrency = {locks}")
    late = alone.sql(f"SELECT id FROM {table} ORDER BY id")
    with alone.open_beside() as other:
        for statement in statements:
            other.sql(statement)
    assert late.fetchall() == [(1,), (2,)]


TAKEN_AWAY = {
    "truncated": ("plain", "TRUNCATE TABLE plain"),
    "overwritten": ("plain", "INSERT OVERWRITE TABLE plain VALUES (9, 'z')"),
    "filled again": ("plain", "TRUNCATE TABLE plain", "INSERT INTO plain VALUES (9, 'z')"),
}


@pytest.mark.parametrize("case", TAKEN_AWAY)
@pytest.mark.parametrize("locks", ["true", "false"])
def test_rows_are_the_snapshot_s_or_none(alone: Session, case: str, locks: str) -> None:
    """Others may have files of the same names there by now: that, too, is an error that may be
    retried, and never other rows or fewer.
    """
    table, *statements = TAKEN_AWAY[case]
    alone.sql("CREATE TABLE plain (id INT, v STRING) STORED AS ORC")
    alone.sql("INSERT INTO plain VALUES (5, 'other')")
    alone.sql(f"SET hive.support.concurrency = {locks}")
    late = alone.sql(f"SELECT id FROM {table}")
    with alone.open_beside() as other:
        for statement in statements:
            other.sql(statement)
    with pytest.raises(SnapshotTooOldError) as caught:
        late.fetchall()
    assert caught.value.retryable
    assert "before they were fetched" in caught.value.message


def test_rows_that_no_program_of_ours_took_away_are_told_of(alone: Session) -> None:
    """With an error that may be retried, not with whatever a reader of files says."""
    late = alone.sql("SELECT * FROM t")
    shutil.rmtree(Path(alone.warehouse, "t"))
    with pytest.raises(SnapshotTooOldError, match="are not what the statement saw") as caught:
        late.fetchall()
    assert caught.value.retryable


@pytest.mark.parametrize("begin", [(), ("START TRANSACTION",)])
def test_rows_that_go_while_they_are_looked_for(
    alone: Session, monkeypatch: pytest.MonkeyPatch, begin: tuple[str, ...]
) -> None:
    """Where no lock keeps others out: the statement fails as one whose rows come late."""
    alone.sql("CREATE TABLE plain (id INT) STORED AS ORC")
    alone.sql("INSERT INTO plain VALUES (1)")
    alone.sql("SET hive.support.concurrency = false")
    read_tail, truncated = LocalFileIO.read_tail, []

    def slow_read_tail(io: LocalFileIO, path: str, count: int) -> tuple[bytes, int]:
        if not truncated:
            truncated.append(path)
            with alone.open_beside() as other:
                other.sql("TRUNCATE TABLE plain")
        return read_tail(io, path, count)

    for statement in begin:
        alone.sql(statement)
    monkeypatch.setattr(LocalFileIO, "read_tail", slow_read_tail)
    with pytest.raises(SnapshotTooOldError, match="are not what the statement saw"):
        alone.sql("SELECT * FROM plain")
    assert truncated


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "case"),
    [
        *product(
            (ACID, "STORED AS ORC", "STORED AS PARQUET"),
            ("partition made anew", "made anew", "renamed"),
        ),
        ("STORED AS ORC", "truncated"),
    ],
)
def test_rows_of_spark_are_the_snapshot_s_or_none(session: Session, case: str, kind: str) -> None:
    """The same where Spark reads them."""
    table, *statements = (MOVED_AWAY | TAKEN_AWAY)[case]
    if table == "p":
        session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {kind}")
        session.sql("INSERT INTO p PARTITION (k = 1) VALUES (1)")
    else:
        for name, value in ((table, 1), ("t2", 2)):
            session.sql(f"CREATE TABLE {name} (id INT, v STRING) {kind}")
            session.sql(f"INSERT INTO {name} VALUES ({value}, 'other')")
    session.sql("SET acidsql.engine = spark")
    late = session.sql(f"SELECT id, rand() < 2 r FROM {table}")
    with session.open_beside() as other:
        for statement in statements:
            other.sql(statement)
    if case in MOVED_AWAY:
        assert late.fetchall() == [(1, True)]
    else:
        with pytest.raises(SnapshotTooOldError, match="before they were fetched"):
            late.fetchall()


@pytest.mark.spark
def test_rows_outlive_a_compaction(session: Session) -> None:
    """And the cleaning behind it, which waits for them."""
    session.sql(f"CREATE TABLE t (id INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    late = session.sql("SELECT id FROM t ORDER BY id")
    session.sql("TRUNCATE TABLE t")
    session.sql("INSERT INTO t VALUES (9)")
    queued(session, "t", MAJOR)
    clean_all(session)
    assert late.fetchall() == [(1,), (2,)]
    del late
    clean_all(session)
    assert states(session) == ["succeeded"]
    assert session.store.find_table(TableName("default", "t")) is not None


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.list_(pa.date32())])
@pytest.mark.parametrize("days", [2_932_897, -719_163])
def test_times_that_python_has_not_are_an_error_of_the_data(kind: pa.DataType, days: int) -> None:
    """10000-01-01 and 0000-12-31, alone and inside others; no bug of acidsql's is reported."""
    day = pa.array([days], pa.int32()).cast(pa.date32())
    column = pa.array([[None, day[0]]], kind) if pa.types.is_list(kind) else day.cast(kind)
    with pytest.raises(DataError, match="years 1 to 9999"):
        list(tuples_of(pa.record_batch([column], ["x"])))
