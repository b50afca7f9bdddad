"""Spark's casts. ``strict`` is acidsql.ansi: what does not fit is an error there, which Spark shall
raise.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.types import DecimalType, HiveType, arrow_type
from acidsql.expressions.kernels.comparing import (
    Values,
    certain,
    from_numbers,
    numbers_of,
    where,
)
from acidsql.expressions.kernels.decimals import cut_off, fitted
from acidsql.expressions.kernels.rowwise import completed, each
from acidsql.expressions.not_here import NotHere

_EXACT_IN_DOUBLE, _EXACT_POWER = 1 << 53, 22
"""Whole numbers up to here, and powers of ten, are doubles."""
_LAST_DAY = 2_932_896
"""9999-12-31 in days since 1970."""
_FIRST_DAY = -719_162
"""0001-01-01."""
_FARTHEST_DAY = 106_000_000
"""Within it every day has microseconds of 64 bits."""


def same(values: Values) -> Values:
    return values


# ---- whole numbers


def integer_to_integer(target: HiveType, strict: bool, values: Values) -> Values:
    """The lowest bits, as Java's casts take them."""
    return pc.cast(values, arrow_type(target), safe=strict)


def to_floating(target: HiveType, values: Values) -> Values:
    """From whole and floating numbers."""
    return pc.cast(values, arrow_type(target), safe=False)


def to_boolean(values: Values) -> Values:
    return pc.not_equal(values, arrow_scalar(0, pa.int64()).cast(values.type))


def boolean_to_number(target: HiveType, values: Values) -> Values:
    return pc.cast(values, arrow_type(target))


def floating_to_integer(target: HiveType, strict: bool, values: Values) -> Values:
    """Towards zero; the nearest number of 32 or 64 bits for what is beyond them, of which smaller
    types take the lowest bits, and 0 for NaN.
    """
    numbers, absent = numbers_of(values)
    kind = arrow_type(target)
    half = float(1 << kind.bit_width - 1)
    if strict:
        fits = (np.floor(numbers) < half) & (np.ceil(numbers) >= -half)
        if not (fits | absent).all():
            raise NotHere("a number that its type does not hold")
    whole: Any = np.int64 if kind.bit_width == 64 else np.int32
    bounds = np.iinfo(whole)
    cut = np.trunc(np.where(np.isnan(numbers), 0, numbers).astype(np.float64))
    low, high = cut <= float(bounds.min), cut >= float(bounds.max)
    result = np.where(low | high, 0, cut).astype(whole)
    result = np.where(low, bounds.min, np.where(high, bounds.max, result))
    return from_numbers(result.astype(kind.to_pandas_dtype()), absent, values, kind)


# ---- decimals


def decimal_to_decimal(target: DecimalType, strict: bool, values: Values) -> Values:
    source = values.type
    if target.scale >= source.scale and (
        target.precision - target.scale >= source.precision - source.scale
    ):
        return pc.cast(values, arrow_type(target))
    return fitted(target, strict, values)


def integer_to_decimal(target: DecimalType, strict: bool, values: Values) -> Values:
    return decimal_to_decimal(target, strict, pc.cast(values, pa.decimal128(20, 0)))


def boolean_to_decimal(target: DecimalType, strict: bool, values: Values) -> Values:
    return integer_to_decimal(target, strict, pc.cast(values, pa.int32()))


def decimal_to_boolean(values: Values) -> Values:
    return pc.not_equal(values, arrow_scalar(Decimal(0), values.type))


def decimal_to_integer(target: HiveType, strict: bool, values: Values) -> Values:
    """Towards zero. With ANSI semantics Spark may go by way of a DOUBLE."""
    result = _exact_integer(target, values)
    if strict:
        other = floating_to_integer(target, True, decimal_to_double(values))
        certain(pc.equal(result, other))
    return result


def _exact_integer(target: HiveType, values: Values) -> Values:
    whole = pc.cast(cut_off(0, values), pa.decimal128(38, 0))
    half = 1 << arrow_type(target).bit_width - 1
    low, high = (arrow_scalar(Decimal(bound), pa.decimal128(20, 0)) for bound in (-half, half - 1))
    certain(pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high)))
    return pc.cast(whole, arrow_type(target))


def decimal_to_double(values: Values) -> Values:
    """The nearest double; Arrow's own cast rounds twice."""
    array = arrow_array([values.as_py()], values.type) if isinstance(values, pa.Scalar) else values
    scale = values.type.scale
    absent = numpy_array(array.is_null())
    if array.null_count:
        array = filled(array, 0)
    unscaled = pc.cast(array, pa.decimal128(38, scale)).view(pa.decimal128(38, 0))
    limit = arrow_scalar(Decimal(_EXACT_IN_DOUBLE), pa.decimal128(38, 0))
    small = pc.all(pc.less(pc.abs(unscaled), limit), min_count=0).as_py()
    if small and scale <= _EXACT_POWER:
        whole = numpy_array(pc.cast(unscaled, pa.int64()))
        numbers = whole.astype(np.float64) / float(10**scale)
    else:
        numbers = np.array([float(value) for value in array.to_pylist()], np.float64)
    return from_numbers(numbers, absent, values, pa.float64())


