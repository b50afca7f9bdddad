"""Texts that nest deeply are parsed in pieces, and the tree is the one of the whole."""

import contextlib
import random
import sys
import threading

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects import Spark

from acidsql.errors import NestingError, ParseError, Span
from acidsql.planner.bind.query_tree import parse_query

SHAPES = {
    "calls": ("SELECT ", "coalesce(a, ", "a", ", b)", " FROM t"),
    "brackets": ("SELECT ", "(b + ", "a", ")", " AS x FROM t"),
    "CASE": ("SELECT ", "CASE WHEN a = 1 THEN ", "a", " ELSE b END", " FROM t"),
    "conditions": ("SELECT * FROM t WHERE ", "CASE WHEN ", "b", " THEN c END", ""),
    "sub-queries in FROM": ("SELECT * FROM ", "(SELECT q.* FROM ", "t", ") q", " WHERE a = 1"),
    "scalar sub-queries": ("SELECT ", "(SELECT ", "a", ")", ""),
    "IN": ("SELECT 1 FROM t WHERE ", "a IN (SELECT a FROM t WHERE ", "b", ")", ""),
    "EXISTS": ("SELECT 1 FROM t WHERE ", "NOT EXISTS (SELECT a FROM t WHERE ", "b", ")", ""),
    "WITH": ("", "WITH x AS (", "SELECT 1", ") SELECT * FROM x", ""),
    "casts": ("SELECT ", "CAST(", "a", " AS INT)", " FROM t"),
    "items of arrays": ("SELECT ", "array(", "a", ", 7)[0]", " FROM t"),
    "items of maps": ("SELECT ", "map('k', ", "a", ")['k']", " FROM t"),
    "subscripts": ("SELECT ", "a[", "1", "]", " FROM t"),
    "windows": ("SELECT max(", "abs(", "a", ")", ") OVER (PARTITION BY b) FROM t"),
}
CHAINS = {
    "sum": "SELECT a{} FROM t|+ a",
    "AND": "SELECT a FROM t WHERE a{}|AND a = 1",
    "concatenation": "SELECT a{} FROM t||| a",
    "UNION ALL": "SELECT 1{}|UNION ALL SELECT 1",
    "WHEN": "SELECT CASE{} END FROM t|WHEN a = 1 THEN 2",
    "IN list": "SELECT a IN (1{}) FROM t|, 2",
}


def text_of(shape: str, levels: int) -> str:
    head, opening, core, closing, tail = SHAPES[shape]
    return head + opening * levels + core + closing * levels + tail


def parsed(text: str) -> exp.Expr:
    return parse_query(text, Span(0, len(text)))


def facts(tree: exp.Expr) -> list[tuple[object, ...]]:
    """Every node with its place in the tree and in the text."""
    return [
        (
            type(node).__name__,
            node.meta.get("start"),
            node.meta.get("end"),
            node.name if isinstance(node, exp.Identifier | exp.Literal) else "",
            node.arg_key,
            node.index,
        )
        for node in tree.walk()
    ]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", [5, 11, 25, 36])
def test_the_tree_of_the_pieces_is_that_of_the_whole(shape, levels):
    """sqlglot gives the same nodes at the same places where it has stack enough for all at once."""
    text = text_of(shape, levels)
    assert [facts(parsed(text))] == with_much_stack([text])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_all_levels_are_parsed(shape, levels):
    """No shape that can be cut ends in an overflow, and every level is in the tree."""
    tree = parsed(text_of(shape, levels))
    assert sum(1 for _ in tree.walk()) > levels


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("links", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_all_links_of_a_chain_are_parsed(chain, links):
    """Chains nest to the left in the tree, which is no matter to who walks it."""
    frame, _, link = CHAINS[chain].partition("|")
    tree = parsed(frame.format((" " + link) * links))
    assert sum(1 for _ in tree.walk()) > links


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "transform(a, x -> " * 150 + "x" + ")" * 150 + " FROM t",
        "SELECT * FROM " + "(t JOIN " * 300 + "t" + ")" * 300,
    ],
    ids=["lambdas", "joins"],
)
def test_what_cannot_be_cut_is_refused_with_its_place(text):
    """The error points into the text, at the deepest bracket if there is one."""
    with pytest.raises(NestingError) as caught:
        parsed(text)
    assert caught.value.span is not None
    assert 0 <= caught.value.span.start < caught.value.span.end <= len(text)


