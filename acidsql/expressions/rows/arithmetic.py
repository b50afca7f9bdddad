"""The arithmetic of a condition: whole and decimal numbers, exactly, and a division as Spark has
it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from acidsql.catalog.types import MAX_DECIMAL_PRECISION, DecimalType
from acidsql.expressions.coercion import as_decimal, decimal_result, operand_type, wider_number
from acidsql.expressions.decimals import EXACT, rescaled
from acidsql.expressions.rows.compiled import UNCERTAIN, Compiled, cast, strict
from acidsql.expressions.values import BIGINT, DOUBLE, UNKNOWN, bits_of


def _remainder(dividend: int, divisor: int) -> int:
    """With the sign of the dividend."""
    rest = abs(dividend) % abs(divisor)
    return rest if dividend >= 0 else -rest


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded towards zero."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


_CUT_OFF = Context(prec=EXACT.prec, rounding=ROUND_DOWN)
"""Digits that are cut off, not rounded, leave the next rounding right."""
OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "MOD": "%", "DIV": "DIV"}
_INTEGER_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "%": _remainder,
    "DIV": _quotient,
}
DECIMAL_ARITHMETIC: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": _CUT_OFF.divide,
    "%": EXACT.remainder,
}


def arithmetic(sign: str, left: Compiled, right: Compiled, *, ansi: bool) -> Compiled:
    """Whole and decimal numbers, exactly; UNKNOWN where Spark's result would not
    fit its type.
    """
    if left.type is None or right.type is None:
        return UNCERTAIN
    hive_type = wider_number(left.type, right.type, ansi=ansi)
    if not bits_of(hive_type):
        return _decimal_arithmetic(sign, left, right, ansi)
    failed = UNKNOWN if ansi else None
    if sign == "/":
        return strict(
            DOUBLE,
            lambda a, b: a / b if b else failed,
            cast(left, DOUBLE, ansi=ansi),
            cast(right, DOUBLE, ansi=ansi),
        )
    hive_type = BIGINT if sign == "DIV" else hive_type
    half = 1 << bits_of(hive_type) - 1
    compute = _INTEGER_ARITHMETIC[sign]

    def run(a: int, b: int) -> Any:
        if b == 0 and sign in ("DIV", "%"):
            return failed
        result = compute(a, b)
        return result if -half <= result < half else UNKNOWN

    return strict(hive_type, run, left, right)


def _decimal_arithmetic(sign: str, left: Compiled, right: Compiled, ansi: bool) -> Compiled:
    if left.type is None or right.type is None or sign not in DECIMAL_ARITHMETIC:
        return UNCERTAIN
    one = as_decimal(operand_type(left.type, left.written, right.type))
    two = as_decimal(operand_type(right.type, right.written, left.type))
    if one is None or two is None:
        return UNCERTAIN
    return strict(
        decimal_result(sign, one, two),
        decimal_operation(sign, one, two, ansi=ansi),
        cast(left, one, ansi=ansi),
        cast(right, two, ansi=ansi),
    )


def decimal_operation(
    sign: str, left: DecimalType, right: DecimalType, *, ansi: bool
) -> Callable[[Decimal, Decimal], Any]:
    """One of ``+ - * / %`` of two numbers of these types, rounded half up to the type of the
    result; what does not fit it is NULL, and UNKNOWN with ANSI semantics.
    """
    hive_type, compute = decimal_result(sign, left, right), DECIMAL_ARITHMETIC[sign]
    failed = UNKNOWN if ansi else None

    def run(a: Decimal, b: Decimal) -> Any:
        if sign in ("/", "%") and not b:
            return failed
        if sign == "%" and a and a.adjusted() - b.adjusted() >= MAX_DECIMAL_PRECISION:
            return UNKNOWN  # Java's remainder fails where the quotient has too many digits
        result = rescaled(compute(a, b), hive_type)
        return failed if result is None else result

    return run
