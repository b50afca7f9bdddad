"""Expressions over batches, without Spark: what is understood, and what it comes to."""

from __future__ import annotations

import contextlib
import datetime
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from acidsql.catalog.types import arrow_type, parse_type
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.spark_words import is_function
from acidsql.expressions.tree import Call, parts_of
from acidsql.expressions.vectors import Vector, store_cast, vectorized
from acidsql.expressions.vectors.functions import FUNCTIONS
from acidsql.parser.tokens import tokenize
from tests.expressions.vectors.cases import CASES, NOW
from tests.expressions.vectors.spark_answers import batch_of, compiled

EXPRESSIONS = [sql for sqls in CASES.values() for sql in sqls]


def answers(
    sql: str, columns: Mapping[str, tuple[str, list[Any]]], *, ansi: bool = False, zone: str = "UTC"
) -> list[Any]:
    """Of an expression over columns of these types and values."""
    types = {name: parse_type(text) for name, (text, _) in columns.items()}
    tree = read_expression(sql, tokenize(sql))
    assert tree is not None
    vector = vectorized(tree, types, ansi=ansi, zone=zone, now=NOW)
    assert isinstance(vector, Vector), vector
    batch = pa.record_batch(
        {name: pa.array(values, arrow_type(types[name])) for name, (_, values) in columns.items()}
    )
    return vector.run(batch).to_pylist()  # type: ignore[no-any-return]


# ---- what is understood


@pytest.mark.parametrize("ansi", [False, True])
@pytest.mark.parametrize(
    ("sql", "part", "reason"),
    [
        ("i = 1 AND z = 5", "z = 5", "a comparison of binary with int"),
        ("i = 1 AND d = 'today'", "d = 'today'", "this text in place of a date"),
        ("x OR rand() > 0.5", "rand()", "the function RAND"),
        ("missing = 1", "missing", 'the name "missing"'),
        ("i.field = 1", "i.field", 'the name "i.field"'),
        ("concat(s, f)", "concat(s, f)", "a double in place of a string"),
        ("d BETWEEN 5 AND d2", "d BETWEEN 5 AND d2", "a comparison of date with int"),
        ("CASE WHEN i THEN 1 END", "CASE WHEN i THEN 1 END", "a condition of type int"),
        ("coalesce(i, s)", "coalesce(i, s)", "a value of int or string"),
        ("CAST(s AS CHAR(3))", "CAST(s AS CHAR(3))", "a cast to char(3)"),
        ("i < 99999999999999999999", "i < 99999999999999999999", "a number beyond all integers"),
        ("k = w", "k = w", "a comparison of decimal(38,0) with decimal(38,38)"),
    ],
)
def test_a_refusal_names_the_part(sql: str, part: str, reason: str, ansi: bool) -> None:
    """What is not understood is named with its place, so that EXPLAIN can show it."""
    refusal = compiled(sql, ansi=ansi)
    assert isinstance(refusal, NotHere)
    assert refusal.reason == reason
    assert refusal.span is not None
    assert refusal.span.cut(sql) == part


def test_only_the_moment_of_a_statement_has_a_zone() -> None:
    """Timestamps are wall clocks, the same in each session; now and today are those of its zone."""
    columns = {"t": parse_type("timestamp"), "d": parse_type("date")}
    for sql in ("t > d", "CAST(t AS STRING)", "year(t)", "t = t", "current_date", "now() > t"):
        tree = read_expression(sql, tokenize(sql))
        assert tree is not None
        elsewhere = NotHere if sql in ("current_date", "now() > t") else Vector
        for zone, kind in (("Europe/Berlin", elsewhere), ("Etc/UTC", Vector)):
            with pytest.raises(NotHere) if kind is NotHere else contextlib.nullcontext():
                vectorized(tree, columns, ansi=False, zone=zone, now=NOW)


def test_the_moment_is_the_statements() -> None:
    """CURRENT_DATE and CURRENT_TIMESTAMP are of the moment given, in UTC, unless a column has the
    name.
    """
    none: dict[str, tuple[str, list[Any]]] = {"i": ("int", [1])}
    assert answers("current_date", none) == [datetime.date(2026, 2, 28)]
    assert answers("current_timestamp()", none) == [NOW]
    tree = read_expression("current_date", tokenize("current_date"))
    assert tree is not None
    column = {"current_date": parse_type("int")}
    with pytest.raises(NotHere):
        vectorized(tree, column, ansi=False, zone="UTC", now=NOW)


