"""Values of partitions and what Spark makes of them: casts and comparisons, as far as they are
certain.

``UNKNOWN`` stands for a value only Spark can tell: whatever is made of it is ``UNKNOWN`` too. NULL
is None.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
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
from acidsql.expressions.decimals import rescaled
from acidsql.expressions.not_here import Lossy, NotHere
from acidsql.expressions.stores import store
from acidsql.expressions.tree import VOID
from acidsql.lazy import pattern
from acidsql.spark_release import whole_decimals_take_text


class _Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN = _Unknown.UNKNOWN
Conversion = Callable[[Any], Any]
"""Makes another value of one that is neither NULL nor UNKNOWN."""

BOOLEAN, STRING, DATE, TIMESTAMP = (
    PrimitiveType(name) for name in ("boolean", "string", "date", "timestamp")
)
INT, BIGINT, DOUBLE = (PrimitiveType(name) for name in ("int", "bigint", "double"))
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def bits_of(hive_type: HiveType | None) -> int:
    """0 for what is no integer type."""
    return _BITS.get(hive_type.name, 0) if isinstance(hive_type, PrimitiveType) else 0


# ---- the text of a partition

_INTEGER = pattern(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL = pattern(r"[+-]?\d{1,38}(?:\.\d{0,38})?", re.ASCII)
_FLOAT = pattern(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_DAY = pattern(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = pattern(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?", re.ASCII)


def partition_value(text: str, hive_type: HiveType) -> Any:
    """A partition's value: None for NULL, UNKNOWN for text that is not plainly of the type."""
    if text == DEFAULT_PARTITION:
        return None
    match hive_type:
        case PrimitiveType("string"):
            return text or UNKNOWN
        case VarcharType(length) | CharType(length):
            return text if text and len(text) <= length and not text.endswith(" ") else UNKNOWN
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint"):
            return _fitting(int(text), hive_type) if _INTEGER.fullmatch(text) else UNKNOWN
        case PrimitiveType("date"):
            return _day(text) if _DAY.fullmatch(text) else UNKNOWN
        case PrimitiveType("timestamp"):
            return _moment(text)
        case PrimitiveType("boolean"):
            return {"true": True, "false": False}.get(text, UNKNOWN)
        case PrimitiveType("double"):
            return float(text) if _FLOAT.fullmatch(text) else UNKNOWN
        case DecimalType(_, scale) if _DECIMAL.fullmatch(text):
            value = rescaled(Decimal(text), hive_type)
            return value if value is not None and value == Decimal(text) and scale >= 0 else UNKNOWN
    return UNKNOWN


def _fitting(value: int, hive_type: HiveType) -> Any:
    half = 1 << bits_of(hive_type) - 1
    return value if -half <= value < half else UNKNOWN


def _day(text: str) -> Any:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return UNKNOWN


