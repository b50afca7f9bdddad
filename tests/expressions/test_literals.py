"""Literal rows without Spark hold exactly what a cast would give; what is not certain is left to
Spark.
"""

from __future__ import annotations

import contextlib
import datetime
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.types import parse_type
from acidsql.expressions.not_here import Lossy, NotHere
from acidsql.expressions.stores import stored, value_of


@pytest.mark.parametrize(
    ("text", "hive_type", "value"),
    [
        ("1", "int", 1),
        ("-1", "bigint", -1),
        ("+ 7", "smallint", 7),
        ("NULL", "array<int>", None),
        ("DEFAULT", "int", NotHere),
        ("TRUE", "boolean", True),
        ("'true'", "boolean", True),
        ("true", "string", "true"),
        ("1.505", "decimal(10,2)", Decimal("1.51")),
        ("-1.505", "decimal(10,2)", Decimal("-1.51")),
        ("123456789012", "decimal(10,2)", Lossy(None)),
        ("99999999.999", "decimal(10,2)", Lossy(None)),
        ("1", "decimal(38,18)", Decimal("1.000000000000000000")),
        ("'12.5'", "decimal(10,2)", Decimal("12.50")),
        ("1e100", "decimal(10,2)", Lossy(None)),
        ("1e-300", "decimal(10,2)", Decimal("0.00")),
        ("1.9", "int", Lossy(1, refused=False)),
        ("' 12 '", "int", 12),
        ("1e3", "double", 1000.0),
        ("'1.5e-2'", "double", 0.015),
        ("1.5", "float", 1.5),
        ("5", "string", "5"),
        ("1.50", "string", "1.50"),
        ("'abcdef'", "varchar(3)", Lossy("abc", refused=False)),
        ("'a  '", "char(5)", "a"),
        ('"double ""', "string", NotHere),
        ("'it\\'s\\n'", "string", "it's\n"),
        ("'\\u0041\\u00e9'", "string", "Aé"),
        ("'\\ud83d'", "string", NotHere),
        ("'\\u12'", "string", NotHere),
        ("unhex('00ff')", "binary", b"\x00\xff"),
        ("unhex('00ff')", "string", NotHere),
        ("CAST('-Infinity' AS DOUBLE)", "double", float("-inf")),
        ("CAST('Infinity' AS DOUBLE)", "float", float("inf")),
        ("CAST('NaN' AS DOUBLE)", "decimal(5,2)", NotHere),
        ("CAST('NaN' AS DOUBLE)", "int", NotHere),
        ("'a' 'b'", "string", NotHere),
        ("DATE '2024-02-29'", "date", datetime.date(2024, 2, 29)),
        ("'2024-02-29'", "date", datetime.date(2024, 2, 29)),
        ("'2024-2-9'", "date", datetime.date(2024, 2, 9)),
        ("DATE '2024-02-30'", "date", NotHere),
        ("DATE '1500-01-01'", "date", NotHere),
        ("DATE '2024-01-01'", "string", "2024-01-01"),
        ("TIMESTAMP '1969-12-31 10:00:00.5'", "timestamp", NotHere),
        (
            "TIMESTAMP '2024-01-01 10:00:00.5'",
            "timestamp",
            datetime.datetime(2024, 1, 1, 10, 0, 0, 500000),
        ),
        ("'2024-01-01 10:00:00'", "timestamp", datetime.datetime(2024, 1, 1, 10)),
        ("'2024-01-01'", "timestamp", datetime.datetime(2024, 1, 1)),
        ("'x'", "binary", b"x"),
        ("300", "tinyint", Lossy(44)),
        ("'abc'", "int", Lossy(None)),
        ("'12.7'", "int", Lossy(12)),
        ("1 + 1", "int", NotHere),
        ("array(1)", "array<int>", NotHere),
        ("current_date", "date", NotHere),
        ("0.123456789", "float", NotHere),
        ("1.5F", "float", NotHere),
        # more digits than Python's own decimals keep
        (
            "9999999999999999999999999999.9999999999",
            "decimal(38,10)",
            Decimal("9999999999999999999999999999.9999999999"),
        ),
        (
            "-9999999999999999999999999999.9999999999",
            "decimal(38,10)",
            Decimal("-9999999999999999999999999999.9999999999"),
        ),
        ("'99999999999999999999999999999999999999'", "decimal(38,0)", Decimal("9" * 38)),
        ("9" * 38, "decimal(38,0)", Decimal("9" * 38)),
        ("9" * 39, "decimal(38,0)", NotHere),
        ("9" * 28 + "." + "9" * 11, "decimal(38,10)", NotHere),
        ("'" + "9" * 28 + "." + "9" * 11 + "'", "decimal(38,10)", Lossy(None)),
        # digits and blanks of other scripts; what Spark trims is ASCII
        ("'٣'", "int", Lossy(None)),
        ("'٣'", "bigint", Lossy(None)),
        ("'٣'", "double", Lossy(None)),
        ("'٣'", "decimal(10,2)", NotHere),
        ("'\u0662\u0660\u0662\u0664-01-01'", "date", Lossy(None)),
        ("'2024-01-01 \u0661\u0660:00:00'", "timestamp", NotHere),
        ("'1\u00a0'", "int", Lossy(None)),
        ("'\u30001'", "double", Lossy(None)),
        ("'\u20032024-01-01'", "date", Lossy(None)),
        ("'true\u00a0'", "boolean", Lossy(None)),
        ("'\u00011\u007f'", "int", 1),
        ("'\u00011\u007f'", "double", Lossy(None)),
        # zeros without a sign, and those with one
        ("-0.0", "double", 0.0),
        ("-0.0", "string", "0.0"),
        ("0.0000001", "string", NotHere),
        ("1e400", "double", NotHere),
        ("1e400D", "double", NotHere),
        ("'1e400'", "double", Lossy(math.inf, refused=False)),
        # what is left
        ("2147483648", "int", Lossy(-(1 << 31))),
        ("9223372036854775808", "bigint", Lossy(-(1 << 63))),
        ("1e10", "int", Lossy((1 << 31) - 1)),
        ("1e10", "tinyint", Lossy(-1)),
        ("'300'", "tinyint", Lossy(None)),
        ("'maybe'", "boolean", Lossy(None)),
        ("'yes'", "boolean", True),
        ("'2024-13-01'", "date", Lossy(None)),
        ("'2024'", "date", datetime.date(2024, 1, 1)),
        ("'today'", "date", NotHere),
        ("'abc  '", "varchar(3)", "abc"),
        ("'abc d'", "char(3)", Lossy("abc", refused=False)),
    ],
)
def test_values(text: str, hive_type: str, value: Any) -> None:
    """Each literal is stored as this value, what it loses is known, or NotHere says that Spark
    must evaluate it.
    """
    if value is NotHere:
        with pytest.raises(NotHere):
            stored(text, parse_type(hive_type))
    else:
        kept = stored(text, parse_type(hive_type))
        assert kept == value
        assert type(kept) is type(value)
        assert str(kept) == str(value)  # a zero has no sign, or the same one


