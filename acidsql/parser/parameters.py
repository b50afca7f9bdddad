"""``?`` markers replaced by SQL literals, so that a value can never become anything but a value.

A literal must survive every reader of the text: Hive's and Spark's string escapes (backslash), and ``${..}`` substitution, which
reaches into strings. So quotes, backslashes, and a dollar sign before a brace are written as escapes.
"""

from __future__ import annotations

import datetime
import math
import numbers
import operator
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from acidsql.errors import ProgrammingError, Span
from acidsql.parser.tokens import Token, tokenize

MARKER = "?"
MAX_DIGITS = 38
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'"})
_SAFE_NEIGHBOURS = frozenset(" \t\r\n(),")


def bind_parameters(text: str, params: Sequence[Any]) -> str:
    """``text`` with each ``?`` outside strings, names and comments replaced by the literal of its value.

    Values: None, bool, int, float, Decimal, str, bytes, date, datetime. ProgrammingError when their number differs from the
    number of markers or a value has no literal.
    """
    markers = [token for token in tokenize(text) if token.is_mark(MARKER)]
    if len(markers) != len(params):
        raise _count_error(text, markers, len(params))
    pieces = []
    at = 0
    for index, (marker, value) in enumerate(zip(markers, params, strict=True)):
        pieces += [text[at : marker.start], _spaced(text, marker, _literal_at(text, marker, index, value))]
        at = marker.end
    return "".join([*pieces, text[at:]])


def _count_error(text: str, markers: list[Token], given: int) -> ProgrammingError:
    place = markers[given].span if given < len(markers) else None
    return ProgrammingError(
        f"the statement has {len(markers)} parameter marker{'' if len(markers) == 1 else 's'}, but {given} "
        f"value{' was' if given == 1 else 's were'} given",
        span=place,
        source=text if place else None,
    )


def _literal_at(text: str, marker: Token, index: int, value: Any) -> str:
    try:
        return literal(value)
    except ProgrammingError as error:
        error.message = f"parameter {index + 1}: {error.message}"
        error.span = Span(marker.start, marker.end)
        error.source = text
        raise


def _spaced(text: str, marker: Token, written: str) -> str:
    """Keeps the literal apart from what it would merge with: ``a-?``, ``r?``, ``'x'?``."""
    before = text[marker.start - 1 : marker.start]
    after = text[marker.end : marker.end + 1]
    left = " " if before and before not in _SAFE_NEIGHBOURS else ""
    right = " " if after and after not in _SAFE_NEIGHBOURS else ""
    return left + written + right


def literal(value: Any) -> str:
    """The SQL literal of a Python value. ProgrammingError for a type that has none."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return _string(value)
        case bytes() | bytearray() | memoryview():
            return f"unhex('{bytes(value).hex()}')"
        case Decimal():
            return _decimal(value)
        case datetime.datetime():
            return f"TIMESTAMP '{_timestamp(value)}'"
        case datetime.date():
            return f"DATE '{value.year:04}-{value.month:02}-{value.day:02}'"
        case numbers.Integral():
            return _integer(operator.index(value))
        case float():
            return _float(float(value))
    raise ProgrammingError(f"a value of type {type(value).__name__} has no SQL literal")


def _string(value: str) -> str:
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
    """A value with a zone is converted to UTC, the zone that sessions run in."""
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    day = f"{value.year:04}-{value.month:02}-{value.day:02}"
    fraction = f".{value.microsecond:06}" if value.microsecond else ""
    return f"{day} {value.hour:02}:{value.minute:02}:{value.second:02}{fraction}"
