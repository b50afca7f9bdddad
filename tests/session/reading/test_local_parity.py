"""Queries that the driver carries out alone, held against Spark: the same names, types and rows, for
random queries over tables of every type and layout.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acidsql.session import Session
from tests.lengths import times
from tests.session.reading.parity import COLUMNS, TABLES, check

pytestmark = pytest.mark.spark

CONDITIONS = (
    "i = 1", "i > 1", "b <= 4", "x = 'a'", "x > 'a'", "c = 'a'", "v = 'b '", "d > 0", "d = 0",
    "m >= 1.25", "o", "NOT o", "x IS NULL", "i IS NOT NULL", "i IN (1, 3, 5)", "y < DATE '2020-01-01'",
    "z >= TIMESTAMP '2020-01-01 00:00:00'", "i BETWEEN 1 AND 4", "f = 1.5", "i = 1 OR x = 'b '",
    "i > 0 AND NOT x = 'a'", "i <=> NULL", "t + 1 > 2", "w < 5",
)  # fmt: skip
VALUES = (
    *COLUMNS, "i + 1", "b - 1", "-i", "i = 1", "o AND i > 1", "NOT o", "x IS NULL", "7", "'k'", "true",
    "i + 1 AS j", "upper(x) AS u", "length(x)", "cast(i AS bigint)", "cast(i + 1 AS bigint)", "upper(cast(i AS string))", "CAST(i AS STRING) = x", "x AS i", "d * 2 AS dd", "m + 1 AS mm",
    "i % 2 AS odd", "coalesce(i, 0) AS ci", "CASE WHEN i > 1 THEN 'hi' ELSE x END AS cs", "(i)", "concat(x, 'q')",
)  # fmt: skip
AGGREGATES = (
    "count(*)", "count(x)", "count(1)", "count(r)", *(f"min({n})" for n in COLUMNS),
    *(f"max({n})" for n in COLUMNS), "sum(t)", "sum(s)", "sum(i)", "sum(b)", "sum(m)", "avg(i)", "avg(t)",
    "sum(f)", "sum(d)", "avg(f)", "avg(d)", "sum(d * 2) AS twice",
    "max(i) + 1 AS more", "count(*) AS n", "min(i + 1)", "sum(i) AS total", "max(i) > min(i) AS spread",
)  # fmt: skip
HAVING = ("count(*) > 1", "max(i) > 2", "min(x) IS NULL")


@st.composite
def plain_selects(draw: st.DrawFn) -> str:
    """A SELECT of values; with LIMIT where its order leaves no choice."""
    items = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4))
    distinct = draw(st.booleans())
    order = f" ORDER BY {', '.join(_sorting(draw, str(n + 1)) for n in range(len(items)))}"
    ordered = draw(st.booleans())
    limit = (
        draw(st.sampled_from(("", " LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 0"))) if ordered else ""
    )
    return (
        f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(items)} FROM {_table(draw)}"
        f"{_where(draw)}{order if ordered else ''}{limit}"
    )


@st.composite
def stars(draw: st.DrawFn) -> str:
    """A SELECT of all columns, sorted by a column and, so that no choice is left, by all others."""
    first = draw(st.sampled_from(tuple(COLUMNS)))
    keys = ", ".join(_sorting(draw, name) for name in (first, *COLUMNS) if name != "r")
    return f"SELECT * FROM {_table(draw)}{_where(draw)} ORDER BY {keys}"


@st.composite
def grouped(draw: st.DrawFn) -> str:
    """Aggregates, of groups or of all rows."""
    keys = draw(st.lists(st.sampled_from(tuple(COLUMNS)), max_size=2, unique=True))
    wanted = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = f" HAVING {draw(st.sampled_from(HAVING))}" if keys and draw(st.booleans()) else ""
    items = [*keys, *wanted]
    order = (
        f" ORDER BY {', '.join(str(n + 1) for n in range(len(items)))}"
        if draw(st.booleans())
        else ""
    )
    return f"SELECT {', '.join(items)} FROM {_table(draw)}{_where(draw)}{by}{having}{order}"


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two SELECTs of the same values, of tables of equal columns or of partitions of one."""
    items = ", ".join(draw(st.lists(st.sampled_from(tuple(COLUMNS)), min_size=1, max_size=3)))
    sources = [f"{_table(draw)}{_where(draw)}" for _ in range(2)]
    if draw(st.booleans()):
        parts = draw(st.tuples(*[st.sampled_from(("= 0", "= 1", "= 2", "IS NULL", "< 0"))] * 2))
        sources = [f"parted WHERE k {part}" for part in parts]
    one, other = (f"SELECT {items} FROM {source}" for source in sources)
    return one, other


QUERIES = st.one_of(plain_selects(), stars(), grouped())


def _table(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(TABLES))


def _where(draw: st.DrawFn) -> str:
    conditions = draw(st.lists(st.sampled_from(CONDITIONS), max_size=2))
    return f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""


def _sorting(draw: st.DrawFn, key: str) -> str:
    return key + draw(st.sampled_from(("", " ASC", " DESC", " NULLS LAST", " DESC NULLS FIRST")))


@given(query=QUERIES, ansi=st.booleans())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_driver_answers_as_spark_does(tables: Session, query: str, ansi: bool) -> None:
    """Names, types, rows and their order."""
    check(tables, query, ansi)


def check_pair(session: Session, one: str, other: str) -> None:
    """United, counted and met, each is what it is alone."""
    session.sql("SET acidsql.ansi=false")
    session.sql("SET acidsql.engine=spark")
    rows = [[repr(row) for row in session.sql(query).rows()] for query in (one, other)]
    counts = [f"(SELECT count(*) FROM {q.partition(' FROM ')[2]})" for q in (one, other)]
    for engine in ("auto", "spark"):
        session.sql(f"SET acidsql.engine={engine}")
        united = session.sql(f"{one} UNION ALL {other}").rows()
        assert sorted(map(repr, united)) == sorted([*rows[0], *rows[1]]), (one, other)
        counted = list(session.sql(f"SELECT {counts[0]}, {counts[1]}").rows())
        assert counted == [(len(rows[0]), len(rows[1]))], (one, other)


@given(pair=pairs())
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_of_equal_columns(tables: Session, pair: tuple[str, str]) -> None:
    """In one query each is read as itself."""
    check_pair(tables, *pair)


@pytest.mark.slow
@given(pair=pairs())
@settings(max_examples=times(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_of_equal_columns_at_length(tables: Session, pair: tuple[str, str]) -> None:
    """The same, many times."""
    check_pair(tables, *pair)


@pytest.mark.slow
@given(query=QUERIES, ansi=st.booleans())
@settings(max_examples=times(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_driver_answers_as_spark_does_at_length(
    tables: Session, query: str, ansi: bool
) -> None:
    """The same, hundreds of times."""
    check(tables, query, ansi)
