"""Finished files of events that Spark's jobs write: flat files in the staging directory (sinks),
whose footers and names are then put right, each where it lies (finish).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from acidsql.acid.ids import StatementId
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.files.fileio import FileIO, spark_url
from acidsql.files.parallel import in_parallel
from acidsql.spark.read.scan_words import key_sql
from acidsql.spark.start.session import settings_during
from acidsql.spark.start.workers import work_on_files
from acidsql.spark.write import sinks
from acidsql.spark.write.counting import Counting
from acidsql.spark.write.fetching import fetch_rows
from acidsql.spark.write.stored_sql import refusals
from acidsql.spark.write.tasks import in_tasks_of_buckets, in_tasks_of_old_rows
from acidsql.storage.events.row_ids import read_ids
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names
from acidsql.storage.write import driver_writer, finish
from acidsql.storage.write.driver_writer import EventFile
from acidsql.storage.write.target import ID_BYTES, StagedFile, WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.storage.write.finish import PartFile

_CONCURRENT_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def stage_inserts(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    folder: str,
    rows: DataFrame,
    counting: Counting,
) -> list[StagedFile]:
    """Finished files of insert events of ``rows`` (``data_names``, ``key_names``), written to
    ``folder``.
    """
    placed = counting.of(in_tasks_of_buckets(target, rows))
    with refusals():
        sinks.orc_writer(target, sinks.insert_events(target, placed)).partitionBy(
            *key_names(target.table)
        ).orc(spark_url(folder))
    return counting.checked(finish_inserts(spark, io, target, sinks.part_files(io, folder)))


def stage_update(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    directory: str,
    changed: DataFrame,
    counting: Counting,
) -> tuple[list[StagedFile], list[StagedFile]]:
    """Finished files of delete and of insert events of ``changed`` (ID_FIELDS,
    ``data_names``, ``key_names``), below ``directory``.
    """
    placed = counting.of(in_tasks_of_old_rows(target, changed), events="2")
    keys = key_names(target.table)
    # Without partitions a task may write both sinks at once, instead of sorting its rows by sink
    # first.
    with settings_during(spark, {_CONCURRENT_WRITERS: "0" if keys else "2"}), refusals():
        sinks.orc_writer(target, sinks.update_events(target, placed)).partitionBy(
            sinks.SINK, *keys
        ).orc(spark_url(f"{directory}/rows"))
    new = sinks.part_files(io, f"{directory}/rows/{sinks.SINK}={sinks.sink()}")
    old = sinks.part_files(io, f"{directory}/rows/{sinks.SINK}={sinks.sink(deletes=True)}")
    deletes = delete_files(spark, io, target, f"{directory}/rows", directory, old)
    inserts = finish_inserts(spark, io, target, new)
    counting.checked([*deletes, *inserts])
    return deletes, inserts


def finish_inserts(
    spark: SparkSession, io: FileIO, target: WriteTarget, parts: list[PartFile]
) -> list[StagedFile]:
    return finish_parts(spark, io, target, finish.finish_inserts, parts)


def delete_files(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    root: str,
    directory: str,
    parts: list[PartFile],
) -> list[StagedFile]:
    """Delete files of ids staged below ``root``, in ``directory``: sorted in memory if they fit,
    else by a job of their own.
    """
    count = sum(finish.tail_of(io, part.path).row_count for part in parts)
    if not count:
        return []
    if count * ID_BYTES > target.max_bytes:
        return stage_deletes(spark, io, target, directory, staged_ids(spark, target, root, parts))
    of_partition: dict[tuple[str, ...], list[PartFile]] = {}
    for part in parts:
        of_partition.setdefault(part.values, []).append(part)
    files: list[EventFile] = []
    for values, group in of_partition.items():
        files += driver_writer.deleted_files(
            target.at(values), read_ids(io, [part.path for part in group])
        )
    io.make_directory(directory)
    return in_parallel(lambda file: driver_writer.stage_file(io, directory, file), files)


def staged_ids(
    spark: SparkSession, target: WriteTarget, root: str, parts: Sequence[PartFile]
) -> DataFrame:
    """ID_FIELDS and ``key_names`` of files staged below ``root``."""
    keys = key_names(target.table)
    schema = ", ".join(
        ["originalTransaction bigint, bucket int, rowId bigint", *(f"{key} string" for key in keys)]
    )
    ids = (
        spark.read.schema(schema)
        .option("basePath", spark_url(root))
        .orc([_literal_path(spark_url(part.path)) for part in parts])
    )
    # Spark takes the default partition for NULL
    return ids.selectExpr(*ID_FIELDS, *(f"{key_sql(key)} AS {key}" for key in keys))


def stage_deletes(
    spark: SparkSession, io: FileIO, target: WriteTarget, directory: str, ids: DataFrame
) -> list[StagedFile]:
    """Finished files of delete events of ``ids`` (ID_FIELDS, ``key_names``), below
    ``directory``.
    """
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    counting = Counting()
    events = sinks.delete_events(target, ids, tasks, counting)
    sinks.orc_writer(target, events).partitionBy(
        sinks.BUCKET_DIRECTORY, *key_names(target.table)
    ).orc(spark_url(f"{directory}/ids"))
    parts = sinks.bucket_folders(io, f"{directory}/ids")
    return counting.checked(finish_parts(spark, io, target, finish.finish_deletes, parts))


def stage_kept(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    directory: str,
    rows: DataFrame,
    *,
    buckets: int,
    one_base: bool,
) -> list[StagedFile]:
    """Finished files of rows (ID_FIELDS, then the table's) of one partition that keep their ids;
    see ``driver_writer.kept_files``.

    ``buckets``: one more than the highest bucket number among them.
    """
    columns = target.table.columns
    named = rows.toDF(*ID_FIELDS, *data_names(columns))
    fetched = fetch_rows(
        replace(target, table=replace(target.table, partition_columns=())),
        named,
        ID_FIELDS,
        columns,
        target.max_bytes,
    )
    if fetched is not None:
        files = driver_writer.kept_files(target, fetched, one_base=one_base)
        return in_parallel(lambda file: driver_writer.stage_file(io, directory, file), files)
    folder, counting = f"{directory}/kept", Counting()
    with refusals():
        events = sinks.kept_events(target, named, buckets, counting, one_base=one_base)
        sinks.orc_writer(target, events).partitionBy(sinks.STATEMENT).orc(spark_url(folder))
    staged = []
    of_partition = replace(target, partition_index=None, overwrite=one_base)
    for entry in {path.path.partition("/")[0] for path in io.list_files(folder)}:
        statement = replace(of_partition, statement_id=StatementId(int(entry.partition("=")[2])))
        staged += finish_parts(
            spark, io, statement, finish.finish_kept, sinks.part_files(io, f"{folder}/{entry}")
        )
    return counting.checked(staged)


def finish_parts(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    finishing: finish.Finish,
    parts: list[PartFile],
) -> list[StagedFile]:
    """``finishing`` of each part; the files that hold rows. Where they are other files than the
    parts, those go.
    """
    items = [(target.at(part.values).for_tasks, part) for part in parts]
    finished = work_on_files(
        spark, io, target.table.location, partial(finish.finish_one, finishing), items
    )
    in_parallel(
        io.delete_file,
        [
            part.path
            for part, file in zip(parts, finished, strict=True)
            if file is not None and file.path != part.path
        ],
    )
    return [file for file in finished if file is not None]


def _literal_path(path: str) -> str:
    """A path as Spark reads it without taking a mark in it for a wildcard."""
    return re.sub(r"([\\{}\[\]*?^])", r"\\\1", path)
