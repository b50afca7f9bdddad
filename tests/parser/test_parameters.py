"""Parameters: a value in the text is that value and nothing else."""

from __future__ import annotations

import datetime
import math
import re
from collections import deque
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import ProgrammingError, Span
from acidsql.parser.parameters import bind_parameters, bind_rows, literal
from acidsql.parser.script import split, substitute
from acidsql.parser.tokens import Token, TokenKind, tokenize
from tests.parser.texts import any_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NASTY = (
    "'",
    "\\",
    "\\'",
    "''",
    '"',
    "`",
    ";",
    "--",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\x1a",
    "${env:HOME}",
    "$",
    "{",
    "?",
    "%_",
    "é",
    "😀",
    " ",
)
TEXTS = st.one_of(
    st.lists(st.sampled_from(NASTY), max_size=8).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**37), 10**37), st.floats(), TEXTS, st.binary(max_size=10), st.dates(), st.datetimes(),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20),
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"), (True, "TRUE"), (False, "FALSE"), (5, "5"), (-5, "-5"), (1.5, "1.5D"), (1e300, "1e+300D"), (-0.0, "-0.0D"),
        (math.inf, "CAST('Infinity' AS DOUBLE)"), (math.nan, "CAST('NaN' AS DOUBLE)"), (Decimal("-1.50"), "-1.50BD"),
        (Decimal("1E+3"), "1000BD"), ("it's \\", r"'it\'s \\'"), ("${x}", r"'\u0024{x}'"), (b"\x00\xff", "unhex('00ff')"),
        (datetime.date(24, 1, 2), "DATE '0024-01-02'"), (datetime.datetime(2024, 1, 2, 3, 4, 5), "TIMESTAMP '2024-01-02 03:04:05'"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 60), "TIMESTAMP '2024-01-02 03:04:05.000060'"),
        (datetime.datetime(2024, 1, 2, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))), "TIMESTAMP '2024-01-01 23:00:00'"),
    ],
)  # fmt: skip
def test_literals(value: Any, text: str) -> None:
    """Each Python type has one way to be written."""
    assert literal(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.bool_(True), "TRUE"), (np.bool_(False), "FALSE"), (np.int64(-3), "-3"), (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.float16(0.5), "0.5D"), (np.float32(0.1), "0.10000000149011612D"), (np.float64(0.1), "0.1D"),
        (np.float32("nan"), "CAST('NaN' AS DOUBLE)"), (np.str_("it's"), r"'it\'s'"), (np.bytes_(b"\xff"), "unhex('ff')"),
        (np.datetime64("2024-01-02"), "DATE '2024-01-02'"), (np.datetime64("2024-01"), "DATE '2024-01-01'"),
        (np.datetime64("2024-01-02T03"), "TIMESTAMP '2024-01-02 03:00:00'"),
        (np.datetime64("2024-01-02T03:04:05.000060", "us"), "TIMESTAMP '2024-01-02 03:04:05.000060'"),
        (np.datetime64("2024-01-02T03:04:05.123456000", "ns"), "TIMESTAMP '2024-01-02 03:04:05.123456'"),
        (np.datetime64("NaT", "ns"), "NULL"), (pd.NaT, "NULL"), (pd.NA, "NULL"),
        (pd.Timestamp("2024-01-02 03:04:05.123456"), "TIMESTAMP '2024-01-02 03:04:05.123456'"),
    ],
)  # fmt: skip
def test_scalars_of_numpy_and_pandas_mean_their_exact_value(value: Any, text: str) -> None:
    """What an array or a DataFrame's cell gives is taken as Python's own value is."""
    assert literal(value) == text


@pytest.mark.parametrize(
    "value",
    [
        np.timedelta64(3, "D"), np.complex64(1), np.longdouble(1) / 3, np.datetime64("10000-01-01"), np.datetime64("-5", "Y"),
        np.datetime64("2024-01-02T03:04:05.123456789"), pd.Timestamp("2024-01-02 03:04:05.123456789"), pd.Timedelta(days=1),
    ],
)  # fmt: skip
def test_scalars_that_no_literal_holds_are_refused(value: Any) -> None:
    """Nanoseconds, far years and differences of time are never cut to something near them."""
    with pytest.raises(ProgrammingError, match=r"^parameter 1: "):
        bind_parameters("SELECT ?", [value])


