"""Types of which every value is one of another type: all that can be said of a frame whose rows
are still to be computed.
"""

from __future__ import annotations

from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
)

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
