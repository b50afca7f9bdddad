"""Frames on Spark: its own DataFrames, and rows that are the same whoever reads them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    ColumnNotFoundError,
    ExecutionError,
    ParseError,
    TableNotFoundError,
)
from acidsql.session import Session

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def table(session: Session) -> Session:
    """A session on the shared Spark, with a table."""
    session.sql(f"CREATE TABLE t (id INT, name VARCHAR(3), n DECIMAL(12,2)) {ACID}")
    return session


def _rows(session: Session) -> list[tuple[Any, ...]]:
    return sorted(session.sql("SELECT * FROM t"), key=repr)


def test_a_frame_of_spark_becomes_a_table(session: Session, spark: SparkSession) -> None:
    """By the columns of the frame; those that have no type are refused."""
    frame = spark.sql("SELECT id, CAST(id % 2 AS STRING) AS Part, id * 1.5BD AS n FROM range(4)")
    session.create_table("made", frame, ["part"])
    assert sorted(session.sql("SELECT * FROM made")) == [
        (0, Decimal("0.0"), "0"),
        (1, Decimal("1.5"), "1"),
        (2, Decimal("3.0"), "0"),
        (3, Decimal("4.5"), "1"),
    ]
    with pytest.raises(BindError, match="VOID"):
        session.create_table("other", spark.sql("SELECT NULL AS v"))


def test_frames_of_spark_are_taken(table: Session, spark: SparkSession) -> None:
    """By name, as views of its session that are gone afterwards."""
    frame = spark.sql(
        "SELECT 'a' NAME, 1 id, CAST(1.5 AS DECIMAL(3,1)) n UNION ALL SELECT NULL, 2, 2"
    )
    t = table.table("t")
    assert t.append(frame).stats.rows_inserted == 2
    assert _rows(table) == [(1, "a", Decimal("1.50")), (2, None, Decimal("2.00"))]
    stats = t.merge(frame.selectExpr("id + 1 AS id", "'b' AS name", "n"), on=["id"]).stats
    assert (stats.rows_updated, stats.rows_inserted) == (1, 1)
    assert (
        t.overwrite(table.sql("SELECT id, name, n FROM t WHERE id > 1").df).stats.rows_inserted == 2
    )
    assert [row[0] for row in _rows(table)] == [2, 3]
    assert "acidsql_frame_" in t.explain().append(frame)
    # spark.catalog fails in a thread whose last session compiled no code
    assert not spark.sql("SHOW VIEWS").where("viewName LIKE 'acidsql_frame%'").collect()


def test_types_of_a_frame_of_spark(table: Session, spark: SparkSession) -> None:
    """Nothing is known of its rows but their types: those that may lose are refused."""
    t = table.table("t")
    with pytest.raises(BindError, match='column "id" is of type int, that of the frame bigint'):
        t.append(spark.sql("SELECT CAST(1 AS BIGINT) id, 'a' name, 1 n"))
    with pytest.raises(ColumnNotFoundError, match='it has no "n", and the table has no "m"'):
        t.append(spark.sql("SELECT 1 id, 'a' name, 1 m"))
    with pytest.raises(ExecutionError, match=r'column "name" of type varchar\(3\) cannot hold'):
        t.append(spark.sql("SELECT 1 id, 'abcd' name, 1 n"))
    assert _rows(table) == []


def test_a_registered_frame_of_spark(table: Session, spark: SparkSession) -> None:
    """It is a view under its name until it is unregistered; another's view is not taken."""
    spark.sql("SELECT 5 x").createOrReplaceTempView("of_others")
    with pytest.raises(AlreadyExistsError, match="has a view"):
        table.register("of_others", spark.sql("SELECT 1 x"))
    table.register("df", spark.sql("SELECT 1 id, 'a' name"))
    assert table.sql("INSERT INTO t (id, name) SELECT * FROM df").stats.rows_inserted == 1
    assert table.sql("SELECT t.n, df.name FROM t JOIN df ON t.id = df.id").fetchall() == [
        (None, "a")
    ]
    table.unregister("df")
    with pytest.raises(BindError, match="Table not found"):
        table.sql("SELECT * FROM df")
    assert spark.catalog.dropTempView("of_others")