def test_a_branch_is_computed_where_it_is_taken() -> None:
    """A branch that would fail for other rows is no reason to fail."""
    columns = {"a": ("int", [6, 7, None, 8]), "b": ("int", [3, 0, 1, None])}
    sql = "CASE WHEN b = 0 THEN -1 WHEN b IS NULL THEN 0 ELSE a DIV b END"
    assert answers(sql, columns, ansi=True) == [2, -1, None, 0]
    with pytest.raises(NotHere):
        answers("a DIV b", columns, ansi=True)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("a + 1", 2**31 - 1),
        ("a / (a - a)", 1),
        ("CAST(a AS TINYINT)", 128),
        ("-a", -(2**31)),
        ("abs(a)", -(2**31)),
        ("CAST(concat(a, 'x') AS INT)", 1),
        ("CAST(a AS DECIMAL(3,2))", 10),
    ],
)
def test_an_ansi_error_is_sparks(sql: str, value: int) -> None:
    """Strict SQL's errors are raised by Spark, so they are uncertain here."""
    assert len(answers(sql, {"a": ("int", [value])})) == 1
    with pytest.raises(NotHere):
        answers(sql, {"a": ("int", [value])}, ansi=True)


def test_large_doubles_in_the_middle_are_sparks() -> None:
    """Java 17 shows 9.22323129936642e18 as 9.2232312993664205E18, which is rounded upwards; a
    number that is not in the middle of two results is rounded here.
    """
    column = "double", [9.22323129936642e18]
    assert answers("round(a, -7)", {"a": column}) == [9.22323129937e18]
    with pytest.raises(NotHere):
        answers("round(a, -3)", {"a": column})


def test_batches_may_be_empty() -> None:
    """An expression of no rows is an array of its type."""
    batch = batch_of([])
    for sql in EXPRESSIONS:
        vector = compiled(sql, ansi=False)
        assert isinstance(vector, Vector)
        try:
            answer = vector.run(batch)
        except NotHere:  # of constants
            continue
        assert (len(answer), answer.type) == (0, arrow_type(vector.type)), sql


def test_a_zone_of_utc_in_a_batch_is_a_wall_clock() -> None:
    """Timestamps may come with the zone UTC, text as large strings."""
    moment = datetime.datetime(2024, 1, 1, 5)
    batch = pa.record_batch(
        {
            "t": pa.array([moment], pa.timestamp("us", "UTC")),
            "s": pa.array(["a"], pa.large_string()),
        }
    )
    columns = {"t": parse_type("timestamp"), "s": parse_type("string")}
    for sql, expected in (("t", moment), ("upper(s)", "A"), ("hour(t)", 5)):
        tree = read_expression(sql, tokenize(sql))
        assert tree is not None
        vector = vectorized(tree, columns, ansi=False, zone="UTC")
        assert isinstance(vector, Vector)
        assert vector.run(batch).to_pylist() == [expected]


def test_a_store_that_is_not_understood_is_refused() -> None:
    """The place is that of the value assigned."""
    vector = compiled("z", ansi=False)
    assert isinstance(vector, Vector)
    with pytest.raises(NotHere) as refusal:
        store_cast(vector, parse_type("int"), ansi=False, span=Span(3, 4))
    assert refusal.value.span == Span(3, 4)


@pytest.mark.processes
def test_a_plan_needs_no_arrow() -> None:
    """Whether an expression is understood is settled without pyarrow, whose import takes long."""
    code = (
        "import json, sys\n"
        "from acidsql.catalog.types import parse_type\n"
        "from acidsql.expressions.reader import read_expression\n"
        "from acidsql.expressions.vectors import Vector, vectorized\n"
        "from acidsql.parser.tokens import tokenize\n"
        "sql = \"upper(s) = 'A' AND round(n, 1) IN (1, 2) AND date_add(d, 1) > '2024-01-01'\"\n"
        "types = {'s': 'string', 'n': 'decimal(10,2)', 'd': 'date'}\n"
        "columns = {name: parse_type(text) for name, text in types.items()}\n"
        "vector = vectorized(read_expression(sql, tokenize(sql)), columns, ansi=False, zone='UTC')\n"
        "assert isinstance(vector, Vector), vector\n"
        "print(json.dumps(list(sys.modules)))\n"
    )
    modules = json.loads(
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
    )
    assert not {"pyarrow", "numpy", "pandas"} & set(modules)


def test_every_function_is_put_to_spark() -> None:
    """Each operator and function that the driver computes stands in an expression of these tests,
    and so on the page; each that only Spark computes is one of Spark's.
    """
    used = {
        part.name
        for sql in EXPRESSIONS
        if (tree := read_expression(sql, tokenize(sql))) is not None
        for part in parts_of(tree)
        if isinstance(part, Call)
    }
    assert {name for name, known in FUNCTIONS.items() if known.vector} - used == set()
    only_spark = {name for name, known in FUNCTIONS.items() if not known.vector} - {"[]"}
    assert [name for name in sorted(only_spark) if not is_function(name)] == []
