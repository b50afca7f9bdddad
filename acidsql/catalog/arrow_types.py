"""Hive's column types as Arrow spells them."""

from __future__ import annotations

from typing import assert_never

import pyarrow as pa

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

_ARROW: dict[str, pa.DataType] = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(hive_type: HiveType) -> pa.DataType:
    """The Arrow type of the rows we write; a timestamp is a wall clock without a zone, in
    microseconds. NULL has a type of its own ("void").
    """
    match hive_type:
        case PrimitiveType(name):
            return _ARROW[name]
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case CharType() | VarcharType():
            return pa.string()
        case ArrayType(element):
            return pa.list_(arrow_type(element))
        case MapType(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case StructType(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in fields])
        case _:
            assert_never(hive_type)
