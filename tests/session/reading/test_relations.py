"""Joins, set operations, WITH and sub-queries that the driver carries out alone, held against Spark
for random queries over tables of equal columns.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acidsql.errors import ExecutionError
from acidsql.session import Session
from tests.lengths import times
from tests.session.reading.parity import COLUMNS, TABLES, check

pytestmark = pytest.mark.spark

NAMES = tuple(COLUMNS)
KINDS = (
    "JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL OUTER JOIN",
    "LEFT SEMI JOIN", "LEFT ANTI JOIN",
)  # fmt: skip
EQUALITIES = (
    *(f"a.{name} = b.{name}" for name in NAMES), "a.t = b.b", "a.i = b.m", "a.d = b.f", "a.x = b.v",
    "a.i = b.i + 1", "b.i = a.s", "a.y = b.z", "upper(a.x) = b.x", "a.i = 1", "a.f = b.i", "a.m = b.w",
)  # fmt: skip
OTHERS = ("a.i > b.i", "a.x <> b.x", "b.o", "a.i > 1", "b.i IS NULL", "a.i <=> b.i", "a.d >= b.d")
ITEMS = (
    *(f"a.{name}" for name in NAMES), *(f"b.{name}" for name in NAMES), "a.i + b.i AS sum",
    "coalesce(a.x, b.x) AS cx", "a.i = b.i AS same",
)  # fmt: skip
LEFT_ITEMS = tuple(item for item in ITEMS if "b." not in item)
WHERE = (
    "a.i > 1",
    "b.i > 1",
    "b.x IS NULL",
    "a.x = 'a'",
    "a.i = b.i",
    "a.d = b.d",
    "a.i + b.i > 3",
)
SETS = (
    "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "MINUS", "UNION DISTINCT", "INTERSECT ALL",
    "EXCEPT ALL", "MINUS ALL",
)  # fmt: skip
OPERANDS = ("i", "x", "m", "d", "i + 1", "y", "v", "t")


@st.composite
def joins(draw: st.DrawFn) -> str:
    """Two or three tables beside each other."""
    kind = draw(st.sampled_from(KINDS))
    on = [draw(st.sampled_from(EQUALITIES)), *draw(st.lists(st.sampled_from(OTHERS), max_size=1))]
    only_left = "SEMI" in kind or "ANTI" in kind
    items = draw(
        st.lists(st.sampled_from(LEFT_ITEMS if only_left else ITEMS), min_size=1, max_size=4)
    )
    joined = f"{_relation(draw)} a {kind} {_relation(draw)} b ON {' AND '.join(on)}"
    where = [one for one in WHERE if not (only_left and "b." in one)]
    if not only_left and draw(st.integers(0, 3)) == 0:
        joined += f" {draw(st.sampled_from(KINDS))} {draw(st.sampled_from(TABLES))} c ON c.i = a.i"
    if draw(st.booleans()):
        joined += f" WHERE {draw(st.sampled_from(where))}"
    if draw(st.integers(0, 3)) == 0:
        key = items[0].split(" AS ")[0]
        if "." in key and " " not in key:
            return f"SELECT {key}, count(*) AS n, max(a.i) AS m FROM {joined} GROUP BY {key}"
    return f"SELECT {', '.join(items)} FROM {joined}"


@st.composite
def crossed(draw: st.DrawFn) -> str:
    """Tables that WHERE joins, or nothing."""
    tables = ", ".join(f"{draw(st.sampled_from(TABLES))} {name}" for name in "ab")
    conditions = draw(st.lists(st.sampled_from((*EQUALITIES, *WHERE)), max_size=2))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT a.i, b.x, b.d FROM {tables}{where}"


@st.composite
def common_columns(draw: st.DrawFn) -> str:
    """USING and NATURAL, stars and names alone behind them."""
    names = draw(
        st.lists(st.sampled_from(("i", "x", "m", "y")), min_size=1, max_size=2, unique=True)
    )
    kind = draw(
        st.sampled_from(
            ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
        )
    )
    left, right = (_aliased(draw, alias) for alias in "ab")
    if "VALUES" in left + right:
        names = ["i"]
    items = draw(st.sampled_from((f"{names[0]}, a.o", "*", "a.*", f"{names[-1]}, a.*", "*, a.o")))
    if "SEMI" not in kind and "ANTI" not in kind:
        b = f"b.{names[0]}"
        items = draw(st.sampled_from((items, f"b.*, {names[0]}", f"a.{names[0]} AS k, {b}, *")))
    using = f"USING ({', '.join(names)})"
    if draw(st.integers(0, 3)) == 0 and "SEMI" not in kind and "ANTI" not in kind:
        left, right = (_of_few(draw, names, alias) for alias in "ab")
        using = ""
        kind, items = f"NATURAL {kind}", draw(st.sampled_from(("*", f"{names[0]}", "a.*, b.*")))
    third = draw(st.sampled_from(("", "", f" LEFT JOIN other c USING ({names[0]})")))
    if third and "SEMI" not in kind and "ANTI" not in kind:
        return f"SELECT {names[0]}, c.o, * FROM {left} {kind} {right} {using}{third}"
    return f"SELECT {items} FROM {left} {kind} {right} {using}"


@st.composite
def sets(draw: st.DrawFn) -> str:
    """Two to four queries united, met, taken away; of mixed types; in an order."""
    width = draw(st.integers(1, 3))
    firsts = draw(st.lists(st.sampled_from(NAMES), min_size=width, max_size=width, unique=True))
    parts = [_select(draw, firsts)]
    for _ in range(draw(st.integers(1, 3))):
        items = [
            name if draw(st.integers(0, 3)) else draw(st.sampled_from((*NAMES, "NULL", "1", "'q'")))
            for name in firsts
        ]
        parts += [draw(st.sampled_from(SETS)), _select(draw, items)]
    order = (
        f" ORDER BY {', '.join(str(n + 1) for n in range(width))}" if draw(st.booleans()) else ""
    )
    limit = " LIMIT 3" if order and draw(st.booleans()) else ""
    query = " ".join(parts) + order + limit
    if not order and draw(st.integers(0, 3)) == 0:
        return f"SELECT count(*) AS n, count({firsts[0]}) AS k FROM ({query}) u"
    return query


@st.composite
def asking(draw: st.DrawFn) -> str:
    """Sub-queries in WHERE, in the list, in HAVING."""
    table, other = draw(st.tuples(*[st.sampled_from(TABLES)] * 2))
    inner = draw(st.sampled_from(OPERANDS))
    own = draw(st.sampled_from(("", " WHERE i > 1", " WHERE i IS NOT NULL", " WHERE s.x = 'a'")))
    same = draw(st.sampled_from(("i", "x", "d", "m")))
    correlated = f"{own} {'AND' if own else 'WHERE'} s.{same} = t.{same}"
    where = own if draw(st.booleans()) else correlated
    source = f"FROM {other} s{where}"
    match draw(st.integers(0, 6)):
        case 0:
            test = f"t.{inner} IN (SELECT {inner} {source})"
        case 1:
            test = f"t.{inner} NOT IN (SELECT {inner} {source})"
        case 2:
            test = f"EXISTS (SELECT 1 {source})"
        case 3:
            test = f"NOT EXISTS (SELECT * {source}) OR i = 1"
        case 4:
            test = f"t.i > (SELECT min(i) {source})"
        case 5:
            return (
                f"SELECT i, (SELECT count(*) {source}) AS n, (SELECT max({inner}) {source}) AS m"
                f" FROM {table} t"
            )
        case _:
            return (
                f"SELECT x, count(*) AS n FROM {table} t GROUP BY x"
                f" HAVING count(*) > (SELECT min(i) FROM {other}{own.replace('s.', '')})"
            )
    return f"SELECT i, x, d FROM {table} t WHERE {test}"


@st.composite
def named(draw: st.DrawFn) -> str:
    """WITH, whose queries are used once and twice, and in sub-queries."""
    items = "i, x, d * 2 AS dd"
    first = f"w AS (SELECT {items} FROM {draw(st.sampled_from(TABLES))}{_where(draw)})"
    match draw(st.integers(0, 3)):
        case 0:
            return f"WITH {first} SELECT a.i, b.dd FROM w a JOIN w b ON a.i = b.i"
        case 1:
            return f"WITH {first} SELECT i FROM w UNION SELECT i FROM w WHERE i > 1"
        case 2:
            table = draw(st.sampled_from(TABLES))
            return f"WITH {first} SELECT i FROM {table} WHERE i IN (SELECT i FROM w)"
        case _:
            second = "v (k, n) AS (SELECT x, count(*) FROM w GROUP BY x)"
            return f"WITH {first}, {second} SELECT k, n FROM v WHERE n > 0"


FRAMES = (
    "ROWS UNBOUNDED PRECEDING", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS 2 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING", "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING", "RANGE UNBOUNDED PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
)  # fmt: skip


@st.composite
def windows(draw: st.DrawFn) -> str:
    """Functions over windows; numbers of rows where the order leaves no choice."""
    table = draw(st.sampled_from(TABLES))
    key = draw(st.sampled_from(("x", "i", "o", "c", "y", "d", "i, x", "t + 1")))
    by = f"PARTITION BY {key} " if draw(st.booleans()) else ""
    name = draw(st.sampled_from(("i", "b", "d", "x", "m", "y", "f")))
    order = f"ORDER BY {name}{draw(st.sampled_from(('', ' DESC', ' NULLS LAST')))}"
    every = ", ".join(one for one in NAMES if one != "r")
    frame = draw(st.sampled_from(FRAMES))
    argument = draw(st.sampled_from(("i", "x", "m", "t", "d", "y", "b")))
    function = draw(
        st.sampled_from(
            (
                f"rank() OVER ({by}{order})",
                f"dense_rank() OVER ({by}{order})",
                f"count({argument}) OVER ({by}{order})",
                f"sum(i) OVER ({by}{order})",
                f"sum(t) OVER ({by})",
                f"sum(m) OVER ({by})",
                f"max({argument}) OVER ({by})",
                f"min({argument}) OVER ({by})",
                f"count(*) OVER ({by}{order})",
                f"avg(i) OVER ({by})",
                f"avg(m) OVER ({by})",
                f"row_number() OVER ({by}{order}, {every})",
                f"lag({argument}) OVER ({by}{order}, {every})",
                f"lead({argument}, 2) OVER ({by}{order}, {every})",
                f"1 + rank() OVER ({order})",
                f"sum(m) OVER ({by}{order})",
                f"avg(t) OVER ({by}{order})",
                f"avg(m) OVER ({by}{order})",
                f"min({argument}) OVER ({by}{order})",
                f"max({argument}) OVER ({by}{order})",
                f"first_value({argument}) OVER ({by}{order}, {every})",
                f"last_value({argument}) OVER ({by}{order}, {every})",
                f"sum(w) OVER ({by}{order}, {every} {frame})",
                f"avg(i) OVER ({by}{order}, {every} {frame})",
                f"count({argument}) OVER ({by}{order}, {every} {frame})",
                f"max({argument}) OVER ({by}{order}, {every} {frame})",
                f"last_value({argument}) OVER ({by}{order}, {every} {frame})",
                f"first_value({argument}) OVER ({by}{order}, {every} {frame})",
            )
        )
    )
    query = f"SELECT i, x, {argument}, {function} AS w FROM {table}{_where(draw)}"
    return (
        f"SELECT DISTINCT i, w FROM ({query}) q WHERE w > 1"
        if not draw(st.integers(0, 3)) and argument not in "ix" and "rank" in function
        else query
    )


GROUPINGS = (
    "upper(x)", "year(y)", "i % 2", "i + 1", "substr(x, 1, 1)", "cast(b AS STRING)", "d * 2", "f + d",
    "CASE WHEN i > 1 THEN 'much' ELSE x END", "y + 1", "coalesce(x, 'n')", "m * 2", "concat(x, c)",
    "i IS NULL", "o", "x", "i", "length(v)", "-d", "i > 1 AND o", "month(y) + 1", "nullif(x, 'a')",
)  # fmt: skip
OVER_GROUPS = (
    "count(*)", "sum(i)", "max(x)", "avg(m)", "count(DISTINCT i)", "max(i) + 1", "min(d)",
)  # fmt: skip


@st.composite
def groups(draw: st.DrawFn) -> str:
    """Groups of expressions, by themselves, by number and by name; what is over them; windows."""
    keys = draw(st.lists(st.sampled_from(GROUPINGS), min_size=1, max_size=3, unique=True))
    items, by = [], []
    for at, key in enumerate(keys, 1):
        shape = draw(st.integers(0, 5))
        items.append(f"{key} AS k{at}")
        by.append(str(at) if shape == 0 else f"k{at}" if shape == 1 else key)
    more = draw(
        st.sampled_from(
            (
                "", f"concat('<', cast({keys[0]} AS STRING)) AS shown", "1 AS one",
                "rank() OVER (ORDER BY count(*) DESC) AS place", "sum(count(*)) OVER () AS every",
                f"count(*) OVER (PARTITION BY {keys[0]}) AS beside", f"{keys[0]} IS NULL AS none",
                f"sum(sum(i)) OVER (ORDER BY {keys[0]}) AS so_far", "x AS given", "i + 1 AS next",
            )
        )
    )  # fmt: skip
    items += [draw(st.sampled_from(OVER_GROUPS)) + " AS g", *([more] if more else [])]
    relation = draw(st.sampled_from(TABLES))
    query = f"SELECT {', '.join(items)} FROM {relation}{_where(draw)} GROUP BY {', '.join(by)}"
    having = ("", "count(*) > 1", f"{keys[0]} IS NOT NULL", "k1 IS NOT NULL", "g IS NOT NULL")
    if having := draw(st.sampled_from(having)):
        query += f" HAVING {having}"
    if draw(st.integers(0, 3)) == 0 and "OVER" not in more:
        query += f" ORDER BY {', '.join(keys)}"
    return query


@st.composite
def different(draw: st.DrawFn) -> str:
    """Counts of different values, averages of decimals."""
    key = draw(st.sampled_from(("", "x", "o", "i", "y")))
    items = draw(
        st.lists(
            st.sampled_from(
                (
                    *(f"count(DISTINCT {n})" for n in NAMES),
                    "avg(m)",
                    "sum(m)",
                    "avg(w)",
                    "max(i)",
                    "count(*)",
                    "count(DISTINCT i + 1) AS c",
                )
            ),
            min_size=1,
            max_size=3,
        )
    )
    listed = ", ".join([*([key] if key else []), *items])
    group = f" GROUP BY {key}" if key else ""
    return f"SELECT {listed} FROM {draw(st.sampled_from(TABLES))}{_where(draw)}{group}"


def _select(draw: st.DrawFn, items: list[str]) -> str:
    return f"SELECT {', '.join(items)} FROM {draw(st.sampled_from(TABLES))}{_where(draw)}"


def _aliased(draw: st.DrawFn, alias: str) -> str:
    if draw(st.integers(0, 4)):
        return f"{draw(st.sampled_from(TABLES))} {alias}"
    return f"(VALUES (1, true), (NULL, NULL), (3, false)) AS {alias}(i, o)"


def _of_few(draw: st.DrawFn, names: list[str], alias: str) -> str:
    """These columns of a table, and one that has another name in each."""
    table = draw(st.sampled_from(TABLES))
    return f"(SELECT o AS o{alias}, {', '.join(names)} FROM {table}) {alias}"


def _where(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(("", " WHERE i > 1", " WHERE x = 'a'", " WHERE i IS NULL")))


def _relation(draw: st.DrawFn) -> str:
    table = draw(st.sampled_from(TABLES))
    if draw(st.integers(0, 3)):
        return table
    return (
        f"(SELECT * EXCEPT (c, v) FROM {table}{_where(draw)})"
        if draw(st.booleans())
        else (f"(SELECT {', '.join(n for n in NAMES if n not in 'cv')} FROM {table}{_where(draw)})")
    )


QUERIES = st.one_of(
    joins(),
    crossed(),
    common_columns(),
    sets(),
    asking(),
    named(),
    windows(),
    groups(),
    different(),
)


@given(query=QUERIES, ansi=st.booleans())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_driver_relates_rows_as_spark_does(tables: Session, query: str, ansi: bool) -> None:
    """Names, types and rows, in their order where one is asked for."""
    check(tables, query, ansi)


@pytest.mark.slow
@given(query=QUERIES, ansi=st.booleans())
@settings(max_examples=times(400), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_driver_relates_rows_as_spark_does_at_length(
    tables: Session, query: str, ansi: bool
) -> None:
    """The same, hundreds of times."""
    check(tables, query, ansi)


def test_intersect_all_with_a_column_twice(tables: Session) -> None:
    """The driver answers what Spark's optimizer breaks down on, which it says in its own words."""
    query = "SELECT i, i AS j FROM other INTERSECT ALL SELECT i, i FROM other"
    tables.sql("SET acidsql.ansi=false")
    tables.sql("SET acidsql.engine=local")
    rows = tables.sql("SELECT i, i AS j FROM other").fetchall()
    assert sorted(tables.sql(query).fetchall(), key=str) == sorted(rows, key=str)
    tables.sql("SET acidsql.engine=spark")
    with pytest.raises(ExecutionError, match="RewriteIntersectAll"):
        tables.sql(query).fetchall()
