"""Conditions over partition columns as Python functions of a row of values, with the answers Spark would give or ``UNKNOWN``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import Any

from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.planner.conditions import VOID, Call, Cast, ColumnRef, Condition, Constant, Unread
from acidsql.planner.pruning_functions import CASTS, FUNCTIONS, PARSE_DAY
from acidsql.planner.pruning_values import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    EXACT,
    INT,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    as_decimal,
    bits_of,
    caster,
    common_type,
    common_type_of_list,
    comparer,
    decimal_type,
    wider_number,
)

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """``run`` gives the value: None is NULL. ``type``: None where only Spark knows it; then there is no value but NULL and UNKNOWN."""

    type: HiveType | None
    run: Callable[[Row], Any]
    constant: bool = False


_UNKNOWN = Compiled(None, lambda row: UNKNOWN)


def compile_condition(tree: Condition, columns: Mapping[str, tuple[int, HiveType]], *, ansi: bool) -> Callable[[Row], Any]:
    """True, False, None or UNKNOWN of a row. ``columns``: the place in the row and the type of each."""
    return _Compiler(columns, ansi).truth(tree).run


def _constant(hive_type: HiveType | None, value: Any) -> Compiled:
    return Compiled(hive_type, lambda row: value, constant=True)


def _strict(hive_type: HiveType | None, function: Callable[..., Any] | None, *arguments: Compiled) -> Compiled:
    """A function that is NULL as soon as an argument is."""
    if hive_type is None or function is None:
        return _UNKNOWN
    if all(a.constant for a in arguments):
        return _constant(hive_type, _applied(function, [a.run(()) for a in arguments]))
    first = arguments[0].run
    if len(arguments) == 1:
        return Compiled(hive_type, lambda row: value if (value := first(row)) is None or value is UNKNOWN else function(value))
    if len(arguments) == 2 and arguments[1].constant and (second := arguments[1].run(())) is not None and second is not UNKNOWN:
        return Compiled(hive_type, lambda row: value if (value := first(row)) is None or value is UNKNOWN else function(value, second))
    runs = [a.run for a in arguments]
    return Compiled(hive_type, lambda row: _applied(function, [run(row) for run in runs]))


def _applied(function: Callable[..., Any], values: list[Any]) -> Any:
    return None if None in values else UNKNOWN if UNKNOWN in values else function(*values)


class _Compiler:
    def __init__(self, columns: Mapping[str, tuple[int, HiveType]], ansi: bool) -> None:
        self.columns = columns
        self.ansi = ansi

    def value(self, node: Condition) -> Compiled:
        match node:
            case Constant(value, hive_type):
                return _constant(hive_type, value)
            case ColumnRef(parts):
                place, hive_type = self.columns[parts[-1]]
                return Compiled(_computed(hive_type), itemgetter(place))
            case Cast(argument, hive_type):
                return self.cast(self.value(argument), hive_type)
            case Call(name, arguments):
                return self.call(name, arguments)
            case Unread():
                return _UNKNOWN

    def cast(self, given: Compiled, target: HiveType | None) -> Compiled:
        return given if given.type == target else _strict(target, caster(given.type, target, ansi=self.ansi), given)

    def truth(self, node: Condition) -> Compiled:
        found = self.value(node)
        return found if found.type in (BOOLEAN, VOID) else _UNKNOWN

    def call(self, name: str, arguments: Sequence[Condition]) -> Compiled:
        match name, arguments:
            case "AND" | "OR", _:
                return self.chain([self.truth(a).run for a in arguments], name == "OR")
            case "NOT", [argument]:
                return _strict(BOOLEAN, lambda value: not value, self.truth(argument))
            case "=" | "<>" | "<" | "<=" | ">" | ">=", [left, right]:
                return self.comparison(name, self.value(left), self.value(right))
            case "<=>" | "EQUAL_NULL", [left, right]:
                return self.equal_or_both_null(self.value(left), self.value(right))
            case "IS NULL" | "ISNULL", [argument]:
                return self.is_constant(argument, None)
            case "ISNOTNULL", [argument]:
                return _strict(BOOLEAN, lambda value: not value, self.is_constant(argument, None))
            case "IS TRUE" | "IS FALSE", [argument] if self.truth(argument).type is not None:
                return self.is_constant(argument, name == "IS TRUE")
            case "BETWEEN", [value, low, high]:
                bounds = (self.comparison(sign, self.value(value), self.value(bound)) for sign, bound in ((">=", low), ("<=", high)))
                return self.chain([bound.run for bound in bounds], False)
            case "IN", [value, *items]:
                return self.contained(self.value(value), [self.value(item) for item in items])
            case "LIKE" | "RLIKE", [value, pattern]:
                return self.matching(name, self.value(value), self.value(pattern))
            case "CASE", _:
                return self.case(arguments)
            case "IF", [condition, yes, no]:
                return self.case((condition, yes, no))
            case "NVL2", [value, yes, no]:
                return self.case((Call("ISNOTNULL", (value,), value.span), yes, no))
            case "NULLIF", [value, other]:
                return self.case((Call("=", (value, other), value.span), Constant(None, VOID, value.span), value))
            case "COALESCE" | "NVL" | "IFNULL", [_, *_]:
                return self.first_value([self.value(a) for a in arguments])
        return self.function(name, [self.value(a) for a in arguments])

    # ---- truth

    def chain(self, runs: list[Callable[[Row], Any]], decisive: bool) -> Compiled:
        """OR if one True decides, AND if one False does."""

        def run(row: Row) -> Any:
            found: Any = not decisive
            for one in runs:
                value = one(row)
                if value is decisive:
                    return decisive
                if value is UNKNOWN or (value is None and found is not UNKNOWN):
                    found = value
            return found

        return Compiled(BOOLEAN, run)

    def is_constant(self, argument: Condition, constant: bool | None) -> Compiled:
        run = self.value(argument).run
        return Compiled(BOOLEAN, lambda row: UNKNOWN if (value := run(row)) is UNKNOWN else value is constant)

    def comparison(self, sign: str, left: Compiled, right: Compiled) -> Compiled:
        if _is_beyond_integers(left) or _is_beyond_integers(right):
            return _UNKNOWN  # Spark may answer without a look at the other side, even if that is NULL
        hive_type = common_type(left.type, right.type, ansi=self.ansi)
        compare = None if hive_type is None else comparer(sign, hive_type)
        return _strict(BOOLEAN, compare, self.cast(left, hive_type), self.cast(right, hive_type))

    def equal_or_both_null(self, left: Compiled, right: Compiled) -> Compiled:
        hive_type = common_type(left.type, right.type, ansi=self.ansi)
        compare = None if hive_type is None else comparer("=", hive_type)
        if compare is None:
            return _UNKNOWN
        one, two = self.cast(left, hive_type).run, self.cast(right, hive_type).run

        def run(row: Row) -> Any:
            values = one(row), two(row)
            return UNKNOWN if UNKNOWN in values else values == (None, None) if None in values else compare(*values)

        return Compiled(BOOLEAN, run)

    def contained(self, value: Compiled, items: list[Compiled]) -> Compiled:
        hive_type = common_type_of_list([value.type, *(item.type for item in items)], ansi=self.ansi)
        equal = None if hive_type is None else comparer("=", hive_type)
        if equal is None:
            return _UNKNOWN
        given, *runs = (self.cast(one, hive_type).run for one in (value, *items))
        if all(item.constant for item in items) and hive_type not in (DOUBLE, TIMESTAMP):
            constants = {run(()) for run in runs}
            if UNKNOWN not in constants:
                absent = None if None in constants else False
                return _strict(BOOLEAN, lambda one: True if one in constants else absent, Compiled(hive_type, given))

        def run(row: Row) -> Any:
            wanted = given(row)
            if wanted is None or wanted is UNKNOWN:
                return wanted
            found = [_applied(equal, [wanted, one(row)]) for one in runs]
            return True if True in found else UNKNOWN if UNKNOWN in found else None if None in found else False

        return Compiled(BOOLEAN, run)

    def matching(self, name: str, value: Compiled, pattern: Compiled) -> Compiled:
        text = pattern.run(()) if pattern.constant and pattern.type == STRING else None
        test = None if text is None else _like(text) if name == "LIKE" else _regular(text)
        return _strict(BOOLEAN, test, self.passed(value, STRING))

    # ---- values by condition

    def case(self, arguments: Sequence[Condition]) -> Compiled:
        *branches, otherwise = arguments
        conditions = [self.truth(branch).run for branch in branches[::2]]
        values = [self.value(value) for value in (*branches[1::2], otherwise)]
        hive_type = _unified([value.type for value in values])
        *runs, last = (self.cast(value, hive_type).run for value in values)

        def run(row: Row) -> Any:
            for condition, value in zip(conditions, runs, strict=True):
                holds = condition(row)
                if holds is UNKNOWN:
                    return UNKNOWN
                if holds:
                    return value(row)
            return last(row)

        return _UNKNOWN if hive_type is None else Compiled(hive_type, run)

    def first_value(self, values: list[Compiled]) -> Compiled:
        hive_type = _unified([value.type for value in values])
        runs = [self.cast(value, hive_type).run for value in values]
        run = lambda row: next((value for one in runs if (value := one(row)) is not None), None)  # noqa: E731
        return _UNKNOWN if hive_type is None else Compiled(hive_type, run)

    # ---- functions

    def function(self, name: str, arguments: list[Compiled]) -> Compiled:
        if name in _ARITHMETIC and len(arguments) == 2:
            return self.arithmetic(_ARITHMETIC[name], *arguments)
        if name == "||":
            name = "CONCAT"
        if name == "NEGATIVE" and len(arguments) == 1:
            return self.arithmetic("-", _constant(_computed(arguments[0].type), 0), arguments[0])
        if len(arguments) == 1 and (name in CASTS or name == "TO_DATE"):
            return self.cast(arguments[0], CASTS.get(name, DATE))
        function = PARSE_DAY if name == "TO_DATE" else FUNCTIONS.get(name)
        if function is None or not function.accepts(len(arguments)):
            return _UNKNOWN
        given = [self.passed(argument, function.parameter(i)) for i, argument in enumerate(arguments)]
        return _UNKNOWN if any(g.type is None for g in given) or not given else _strict(function.result, function.run, *given)

    def passed(self, argument: Compiled, parameter: HiveType) -> Compiled:
        """An argument as a function gets it: what is no text becomes text, and text a day."""
        if argument.type in (parameter, VOID) or (parameter == INT and 0 < bits_of(argument.type) <= 32):
            return argument
        converted = parameter == STRING or (parameter in (DATE, TIMESTAMP) and argument.type in (STRING, DATE))
        return self.cast(argument, parameter) if converted and not self.ansi else _UNKNOWN

    def arithmetic(self, sign: str, left: Compiled, right: Compiled) -> Compiled:
        """Whole and decimal numbers, exactly; UNKNOWN where Spark's result would not fit its type."""
        if left.type is None or right.type is None or not bits_of(wider_number(left.type, right.type)):
            return self.decimal_arithmetic(sign, left, right)
        if sign == "/":
            return _strict(DOUBLE, lambda a, b: a / b if b else self.by_zero(), self.cast(left, DOUBLE), self.cast(right, DOUBLE))
        hive_type = BIGINT if sign == "DIV" else wider_number(left.type, right.type)
        half = 1 << bits_of(hive_type) - 1
        compute = _INTEGER_ARITHMETIC[sign]

        def run(a: int, b: int) -> Any:
            if b == 0 and sign in ("DIV", "%"):
                return self.by_zero()
            result = compute(a, b)
            return result if -half <= result < half else UNKNOWN

        return _strict(hive_type, run, left, right)

    def by_zero(self) -> Any:
        return UNKNOWN if self.ansi else None

    def decimal_arithmetic(self, sign: str, left: Compiled, right: Compiled) -> Compiled:
        one, two = (None if side.type is None else as_decimal(side.type) for side in (left, right))
        if one is None or two is None or sign not in _DECIMAL_ARITHMETIC:
            return _UNKNOWN
        wholes, scales = (one.precision - one.scale, two.precision - two.scale), (one.scale, two.scale)
        match sign:
            case "*":
                hive_type = decimal_type(sum(wholes) + 1, sum(scales))
            case "%":
                hive_type = decimal_type(min(wholes), max(scales))
            case _:
                hive_type = decimal_type(max(wholes) + 1, max(scales))
        compute = _DECIMAL_ARITHMETIC[sign]

        def run(a: Decimal, b: Decimal) -> Any:
            return self.by_zero() if sign == "%" and b == 0 else compute(a, b)

        return _strict(hive_type, run, self.cast(left, one), self.cast(right, two))


