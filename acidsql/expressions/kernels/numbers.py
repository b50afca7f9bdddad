"""Arithmetic and rounding. ``strict`` is acidsql.ansi: overflow and division by zero are errors
there, which Spark shall raise.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled
from acidsql.catalog.types import DecimalType, HiveType, arrow_type
from acidsql.expressions.kernels.casting import floating_to_integer
from acidsql.expressions.kernels.comparing import (
    Values,
    certain,
    compare,
    from_numbers,
    numbers_of,
    where,
)
from acidsql.expressions.kernels.decimals import divided, fitted
from acidsql.expressions.kernels.rowwise import completed, each
from acidsql.expressions.values import BIGINT, DOUBLE

_EXACT_DIGITS = 34
"""The digits of Scala's decimals."""
_WRAPPING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_OF_BITS = {"&": pc.bit_wise_and, "|": pc.bit_wise_or, "^": pc.bit_wise_xor}


def sums(sign: str, strict: bool, left: Values, right: Values) -> Values:
    """``+``, ``-`` or ``*`` of two numbers of one type, none a DECIMAL."""
    checked = strict and pa.types.is_integer(left.type)
    return (_CHECKED if checked else _WRAPPING)[sign](left, right)


def bits(sign: str, _strict: bool, left: Values, right: Values) -> Values:
    """``&``, ``|`` or ``^`` of two whole numbers of one type."""
    return _OF_BITS[sign](left, right)


def decimal_sums(
    sign: str, target: DecimalType, strict: bool, left: Values, right: Values
) -> Values:
    """``+``, ``-`` or ``*`` of two DECIMALs of 76 digits together."""
    wide = [pc.cast(v, pa.decimal256(v.type.precision, v.type.scale)) for v in (left, right)]
    return fitted(target, strict, _WRAPPING[sign](*wide))


def plain_decimal_sums(sign: str, target: DecimalType, left: Values, right: Values) -> Values:
    """A sum, difference or product where no digit is given up and none can be too many."""
    return pc.cast(_WRAPPING[sign](left, right), arrow_type(target))


def decimal_quotient(
    target: DecimalType,
    strict: bool,
    rowwise: Callable[[Decimal, Decimal], Any],
    dividend: Values,
    divisor: Values,
) -> Values:
    """Divides two DECIMALs, NULL for what is divided by zero; ``rowwise`` does it to two values."""
    nonzero = _nonzero(strict, divisor)
    return divided(target, strict, rowwise, dividend, where(nonzero, divisor))


def quotient(strict: bool, dividend: Values, divisor: Values) -> Values:
    """Divides two DOUBLEs; NULL for what is divided by zero."""
    nonzero = pc.not_equal(divisor, 0.0)
    _check_divisors(strict, nonzero)
    return pc.divide(dividend, where(nonzero, divisor))


def whole_quotient(strict: bool, dividend: Values, divisor: Values) -> Values:
    """DIV of two BIGINTs, towards zero."""
    nonzero = _nonzero(strict, divisor)
    negates = pc.equal(divisor, arrow_scalar(-1, divisor.type))
    negated = pc.negate(dividend)
    if strict:
        overflow = pc.and_(pc.and_(negates, pc.less(dividend, 0)), pc.less(negated, 0))
        certain(pc.invert(overflow))
    plain = pc.divide(dividend, _harmless(divisor, nonzero, negates))
    return where(nonzero, pc.if_else(negates, negated, plain))


def remainder(strict: bool, dividend: Values, divisor: Values) -> Values:
    """``%`` of two whole numbers of one type, with the sign of the dividend."""
    nonzero = _nonzero(strict, divisor)
    negates = pc.equal(divisor, arrow_scalar(-1, divisor.type))
    by = _harmless(divisor, nonzero, negates)
    rest = pc.subtract(dividend, pc.multiply(pc.divide(dividend, by), by))
    return where(nonzero, rest)


def floating_remainder(strict: bool, dividend: Values, divisor: Values) -> Values:
    like = divisor if isinstance(dividend, pa.Scalar) else dividend
    (one, absent), (two, other_absent) = numbers_of(dividend), numbers_of(divisor)
    zero = two == 0
    _check_divisors(strict, arrow_array(~zero | other_absent))
    with np.errstate(invalid="ignore"):
        rest = np.fmod(one, np.where(zero, 1, two).astype(two.dtype))
    return from_numbers(rest, absent | other_absent | zero, like, dividend.type)


def positive_remainder(strict: bool, dividend: Values, divisor: Values) -> Values:
    """PMOD of whole numbers, by numbers above zero."""
    rest = remainder(strict, dividend, divisor)
    negative = pc.less(rest, arrow_scalar(0, rest.type))
    certain(pc.invert(pc.and_(negative, pc.less(divisor, arrow_scalar(0, divisor.type)))))
    return pc.if_else(negative, pc.add(rest, divisor), rest)


