"""Values as SQL literals.

A literal must survive every reader of the text: Hive's and Spark's string escapes (backslash), and
``${..}`` substitution, which reaches into strings. So quotes, backslashes, and a dollar sign before
a brace are written as escapes.
"""

from __future__ import annotations

import datetime
import math
import numbers
import operator
import sys
from decimal import Decimal
from typing import Any

from acidsql.errors import ProgrammingError
from acidsql.lazy_dataclass import dataclass
from acidsql.utf8 import check_text

MAX_DIGITS = 38
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'"})
_DOUBLE_BYTES = 8
_UNITS_OF_DAYS = ("[Y]", "[M]", "[W]", "[D]")


@dataclass(frozen=True, slots=True)
class Written:
    """A value whose SQL its giver has written, as of an array: ``text`` is one expression."""

    text: str


def literal(value: Any) -> str:  # noqa: C901  (a flat match over the kinds of values)
    """The SQL literal of a Python value. ProgrammingError for a type that has none."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case Written():
            return value.text
        case str():
            return _string(value)
        case bytes() | bytearray() | memoryview():
            return f"unhex('{bytes(value).hex()}')"
        case Decimal():
            return _decimal(value)
        case datetime.datetime():
            return _timestamp(value)
        case datetime.date():
            return f"DATE '{value.year:04}-{value.month:02}-{value.day:02}'"
        case int():
            return _integer(operator.index(value))
        case float():
            return _float(float(value))
        case _ if (numpy := sys.modules.get("numpy")) and isinstance(value, numpy.generic):
            return literal(_of_numpy(value))
        case numbers.Integral():
            return _integer(operator.index(value))
        case _ if type(value).__name__ == "NAType":  # pandas.NA
            return "NULL"
    raise _no_literal(value)


def _no_literal(value: Any) -> ProgrammingError:
    return ProgrammingError(f"a value of type {type(value).__name__} has no SQL literal")


def _of_numpy(value: Any) -> Any:
    """Python's value of the same meaning as a scalar of NumPy's. ProgrammingError if there is
    none.
    """
    kind, size = value.dtype.kind, value.dtype.itemsize
    if kind in "biu" or (kind == "f" and size <= _DOUBLE_BYTES):
        return value.item()
    if kind != "M":
        raise _no_literal(value)
    if value != value:
        return None
    year = int(value.astype("datetime64[Y]").astype(int)) + 1970
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise ProgrammingError(f"the year {year} has no SQL literal")
    if value.dtype.name.removeprefix("datetime64") in _UNITS_OF_DAYS:
        return value.astype("datetime64[D]").item()
    if (exact := value.astype("datetime64[us]")) != value:
        raise _too_fine(value)
    return exact.item()


def _too_fine(value: Any) -> ProgrammingError:
    hint = "Round it, or give it as a text."
    return ProgrammingError(f"the timestamp {value} has more than microseconds", hint=hint)


def _string(value: str) -> str:
    check_text(value)
    return "'" + value.translate(_ESCAPES).replace("${", "\\u0024{") + "'"


def _integer(value: int) -> str:
    if len(str(abs(value))) > MAX_DIGITS:
        raise ProgrammingError(f"a number has more than {MAX_DIGITS} digits")
    return str(value)


def _float(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}D"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS DOUBLE)"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ProgrammingError(f"the decimal {value} has no SQL literal")
    written = f"{value:f}"
    if sum(mark.isdigit() for mark in written) > MAX_DIGITS + 1:
        raise ProgrammingError(f"a decimal has more than {MAX_DIGITS} digits")
    return f"{written}BD"


def _timestamp(value: datetime.datetime) -> str:
    """A value with a zone is converted to UTC, the zone that sessions run in; pandas' NaT is
    NULL.
    """
    if value != value:
        return "NULL"
    if getattr(value, "nanosecond", 0):  # of pandas' Timestamp
        raise _too_fine(value)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    day = f"{value.year:04}-{value.month:02}-{value.day:02}"
    fraction = f".{value.microsecond:06}" if value.microsecond else ""
    return f"TIMESTAMP '{day} {value.hour:02}:{value.minute:02}:{value.second:02}{fraction}'"