@pytest.mark.parametrize(
    "value", [object(), [1], datetime.time(1), 10**38, Decimal("NaN"), Decimal("1E+40")]
)
def test_values_without_a_literal_are_refused_by_number(value: Any) -> None:
    """The error says which parameter it was and points at its marker."""
    with pytest.raises(ProgrammingError, match=r"^parameter 2: ") as caught:
        bind_parameters("SELECT ?, ?", [1, value])
    assert caught.value.span is not None
    assert caught.value.span.start == 10


def test_markers_in_quotes_and_comments_are_no_markers() -> None:
    """A question mark inside strings, names and comments stays."""
    text = "SELECT '?', \"?\", `?`, ? /* ? */ -- ?\n, ?"
    assert bind_parameters(text, [1, 2]) == "SELECT '?', \"?\", `?`, 1 /* ? */ -- ?\n, 2"


@pytest.mark.parametrize(
    ("text", "params"),
    [("SELECT ?", []), ("SELECT 1", [1]), ("SELECT ?, ?", [1]), ("SELECT '?'", ["x"])],
)
def test_the_number_of_values_must_fit(text: str, params: list[Any]) -> None:
    """One value for each marker."""
    with pytest.raises(ProgrammingError, match="parameter marker"):
        bind_parameters(text, params)


@pytest.mark.parametrize(
    "text",
    [
        "a-?",
        "a- ?",
        "r?",
        "n?",
        "'x'?",
        "?'x'",
        "x?y",
        "1?2",
        "`a`?",
        "?.?",
        "?--?",
        "/?",
        "?/",
        "??",
    ],
)
@given(value=VALUES)
def test_a_value_never_merges_with_its_neighbours(text: str, value: Any) -> None:
    """The tokens of the text with the literal in it are the tokens of the text around those of the
    literal.
    """
    try:
        markers = sum(token.is_mark("?") for token in tokenize(text))
        bound = bind_parameters(text, [value] * markers)
    except ProgrammingError:
        return
    expected: list[tuple[TokenKind, str]] = []
    for token in tokenize(text):
        expected += shapes(tokenize(literal(value))) if token.is_mark("?") else shapes([token])
    assert shapes(tokenize(bound)) == expected


def shapes(tokens: list[Token]) -> list[tuple[TokenKind, str]]:
    return [(token.kind, token.text) for token in tokens]


@given(TEXTS)
def test_a_string_stays_a_string(value: str) -> None:
    """A string is one token that stands for that very string; it neither ends the statement nor
    meets a variable.
    """
    bound = bind_parameters("INSERT INTO t VALUES (?)", [value])
    (found,) = [token for token in tokenize(bound) if token.kind is TokenKind.STRING]
    assert found.text == value
    assert len(split(bound)) == 1
    assert substitute(bound, hivevar={"x": "injected"}, env={"HOME": "injected"}) == bound


@given(any_text())
def test_any_text_binds_or_fails_with_a_programming_error(text: str) -> None:
    """Whatever the text, nothing but our errors."""
    with suppress(ProgrammingError):
        bind_parameters(text, [])


# -- sequences and mappings


@pytest.mark.parametrize(
    "params",
    [
        "ab", "", b"ab", bytearray(b"ab"), memoryview(b"ab"), {1, 2}, frozenset((1,)), iter([1]), 5, (x for x in "a"),
        {"a": 1}.keys(), {"a": 1}.values(), object(),
    ],
)  # fmt: skip
def test_what_is_neither_a_sequence_nor_a_mapping_is_refused(params: Any) -> None:
    """Neither the letters of a text nor what has no order fill markers."""
    for text in ("SELECT ?, ?", "SELECT 1"):
        with pytest.raises(ProgrammingError, match=r"^parameters are a sequence or a mapping, not"):
            bind_parameters(text, params)


