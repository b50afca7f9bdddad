"""The arithmetic of a condition: whole and decimal numbers, exactly, and a division as Spark has
it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from acidsql.expressions.compiled import UNCERTAIN, Compiled, cast, strict
from acidsql.expressions.decimals import EXACT
from acidsql.expressions.values import (
    BIGINT,
    DOUBLE,
    UNKNOWN,
    as_decimal,
    bits_of,
    decimal_type,
    wider_number,
)


def _remainder(dividend: int, divisor: int) -> int:
    """With the sign of the dividend."""
    rest = abs(dividend) % abs(divisor)
    return rest if dividend >= 0 else -rest


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded towards zero."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "MOD": "%", "DIV": "DIV"}
_INTEGER_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "%": _remainder,
    "DIV": _quotient,
}
_DECIMAL_ARITHMETIC: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "%": EXACT.remainder,
}


def arithmetic(sign: str, left: Compiled, right: Compiled, *, ansi: bool) -> Compiled:
    """Whole and decimal numbers, exactly; UNKNOWN where Spark's result would not
    fit its type.
    """
    if left.type is None or right.type is None or not bits_of(wider_number(left.type, right.type)):
        return _decimal_arithmetic(sign, left, right, ansi)
    failed = UNKNOWN if ansi else None
    if sign == "/":
        return strict(
            DOUBLE,
            lambda a, b: a / b if b else failed,
            cast(left, DOUBLE, ansi=ansi),
            cast(right, DOUBLE, ansi=ansi),
        )
    hive_type = BIGINT if sign == "DIV" else wider_number(left.type, right.type)
    half = 1 << bits_of(hive_type) - 1
    compute = _INTEGER_ARITHMETIC[sign]

    def run(a: int, b: int) -> Any:
        if b == 0 and sign in ("DIV", "%"):
            return failed
        result = compute(a, b)
        return result if -half <= result < half else UNKNOWN

    return strict(hive_type, run, left, right)


def _decimal_arithmetic(sign: str, left: Compiled, right: Compiled, ansi: bool) -> Compiled:
    one, two = (None if side.type is None else as_decimal(side.type) for side in (left, right))
    if one is None or two is None or sign not in _DECIMAL_ARITHMETIC:
        return UNCERTAIN
    wholes, scales = (
        (one.precision - one.scale, two.precision - two.scale),
        (one.scale, two.scale),
    )
    match sign:
        case "*":
            hive_type = decimal_type(sum(wholes) + 1, sum(scales))
        case "%":
            hive_type = decimal_type(min(wholes), max(scales))
        case _:
            hive_type = decimal_type(max(wholes) + 1, max(scales))
    compute = _DECIMAL_ARITHMETIC[sign]
    failed = UNKNOWN if ansi else None

    def run(a: Decimal, b: Decimal) -> Any:
        return failed if sign == "%" and b == 0 else compute(a, b)

    return strict(hive_type, run, cast(left, one, ansi=ansi), cast(right, two, ansi=ansi))
