"""Arithmetic on decimals of any size.

Python's own context has 28 digits and silently rounds what has more, ``abs`` and ``-`` too.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from acidsql.catalog.types import DecimalType

EXACT = Context(prec=100)
"""Room for two numbers of 38 digits, whatever their scales."""


def rescaled(value: Decimal, hive_type: DecimalType) -> Decimal | None:
    """Rounded half up to the type's scale; None if it is too large then. Zero has no sign."""
    whole = hive_type.precision - hive_type.scale
    if value and value.adjusted() >= whole:
        return None
    unit = Decimal(1).scaleb(-hive_type.scale, EXACT)
    rounded = value.quantize(unit, rounding=ROUND_HALF_UP, context=EXACT)
    if not rounded:
        return rounded.copy_abs()
    return rounded if rounded.adjusted() < whole else None


_CERTAIN_DIGITS = 15
"""The first digits of a double that are the same in Python and in every Java."""
_DOUBT = Decimal("1e-14")
_LARGE = 1 << 53
"""From here on a Java before 19 may show more digits than it takes: 9.2232312993664205E18."""


def rounded_double(behind: int, value: float) -> Any:
    """ROUND of a DOUBLE: its shortest digits, rounded half up. None where other digits of the
    same number would be rounded another way.
    """
    if not math.isfinite(value):
        return value
    digits = Decimal(repr(value))
    unit = Decimal(1).scaleb(-behind)
    candidates = [digits]
    if len(digits.as_tuple().digits) > _CERTAIN_DIGITS or abs(value) >= _LARGE:
        candidates = [digits * (1 - _DOUBT), digits, digits * (1 + _DOUBT)]
    if digits.adjusted() + behind > EXACT.prec // 2:
        return value
    results = {c.quantize(unit, rounding=ROUND_HALF_UP, context=EXACT) for c in candidates}
    return float(results.pop()) + 0.0 if len(results) == 1 else None  # no zero has a sign
