"""Bucket numbers inside Spark: the same as those of acid.hashing.bucketing, which are Hive's."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from acidsql.acid.bucketing import SEED, bucket_numbers
from acidsql.catalog.types import arrow_type, parse_type
from acidsql.errors import NotSupportedError
from acidsql.expressions.spark_words import spark_type
from acidsql.spark import jvm
from acidsql.spark.write.tasks import (
    BUCKET,
    SEED_LITERAL,
    bucket_number_sql,
    with_bucket_number,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 300
CHANCE = random.Random(5)
ALPHABET = "ab z0é日\U0001f600\x00\x7f"


def text() -> str:
    return "".join(CHANCE.choices(ALPHABET, k=CHANCE.randrange(12)))


def bits(count: int) -> int:
    return CHANCE.getrandbits(count) - (1 << count - 1)


def floating(dtype: type[np.floating[Any]], width: str) -> float:
    """Any bit pattern: denormals, infinities, NaNs."""
    return float(np.array(CHANCE.getrandbits(8 * int(width[1])), width).view(dtype))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 12.34, float("nan"), float("inf"), float("-inf")]
NATIVE: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "boolean": (lambda: CHANCE.random() < 0.5, [True, False]),
    "tinyint": (lambda: bits(8), [-128, 127, 0]),
    "smallint": (lambda: bits(16), [-(2**15), 2**15 - 1, 0, 255, 256, -1, 128, -128]),
    "int": (lambda: bits(32), [-(2**31), 2**31 - 1, 0, -1, 128, 255, 65280]),
    "bigint": (lambda: bits(64), [-(2**63), 2**63 - 1, 0, -1, 1 << 32, 255 << 24]),
    "date": (
        lambda: datetime.date.fromordinal(CHANCE.randrange(1, 3_652_059)),
        [datetime.date(1970, 1, 1), datetime.date(1, 1, 1)],
    ),
    "string": (text, ["", " ", "a" * 1000, "é" * 7]),
    "varchar(12)": (text, ["", "a "]),
    "char(12)": (text, ["", "   ", "a  ", "\t"]),
}
MICROSECONDS = datetime.timedelta(microseconds=1)
EPOCH = datetime.datetime(1970, 1, 1)
BY_ARROW: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "float": (lambda: floating(np.float32, "u4"), SPECIAL),
    "double": (lambda: floating(np.float64, "u8"), SPECIAL),
    "decimal(10,2)": (
        lambda: Decimal(CHANCE.randrange(-(10**10) + 1, 10**10)).scaleb(-2),
        [Decimal("1.50"), Decimal("100.00"), Decimal(0)],
    ),
    "decimal(38,18)": (
        lambda: Decimal(CHANCE.randrange(10**30)).scaleb(-18),
        [Decimal("-1.5"), Decimal("99999999999999999999")],
    ),
    "timestamp": (
        lambda: EPOCH + CHANCE.randrange(-(10**16), 10**17) * MICROSECONDS,
        [EPOCH, EPOCH - MICROSECONDS],
    ),
    "binary": (lambda: CHANCE.randbytes(CHANCE.randrange(10)), [b"", b"\xff"]),
    "array<string>": (lambda: [text() for _ in range(CHANCE.randrange(4))], [[], [None]]),
    "struct<a:int,b:string>": (lambda: {"a": bits(32), "b": text()}, [{"a": None, "b": None}]),
    "map<string,int>": (lambda: [(str(n), bits(32)) for n in range(CHANCE.randrange(4))], [[]]),
}


def column(type_text: str) -> pa.Array:
    """Random values, those that are special for the type, and NULL."""
    draw, special = (NATIVE | BY_ARROW)[type_text]
    values = [None, *special, *(draw() for _ in range(ROWS))][:ROWS]
    return pa.array(values, arrow_type(parse_type(type_text)))


Columns = dict[str, pa.Array]
"""By their Hive types."""


def in_spark(
    spark: SparkSession, cases: Sequence[Columns], count: int, version: int, *, sql: bool
) -> list[list[int]]:
    """The bucket numbers of each case as Spark finds them, by one query: each costs more than its
    rows.
    """
    from pyspark.sql import functions

    arrays, typed, asked = [], [], []
    for case in cases:
        sources = []
        for type_text, values in case.items():
            name, hive_type = f"c{len(arrays)}", parse_type(type_text)
            arrays.append(values)
            typed.append(f"CAST({name} AS {spark_type(hive_type)}) AS {name}")
            sources.append((name, hive_type))
        asked.append(sources)
    names = [*(f"c{n}" for n in range(len(arrays))), "n"]
    frame = jvm.frame_of(spark, pa.table([*arrays, pa.array(range(ROWS))], names=names))
    placed = frame.selectExpr("n", *typed)
    for at, sources in enumerate(asked):
        if sql:
            number = functions.expr(bucket_number_sql(sources, count, version))
        else:
            placed, number = with_bucket_number(placed, sources, count, version)
        placed = placed.withColumn(f"b{at}", number).drop(BUCKET)
    rows = sorted(
        placed.select("n", *(f"b{at}" for at in range(len(asked)))).collect(), key=lambda row: row.n
    )
    return [[row[place] for row in rows] for place in range(1, len(cases) + 1)]


def check(
    spark: SparkSession, cases: Sequence[Columns], count: int, version: int, *, sql: bool
) -> None:
    """Spark's numbers are those of Python, case by case."""
    found = in_spark(spark, cases, count, version, sql=sql)
    for case, numbers in zip(cases, found, strict=True):
        assert numbers == plain(case, count, version), list(case)


