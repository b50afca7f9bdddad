"""INSERT, UPDATE and DELETE of rows Spark computes: which of the two paths.

Small path: ``fetched`` rows become files on the driver (driver_writer). It is taken when they fit
``max_bytes``, which a bounded fetch finds out; INSERT skips the fetch when Spark's plan shows that
it would be in vain.

Big path: Spark writes, in one job, flat files into the staging directory (sinks); its commit
protocol decides which task's attempt counts; the files are then finished (event_files).

    INSERT   no shuffle; task n writes bucket n. CLUSTERED BY: rows go to the task of their bucket
    first.
    UPDATE   the same for the new rows; the old ids are staged beside them in the same job, so that
    nothing is computed twice,
             then sorted into delete files: on the driver, or by a second job that reads nothing but
             the staged ids.
    DELETE   ids go to the task of their bucket and are sorted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Table
from acidsql.errors import InternalError
from acidsql.expressions.losses import Counter, lost_names
from acidsql.expressions.spark_words import identifier, spark_type, text_literal
from acidsql.files.fileio import FileIO
from acidsql.plan.operators import Effect
from acidsql.planner.bind.bound import BoundLoad
from acidsql.spark import jvm
from acidsql.spark.read.scan_words import key_sql
from acidsql.spark.write import format_writer, sinks
from acidsql.spark.write.counting import Counting
from acidsql.spark.write.event_files import finish_parts, stage_deletes, stage_inserts, stage_update
from acidsql.spark.write.fetching import fetch_rows
from acidsql.spark.write.tasks import in_tasks_of_buckets
from acidsql.storage.load import Source, found_files
from acidsql.storage.partitions import key_names
from acidsql.storage.snapshots import PartitionSnapshot, TableSnapshot
from acidsql.storage.stored import data_names
from acidsql.storage.write import finish
from acidsql.storage.write.target import (
    StagedFile,
    WriteTarget,
    Written,
    partitions_of,
    staging,
    take_in,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.read.reader import SnapshotReader


def fetched(
    target: WriteTarget, rows: DataFrame, effect: Effect, max_bytes: int
) -> pa.Table | None:
    """The rows on the driver (``named``); None if they weigh more than ``max_bytes``, or only Spark
    can write them.
    """
    if effect is Effect.INSERT and _is_known_large(target, rows, max_bytes):
        return None
    columns = target.table.columns if _has_values(target, effect) else ()
    return fetch_rows(target, as_named(target, rows, effect), _leading(effect), columns, max_bytes)


def write_by_job(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    rows: DataFrame,
    effect: Effect,
    counters: Sequence[Counter] = (),
) -> Written:
    """Files that a job of Spark's writes. ``rows``: see ``as_named``; ``counters``: those of their
    marks. CardinalityError as ``write_fetched``.
    """
    rows, counting = as_named(target, rows, effect), Counting(counters)
    match effect:
        case Effect.INSERT if target.table.is_full_acid:
            return _insert(spark, io, target, rows, counting)
        case Effect.INSERT:
            return _insert_plain(spark, io, target, rows, counting)
        case Effect.UPDATE:
            return _update(spark, io, target, rows, counting)
        case Effect.DELETE:
            return _delete(spark, io, target, rows)
        case Effect.MERGE:
            raise InternalError("a MERGE writes the rows of each clause")
        case _:
            assert_never(effect)


def _has_values(target: WriteTarget, effect: Effect) -> bool:
    return effect is not Effect.DELETE or target.returns


def as_named(target: WriteTarget, rows: DataFrame, effect: Effect) -> DataFrame:
    """The rows of a statement as the functions here call their columns.

    INSERT gives the table's columns in order, cast to its types, then its partition columns; UPDATE
    ID_FIELDS of the old row before them; DELETE ID_FIELDS and the partition columns, or, where it
    gives its rows back, what UPDATE gives.
    """
    return named(target, rows, *_leading(effect), values=_has_values(target, effect))


def _leading(effect: Effect) -> tuple[str, ...]:
    return () if effect is Effect.INSERT else ID_FIELDS


def _is_known_large(target: WriteTarget, rows: DataFrame, max_bytes: int) -> bool:
    """Whether the plan shows that a fetch would be in vain."""
    return (
        target.force_path == "auto"
        and (jvm.estimated_bytes(rows) or 0) > max_bytes
        and jvm.keeps_all_rows(rows)
    )


def _insert(
    spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame, counting: Counting
) -> Written:
    with staging(io, target) as directory:
        files = stage_inserts(spark, io, target, f"{directory}/rows", rows, counting)
        directories = take_in(target, files)
    partitions = partitions_of(files) or target.sure
    return Written(
        directories=directories,
        partitions=partitions,
        inserted=_rows(files),
        path="big",
        lost=counting.lost(),
    )


def _update(
    spark: SparkSession, io: FileIO, target: WriteTarget, changed: DataFrame, counting: Counting
) -> Written:
    with staging(io, target) as directory:
        deletes, inserts = stage_update(spark, io, target, directory, changed, counting)
        directories = take_in(target, [*deletes, *inserts])
    return Written(
        directories=directories,
        partitions=partitions_of(inserts),
        updated=_rows(inserts),
        path="big",
        lost=counting.lost(),
    )


def _delete(spark: SparkSession, io: FileIO, target: WriteTarget, ids: DataFrame) -> Written:
    with staging(io, target) as directory:
        files = stage_deletes(spark, io, target, directory, ids)
        directories = take_in(target, files)
    return Written(
        directories=directories, partitions=partitions_of(files), deleted=_rows(files), path="big"
    )


def _insert_plain(
    spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame, counting: Counting
) -> Written:
    """Rows without ids, whatever the table's format."""
    with staging(io, target) as directory:
        placed = counting.of(in_tasks_of_buckets(target, rows))
        format_writer.write_rows(spark, target, placed, f"{directory}/rows")
        parts = sinks.part_files(io, f"{directory}/rows")
        files = counting.checked(finish_parts(spark, io, target, finish.finish_plain, parts))
        directories = take_in(target, files)
    partitions = partitions_of(files) or target.sure
    return Written(
        directories=directories,
        partitions=partitions,
        inserted=_rows(files),
        path="big",
        lost=counting.lost(),
    )