NAMES = ("$X/p", "a b", "a`b", "a.b", "1/0", "SELECT", "", "x\x00y", "ü")
"""Names that Spark's parser does not take as they are."""


@pytest.mark.parametrize("name", NAMES)
def test_views_of_spark_have_any_name(table: Session, spark: SparkSession, name: str) -> None:
    """Those that are none are told so in words of ours."""
    quoted = f"`{name.replace('`', '``')}`"
    with pytest.raises(TableNotFoundError, match="Table not found"):
        table.sql(f"SELECT * FROM {quoted}")
    with pytest.raises((TableNotFoundError, ParseError)):
        table.sql(f"SELECT * FROM .{quoted}")
    if name:
        spark.sql("SELECT 5 x").createOrReplaceTempView(quoted)
        try:
            assert table.sql(f"SELECT x FROM {quoted}").fetchall() == [(5,)]
        finally:
            assert spark.catalog.dropTempView(name)


def test_a_session_whose_java_is_gone_is_closed(
    session: Session, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no views to take away any more."""

    def refuse(_: object) -> None:
        raise ConnectionRefusedError

    session.sql("SET acidsql.engine = spark")
    session.sql(f"CREATE TABLE t (id INT) {ACID}")
    assert session.sql("SELECT * FROM t").fetchall() == []
    session.register("df", spark.sql("SELECT 1 id"))
    with monkeypatch.context() as patch:
        patch.setattr(type(session.spark), "catalog", property(refuse))
        with pytest.raises(ExecutionError):
            session.sql("SELECT * FROM nothing")
        session.unregister("df")
        session.close()
    spark.catalog.dropTempView("df")


def test_a_frame_joins_tables(table: Session) -> None:
    """What the driver alone does not understand is Spark's, with the rows of the frame."""
    table.table("t").append(pa.table({"id": [1, 2], "name": ["a", "b"], "n": [1, 2]}))
    day = datetime.date(1500, 1, 1)
    table.register("df", pa.table({"id": [2, 3], "day": [day, None], "A b": [["x"], []]}))
    query = "SELECT t.name, df.day, df.`A b` FROM df LEFT JOIN t ON t.id = df.id ORDER BY df.id"
    assert table.sql(query).fetchall() == [("b", day, ["x"]), (None, None, [])]
    table.sql(f"CREATE TABLE copy {ACID} AS SELECT id, day FROM df")
    assert sorted(table.sql("SELECT id FROM copy")) == [(2,), (3,)]
    assert table.sql("DELETE FROM t WHERE id IN (SELECT id FROM df)").stats.rows_deleted == 1


def test_large_frames_go_to_spark(table: Session) -> None:
    """By their bytes, as any query's rows."""
    reader = pa.table(
        {"id": list(range(1000)), "name": ["abc"] * 1000, "n": [1] * 1000}
    ).to_reader()
    table.sql("SET acidsql.local.max.bytes=100")
    result = table.table("t").append(reader)
    ran = [type(one.operator).__name__ for one in result.stats.steps if not one.in_vain]
    assert ran[0] == "Scan"
    assert table.sql("SELECT count(*), sum(id) FROM t").fetchall() == [(1000, 499500)]


# ---- both engines

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
COLUMNS: dict[str, tuple[str, pa.DataType, st.SearchStrategy[Any]]] = {
    "i": ("INT", pa.int64(), st.integers(-(2**31), 2**31 - 1)),
    "l": ("BIGINT", pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "f": ("FLOAT", pa.float64(), st.floats(width=32)),
    "d": ("DOUBLE", pa.float64(), st.floats()),
    "dec": (
        "DECIMAL(20,3)",
        pa.decimal128(38, 5),
        st.decimals("-1e15", "1e15", allow_nan=False, places=3),
    ),
    "s": ("STRING", pa.large_string(), TEXTS),
    "v": ("VARCHAR(5)", pa.string(), TEXTS),
    "b": ("BINARY", pa.binary(), st.binary(max_size=4)),
    "t": ("BOOLEAN", pa.bool_(), st.booleans()),
    "day": ("DATE", pa.date32(), st.dates(datetime.date(1583, 1, 1))),
    "at": (
        "TIMESTAMP",
        pa.timestamp("us"),
        st.datetimes(datetime.datetime(1971, 1, 1), datetime.datetime(2200, 1, 1)),
    ),
    "a": ("ARRAY<INT>", pa.list_(pa.int32()), st.lists(st.none() | st.integers(0, 9), max_size=3)),
    "r": (
        "STRUCT<x:INT,y:STRING>",
        pa.struct({"Y": pa.string(), "x": pa.int64()}),
        st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "Y": st.none() | TEXTS}),
    ),
}  # fmt: skip


