"""INSERT, UPDATE and DELETE of rows Spark computes: which of the two paths, and the big one's jobs.

Small path: the rows come to the driver and become files there (driver_writer). It is taken when they fit ``max_bytes``, which a
bounded fetch finds out; INSERT skips the fetch when the plan shows that it would be in vain.

Big path: Spark writes, in one job, flat files into the staging directory (sinks); its commit protocol decides which task's
attempt counts; the files are then finished and published.

    INSERT   no shuffle; task n writes bucket n. CLUSTERED BY: rows go to the task of their bucket first.
    UPDATE   the same for the new rows; the old ids are staged beside them in the same job, so that nothing is computed twice,
             then sorted into delete files: on the driver, or by a second job that reads nothing but the staged ids.
    DELETE   ids go to the task of their bucket and are sorted there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from acidsql.acid.ids import StatementId
from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.planner.lowering import identifier, spark_type
from acidsql.spark import classic, driver_writer, format_writer, sinks
from acidsql.spark.driver_writer import ID_COLUMNS
from acidsql.spark.executors import work_on_files
from acidsql.spark.expressions import bucket_number
from acidsql.spark.fetching import fetch_rows
from acidsql.spark.fileio import FileIO, in_parallel
from acidsql.spark.partition_places import key_names, key_sql
from acidsql.spark.publish import partitions_of, publish, publish_rows, staging
from acidsql.spark.session import settings_during
from acidsql.spark.stored import refusals
from acidsql.spark.target import ID_BYTES, StagedFile, WriteTarget, Written
from acidsql.spark.urls import spark_url

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.sinks import PartFile

__all__ = ["WriteTarget", "Written", "delete", "insert", "insert_plain", "update"]

_CONCURRENT_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"
_INSERT_SHARE = 4
"""An INSERT's share of ``max_bytes``: its rows go to one file, which one thread compresses."""


def insert(spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame) -> Written:
    """``rows``: the table's columns in order, cast to its types; then its partition columns."""
    if target.table.is_insert_only:
        return insert_plain(spark, io, target, rows)
    rows = named(target, rows)
    found = _fetch_inserted(target, rows)
    if found is not None:
        return driver_writer.write_rows(io, target, found)
    with staging(io, target) as directory:
        files = stage_inserts(spark, io, target, f"{directory}/rows", rows)
        directories = publish(io, target, files, empty=target.sure_directories)
    partitions = partitions_of(files) or target.sure
    return Written(directories=directories, partitions=partitions, inserted=_rows(files), path="big")


def update(spark: SparkSession, io: FileIO, target: WriteTarget, changed: DataFrame) -> Written:
    """``changed``: ``originalTransaction``, ``bucket``, ``rowId`` of the old rows, then the new values of all columns, then the partition's.

    CardinalityError if an id comes twice; nothing is published then.
    """
    changed = named(target, changed, *ID_COLUMNS)
    found = _fetch_changed(target, changed, target.table.columns)
    if found is not None:
        return driver_writer.write_update(io, target, found)
    with staging(io, target) as directory:
        deletes, inserts = stage_update(spark, io, target, directory, changed)
        directories = publish(io, target, [*deletes, *inserts])
    return Written(directories=directories, partitions=partitions_of(inserts), updated=_rows(inserts), path="big")


def delete(spark: SparkSession, io: FileIO, target: WriteTarget, doomed: DataFrame) -> Written:
    """``doomed``: ``originalTransaction``, ``bucket``, ``rowId``, then the partition's values.

    CardinalityError if an id comes twice; nothing is published then.
    """
    doomed = named(target, doomed, *ID_COLUMNS, values=False)
    found = _fetch_changed(target, doomed, ())
    if found is not None:
        return driver_writer.write_delete(io, target, found)
    with staging(io, target) as directory:
        files = stage_deletes(spark, io, target, directory, doomed)
        directories = publish(io, target, files)
    return Written(directories=directories, partitions=partitions_of(files), deleted=_rows(files), path="big")


def insert_plain(spark: SparkSession, io: FileIO, target: WriteTarget, rows: DataFrame) -> Written:
    """INSERT into a table without row ids, whatever its format; ``rows`` as for ``insert``. The small path is for ORC only."""
    rows = named(target, rows)
    found = _fetch_inserted(target, rows) if target.table.file_format is FileFormat.ORC else None
    if found is not None:
        return driver_writer.write_plain_rows(io, target, found)
    with staging(io, target) as directory:
        format_writer.write_rows(spark, target, _in_tasks(target, rows), f"{directory}/rows")
        parts = sinks.part_files(io, f"{directory}/rows")
        files = _finish(spark, io, target, format_writer.finished, parts)
        directories = publish_rows(io, target, files)
    partitions = partitions_of(files) or target.sure
    return Written(directories=directories, partitions=partitions, inserted=_rows(files), path="big", files=tuple(files))