def literal_rows(spark: SparkSession, table: Table, rows: pa.Table) -> DataFrame:
    """Rows as ``driver_writer`` takes them, as ``insert`` does. A timestamp without a zone is one
    of the session's.
    """
    casts = [
        f"CAST({identifier(c.name)} AS {spark_type(c.type)}) AS {identifier(c.name)}"
        for c in table.columns
    ]
    return jvm.frame_of(spark, rows).selectExpr(*casts, *key_names(table)).repartition(1)


def named(target: WriteTarget, rows: DataFrame, *leading: str, values: bool = True) -> DataFrame:
    """``leading``, then ``data_names`` if there are ``values``, then ``key_names`` as texts, then
    marks if there are some.
    """
    names = [*leading, *(data_names(target.table.columns) if values else ())]
    keys, lost = key_names(target.table), lost_names(rows.columns)
    named = rows.toDF(*names, *keys, *lost)
    texts = [f"{key_sql(key)} AS {key}" for key in keys]
    return named.selectExpr(*names, *texts, *lost) if keys else named


def _rows(files: list[StagedFile]) -> int:
    return sum(file.rows for file in files)


# ---- LOAD DATA
#
# LOAD DATA by INSERT: the rows of the files, for a table that wants each in its bucket or asks
# rules of it.


def loaded_rows(
    spark: SparkSession,
    reader: SnapshotReader,
    target: WriteTarget,
    action: BoundLoad,
    sources: Sequence[Source],
) -> DataFrame:
    """What is in the files, in the columns INSERT wants."""
    table = replace(target.table, partition_columns=(), bucketing=None)
    part = PartitionSnapshot(root=target.root, own_inserts=found_files(sources))
    view = reader.view(TableSnapshot(table=table, partitions=(part,)))
    keys = action.partition.static if action.partition is not None else ()
    return spark.table(view).selectExpr(
        "*", *(f"{text_literal(text)} AS {identifier(name)}" for name, text in keys)
    )
