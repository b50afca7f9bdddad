"""Values as an ORC file of Hive's holds them, as SQL over Spark's columns: ``storage.stored`` says
which, and why.

Spark's ORC writer (found with version 4.3) reuses the DATE that is a map's key, so that a map keeps
one entry of several. It is given the number of the day instead, an INT: both have the same streams,
and the footer is made to say DATE (``edit_tail``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.catalog.types import (
    TIMESTAMP_NTZ,
    ArrayType,
    CharType,
    HiveType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    is_timestamp,
)
from acidsql.expressions.spark_words import nested_sql, spark_type
from acidsql.spark.start.clocks import UTC_CLOCK, FileClock
from acidsql.storage.stored import FIRST_UNSTORABLE, LAST_UNSTORABLE, unstorable

_REFUSED = "acidsql: timestamp without an ORC encoding"


def wall_clock_type(hive_type: HiveType) -> str:
    """The Spark type with timestamps that have no zone."""
    return spark_type(_wall_clock(hive_type))


def _wall_clock(hive_type: HiveType) -> HiveType:
    match hive_type:
        case ArrayType(element):
            return ArrayType(_wall_clock(element))
        case MapType(key, value):
            return MapType(_wall_clock(key), _wall_clock(value))
        case StructType(fields):
            return StructType(tuple(StructField(f.name, _wall_clock(f.type)) for f in fields))
    return TIMESTAMP_NTZ if is_timestamp(hive_type) else hive_type


def stored_sql(expression: str, hive_type: HiveType, clock: FileClock = UTC_CLOCK) -> str:
    """The stored value of a Spark SQL expression (repeated in the result: a mere column); itself
    where nothing changes. ``clock``: that of the Java that writes.
    """

    def value(sql: str, kind: HiveType) -> str:
        if isinstance(kind, CharType):
            return f"rpad({sql}, {kind.length}, ' ')"
        return _stored_timestamp(sql, clock)

    def changes(kind: HiveType) -> bool:
        return isinstance(kind, CharType) or is_timestamp(kind) or _has_date_keys(kind)

    return nested_sql(expression, hive_type, changes, value, lambda sql, _: f"unix_date({sql})")


def _stored_timestamp(sql: str, clock: FileClock) -> str:
    """What ORC cannot store, it cannot by the clock of a zone and by that of UTC."""
    written = clock.written(sql)
    refused = " OR ".join(
        f"unix_micros({moment}) BETWEEN {FIRST_UNSTORABLE} AND {LAST_UNSTORABLE}"
        for moment in dict.fromkeys((sql, written))
    )
    return f"IF({refused}, CAST(raise_error('{_REFUSED}') AS timestamp), {written})"


def _has_date_keys(hive_type: HiveType) -> bool:
    return isinstance(hive_type, MapType) and hive_type.key == PrimitiveType("date")


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what ``stored_sql`` raises inside Spark into the error that ``stored_array`` raises."""
    try:
        yield
    except Exception as error:
        if _REFUSED in str(error):
            raise unstorable() from error
        raise
