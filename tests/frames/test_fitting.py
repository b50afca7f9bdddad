"""Values fit a column if they come back from there as they were."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.catalog.types import arrow_type, parse_type
from acidsql.frames.fitting import MisfitError, fitted, may_fit

FITS: list[tuple[Any, pa.DataType, str, Any]] = [
    ([1, None], pa.int64(), "tinyint", [1, None]),
    ([1.0, None], pa.float64(), "int", [1, None]),
    ([12], pa.int64(), "decimal(4,2)", [Decimal("12.00")]),
    ([0.1], pa.float64(), "decimal(4,2)", [Decimal("0.10")]),
    ([Decimal("1.50")], pa.decimal128(5, 2), "decimal(4,1)", [Decimal("1.5")]),
    ([Decimal("7.00")], pa.decimal128(5, 2), "int", [7]),
    ([0.5, float("inf")], pa.float64(), "float", [0.5, float("inf")]),
    ([2**63], pa.uint64(), "decimal(20,0)", [Decimal(2**63)]),
    (["é"], pa.large_string(), "varchar(1)", ["é"]),
    (["ab   "], pa.string(), "char(2)", ["ab   "]),
    ([b"x"], pa.binary(1), "binary", [b"x"]),
    ([datetime.datetime(2026, 1, 2)], pa.timestamp("ns"), "date", [datetime.date(2026, 1, 2)]),
    ([datetime.date(2026, 1, 2)], pa.date64(), "date", [datetime.date(2026, 1, 2)]),
    ([datetime.date(2026, 1, 2)], pa.date32(), "timestamp", [datetime.datetime(2026, 1, 2)]),
    ([None, None], pa.null(), "struct<a:int>", [None, None]),
    ([[1, None], None, []], pa.large_list(pa.int64()), "array<int>", [[1, None], None, []]),
    ([[1, 2]], pa.list_(pa.int64(), 2), "array<smallint>", [[1, 2]]),
    ([[("k", 1)], None], pa.map_(pa.string(), pa.int64()), "map<string,int>", [[("k", 1)], None]),
    (
        [{"B": 1, "a": "x"}, None],
        pa.struct({"B": pa.int64(), "a": pa.string()}),
        "struct<a:string,b:int>",
        [{"a": "x", "b": 1}, None],
    ),
]  # fmt: skip

MISFITS: list[tuple[Any, pa.DataType, str, int]] = [
    ([1, 2, 128], pa.int64(), "tinyint", 2),
    ([1.0, 1.5], pa.float64(), "int", 1),
    ([float("nan")], pa.float64(), "int", 0),
    ([0.5, 0.1], pa.float64(), "float", 1),
    ([2**53, 2**53 + 1], pa.int64(), "double", 1),
    ([1, 1000], pa.int64(), "decimal(4,2)", 1),
    ([0.125], pa.float64(), "decimal(4,2)", 0),
    ([Decimal("1.25")], pa.decimal128(5, 2), "decimal(4,1)", 0),
    ([2**63], pa.uint64(), "bigint", 0),
    (["ab", "abc"], pa.string(), "varchar(2)", 1),
    (["a b"], pa.string(), "char(2)", 0),
    ([datetime.datetime(2026, 1, 2, 3)], pa.timestamp("us"), "date", 0),
    ([1], pa.timestamp("ns"), "timestamp", 0),
    ([0, 10**7], pa.date32(), "date", 1),
    ([[1], None, [2, 300]], pa.list_(pa.int64()), "array<tinyint>", 2),
    ([[("k", 1)], [("l", 2**40)]], pa.map_(pa.string(), pa.int64()), "map<string,int>", 1),
    ([{"a": 1}, {"a": 2**40}], pa.struct({"a": pa.int64()}), "struct<a:int>", 1),
]  # fmt: skip


@pytest.mark.parametrize(("values", "kind", "target", "expected"), FITS)
@pytest.mark.parametrize("cut", [False, True])
def test_values_that_fit_are_kept(
    values: list[Any], kind: pa.DataType, target: str, expected: list[Any], cut: bool
) -> None:
    """Each value arrives as it was, in the type of the column, also from the middle of an array."""
    hive_type = parse_type(target)
    array = pa.array([None, *values], kind).slice(1) if cut else pa.array(values, kind)
    assert may_fit(kind, hive_type)
    result = fitted(array, hive_type)
    result.validate(full=True)
    assert (result.type, result.to_pylist()) == (arrow_type(hive_type), expected)


@pytest.mark.parametrize(("values", "kind", "target", "index"), MISFITS)
def test_the_first_value_that_does_not_fit_is_named(
    values: list[Any], kind: pa.DataType, target: str, index: int
) -> None:
    """A value that would be another one is refused, with the number of its row."""
    hive_type = parse_type(target)
    assert may_fit(kind, hive_type)
    with pytest.raises(MisfitError) as caught:
        fitted(pa.array(values, kind), hive_type)
    assert caught.value.index == index


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (pa.string(), "int"),
        (pa.int64(), "string"),
        (pa.bool_(), "int"),
        (pa.int64(), "boolean"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.time64("us"), "timestamp"),
        (pa.int64(), "date"),
        (pa.binary(), "string"),
        (pa.list_(pa.string()), "array<int>"),
        (pa.struct({"a": pa.int64()}), "struct<b:bigint>"),
        (pa.struct({"a": pa.int64(), "b": pa.int64()}), "struct<a:bigint>"),
        (pa.list_(pa.int64()), "bigint"),
    ],
)
def test_another_kind_of_value_is_refused(kind: pa.DataType, target: str) -> None:
    """Text is no number, whatever is in it, and a time with a zone is no wall clock."""
    assert not may_fit(kind, parse_type(target))


def test_values_of_a_dictionary_fit_as_they_are() -> None:
    """pandas' categories and polars' enums are their values."""
    array = pa.array(["a", None, "a"]).dictionary_encode()
    assert fitted(array, parse_type("string")).to_pylist() == ["a", None, "a"]


def test_categories_of_polars() -> None:
    """Dictionaries of string views, which Arrow does not decode itself."""
    indices, views = pa.array([1, None, 0], pa.uint32()), pa.array(["x", "y"], pa.string_view())
    array = pa.DictionaryArray.from_arrays(indices, views)
    assert fitted(array, parse_type("string")).to_pylist() == ["y", None, "x"]
    assert fitted(array, parse_type("varchar(1)")).to_pylist() == ["y", None, "x"]
