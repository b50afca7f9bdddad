"""Days and moments from text and from each other, as far as every reader agrees on them."""

from __future__ import annotations

import datetime
import re
from typing import Any

from acidsql.expressions.not_here import NotHere
from acidsql.expressions.plain import NULL, Lossy

TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))
"""What Spark takes for blanks around a value (UTF8String.trimAll)."""

DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
TIMESTAMP = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?", re.ASCII
)
_BEGINS_AS_DATE = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL
)
_ODD_YEAR = re.compile(r"0000|[+-]|\d{5}", re.ASCII)
_NAMED_DAYS = ("epoch", "now", "today", "tomorrow", "yesterday")


def to_date(literal: Any) -> Any:
    match literal:
        case datetime.datetime():
            return literal.date()
        case datetime.date():
            return literal
        case str():
            return text_to_date(literal.strip(TRIMMED))
    raise NotHere(repr(literal))


def text_to_date(text: str) -> datetime.date | Lossy:
    """A year or a month stands for its first day."""
    if _ODD_YEAR.match(text) or text.strip().lower().startswith(_NAMED_DAYS):
        raise NotHere(text)
    if not (match := _BEGINS_AS_DATE.fullmatch(text)):
        return NULL
    try:
        return datetime.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return NULL


def to_timestamp(literal: Any) -> Any:
    match literal:
        case datetime.datetime():
            return literal
        case datetime.date():
            return datetime.datetime.combine(literal, datetime.time())
        case str():
            return text_to_timestamp(literal.strip(TRIMMED))
    raise NotHere(repr(literal))


def text_to_timestamp(text: str) -> datetime.datetime | Lossy:
    """A day, or a day and a time to the second at least.

    Of what has other digits in it Spark knows more forms.
    """
    match = TIMESTAMP.fullmatch(text)
    if not match and not DATE.fullmatch(text):
        if any("0" <= mark <= "9" for mark in text):
            raise NotHere(text)
        return _no_timestamp(text)
    day = text_to_date(match[1] if match else text)
    if isinstance(day, Lossy):
        return day
    if not match:
        return datetime.datetime.combine(day, datetime.time())
    try:
        clock = datetime.time(
            int(match[2]), int(match[3]), int(match[4]), _microseconds(match[5] or "")
        )
    except ValueError:
        return NULL
    return datetime.datetime.combine(day, clock)


def _no_timestamp(text: str) -> Lossy:
    if text.strip().lower().startswith(_NAMED_DAYS):
        raise NotHere(text)
    return NULL


def _microseconds(fraction: str) -> int:
    return int(fraction[:6].ljust(6, "0"))


def writable(value: Any) -> Any:
    if isinstance(value, datetime.date):
        if (value.year, value.month, value.day) < (1582, 10, 15):
            # the calendars of the readers differ there
            raise NotHere("before the Gregorian calendar")
        if isinstance(value, datetime.datetime) and value.year < 1970 and value.microsecond:
            raise NotHere(str(value))  # only ORC's Java writer stores such a fraction right
    return value
