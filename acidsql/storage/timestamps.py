"""Times that Spark writes, whatever the number of rows.

Of a timestamp before 1970 with a fraction of a second Arrow's ORC writer makes negative
nanoseconds. Arrow reads them back as they were, but ORC's Java readers (Hive's and Spark's) fail on
such a file.

The ten days that the calendars skip, 1582-10-05 to 1582-10-14, become other days in Spark's writer
and in its reader. Its writer at least makes those of them that it then reads.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS
_FIRST_SKIPPED, _AFTER_SKIPPED = -141_437, -141_427
"""1582-10-05 and 1582-10-15 in days since 1970."""


def needs_java_writer(table: pa.Table) -> bool:
    """Whether any date or timestamp, also inside lists, maps and structs, is one that needs
    Java.
    """
    return any(_array_needs_it(chunk) for column in table.columns for chunk in column.chunks)


def _array_needs_it(array: pa.Array) -> bool:
    kind = array.type
    if pa.types.is_timestamp(kind):
        micros = array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        whole = pc.multiply(pc.divide(micros, _MICROSECONDS), _MICROSECONDS)
        broken = pc.any(pc.and_(pc.less(micros, 0), pc.not_equal(micros, whole))).as_py()
        return bool(broken) or _any_between(micros, _FIRST_SKIPPED * _DAY, _AFTER_SKIPPED * _DAY)
    if pa.types.is_date32(kind):
        return _any_between(array.cast(pa.int32()), _FIRST_SKIPPED, _AFTER_SKIPPED)
    if pa.types.is_struct(kind):
        return any(_array_needs_it(child) for child in array.flatten())
    if pa.types.is_map(kind):
        return _array_needs_it(array.keys) or _array_needs_it(array.items)
    if pa.types.is_list(kind):
        return _array_needs_it(array.flatten())
    return False


def _any_between(values: pa.Array, first: int, end: int) -> bool:
    return bool(pc.any(pc.and_(pc.greater_equal(values, first), pc.less(values, end))).as_py())
