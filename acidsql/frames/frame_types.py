"""Arrow's types as Hive's: what the columns of a frame are called in SQL."""

from __future__ import annotations

import pyarrow as pa

from acidsql.catalog.types import (
    MAX_DECIMAL_PRECISION,
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    VarcharType,
)

_HIVE: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
    pa.date64(): "date",
}
_UNSIGNED_DIGITS = 20
"""The digits of the largest number of 64 bits without a sign."""


class NoHiveTypeError(Exception):
    """A type of Arrow's that Hive has none for. ``hint``: what to do about it."""

    def __init__(self, hint: str | None = None) -> None:
        super().__init__(hint)
        self.hint = hint


def hive_type_of(kind: pa.DataType) -> HiveType:
    """The type that holds every value of one of Arrow's; text for a column of nothing but NULLs.
    NoHiveTypeError.
    """
    kind = plain_type(kind)
    if kind in _HIVE:
        return PrimitiveType(_HIVE[kind])
    if pa.types.is_null(kind):
        return PrimitiveType("string")
    if kind == pa.uint64():
        return DecimalType(_UNSIGNED_DIGITS, 0)
    if pa.types.is_decimal(kind):
        return _decimal(kind)
    if pa.types.is_fixed_size_binary(kind):
        return PrimitiveType("binary")
    if pa.types.is_timestamp(kind):
        return _timestamp(kind)
    if is_list(kind):
        return ArrayType(hive_type_of(kind.value_type))
    if pa.types.is_map(kind):
        return MapType(hive_type_of(kind.key_type), hive_type_of(kind.item_type))
    if pa.types.is_struct(kind) and kind.num_fields:
        fields = (StructField(f.name.lower(), hive_type_of(f.type)) for f in kind)
        return StructType(tuple(fields))
    raise NoHiveTypeError


def plain_type(kind: pa.DataType) -> pa.DataType:
    """What a dictionary's, a run-end encoded or an extension type's values are."""
    while True:
        if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        else:
            return kind


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists, of whatever layout."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _decimal(kind: pa.DataType) -> HiveType:
    if kind.precision > MAX_DECIMAL_PRECISION or not 0 <= kind.scale <= kind.precision:
        raise NoHiveTypeError(f"Hive's decimals have {MAX_DECIMAL_PRECISION} digits at most.")
    return DecimalType(kind.precision, kind.scale)


def _timestamp(kind: pa.DataType) -> HiveType:
    if kind.tz is not None:
        raise NoHiveTypeError(
            "A TIMESTAMP is a wall clock without a zone: convert it to one in the frame, such as"
            " with tz_localize(None) or dt.replace_time_zone(None)."
        )
    return PrimitiveType("timestamp")


# ---- wider types
#
# Types of which every value is one of another type: all that can be said of a frame whose rows are
# still to be computed.


_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The digits of the largest number of each integer type."""
_EXACT = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int", "float")}
"""The types whose every value a floating point number is exactly."""


def widens(given: HiveType, wanted: HiveType) -> bool:
    """Whether every value of type ``given`` is kept by a column of type ``wanted``."""
    if given == wanted:
        return True
    match given, wanted:
        case ArrayType(one), ArrayType(other):
            return widens(one, other)
        case MapType(key, value), MapType(other_key, other_value):
            return widens(key, other_key) and widens(value, other_value)
        case StructType(), StructType():
            return [f.name.lower() for f in given.fields] == [
                f.name for f in wanted.fields
            ] and all(
                widens(a.type, b.type) for a, b in zip(given.fields, wanted.fields, strict=True)
            )
        case DecimalType(), DecimalType():
            whole = given.precision - given.scale
            return given.scale <= wanted.scale and whole <= wanted.precision - wanted.scale
        case PrimitiveType(name), DecimalType():
            return name in _DIGITS and _DIGITS[name] <= wanted.precision - wanted.scale
        case PrimitiveType(name), PrimitiveType(other_name):
            return _widens(name, other_name)
        case ((VarcharType() | CharType()), PrimitiveType("string")):
            return True
        case _:
            return False


def _widens(given: str, wanted: str) -> bool:
    if given in _DIGITS and wanted in _DIGITS:
        return _DIGITS[given] <= _DIGITS[wanted]
    return given in _EXACT.get(wanted, ()) or (given, wanted) == ("date", "timestamp")
