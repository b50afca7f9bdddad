"""Which of Spark's tasks a row goes to before it is written: the number of a task is that of a
bucket, whose SQL is here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.acid.bucketing import SEED, Version
from acidsql.catalog.model import Bucketing, Table
from acidsql.catalog.types import CharType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import NotSupportedError
from acidsql.spark import jvm
from acidsql.spark.start import workers
from acidsql.spark.write import sinks
from acidsql.storage.stored import data_names
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# ---- bucket numbers
#
# Hive's bucket number of a row inside a Spark plan.
#
# Spark's own ``hash()`` is Murmur3 too, but chained from seed 42, over other bytes, with another
# tail. Three tricks make it Hive's without a Python worker: ``hash(SEED_LITERAL, x)`` leaves
# Hive's seed behind for ``x``; swapped bytes make Spark's little-endian blocks of Hive's big-
# endian ones; and commons-codec, which Spark ships, took its ``hash32(String)`` from Hive, seed
# and faulty tail included. What that does not reach (float, double, decimal, timestamp, binary,
# nested types, bucketing version 1) an Arrow function does; executors then import
# ``acidsql.acid.bucketing`` and nothing else of acidsql. Every expression gives the numbers of
# that module.
#
# Arithmetic is in bigint, cut to 32 bits step by step, so that it never overflows, whatever the
# session's ANSI setting.


Source = tuple[str, HiveType]
"""A SQL expression and its Hive type; it is repeated in the result, so it should be a mere column.
"""

BUCKET = "acidsql_bucket_number"

SEED_LITERAL = 1867871456
"""Spark's ``hash`` of this int is 104729, Hive's seed."""

_MASK = 0xFFFFFFFF
_C1, _C2 = 0xCC9E2D51 - 2**32, 0x1B873593
_FINISH = ((16, 0x85EBCA6B - 2**32), (13, 0xC2B2AE35 - 2**32))
"""Shifts and factors of Murmur3; signed, so that their product with 32 bits without sign stays
within a bigint.
"""


def with_bucket_number(
    rows: DataFrame, columns: Sequence[Source], count: int, version: int = 2
) -> tuple[DataFrame, Column]:
    """The rows and, as a column of them, the bucket of each, 0 to ``count - 1``, for every type
    that Hive can bucket by. They may have a column BUCKET then.
    """
    from pyspark.sql import functions

    if _is_native(columns, version):
        return rows, functions.expr(bucket_number_sql(columns, count, version))
    types = ", ".join(sorted({str(t) for _, t in columns}))
    workers.need_python(rows.sparkSession, f"the bucket of a column of type {types}")
    function = _arrow_function([str(t) for _, t in columns], count, 1 if version == 1 else 2)
    return jvm.with_arrow_function(rows, BUCKET, "int", function, [sql for sql, _ in columns])


def bucket_number_sql(columns: Sequence[Source], count: int, version: int = 2) -> str:
    """The number of ``with_bucket_number`` as a Spark SQL expression; NotSupportedError where Spark
    has none.

    Spark takes that of a text to be nondeterministic: it may stand in a projection or a
    repartitioning, not in a join condition. A text that is not UTF-8 makes the statement fail.
    """
    if not _is_native(columns, version):
        raise NotSupportedError(
            f"no SQL expression for the bucket of {', '.join(str(t) for _, t in columns)}, version"
            f" {version}"
        )
    total = ""
    for sql, hive_type in columns:
        hashed = f"IF({sql} IS NULL, 0L, {_hash_of(hive_type)(sql)})"  # type: ignore[misc]  # _is_native has looked
        total = f"(({total} * 31L + {hashed}) & {_MASK}L)" if total else hashed
    return f"CAST(({total} & {0x7FFFFFFF}L) % {count}L AS INT)"


def _is_native(columns: Sequence[Source], version: int) -> bool:
    return version == 2 and all(_hash_of(hive_type) is not None for _, hive_type in columns)


def _arrow_function(types: Sequence[str], count: int, version: Version) -> Callable[..., pa.Array]:
    """The function that numbers buckets on the executors. It is made inside this one, so that it
    travels there by value and takes no pyspark module of ours along.
    """

    def bucket_numbers(*values: pa.Array) -> pa.Array:
        import pyarrow

        from acidsql.acid import bucketing

        return pyarrow.array(
            bucketing.bucket_numbers(list(zip(values, types, strict=True)), count, version)
        )

    return bucket_numbers


# Hashes of one value that is not NULL, as bigint


def _hash_of(hive_type: HiveType) -> Callable[[str], str] | None:
    match hive_type:
        case PrimitiveType(name):
            return _PRIMITIVES.get(name)
        case VarcharType():
            return _text
        case CharType():
            return lambda sql: _text(f"rtrim({sql})")
        case _:
            return None


def _plain(sql: str) -> str:
    return f"CAST(CAST({sql} AS INT) AS BIGINT)"


def _smallint(sql: str) -> str:
    """SQL for the hash of a smallint. Two bytes are a tail and no block: Spark's ``hash`` has no
    form for them.
    """
    high_then_low = f"(shiftright(shiftleft({sql} & 255, 24), 16) ^ shiftright({sql}, 8))"
    block = _rotate_15(f"(({high_then_low} & {_MASK}L) * {_C1}L & {_MASK}L)")
    state = f"(({block} * {_C2}L & {_MASK}L) ^ {SEED ^ 2}L)"
    for shift, factor in _FINISH:
        state = f"(({state} ^ shiftright({state}, {shift})) * {factor}L & {_MASK}L)"
    return f"({state} ^ shiftright({state}, 16))"


def _rotate_15(sql: str) -> str:
    return f"((shiftleft({sql}, 15) | shiftright({sql}, 17)) & {_MASK}L)"


def _int(sql: str) -> str:
    swapped = (
        f"shiftleft({sql}, 24) | shiftleft({sql} & 65280, 8) | (shiftrightunsigned({sql}, 8) &"
        f" 65280) | shiftrightunsigned({sql}, 24)"
    )
    return _seeded(swapped)


def _bigint(sql: str) -> str:
    parts = [f"shiftleft({sql} & {0xFF << shift}L, {56 - 2 * shift})" for shift in (0, 8, 16, 24)]
    parts += [
        f"(shiftrightunsigned({sql}, {56 - 2 * shift}) & {0xFF << shift}L)"
        for shift in (0, 8, 16, 24)
    ]
    return _seeded(" | ".join(parts))


def _date(sql: str) -> str:
    return _int(f"unix_date({sql})")


def _text(sql: str) -> str:
    """A Java string cannot hold bytes that are not UTF-8; Hive hashes them as they are.

    The argument of the call is never NULL: in a repartitioning Spark moves the call out of the IF
    around it.
    """
    call = f"reflect('org.apache.commons.codec.digest.MurmurHash3', 'hash32', coalesce({sql}, ''))"
    return (
        f"IF({jvm.is_utf8(sql)}, CAST({call} AS BIGINT), raise_error('a text that is not UTF-8"
        " cannot be bucketed'))"
    )


def _seeded(sql: str) -> str:
    return f"CAST(hash({SEED_LITERAL}, {sql}) AS BIGINT)"


_PRIMITIVES: dict[str, Callable[[str], str]] = {
    "boolean": _plain,
    "tinyint": _plain,
    "smallint": _smallint,
    "int": _int,
    "bigint": _bigint,
    "date": _date,
    "string": _text,
}


# ---- tasks


_NEW_BUCKET = "acidsql_new_bucket"


def in_tasks_of_buckets(target: WriteTarget, rows: DataFrame) -> DataFrame:
    """The rows in tasks whose numbers are bucket numbers."""
    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(rows)
    rows, number = with_new_bucket(target.table, bucketing, rows)
    return jvm.in_numbered_tasks(rows, bucketing.count, number).drop(BUCKET)


def in_tasks_of_merge(target: WriteTarget, rows: DataFrame, inserting: str) -> DataFrame:
    """New rows (where ``inserting`` holds) in the tasks of their buckets, the others in those of
    their old ones.
    """
    from pyspark.sql import functions as F

    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(rows)
    rows, new = with_new_bucket(target.table, bucketing, rows)
    located = rows.withColumn(_NEW_BUCKET, new)
    number = F.when(F.expr(inserting), F.col(_NEW_BUCKET)).otherwise(
        sinks.expression(sinks.DECODED_BUCKET)
    )
    placed = jvm.in_numbered_tasks(located, bucketing.count, number.cast("int"))
    return placed.drop(BUCKET, _NEW_BUCKET)


def with_new_bucket(
    table: Table, bucketing: Bucketing, rows: DataFrame
) -> tuple[DataFrame, Column]:
    """Rows that are written anew, and the bucket of each by the values of its columns: see
    ``with_bucket_number``.
    """
    columns = {
        c.name: (name, c.type)
        for name, c in zip(data_names(table.columns), table.columns, strict=True)
    }
    sources = [columns[name] for name in bucketing.columns]
    return with_bucket_number(rows, sources, bucketing.count, bucketing.version)


def _in_few_tasks(rows: DataFrame) -> DataFrame:
    """The rows in as many tasks as there can be buckets. ``coalesce`` copies each row, also where
    there is nothing to do.

    Except that rows which are part of the plan need it: Spark would number them and their tasks
    while it plans, as if there were one.
    """
    tasks = jvm.task_count(rows)
    return (
        rows
        if tasks is not None and tasks <= sinks.MAX_TASKS and not jvm.is_literal(rows)
        else rows.coalesce(sinks.MAX_TASKS)
    )


def in_tasks_of_old_rows(target: WriteTarget, changed: DataFrame) -> DataFrame:
    """A row stays in its bucket; without CLUSTERED BY any bucket will do, and it stays where it was
    read.
    """
    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(changed)
    return jvm.in_numbered_tasks(changed, bucketing.count, sinks.expression(sinks.DECODED_BUCKET))
