"""Cells as Hive prints them; the expected texts were printed by Hive 4.0.1's own
DelimitedJSONSerDe.
"""

from __future__ import annotations

import datetime
import json
import re
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.text import hive_json, java_double, java_float, plain_text, strict_json
from acidsql.catalog.types import parse_type

PRINTED_BY_HIVE: list[tuple[str, Any, str]] = [
    ("decimal(10,2)", Decimal("1.50"), "1.50"),
    ("decimal(10,2)", Decimal("1.5"), "1.50"),
    ("decimal(10,0)", Decimal("1E+2"), "100"),
    ("decimal(38,18)", Decimal("0E-18"), "0.000000000000000000"),
    ("array<decimal(10,2)>", [Decimal("1.50"), Decimal("100.00"), None], "[1.5,100,null]"),
    ("char(5)", "ab", "ab   "),
    ("array<char(5)>", ["ab"], '["ab   "]'),
    ("varchar(5)", "ab", "ab"),
    ("map<int,string>", [(1, 'x"\n\x01\x7f/é')], '{1:"x\\"\\n\\u0001\x7f/é"}'),
    ("map<string,int>", {"k": -1}, '{"k":-1}'),
    ("map<date,int>", [(datetime.date(2024, 1, 2), 1)], '{"2024-01-02":1}'),
    ("map<boolean,int>", [(True, None)], "{true:null}"),
    ("binary", 'a"b\té'.encode(), 'a"b\té'),
    ("binary", b"\xffA\xc3", "\ufffdA\ufffd"),
    ("array<binary>", [b"ab"], "[ab]"),
    (
        "array<timestamp>",
        [datetime.datetime(2024, 1, 1, 10, 0, 0, 500000), datetime.datetime(2024, 1, 1, 10)],
        '["2024-01-01 10:00:00.5","2024-01-01 10:00:00"]',
    ),
    ("timestamp", datetime.datetime(2024, 1, 1, 10), "2024-01-01 10:00:00"),
    ("timestamp", datetime.datetime(2024, 1, 1, 10, 0, 0, 120000), "2024-01-01 10:00:00.12"),
    ("timestamp", datetime.datetime(1, 1, 1), "0001-01-01 00:00:00"),
    ("date", datetime.date(1, 1, 1), "0001-01-01"),
    (
        "array<double>",
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            1e7,
            1e-3,
            9.99e-4,
            -0.0,
            5e-324,
            2e-323,
            123456789.125,
        ],
        "[NaN,Infinity,-Infinity,1.0E7,0.001,9.99E-4,-0.0,4.9E-324,2.0E-323,1.23456789125E8]",
    ),
    ("array<float>", [1e10, 16777216.0, 1e7, 9999999.0], "[1.0E10,1.6777216E7,1.0E7,9999999.0]"),
    ("float", 1.0, "1.0"),
    ("double", 2e-3, "0.002"),
    ("double", 2.2250738585072014e-308, "2.2250738585072014E-308"),
    ("string", "tab\there\nnl\\", "tab\there\nnl\\"),
    ("array<string>", [], "[]"),
    (
        "struct<a:int,b:struct<c:string>>",
        {"a": None, "b": {"c": None}},
        '{"a":null,"b":{"c":null}}',
    ),
    ("struct<a:int,b:string>", (1, "x"), '{"a":1,"b":"x"}'),
    ("boolean", True, "true"),
    ("bigint", 9223372036854775807, "9223372036854775807"),
]


@pytest.mark.parametrize(("type_text", "value", "printed"), PRINTED_BY_HIVE)
def test_a_cell_reads_as_hive_prints_it(type_text: str, value: object, printed: str) -> None:
    """Every type's cell has the text real Hive 4 gives it."""
    assert plain_text(parse_type(type_text))(value) == printed


def test_a_missing_nested_value_is_null_in_lower_case() -> None:
    """Inside JSON the word is ``null``; the top level has its own."""
    assert hive_json(parse_type("array<int>"))(None) == "null"


@pytest.mark.parametrize(
    ("bits", "printed"),
    [
        (0x00000001, "1.4E-45"),
        (0x3DCCCCCD, "0.1"),
        (0x7F7FFFFF, "3.4028235E38"),
        (0x3A83126F, "0.001"),
        (0x80000000, "-0.0"),
    ],
)
def test_a_float_has_the_digits_of_a_float(bits: int, printed: str) -> None:
    """A float is printed with the digits 32 bits need, not those of its double."""
    (value,) = struct.unpack("f", struct.pack("I", bits))
    assert java_float(value) == printed


def is_javas(text: str, value: float) -> bool:
    """Plain from a thousandth to ten million, else one digit, the point, the rest and
    an exponent.
    """
    plain = value == 0 or 1e-3 <= abs(value) < 1e7
    return re.fullmatch(r"-?\d+\.\d+" if plain else r"-?\d\.\d+E-?\d+", text) is not None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_reads_back(value: float) -> None:
    """The text of a double has Java's form and is the same double again."""
    text = java_double(value)
    assert float(text) == value
    assert is_javas(text, value)


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False)
    | st.integers(-(10**7), 10**7).map(float)
)
def test_a_float_reads_back(value: float) -> None:
    """The text of a float has Java's form and, read as a float, is the same float again."""
    text = java_float(value)
    assert struct.pack("f", float(text)) == struct.pack("f", value)
    assert is_javas(text, value)


_VALUES = st.dictionaries(
    st.integers(-5, 5),
    st.lists(st.tuples(st.text(), st.none() | st.floats(), st.none() | st.binary())),
    max_size=3,
)


@given(_VALUES)
def test_strict_json_can_be_read_by_any_parser(
    value: dict[int, list[tuple[str, float | None, bytes | None]]],
) -> None:
    """Whatever Hive's near-JSON leaves unquoted, the strict form quotes."""
    printer = strict_json(parse_type("map<int,array<struct<s:string,d:double,b:binary>>>"))

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    read = json.loads(printer(value), parse_constant=refuse)
    assert {int(k): [s["s"] for s in v] for k, v in read.items()} == {
        k: [s[0] for s in v] for k, v in value.items()
    }
