"""What the driver calls a column that was given no name, held against Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import Condition
from acidsql.expressions.vectors import Vector, vectorized
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.local.selects import spark_name
from tests.expressions.vectors.cases import CASES, COLUMNS, NOW
from tests.expressions.vectors.spark_answers import VIEW, batch_of, compiled, view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OTHERS = [
    "i IS NOT NULL", "NOT (i IS NULL)", "NOT i IS NULL", "isnotnull(i)", "substr(s, 1)", "d + 1", "d - 1", "1 + d",
    "s || s2 || 'x'", "ceil(f)", "ceiling(f)", "floor(n)", "round(f)", "round(f, 2)", "i == 1", "! x", "s = \"a\"",
    "NULL", "coalesce(NULL, 1)", "NULL + 1", "1.5", "-1.50", "year(current_date)", "current_date - 1", "i <> 1", "i != 1", "NOT i <> 1", "- i", "-(1)",
    "negative(i)", "CASE WHEN x THEN 1 ELSE NULL END", "CASE i WHEN 1 THEN 'a' END", "i = '1'", "s > 5", "x IS NOT TRUE", "position('a' IN s)", "substring(s FROM 2)",
    "trim(BOTH FROM s)", "now()", "quarter(current_date())", "if(i = 1, 'a', NULL)", "i IN (1)", "f IN (1, 2L)", "n BETWEEN 1 AND 2", "c LIKE 'a'",
]  # fmt: skip
"""Expressions that Spark shows otherwise than they are written, beside CASES."""
AROUND = ("{}", "({}) IS NOT NULL", "coalesce({0}, {0})", "CAST(({}) AS STRING)", "({0}) = ({0})")


def type_of(tree: Condition) -> HiveType | None:
    try:
        return vectorized(tree, COLUMNS, ansi=False, zone="UTC", now=NOW).type
    except NotHere:
        return None


def is_day(tree: Condition) -> bool:
    return type_of(tree) == PrimitiveType("date")


def named() -> Iterator[tuple[str, str]]:
    """Each understood expression that the driver has a name for, and that."""
    for sql in [*(sql for sqls in CASES.values() for sql in sqls), *OTHERS]:
        if not isinstance(compiled(sql, ansi=False), Vector):
            continue
        for around in AROUND:
            whole = around.format(sql)
            tree = read_expression(whole, tokenize(whole))
            if tree is None or type_of(tree) is None:
                continue
            if (name := spark_name(whole, tree, is_day)) is not None:
                yield whole, name


def test_the_driver_calls_columns_as_spark_does(spark: SparkSession) -> None:
    """Every case of docs/expressions.md that has a name, alone and inside of others."""
    view(spark, batch_of([]))
    expressions = dict(named())
    assert len(expressions) > 500
    shown = spark.sql(f"SELECT {', '.join(expressions)} FROM {VIEW}").columns
    assert dict(zip(expressions, shown, strict=True)) == expressions
