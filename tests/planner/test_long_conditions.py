"""Statements of many terms: how often their words are read, and in which words Spark gets them."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acidsql.catalog.types import arrow_type, parse_type
from acidsql.expressions.reader import read_expression
from acidsql.expressions.shortening import FEWEST_TERMS, shortened
from acidsql.expressions.spark_words import QueryText, edited
from acidsql.expressions.tree import Condition
from acidsql.expressions.vectors import vectorized
from acidsql.parser import tokens
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind import query_tree
from acidsql.planner.bind.bound import BoundDelete, BoundMerge, BoundQuery, BoundUpdate
from tests.planner.conftest import Bind

# ---- the work


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often text was made into tokens and how many characters of it, by whom."""
    work: Counter[str] = Counter()

    def scanned(text: str) -> Any:
        work["texts"] += 1
        work["characters"] += len(text)
        return scan(text)

    def trees(text: str) -> Any:
        work["sqlglot"] += 1
        return parse_trees(text)

    parse_trees = query_tree._trees
    scan = tokens.scan
    monkeypatch.setattr(tokens, "scan", scanned)
    monkeypatch.setattr(query_tree, "_trees", trees)
    return work


CONDITION = " OR ".join(f"(id = {i} AND name = 'x' AND price BETWEEN 1 AND {i})" for i in range(50))


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM t WHERE {}",
        "UPDATE t SET name = 'x' WHERE {}",
        "UPDATE t SET flag = {} WHERE id = 1",
        "MERGE INTO t USING b ON t.id = b.id WHEN MATCHED AND b.id = 1 THEN DELETE",
    ],
)
def test_the_condition_of_a_change_is_read_once(bound: Bind, read: Counter[str], sql: str) -> None:
    """The tokens the grammar has seen are those the condition is read from, and no second parser
    looks at it.
    """
    text = sql.format(CONDITION)
    bound(text)
    assert read == {"texts": 1, "characters": len(text)}


def test_a_query_is_read_once_by_each_tokenizer(bound: Bind, read: Counter[str]) -> None:
    """A query's text is made tokens of once for all that is ours, and once for sqlglot."""
    text = f"SELECT count(*) FROM t WHERE {CONDITION}"
    bound(text)
    assert read == {"texts": 1, "characters": len(text), "sqlglot": 1}


def chain(terms: int, form: str, joint: str) -> str:
    return joint.join(form.format(i=i) for i in range(terms))


TERMS_OF_CHAIN, STACK = 400, 350
CHAINS = [
    chain(TERMS_OF_CHAIN, "t.id = {i}", " OR "),
    chain(TERMS_OF_CHAIN, "t.id <> {i}", " AND "),
    chain(TERMS_OF_CHAIN, "(t.id = {i} AND t.name = '{i}')", " OR "),
    chain(TERMS_OF_CHAIN, "t.id > {i}", " OR "),
    f"t.id = {chain(TERMS_OF_CHAIN, '{i}', ' + ')}",
    f"t.name = {chain(TERMS_OF_CHAIN, 't.name', ' || ')}",
    f"t.id IN ({chain(TERMS_OF_CHAIN, '{i}', ', ')})",
    f"CASE {chain(TERMS_OF_CHAIN, 'WHEN t.id = {i} THEN {i}', ' ')} END = 1",
]