def literal_rows(spark: SparkSession, table: Table, rows: pa.Table) -> DataFrame:
    """Rows as ``driver_writer`` takes them, as ``insert`` does. A timestamp without a zone is one of the session's."""
    casts = [f"CAST({identifier(c.name)} AS {spark_type(c.type)}) AS {identifier(c.name)}" for c in table.columns]
    return spark.createDataFrame(rows).selectExpr(*casts, *key_names(table)).repartition(1)


def named(target: WriteTarget, rows: DataFrame, *leading: str, values: bool = True) -> DataFrame:
    """``leading``, then ``data_names`` if there are ``values``, then ``key_names`` as texts."""
    names = [*leading, *(sinks.data_names(target.table.columns) if values else ())]
    keys = key_names(target.table)
    named = rows.toDF(*names, *keys)
    return named.selectExpr(*names, *(f"{key_sql(key)} AS {key}" for key in keys)) if keys else named


# ---- the small path's fetch


def _fetch_inserted(target: WriteTarget, rows: DataFrame) -> pa.Table | None:
    share = target.max_bytes // _INSERT_SHARE
    if target.force_path == "auto" and (classic.estimated_bytes(rows) or 0) > share and classic.keeps_all_rows(rows):
        return None
    return fetch_rows(target, rows, (), target.table.columns, share)


def _fetch_changed(target: WriteTarget, rows: DataFrame, columns: tuple[Column, ...]) -> pa.Table | None:
    return fetch_rows(target, rows, ID_COLUMNS, columns, target.max_bytes)


# ---- the big path's jobs


def stage_inserts(spark: SparkSession, io: FileIO, target: WriteTarget, folder: str, rows: DataFrame) -> list[StagedFile]:
    """Finished files of insert events of ``rows`` (``sinks.data_names``, ``key_names``), written to ``folder``."""
    placed = _in_tasks(target, rows)
    with refusals():
        sinks.orc_writer(target, sinks.insert_events(target, placed)).partitionBy(*key_names(target.table)).orc(spark_url(folder))
    return finish_inserts(spark, io, target, sinks.part_files(io, folder))


def stage_update(
    spark: SparkSession, io: FileIO, target: WriteTarget, directory: str, changed: DataFrame
) -> tuple[list[StagedFile], list[StagedFile]]:
    """Finished files of delete and of insert events of ``changed`` (ID_COLUMNS, ``sinks.data_names``, ``key_names``), below ``directory``."""
    placed = _in_tasks_of_old_rows(target, changed)
    keys = key_names(target.table)
    # Without partitions a task may write both sinks at once, instead of sorting its rows by sink first.
    with settings_during(spark, {_CONCURRENT_WRITERS: "0" if keys else "2"}), refusals():
        sinks.orc_writer(target, sinks.update_events(target, placed)).partitionBy(sinks.SINK, *keys).orc(spark_url(f"{directory}/rows"))
    new = sinks.part_files(io, f"{directory}/rows/{sinks.SINK}={sinks.sink()}")
    old = sinks.part_files(io, f"{directory}/rows/{sinks.SINK}={sinks.sink(deletes=True)}")
    deletes = delete_files(spark, io, target, f"{directory}/rows", directory, old)
    return deletes, finish_inserts(spark, io, target, new)


def _in_tasks(target: WriteTarget, rows: DataFrame) -> DataFrame:
    """The rows in tasks whose numbers are bucket numbers."""
    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(rows)
    columns = {c.name: (name, c.type) for name, c in zip(sinks.data_names(target.table.columns), target.table.columns, strict=True)}
    number = bucket_number([columns[name] for name in bucketing.columns], bucketing.count, bucketing.version)
    return rows.repartitionById(bucketing.count, number)


def in_tasks_of_merge(target: WriteTarget, rows: DataFrame, inserting: str) -> DataFrame:
    """New rows (where ``inserting`` holds) in the tasks of their buckets, the others in those of their old ones."""
    from pyspark.sql import functions as F

    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(rows)
    columns = {c.name: (name, c.type) for name, c in zip(sinks.data_names(target.table.columns), target.table.columns, strict=True)}
    new = bucket_number([columns[name] for name in bucketing.columns], bucketing.count, bucketing.version)
    located = rows.withColumn("acidsql_new_bucket", new)
    number = F.when(F.expr(inserting), F.col("acidsql_new_bucket")).otherwise(sinks.expression(sinks.DECODED_BUCKET))
    return located.repartitionById(bucketing.count, number.cast("int")).drop("acidsql_new_bucket")


def _in_few_tasks(rows: DataFrame) -> DataFrame:
    """As many tasks as there can be buckets. ``coalesce`` copies each row, also where there is nothing to do.

    Except that rows which are part of the plan need it: Spark would number them and their tasks while it plans, as if there were one.
    """
    tasks = classic.task_count(rows)
    return rows if tasks is not None and tasks <= sinks.MAX_TASKS and not classic.is_literal(rows) else rows.coalesce(sinks.MAX_TASKS)


def _in_tasks_of_old_rows(target: WriteTarget, changed: DataFrame) -> DataFrame:
    """A row stays in its bucket; without CLUSTERED BY any bucket will do, and it stays where it was read."""
    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(changed)
    return changed.repartitionById(bucketing.count, sinks.expression(sinks.DECODED_BUCKET))


