"""What programs do with a result, and that its rows are those of its statement's snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import InterfaceError, SnapshotTooOldError
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


def test_rows_that_others_took_away_are_told_of(alone: Session) -> None:
    """With an error that may be retried, not with whatever a reader of files says."""
    late = alone.sql("SELECT * FROM t")
    with alone.open_beside() as other:
        other.sql("DROP TABLE t")
    with pytest.raises(SnapshotTooOldError, match=r"rows of table default\.t are gone") as caught:
        late.fetchall()
    assert caught.value.retryable


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
