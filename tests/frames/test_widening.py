"""A type widens to another if every value of it is one of the other's."""

from __future__ import annotations

import pytest

from acidsql.catalog.types import parse_type
from acidsql.frames.frame_types import widens


@pytest.mark.parametrize(
    ("given", "wanted", "expected"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "double", True),
        ("bigint", "double", False),
        ("float", "double", True),
        ("double", "float", False),
        ("int", "decimal(12,2)", True),
        ("int", "decimal(11,2)", False),
        ("decimal(5,2)", "decimal(7,3)", True),
        ("decimal(5,2)", "decimal(5,3)", False),
        ("decimal(5,2)", "double", False),
        ("date", "timestamp", True),
        ("timestamp", "date", False),
        ("varchar(3)", "string", True),
        ("string", "varchar(3)", False),
        ("string", "int", False),
        ("array<int>", "array<bigint>", True),
        ("array<bigint>", "array<int>", False),
        ("map<string,int>", "map<string,bigint>", True),
        ("struct<a:int>", "struct<a:bigint>", True),
        ("struct<a:int>", "struct<b:int>", False),
    ],
)
def test_types_widen_without_loss(given: str, wanted: str, expected: bool) -> None:
    """Nothing that might lose a value counts as widening."""
    assert widens(parse_type(given), parse_type(wanted)) is expected
