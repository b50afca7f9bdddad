"""Timestamps Arrow's ORC writer gets wrong: before 1970 and with a fraction of a second, it writes negative nanoseconds.

Arrow reads them back as they were, but ORC's Java readers (Hive's and Spark's) fail on such a file. Rows that hold one are written by Spark.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_MICROSECONDS = 1_000_000


def needs_java_writer(table: pa.Table) -> bool:
    """Whether any timestamp, also inside lists, maps and structs, is one that only ORC's Java writer stores right."""
    return any(_array_needs_it(chunk) for column in table.columns for chunk in column.chunks)


def _array_needs_it(array: pa.Array) -> bool:
    kind = array.type
    if pa.types.is_timestamp(kind):
        micros = array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        whole = pc.multiply(pc.divide(micros, _MICROSECONDS), _MICROSECONDS)
        return bool(pc.any(pc.and_(pc.less(micros, 0), pc.not_equal(micros, whole))).as_py())
    if pa.types.is_struct(kind):
        return any(_array_needs_it(child) for child in array.flatten())
    if pa.types.is_map(kind):
        return _array_needs_it(array.keys) or _array_needs_it(array.items)
    if pa.types.is_list(kind):
        return _array_needs_it(array.flatten())
    return False
