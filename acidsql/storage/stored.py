"""Values as an ORC file of Hive's holds them, as Arrow arrays; ``spark.write.stored_sql`` makes the
same of Spark's columns.

``char(n)`` is padded with blanks to n characters. Not a matter of taste: Hive pads the literal of a
push-down condition, compares it with the minimum and maximum kept in the file, and skips the rows
of a file whose values were stored trimmed.

A timestamp in the last 999 milliseconds before 1970 cannot be stored at all: ORC's readers take it
for one second later, and whatever is written in its place they take for yet another time. Hive
writes it all the same; here it is a DataError.

pyarrow's ORC writer has a fault of its own (found with version 26): below a struct that is NULL it
may write the values of the children, which then appear in the rows that follow, and it takes the
NULLs of a slice from the wrong place. Nothing fails; the values are wrong. ``stored_array``
therefore has NULL children below every NULL struct, and no offsets. For what it does to early
timestamps see ``timestamps``.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
    is_timestamp,
)
from acidsql.errors import DataError

FIRST_UNSTORABLE, LAST_UNSTORABLE = -999_000, -1
"""Microseconds from 1970-01-01 00:00:00 of the timestamps ORC has no encoding for."""


def stored_array(array: pa.Array, hive_type: HiveType) -> pa.Array:
    """The stored values, in a form pyarrow writes rightly. ``array`` has the Arrow type of
    ``hive_type``; DataError.
    """
    return _stored_array(without_offset(array), hive_type)


def without_offset(array: pa.Array) -> pa.Array:
    """An array of the same values that begins at its buffers' beginning."""
    return array.take(pa.array(np.arange(len(array)))) if array.offset else array


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
    indexes = pc.if_else(mask, pa.scalar(None, pa.int64()), pa.array(np.arange(len(array))))
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
