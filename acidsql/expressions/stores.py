"""Literals as values of the column they are stored in, as Spark's casts have it.

Only a store that gives one agreed result is done here; the others are ``NotHere`` and Spark's
business. A value the column cannot hold as it is written is ``Lossy``.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from acidsql.catalog.model import DEFAULT_PARTITION
from acidsql.catalog.types import (
    MAX_DECIMAL_PRECISION,
    CharType,
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
)
from acidsql.expressions.decimals import EXACT, rescaled
from acidsql.expressions.not_here import NULL, Lossy, NotHere
from acidsql.expressions.tree import (
    DATE,
    TRIMMED,
    literal_of,
    parse_literal,
    to_date,
    to_timestamp,
    writable,
)
from acidsql.lazy import pattern

_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def value_of(text: str, hive_type: HiveType, *, in_rows: bool = True) -> Any:
    """The value a column holds, as Arrow takes it. NotHere also for a loss that strict SQL
    refuses.

    Unless ``in_rows``, as for a partition's value, which is a text, NotHere is not raised for
    times that the driver cannot write, but for texts that Spark takes for a value and Hive does
    not.
    """
    value = stored(text, hive_type, in_rows=in_rows)
    if (
        not in_rows
        and isinstance(literal := literal_of(text), str)
        and not _is_hives(literal, hive_type)
    ):
        raise NotHere(text)
    if not isinstance(value, Lossy):
        return value
    if value.refused:
        raise NotHere(text)
    return value.value


def _is_hives(text: str, hive_type: HiveType) -> bool:
    form = _HIVES_FORMS.get(str(hive_type))
    return form is None or form.fullmatch(text.strip(TRIMMED)) is not None


def stored(text: str, hive_type: HiveType, *, in_rows: bool = True) -> Any:
    """None, bool, int, float, Decimal, str, bytes, date or datetime, as Arrow takes it.

    Lossy for what the column cannot hold.
    """
    literal = parse_literal(text, in_rows=False)
    if literal is None:
        return None
    value = store(literal, hive_type)
    return writable(value) if in_rows else value


def store(literal: Any, hive_type: HiveType) -> Any:
    """What a column holds of a value that is not NULL.

    The value as its type, or Lossy. NotHere where only Spark can tell.
    """
    match hive_type:
        case VarcharType(length):
            return _cut(_text(literal), length)
        case CharType(length):
            return _cut(_text(literal).rstrip(" "), length, end=" ")
        case DecimalType():
            return _decimal(literal, hive_type)
        case PrimitiveType(name):
            return (
                _STORES[name](literal)
                if name in _STORES
                else _integer(literal, _INTEGER_BITS[name])
            )
    raise NotHere(str(hive_type))


# ---- text


_JAVA_TRIMMED = "".join(map(chr, range(0x21)))
"""What is cut off around the text of a FLOAT, DOUBLE or DECIMAL (String.trim)."""


def _text(literal: Any) -> str:
    match literal:
        case bool():
            return "true" if literal else "false"
        case str():
            return literal
        case datetime.datetime():
            raise NotHere("timestamp text")
        case int() | datetime.date():
            return str(literal)
        # Spark's text of the others depends on acidsql.ansi
        case Decimal() if "E" not in str(literal):
            return str(literal)
    raise NotHere(repr(literal))


def _cut(text: str, length: int, end: str = "") -> str | Lossy:
    """The first ``length`` characters.

    Blanks behind them are nothing to lose. ``end``: what the value never ends in.
    """
    kept = text[:length].rstrip(end) if end else text[:length]
    return Lossy(kept, refused=False) if text[length:].strip(" ") else kept


def _binary(literal: Any) -> bytes:
    if isinstance(literal, bytes):
        return literal
    if isinstance(literal, str):
        return literal.encode()
    raise NotHere(repr(literal))


# ---- numbers

_DIGITS = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DECIMAL = pattern(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?(\d+))?", re.ASCII)
_DOUBLE = pattern(rf"([+-]?{_DIGITS})[fFdD]?", re.ASCII)
_INTEGER = pattern(r"([+-]?)(\d*)(\.\d*)?", re.ASCII)
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_NAMED_DOUBLES = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}
_CERTAIN_DIGITS = 15
"""The first digits of a double that are the same in Python and in every Java."""


def _integer(literal: Any, bits: int) -> Any:
    match literal:
        case bool():
            return int(literal)
        case int() | Decimal():
            return _wrapped(literal, int(literal), bits)
        case float() if math.isfinite(literal):
            return _wrapped(literal, _saturated(int(literal), max(bits, 32)), bits)
        case str():
            return _text_to_integer(literal.strip(TRIMMED), bits)
    raise NotHere(repr(literal))


def _wrapped(literal: float | Decimal, value: int, bits: int) -> int | Lossy:
    """The lowest bits, as Java's casts take them."""
    half = 1 << bits - 1
    kept = (value + half) % (2 * half) - half
    if kept == literal:
        return kept
    return Lossy(kept, refused=kept != int(literal))


