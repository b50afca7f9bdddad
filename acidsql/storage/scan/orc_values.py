"""Columns of ORC files as the values of a table's columns, in Arrow's types of ``storage.stored``:
what Spark's reader gives for them, or NotHere.

A timestamp is a wall clock in microseconds; Spark cuts finer ones, too. Times before the calendars
parted, and those before 1970 that the two readers tell differently, are left to Spark. So are
conversions between types other than those that keep each value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from acidsql.acid.orc_types import OrcKind, OrcType, preorder
from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.types import (
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
    holds,
    is_timestamp,
)
from acidsql.expressions.not_here import NotHere
from acidsql.storage.file_layout import FileColumn
from acidsql.storage.stored import arrow_type, needs_java, without_offset

Convert = Callable[[pa.Array], pa.Array]

_INTEGERS = {OrcKind.BYTE: 3, OrcKind.SHORT: 5, OrcKind.INT: 10, OrcKind.LONG: 19}
"""The digits of each kind of whole number."""
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def is_sure(column: FileColumn) -> bool:
    """Whether a column of a file has here the values that Spark reads."""
    return column.same or _widens(column.kind, column.column.type)


def _widens(stored: OrcType, wanted: HiveType) -> bool:
    """Whether each value of the one type is one of the other, or (as a double) what every
    processor takes for it.
    """
    digits = _INTEGERS.get(stored.kind)
    match wanted:
        case PrimitiveType("tinyint" | "smallint" | "int" | "bigint" as name):
            return digits is not None and digits <= _DIGITS[name]
        case PrimitiveType("double"):
            return digits is not None or stored.kind is OrcKind.FLOAT
        case DecimalType(precision, scale):
            if digits is not None:
                return precision - scale >= digits
            return (
                stored.kind is OrcKind.DECIMAL
                and stored.scale <= scale
                and stored.precision - stored.scale <= precision - scale
            )
        case VarcharType(length):
            return stored.kind is OrcKind.VARCHAR and stored.maximum_length <= length
    return False


def converter(hive_type: HiveType, stored: OrcType) -> Convert:
    """What makes the values of a column of the type of what Arrow has read of it in a file."""
    wanted = arrow_type(hive_type)
    timed = holds(hive_type, _is_time)
    padded = any(node.kind is OrcKind.CHAR for node in preorder(stored))

    def convert(array: pa.Array) -> pa.Array:
        if timed and _may_be_old(array) and needs_java(pa.table([array], names=["c"])):
            raise NotHere(
                "a date or timestamp lies before 1582-10-15, or before 1970 with"
                " a fraction of a second"
            )
        if padded:
            array = _unpadded(array, stored)
        return array if array.type == wanted else array.cast(wanted, safe=False)

    return convert


def _unpadded(array: pa.Array, stored: OrcType) -> pa.Array:
    """Chars without the blanks at their ends, as Spark shows them, wherever they are."""
    if stored.kind is OrcKind.CHAR:
        return pc.ascii_rtrim(array, characters=" ")
    if not any(node.kind is OrcKind.CHAR for node in preorder(stored)):
        return array
    array = without_offset(array)
    mask = array.is_null() if array.null_count else None
    match stored.kind, stored.children:
        case OrcKind.LIST, (element,):
            values = _unpadded(array.values, element)
            return pa.ListArray.from_arrays(array.offsets, values, mask=mask)
        case OrcKind.MAP, (key, value):
            keys, items = _unpadded(array.keys, key), _unpadded(array.items, value)
            return pa.MapArray.from_arrays(array.offsets, keys, items, mask=mask)
    children = [_unpadded(array.field(i), kind) for i, kind in enumerate(stored.children)]
    return pa.StructArray.from_arrays(children, names=list(stored.names), mask=mask)


def _is_time(hive_type: HiveType) -> bool:
    return is_timestamp(hive_type) or hive_type == PrimitiveType("date")


def _may_be_old(array: pa.Array) -> bool:
    if not pa.types.is_temporal(array.type):
        return True
    least = pc.min(array).cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    return bool(least.is_valid and least.as_py() < 0)


def refuse_unseen_times(hive_type: HiveType) -> None:
    """Raises NotHere for timestamps where this Arrow does not tell those that it cannot hold."""
    if holds(hive_type, is_timestamp) and not sees_far_times():
        raise NotHere("this version of pyarrow reads timestamps of far years as others")


@lru_cache(maxsize=1)
def sees_far_times() -> bool:
    """Whether this Arrow fails on a timestamp that it cannot hold, and does not read another."""
    sink = pa.BufferOutputStream()
    far = arrow_array([-62_135_596_800_000_000], pa.timestamp("us"))
    orc.write_table(pa.table({"t": far}), sink)
    try:
        orc.ORCFile(pa.BufferReader(sink.getvalue())).read()
    except pa.ArrowInvalid:
        return True
    return False
