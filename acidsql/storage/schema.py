"""Hive's types as Arrow and ORC spell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa

from acidsql.acid.orc_types import OrcKind, OrcType, struct_type
from acidsql.catalog.model import Column
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
}

_ORC: dict[str, OrcKind] = {
    "boolean": OrcKind.BOOLEAN,
    "tinyint": OrcKind.BYTE,
    "smallint": OrcKind.SHORT,
    "int": OrcKind.INT,
    "bigint": OrcKind.LONG,
    "float": OrcKind.FLOAT,
    "double": OrcKind.DOUBLE,
    "string": OrcKind.STRING,
    "binary": OrcKind.BINARY,
    "date": OrcKind.DATE,
    "timestamp": OrcKind.TIMESTAMP,
}


def arrow_type(hive_type: HiveType) -> pa.DataType:
    """The Arrow type of the rows we write; a timestamp is a wall clock without a zone, in
    microseconds.
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


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns])


def orc_type(hive_type: HiveType) -> OrcType:
    """The type Hive declares in the footer of a file."""
    match hive_type:
        case PrimitiveType(name):
            return OrcType(kind=_ORC[name])
        case DecimalType(precision, scale):
            return OrcType(kind=OrcKind.DECIMAL, precision=precision, scale=scale)
        case CharType(length):
            return OrcType(kind=OrcKind.CHAR, maximum_length=length)
        case VarcharType(length):
            return OrcType(kind=OrcKind.VARCHAR, maximum_length=length)
        case ArrayType(element):
            return OrcType(kind=OrcKind.LIST, children=(orc_type(element),))
        case MapType(key, value):
            return OrcType(kind=OrcKind.MAP, children=(orc_type(key), orc_type(value)))
        case StructType(fields):
            return struct_type([f.name for f in fields], [orc_type(f.type) for f in fields])
        case _:
            assert_never(hive_type)


def orc_row_type(columns: Sequence[Column]) -> OrcType:
    """The struct of a table's data columns."""
    return struct_type([c.name for c in columns], [orc_type(c.type) for c in columns])
