"""Spark's rules of types: what the sides of a comparison, the branches of CASE and the operands of
a sum are cast to, and the type of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acidsql.catalog.types import MAX_DECIMAL_PRECISION, DecimalType, HiveType, PrimitiveType
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, bits_of

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
    if isinstance(other, DecimalType) or (ansi and other == FLOAT):
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
