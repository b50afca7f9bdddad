"""Which casts are understood, and by what they are carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
from acidsql.expressions.tree import VOID
from acidsql.expressions.values import DOUBLE, FLOAT, STRING, TIMESTAMP, bits_of, caster
from acidsql.expressions.vectors.vector import Kernels, Vector, applied

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
