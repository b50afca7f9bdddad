"""Values as an ORC file of Hive's holds them, as SQL over Spark's columns: ``storage.stored`` says
which, and why.

Spark's ORC writer (found with version 4.3) reuses the DATE that is a map's key, so that a map keeps
one entry of several. It is given the number of the day instead, an INT: both have the same streams,
and the footer is made to say DATE (``edit_tail``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.catalog.types import (
    ArrayType,
    CharType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    holds,
    is_timestamp,
)
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.storage.stored import FIRST_UNSTORABLE, LAST_UNSTORABLE, unstorable

_REFUSED = "acidsql: timestamp without an ORC encoding"


def wall_clock_type(hive_type: HiveType) -> str:
    """The Spark type with timestamps that have no zone."""
    return re.sub(r"\btimestamp\b", "timestamp_ntz", spark_type(hive_type))


def _has_date_keys(hive_type: HiveType) -> bool:
    return isinstance(hive_type, MapType) and hive_type.key == PrimitiveType("date")


def stored_sql(expression: str, hive_type: HiveType) -> str:
    """The stored value of a Spark SQL expression (repeated in the result: a mere column); itself
    where nothing changes.
    """
    return _stored_sql(expression, hive_type, 0)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what ``stored_sql`` raises inside Spark into the error that ``stored_array`` raises."""
    try:
        yield
    except Exception as error:
        if _REFUSED in str(error):
            raise unstorable() from error
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
            stored_keys = (
                f"transform({keys}, day -> unix_date(day))"
                if days
                else _stored_items(keys, key, depth)
            )
            return f"map_from_arrays({stored_keys}, {_stored_items(values, value, depth)})"
        case StructType(fields):
            parts = [
                f"'{_text(f.name)}',"
                f" {_stored_sql(f'{expression}.{identifier(f.name)}', f.type, depth)}"
                for f in fields
            ]
            return f"CASE WHEN {expression} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case _:
            raise AssertionError(hive_type)


def _stored_items(array: str, hive_type: HiveType, depth: int) -> str:
    item = f"x{depth}"
    return (
        f"transform({array}, {item} -> {_stored_sql(item, hive_type, depth + 1)})"
        if holds(hive_type, _changes)
        else array
    )


def _changes(hive_type: HiveType) -> bool:
    return isinstance(hive_type, CharType) or is_timestamp(hive_type) or _has_date_keys(hive_type)


def _text(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