@pytest.fixture
def engines(tmp_path: Path, spark: SparkSession) -> Iterator[tuple[Session, Session]]:
    """Two sessions on one warehouse: one that asks Spark for everything, one that never does."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in COLUMNS.items())
    with (
        Session(tmp_path / "w", spark=spark, settings={"acidsql.engine": "spark"}) as by_spark,
        Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as alone,
    ):
        for name in ("by_spark", "alone"):
            alone.sql(f"CREATE TABLE {name} ({columns}) {ACID}")
        yield by_spark, alone


def _comparable(value: Any) -> Any:
    match value:
        case float():
            return "nan" if math.isnan(value) else (value, math.copysign(1, value))
        case list():
            return [_comparable(v) for v in value]
        case _:
            return value


def _sorted(session: Session, table: str) -> list[str]:
    return sorted(
        repr([_comparable(v) for v in row]) for row in session.sql(f"SELECT * FROM {table}")
    )


ROWS = st.lists(
    st.fixed_dictionaries({n: st.none() | values for n, (_, _, values) in COLUMNS.items()}),
    max_size=8,
)
SCHEMA = pa.schema({name: kind for name, (_, kind, _) in COLUMNS.items()})
FIXTURE = [HealthCheck.function_scoped_fixture]


def _overwrite(engines: tuple[Session, Session], rows: list[dict[str, Any]]) -> pa.Table:
    frame = pa.Table.from_pylist(rows, SCHEMA)
    by_spark, alone = engines
    by_spark.table("by_spark").overwrite(frame)
    alone.table("alone").overwrite(frame)
    return frame


@settings(max_examples=3, suppress_health_check=FIXTURE)
@given(rows=ROWS)
def test_both_engines_write_the_same_rows(
    engines: tuple[Session, Session], rows: list[dict[str, Any]]
) -> None:
    """And read the same ones of the frame."""
    by_spark, alone = engines
    frame = _overwrite(engines, rows)
    written = _sorted(alone, "alone")
    assert len(written) == len(rows)
    assert _sorted(alone, "by_spark") == written
    assert _sorted(by_spark, "alone") == written
    for session in engines:
        session.register("df", frame.drop_columns(["r"]))
    assert _sorted(alone, "df") == _sorted(by_spark, "df")
    for session in engines:
        session.unregister("df")


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=FIXTURE)
@given(rows=ROWS)
def test_both_engines_merge_the_same_rows(
    engines: tuple[Session, Session], rows: list[dict[str, Any]]
) -> None:
    """Rows that are updated and rows that are inserted, of all types."""
    by_spark, alone = engines
    _overwrite(engines, rows)
    changes = {row["i"]: row | {"s": "changed"} for row in rows[::2]}
    if rows:
        changes[7] = rows[0] | {"i": 7}
    merged = pa.Table.from_pylist([row for i, row in changes.items() if i is not None], SCHEMA)
    clauses = by_spark.table("by_spark").merge(merged, on=["i"]).stats.clauses
    assert alone.table("alone").merge(merged, on=["i"]).stats.clauses == clauses
    assert _sorted(by_spark, "by_spark") == _sorted(alone, "alone") == _sorted(alone, "by_spark")
