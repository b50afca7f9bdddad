"""Comparisons, logic and values by condition: to what type the sides are brought, and which of them
are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.expressions.literals import parse_literal
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    bits_of,
    caster,
    common_type,
    common_type_of_list,
    operand_type,
    unified_type,
)
from acidsql.expressions.vectors.vector import Kernels, Vector, applied
from acidsql.lazy_pattern import pattern

if TYPE_CHECKING:
    from acidsql.expressions.kernels import comparing
    from acidsql.expressions.vectors.compiler import Compiler
else:
    comparing = Kernels("comparing")

_MOST_IN_LIST = 10
"""Spark looks values up in a longer list, where -0.0 is not 0.0."""
_DAY = pattern(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)


# Each of the first ones is a ``functions.Compile``.


def connective(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    kernel = comparing.conjunction if name == "AND" else comparing.disjunction
    return Vector(BOOLEAN, applied(kernel, *(logical(compiler, one) for one in given)))


def negated(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    return Vector(BOOLEAN, applied(comparing.negation, logical(compiler, given[0])))


def compared(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    return comparison(compiler, name, *given)


def same(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """``<=>`` and EQUAL_NULL."""
    return comparison(compiler, "<=>", *given) if len(given) == 2 else None


def is_null(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    return Vector(BOOLEAN, applied(comparing.is_null, *given)) if len(given) == 1 else None


def is_not_null(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    return Vector(BOOLEAN, applied(comparing.is_not_null, *given)) if len(given) == 1 else None


def truth_test(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    """IS TRUE and IS FALSE."""
    kernel = partial(comparing.is_truth, name == "IS TRUE")
    return Vector(BOOLEAN, applied(kernel, logical(compiler, given[0])))


def between(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector:
    value, low, high = given
    bounds = comparison(compiler, ">=", value, low), comparison(compiler, "<=", value, high)
    return Vector(BOOLEAN, applied(comparing.conjunction, *bounds))


def listed(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """IN."""
    value, *items = given
    return contained(compiler, value, items) if items else None


def logical(compiler: Compiler, given: Vector) -> Vector:
    """An operand of AND, OR and NOT."""
    if given.type not in (BOOLEAN, VOID):
        raise NotHere(f"a condition of type {given.type}")
    return compiler.cast(given, BOOLEAN)


def comparison(compiler: Compiler, sign: str, left: Vector, right: Vector) -> Vector:
    left, right = _brought(compiler, left, right)
    if compiler.any_zone and left.type == TIMESTAMP:
        return Vector(BOOLEAN, applied(partial(comparing.compare_clocks, sign), left, right))
    if sign == "<=>":
        return Vector(BOOLEAN, applied(comparing.null_safe_equal, left, right))
    return Vector(BOOLEAN, applied(partial(comparing.compare, sign), left, right))


def _brought(compiler: Compiler, left: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Both sides of a comparison in its type."""
    if VOID in (left.type, right.type):
        hive_type: HiveType | None = left.type if right.type == VOID else right.type
        hive_type = BOOLEAN if hive_type == VOID else hive_type
    else:
        _check_bounds(left, right.type)
        _check_bounds(right, left.type)
        hive_type = common_type(
            beside(left, right.type), beside(right, left.type), ansi=compiler.ansi
        )
    check_comparable(hive_type, left.type, right.type)
    assert hive_type is not None
    return converted(compiler, left, hive_type), converted(compiler, right, hive_type)


def converted(compiler: Compiler, given: Vector, target: HiveType) -> Vector:
    """An operand in the type of its comparison. NotHere, also for a text that is written
    out and of which only Spark knows what number or day it is.
    """
    if given.literal is None or given.type != STRING or target == STRING:
        return compiler.cast(given, target)
    convert = caster(STRING, target, ansi=compiler.ansi)
    value = UNKNOWN if convert is None else convert(given.literal.value)
    if value is UNKNOWN or (target == TIMESTAMP and not (compiler.utc or compiler.any_zone)):
        raise NotHere(f"this text in place of a {target}")
    return compiler.constant(value, target)


def check_comparable(hive_type: HiveType | None, *given: HiveType) -> None:
    if hive_type is None:
        raise NotHere("a comparison of " + " with ".join(map(str, given)))
    if not isinstance(hive_type, PrimitiveType | DecimalType):
        raise NotHere(f"a comparison of {hive_type}")


def _check_bounds(literal: Vector, other: HiveType) -> None:
    """Beside a number beyond all BIGINTs Spark does not look at the other side, even if that is
    NULL.
    """
    value = literal.literal.value if literal.literal else None
    if isinstance(value, Decimal) and bits_of(other) and value.copy_abs() >= (1 << 63) - 1:
        raise NotHere("a number beyond all integers")


