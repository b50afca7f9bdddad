"""Decimals of up to 76 digits: cut, rounded and divided exactly.

Arrow 26 divides some numbers of 256 bits wrong, and rounds and casts by dividing, where a divisor
has more than 32 bits. So digits go nine at a time, and quotients are multiplied back.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled
from acidsql.catalog.types import MAX_DECIMAL_PRECISION, DecimalType
from acidsql.expressions.decimals import EXACT
from acidsql.expressions.kernels.comparing import Values, certain, where
from acidsql.expressions.kernels.rowwise import each

_ROUNDED = "half_towards_infinity"
_SURE_DIGITS = 9
"""A power of ten up to this one has 32 bits."""
_MOST_DIGITS = 76
_HALF_DIGITS = 37
"""Two numbers of so many have a product that Arrow has a type for."""


def fitted(target: DecimalType, strict: bool, values: Values) -> Values:
    """Decimals rounded half up to a type; NULL for what does not fit it."""
    scale = values.type.scale
    whole, room = values.type.precision - scale, target.precision - target.scale
    rounds = scale > target.scale
    if whole > room or (whole == room and rounds):
        half_unit = Decimal(5).scaleb(-target.scale - 1) if rounds else Decimal(0)
        above = EXACT.subtract(Decimal(10) ** room, half_unit)
        largest = EXACT.subtract(above, Decimal(1).scaleb(-scale))
        limit = arrow_scalar(largest, pa.decimal256(max(room + scale, 1), scale))
        fits = pc.less_equal(pc.abs(values), limit)
        if strict:
            certain(fits)
        values = where(fits, values)
    if rounds:
        values = shortened(target.scale, values)
    return pc.cast(values, pa.decimal128(target.precision, target.scale))


def shortened(scale: int, values: Values) -> Values:
    """Decimals rounded half up to fewer digits behind the point; those of 76 digits must not need
    one more.
    """
    return pc.round(cut_off(scale + 1, roomy(values)), scale, round_mode=_ROUNDED)


def cut_off(scale: int, values: Values) -> Values:
    """Decimals without the digits behind these."""
    kind = pa.decimal128 if values.type.bit_width == 128 else pa.decimal256
    while values.type.scale > scale:
        step = min(values.type.scale - scale, _SURE_DIGITS)
        kept = values.type.scale - step
        shorter = kind(max(values.type.precision - step, kept + 1), kept)
        values = pc.cast(values, shorter, safe=False)
    return values


def roomy(values: Values) -> Values:
    """Decimals with a digit more than they need, for what rounding carries, if there are any."""
    precision = min(values.type.precision + 1, _MOST_DIGITS)
    kind = pa.decimal128 if precision <= MAX_DECIMAL_PRECISION else pa.decimal256
    return pc.cast(values, kind(precision, values.type.scale))


def ceiling(target: DecimalType, values: Values) -> Values:
    return _whole(target, pc.add, pc.less, values)


def floor(target: DecimalType, values: Values) -> Values:
    return _whole(target, pc.subtract, pc.greater, values)


def _whole(
    target: DecimalType,
    moved: Callable[[Values, Values], Values],
    is_past: Callable[[Values, Values], Values],
    values: Values,
) -> Values:
    """What is left of the point, ``moved`` by one where the cut went past the value."""
    if not values.type.scale:
        return pc.cast(values, pa.decimal128(target.precision, 0))
    cut = cut_off(0, values)
    one = arrow_scalar(Decimal(1), pa.decimal128(1, 0))
    kind = pa.decimal128(target.precision, 0)
    past = is_past(pc.cast(cut, values.type), values)
    return pc.if_else(past, pc.cast(moved(cut, one), kind), pc.cast(cut, kind))


def rounded(target: DecimalType, digits: int, values: Values) -> Values:
    """Half up, to ``digits`` behind the point, before it where they are negative. What does not fit
    is an error always.
    """
    if digits >= 0:
        return fitted(target, True, values)
    if isinstance(values, pa.Scalar):
        return rounded(target, digits, arrow_array([values.as_py()], values.type))[0]
    wide = pc.cast(values, pa.decimal256(values.type.precision, values.type.scale))
    tens = shortened(0, wide.view(pa.decimal256(_MOST_DIGITS, values.type.scale - digits)))
    kind = pa.decimal256(_MOST_DIGITS + digits - 2, 0)
    ten = arrow_scalar(Decimal(10) ** -digits, pa.decimal256(1 - digits, 0))
    return fitted(target, True, pc.multiply(pc.cast(tens, kind), ten))


def divided(
    target: DecimalType,
    strict: bool,
    rowwise: Callable[[Decimal, Decimal], Any],
    dividend: Values,
    divisor: Values,
) -> Values:
    """Divides two DECIMALs, neither by zero; ``rowwise`` does it to two values. Arrow cuts off what
    is behind its last digit, which is behind that of the result: rounding is right.
    """
    if isinstance(dividend, pa.Scalar) and isinstance(divisor, pa.Scalar):
        return each(rowwise, target, dividend, divisor)
    left, right = dividend.type, divisor.type
    scale = max(left.scale, target.scale - (right.precision - right.scale))
    scaled = pc.cast(dividend, pa.decimal256(left.precision - left.scale + scale, scale))
    by = pc.cast(divisor, pa.decimal256(right.precision, right.scale))
    quotients = pc.divide(scaled, by)
    doubtful = pc.invert(filled(_is_quotient(quotients, scaled, by), True))
    if not pc.any(doubtful, min_count=0).as_py():
        return fitted(target, strict, quotients)
    sides = [v if isinstance(v, pa.Scalar) else v.filter(doubtful) for v in (dividend, divisor)]
    others = each(rowwise, target, *sides)
    nothing = arrow_scalar(None, quotients.type)
    sure = fitted(target, strict, pc.if_else(doubtful, nothing, quotients))
    return pc.replace_with_mask(sure, doubtful, others)


def _is_quotient(quotients: pa.Array, dividend: Values, divisor: Values) -> pa.Array:
    """Whether the product with the divisor is the dividend or less, and that with one more is
    above it. Of types Arrow asks for more digits than the product has.
    """
    left, up = dividend.type, quotients.type.scale + divisor.type.scale - dividend.type.scale
    scaled = pc.cast(dividend, pa.decimal256(left.precision + up, left.scale + up))
    whole, by, low = (_unscaled(v, len(quotients)) for v in (scaled, divisor, quotients))
    whole = whole.view(pa.decimal256(_MOST_DIGITS, 0))
    high = pc.add(low, arrow_scalar(Decimal(1), pa.decimal256(1, 0)))
    high = high.view(low.type)
    return pc.and_(
        pc.less_equal(pc.multiply(low, by), whole), pc.greater(pc.multiply(high, by), whole)
    )


def _unscaled(values: Values, length: int) -> pa.Array:
    """The digits without sign and point."""
    if isinstance(values, pa.Scalar):
        values = pa.repeat(values, length)
    return pc.abs(values).view(pa.decimal256(_HALF_DIGITS, 0))
