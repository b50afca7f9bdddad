"""What the values of queries lose to the types of their columns is counted: exactly, by column, and
the same whoever makes the rows and whoever writes them.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import acidsql
from acidsql.catalog.types import CharType, HiveType, PrimitiveType, VarcharType, parse_type
from acidsql.errors import LossWarning
from acidsql.expressions.not_here import Lossy, NotHere
from acidsql.expressions.stores import store
from acidsql.result import Result
from acidsql.session import Session
from tests.session.rows.ways import take

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LAYOUTS = {
    "acid": ACID,
    "bucketed": f"CLUSTERED BY (k) INTO 3 BUCKETS {ACID}",
    "partitioned": f"PARTITIONED BY (part STRING) {ACID}",
    "plain": "STORED AS PARQUET",
}

SOURCES = {
    "s": ("STRING", pa.string()),
    "i": ("INT", pa.int32()),
    "l": ("BIGINT", pa.int64()),
    "m": ("DECIMAL(20,4)", pa.decimal128(20, 4)),
    "d": ("DOUBLE", pa.float64()),
}
TARGETS = {
    "s": ["TINYINT", "INT", "BIGINT", "DECIMAL(6,2)", "DOUBLE", "BOOLEAN", "VARCHAR(3)", "CHAR(4)", "STRING"],
    "i": ["TINYINT", "SMALLINT", "BIGINT", "DECIMAL(4,1)", "VARCHAR(2)", "STRING"],
    "l": ["INT", "DECIMAL(12,2)", "CHAR(3)"],
    "m": ["INT", "DECIMAL(8,1)", "DECIMAL(24,4)", "VARCHAR(7)"],
    "d": ["TINYINT", "BIGINT", "FLOAT"],
}  # fmt: skip
COLUMNS = {
    f"{source}{number}": (source, kind)
    for source, kinds in TARGETS.items()
    for number, kind in enumerate(kinds)
}
"""The columns of the table: of which of the source's they are, and their types."""

FIRST_INFINITE_FLOAT = 2.0**128 - 2.0**103

TEXTS = [
    "1", "-7", "200", " 12 ", "1.5", "1.0", ".", "99999999999", "x", "", "abc", "abcd", "ab   ",  "true",
    "2024-02-29", "2024-02-30", "1234.567", "1e400", "inf", "-1e3", "no",
]  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "s": st.none() | st.sampled_from(TEXTS),
            "i": st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(-300, 300),
            "l": st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300),
            "m": st.none() | st.integers(-(10**12), 10**12).map(lambda n: Decimal(n).scaleb(-4)),
            "d": st.none()
            | st.integers(-4000, 4000).map(lambda n: n / 8)
            | st.sampled_from([1e10, -1e30, 3.5e38, 2.0**63, -(2.0**63), 1e300]),
        }
    ),
    max_size=12,
)