def _saturated(value: int, bits: int) -> int:
    half = 1 << bits - 1
    return max(-half, min(value, half - 1))


def _text_to_integer(text: str, bits: int) -> int | Lossy:
    match = _INTEGER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return NULL
    value = int(match[1] + (match[2] or "0"))
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        return NULL
    return value if match[3] is None else Lossy(value)


def _decimal(literal: Any, hive_type: DecimalType) -> Any:
    match literal:
        case int() | Decimal():  # TRUE is 1
            value = Decimal(literal)
        case float() if math.isfinite(literal):
            value = Decimal(repr(literal))
            if -hive_type.scale <= value.adjusted() < hive_type.precision - hive_type.scale:
                _check_certain(value, hive_type.scale)
        case str():
            return _text_to_decimal(literal, hive_type)
        case _:
            raise NotHere(repr(literal))
    return _or_null(rescaled(value, hive_type))


def _check_certain(value: Decimal, scale: int) -> None:
    if value.adjusted() + scale >= _CERTAIN_DIGITS:
        raise NotHere(str(value))


def _text_to_decimal(literal: str, hive_type: DecimalType) -> Any:
    text = literal.strip(_JAVA_TRIMMED)
    if not text.isascii():
        raise NotHere(text)  # Java reads the digits of every script
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return NULL
    if len(text) > EXACT.prec - MAX_DECIMAL_PRECISION or len(match[1] or "") > 3:
        raise NotHere(text)
    return _or_null(rescaled(Decimal(text), hive_type))


def _or_null(value: Decimal | None) -> Decimal | Lossy:
    return NULL if value is None else value


def _double(literal: Any) -> Any:
    match literal:
        case bool() | int() | float() | Decimal():
            return float(literal)
        case str():
            return _text_to_double(literal.strip(_JAVA_TRIMMED))
    raise NotHere(repr(literal))


def _text_to_double(text: str) -> float | Lossy:
    if match := _DOUBLE.fullmatch(text):
        value = float(match[1])
        return value if math.isfinite(value) else Lossy(value, refused=False)
    if text.lower().lstrip("+-").startswith("0x") or text[1:] == "NaN":
        raise NotHere(text)  # Java reads hexadecimal numbers, and a NaN with a sign
    named = _NAMED_DOUBLES.get(text.lower())
    return NULL if named is None else named


_BEYOND_FLOAT = 2.0**128
"""This number and those beyond are infinite as 32-bit floats."""


def _float(literal: Any) -> Any:
    """A value a 32-bit float holds exactly, or one of few digits.

    There rounding twice equals rounding once.
    """
    value = _double(literal)
    if isinstance(value, Lossy) or not math.isfinite(value):
        return value
    if abs(value) >= _BEYOND_FLOAT:
        return Lossy(math.copysign(math.inf, value), refused=False)
    digits = len(Decimal(repr(value)).as_tuple().digits)
    few = digits <= 7 and (not isinstance(literal, str) or len(literal) <= _CERTAIN_DIGITS)
    if not few or not (value == 0 or 1e-30 < abs(value) < 1e30):
        raise NotHere(repr(literal))
    return value


def _boolean(literal: Any) -> Any:
    match literal:
        case bool():
            return literal
        case int() | float() | Decimal():
            return literal != 0
        case str():
            word = literal.strip(TRIMMED).lower()
            return True if word in _TRUE else False if word in _FALSE else NULL
    raise NotHere(repr(literal))


_HIVES_FORMS = {"boolean": pattern("true|false", re.IGNORECASE), "date": DATE}
_STORES: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "boolean": _boolean,
    "double": _double,
    "float": _float,
    "date": to_date,
    "timestamp": to_timestamp,
    "binary": _binary,
}


def typed(text: str, hive_type: HiveType) -> Any:
    """A partition's value as something that compares as its type does; None for NULL and for text
    of another type.
    """
    if text == DEFAULT_PARTITION:
        return None
    try:
        return value_of(
            "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'", hive_type, in_rows=False
        )
    except NotHere:
        return None
