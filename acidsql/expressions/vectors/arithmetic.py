"""Arithmetic: the types of operands and results, and by what it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Context, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import MAX_DECIMAL_PRECISION, DecimalType, HiveType
from acidsql.expressions.decimals import EXACT, rescaled, rounded_double
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    UNKNOWN,
    adjusted,
    as_decimal,
    bits_of,
    decimal_result,
    number_beside_text,
    unified_type,
    wider_type,
)
from acidsql.expressions.vectors.operators import (
    Kernels,
    Vector,
    applied,
    beside,
    check_comparable,
    converted,
)

if TYPE_CHECKING:
    from acidsql.expressions.kernels import days, decimals, numbers, rowwise
    from acidsql.expressions.vectors.compiler import Compiler
else:
    days, decimals, numbers, rowwise = map(Kernels, ("days", "decimals", "numbers", "rowwise"))

_MOST_DIGITS = 76
"""The digits that Arrow's largest decimals have."""
_MOST_BEHIND = 300
_OF_TEXTS = frozenset("+-*/%")
"""The operators beside which a text is a number."""

_OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "MOD": "%", "DIV": "DIV"}
_CUT_OFF = Context(prec=EXACT.prec, rounding=ROUND_DOWN)
"""Digits that are cut off, not rounded, leave the next rounding right."""
_DECIMAL_ARITHMETIC: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": _CUT_OFF.divide,
    "%": EXACT.remainder,
}

# The first four are ``functions.Compile``.


