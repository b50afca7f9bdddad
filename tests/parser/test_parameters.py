"""Parameters: a value in the text is that value and nothing else."""

from __future__ import annotations

import datetime
import math
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import ProgrammingError
from acidsql.parser.parameters import bind_parameters, literal
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
TEXTS = st.one_of(st.lists(st.sampled_from(NASTY), max_size=8).map("".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
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


@pytest.mark.parametrize("value", [object(), [1], datetime.time(1), 10**38, Decimal("NaN"), Decimal("1E+40")])
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


@pytest.mark.parametrize(("text", "params"), [("SELECT ?", []), ("SELECT 1", [1]), ("SELECT ?, ?", [1]), ("SELECT '?'", ["x"])])
def test_the_number_of_values_must_fit(text: str, params: list[Any]) -> None:
    """One value for each marker."""
    with pytest.raises(ProgrammingError, match="parameter marker"):
        bind_parameters(text, params)


@pytest.mark.parametrize("text", ["a-?", "a- ?", "r?", "n?", "'x'?", "?'x'", "x?y", "1?2", "`a`?", "?.?", "?--?", "/?", "?/", "??"])
@given(value=VALUES)
def test_a_value_never_merges_with_its_neighbours(text: str, value: Any) -> None:
    """The tokens of the text with the literal in it are the tokens of the text around those of the literal."""
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
    """A string is one token that stands for that very string; it neither ends the statement nor meets a variable."""
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
    assert [v.replace(tzinfo=None) if isinstance(v, datetime.datetime) else v for v in found] == values