@pytest.mark.parametrize("params", [[1, 2], (1, 2), range(1, 3), deque([1, 2]), np.array([1, 2])])
def test_any_sequence_fills_question_marks(params: Any) -> None:
    """Whatever has an order and a length."""
    assert bind_parameters("SELECT ?, ?", params) == "SELECT 1, 2"


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("SELECT :x", "SELECT 5"),
        ("a = :x AND b>:x", "a = 5 AND b> 5"),
        ("f(:x,:x)", "f(5,5)"),
        ("CASE WHEN :x THEN :x ELSE :x END", "CASE WHEN 5 THEN 5 ELSE 5 END"),
        ("arr[:x]", "arr[ 5 ]"),
        (":x::int", "5 ::int"),
        ("a::int + :x", "a::int + 5"),
        ("INTERVAL :x DAY", "INTERVAL 5 DAY"),
        ("-:x", "- 5"),
    ],
)
def test_a_mapping_fills_names(text: str, bound: str) -> None:
    """A word directly behind a colon is a name where no operand stands before the colon."""
    assert bind_parameters(text, {"x": 5}) == bound


@pytest.mark.parametrize(
    "text",
    [
        "a::x", "a ::x", "a:x", "a.b:x", "`a`:x", "`a` :x", "f(a):x", "f(a) :x", "a[0]:x", "a[1:x]", "STRUCT<a:x>", "STRUCT<`a` :x>",
        "'a':x", "':x'", '":x"', "`:x`", "/* :x */ 1", "1 -- :x", "${hivevar:x}", "a : x", ": x", ":1x", "1:x", "a:b:x", "THEN:x",
    ],
)  # fmt: skip
def test_other_colons_are_no_names(text: str) -> None:
    """Casts, slices, types, fields of JSON, strings and comments stay, and without a marker the
    value is refused.
    """
    assert bind_parameters(text, {}) == text
    with pytest.raises(ProgrammingError, match='no marker ":x"'):
        bind_parameters(text, {"x": 5})


def test_only_a_mapping_makes_names_of_colons() -> None:
    """With a sequence, and without parameters, a colon is the text's own."""
    assert bind_parameters("SELECT v :x, ?", [1]) == "SELECT v :x, 1"


@pytest.mark.parametrize(
    ("text", "params", "message", "place"),
    [
        ("DELETE FROM t WHERE name = ?", {"bob": "ann"}, "a mapping fills", Span(27, 28)),
        ("SELECT :a, ?", {"a": 1}, "a mapping fills", Span(11, 12)),
        ("SELECT :a, :b", {"a": 1}, 'no value for ":b"', Span(11, 13)),
        ("SELECT :A", {"a": 1}, 'no value for ":A"', Span(7, 9)),
        ("SELECT :a", {"a": 1, "b": 2}, 'no marker ":b"', Span(0, 9)),
        ("SELECT 1", {"": 2}, 'no marker ":"', Span(0, 8)),
        ("SELECT 1", {1: 2}, "is a str, not int", None),
        ("SELECT :a, ?", [1, 2], "has 1 parameter marker", Span(0, 12)),
        ("SELECT :a", [1], 'has 0 parameter markers.*\n.*\n.*\n.*":a" is filled from a mapping', Span(0, 9)),
        ("SELECT :a", {"a": [1]}, 'parameter ":a": a list is no value', Span(7, 9)),
    ],
)  # fmt: skip
def test_markers_and_values_must_match(
    text: str, params: Any, message: str, place: Span | None
) -> None:
    """Markers of two kinds, missing names and unused ones are refused at their place."""
    with pytest.raises(ProgrammingError) as caught:
        bind_parameters(text, params)
    assert re.search(message, str(caught.value))
    assert caught.value.span == place


@given(st.dictionaries(st.sampled_from(["a", "b", "größe", "_x"]), VALUES, min_size=1))
def test_names_and_question_marks_write_the_same(params: dict[str, Any]) -> None:
    """A value stands for itself, whatever its marker."""
    named = "SELECT " + ", ".join(f":{name}" for name in params)
    marked = "SELECT " + ", ".join("?" for _ in params)
    try:
        bound = bind_parameters(marked, list(params.values()))
    except ProgrammingError:
        return
    assert bind_parameters(named, params) == bound