def model(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> Counter[str]:
    """What is said of rows, each of whose values is asked of the stores of literals."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in columns:
        source, kind = COLUMNS[name]
        hive_type = parse_type(kind.lower())
        for row in rows:
            if row[source] is None:
                continue
            try:
                kept = _stored(row[source], hive_type)
            except NotHere:
                raise AssertionError(f"the model cannot store {row[source]!r} as {kind}") from None
            if isinstance(kept, Lossy):
                cut = isinstance(hive_type, VarcharType | CharType)
                what = "became NULL" if kept.value is None else "cut" if cut else "changed"
                counts[f'column "{name}" of type {hive_type}', what] += 1
    return Counter({f"{column}: {what}": n for (column, what), n in counts.items()})


def _stored(value: Any, hive_type: HiveType) -> Any:
    if hive_type == PrimitiveType("float") and isinstance(value, float):
        return Lossy(math.inf) if abs(value) >= FIRST_INFINITE_FLOAT else value
    return store(value, hive_type)


def said(result: Result) -> Counter[str]:
    """The counts of a result's warnings, in the words of ``model``."""
    counts: Counter[str] = Counter()
    for warning in result.warnings:
        assert isinstance(warning, LossWarning)
        column, _, rest = warning.message.partition(": ")
        number, _, words = rest.partition(" ")
        what = next(one for one in ("became NULL", "cut", "changed") if words.endswith(one))
        counts[f"{column}: {what}"] += int(number.replace(",", ""))
    return counts


def fill(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    arrays = {"k": pa.array(range(len(rows)), pa.int32())} | {
        name: pa.array([row[name] for row in rows], kind) for name, (_, kind) in SOURCES.items()
    }
    session.table("src").overwrite(pa.table(arrays))


def make(session: Session) -> None:
    given_columns = ", ".join(f"{name} {kind}" for name, (kind, _) in SOURCES.items())
    session.sql(f"CREATE TABLE src (k INT, {given_columns}) {ACID}")
    columns = ", ".join(f"{name} {kind}" for name, (_, kind) in COLUMNS.items())
    for layout, words in LAYOUTS.items():
        session.sql(f"CREATE TABLE {layout} (k INT, {columns}) {words}")


OF_WAYS = {
    "local": ["acid", "partitioned"],
    "small": ["acid", "partitioned", "plain"],
    "big": ["acid", "partitioned", "plain", "bucketed"],
}
"""The tables that each way writes to."""
LISTED = ", ".join(source for source, _ in COLUMNS.values())


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session without Spark, with a source and a table of many types."""
    with Session(tmp_path_factory.mktemp("losses"), settings={"acidsql.engine": "local"}) as opened:
        make(opened)
        yield opened


@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(ROWS)
def test_the_driver_counts_what_literals_would_lose(
    light: Session, rows: list[dict[str, Any]]
) -> None:
    """INSERT .. SELECT says of each column what VALUES says of its values, counted."""
    fill(light, rows)
    result = light.sql(f"INSERT OVERWRITE TABLE acid SELECT k, {LISTED} FROM src")
    assert said(result) == model(rows, list(COLUMNS))
    assert result.stats.rows_inserted == len(rows)


SEEDED: list[dict[str, Any]] = [
    {
        "s": TEXTS[n % len(TEXTS)] if n % 7 else None,
        "i": None if n % 5 == 0 else (-1) ** n * 13**(n % 9),
        "l": None if n % 6 == 0 else (-1) ** n * 11**(n % 18),
        "m": None if n % 4 == 0 else Decimal((-1) ** n * 17**(n % 9)).scaleb(-4),
        "d": [None, 0.5, -3.0, 127.0, 128.25, 1e10, 2.0**63, -1e30, 1e300][n % 9],
    }
    for n in range(60)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.spark
def test_all_ways_count_the_same(warehouse: Path, spark: SparkSession) -> None:
    """Rows made by the driver or by Spark, written by either, to every kind of table, by INSERT,
    UPDATE and MERGE: the numbers are those of the model.
    """
    expected = model(SEEDED, list(COLUMNS))
    assert len(expected) > 20
    with Session(str(warehouse), spark=spark) as session:
        make(session)
        fill(session, SEEDED)
        changed = ", ".join(f"{name} = s.{source}" for name, (source, _) in COLUMNS.items())
        values = ", ".join(f"s.{source}" for source, _ in COLUMNS.values())
        for way, layouts in OF_WAYS.items():
            take(session, way)
            for layout in layouts:
                part = ", 'p'" if layout == "partitioned" else ""
                rows_of = f"SELECT k, {LISTED}{part} FROM src"
                result = session.sql(f"INSERT OVERWRITE TABLE {layout} {rows_of}")
                assert said(result) == expected, (way, layout)
            result = session.sql(f"DRY RUN INSERT INTO acid SELECT k, {LISTED} FROM src")
            assert said(result) == expected, way
            session.sql("DELETE FROM partitioned WHERE k % 2 = 0")
            merge = (
                "MERGE INTO partitioned t USING src s ON t.k = s.k AND s.k < 40"
                f" WHEN MATCHED THEN UPDATE SET {changed}"
                f" WHEN NOT MATCHED AND s.k < 50 THEN INSERT VALUES (s.k, {values}, 'q')"
            )
            merged = model(SEEDED[:50], list(COLUMNS))
            if way == "small":
                assert said(session.sql(f"DRY RUN {merge}")) == merged
            assert said(session.sql(merge)) == merged, way
            result = session.sql("UPDATE acid SET i0 = l0, i4 = s8, s7 = s8 WHERE k < 30")
            rows = [
                {"i": None if row["l"] is None else _as_int(row["l"]), "s": row["s"]}
                for row in SEEDED[:30]
            ]
            assert said(result) == _of_update(rows), way


def _as_int(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _of_update(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    asked = {"i0": ("i", "TINYINT"), "i4": ("s", "VARCHAR(2)"), "s7": ("s", "CHAR(4)")}
    counts: Counter[str] = Counter()
    for name, (source, kind) in asked.items():
        hive_type = parse_type(kind.lower())
        for row in rows:
            if row[source] is not None and isinstance(store(row[source], hive_type), Lossy):
                what = "changed" if name == "i0" else "cut"
                counts[f'column "{name}" of type {hive_type}: {what}'] += 1
    return counts


@pytest.mark.spark
def test_values_that_spark_computes(warehouse: Path, spark: SparkSession) -> None:
    """Each value of VALUES is stored, and counted, by itself; of literals it is said where they
    stand. What is inside of arrays, maps and structs counts once for each value.
    """
    with Session(str(warehouse), spark=spark, settings={"acidsql.engine": "spark"}) as session:
        session.sql(f"CREATE TABLE t (id INT, v VARCHAR(3), y TINYINT) {ACID}")
        sql = (
            "INSERT INTO t VALUES (soundex('abc'), 'literal', 100 * 10), (1.5 * 1, soundex('x'), 1),"
            " (rand(1) * 1000000000000, NULL, 1)"
        )
        for path in ("small", "big"):
            session.sql(f"SET acidsql.write.path={path}")
            messages = [warning.message for warning in session.sql(sql).warnings]
            assert sorted(messages) == [
                'column "id" of type int: 1 value became NULL',
                'column "id" of type int: 2 values did not fit and were changed',
                """column "v" of type varchar(3) cannot hold 'literal': lit is stored""",
                'column "v" of type varchar(3): 1 value was cut',
                'column "y" of type tinyint: 1 value did not fit and was changed',
            ]
        nested = "a ARRAY<INT>, m MAP<STRING,VARCHAR(2)>, s STRUCT<x:TINYINT,y:ARRAY<DECIMAL(3,1)>>"
        session.sql(f"CREATE TABLE n ({nested}) {ACID}")
        query = (
            "SELECT array('1', 'x', 'y'), map('k', 'abc'), named_struct('x', 1, 'y', array('1', '1000'))"
            " UNION ALL SELECT array('1'), map('k', 'ab'), named_struct('x', 1, 'y', array('1', NULL))"
            " UNION ALL SELECT NULL, map('k', NULL), named_struct('x', 500, 'y', NULL)"
        )
        for path in ("small", "big"):
            session.sql(f"SET acidsql.write.path={path}")
            messages = [
                warning.message for warning in session.sql(f"INSERT INTO n {query}").warnings
            ]
            assert messages == [
                'column "a" of type array<int>: 1 value lost parts of what it holds',
                'column "m" of type map<string,varchar(2)>: 1 value lost parts of what it holds',
                'column "s" of type struct<x:tinyint,y:array<decimal(3,1)>>: 2 values lost parts of'
                " what they hold",
            ]


def test_who_is_told(tmp_path: Path) -> None:
    """The warnings are a cursor's messages, and of no statement but the one that made them."""
    with acidsql.connect(tmp_path / "w", settings={"acidsql.engine": "local"}) as connection:
        connection.execute(f"CREATE TABLE s (a STRING) {ACID}")
        connection.execute(f"CREATE TABLE t (i INT) {ACID}")
        connection.execute("INSERT INTO s VALUES ('1'), ('x'), ('y')")
        cursor = connection.cursor()
        cursor.execute("INSERT INTO t SELECT a FROM s")
        assert [str(message) for _, message in cursor.messages] == [
            'column "i" of type int: 2 values became NULL'
        ]
        cursor.execute("INSERT INTO t SELECT length(a) FROM s")
        assert cursor.messages == []


def test_strict_sql_has_nothing_to_count_but_cuts(light: Session) -> None:
    """Under acidsql.ansi what does not fit is left to Spark, which refuses it; text is cut."""
    fill(light, [SEEDED[1] | {"s": "abcd", "d": math.pi, "l": 5, "i": 5}])
    light.sql("SET acidsql.ansi=true")
    try:
        result = light.sql("INSERT INTO acid (s6, i2) SELECT s, i FROM src")
        assert said(result) == Counter({'column "s6" of type varchar(3): cut': 1})
    finally:
        light.sql("SET acidsql.ansi=false")


def test_more_columns_than_marks_have_bits(tmp_path: Path) -> None:
    """A table may have as many columns as it likes."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE s (a STRING) {ACID}")
        session.sql("INSERT INTO s VALUES ('x'), ('1'), ('2.5')")
        columns = ", ".join(f"c{n} TINYINT" for n in range(70))
        session.sql(f"CREATE TABLE t ({columns}) {ACID}")
        result = session.sql(f"INSERT INTO t SELECT {', '.join(['a'] * 70)} FROM s")
        assert len(result.warnings) == 140
        assert said(result).total() == 140


def test_days_and_moments(tmp_path: Path) -> None:
    """A time of day that a DATE has no place for is no loss, as it is none of a literal."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (d DATE, v VARCHAR(4)) {ACID}")
        session.sql(f"CREATE TABLE s (m TIMESTAMP, d DATE) {ACID}")
        day = datetime.date(2024, 1, 2)
        session.sql("INSERT INTO s VALUES (?, ?)", [datetime.datetime(2024, 1, 2, 3, 4), day])
        assert session.sql("INSERT INTO t (d) SELECT m FROM s").warnings == ()
        assert said(session.sql("INSERT INTO t (v) SELECT d FROM s")).total() == 1