def _is_beyond_integers(side: Compiled) -> bool:
    value = side.run(()) if side.constant else None
    return isinstance(value, Decimal) and abs(value) >= (1 << 63) - 1


def _computed(hive_type: HiveType | None) -> HiveType | None:
    """The type a column is computed with; None for types of which nothing is certain."""
    match hive_type:
        case CharType() | VarcharType():
            return STRING
        case PrimitiveType("float" | "binary"):
            return None
        case PrimitiveType() | DecimalType():
            return hive_type
    return None


def _unified(types: Sequence[HiveType | None]) -> HiveType | None:
    """The type of a value that is one of several."""
    named = [t for t in types if t != VOID]
    found: HiveType | None = named[0] if named else VOID
    for hive_type in named[1:]:
        found = None if found is None or hive_type is None else found if found == hive_type else wider_number(found, hive_type)
    return found


def _remainder(dividend: int, divisor: int) -> int:
    """With the sign of the dividend."""
    rest = abs(dividend) % abs(divisor)
    return rest if dividend >= 0 else -rest


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded towards zero."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


_ARITHMETIC = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "MOD": "%", "DIV": "DIV"}
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

# ---- patterns


def _like(pattern: str) -> Callable[[str], Any] | None:
    if "\\" in pattern:
        return None
    expression = "".join({"%": ".*", "_": "."}.get(c) or re.escape(c) for c in pattern)
    matches = re.compile(expression, re.DOTALL).fullmatch
    return lambda text: matches(text) is not None


_PLAIN_EXPRESSION = re.compile(r"(?:[A-Za-z0-9_ /=:,^$.|()\[\]*+?-]|\{\d{1,3}\})*")
_DIFFERENT = re.compile(r"\(\?|\[[^\]]*\[|\[\^?\]")
"""Python means something else by it than Java, or may do so."""


def _regular(pattern: str) -> Callable[[str], Any] | None:
    if not _PLAIN_EXPRESSION.fullmatch(pattern) or _DIFFERENT.search(pattern):
        return None
    try:
        finds = re.compile(pattern, re.ASCII).search
    except (re.error, OverflowError):
        return None
    return lambda text: finds(text) is not None if text.isascii() and text.isprintable() else UNKNOWN