# -- lists


@pytest.mark.parametrize(
    ("text", "value", "bound"),
    [
        ("a IN (?)", [1, 2], "a IN (1, 2)"),
        ("a not in(?)", ("x", None), "a not in('x', NULL)"),
        ("a IN (0, ?, 3)", [1], "a IN (0, 1, 3)"),
        ("a IN ( /* all */ ? )", [1, 2], "a IN ( /* all */ 1, 2 )"),
        ("a IN (?)", "xy", "a IN ('xy')"),
    ],
)
def test_a_list_is_items_of_in(text: str, value: Any, bound: str) -> None:
    """A list or tuple as an item of IN (..) becomes its items; any other value stays one."""
    assert bind_parameters(text, [value]) == bound
    assert bind_parameters(text.replace("?", ":ids"), {"ids": value}) == bound


@pytest.mark.parametrize(
    "text",
    ["a = ?", "a IN (? + 1)", "a IN (-?)", "a IN ((?))", "a IN (f(?))", "a IN ?", "t.in(?)", "`in`(?)", "VALUES (?)", "a IN [?]", "? IN (1)", "a IN (x ?)"],
)  # fmt: skip
def test_a_list_is_nothing_else(text: str) -> None:
    """Anywhere but as a whole item of IN (..) a list is refused at its marker."""
    with pytest.raises(ProgrammingError, match="parameter 1: a list is no value") as caught:
        bind_parameters(text, [[1, 2]])
    assert caught.value.span == Span(text.index("?"), text.index("?") + 1)


@pytest.mark.parametrize("value", [[], ()])
@pytest.mark.parametrize("text", ["a IN (?)", "a NOT IN (?)", "a IN (1, ?)"])
def test_an_empty_list_is_refused(text: str, value: Any) -> None:
    """NOT IN of nothing would be true of every row: whoever means that can write it."""
    with pytest.raises(ProgrammingError, match="parameter 1: IN of an empty"):
        bind_parameters(text, [value])


@pytest.mark.parametrize("value", [[[1]], [(1, 2)], [{1}], ["\ud800"]])
def test_items_are_values(value: Any) -> None:
    """Lists do not nest."""
    with pytest.raises(ProgrammingError, match=r"^parameter 1: "):
        bind_parameters("a IN (?)", [value])


def test_rows_are_bound_one_by_one() -> None:
    """Each set of parameters fills a row of its own, and an error says which."""
    text, row = "INSERT INTO t VALUES (?, 'x') ;", Span(20, 29)
    assert bind_rows(text, row, [[1], ("a",)]) == "INSERT INTO t VALUES (1, 'x'), ('a', 'x') ;"
    named = "INSERT INTO t VALUES (:a, :b, :a)"
    rows = [{"a": 1, "b": None}, {"b": 2, "a": 3}]
    assert bind_rows(named, Span(20, 33), rows) == "INSERT INTO t VALUES (1, NULL, 1), (3, 2, 3)"
    for bad in ([1, 2], {"a": 1}, "x", [[1]]):
        with pytest.raises(ProgrammingError, match=r"^row 2: "):
            bind_rows(text, row, [[1], bad])


@pytest.mark.spark
def test_spark_reads_the_values_back(spark: SparkSession) -> None:
    """Spark's parser takes every literal for the value it was made of."""
    values: list[Any] = [
        *NASTY, "".join(NASTY), "\\u0041\\101\\n\\%\\_", None, True, -5, 2**63 - 1, -(2**63), 0.1, -1e300, 5e-324, Decimal("-1.50"),
        b"\x00'\\", datetime.date(1999, 12, 31), datetime.datetime(2024, 2, 29, 12, 34, 56, 789),
    ]  # fmt: skip
    bound = bind_parameters("SELECT " + ", ".join(["?"] * len(values)), values)
    table = spark.sql(bound).toArrow()
    found = [column[0].as_py() for column in table.columns]
    assert [
        v.replace(tzinfo=None) if isinstance(v, datetime.datetime) else v for v in found
    ] == values
