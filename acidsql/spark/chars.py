"""``char(n)`` values as Hive stores them: padded with blanks to n characters, wherever they are nested.

Not a matter of taste: Hive pads the literal of a push-down condition, compares it with the minimum and maximum kept in the
file, and skips the rows of a file whose values were stored trimmed.
"""

from __future__ import annotations

from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.catalog.types import ArrayType, CharType, DecimalType, HiveType, MapType, PrimitiveType, StructType, VarcharType
from acidsql.planner.lowering import identifier


def holds_char(hive_type: HiveType) -> bool:
    match hive_type:
        case CharType():
            return True
        case PrimitiveType() | DecimalType() | VarcharType():
            return False
        case ArrayType(element):
            return holds_char(element)
        case MapType(key, value):
            return holds_char(key) or holds_char(value)
        case StructType(fields):
            return any(holds_char(f.type) for f in fields)
        case _:
            assert_never(hive_type)


def padded_array(array: pa.Array, hive_type: HiveType) -> pa.Array:
    """``array`` has the Arrow type of ``hive_type``."""
    if not holds_char(hive_type):
        return array
    whole = array.take(pa.array(range(len(array)), pa.int64())) if array.offset else array  # slices have no offsets of their own
    return _padded_array(whole, hive_type)


def padded_sql(expression: str, hive_type: HiveType) -> str:
    """The same as a Spark SQL expression over ``expression``; itself where there is no char in it."""
    return _padded_sql(expression, hive_type, 0)


def _padded_sql(expression: str, hive_type: HiveType, depth: int) -> str:
    inner = f"x{depth}"
    match hive_type:
        case CharType(length):
            return f"rpad({expression}, {length}, ' ')"
        case _ if not holds_char(hive_type):
            return expression
        case ArrayType(element):
            return f"transform({expression}, {inner} -> {_padded_sql(inner, element, depth + 1)})"
        case MapType(key, value):
            keys = f"transform(map_keys({expression}), {inner} -> {_padded_sql(inner, key, depth + 1)})"
            values = f"transform(map_values({expression}), {inner} -> {_padded_sql(inner, value, depth + 1)})"
            return f"map_from_arrays({keys}, {values})"
        case StructType(fields):
            parts = [f"'{_text(f.name)}', {_padded_sql(f'{expression}.{identifier(f.name)}', f.type, depth)}" for f in fields]
            return f"CASE WHEN {expression} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case _:
            raise AssertionError(hive_type)


def _padded_array(array: pa.Array, hive_type: HiveType) -> pa.Array:
    mask = array.is_null() if array.null_count else None
    match hive_type:
        case CharType(length):
            return pc.utf8_rpad(array, length)
        case _ if not holds_char(hive_type):
            return array
        case ArrayType(element):
            return pa.ListArray.from_arrays(array.offsets, _padded_array(array.values, element), type=array.type, mask=mask)
        case MapType(key, value):
            keys, items = _padded_array(array.keys, key), _padded_array(array.items, value)
            return pa.MapArray.from_arrays(array.offsets, keys, items, type=array.type, mask=mask)
        case StructType(fields):
            children = [_padded_array(array.field(i), f.type) for i, f in enumerate(fields)]
            return pa.StructArray.from_arrays(children, fields=list(array.type), mask=mask)
        case _:
            raise AssertionError(hive_type)


def _text(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