def beside(given: Vector, other: HiveType) -> HiveType:
    written = None if given.literal is None else given.literal.value
    return operand_type(given.type, written, other)


def written_day(compiler: Compiler, given: Vector, other: HiveType) -> Vector:
    """A text that is written out and plainly is a day or a moment, as such. NotHere."""
    if given.literal is None:
        raise NotHere(f"text in place of a {other}")
    text = str(given.literal.value)
    form, word = (_DAY, "DATE") if _DAY.fullmatch(text) else (_MOMENT, "TIMESTAMP")
    if not form.fullmatch(text) or (word == "TIMESTAMP" and other == DATE):
        raise NotHere(f"this text in place of a {other}")
    try:
        value = parse_literal(f"{word} '{text}'")
    except NotHere:
        raise NotHere(f"the {other} in this text") from None
    return compiler.cast(compiler.constant(value, PrimitiveType(word.lower())), other)


def contained(compiler: Compiler, value: Vector, items: Sequence[Vector]) -> Vector:
    types = [value.type, *(item.type for item in items)]
    hive_type = common_type_of_list(types, ansi=compiler.ansi)
    if hive_type == VOID:
        hive_type = BOOLEAN
    check_comparable(hive_type, *dict.fromkeys(types))
    assert hive_type is not None
    if hive_type in (DOUBLE, FLOAT) and len(items) > _MOST_IN_LIST:
        raise NotHere("a long list of floating numbers")
    given, *others = (converted(compiler, one, hive_type) for one in (value, *items))
    clocks = compiler.any_zone and hive_type == TIMESTAMP
    listed = hive_type not in (DOUBLE, FLOAT) and not clocks
    if listed and all(item.literal is not None for item in items):
        return Vector(BOOLEAN, _looked_up(given, others))
    compare = comparing.compare_clocks if clocks else comparing.compare
    equal = [Vector(BOOLEAN, applied(partial(compare, "="), given, other)) for other in others]
    return Vector(BOOLEAN, applied(comparing.disjunction, *equal))


def _looked_up(given: Vector, constants: Sequence[Vector]) -> Callable[[Any], Any]:
    def evaluate(batch: Any) -> Any:
        values = [one.evaluate(batch) for one in constants]
        return comparing.contained(values, given.evaluate(batch))

    return evaluate


# ---- values by condition
#
# Values by condition. The first four are ``functions.Compile``.


def case(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """CASE and IF."""
    if name == "CASE" and any(one.type == VOID for one in given[:-1:2]):
        raise NotHere("NULL as a condition")
    understood = len(given) >= 3 and len(given) % 2 and (name == "CASE" or len(given) == 3)
    return _case(compiler, given) if understood else None


def by_null(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """NVL2."""
    if len(given) != 3:
        return None
    known = Vector(BOOLEAN, applied(comparing.is_not_null, given[0]))
    return _case(compiler, (known, *given[1:]))


def null_if(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """NULLIF."""
    if len(given) != 2:
        return None
    value, other = given
    equal = comparison(compiler, "=", value, other)
    return _case(compiler, (equal, compiler.constant(None, VOID), value))


def first_value(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """COALESCE, and NVL and IFNULL of two."""
    if not given or (name != "COALESCE" and len(given) != 2):
        return None
    hive_type = _common(compiler, given)
    *values, last = (compiler.cast(value, hive_type) for value in given)
    known = (Vector(BOOLEAN, applied(comparing.is_not_null, value)) for value in values)
    return _chosen(list(zip(known, values, strict=True)), last)


def _case(compiler: Compiler, given: Sequence[Vector]) -> Vector:
    *branches, otherwise = given
    conditions = [logical(compiler, condition) for condition in branches[::2]]
    hive_type = _common(compiler, [*branches[1::2], otherwise])
    *values, last = (compiler.cast(value, hive_type) for value in (*branches[1::2], otherwise))
    return _chosen(list(zip(conditions, values, strict=True)), last)


def _chosen(pairs: Sequence[tuple[Vector, Vector]], otherwise: Vector) -> Vector:
    return Vector(otherwise.type, partial(_evaluate, pairs, otherwise))


def _evaluate(pairs: Sequence[tuple[Vector, Vector]], otherwise: Vector, batch: Any) -> Any:
    return comparing.case(pairs, otherwise, batch)


def _common(compiler: Compiler, values: Sequence[Vector]) -> HiveType:
    types = [value.type for value in values]
    hive_type = unified_type(types, ansi=compiler.ansi)
    if hive_type is None or (hive_type == STRING and not {*types} <= {STRING, VOID}):
        raise NotHere("a value of " + " or ".join(map(str, dict.fromkeys(types))))
    return hive_type
