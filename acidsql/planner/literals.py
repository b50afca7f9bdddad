"""Literals of INSERT .. VALUES as values of the target column, without an engine.

Only what is certain is converted here: plain literals whose store into the column type gives one agreed result. Everything else
is ``NotPlain`` and Spark evaluates the row.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType


class NotPlain(Exception):  # noqa: N818  (a signal between two functions, not an error)
    """The expression is no plain literal, or its conversion is Spark's business."""


Literal = None | bool | int | float | Decimal | str | bytes | datetime.date | datetime.datetime

_NUMBER = re.compile(r"([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?(BD|[LSYDF])?", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?")
_TYPED = re.compile(r"(DATE|TIMESTAMP)\s*('[^']*'|\"[^\"]*\")", re.IGNORECASE)
_BYTES = re.compile(r"unhex\('((?:[0-9a-f]{2})*)'\)")
_NOT_FINITE = re.compile(r"CAST\('(NaN|-?Infinity)' AS DOUBLE\)")
_UNICODE = re.compile(r"u([0-9A-Fa-f]{4})")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "\\": "\\", "'": "'", '"': '"', "Z": "\x1a"}
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_SUFFIX_BITS = {"Y": 8, "S": 16, "L": 64}


def value_of(text: str, hive_type: HiveType, *, in_rows: bool = True) -> Any:
    """The value the column will hold, as Arrow takes it: None, bool, int, float, Decimal, str, bytes, date or datetime.

    Unless ``in_rows``, as for a partition's value, which is a text, NotPlain is not raised for times that the driver cannot write.
    """
    literal = parse_literal(text, in_rows=False)
    if literal is None:
        return None
    value = _store(literal, hive_type)
    return _writable(value) if in_rows else value


def parse_literal(text: str, *, in_rows: bool = True) -> Literal:
    """The literal's own value, also of the calls that stand for values without a literal (parser.parameters). NotPlain for anything else."""
    literal = _parsed(text)
    return _writable(literal) if in_rows else literal


def _parsed(text: str) -> Literal:
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
        return _date(typed[2][1:-1]) if typed[1].upper() == "DATE" else _timestamp(typed[2][1:-1])
    if number := _NUMBER.fullmatch(word):
        return _number(number)
    if given := _BYTES.fullmatch(word):
        return bytes.fromhex(given[1])
    if given := _NOT_FINITE.fullmatch(word):
        return float(given[1])
    raise NotPlain(word)


def _string(word: str) -> str:
    quote, body = word[0], word[1:-1]
    if len(word) < 2 or word[-1] != quote:
        raise NotPlain(word)
    out: list[str] = []
    at = 0
    while at < len(body):
        mark = body[at]
        if mark == quote:
            raise NotPlain(word)
        if mark == "\\":
            at += 1
            escaped = body[at : at + 1]
            if (code := _UNICODE.match(body, at)) and not 0xD800 <= int(code[1], 16) <= 0xDFFF:
                out.append(chr(int(code[1], 16)))
                at = code.end()
                continue
            if escaped not in _ESCAPES or (escaped == "0" and body[at + 1 : at + 2].isdigit()) or not escaped:
                raise NotPlain(word)
            mark = _ESCAPES[escaped]
        out.append(mark)
        at += 1
    return "".join(out)


def _number(found: re.Match[str]) -> int | float | Decimal:
    sign, digits, exponent, suffix = found[1], found[2], found[3], (found[4] or "").upper()
    text = ("-" if sign == "-" else "") + digits + (exponent or "")
    if suffix == "BD" or (not suffix and not exponent and "." in digits):
        return Decimal(text)
    if suffix in ("D", "F") or exponent:
        if suffix == "F":
            raise NotPlain(text)
        return float(text)
    if "." in digits:
        raise NotPlain(text)
    value = int(text)
    bits = _SUFFIX_BITS.get(suffix, 64)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise NotPlain(text)
    return value


def _date(text: str) -> datetime.date:
    if not (found := _DATE.fullmatch(text)):
        raise NotPlain(text)
    try:
        return datetime.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        raise NotPlain(text) from None


def _timestamp(text: str) -> datetime.datetime:
    found = _TIMESTAMP.fullmatch(text)
    if not found:
        raise NotPlain(text)
    day = _date(found[1])
    try:
        moment = datetime.time(int(found[2]), int(found[3]), int(found[4]), int((found[5] or "0").ljust(6, "0")))
    except ValueError:
        raise NotPlain(text) from None
    return datetime.datetime.combine(day, moment)


