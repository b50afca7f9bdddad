"""Texts as values of columns: what they say, whole, or nothing."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.catalog.types import parse_type
from acidsql.frames.copying.copied import can_be_text, from_texts
from acidsql.frames.fitting import MisfitError

GOOD: dict[str, dict[str, Any]] = {
    "tinyint": {"1": 1, " -7 ": -7, "+5": 5, "007": 7, "127": 127},
    "bigint": {str(2**63 - 1): 2**63 - 1},
    "float": {"0.1": pytest.approx(0.1), "inf": float("inf"), "-Infinity": float("-inf")},
    "double": {"1e300": 1e300, "+.5": 0.5},
    "decimal(5,2)": {
        "1.5": Decimal("1.50"),
        "1.500": Decimal("1.50"),
        "+999.99": Decimal("999.99"),
    },
    "boolean": {"TRUE": True, "f": False, " yes": True, "0": False},
    "date": {"2026-01-31": datetime.date(2026, 1, 31)},
    "timestamp": {
        "2026-01-31": datetime.datetime(2026, 1, 31),
        "2026-01-31T05:00:00.000001": datetime.datetime(2026, 1, 31, 5, 0, 0, 1),
    },
    "string": {" a ": " a ", "": ""},
    "binary": {" a": b" a"},
    "varchar(2)": {"ab": "ab"},
    "char(2)": {"a  ": "a  "},
}
BAD = {
    "tinyint": ["128", "1.0", "0x1", "-0X1", "++1", "", "a", "1 2"],
    "float": ["1e39", "1,5", ""],
    "double": ["1e999", "-1e999", "one"],
    "decimal(5,2)": ["1.505", "1000", "x", ""],
    "boolean": ["2", "maybe", ""],
    "date": ["2026-02-30", "2026-1-1", "31.01.2026"],
    "timestamp": ["2026-01-31 25:00:00", "now", "2026-01-31 00:00:00Z", "0000-01-01 00:00:00"],
    "varchar(2)": ["abc"],
    "char(2)": ["abc"],
}


@pytest.mark.parametrize("name", GOOD)
def test_values(name: str) -> None:
    """What is understood, and NULL; an array of nothing is one of the type."""
    kind = parse_type(name)
    texts = pa.array([*GOOD[name], None], pa.string())
    assert from_texts(texts, kind).to_pylist() == [*GOOD[name].values(), None]
    assert len(from_texts(texts.slice(0, 0), kind)) == 0


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in BAD for text in BAD[name]])
def test_misfits(name: str, text: str) -> None:
    """The first text that says no value is named, with its index."""
    good = next(iter(GOOD[name]))
    with pytest.raises(MisfitError) as caught:
        from_texts(pa.array([good, None, text, text], pa.string()), parse_type(name))
    assert caught.value.index == 2
    assert caught.value.shown.startswith(text)


def test_nested_values_are_no_texts() -> None:
    """Of them no text is read."""
    assert not can_be_text(parse_type("array<int>"))