def test_a_run_of_prefixes_is_read_to_its_end_or_refused():
    """A compiled sqlglot goes further down than Python does; neither loses a NOT."""
    text = "SELECT " + "NOT " * 300 + "a FROM t"
    tree = None
    with contextlib.suppress(NestingError):
        tree = parsed(text)
    assert tree is None or sum(1 for _ in tree.find_all(exp.Not)) == 300


def test_an_error_in_the_depths_keeps_its_place():
    """A piece knows where it was cut from."""
    text = "SELECT " + "abs(" * 60 + "a +" + ")" * 60 + " FROM t"
    with pytest.raises(ParseError) as caught:
        parsed(text)
    assert not isinstance(caught.value, NestingError)
    assert caught.value.span is not None
    assert abs(caught.value.span.start - text.index("a +")) < 60


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_random_nestings_give_the_tree_of_the_whole(count):
    """Random texts, most of them deeper than sqlglot goes in a usual stack; those in lambdas are
    refused.
    """
    number = random.Random(20)
    texts = [f"SELECT {expression(number, number.randint(1, 90))} FROM t" for _ in range(count)]
    trees = {}
    for text in texts:
        with contextlib.suppress(NestingError):
            trees[text] = facts(parsed(text))
    assert len(trees) > count // 2  # a lambda in a lambda cannot be cut
    for text, whole in zip(trees, with_much_stack(list(trees)), strict=True):
        assert trees[text] == whole, text


def expression(number: random.Random, levels: int) -> str:
    text = number.choice(["a", "t.b", "1", "'it''s ('", "`c)`", "DATE '2020-01-01'"])
    for _ in range(levels):
        text = number.choice(
            [
                f"abs({text})", f"({text})", f"(1 + ({text}))", f"CAST({text} AS DECIMAL(10,2))",
                f"CASE WHEN a IN (1, {text}) THEN 2 ELSE (3) END", f"CASE ({text}) WHEN 1 THEN f(2) END",
                f"(SELECT max(x) FROM u WHERE x = ({text}))", f"EXISTS (SELECT 1 FROM u WHERE {text})",
                f"a IN (SELECT x FROM (SELECT {text} AS x, array<int>(1) y) v)", f"arr[{text}]",
                f"transform(arr, x -> x + ({text}))", f"sum({text}) OVER (PARTITION BY g(a) ORDER BY b)",
                f"a BETWEEN ({text}) AND {text if len(text) < 99 else 'b'}",
                f"NOT ({text})", f"-({text})", f"count(DISTINCT {text}, (b)) FILTER (WHERE a > 1)",
                f"named_struct('a', {text}).a", f"extract(DAY FROM ({text}))", f"({text}) /* ( */ + 1",
                f"(WITH w AS (SELECT {text} AS x) SELECT x FROM w)", f"if({text}, 1, (2))", f"({text}, 1)",
                f"(SELECT {text} UNION ALL (SELECT 1))", f"coalesce({text}, {{fn}})".replace("{fn}", "h(1)"),
            ]
        )  # fmt: skip
    return text


def with_much_stack(texts: list[str]) -> list[list[tuple[object, ...]]]:
    trees: list[list[tuple[object, ...]]] = []

    def parse() -> None:
        trees.extend(facts(sqlglot.parse_one(text, dialect=Spark())) for text in texts)

    limit, size = sys.getrecursionlimit(), threading.stack_size(1 << 28)
    sys.setrecursionlimit(50_000)
    try:
        thread = threading.Thread(target=parse)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    return trees
