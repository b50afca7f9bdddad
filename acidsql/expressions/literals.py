"""Literals as their own values, without an engine, as Spark reads them.

Only plain literals are read here, of which there is one agreed reading. Everything else is
``NotHere`` and Spark evaluates it.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from typing import Any

from acidsql.catalog.types import MAX_DECIMAL_PRECISION
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.plain import NULL, Lossy
from acidsql.lazy_pattern import pattern

Literal = None | bool | int | float | Decimal | str | bytes | datetime.date | datetime.datetime

_NUMBER = pattern(
    r"([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?(BD|[LSYDF])?", re.IGNORECASE | re.ASCII
)
_TYPED = pattern(r"(DATE|TIMESTAMP)\s*('[^']*'|\"[^\"]*\")", re.IGNORECASE | re.ASCII)
_BYTES = pattern(r"unhex\('((?:[0-9a-f]{2})*)'\)")
_NOT_FINITE = pattern(r"CAST\('(NaN|-?Infinity)' AS DOUBLE\)")
_UNICODE = pattern(r"u([0-9A-Fa-f]{4})")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "0": "\0",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "Z": "\x1a",
}
_SUFFIX_BITS = {"Y": 8, "S": 16, "L": 64}


def parse_literal(text: str, *, in_rows: bool = True) -> Literal:
    """The literal's own value, also of the calls that stand for values without a literal
    (parser.parameters). NotHere for anything else.
    """
    literal = literal_of(text)
    return writable(literal) if in_rows else literal


def literal_of(text: str) -> Literal:
    word = text.strip()
    match word.upper():
        case "NULL":
            return None
        case "TRUE":
            return True
        case "FALSE":
            return False
    if word[:1] in "'\"" and word:
        return _string(word)
    if typed := _TYPED.fullmatch(word):
        return _typed(typed[1].upper(), typed[2][1:-1])
    if number := _NUMBER.fullmatch(word):
        return _number(number)
    if given := _BYTES.fullmatch(word):
        return bytes.fromhex(given[1])
    if given := _NOT_FINITE.fullmatch(word):
        return float(given[1])
    raise NotHere(word)


def _string(word: str) -> str:
    quote, body = word[0], word[1:-1]
    if len(word) < 2 or word[-1] != quote:
        raise NotHere(word)
    out: list[str] = []
    at = 0
    while at < len(body):
        mark = body[at]
        if mark == quote:
            raise NotHere(word)
        if mark == "\\":
            at += 1
            escaped = body[at : at + 1]
            if (code := _UNICODE.match(body, at)) and not 0xD800 <= int(code[1], 16) <= 0xDFFF:
                out.append(chr(int(code[1], 16)))
                at = code.end()
                continue
            octal = escaped == "0" and body[at + 1 : at + 2] in tuple("0123456789")
            if escaped not in _ESCAPES or octal or not escaped:
                raise NotHere(word)
            mark = _ESCAPES[escaped]
        out.append(mark)
        at += 1
    return "".join(out)


def _typed(kind: str, text: str) -> datetime.date | datetime.datetime:
    """DATE '..' or TIMESTAMP '..'; Spark reads the odd ones, or refuses them."""
    if not DATE.fullmatch(text) if kind == "DATE" else not TIMESTAMP.fullmatch(text):
        raise NotHere(text)
    value = text_to_date(text) if kind == "DATE" else text_to_timestamp(text)
    if isinstance(value, Lossy):
        raise NotHere(text)
    return value


def _number(match: re.Match[str]) -> int | float | Decimal:
    """A value of Spark's type of the literal.

    DOUBLE with an exponent, DECIMAL with a point or where no BIGINT holds it.
    """
    sign, digits, exponent, suffix = match[1], match[2], match[3], (match[4] or "").upper()
    text = ("-" if sign == "-" else "") + digits + (exponent or "")
    if suffix == "F":
        raise NotHere(text)
    if suffix == "D" or (exponent and not suffix):
        return _finite(float(text))
    if suffix == "BD" or (not suffix and "." in digits):
        return _decimal_literal(text)
    if exponent or "." in digits:
        raise NotHere(text)
    value = int(text)
    bits = _SUFFIX_BITS.get(suffix, 64)
    if -(1 << bits - 1) <= value < 1 << bits - 1:
        return value
    if suffix:
        raise NotHere(text)
    return _decimal_literal(text)


def _finite(value: float) -> float:
    """Spark refuses literals that no DOUBLE holds, as Hive does."""
    if math.isinf(value):
        raise NotHere(str(value))
    return value


def _decimal_literal(text: str) -> Decimal:
    """Spark refuses those of more than 38 digits; no decimal zero has a sign."""
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if max(len(digits), len(digits) + exponent, -exponent) > MAX_DECIMAL_PRECISION:
        raise NotHere(text)
    return value or value.copy_abs()


# ---- days and moments from text and from each other, as far as every reader agrees on them


TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))
"""What Spark takes for blanks around a value (UTF8String.trimAll)."""

DATE = pattern(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
TIMESTAMP = pattern(
    r"(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?", re.ASCII
)
_BEGINS_AS_DATE = pattern(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_ODD_YEAR = pattern(r"0000|[+-]|\d{5}", re.ASCII)
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