def finish_inserts(spark: SparkSession, io: FileIO, target: WriteTarget, parts: list[PartFile]) -> list[StagedFile]:
    return _finish(spark, io, target, sinks.finish_inserts, parts)


def delete_files(
    spark: SparkSession, io: FileIO, target: WriteTarget, root: str, directory: str, parts: list[PartFile]
) -> list[StagedFile]:
    """Delete files of ids staged below ``root``, in ``directory``: sorted in memory if they fit, else by a job of their own."""
    count = sum(sinks.tail_of(io, part.path).row_count for part in parts)
    if not count:
        return []
    if count * ID_BYTES > target.max_bytes:
        return stage_deletes(spark, io, target, directory, staged_ids(spark, target, root, parts))
    of_partition: dict[tuple[str, ...], list[PartFile]] = {}
    for part in parts:
        of_partition.setdefault(part.values, []).append(part)
    files: list[driver_writer.EventFile] = []
    for values, mine in of_partition.items():
        files += driver_writer.deleted_files(target.at(values), sinks.read_ids(io, mine))
    io.make_directory(directory)
    return in_parallel(lambda file: driver_writer.stage_file(io, directory, file), files)


def staged_ids(spark: SparkSession, target: WriteTarget, root: str, parts: Sequence[PartFile]) -> DataFrame:
    """ID_COLUMNS and ``key_names`` of files staged below ``root``."""
    keys = key_names(target.table)
    schema = ", ".join(["originalTransaction bigint, bucket int, rowId bigint", *(f"{key} string" for key in keys)])
    ids = spark.read.schema(schema).option("basePath", spark_url(root)).orc([_literal_path(spark_url(part.path)) for part in parts])
    return ids.selectExpr(*ID_COLUMNS, *(f"{key_sql(key)} AS {key}" for key in keys))  # Spark takes the default partition for NULL


def stage_deletes(spark: SparkSession, io: FileIO, target: WriteTarget, directory: str, ids: DataFrame) -> list[StagedFile]:
    """Finished files of delete events of ``ids`` (ID_COLUMNS, ``key_names``), below ``directory``."""
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    events = sinks.delete_events(target, ids, tasks)
    sinks.orc_writer(target, events).partitionBy(sinks.BUCKET_DIRECTORY, *key_names(target.table)).orc(spark_url(f"{directory}/ids"))
    return _finish(spark, io, target, sinks.finish_deletes, sinks.bucket_folders(io, f"{directory}/ids"))


def stage_kept(
    spark: SparkSession, io: FileIO, target: WriteTarget, directory: str, rows: DataFrame, *, buckets: int, one_base: bool
) -> list[StagedFile]:
    """Finished files of rows (ID_COLUMNS, then the table's) of one partition that keep their ids; see ``driver_writer.kept_files``.

    ``buckets``: one more than the highest bucket number among them.
    """
    columns = target.table.columns
    named = rows.toDF(*ID_COLUMNS, *sinks.data_names(columns))
    found = _fetch_changed(replace(target, table=replace(target.table, partition_columns=())), named, columns)
    if found is not None:
        files = driver_writer.kept_files(target, found, one_base=one_base)
        return in_parallel(lambda file: driver_writer.stage_file(io, directory, file), files)
    folder = f"{directory}/kept"
    with refusals():
        events = sinks.kept_events(target, named, buckets, one_base=one_base)
        sinks.orc_writer(target, events).partitionBy(sinks.STATEMENT).orc(spark_url(folder))
    staged = []
    of_partition = replace(target, places=None, overwrite=one_base)
    for entry in {path.path.partition("/")[0] for path in io.list_files(folder)}:
        statement = replace(of_partition, statement_id=StatementId(int(entry.partition("=")[2])))
        staged += _finish(spark, io, statement, sinks.finish_kept, sinks.part_files(io, f"{folder}/{entry}"))
    return staged


_Finish = Callable[[FileIO, WriteTarget, "PartFile"], StagedFile | None]


def _finish(spark: SparkSession, io: FileIO, target: WriteTarget, finish: _Finish, parts: list[PartFile]) -> list[StagedFile]:
    """``finish`` on each part; the files that hold rows. Where they are other files than the parts, those go."""
    items = [(target.at(part.values).for_tasks, part) for part in parts]
    finished = work_on_files(spark, io, target.table.location, partial(_finish_one, finish), items)
    in_parallel(
        io.delete_file, [part.path for part, file in zip(parts, finished, strict=True) if file is not None and file.path != part.path]
    )
    return [file for file in finished if file is not None]


def _finish_one(finish: _Finish, io: FileIO, item: tuple[WriteTarget, PartFile]) -> StagedFile | None:
    return finish(io, *item)


def _rows(files: list[StagedFile]) -> int:
    return sum(file.rows for file in files)


def _literal_path(path: str) -> str:
    """A path as Spark reads it without taking a mark in it for a wildcard."""
    return re.sub(r"([\\{}\[\]*?^])", r"\\\1", path)