@pytest.fixture
def little_stack() -> Iterator[None]:
    """Python has room for fewer calls than a chain has terms, so that a short one is tried."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + STACK)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("condition", CHAINS, ids=range(len(CHAINS)))
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM t WHERE {}",
        "UPDATE t SET name = 'y', flag = {} WHERE id = 1",
        "MERGE INTO t USING b ON t.id = b.id AND ({}) WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING b ON t.id = b.id WHEN MATCHED AND {} THEN DELETE",
        "INSERT INTO b SELECT id, name FROM t WHERE {}",
        "SELECT count(*) FROM t JOIN b ON t.id = b.id AND ({})",
    ],
)
@pytest.mark.usefixtures("little_stack")
def test_a_chain_recurses_for_none_of_its_terms(bound: Bind, sql: str, condition: str) -> None:
    """Any statement may have more terms of any kind than Python has stack for."""
    assert bound(sql.format(condition)) is not None


@pytest.mark.parametrize("form", ["id = {i}", "id <> {i}", "name LIKE '{i}%'"])
def test_work_grows_with_the_number_of_terms(
    bound: Bind, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Ten times the terms are ten times the steps of looking around in sqlglot's tree, no more."""
    from sqlglot import exp

    steps: Counter[str] = Counter()
    children, ancestor = exp.Select.iter_expressions, exp.Select.find_ancestor
    owner = next(kind for kind in exp.Select.__mro__ if "find_ancestor" in vars(kind))

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        steps["nodes"] += 1
        return children(self, *args, **kwargs)

    def climbed(self: Any, *kinds: Any) -> Any:
        steps["climbs"] += 1
        return ancestor(self, *kinds)

    monkeypatch.setattr(owner, "iter_expressions", counted)
    monkeypatch.setattr(owner, "find_ancestor", climbed)

    def work(terms: int) -> int:
        steps.clear()
        bound(f"SELECT id FROM t WHERE {chain(terms, form, ' OR ')}")
        assert not steps["climbs"]
        return steps["nodes"]

    assert 300 < work(300) < 11 * work(30)


def test_rows_of_values_are_parsed_together(bound: Bind, read: Counter[str]) -> None:
    """However many rows an INSERT has, their expressions go to sqlglot in one text, and those that
    need no parser not at all.
    """
    rows = ", ".join(f"({i} + 1, upper('a'))" for i in range(50))
    bound(f"INSERT INTO b VALUES {rows}")
    assert not read["sqlglot"]
    rows = ", ".join(f"({i}, date_format(timestamp '2024-01-01', 'y'))" for i in range(50))
    bound(f"INSERT INTO b VALUES {rows.replace('timestamp', 'interval')}")
    assert read["sqlglot"] <= 1


# ---- the words for Spark


def text_of(bound: Bind, sql: str) -> str:
    match bound(sql):
        case BoundQuery(text=text, reads=reads):
            return text.render(["T"] * len(reads))
        case BoundDelete(query=query) | BoundUpdate(query=query):
            return query.text.render(["T"] * len(query.reads))
        case BoundMerge(on=on, text_source=source):
            return QueryText(source, on).render(["T", "S"])
        case other:
            raise AssertionError(other)


N = FEWEST_TERMS
NUMBERS = ", ".join(map(str, range(N)))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (chain(N, "id = {i}", " OR "), f"(id IN ({NUMBERS}))"),
        (chain(N, "({i} = t.id)", " or "), f"(t.id IN ({NUMBERS}))"),
        (chain(N, "id <> {i}", " AND "), f"(id NOT IN ({NUMBERS}))"),
        (f"NOT ({chain(N, 'id = {i}', ' OR ')})", f"NOT ((id IN ({NUMBERS})))"),
        (
            chain(N, "name = '{i}'", " OR ") + " OR (id > 5 AND id < 9)",
            f"(name IN ({', '.join(repr(str(i)) for i in range(N))}) OR (id > 5 AND id < 9))",
        ),
        (
            chain(N, "(big = {i} AND id = {i})", " OR "),
            f"((big, id) IN ({', '.join(f'({i}L, {i})' for i in range(N))}))",
        ),
        # what might be another thing stays: casts, NULL, pairs where NULL is not false
        (chain(N - 1, "id = {i}", " OR "), None),
        (chain(N, "name = {i}", " OR "), None),
        (chain(N, "id = '{i}'", " OR "), None),
        (chain(N, "price = {i}.5", " OR "), None),
        (chain(N, "id = 1{i}000000000", " OR "), None),
        (chain(N, "id = NULL", " OR "), None),
        (f"NOT ({chain(N, '(big = {i} AND id = {i})', ' OR ')})", None),
        (chain(N, "id <=> {i}", " OR "), None),
        (chain(N, "id = {i}", " AND "), None),
    ],
)
def test_long_chains_become_lists(bound: Bind, condition: str, expected: str | None) -> None:
    """A chain of comparisons with literals of the column's own type is one list for Spark, whose
    time for each term of a chain grows with their number.
    """
    for sql in ("DELETE FROM t WHERE {}", "SELECT * FROM t WHERE {}"):
        assert (expected or condition) in text_of(bound, sql.format(condition))
    merge = "MERGE INTO t USING b ON t.name = b.name AND ({}) WHEN MATCHED THEN DELETE"
    if expected is not None and "t.id" in condition:
        assert expected in text_of(bound, merge.format(condition))


