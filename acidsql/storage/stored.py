"""How columns are stored: Hive's types as Arrow and ORC spell them, and values as an ORC file of
Hive's holds them, as Arrow arrays; ``spark.write.stored_sql`` makes the same of Spark's columns.

``char(n)`` is padded with blanks to n characters. Not a matter of taste: Hive pads the literal of a
push-down condition, compares it with the minimum and maximum kept in the file, and skips the rows
of a file whose values were stored trimmed.

A timestamp in the last 999 milliseconds before 1970 cannot be stored at all: ORC's readers take it
for one second later, and whatever is written in its place they take for yet another time. Hive
writes it all the same; here it is a DataError.

pyarrow's ORC writer has faults of its own (found with version 26), and none of them fails:

- Below a struct that is NULL it may write the values of the children, which then appear in the
  rows that follow, and it takes the NULLs of a slice from the wrong place. ``stored_array``
  therefore has NULL children below every NULL struct, and no offsets.
- Of a timestamp before 1970 with a fraction of a second it makes negative nanoseconds. Arrow reads
  them back as they were, but ORC's Java readers (Hive's and Spark's) fail on such a file. Spark
  writes these, and the ten days that the calendars skip, 1582-10-05 to 1582-10-14: they become
  other days in its writer and in its reader, but its writer at least makes those of them that it
  then reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.acid.orc_types import OrcKind, OrcType, struct_type
from acidsql.arrow_arrays import arrow_array, arrow_scalar
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
    arrow_type,
    is_timestamp,
)
from acidsql.errors import DataError

FIRST_UNSTORABLE, LAST_UNSTORABLE = -999_000, -1
"""Microseconds from 1970-01-01 00:00:00 of the timestamps ORC has no encoding for."""

_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS
_FIRST_SKIPPED, _AFTER_SKIPPED = -141_437, -141_427
"""1582-10-05 and 1582-10-15 in days since 1970."""
_FIRST_DAY = -10_000_000
"""Before all days there are; in microseconds it still is a number of 64 bits."""

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


def data_names(columns: Sequence[Column]) -> list[str]:
    """The data columns' names in our DataFrames."""
    return [f"c{ordinal}" for ordinal in range(len(columns))]


def orc_row_type(columns: Sequence[Column]) -> OrcType:
    """The struct of a table's data columns."""
    return struct_type([c.name for c in columns], [orc_type(c.type) for c in columns])


def stored_array(array: pa.Array, hive_type: HiveType) -> pa.Array:
    """The stored values, in a form pyarrow writes rightly. ``array`` has the Arrow type of
    ``hive_type``; DataError.
    """
    return _stored_array(without_offset(array), hive_type)


def without_offset(array: pa.Array) -> pa.Array:
    """An array of the same values that begins at its buffers' beginning."""
    if not array.offset:
        return array
    if pa.types.is_nested(array.type):
        return array.take(arrow_array(np.arange(len(array))))
    return pa.concat_arrays([array])


def _stored_array(array: pa.Array, hive_type: HiveType) -> pa.Array:
    mask = array.is_null() if array.null_count else None
    match hive_type:
        case CharType(length):
            return pc.utf8_rpad(array, length)
        case PrimitiveType() if is_timestamp(hive_type):
            _check_timestamps(array)
            return array
        case PrimitiveType() | DecimalType() | VarcharType():
            return array
        case ArrayType(element):
            return pa.ListArray.from_arrays(
                array.offsets, stored_array(array.values, element), type=array.type, mask=mask
            )
        case MapType(key, value):
            keys, items = stored_array(array.keys, key), stored_array(array.items, value)
            return pa.MapArray.from_arrays(array.offsets, keys, items, type=array.type, mask=mask)
        case StructType(fields):
            children = [_null_where(array.field(i), mask) for i in range(len(fields))]
            stored = [
                stored_array(child, f.type) for child, f in zip(children, fields, strict=True)
            ]
            return pa.StructArray.from_arrays(stored, fields=list(array.type), mask=mask)
        case _:
            assert_never(hive_type)


def _null_where(array: pa.Array, mask: pa.Array | None) -> pa.Array:
    if mask is None:
        return array
    indexes = pc.if_else(mask, arrow_scalar(None, pa.int64()), arrow_array(np.arange(len(array))))
    return array.take(indexes)  # unlike if_else it knows every type


def _check_timestamps(array: pa.Array) -> None:
    micros = array.cast(pa.int64())
    if pc.any(
        pc.and_(pc.greater_equal(micros, FIRST_UNSTORABLE), pc.less_equal(micros, LAST_UNSTORABLE))
    ).as_py():
        raise unstorable()


def unstorable() -> DataError:
    """The error for a timestamp that ORC has no encoding for."""
    return DataError(
        "a timestamp between 1969-12-31 23:59:59.001 and 1970-01-01 00:00:00 cannot be stored"
        " in ORC",
        detail="every reader would take it for another time",
        hint="Store it without its fraction of a second, or as a string.",
        sqlstate="22008",
    )


def needs_java_writer(table: pa.Table) -> bool:
    """Whether any date or timestamp, also inside lists, maps and structs, is one that needs
    Java.
    """
    return _any_needs_it(table, _FIRST_SKIPPED)


def needs_java(table: pa.Table) -> bool:
    """Whether rows that Arrow has read need Java's reader or writer: what lies before the calendars
    parted may be another day in Java's eyes.
    """
    return _any_needs_it(table, _FIRST_DAY)


def _any_needs_it(table: pa.Table, first_day: int) -> bool:
    return any(
        _array_needs_it(chunk, first_day) for column in table.columns for chunk in column.chunks
    )


def _array_needs_it(array: pa.Array, first_day: int) -> bool:
    kind = array.type
    if pa.types.is_timestamp(kind):
        micros = array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        whole = pc.multiply(pc.divide(micros, _MICROSECONDS), _MICROSECONDS)
        broken = pc.any(pc.and_(pc.less(micros, 0), pc.not_equal(micros, whole))).as_py()
        return bool(broken) or _any_between(micros, first_day * _DAY, _AFTER_SKIPPED * _DAY)
    if pa.types.is_date32(kind):
        return _any_between(array.cast(pa.int32()), first_day, _AFTER_SKIPPED)
    if pa.types.is_struct(kind):
        return any(_array_needs_it(child, first_day) for child in array.flatten())
    if pa.types.is_map(kind):
        return _array_needs_it(array.keys, first_day) or _array_needs_it(array.items, first_day)
    if pa.types.is_list(kind):
        return _array_needs_it(array.flatten(), first_day)
    return False


def _any_between(values: pa.Array, first: int, end: int) -> bool:
    return bool(pc.any(pc.and_(pc.greater_equal(values, first), pc.less(values, end))).as_py())
