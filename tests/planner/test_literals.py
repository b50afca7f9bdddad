"""Literal rows without Spark hold exactly what a cast would give; what is not certain is left to Spark."""

from __future__ import annotations

import contextlib
import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.types import parse_type
from acidsql.planner.literals import NotPlain, value_of


@pytest.mark.parametrize(
    ("text", "hive_type", "value"),
    [
        ("1", "int", 1),
        ("-1", "bigint", -1),
        ("+ 7", "smallint", 7),
        ("NULL", "array<int>", None),
        ("DEFAULT", "int", NotPlain),
        ("TRUE", "boolean", True),
        ("'true'", "boolean", True),
        ("true", "string", "true"),
        ("1.505", "decimal(10,2)", Decimal("1.51")),
        ("-1.505", "decimal(10,2)", Decimal("-1.51")),
        ("123456789012", "decimal(10,2)", None),
        ("99999999.999", "decimal(10,2)", None),
        ("1", "decimal(38,18)", Decimal("1.000000000000000000")),
        ("'12.5'", "decimal(10,2)", Decimal("12.50")),
        ("1e100", "decimal(10,2)", None),
        ("1e-300", "decimal(10,2)", Decimal("0.00")),
        ("1.9", "int", 1),
        ("' 12 '", "int", 12),
        ("1e3", "double", 1000.0),
        ("'1.5e-2'", "double", 0.015),
        ("1.5", "float", 1.5),
        ("5", "string", "5"),
        ("1.50", "string", "1.50"),
        ("'abcdef'", "varchar(3)", "abc"),
        ("'a  '", "char(5)", "a"),
        ('"double ""', "string", NotPlain),
        ("'it\\'s\\n'", "string", "it's\n"),
        ("'\\u0041\\u00e9'", "string", "Aé"),
        ("'\\ud83d'", "string", NotPlain),
        ("'\\u12'", "string", NotPlain),
        ("unhex('00ff')", "binary", b"\x00\xff"),
        ("unhex('00ff')", "string", NotPlain),
        ("CAST('-Infinity' AS DOUBLE)", "double", float("-inf")),
        ("CAST('Infinity' AS DOUBLE)", "float", float("inf")),
        ("CAST('NaN' AS DOUBLE)", "decimal(5,2)", NotPlain),
        ("CAST('NaN' AS DOUBLE)", "int", NotPlain),
        ("'a' 'b'", "string", NotPlain),
        ("DATE '2024-02-29'", "date", datetime.date(2024, 2, 29)),
        ("'2024-02-29'", "date", datetime.date(2024, 2, 29)),
        ("'2024-2-9'", "date", datetime.date(2024, 2, 9)),
        ("DATE '2024-02-30'", "date", NotPlain),
        ("DATE '1500-01-01'", "date", NotPlain),
        ("DATE '2024-01-01'", "string", "2024-01-01"),
        ("TIMESTAMP '1969-12-31 10:00:00.5'", "timestamp", NotPlain),
        ("TIMESTAMP '2024-01-01 10:00:00.5'", "timestamp", datetime.datetime(2024, 1, 1, 10, 0, 0, 500000)),
        ("'2024-01-01 10:00:00'", "timestamp", datetime.datetime(2024, 1, 1, 10)),
        ("'2024-01-01'", "timestamp", datetime.datetime(2024, 1, 1)),
        ("'x'", "binary", b"x"),
        ("300", "tinyint", NotPlain),
        ("'abc'", "int", NotPlain),
        ("'12.7'", "int", NotPlain),
        ("1 + 1", "int", NotPlain),
        ("array(1)", "array<int>", NotPlain),
        ("current_date", "date", NotPlain),
        ("0.123456789", "float", NotPlain),
        ("1.5F", "float", NotPlain),
    ],
)
def test_values(text: str, hive_type: str, value: Any) -> None:
    """Each literal is stored as this value, or NotPlain says that Spark must evaluate it."""
    if value is NotPlain:
        with pytest.raises(NotPlain):
            value_of(text, parse_type(hive_type))
    else:
        found = value_of(text, parse_type(hive_type))
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "hive_type", "value"),
    [
        ("DATE '1500-01-01'", "date", datetime.date(1500, 1, 1)),
        ("'1500-1-1'", "date", datetime.date(1500, 1, 1)),
        ("'1500-02-29'", "date", NotPlain),
        ("'1969-12-31 10:00:00.5'", "timestamp", datetime.datetime(1969, 12, 31, 10, 0, 0, 500000)),
    ],
)
def test_values_of_partitions(text: str, hive_type: str, value: Any) -> None:
    """They stand in names and not in files: times that the driver cannot write in a row are values like others."""
    if value is NotPlain:
        with pytest.raises(NotPlain):
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
    """Whatever the text, the answer is a value or NotPlain."""
    for hive_type in ("int", "decimal(5,2)", "string", "date", "timestamp", "boolean", "double", "float", "char(2)", "binary"):
        with contextlib.suppress(NotPlain):
            value_of(text, parse_type(hive_type))