@pytest.mark.parametrize(
    ("text", "hive_type", "value"),
    [
        ("DATE '1500-01-01'", "date", datetime.date(1500, 1, 1)),
        ("'1500-1-1'", "date", datetime.date(1500, 1, 1)),
        ("'1500-02-29'", "date", NotHere),
        ("'٣'", "int", NotHere),
        ("'1\u00a0'", "int", NotHere),
        ("'abc'", "int", NotHere),
        ("300", "tinyint", NotHere),
        ("99999", "decimal(5,2)", NotHere),
        ("'2024'", "date", NotHere),
        ("'abc'", "varchar(2)", "ab"),
        ("'1969-12-31 10:00:00.5'", "timestamp", datetime.datetime(1969, 12, 31, 10, 0, 0, 500000)),
    ],
)
def test_values_of_partitions(text: str, hive_type: str, value: Any) -> None:
    """They stand in names and not in files: times that the driver cannot write in a row are values
    like others.
    """
    if value is NotHere:
        with pytest.raises(NotHere):
            value_of(text, parse_type(hive_type), in_rows=False)
    else:
        assert value_of(text, parse_type(hive_type), in_rows=False) == value


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\\'"), max_size=30))
def test_plain_text_is_itself(text: str) -> None:
    """A quoted text without backslashes and quotes is stored as it is."""
    assert value_of(f"'{text}'", parse_type("string")) == text


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_are_exact(number: int) -> None:
    """A 64-bit literal is stored exactly, as a number and as text."""
    assert value_of(str(number), parse_type("bigint")) == number
    assert value_of(str(number), parse_type("string")) == str(number)


@given(st.text(max_size=20))
def test_nothing_else_is_raised(text: str) -> None:
    """Whatever the text, the answer is a value or NotHere."""
    for hive_type in (
        "int",
        "decimal(5,2)",
        "string",
        "date",
        "timestamp",
        "boolean",
        "double",
        "float",
        "char(2)",
        "binary",
    ):
        with contextlib.suppress(NotHere):
            value_of(text, parse_type(hive_type))
