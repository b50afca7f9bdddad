"""The big path's files: what Spark is asked to write, and what it has written;
``storage.write.finish`` makes them Hive's.

Spark writes *flat* columns, the five event columns, an empty struct ``row`` and the data columns
beside it, because its ORC writer is a third slower on nested ones; ``finish`` edits the tail so
that the data columns become the children of ``row``. That edit gives them their names and types
too: until then they are ``c0, c1 ..``, because a column of the table may well be called ``bucket``.
Delete files hold no values and are written nested as they are.

Rows of a table with partitions carry their partitions' texts (partition_places) and are sorted by
them within each task, so that Spark writes a folder for each value and one file after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.ids import MAX_BUCKET_ID, BucketId, StatementId, encode
from acidsql.acid.orc_tail import OrcCodec
from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS, ROW_FIELD
from acidsql.catalog.model import Column
from acidsql.catalog.partitions import unescape
from acidsql.errors import InternalError
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.files.fileio import FileIO, split_url
from acidsql.plan.merge_sql import CLAUSE
from acidsql.planner.bind.bound import MergeAction
from acidsql.spark import jvm
from acidsql.spark.start.clocks import UTC_CLOCK, file_clock, timed
from acidsql.spark.write.counting import Counting
from acidsql.spark.write.stored_sql import stored_sql
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names
from acidsql.storage.write.driver_writer import DELETE_OPERATION, INSERT_OPERATION
from acidsql.storage.write.finish import PartFile
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, DataFrameWriter

MAX_TASKS = MAX_BUCKET_ID + 1
"""A task of an INSERT into a table without buckets writes the bucket of its own number."""

_IS_CODED = "shiftright(bucket, 29) = 1"
DECODED_BUCKET = f"CASE WHEN {_IS_CODED} THEN shiftright(bucket, 16) & 4095 ELSE bucket END"
"""The bucket number in Spark SQL, for both versions of the codec (acid.bucket_codec)."""

SINK = "acidsql_sink"
"""Which files an event goes to, as a number, because Spark sorts those fastest: see ``sink``."""
CURRENT = EVENT_FIELDS[4]
"""The write id of an event."""
BUCKET_DIRECTORY = "acidsql_bucket"
STATEMENT = "acidsql_statement"
OLD_IDS = ("acidsql_write_id", "acidsql_bucket_property", "acidsql_row_id")

_ROW = ROW_FIELD
_TASK = "acidsql_task"
_IS_NEW = f"({SINK} & 1) = 0"
_STATEMENT_OF_SINK = f"shiftright({SINK}, 1)"

_ROW_NUMBER = "monotonically_increasing_id() & 8589934591L"
"""0, 1, 2 .. in each task: the upper bits are the task's number."""