def _nonzero(strict: bool, divisor: Values) -> Values:
    zero = Decimal(0) if pa.types.is_decimal(divisor.type) else 0
    nonzero = pc.not_equal(divisor, arrow_scalar(zero, divisor.type))
    _check_divisors(strict, nonzero)
    return nonzero


def _check_divisors(strict: bool, nonzero: Values) -> None:
    if strict:
        certain(nonzero)


def _harmless(divisor: Values, nonzero: Values, negates: Values) -> Values:
    """1 for divisors that a processor fails on."""
    plain = pc.and_(nonzero, pc.invert(negates))
    return pc.if_else(plain, divisor, arrow_scalar(1, divisor.type))


def negative(strict: bool, values: Values) -> Values:
    checked = strict and pa.types.is_integer(values.type)
    return (pc.negate_checked if checked else pc.negate)(values)


def decimal_negative(values: Values) -> Values:
    _check_digits(values)
    return pc.negate(values)


def decimal_absolute(values: Values) -> Values:
    _check_digits(values)
    return pc.abs(values)


def _check_digits(values: Values) -> None:
    """Spark rounds some results to 34 digits."""
    scale = values.type.scale
    limit = arrow_scalar(Decimal(1).scaleb(_EXACT_DIGITS - scale), pa.decimal256(39, scale))
    certain(pc.less(pc.abs(values), limit))


def absolute(strict: bool, values: Values) -> Values:
    checked = strict and pa.types.is_integer(values.type)
    return (pc.abs_checked if checked else pc.abs)(values)


def sign(values: Values) -> Values:
    numbers, absent = numbers_of(values)
    signs = np.where(numbers == 0, numbers, np.sign(numbers))
    return from_numbers(signs, absent, values, pa.float64())


def ceiling(strict: bool, values: Values) -> Values:
    return floating_to_integer(BIGINT, strict, pc.ceil(values))


def floor(strict: bool, values: Values) -> Values:
    return floating_to_integer(BIGINT, strict, pc.floor(values))


def greatest(sign: str, *values: Values) -> Values:
    """The one that is ``sign`` the others, NULLs aside; the first of several."""

    def better(best: Any, other: Any) -> Any:
        wins = filled(compare(sign, other, best), False)
        taken = pc.or_(wins, pc.is_null(best))
        return pc.if_else(taken, other, best)

    return reduce(better, values)


# ---- rounding
#
# DOUBLEs as decimal digits: what is plainly above or below the middle of two results is rounded in
# binary, the rest digit by digit.


_LARGEST = 1e9
"""Up to here the error of a product is far below _DOUBT."""
_DOUBT = 1e-5
_MOST_DIGITS = 15


def round_double(behind: int, rowwise: Callable[[Any], Any], values: Values) -> Values:
    """ROUND to ``behind`` digits behind the point."""
    if isinstance(values, pa.Scalar) or abs(behind) > _MOST_DIGITS:
        return each(rowwise, DOUBLE, values)
    numbers, absent = numbers_of(values)
    whole, sure = _whole(numbers, behind)
    power = 10.0 ** abs(behind)
    result = whole / power if behind >= 0 else whole * power
    quick = arrow_array(result, pa.float64(), mask=absent)
    return completed(rowwise, DOUBLE, values, quick, sure | absent)


def double_to_decimal(
    target: DecimalType, strict: bool, rowwise: Callable[[Any], Any], values: Values
) -> Values:
    if isinstance(values, pa.Scalar) or target.scale > _MOST_DIGITS:
        return each(rowwise, target, values)
    numbers, absent = numbers_of(values)
    whole, sure = _whole(numbers, target.scale)
    digits = arrow_array(whole.astype(np.int64), mask=absent | ~sure).cast(pa.decimal128(38, 0))
    scaled = digits.view(pa.decimal128(38, target.scale))
    kind: HiveType = target
    return completed(rowwise, kind, values, fitted(target, strict, scaled), sure | absent)


def _whole(numbers: Any, behind: int) -> tuple[Any, Any]:
    """The numbers times a power of ten, rounded half up, and where that is sure; no zero has a
    sign.
    """
    power = 10.0 ** abs(behind)
    with np.errstate(all="ignore"):
        scaled = np.abs(numbers * power if behind >= 0 else numbers / power)
        below = np.floor(scaled)
        sure = (scaled < _LARGEST) & (np.abs(scaled - below - 0.5) > _DOUBT)
        whole = np.where(sure, np.copysign(np.floor(scaled + 0.5), numbers), 0.0)
    return whole + 0.0, sure
