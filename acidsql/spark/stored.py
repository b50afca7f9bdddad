"""Values as an ORC file of Hive's holds them: as SQL over Spark's columns and as Arrow arrays, alike.

``char(n)`` is padded with blanks to n characters. Not a matter of taste: Hive pads the literal of a push-down condition,
compares it with the minimum and maximum kept in the file, and skips the rows of a file whose values were stored trimmed.

A timestamp in the last 999 milliseconds before 1970 cannot be stored at all: ORC's readers take it for one second later,
and whatever is written in its place they take for yet another time. Hive writes it all the same; here it is a DataError.

pyarrow's ORC writer has a fault of its own (found with version 26): below a struct that is NULL it may write the values of the
children, which then appear in the rows that follow, and it takes the NULLs of a slice from the wrong place. Nothing fails;
the values are wrong. ``stored_array`` therefore has NULL children below every NULL struct, and no offsets.
For what it does to early timestamps see ``timestamps``.

Spark's ORC writer (found with version 4.3) reuses the DATE that is a map's key, so that a map keeps one entry of several. It is given
the number of the day instead, an INT: both have the same streams, and the footer is made to say DATE (``edit_tail``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.types import ArrayType, CharType, DecimalType, HiveType, MapType, PrimitiveType, StructType, VarcharType
from acidsql.errors import DataError
from acidsql.planner.lowering import identifier, spark_type

FIRST_UNSTORABLE, LAST_UNSTORABLE = -999_000, -1
"""Microseconds from 1970-01-01 00:00:00 of the timestamps ORC has no encoding for."""

_REFUSED = "acidsql: timestamp without an ORC encoding"


def holds(hive_type: HiveType, test: Callable[[HiveType], bool]) -> bool:
    """Whether the type, or one nested in it, passes the test."""
    if test(hive_type):
        return True
    match hive_type:
        case PrimitiveType() | DecimalType() | CharType() | VarcharType():
            return False
        case ArrayType(element):
            return holds(element, test)
        case MapType(key, value):
            return holds(key, test) or holds(value, test)
        case StructType(fields):
            return any(holds(f.type, test) for f in fields)
        case _:
            assert_never(hive_type)


def is_timestamp(hive_type: HiveType) -> bool:
    return hive_type == PrimitiveType("timestamp")


def _has_date_keys(hive_type: HiveType) -> bool:
    return isinstance(hive_type, MapType) and hive_type.key == PrimitiveType("date")


def wall_clock_type(hive_type: HiveType) -> str:
    """The Spark type with timestamps that have no zone."""
    return re.sub(r"\btimestamp\b", "timestamp_ntz", spark_type(hive_type))


# ---- in Spark


def stored_sql(expression: str, hive_type: HiveType) -> str:
    """The stored value of a Spark SQL expression (repeated in the result: a mere column); itself where nothing changes."""
    return _stored_sql(expression, hive_type, 0)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what ``stored_sql`` raises inside Spark into the error that ``stored_array`` raises."""
    try:
        yield
    except Exception as error:
        if _REFUSED in str(error):
            raise _unstorable() from error
        raise


def _stored_sql(expression: str, hive_type: HiveType, depth: int) -> str:
    if not holds(hive_type, _changes):
        return expression
    match hive_type:
        case CharType(length):
            return f"rpad({expression}, {length}, ' ')"
        case PrimitiveType():
            refused = f"unix_micros({expression}) BETWEEN {FIRST_UNSTORABLE} AND {LAST_UNSTORABLE}"
            return f"IF({refused}, CAST(raise_error('{_REFUSED}') AS timestamp), {expression})"
        case ArrayType(element):
            return _stored_items(expression, element, depth)
        case MapType(key, value):
            keys, values = f"map_keys({expression})", f"map_values({expression})"
            days = _has_date_keys(hive_type)
            stored_keys = f"transform({keys}, day -> unix_date(day))" if days else _stored_items(keys, key, depth)
            return f"map_from_arrays({stored_keys}, {_stored_items(values, value, depth)})"
        case StructType(fields):
            parts = [f"'{_text(f.name)}', {_stored_sql(f'{expression}.{identifier(f.name)}', f.type, depth)}" for f in fields]
            return f"CASE WHEN {expression} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case _:
            raise AssertionError(hive_type)


def _stored_items(array: str, hive_type: HiveType, depth: int) -> str:
    item = f"x{depth}"
    return f"transform({array}, {item} -> {_stored_sql(item, hive_type, depth + 1)})" if holds(hive_type, _changes) else array


def _changes(hive_type: HiveType) -> bool:
    return isinstance(hive_type, CharType) or is_timestamp(hive_type) or _has_date_keys(hive_type)


def _text(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


# ---- in Arrow


def stored_array(array: pa.Array, hive_type: HiveType) -> pa.Array:
    """The stored values, in a form pyarrow writes rightly. ``array`` has the Arrow type of ``hive_type``; DataError."""
    return _stored_array(without_offset(array), hive_type)


def without_offset(array: pa.Array) -> pa.Array:
    """The same values in arrays that begin at their buffers' beginning."""
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
            return pa.ListArray.from_arrays(array.offsets, stored_array(array.values, element), type=array.type, mask=mask)
        case MapType(key, value):
            keys, items = stored_array(array.keys, key), stored_array(array.items, value)
            return pa.MapArray.from_arrays(array.offsets, keys, items, type=array.type, mask=mask)
        case StructType(fields):
            children = [_null_where(array.field(i), mask) for i in range(len(fields))]
            stored = [stored_array(child, f.type) for child, f in zip(children, fields, strict=True)]
            return pa.StructArray.from_arrays(stored, fields=list(array.type), mask=mask)
        case _:
            assert_never(hive_type)


def _null_where(array: pa.Array, mask: pa.Array | None) -> pa.Array:
    if mask is None:
        return array
    places = pc.if_else(mask, pa.scalar(None, pa.int64()), pa.array(np.arange(len(array))))
    return array.take(places)  # unlike if_else it knows every type


def _check_timestamps(array: pa.Array) -> None:
    micros = array.cast(pa.int64())
    if pc.any(pc.and_(pc.greater_equal(micros, FIRST_UNSTORABLE), pc.less_equal(micros, LAST_UNSTORABLE))).as_py():
        raise _unstorable()


def _unstorable() -> DataError:
    return DataError(
        "a timestamp between 1969-12-31 23:59:59.001 and 1970-01-01 00:00:00 cannot be stored in ORC",
        detail="every reader would take it for another time",
        hint="Store it without its fraction of a second, or as a string.",
        sqlstate="22008",
    )