def plain(columns: Columns, count: int, version: Any) -> list[int]:
    return bucket_numbers([(values, t) for t, values in columns.items()], count, version).tolist()


@pytest.fixture(params=[False, True], ids=["plain", "ansi"])
def either(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """The session without and with ANSI arithmetic."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(request.param).lower())
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", before)


def test_the_seed(spark: SparkSession) -> None:
    """The literal before the value makes Spark start where Hive starts."""
    assert spark.sql(f"SELECT hash({SEED_LITERAL})").first() == (SEED,)


def test_native_hashes(either: SparkSession) -> None:
    """Each type that has a SQL expression, random and special values, with both kinds of
    arithmetic.
    """
    check(either, [{t: column(t)} for t in NATIVE], 4093, 2, sql=True)


def test_several_columns(either: SparkSession) -> None:
    """All native types together, the polynomial wrapping as Java's int does."""
    check(either, [{t: column(t) for t in NATIVE}], 4093, 2, sql=True)


def test_hashes_through_arrow(spark: SparkSession) -> None:
    """The types without a SQL expression, and version 1, go through the Arrow function; the caller
    need not know.
    """
    several = {t: column(t) for t in ("string", "bigint", "char(12)")}
    cases = [{t: column(t), "int": column("int")} for t in BY_ARROW]
    check(spark, [*cases, several], 4093, 2, sql=False)
    check(spark, [several], 4093, 1, sql=False)


def test_version_1_of_every_type(spark: SparkSession) -> None:
    """Each type Hive buckets by, alone and all of them together."""
    columns = {t: column(t) for t in NATIVE | BY_ARROW}
    check(spark, [{t: values} for t, values in columns.items()], 4093, 1, sql=False)
    check(spark, [columns], 31, 1, sql=False)
    check(spark, [columns], 31, 2, sql=False)


def test_hives_own_numbers(spark: SparkSession, shared: Path) -> None:
    """The vectors of the native types, without the way through acid.hashing.bucketing."""
    cases = json.loads((shared / "vectors" / "bucket_hash.json").read_text(encoding="utf-8"))[
        "cases"
    ]
    of_type: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        type_text = case["columns"][0]["type"]
        if len(case["columns"]) == 1 and (type_text in NATIVE or "char(" in type_text):
            of_type.setdefault(type_text, []).append(case)
    columns = []
    for type_text, group in of_type.items():
        values = [hive_value(case["columns"][0]["value"], type_text) for case in group]
        padded = [*values, *[None] * (ROWS - len(values))]
        columns.append({type_text: pa.array(padded, arrow_type(parse_type(type_text)))})
    found = in_spark(spark, columns, 4096, 2, sql=True)
    for numbers, (type_text, group) in zip(found, of_type.items(), strict=True):
        hives = [case["bucket_v2"]["4096"] for case in group]
        assert numbers[: len(group)] == hives, type_text


def hive_value(value: Any, type_text: str) -> Any:
    return (
        datetime.date.fromisoformat(value) if type_text == "date" and value is not None else value
    )


@pytest.mark.parametrize("type_text", ["string", "decimal(10,2)"])
def test_rows_go_to_the_task_of_their_bucket(spark: SparkSession, type_text: str) -> None:
    """The number can be used where the writer uses it: as the task of a repartitioning."""
    from pyspark.sql import functions

    values = column(type_text)
    frame = jvm.frame_of(spark, pa.table({"c": values, "n": range(ROWS)}))
    rows, number = with_bucket_number(frame, [("c", parse_type(type_text))], 7)
    placed = jvm.in_numbered_tasks(rows, 7, number).select(
        "n", functions.spark_partition_id().alias("task")
    )
    found = [row.task for row in sorted(placed.collect(), key=lambda row: row.n)]
    assert found == plain({type_text: values}, 7, 2)


def test_text_that_is_not_utf_8(spark: SparkSession) -> None:
    """Such a row is refused rather than put where Hive will not look for it."""
    number = bucket_number_sql([("c", parse_type("string"))], 4)
    with pytest.raises(Exception, match="not UTF-8"):
        spark.sql(f"SELECT {number} FROM (SELECT CAST(X'61FF' AS STRING) AS c)").collect()


def test_no_expression() -> None:
    """Asking for the SQL of a type that has none is an error, not a guess."""
    for hive_type, version in (("decimal(10,2)", 2), ("int", 1)):
        with pytest.raises(NotSupportedError):
            bucket_number_sql([("c", parse_type(hive_type))], 4, version)
