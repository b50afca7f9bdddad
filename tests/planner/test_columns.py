"""Columns of queries and expressions: found, ambiguous or missing, without an engine; what only
Spark can judge is left to it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.types import HiveType, parse_type
from acidsql.errors import AmbiguousColumnError, ColumnNotFoundError, Span
from acidsql.expressions.reader import read_expression
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.analysis import Analysis, analyse_expression
from acidsql.planner.bind.columns import Facts, Visible, facts_of, named_columns, simple_columns
from tests.planner.conftest import Bind

FINE = [
    "SELECT id, t.name, default.t.price FROM t",
    "SELECT ID, T.NAME FROM t",
    "SELECT x.id FROM t x",
    "SELECT id AS k FROM t ORDER BY k",
    "SELECT id AS k, k + 1 AS l FROM t WHERE id > 0 HAVING l > 1",
    "SELECT count(*) AS n FROM t GROUP BY name HAVING n > 1 ORDER BY n",
    "SELECT t.id FROM t JOIN b ON t.id = b.id WHERE price > 0",
    "SELECT id FROM t JOIN b USING (id)",
    "SELECT id FROM t NATURAL JOIN b",
    "SELECT name FROM t LEFT SEMI JOIN b ON t.id = b.id",
    "SELECT name FROM t LEFT ANTI JOIN b ON t.id = b.id",
    "SELECT t.id, q.k FROM t CROSS JOIN LATERAL (SELECT t.id + 1 AS k) q",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM b WHERE b.id = t.id AND price > 0)",
    "SELECT (SELECT max(id) FROM b WHERE b.id < big) FROM t",
    "SELECT transform(array(id), x -> x + id) FROM t",
    "SELECT reduce(array(id), 0, (acc, x) -> acc + x, acc -> acc * id) FROM t",
    "SELECT e FROM t LATERAL VIEW explode(array(id)) z AS e",
    "SELECT nope FROM v",
    "SELECT nope FROM t JOIN v ON t.id = v.id",
    "WITH q AS (SELECT id AS k FROM t) SELECT k FROM q",
    "SELECT k FROM (SELECT id AS k FROM t) q",
    "SELECT a FROM t AS x(a, c, d, e, f, g)",
    "SELECT a FROM VALUES (1) AS z(a)",
    "SELECT id FROM t UNION SELECT id FROM b ORDER BY id",
    "SELECT id, sum(price) OVER w FROM t WINDOW w AS (PARTITION BY name ORDER BY day)",
    "SELECT extract(year FROM day), timestampdiff(MINUTE, day, day), date_trunc('month', day), interval 1 day FROM t",
    "SELECT current_date, current_user, user, grouping__id FROM t GROUP BY id",
    "SELECT struct(id AS x, name).x FROM t",
    "SELECT * EXCEPT (id) FROM t",
    "SELECT ROW__ID, ROW__ID.writeid, t.ROW__ID.rowid FROM t",
    "SELECT ROW__ID.writeid FROM t JOIN plain ON t.id = plain.id",
    "SELECT /*+ BROADCAST(nope) */ t.id FROM t",
    "SELECT id FROM t PIVOT (sum(price) FOR name IN ('a' AS x))",
    "SELECT r.id, t.id FROM range(3) r JOIN t ON r.id = t.id",
    "SELECT count(*) FILTER (WHERE flag) FROM t TABLESAMPLE (10 PERCENT)",
    "SELECT n.info.a, n.info.b.c, info.b.c, tags['x'], list[0].k FROM n",
    "FROM t SELECT id WHERE price > 0",
]

WRONG = [
    ("SELECT nope FROM t", "nope", None),
    ("SELECT nam FROM t", "nam", "name"),
    ("SELECT t.nam FROM t", "nam", "name"),
    ("SELECT z.id FROM t", "z", None),
    ("SELECT t.id FROM t x", "t", None),
    ("SELECT id FROM t WHERE pricee > 0", "pricee", "price"),
    ("SELECT id FROM t ORDER BY nope", "nope", None),
    ("SELECT t.id FROM t JOIN plain p ON t.id = p.idd", "idd", "id"),
    ("SELECT k FROM (SELECT nope AS k FROM t) q", "nope", None),
    ("WITH q AS (SELECT nope FROM t) SELECT * FROM q", "nope", None),
    ("SELECT id FROM t WHERE id IN (SELECT nope FROM b)", "nope", None),
    ("INSERT INTO b SELECT id, nope FROM t", "nope", None),
    ("UPDATE t SET id = (SELECT nope FROM b)", "nope", None),
    ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM b WHERE b.id = t.nope)", "nope", None),
    ("SELECT info.x FROM n", "x", None),
    ("SELECT n.info.b.d FROM n", "d", None),
    ("SELECT plain.ROW__ID FROM plain", "ROW__ID", None),
]


@pytest.mark.parametrize("sql", FINE)
def test_what_may_be_right_is_not_refused(bound: Bind, sql: str) -> None:
    """Names of results, lambdas, outer queries, and whatever only Spark knows are never taken for
    mistakes.
    """
    bound(sql)


@pytest.mark.parametrize(("sql", "word", "near"), WRONG)
def test_missing_columns(bound: Bind, sql: str, word: str, near: str | None) -> None:
    """A column that no table of the query has is refused at its place, with the name that was
    meant.
    """
    with pytest.raises(ColumnNotFoundError) as refused:
        bound(sql)
    error = refused.value
    assert error.span is not None
    assert error.source is not None
    assert error.span.cut(error.source) == word
    assert error.code == 10004
    assert error.hint == (f'did you mean "{near}"?' if near else error.hint)


@pytest.mark.parametrize(
    "sql", ["SELECT id FROM t JOIN b ON t.id = b.id", "SELECT t.id FROM t, b WHERE name = 'x'"]
)
def test_ambiguous_columns(bound: Bind, sql: str) -> None:
    """A column of two joined tables must say which."""
    with pytest.raises(AmbiguousColumnError):
        bound(sql)


@pytest.mark.parametrize(
    "clause", ["ORDER BY id", "SORT BY id", "ORDER BY id + 1", "HAVING id > 0"]
)
def test_results_have_names_of_their_own(bound: Bind, clause: str) -> None:
    """A clause that is asked of results may name one of them, whatever the tables have."""
    bound(f"SELECT t.id FROM t JOIN b ON t.id = b.id GROUP BY t.id {clause}")


ATOMS = [
    "id",
    "t.name",
    "T.price",
    "flag",
    "5",
    "1.5",
    "'x'",
    "''",
    "upper(name)",
    "concat(t.name, 'a', name)",
    "b.id",
    "nope",
    "t.nope",
    "null",
    "TRUE",
    "user",
    "z.id",
]
OPERATORS = [" = ", "<>", " + ", "- ", " AND ", " or ", " <= ", " % "]


SHAPES = [
    "{}",
    "({})",
    "NOT ({})",
    "CASE WHEN {} THEN 1 ELSE t.id END",
    "({}) IN (1, t.id)",
    "cast({} AS STRING)",
    '({}) IS NULL OR `Name` > "y"',
]


@given(
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4),
    st.lists(st.sampled_from(OPERATORS), min_size=3, max_size=3),
    st.sampled_from(SHAPES),
)
def test_an_expression_we_understand_needs_no_parser(
    atoms: list[str], operators: list[str], shape: str
) -> None:
    """What is read without sqlglot is what sqlglot reads: the same columns, the same type, the same
    error (of several, any).
    """
    inner = atoms[0] + "".join(o + a for o, a in zip(operators, atoms[1:], strict=False))
    text = shape.format(inner)
    span = Span(0, len(text))
    known: dict[str, HiveType | None] = {
        "id": parse_type("int"),
        "name": parse_type("string"),
        "price": parse_type("decimal(10,2)"),
    }
    visible = [
        Visible(alias="t", name="default.t", database="default", columns={**known, "flag": None}),
        Visible(alias="b", name="default.b", columns={"id": parse_type("int")}),
    ]

    def outcome(facts: Callable[[], Facts]) -> object:
        try:
            return facts()
        except (ColumnNotFoundError, AmbiguousColumnError) as error:
            single = len(atoms) == 1 and shape in ("{}", "({})")
            return (type(error), error.message, error.span) if single else "refused"

    parsed = outcome(
        lambda: analyse_expression(text, span, lambda parts, place: None, Analysis(), visible)
    )
    tree = read_expression(text, tokenize(text))
    ways = [simple_columns(text, span), None if tree is None else named_columns(text, tree)]
    assert (ways[0] is not None) >= (shape == "{}")
    for columns in ways:
        if columns is not None:
            found = outcome(lambda given=columns: facts_of(text, span, given, visible))
            assert found == parsed


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN a THEN b END",
        "x -> x + 1",
        "a IS NULL",
        "a IN (1)",
        "date '2024-01-01'",
        "a[0]",
        "'it\\'s'",
        "a b",
        "(a)",
        "t.row__id",
        "f(g(a))",
        "a.b.c",
    ],
)
def test_what_is_not_simple_is_parsed(text: str) -> None:
    """Keywords, brackets, lambdas, escapes and whatever else has a meaning of its own is the
    parser's.
    """
    assert simple_columns(text, Span(0, len(text))) is None
