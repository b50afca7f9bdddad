"""The merge of a compaction whose rows do not fit the driver: one job over all buckets.

Rows keep all their ids, so a task needs nothing but the rows of one bucket in the order of these;
the files are finished as those of a statement are (``event_files``), on the executors where these
are other machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.acid.ids import MAX_BUCKET_ID, NO_STATEMENT, ROW_ID_COLUMN, BucketId, decode, encode
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.expressions.spark_words import identifier
from acidsql.files.fileio import FileIO, spark_url
from acidsql.spark import jvm
from acidsql.spark.read.scan_words import META_DDL, META_NEEDED, scan_of, stored_type, visible_sql
from acidsql.spark.write import format_writer, sinks
from acidsql.spark.write.counting import Counting
from acidsql.spark.write.event_files import finish_parts
from acidsql.spark.write.stored_sql import refusals
from acidsql.spark.write.tasks import in_tasks_of_buckets
from acidsql.storage.footers import ID_COLUMN_NUMBERS, ScanFile
from acidsql.storage.stored import data_names
from acidsql.storage.write import finish
from acidsql.storage.write.target import StagedFile, WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.acid.ids import ValidWriteIdList
    from acidsql.spark.read.reader import SnapshotReader
    from acidsql.storage.snapshots import TableSnapshot

_BUCKET = 1
"""The place of the bucket property among ID_COLUMN_NUMBERS."""

_WRITE_ID, _NUMBER = "acidsql_write_id", "acidsql_number"

PLAIN_FILE_BYTES = 256 << 20
"""The bytes of small files without events that become one file."""


def stage_compacted_inserts(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    directory: str,
    rows: DataFrame,
    files: Sequence[ScanFile],
) -> list[StagedFile]:
    """Finished files of ``rows`` (``SnapshotReader.events``), which come from ``files``."""
    return _stage(spark, io, target, directory, rows, bucket_count(files))


def _stage(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    directory: str,
    rows: DataFrame,
    buckets: int,
) -> list[StagedFile]:
    folder, counting = f"{directory}/rows", Counting()
    with refusals():
        events = sinks.compacted_events(target, rows, buckets, counting)
        sinks.orc_writer(target, events).orc(spark_url(folder))
    parts = sinks.part_files(io, folder)
    return counting.checked(finish_parts(spark, io, target, finish.finish_kept, parts))


def stage_rebalanced(
    spark: SparkSession,
    io: FileIO,
    reader: SnapshotReader,
    target: WriteTarget,
    directory: str,
    snapshot: TableSnapshot,
    *,
    buckets: int,
    order_by: str | None,
) -> list[StagedFile]:
    """Finished files of all rows numbered through, in buckets of one size: in the order of their
    ids, or ``order_by``; then all get the target's write id. Hive:
    CompactionQueryBuilderForRebalance.
    """
    columns = target.table.columns
    view = reader.view(snapshot, row_id=True)
    row = spark.sql(f"SELECT count(*) FROM {view}").first()
    of_bucket = max(1, -(-(row[0] if row else 0) // buckets))
    ids = f"{ROW_ID_COLUMN}.writeid, {ROW_ID_COLUMN}.bucketid, {ROW_ID_COLUMN}.rowid"
    number = f"row_number() OVER (ORDER BY {order_by or ids}) - 1L"
    write_id = f"{ROW_ID_COLUMN}.writeid" if order_by is None else f"{max(0, target.write_id)}L"
    names = ", ".join(identifier(c.name) for c in columns)
    numbered = spark.sql(f"SELECT {write_id}, {number}, {names} FROM {view}").toDF(
        _WRITE_ID, _NUMBER, *data_names(columns)
    )
    first = encode(BucketId(0), NO_STATEMENT)
    properties = f"CAST({first} + ({_NUMBER} DIV {of_bucket}) * {1 << 16} AS int)"
    values = (_WRITE_ID, properties, _NUMBER, _WRITE_ID)
    leading = [f"{v} AS {n}" for v, n in zip(values, (*ID_FIELDS, sinks.CURRENT), strict=True)]
    rows = numbered.selectExpr(*leading, *data_names(columns))
    return _stage(spark, io, target, directory, rows, buckets)


def bucket_count(files: Sequence[ScanFile]) -> int:
    """One more than the highest bucket number among the rows of files, by what their footers say;
    the most there can be where one does not say it.
    """
    highest = 0
    for file in files:
        if file.file.original:
            number: int | None = file.file.bucket
        else:
            ranges = file.ranges if len(file.id_statistics) == len(ID_COLUMN_NUMBERS) else ()
            known = ranges[_BUCKET] if ranges else None
            number = None if known is None else max(decode(value).bucket for value in known)
        highest = max(highest, MAX_BUCKET_ID if number is None else number)
    return highest + 1


def stage_compacted_deletes(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    directory: str,
    files: Sequence[ScanFile],
    write_ids: ValidWriteIdList,
) -> list[StagedFile]:
    """Finished files of the delete events of ``files`` by valid write ids, each once; of several
    that hit one row the first.
    """
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    first = files[0].columns
    row = f"{identifier(first.names[0])}:{stored_type(first.children[0])}"
    condition = f"{META_NEEDED} AND (row IS NULL OR operation >= 0)"
    events = scan_of(spark, files, f"{META_DDL}, row struct<{row}>", {}).where(
        condition + visible_sql(write_ids, files)
    )
    once = events.groupBy(*ID_FIELDS).agg({sinks.CURRENT: "min"})
    ids = once.toDF(*ID_FIELDS, sinks.CURRENT)
    folder, counting = f"{directory}/ids", Counting()
    delete_events = sinks.delete_events(target, ids, tasks, counting, sinks.CURRENT)
    sinks.orc_writer(target, delete_events).partitionBy(sinks.BUCKET_DIRECTORY).orc(
        spark_url(folder)
    )
    parts = sinks.bucket_folders(io, folder)
    return counting.checked(finish_parts(spark, io, target, finish.finish_deletes, parts))


def stage_compacted_plain(
    spark: SparkSession,
    io: FileIO,
    reader: SnapshotReader,
    target: WriteTarget,
    directory: str,
    snapshot: TableSnapshot,
) -> list[StagedFile]:
    """Finished files of all rows of an insert-only table, or of one partition of it."""
    columns = target.table.columns
    names = ", ".join(identifier(c.name) for c in columns)
    rows = spark.sql(f"SELECT {names} FROM {reader.view(snapshot)}").toDF(*data_names(columns))
    size = sum(file.file.size for file in snapshot.insert_files)
    if target.table.bucketing is None:
        most = -(-size // PLAIN_FILE_BYTES) or 1
        tasks = jvm.task_count(rows)
        rows = rows if tasks is not None and tasks <= most else rows.coalesce(most)
    else:
        rows = in_tasks_of_buckets(target, rows)
    folder, counting = f"{directory}/rows", Counting()
    format_writer.write_rows(spark, target, counting.of(rows), folder)
    parts = sinks.part_files(io, folder)
    return counting.checked(finish_parts(spark, io, target, finish.finish_plain, parts))