def binary(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """An operator of two numbers, or of a day and a number of days."""
    match name, given:
        case "+" | "-", [day, count] if day.type == DATE and 0 < bits_of(count.type) <= 32:
            kernel = days.add_days if name == "+" else days.subtract_days
            return Vector(DATE, applied(kernel, day, count))
        case _, [left, right]:
            return _binary(compiler, _OPERATORS.get(name, name), left, right)
    return None


def single(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """A function of one number, by its name."""
    return _single(compiler, name, given[0]) if len(given) == 1 else None


def rounded(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """ROUND."""
    match given:
        case [value] | [value, _]:
            return _round(compiler, value, given[1] if len(given) > 1 else None)
    return None


def greatest(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """GREATEST and LEAST."""
    if len(given) < 2:
        return None
    hive_type = unified_type([one.type for one in given], ansi=compiler.ansi)
    check_comparable(hive_type, *dict.fromkeys(one.type for one in given))
    assert hive_type is not None
    kernel = partial(numbers.greatest, ">" if name == "GREATEST" else "<")
    return Vector(hive_type, applied(kernel, *(compiler.cast(one, hive_type) for one in given)))


def _binary(compiler: Compiler, sign: str, left: Vector, right: Vector) -> Vector:
    left, right = _as_numbers(compiler, sign, left, right)
    one, two = beside(left, right.type), beside(right, left.type)
    floating = {DOUBLE, FLOAT} & {one, two}
    if not floating and (isinstance(one, DecimalType) or isinstance(two, DecimalType)):
        return _of_decimals(compiler, sign, left, right, one, two)
    hive_type = wider_type(one, two, ansi=compiler.ansi)
    kernel: Callable[..., Any]
    match sign:
        case "/":
            hive_type, kernel = DOUBLE, numbers.quotient
        case "DIV" if not floating:
            hive_type, kernel = BIGINT, numbers.whole_quotient
        case "%":
            kernel = numbers.floating_remainder if floating else numbers.remainder
        case "PMOD" | "&" | "|" | "^" if not floating:
            of_bits = partial(numbers.bits, sign)
            kernel = numbers.positive_remainder if sign == "PMOD" else of_bits
        case "+" | "-" | "*":
            kernel = partial(numbers.sums, sign)
        case _:
            raise NotHere(f"{sign} of {one} and {two}")
    assert hive_type is not None
    sides = (compiler.cast(side, hive_type) for side in (left, right))
    return Vector(hive_type, applied(partial(kernel, compiler.ansi), *sides))


def _as_numbers(
    compiler: Compiler, sign: str, left: Vector, right: Vector
) -> tuple[Vector, Vector]:
    """Operands that are numbers: NULL is one of the other's type, text a whole or floating one."""
    types = {left.type, right.type}
    if VOID in types:
        other = left.type if right.type == VOID else right.type
        if not is_number(other) or isinstance(other, DecimalType):
            raise NotHere("arithmetic with NULL")
        return compiler.cast(left, other), compiler.cast(right, other)
    if STRING in types and sign in _OF_TEXTS:
        number = number_beside_text(left.type, right.type, ansi=compiler.ansi)
        if number is not None:
            return converted(compiler, left, number), converted(compiler, right, number)
    if not all(map(is_number, types)):
        raise NotHere(f"{sign} of {left.type} and {right.type}")
    return left, right


def _of_decimals(
    compiler: Compiler, sign: str, left: Vector, right: Vector, one: HiveType, two: HiveType
) -> Vector:
    first, second = as_decimal(one), as_decimal(two)
    assert first is not None
    assert second is not None
    if sign not in ("+", "-", "*", "/", "%"):
        raise NotHere(f"{sign} of {one} and {two}")
    sides = compiler.cast(left, first), compiler.cast(right, second)
    target = decimal_result(sign, first, second)
    digits = _digits(sign, first, second, target)
    operation = decimal_operation(sign, first, second, ansi=compiler.ansi)
    kernel: Callable[..., Any]
    if sign == "/" and digits <= _MOST_DIGITS:
        kernel = partial(numbers.decimal_quotient, target, compiler.ansi, operation)
    elif digits <= MAX_DECIMAL_PRECISION:
        kernel = partial(numbers.plain_decimal_sums, sign, target)
    elif digits <= _MOST_DIGITS:
        kernel = partial(numbers.decimal_sums, sign, target, compiler.ansi)
    else:
        kernel = partial(rowwise.each, operation, target)
    return Vector(target, applied(kernel, *sides))


def _digits(sign: str, left: DecimalType, right: DecimalType, target: DecimalType) -> int:
    """What Arrow's decimals have to hold for the result to be exact."""
    wholes = left.precision - left.scale, right.precision - right.scale
    match sign:
        case "*":
            return left.precision + right.precision + 1
        case "/":
            # the dividend as it is scaled, and the quotient as Arrow has it
            scale = max(left.scale, target.scale - wholes[1])
            quotient = wholes[0] + right.scale + max(4, scale + wholes[1] + 1)
            return max(wholes[0] + scale, quotient)
        case "%":
            return _MOST_DIGITS + 1
    return max(wholes) + max(left.scale, right.scale) + 1


def is_number(hive_type: HiveType) -> bool:
    return (
        hive_type in (DOUBLE, FLOAT)
        or bool(bits_of(hive_type))
        or isinstance(hive_type, DecimalType)
    )


def _single(compiler: Compiler, name: str, value: Vector) -> Vector:
    kernel: Callable[..., Any]
    if not is_number(value.type):
        raise NotHere(f"{name} of {value.type}")
    match name:
        case "NEGATIVE" | "ABS" if isinstance(value.type, DecimalType):
            kernel = numbers.decimal_negative if name == "NEGATIVE" else numbers.decimal_absolute
            return Vector(value.type, applied(kernel, value))
        case "NEGATIVE":
            return Vector(value.type, applied(partial(numbers.negative, compiler.ansi), value))
        case "ABS":
            return Vector(value.type, applied(partial(numbers.absolute, compiler.ansi), value))
        case "SIGN" | "SIGNUM":
            return Vector(DOUBLE, applied(numbers.sign, compiler.cast(value, DOUBLE)))
    upwards = name != "FLOOR"
    if isinstance(value.type, DecimalType):
        precision, scale = value.type.precision, value.type.scale
        target = value.type if scale == 0 else adjusted(precision - scale + 1, 0)
        kernel = decimals.ceiling if upwards else decimals.floor
        return Vector(target, applied(partial(kernel, target), value))
    if value.type == BIGINT:
        return value
    kernel = numbers.ceiling if upwards else numbers.floor
    return Vector(BIGINT, applied(partial(kernel, compiler.ansi), compiler.cast(value, DOUBLE)))


def _round(compiler: Compiler, value: Vector, digits: Vector | None) -> Vector:
    behind = 0
    if digits is not None:
        if digits.literal is None or digits.type != INT:
            raise NotHere("ROUND to a number of digits that is not written out")
        behind = digits.literal.value
    if bits_of(value.type) and behind >= 0:
        return value
    if value.type == DOUBLE and abs(behind) < _MOST_BEHIND:
        kernel = partial(numbers.round_double, behind, partial(_rounded, behind))
        return Vector(DOUBLE, applied(kernel, value))
    if not isinstance(value.type, DecimalType) or abs(behind) > MAX_DECIMAL_PRECISION:
        raise NotHere(f"ROUND of {value.type}")
    precision, scale = value.type.precision, value.type.scale
    whole = precision - scale + 1
    if behind < 0:
        target = DecimalType(min(max(whole, 1 - behind), MAX_DECIMAL_PRECISION), 0)
    else:
        kept = min(scale, behind)
        target = DecimalType(min(whole + kept, MAX_DECIMAL_PRECISION), kept)
    kernel = partial(decimals.rounded, target, behind)
    return Vector(target, applied(kernel, value))


def _rounded(behind: int, value: float) -> Any:
    result = rounded_double(behind, value)
    return UNKNOWN if result is None else result


def decimal_operation(
    sign: str, left: DecimalType, right: DecimalType, *, ansi: bool
) -> Callable[[Decimal, Decimal], Any]:
    """One of ``+ - * / %`` of two numbers of these types, rounded half up to the type of the
    result; what does not fit it is NULL, and UNKNOWN with ANSI semantics.
    """
    hive_type, compute = decimal_result(sign, left, right), _DECIMAL_ARITHMETIC[sign]
    failed = UNKNOWN if ansi else None

    def run(a: Decimal, b: Decimal) -> Any:
        if sign in ("/", "%") and not b:
            return failed
        if sign == "%" and a and a.adjusted() - b.adjusted() >= MAX_DECIMAL_PRECISION:
            return UNKNOWN  # Java's remainder fails where the quotient has too many digits
        result = rescaled(compute(a, b), hive_type)
        return failed if result is None else result

    return run
