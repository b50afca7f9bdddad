"""Arithmetic on decimals of any size.

Python's own context has 28 digits and silently rounds what has more, ``abs`` and ``-`` too.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

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