def _moment(text: str) -> Any:
    """The wall clock of a timestamp's text."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return UNKNOWN
    try:
        clock = datetime.time.fromisoformat(match[2] or "00:00:00").replace(
            microsecond=int((match[3] or "0").ljust(6, "0"))
        )
        return datetime.datetime.combine(datetime.date.fromisoformat(match[1]), clock)
    except ValueError:
        return UNKNOWN


# ---- casts


def caster(  # noqa: C901  (one arm for each pair of types)
    source: HiveType | None, target: HiveType | None, *, ansi: bool
) -> Conversion | None:
    """How Spark casts a value of one type to another; None where that is not known here."""
    if source is None or target is None:
        return None
    if source in (target, VOID):
        return _same
    # with ANSI semantics it is an error, which Spark shall raise
    failed = UNKNOWN if ansi else None
    match source, target:
        case PrimitiveType("string"), _:
            return _from_text(target, failed)
        case PrimitiveType("boolean"), PrimitiveType("string"):
            return lambda value: "true" if value else "false"
        case PrimitiveType("boolean"), _ if bits_of(target):
            return int
        case PrimitiveType("date"), PrimitiveType("string"):
            return datetime.date.isoformat
        case PrimitiveType("date"), PrimitiveType("timestamp"):
            return lambda value: datetime.datetime.combine(value, datetime.time())
        case DecimalType(), _:
            return _from_decimal(target, failed)
        case PrimitiveType("double"), _ if bits_of(target):
            return lambda value: _fitting(int(value), target) if math.isfinite(value) else UNKNOWN
        case PrimitiveType("double"), PrimitiveType("boolean"):
            return bool
        case PrimitiveType("double"), DecimalType():
            return _from_double(target, failed)
    return _from_integer(target, failed) if bits_of(source) else None


def _same(value: Any) -> Any:
    return value


def _from_integer(target: HiveType, failed: Any) -> Conversion | None:
    match target:
        case PrimitiveType("string"):
            return str
        case PrimitiveType("double"):
            return float
        case PrimitiveType("boolean"):
            return bool
        case DecimalType():
            return lambda value: _or_failed(rescaled(Decimal(value), target), failed)
    half = (1 << bits_of(target)) >> 1
    return (
        (
            lambda value: (
                value
                if -half <= value < half
                else (value + half) % (2 * half) - half
                if failed is None
                else failed
            )
        )
        if half
        else None
    )


def _from_decimal(target: HiveType, failed: Any) -> Conversion | None:
    match target:
        case PrimitiveType("string"):
            return lambda value: f"{value:f}" if "E" not in str(value) else UNKNOWN
        case PrimitiveType("double"):
            return float
        case PrimitiveType("boolean"):
            return bool
        case DecimalType():
            return lambda value: _or_failed(rescaled(value, target), failed)
    return (lambda value: _fitting(int(value), target)) if bits_of(target) else None


def _or_failed(value: Any, failed: Any) -> Any:
    return failed if value is None else value


def _from_double(target: DecimalType, failed: Any) -> Conversion:
    def convert(value: float) -> Any:
        try:
            kept = store(value, target)
        except NotHere:
            return UNKNOWN
        return failed if isinstance(kept, Lossy) else kept

    return convert


def _from_text(target: HiveType, failed: Any) -> Conversion | None:
    if (
        not bits_of(target)
        and target not in (DOUBLE, BOOLEAN, DATE, TIMESTAMP)
        and not isinstance(target, DecimalType)
    ):
        return None

    def convert(text: str) -> Any:
        try:
            value = store(text, target)
        except NotHere:
            return UNKNOWN
        if isinstance(value, Lossy):
            return failed if value.refused and failed is not None else value.value
        return value

    return convert


# ---- zones

_UTC = frozenset(("UTC", "ETC/UTC", "Z", "GMT", "ETC/GMT", "UCT", "ZULU", "+00:00", "UTC+0"))


def is_utc(zone: str) -> bool:
    """Whether clocks of a zone, as Spark names it, always show UTC."""
    return zone.upper() in _UTC


# ---- Spark's rules of types


FLOAT = PrimitiveType("float")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_LEAST_SCALE = 6
"""What a result of too many digits keeps of its scale."""


def common_type(left: HiveType | None, right: HiveType | None, *, ansi: bool) -> HiveType | None:
    """What both sides of a comparison are cast to; None where that is not known here."""
    if left is None or right is None or left == right or VOID in (left, right):
        return left if left != VOID else right
    if STRING in (left, right):
        return _beside_text(right if left == STRING else left, ansi=ansi)
    return wider_type(left, right, ansi=ansi)


def _beside_text(other: HiveType, *, ansi: bool) -> HiveType | None:
    """What text and a value of another type are cast to."""
    if other in (DATE, TIMESTAMP, BOOLEAN, DOUBLE):
        return other
    if isinstance(other, DecimalType):
        whole = other.scale == 0 and not ansi and whole_decimals_take_text()
        return other if whole else DOUBLE
    if ansi and other == FLOAT:
        return DOUBLE
    if bits_of(other):
        return BIGINT if ansi else other
    return None


def number_beside_text(left: HiveType, right: HiveType, *, ansi: bool) -> HiveType | None:
    """What the operands of ``+ - * / %`` are cast to where one is text at least."""
    others = [one for one in (left, right) if one != STRING]
    if not all(map(_is_number, others)) or (ansi and not others):
        return None
    return BIGINT if ansi and bits_of(others[0]) else DOUBLE


def wider_type(left: HiveType, right: HiveType, *, ansi: bool) -> HiveType | None:
    """The type of a value that is of one or of the other, unless one is text."""
    if left == right:
        return left
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    return wider_number(left, right, ansi=ansi)


def wider_number(left: HiveType, right: HiveType, *, ansi: bool) -> HiveType | None:
    """A type that holds the numbers of both exactly, or DOUBLE or FLOAT if one is; None if there is
    none or one is no number.
    """
    if not _is_number(left) or not _is_number(right):
        return None
    if left == right:
        return left
    if DOUBLE in (left, right):
        return DOUBLE
    if FLOAT in (left, right):
        other = right if left == FLOAT else left
        return DOUBLE if ansi or isinstance(other, DecimalType) else FLOAT
    if bits_of(left) and bits_of(right):
        return left if bits_of(left) >= bits_of(right) else right
    one, two = as_decimal(left), as_decimal(right)
    return (
        decimal_type(
            max(one.precision - one.scale, two.precision - two.scale), max(one.scale, two.scale)
        )
        if one and two
        else None
    )


def _is_exact(hive_type: HiveType) -> bool:
    return bool(bits_of(hive_type)) or isinstance(hive_type, DecimalType)


def _is_number(hive_type: HiveType) -> bool:
    return hive_type in (DOUBLE, FLOAT) or _is_exact(hive_type)


def as_decimal(hive_type: HiveType) -> DecimalType | None:
    """The DECIMAL that holds every number of a type exactly."""
    if isinstance(hive_type, DecimalType):
        return hive_type
    return DecimalType(_DIGITS[str(hive_type)], 0) if bits_of(hive_type) else None


def operand_type(own: HiveType, written: Any, other: HiveType) -> HiveType:
    """The type of an operand beside another of type ``other``. A whole number that is ``written``
    out (else None) is a DECIMAL of its digits beside a DECIMAL, unless it is a TINYINT.
    """
    if written is not None and isinstance(other, DecimalType) and bits_of(own) > 8:
        return DecimalType(len(str(abs(written))), 0)
    return own


def decimal_type(whole: int, scale: int) -> DecimalType | None:
    """None where Spark would have to give up digits."""
    return (
        DecimalType(max(whole + scale, 1), scale)
        if whole + scale <= MAX_DECIMAL_PRECISION
        else None
    )


def decimal_result(sign: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of ``left sign right``, one of ``+ - * / %``; digits behind the point are given up
    where there would be more than 38, as far as the sixth.
    """
    wholes = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    match sign:
        case "*":
            scale = left.scale + right.scale
            precision = left.precision + right.precision + 1
        case "/":
            scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
            precision = wholes[0] + right.scale + scale
        case "%":
            precision = min(wholes) + scale
        case _:
            precision = max(wholes) + scale + 1
    return adjusted(precision, scale)