def test_a_view_keeps_its_words(bound: Bind) -> None:
    """What other engines read is what the user wrote."""
    condition = chain(N, "id = {i}", " OR ")
    assert condition in str(bound(f"CREATE VIEW w AS SELECT id FROM t WHERE {condition}"))


TYPES = {"a": "int", "b": "bigint", "s": "string"}
VALUES: dict[str, list[Any]] = {"a": [None, 0, 1, 2], "b": [None, 0, 1], "s": [None, "", "x"]}
TERMS = [
    *(f"a = {i}" for i in range(3)),
    *(f"a <> {i}" for i in range(3)),
    *("b = 1", "b <> 1", "0 = b", "b <> 3000000000", "s = 'x'", "s <> ''", "a = b", "s IS NULL"),
    *("(a = 1 AND b = 1)", "(b = 0 AND a = 2)", "(a = 1 AND b > 0)", "NOT (a = 1)", "NULL"),
]
CONDITIONS = st.recursive(
    st.sampled_from(TERMS),
    lambda inner: st.builds(
        lambda parts, joint, negated: f"{'NOT ' * negated}({joint.join(parts)})",
        st.lists(inner, min_size=1, max_size=6),
        st.sampled_from([" OR ", " AND "]),
        st.booleans(),
    ),
    max_leaves=20,
)


def meaning(tree: Condition) -> list[Any]:
    """For every row of ``VALUES``."""
    types = {name: parse_type(kind) for name, kind in TYPES.items()}
    rows = zip(*product(*(VALUES[name] for name in TYPES)), strict=True)
    arrays = [
        pa.array(row, arrow_type(kind)) for row, kind in zip(rows, types.values(), strict=True)
    ]
    vector = vectorized(tree, types, ansi=False, zone="UTC")
    return vector.run(pa.RecordBatch.from_arrays(arrays, names=list(types))).to_pylist()


def rewritten(source: str, tree: Condition, filters: bool) -> str:
    def type_of(parts: tuple[str, ...]) -> Any:
        return parse_type(TYPES[parts[0]])

    edits = shortened(source, tree, type_of, [], filters=filters)
    return QueryText(source, edited(tree.span, edits)).render(())


def pairs_as_chains(text: str) -> str:
    """``(a, b) IN ((1, 2L))``, which the evaluator does not know, as the comparisons it stands for."""

    def chained(pairs: re.Match[str]) -> str:
        one, other, values = pairs.groups()
        known = re.findall(r"\(([^(), ]+), ([^(), ]+)\)", values)
        tests = [f"({one} = {a} AND {other} = {b})" for a, b in known]
        return f"({' OR '.join(tests)})"

    return re.sub(r"\((\w), (\w)\) IN \(((?:\([^()]+\)(?:, )?)+)\)", chained, text)


@example("(a = 0 OR (a = 0 AND s = 'x'))", True)
@given(CONDITIONS, st.booleans())
def test_fewer_words_mean_the_same(source: str, filters: bool) -> None:
    """For every row, NULLs among them, the shortened condition is true, false or NULL where the
    user's is.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acidsql.expressions.shortening.FEWEST_TERMS", 2)
        tree = read_expression(source, tokenize(source))
        assert tree is not None
        text = pairs_as_chains(rewritten(source, tree, filters))
    again = read_expression(text, tokenize(text))
    assert again is not None
    assert meaning(again) == meaning(tree)
