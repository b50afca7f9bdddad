"""What an expression is compiled to; casts, comparisons, logic and values by condition: to what
type the sides are brought, and which of them are understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import (
    TIMESTAMP_NTZ,
    CharType,
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
)
from acidsql.expressions.losses import Loss
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID, Constant, parse_literal
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
from acidsql.lazy import dataclass, pattern

if TYPE_CHECKING:
    import pyarrow as pa


# ---- what an expression is compiled to
#
# What an expression is compiled to for whole batches, and what is said of one that is not.


@dataclass(frozen=True, slots=True)
class Vector:
    """``type``: Spark's type of the result; of a mere column its own, with the length of char and
    varchar.

    ``evaluate`` gives an Array, or a Scalar for a column of one value. ``literal``: where the
    expression is no more than one.
    """

    type: HiveType
    evaluate: Callable[[pa.RecordBatch], Any] = field(compare=False, repr=False)
    literal: Constant | None = None

    def run(self, batch: pa.RecordBatch) -> pa.Array:
        """A value for each row, of the Arrow type of ``type`` (``catalog.types``); a
        timestamp is a wall clock. NotHere.
        """
        from acidsql.expressions.kernels import comparing

        return comparing.result(self.evaluate, batch, self.type)


# ---- what passes between the parts of the compiler


class Kernels:
    """The functions of a module of ``expressions.kernels``, which is imported when one is called:
    Arrow is not needed before there are values. Stands for the module beside an import of it for
    the types alone.
    """

    def __init__(self, module: str) -> None:
        self._module = f"acidsql.expressions.kernels.{module}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: getattr(import_module(self._module), name)(*arguments)


def applied(kernel: Callable[..., Any], *arguments: Vector) -> Callable[[Any], Any]:
    """What evaluates a kernel of these vectors."""
    if len(arguments) == 1:
        [only] = arguments
        return lambda batch: kernel(only.evaluate(batch))
    return lambda batch: kernel(*(argument.evaluate(batch) for argument in arguments))


# ---- truths


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


# ---- casts
#
# Which casts are understood, and by what they are carried out.


if TYPE_CHECKING:
    from acidsql.expressions.kernels import casting, comparing, numbers, rowwise
else:
    casting, comparing, numbers, rowwise = map(
        Kernels, ("casting", "comparing", "numbers", "rowwise")
    )

BINARY = PrimitiveType("binary")
_LEAST_EXPONENT = 6
"""A decimal of a larger scale may be written with an exponent."""


def computed(vector: Vector) -> Vector:
    """A value as it is computed with: char and varchar are text."""
    if isinstance(vector.type, CharType | VarcharType):
        return Vector(STRING, vector.evaluate)
    return vector


def cast(vector: Vector, target: HiveType, *, ansi: bool) -> Vector:
    """CAST. NotHere."""
    given = computed(vector)
    if given.type == target:
        return given
    if isinstance(target, CharType | VarcharType):
        raise NotHere(f"a cast to {target}")
    if given.type == VOID:
        return Vector(target, applied(partial(_nulls, target), given))
    kernel = _kernel(given.type, target, ansi)
    if kernel is None:
        raise NotHere(f"a cast from {given.type} to {target}")
    return Vector(target, applied(kernel, given))


def _nulls(target: HiveType, values: Any) -> Any:
    return comparing.nulls_like(values, target)


def _kernel(  # noqa: C901  (one arm for each pair of types)
    source: HiveType, target: HiveType, ansi: bool
) -> Callable[..., Any] | None:
    match source, target:
        case PrimitiveType("boolean"), DecimalType():
            return partial(casting.boolean_to_decimal, target, ansi)
        case PrimitiveType("boolean"), _ if bits_of(target) or target in (FLOAT, DOUBLE):
            return partial(casting.boolean_to_number, target)
        case _, DecimalType() if bits_of(source):
            return partial(casting.integer_to_decimal, target, ansi)
        case _, _ if bits_of(source) and bits_of(target):
            return partial(casting.integer_to_integer, target, ansi)
        case (_, PrimitiveType("boolean")) if bits_of(source) or source in (FLOAT, DOUBLE):
            return casting.to_boolean
        case _, PrimitiveType("float" | "double") if bits_of(source) or source in (FLOAT, DOUBLE):
            return partial(casting.to_floating, target)
        case PrimitiveType("float" | "double"), _ if bits_of(target):
            return partial(casting.floating_to_integer, target, ansi)
        case DecimalType(), _:
            return _from_decimal(source, target, ansi)
        case PrimitiveType("boolean"), PrimitiveType("string"):
            return casting.integer_to_string
        case _, PrimitiveType("string") if bits_of(source):
            return casting.integer_to_string
        case PrimitiveType("double"), DecimalType():
            convert = caster(source, target, ansi=ansi)
            assert convert is not None
            return partial(numbers.double_to_decimal, target, ansi, convert)
        case PrimitiveType("string"), PrimitiveType("int" | "bigint"):
            convert = caster(source, target, ansi=ansi)
            assert convert is not None
            return partial(casting.string_to_integer, target, convert)
        case PrimitiveType(one), PrimitiveType(other) if (one, other) in _PLAIN:
            return _PLAIN[one, other]
    return by_value(source, target, ansi)


_PLAIN: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("string", "binary"): casting.string_to_binary,
    ("binary", "string"): casting.binary_to_string,
    ("date", "string"): casting.date_to_string,
    ("date", "timestamp"): casting.date_to_timestamp,
    ("timestamp", "string"): casting.timestamp_to_string,
    ("timestamp", "date"): casting.timestamp_to_date,
    ("timestamp", "bigint"): casting.timestamp_to_bigint,
    ("timestamp", "double"): casting.timestamp_to_double,
    ("timestamp_ntz", "timestamp"): casting.timestamp_ntz_to_timestamp,
}


def _from_decimal(source: DecimalType, target: HiveType, ansi: bool) -> Callable[..., Any] | None:
    match target:
        case DecimalType():
            return partial(casting.decimal_to_decimal, target, ansi)
        case PrimitiveType("double"):
            return casting.decimal_to_double
        case PrimitiveType("float"):
            return casting.decimal_to_float
        case PrimitiveType("boolean"):
            return casting.decimal_to_boolean
        case PrimitiveType("string") if source.scale <= _LEAST_EXPONENT:
            return casting.decimal_to_string
    if bits_of(target):
        return partial(casting.decimal_to_integer, target, ansi and bits_of(target) <= 32)
    return by_value(source, target, ansi)


def by_value(source: HiveType, target: HiveType, ansi: bool) -> Callable[..., Any] | None:
    """The cast of one value after the other, where there is one."""
    convert = caster(source, target, ansi=ansi)
    return None if convert is None else partial(rowwise.each, convert, target)


# ---- what a store cast takes
#
# Which values of a batch have lost something to a store cast: ``expressions.losses`` on Arrow.


_BIGINT = PrimitiveType("bigint")


def lost(loss: Loss, given: Any, stored: Any, types: tuple[HiveType, HiveType]) -> Any:
    """A mask of the values that have lost something so, of arrays of these ``types``; None if none
    has. NotHere.
    """
    given_type, wanted = types

    def as_type(array: Any, kind: HiveType, target: HiveType) -> Any:
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays([array], names=["v"])
        vector = Vector(kind, lambda rows: rows.column(0))
        return cast(vector, target, ansi=False).run(batch)

    match loss:
        case Loss.NULL:
            return casting.became_null(given, stored)
        case Loss.CUT:
            assert isinstance(wanted, VarcharType | CharType)
            return casting.longer(as_type(given, given_type, STRING), wanted.length)
        case Loss.CHANGED if given_type == STRING or isinstance(given_type, CharType | VarcharType):
            if bits_of(wanted):
                return casting.has_point(given, stored)
            return casting.infinite_text(given, stored)
        case Loss.CHANGED if given_type in (FLOAT, DOUBLE):
            if not bits_of(wanted):
                return casting.became_infinite(given, stored)
            doubles = as_type(given, given_type, DOUBLE)
            return casting.other_double(doubles, as_type(stored, wanted, DOUBLE), bits_of(wanted))
        case Loss.CHANGED:
            is_time = given_type in (TIMESTAMP, TIMESTAMP_NTZ)
            whole = as_type(given, given_type, _BIGINT) if is_time else given
            kind = _BIGINT if is_time else given_type
            return casting.other(whole, as_type(stored, wanted, kind))
    raise AssertionError(loss)