def adjusted(precision: int, scale: int) -> DecimalType:
    """The DECIMAL of a result, whose digits may be too many."""
    if precision <= MAX_DECIMAL_PRECISION:
        return DecimalType(max(precision, 1), scale)
    least = MAX_DECIMAL_PRECISION - (precision - scale)
    return DecimalType(MAX_DECIMAL_PRECISION, max(least, min(scale, _LEAST_SCALE)))


def common_type_of_list(types: Sequence[HiveType | None], *, ansi: bool) -> HiveType | None:
    """What the operands of IN are cast to: all to STRING as soon as one is, with ANSI semantics
    none.
    """
    named = [t for t in types if t != VOID]
    others = [t for t in named if t != STRING]
    if not others or len(others) == len(named):
        return unified_type(types, ansi=ansi)
    if ansi:
        beside = {None if t is None else _beside_text(t, ansi=True) for t in others}
        return beside.pop() if len(beside) == 1 else None
    convertible = all(t is not None and (t == DATE or _is_exact(t)) for t in others)
    return STRING if convertible else None


def unified_type(types: Sequence[HiveType | None], *, ansi: bool) -> HiveType | None:
    """The type of a value that is one of several."""
    named = [t for t in types if t != VOID]
    unified: HiveType | None = named[0] if named else VOID
    for hive_type in named[1:]:
        if unified is None or hive_type is None:
            return None
        unified = wider_type(unified, hive_type, ansi=ansi)
    return unified
