"""Decimals of more digits than Python's own context has."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.types import DecimalType
from acidsql.expressions.decimals import rescaled


@pytest.mark.parametrize(
    ("value", "precision", "scale", "expected"),
    [
        (
            "9999999999999999999999999999.9999999999",
            38,
            10,
            "9999999999999999999999999999.9999999999",
        ),
        (
            "-9999999999999999999999999999.99999999994",
            38,
            10,
            "-9999999999999999999999999999.9999999999",
        ),
        ("9999999999999999999999999999.99999999995", 38, 10, None),
        ("9" * 38, 38, 0, "9" * 38),
        ("1e37", 38, 0, "1" + "0" * 37),
        ("1e38", 38, 0, None),
        ("1e-38", 38, 38, "0." + "0" * 37 + "1"),
        ("-0.004", 5, 2, "0.00"),
        ("999.995", 5, 2, None),
    ],
)
def test_rescaled(value: str, precision: int, scale: int, expected: str | None) -> None:
    """Rounded half up to the scale, whole digits and all; what is too large then is None."""
    kept = rescaled(Decimal(value), DecimalType(precision, scale))
    assert (None if kept is None else f"{kept:f}") == expected


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_what_fits_is_kept(unscaled: int, scale: int) -> None:
    """A value of the type stays itself, whatever the context of the caller."""
    value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    with localcontext(prec=3):
        assert rescaled(value, DecimalType(38, scale)) == value