def _writable(value: Any) -> Any:
    if isinstance(value, datetime.date):
        if (value.year, value.month, value.day) < (1582, 10, 15):
            raise NotPlain("before the Gregorian calendar")  # the calendars of the readers differ there
        if isinstance(value, datetime.datetime) and value.year < 1970 and value.microsecond:
            raise NotPlain(str(value))  # only ORC's Java writer stores such a fraction right
    return value


def _store(literal: Any, hive_type: HiveType) -> Any:
    match hive_type:
        case VarcharType(length):
            return _text(literal)[:length]
        case CharType(length):
            return _text(literal)[:length].rstrip(" ")
        case DecimalType(precision, scale):
            return _to_decimal(_as_decimal(literal), precision, scale)
        case PrimitiveType(name):
            return _STORES[name](literal) if name in _STORES else _integer(literal, _INTEGER_BITS[name])
    raise NotPlain(str(hive_type))


def _text(literal: Any) -> str:
    match literal:
        case bool():
            return "true" if literal else "false"
        case str():
            return literal
        case datetime.datetime():
            raise NotPlain("timestamp text")
        case int() | datetime.date():
            return str(literal)
        case Decimal():
            return f"{literal:f}"
    raise NotPlain(repr(literal))


def _as_decimal(literal: Any) -> Decimal:
    match literal:
        case bool():
            return Decimal(int(literal))
        case int() | Decimal():
            return Decimal(literal)
        case float() if math.isfinite(literal):
            return Decimal(repr(literal))
        case str() if re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", literal):
            return Decimal(literal.strip())
    raise NotPlain(repr(literal))


def _to_decimal(value: Decimal, precision: int, scale: int) -> Decimal | None:
    if value and value.adjusted() >= precision - scale:
        return None
    with localcontext(prec=100):
        rounded = value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)
    return rounded if abs(rounded) < Decimal(10) ** (precision - scale) else None


def _integer(literal: Any, bits: int) -> int:
    match literal:
        case bool():
            value = int(literal)
        case int():
            value = literal
        case Decimal():
            value = int(literal)
        case str() if re.fullmatch(r"\s*[+-]?\d+\s*", literal):
            value = int(literal)
        case _:
            raise NotPlain(repr(literal))
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise NotPlain(repr(literal))
    return value


def _double(literal: Any) -> float:
    match literal:
        case bool() | int() | float() | Decimal():
            return float(literal)
        case str() if re.fullmatch(r"\s*[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\s*", literal):
            return float(literal)
    raise NotPlain(repr(literal))


def _float(literal: Any) -> float:
    """A value a 32-bit float holds exactly, or one of few digits: there rounding twice equals rounding once."""
    value = _double(literal)
    if not math.isfinite(value):
        return value
    digits = len(Decimal(repr(value)).as_tuple().digits)
    if digits > 7 or not (value == 0 or 1e-30 < abs(value) < 1e30):
        raise NotPlain(repr(literal))
    return value


def _boolean(literal: Any) -> bool:
    match literal:
        case bool():
            return literal
        case str() if literal.lower() in ("true", "false"):
            return literal.lower() == "true"
    raise NotPlain(repr(literal))


def _to_date(literal: Any) -> datetime.date:
    match literal:
        case datetime.datetime():
            return literal.date()
        case datetime.date():
            return literal
        case str():
            return _date(literal)
    raise NotPlain(repr(literal))


def _to_timestamp(literal: Any) -> datetime.datetime:
    match literal:
        case datetime.datetime():
            return literal
        case datetime.date():
            return datetime.datetime.combine(literal, datetime.time())
        case str() if _DATE.fullmatch(literal):
            return datetime.datetime.combine(_date(literal), datetime.time())
        case str():
            return _timestamp(literal)
    raise NotPlain(repr(literal))


def _binary(literal: Any) -> bytes:
    if isinstance(literal, bytes):
        return literal
    if isinstance(literal, str):
        return literal.encode()
    raise NotPlain(repr(literal))


_STORES: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "boolean": _boolean,
    "double": _double,
    "float": _float,
    "date": _to_date,
    "timestamp": _to_timestamp,
    "binary": _binary,
}
