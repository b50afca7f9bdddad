"""Random expressions over values at the ends of their types, computed by Vector and by Spark."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.catalog.types import HiveType, parse_type
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import store_cast as store_cast_sql
from acidsql.expressions.vectors import Vector, store_cast
from acidsql.spark.start.session import derive
from tests.conftest import INTERPRETED
from tests.expressions.vectors.extremes import COLUMNS, rows_of
from tests.expressions.vectors.random_expressions import random_expression
from tests.expressions.vectors.spark_answers import (
    UNCERTAIN,
    batch_of,
    compiled,
    kind_of,
    local_values,
    spark_answers,
    view,
)
from tests.lengths import seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_TARGETS = "tinyint smallint int bigint float double decimal(38,18) decimal(5,2) decimal(38,0) decimal(20,19) string varchar(3) char(3) boolean date timestamp".split()  # fmt: skip
_ROWS = 200
_NO_POWER = re.compile(r"Index (19|[23]\d) out of bounds for length 19")
"""Spark's own fault: it has no power of ten to cut a decimal of a small value with 19 digits or more
behind the point, as 0 widened to decimal(38,20), to a whole number.
"""


@pytest.mark.parametrize("ansi", [False, True], ids=["hive", "ansi"])
def test_extremes_are_sparks(spark: SparkSession, ansi: bool) -> None:
    """All that is certain of values at the ends is what Spark computes, and what it stores."""
    compare(spark, 5, 100, ansi=ansi)  # the seed has found quotients of Arrow that are wrong


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_many_extremes_are_sparks(spark: SparkSession, seed: int) -> None:
    """The same of hundreds of expressions."""
    compare(spark, seed, 200, ansi=bool(seed % 2), interpreted=seed % 4 > 1)


def compare(
    spark: SparkSession, seed: int, count: int, *, ansi: bool, interpreted: bool = True
) -> None:
    """``interpreted``: Spark does not compile the expressions, which is slow and must make no
    difference.
    """
    conf = {"spark.sql.ansi.enabled": str(ansi).lower(), "spark.sql.session.timeZone": "UTC"}
    session = derive(spark, conf | (INTERPRETED if interpreted else {}))
    chance = random.Random(seed)
    rows = rows_of(_ROWS, chance)
    batch = batch_of(rows, COLUMNS)
    view(session, batch)
    asked: list[tuple[str, Vector]] = []
    while len(asked) < count:
        if (one := understood(chance, ansi)) is not None:
            asked.append(one)
    ours = [local_values(vector, batch) for _, vector in asked]
    masks = [[value != UNCERTAIN for value in values] for values in ours]
    theirs = answers(session, [(sql, m) for (sql, _), m in zip(asked, masks, strict=True)])
    assert sum(map(sum, masks)) > count * _ROWS // 3
    different: list[Any] = []
    for (sql, vector), values, answer in zip(asked, ours, theirs, strict=True):
        if isinstance(answer, str) and _NO_POWER.search(answer):
            assert "decimal" in sql.lower()
        elif isinstance(answer, str):
            different.append((sql, answer))
        elif answer[0] != kind_of(vector.type):
            different.append((sql, str(vector.type), str(answer[0])))
        else:
            pairs = enumerate(zip(values, answer[1], strict=True))
            at = next((i for i, (a, b) in pairs if a not in (UNCERTAIN, b)), None)
            if at is not None:
                row = {name: value for name, value in rows[at].items() if name in sql}
                different.append((sql, f"{row}: {values[at]}", answer[1][at]))
    assert different == []


def understood(chance: random.Random, ansi: bool) -> tuple[str, Vector] | None:
    """A random expression, or what an assignment of it stores, as Spark SQL and compiled."""
    sql = random_expression(chance)
    target = parse_type(chance.choice(_TARGETS)) if chance.randrange(4) == 0 else None
    vector = compiled(sql, ansi=ansi, columns=COLUMNS)
    if not isinstance(vector, Vector) or str(vector.type) == "void":
        return None
    return (sql, vector) if target is None else _stored(sql, vector, target, ansi)


def _stored(sql: str, vector: Vector, target: HiveType, ansi: bool) -> tuple[str, Vector] | None:
    try:
        stored = store_cast(vector, target, ansi=ansi, span=Span(0, 1))
    except NotHere:
        return None
    return "".join(map(str, store_cast_sql((sql,), target))), stored


def answers(spark: SparkSession, asked: list[tuple[str, list[bool]]]) -> list[Any]:
    """As ``spark_answers``, with the error of an expression that has one."""
    try:
        return list(spark_answers(spark, asked))
    except Exception as error:  # whatever Spark says is a finding
        if len(asked) == 1:
            return [str(error).partition("\n")[0][:300]]
        half = len(asked) // 2
        return [*answers(spark, asked[:half]), *answers(spark, asked[half:])]
