"""Every understood expression against Spark: values of every type, with and without ANSI
semantics.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from acidsql.catalog.types import parse_type
from acidsql.errors import Span
from acidsql.expressions.spark_words import store_cast as store_cast_sql
from acidsql.expressions.vectors import Vector, store_cast
from tests.expressions.vectors.cases import CASES, ROWS, STORES
from tests.expressions.vectors.spark_answers import (
    UNCERTAIN,
    batch_of,
    compiled,
    kind_of,
    local_values,
    moment_answers,
    spark_answers,
    view,
)
from tests.lengths import times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Example = TypeVar("_Example")

_NOW = {"CURRENT_DATE", "CURRENT_TIMESTAMP"}
"""These are of the moment of a statement: see ``compare_moments``."""


def rows_made(count: int, number: int | None = None) -> list[dict[str, Any]]:
    """Rows as hypothesis thinks them up, always the same for a ``number``."""
    return examples(ROWS, count, number)


def examples(
    of: st.SearchStrategy[_Example], count: int, number: int | None = None
) -> list[_Example]:
    rows: list[_Example] = []

    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(of)
    def collect(row: _Example) -> None:
        rows.append(row)

    (collect if number is None else seed(number)(collect))()
    return rows


def asked(ansi: bool) -> Iterator[tuple[str, Vector]]:
    """Each expression, as Spark SQL and compiled."""
    for sql in chain.from_iterable(sqls for name, sqls in CASES.items() if name not in _NOW):
        vector = compiled(sql, ansi=ansi)
        assert isinstance(vector, Vector), (sql, vector)
        yield sql, vector
    for name, target in STORES:
        given_vector, hive_type = compiled(name, ansi=ansi), parse_type(target)
        assert isinstance(given_vector, Vector)
        stored = store_cast(given_vector, hive_type, ansi=ansi, span=Span(0, 1))
        yield "".join(map(str, store_cast_sql((name,), hive_type))), stored


def compare(spark: SparkSession, count: int, *, ansi: bool) -> None:
    rows = rows_made(count)
    batch = batch_of(rows)
    view(spark, batch)
    expressions = list(asked(ansi))
    ours = [local_values(vector, batch) for _, vector in expressions]
    certain = [[value != UNCERTAIN for value in values] for values in ours]
    theirs = spark_answers(
        spark, [(sql, mask) for (sql, _), mask in zip(expressions, certain, strict=True)]
    )
    different = []
    for (sql, vector), values, (kind, answers) in zip(expressions, ours, theirs, strict=True):
        if kind != kind_of(vector.type):
            different.append((sql, str(vector.type), str(kind)))
        if not ansi:
            assert sum(value != UNCERTAIN for value in values) > count // 20, sql
        pairs = zip(values, answers, strict=True)
        at = next((i for i, (a, b) in enumerate(pairs) if a not in (UNCERTAIN, b)), None)
        if at is not None:
            row = {name: value for name, value in rows[at].items() if name in sql}
            different.append((sql, f"{row}: {values[at]}", answers[at]))
    assert different == []


@pytest.mark.spark
@pytest.mark.parametrize("ansi", [False, True], ids=["hive", "ansi"])
def test_answers_are_sparks(spark: SparkSession, ansi: bool) -> None:
    """All that is certain is what Spark computes, of the same type, and where Spark fails nothing is
    certain.
    """
    with_ansi(spark, ansi, 100)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("ansi", [False, True], ids=["hive", "ansi"])
def test_many_answers_are_sparks(spark: SparkSession, ansi: bool) -> None:
    """The same of 2,000 rows."""
    with_ansi(spark, ansi, times(2000))


OFFSETS = st.tuples(
    st.sampled_from((-1, 0, 1)) | st.integers(-800_000, 800_000),
    st.sampled_from((-1, 0, 1)) | st.integers(-(10**15), 10**15),
)
"""Days and microseconds from the moment of a statement."""


@pytest.mark.spark
@pytest.mark.parametrize("ansi", [False, True], ids=["hive", "ansi"])
def test_moments_are_sparks(spark: SparkSession, ansi: bool) -> None:
    """The day and the moment of a statement, and what lies before and behind them."""
    compare_moments(session_of(spark, ansi), 100, ansi=ansi)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("ansi", [False, True], ids=["hive", "ansi"])
def test_many_moments_are_sparks(spark: SparkSession, ansi: bool) -> None:
    """The same of 2,000 rows."""
    compare_moments(session_of(spark, ansi), times(2000), ansi=ansi)


def compare_moments(spark: SparkSession, count: int, *, ansi: bool) -> None:
    """Dates and timestamps around the one moment that a statement of Spark's has, which ours gets,
    too.
    """
    sqls = [sql for name in sorted(_NOW) for sql in CASES[name]]
    moment, rows, theirs = moment_answers(spark, examples(OFFSETS, count), sqls)
    for sql, (kind, answers) in zip(sqls, theirs, strict=True):
        vector = compiled(sql, ansi=ansi, now=moment)
        assert isinstance(vector, Vector), (sql, vector)
        assert kind == kind_of(vector.type), sql
        assert local_values(vector, rows) == answers, sql


def with_ansi(spark: SparkSession, ansi: bool, count: int) -> None:
    compare(session_of(spark, ansi), count, ansi=ansi)


def session_of(spark: SparkSession, ansi: bool) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session