def decimal_to_float(values: Values) -> Values:
    """The nearest float, found from the nearest double: that is another one only where the double
    lies in the middle of two floats.
    """
    numbers, absent = numbers_of(decimal_to_double(values))
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32)
    side = np.where(numbers > rounded, np.float32(np.inf), np.float32(-np.inf))
    middle = (rounded.astype(np.float64) + np.nextafter(rounded, side).astype(np.float64)) / 2
    if ((middle == numbers) & (numbers != rounded) & ~absent).any():
        raise NotHere("a number in the middle of two floats")
    return from_numbers(rounded, absent, values, pa.float32())


def decimal_to_string(values: Values) -> Values:
    return pc.cast(values, pa.string())


# ---- text, days and moments


def integer_to_string(values: Values) -> Values:
    return pc.cast(values, pa.string())


def string_to_integer(target: HiveType, rowwise: Callable[[str], Any], values: Values) -> Values:
    """Quickly where the text has the digits alone, and so few that they fit."""
    kind = arrow_type(target)
    if isinstance(values, pa.Scalar):
        return each(rowwise, target, values)
    pattern = rf"^-?[0-9]{{1,{9 if kind.bit_width == 32 else 18}}}$"
    plain = pc.match_substring_regex(values, pattern)
    sure = numpy_array(filled(plain, True))
    return completed(rowwise, target, values, pc.cast(where(plain, values), kind), sure)


def string_to_binary(values: Values) -> Values:
    return pc.cast(values, pa.binary())


def binary_to_string(values: Values) -> Values:
    return pc.cast(values, pa.string())


def date_to_string(values: Values) -> Values:
    check_years(values)
    return pc.cast(values, pa.string())


def timestamp_to_string(values: Values) -> Values:
    """Without zeros at the end of the fraction."""
    check_years(timestamp_to_date(values))
    text = pc.cast(values, pa.string())
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")  # six digits follow the point


def date_to_timestamp(values: Values) -> Values:
    days = pc.cast(values, pa.int32())
    certain(pc.less(pc.abs(pc.cast(days, pa.int64())), _FARTHEST_DAY))
    return pc.cast(values, pa.timestamp("us"))


def timestamp_ntz_to_timestamp(values: Values) -> Values:
    return values


def timestamp_to_date(values: Values) -> Values:
    return pc.cast(pc.floor_temporal(values, unit="day"), pa.date32())


def timestamp_to_bigint(values: Values) -> Values:
    micros, absent = numbers_of(pc.cast(values, pa.int64()))
    return from_numbers(micros // 1_000_000, absent, values, pa.int64())


def timestamp_to_double(values: Values) -> Values:
    micros, absent = numbers_of(pc.cast(values, pa.int64()))
    return from_numbers(micros / 1_000_000.0, absent, values, pa.float64())


def check_years(days: Values) -> None:
    """Years of four digits."""
    number = pc.cast(days, pa.int32())
    certain(pc.and_(pc.greater_equal(number, _FIRST_DAY), pc.less_equal(number, _LAST_DAY)))


# ---- what a cast takes
#
# Masks of values that a store cast has taken something from; None where that is soon seen to be
# none. ``given`` and ``stored`` are arrays of one length.


_BEYOND_BIGINT = 2.0**63


def became_null(given: Values, stored: Values) -> Values | None:
    if stored.null_count == given.null_count:  # NULL stays NULL
        return None
    return pc.and_(pc.is_valid(given), pc.is_null(stored))


def longer(texts: Values, length: int) -> Values | None:
    """Texts of more characters, but for blanks at their end."""
    most = pc.max(pc.binary_length(texts)).as_py()
    if most is None or most <= length:
        return None
    return _sure(pc.greater(pc.utf8_length(pc.utf8_rtrim(texts, " ")), length))


def has_point(given: Values, stored: Values) -> Values:
    """Texts of numbers that are no whole ones, which have become some."""
    return _sure(pc.and_(pc.is_valid(stored), pc.match_substring(given, ".")))


def infinite_text(given: Values, stored: Values) -> Values | None:
    """Texts of numbers that are too large."""
    if not pc.any(pc.is_inf(stored)).as_py():
        return None
    named = pc.match_substring(given, "inf", ignore_case=True)
    return _sure(pc.and_(pc.is_inf(stored), pc.invert(named)))


def became_infinite(given: Values, stored: Values) -> Values | None:
    if not pc.any(pc.is_inf(stored)).as_py():
        return None
    return _sure(pc.and_(pc.is_inf(stored), pc.is_finite(given)))


def other_double(given: Values, stored: Values, bits: int) -> Values:
    """Numbers that are not the whole ones of so many bits that are stored; both as DOUBLE."""
    other = pc.not_equal(given, stored)
    if bits == 64:  # the largest BIGINT is this number as a DOUBLE
        other = pc.or_(other, pc.greater_equal(given, arrow_scalar(_BEYOND_BIGINT, pa.float64())))
    return _sure(other)


def other(given: Values, stored: Values) -> Values:
    """Numbers that are not those that are stored, which are NULL where their type is too small."""
    differs = pc.or_kleene(pc.is_null(stored), pc.not_equal(given, stored))
    return pc.and_(pc.is_valid(given), filled(differs, False))


def _sure(mask: Values) -> Values:
    return filled(mask, False)
