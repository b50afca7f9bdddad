"""Functions of days and moments, of the years 1 to 9999. Moments are wall clocks in UTC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.expressions.kernels.casting import check_years
from acidsql.expressions.kernels.comparing import Values, from_numbers, numbers_of
from acidsql.expressions.not_here import NotHere

_DAY, _MONTH = np.timedelta64(1, "D"), np.timedelta64(1, "M")
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
_MONDAY = 4
"""1970-01-05 in days since 1970."""

_PARTS: dict[str, Callable[[Values], Values]] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "DAY": pc.day,
    "DAYOFYEAR": pc.day_of_year,
    "DAYOFWEEK": lambda days: pc.day_of_week(days, count_from_zero=False, week_start=7),
    "WEEKDAY": pc.day_of_week,
    "WEEKOFYEAR": pc.iso_week,
    "HOUR": pc.hour,
    "MINUTE": pc.minute,
    "SECOND": pc.second,
}


def part(name: str, days: Values) -> Values:
    """A part of each day, a clock's part of each moment."""
    if pa.types.is_date32(days.type):
        check_years(days)
    return pc.cast(_PARTS[name](days), pa.int32())


def add_days(days: Values, count: Values) -> Values:
    total = pc.add(_numbered(days), pc.cast(count, pa.int64()))
    return _dated(total)


def subtract_days(days: Values, count: Values) -> Values:
    return _dated(pc.subtract(_numbered(days), pc.cast(count, pa.int64())))


def days_between(end: Values, start: Values) -> Values:
    return pc.cast(pc.subtract(_numbered(end), _numbered(start)), pa.int32())


def _numbered(days: Values) -> Values:
    return pc.cast(pc.cast(days, pa.int32()), pa.int64())


def _dated(numbers: Values) -> Values:
    days = pc.cast(pc.cast(numbers, pa.int32()), pa.date32())
    check_years(days)
    return days


def add_months(days: Values, count: Values) -> Values:
    """A day of another month with the same number, its last one if it has no such day."""
    like = count if isinstance(days, pa.Scalar) else days
    (numbers, absent), (counts, other_absent) = _dates(days), numbers_of(count)
    months = numbers.astype("datetime64[M]")
    offset = numbers - months.astype("datetime64[D]")
    within = np.where(np.abs(counts) < 200_000, counts, 200_000)
    moved = months + within.astype(np.int64).astype("timedelta64[M]")
    last = (moved + _MONTH).astype("datetime64[D]") - _DAY
    result = np.minimum(moved.astype("datetime64[D]") + offset, last)
    return _from_dates(result, absent | other_absent, like)


def last_day(days: Values) -> Values:
    numbers, absent = _dates(days)
    following = (numbers.astype("datetime64[M]") + _MONTH).astype("datetime64[D]")
    return _from_dates(following - _DAY, absent, days)


def truncated(unit: str, days: Values) -> Values:
    """TRUNC to the first day of a YEAR, QUARTER, MONTH or WEEK."""
    numbers, absent = _dates(days)
    match unit:
        case "YEAR":
            first = numbers.astype("datetime64[Y]").astype("datetime64[D]")
        case "QUARTER":
            months = numbers.astype("datetime64[M]").astype(np.int64)
            first = (months // 3 * 3).astype("datetime64[M]").astype("datetime64[D]")
        case "MONTH":
            first = numbers.astype("datetime64[M]").astype("datetime64[D]")
        case _:
            ordinals = numbers.astype(np.int64)
            first = ((ordinals - _MONDAY) // 7 * 7 + _MONDAY).astype("datetime64[D]")
    return _from_dates(first, absent, days)


def _dates(days: Values) -> tuple[Any, Any]:
    check_years(days)
    numbers, absent = numbers_of(pc.cast(days, pa.int32()))
    return numbers.astype("datetime64[D]"), absent


def _from_dates(days: Any, absent: Any, like: Values) -> Values:
    if (((days < _FIRST) | (days > _LAST)) & ~absent).any():
        raise NotHere("a year of other than four digits")
    numbers = np.where(absent, 0, days.astype(np.int64)).astype(np.int32)
    return pc.cast(from_numbers(numbers, absent, like, pa.int32()), pa.date32())