_CODECS = {
    OrcCodec.NONE: "none",
    OrcCodec.ZLIB: "zlib",
    OrcCodec.SNAPPY: "snappy",
    OrcCodec.LZ4: "lz4",
}
_STAGED = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
_LOCAL = {
    # Hadoop's own writes a file of checksums beside each file, and starts a process for each file
    # and directory it makes: chmod.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""Where the files are local. Drivers of object stores want Hadoop's own for their buffers."""
_PART_FILE = re.compile(r"(?:.*/)?part-(\d+)-[^/]*")
_BUCKET_FOLDER = re.compile(rf"(?:.*/)?{BUCKET_DIRECTORY}=(\d+)/.*")
_KEY_FOLDER = re.compile(r"(?<![^/])k\d+=([^/]*)/")


def sink(statement: int = 0, *, deletes: bool = False) -> int:
    """The number of a sink: it takes the insert events of a statement, or its delete events. The
    statement is number 0 where it is alone in its job.
    """
    return 2 * statement + deletes


# ---- what Spark writes


def insert_events(target: WriteTarget, rows: DataFrame) -> DataFrame:
    """Rows (``data_names``, ``key_names``) that lie in the tasks of their buckets, as flat insert
    events.

    Row ids count the rows of each task, those of a partition from 0.
    """
    keys = key_names(target.table)
    counted, number = _counted(rows.sortWithinPartitions(*keys) if keys else rows, keys)
    ids = [f"{target.write_id}L", _bucket_property(target, "spark_partition_id()"), number]
    events = counted.selectExpr(
        *_event(str(INSERT_OPERATION), ids, target),
        *stored_columns(target.table.columns, counted),
        *keys,
    )
    return _with_row(target, events)


def update_events(target: WriteTarget, changed: DataFrame) -> DataFrame:
    """Changed rows (ID_FIELDS, ``data_names``, ``key_names``), in the tasks of their new buckets,
    as two flat events each, told apart by SINK.

    Insert events are complete; delete events carry the old ids and no values: they are raw material
    for delete files.
    """
    keys = key_names(target.table)
    both = f"explode(array({sink()}, {sink(deletes=True)})) AS {SINK}"
    bucket = _bucket_property(target, _TASK)
    # sorted for Spark's writer, which has a file open for each value; numbered when that is done
    if keys:
        twice = changed.selectExpr(*_changes(target, changed), both)
        return _of_both_kinds(
            target, *_counted(twice.sortWithinPartitions(SINK, *keys), [SINK, *keys]), bucket
        )
    counted, number = _counted(changed.selectExpr(*_changes(target, changed)), ())
    return _of_both_kinds(target, counted.selectExpr("*", both), number, bucket)


def merge_events(
    target: WriteTarget, clauses: Sequence[tuple[MergeAction, StatementId]], rows: DataFrame
) -> DataFrame:
    """Rows of a MERGE (CLAUSE, ID_FIELDS, ``data_names``, ``key_names``), in the tasks of their
    buckets, as flat events.

    They are told apart by SINK, as in ``update_events``, and sorted by that and the partition.
    """
    keys = key_names(target.table)
    whens = [
        f"WHEN {number} THEN array({', '.join(map(str, _sinks(*clause)))})"
        for number, clause in enumerate(clauses)
    ]
    located = rows.selectExpr(
        *_changes(target, rows), f"explode(CASE {CLAUSE} {' '.join(whens)} END) AS {SINK}"
    )
    counted, number = _counted(located.sortWithinPartitions(SINK, *keys), [SINK, *keys])
    bucket = (
        f"{_bucket_property(replace(target, statement_id=StatementId(0)), _TASK)} +"
        f" {_STATEMENT_OF_SINK}"
    )
    return _of_both_kinds(target, counted, number, bucket)


def merged_events(clauses: Sequence[tuple[MergeAction, StatementId]]) -> str:
    """SQL for how many events ``merge_events`` makes of a row."""
    whens = [f"WHEN {n} THEN {len(_sinks(*clause))}" for n, clause in enumerate(clauses)]
    return f"CASE {CLAUSE} {' '.join(whens)} END"


def _sinks(action: MergeAction, statement: StatementId) -> list[int]:
    """The sinks that a row of a clause goes to."""
    inserts, deletes = sink(statement), sink(statement, deletes=True)
    match action:
        case MergeAction.INSERT:
            return [inserts]
        case MergeAction.DELETE:
            return [deletes]
        case MergeAction.UPDATE:
            return [inserts, deletes]


def _changes(target: WriteTarget, rows: DataFrame) -> list[str]:
    """The columns of changed rows that ``_of_both_kinds`` makes events from."""
    old = [f"{name} AS {alias}" for name, alias in zip(ID_FIELDS, OLD_IDS, strict=True)]
    return [
        *old,
        f"spark_partition_id() AS {_TASK}",
        *stored_columns(target.table.columns, rows),
        *key_names(target.table),
    ]


def _of_both_kinds(target: WriteTarget, rows: DataFrame, number: str, bucket: str) -> DataFrame:
    """Insert and delete events, as SINK says, of ``_changes``. ``number``, ``bucket``: the row id
    and the bucket property of an insert event.
    """
    new = (f"{target.write_id}L", bucket, number)
    ids = [f"IF({_IS_NEW}, {inserted}, {old})" for inserted, old in zip(new, OLD_IDS, strict=True)]
    values = [f"IF({_IS_NEW}, {name}, NULL) AS {name}" for name in data_names(target.table.columns)]
    operation = f"IF({_IS_NEW}, {INSERT_OPERATION}, {DELETE_OPERATION})"
    event = _event(operation, ids, target)
    events = rows.selectExpr(*event, *values, SINK, *key_names(target.table))
    return _with_row(target, events)


def _event(operation: str, ids: Sequence[str], target: WriteTarget) -> list[str]:
    """The columns of an event beside the values; _ROW is not what it will be yet."""
    named = [f"{value} AS {name}" for value, name in zip(ids, ID_FIELDS, strict=True)]
    return [
        f"{operation} AS operation",
        *named,
        f"{target.write_id}L AS {CURRENT}",
        f"NULL AS {_ROW}",
    ]


def _with_row(target: WriteTarget, events: DataFrame) -> DataFrame:
    """Flat events with their struct ``row``: an empty one, or one of the first value where Spark
    has no empty ones. Both are the same types one after the other, as ``edit_tail`` wants them.
    """
    from pyspark.sql import functions as F

    if jvm.has_empty_structs(events.sparkSession):
        return events.withColumn(_ROW, F.expr("named_struct()"))
    first = data_names(target.table.columns)[0]
    return events.withColumn(_ROW, F.struct(first)).drop(first)


def _bucket_property(target: WriteTarget, task: str) -> str:
    """SQL for the bucket property of the rows that a task writes."""
    return f"{encode(BucketId(0), target.statement_id)} + {task} * {1 << 16}"


def _counted(rows: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, str]:
    """``rows`` with more columns, and SQL over them for a row's number in its task, among those of
    the same ``keys``, which stand together.
    """
    from pyspark.sql import functions as F

    counted = rows.selectExpr("*", f"{_ROW_NUMBER} AS acidsql_row")
    if not keys:
        return counted, "acidsql_row"
    jvm.need_java(
        rows.sparkSession,
        "many rows of a MERGE or of several partitions cannot be written",
        "Use a classic Spark session, or SET acidsql.write.path=small: all changed rows then come"
        " to the driver.",
    )
    first = jvm.first_in_task(
        rows.sparkSession, F.expr(f"xxhash64({', '.join(keys)})"), F.col("acidsql_row")
    )
    return (
        counted.select("*", first.alias("acidsql_first")),
        "acidsql_row - coalesce(acidsql_first, acidsql_row)",
    )


def delete_events(
    target: WriteTarget,
    ids: DataFrame,
    tasks: int,
    counting: Counting,
    current: str | None = None,
) -> DataFrame:
    """Row ids (and ``key_names``) as sorted delete events; all of one bucket number (of one
    partition) in one task.

    They go to a folder of that number, below it to those of the partition. ``current``: a column of
    the write ids that deleted them; None: all are the target's.
    """
    keys = key_names(target.table)
    write_id = f"{target.write_id}L" if current is None else current
    located = ids.selectExpr(
        *ID_FIELDS,
        f"{write_id} AS {CURRENT}",
        *keys,
        f"{DECODED_BUCKET} AS {BUCKET_DIRECTORY}",
    )
    hashed = f"xxhash64({', '.join([BUCKET_DIRECTORY, *keys])})" if keys else BUCKET_DIRECTORY
    by_bucket = jvm.in_numbered_tasks(located, tasks, expression(f"pmod({hashed}, {tasks})"))
    row = (
        "struct<"
        + ",".join(f"{identifier(c.name)}:{spark_type(c.type)}" for c in target.table.columns)
        + ">"
    )
    in_order = counting.of(by_bucket).sortWithinPartitions(BUCKET_DIRECTORY, *keys, *ID_FIELDS)
    return in_order.selectExpr(
        f"{DELETE_OPERATION} AS operation",
        *ID_FIELDS,
        CURRENT,
        f"CAST(NULL AS {row}) AS row",
        BUCKET_DIRECTORY,
        *keys,
    )


def kept_events(
    target: WriteTarget, rows: DataFrame, tasks: int, counting: Counting, *, one_base: bool
) -> DataFrame:
    """Rows (ID_FIELDS, ``data_names``) as flat insert events with the ids they have, each bucket in
    its task, sorted.

    A column STATEMENT tells which statement wrote them, 0 for all where they come to lie in
    ``one_base``.
    """
    statement = "0" if one_base else f"CASE WHEN {_IS_CODED} THEN bucket & 4095 ELSE 0 END"
    located = rows.selectExpr(
        *ID_FIELDS, *stored_columns(target.table.columns, rows), f"{statement} AS {STATEMENT}"
    )
    in_tasks = jvm.in_numbered_tasks(located, tasks, expression(DECODED_BUCKET))
    events = (
        counting.of(in_tasks)
        .sortWithinPartitions(STATEMENT, *ID_FIELDS)
        .selectExpr(
            *_event(str(INSERT_OPERATION), ID_FIELDS, target),
            *data_names(target.table.columns),
            STATEMENT,
        )
    )
    return _with_row(target, events)


def compacted_events(
    target: WriteTarget, rows: DataFrame, tasks: int, counting: Counting
) -> DataFrame:
    """Rows (ID_FIELDS, CURRENT, ``data_names``) as flat insert events that keep all their ids, each
    bucket in the task of its number, sorted.
    """
    stored = rows.selectExpr(*ID_FIELDS, CURRENT, *stored_columns(target.table.columns, rows))
    in_tasks = jvm.in_numbered_tasks(stored, tasks, expression(DECODED_BUCKET))
    events = (
        counting.of(in_tasks)
        .sortWithinPartitions(*ID_FIELDS)
        .selectExpr(
            f"{INSERT_OPERATION} AS operation",
            *ID_FIELDS,
            CURRENT,
            f"NULL AS {_ROW}",
            *data_names(target.table.columns),
        )
    )
    return _with_row(target, events)


def stored_columns(columns: Sequence[Column], rows: DataFrame) -> list[str]:
    """The data columns of ``rows`` as Hive stores them. ExecutionError where Spark's executors tell
    timestamps in several ways.
    """
    has_times = any(timed(column.type) for column in columns)
    clock = file_clock(rows.sparkSession) if has_times else UTC_CLOCK
    return [
        f"{stored_sql(name, c.type, clock)} AS {name}"
        for name, c in zip(data_names(columns), columns, strict=True)
    ]


def expression(sql: str) -> SparkColumn:
    """A task number as ``in_numbered_tasks`` wants it."""
    from pyspark.sql import functions

    return functions.expr(f"int({sql})")


def orc_writer(target: WriteTarget, events: DataFrame) -> DataFrameWriter:
    """One file for each task and folder."""
    options: dict[str, str | int] = {
        "compression": _CODECS[target.orc_codec],
        "orc.stripe.size": target.stripe_size,
        # Hive 3.1 takes all times for those of today's calendar, and the others ask the file.
        "orc.proleptic.gregorian": "true",
        "maxRecordsPerFile": 0,
    }
    return staged_writer(target, events).options(**options)


def staged_writer(target: WriteTarget, rows: DataFrame) -> DataFrameWriter:
    """A writer of files that belong to no table yet."""
    is_local = split_url(target.root) is None
    return rows.write.options(**_STAGED, **(_LOCAL if is_local else {}))


# ---- what Spark has written


def part_files(io: FileIO, folder: str) -> list[PartFile]:
    """The files of a job whose tasks are buckets, by task number."""
    return sorted(_numbered_files(io, folder, _PART_FILE), key=lambda f: (f.bucket, f.values))


def bucket_folders(io: FileIO, folder: str) -> list[PartFile]:
    """The files of a job that made one folder for each bucket."""
    return sorted(_numbered_files(io, folder, _BUCKET_FOLDER), key=lambda f: (f.bucket, f.values))


def _numbered_files(io: FileIO, folder: str, pattern: re.Pattern[str]) -> Iterator[PartFile]:
    seen: set[tuple[int, tuple[str, ...]]] = set()
    for entry in io.list_files(folder):
        match = pattern.fullmatch(entry.path)
        if match is None:
            raise InternalError(f'Spark wrote an unexpected file "{entry.path}"')
        bucket, values = (
            int(match[1]),
            tuple(unescape(text) for text in _KEY_FOLDER.findall(entry.path)),
        )
        if (bucket, values) in seen or bucket > MAX_BUCKET_ID:
            again = (bucket, values) in seen
            raise InternalError(
                f"Spark wrote bucket {bucket} twice"
                if again
                else f"Spark wrote more than {MAX_TASKS} files"
            )
        seen.add((bucket, values))
        yield PartFile(path=f"{folder}/{entry.path}", bucket=BucketId(bucket), values=values)
