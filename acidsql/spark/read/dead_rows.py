"""Takes out of a scan the rows that a visible delete event hits.

The dead are told by the whole id (write id, all 32 bits of the bucket property, row) and the
partition. Their keys stand in the filter as objects and not as text, so that the code Spark
generates is the same for every snapshot. Without a Java handle, or above a number of events, the
filter becomes an anti-join with the delete files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.acid.ids import ROW_ID_COLUMN, ValidWriteIdList
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Column
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.spark import jvm
from acidsql.spark.jvm.sessions import frame_of
from acidsql.spark.read.scan_words import (
    META_DDL,
    META_NEEDED,
    ROW_ID_TYPE,
    in_order,
    of_file,
    scan_of,
    stored_type,
    visible_sql,
    with_file_number,
    with_hive_types,
)
from acidsql.storage.events.delete_events import DeadRows, DeleteEventReader, DeleteEvents, pack
from acidsql.storage.events.event_rows import COMPACT_FIRST, old_partitions
from acidsql.storage.footers import ScanFile
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import TableSnapshot

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


Filter = Callable[["DataFrame", str], "DataFrame"]
"""Filters a frame of rows with their ids by a condition, and takes out the dead."""

PARTITION_NUMBER = "acidsql_partition_number"
"""The column that tells the rows of partitions apart, where there are several."""

MOST_FOLDED_BITS = 23
"""A bitmap of row numbers takes a megabyte at most: it travels with each task."""

MAX_KEPT_FILTERS = 8
"""Filters of delete events kept for the next view of the same snapshot."""


class DeadRowFilters:
    """Makes and keeps the filters of one Spark session."""

    def __init__(self, spark: SparkSession, settings: Settings, events: DeleteEventReader) -> None:
        self._spark = spark
        self._settings = settings
        self._events = events
        self._alive: OrderedDict[Hashable, SparkColumn | None] = OrderedDict()

    def close(self) -> None:
        self._keep(0)

    def _keep(self, most: int) -> None:
        """Lets go of the filters that were made first: the ids in them weigh much in Java."""
        while len(self._alive) > most:
            _, column = self._alive.popitem(last=False)
            if column is not None:
                jvm.let_go(column)

    def without_dead(
        self,
        deletes: tuple[ScanFile, ...],
        write_ids: ValidWriteIdList | None,
        *,
        by_partition: bool,
    ) -> Filter:
        """A filter that keeps the rows no delete event kills. ``by_partition``: whether the frames
        have a column PARTITION_NUMBER. ``write_ids``: None if no file holds events of a write id
        that is not valid.
        """
        kind = self._settings.get("acidsql.read.deletes")
        most = int(self._settings.number("acidsql.read.deletes.max.events"))
        count = sum(file.rows for file in deletes)
        if kind == "join" or jvm.jvm(self._spark) is None or (kind == "auto" and count > most):
            return self._anti_join(deletes, write_ids, by_partition=by_partition)
        key = (deletes, write_ids, by_partition)
        if key not in self._alive:
            self._alive[key] = self._alive_column(
                self._events.parts(deletes, write_ids, keep=max(most, count)),
                by_partition=by_partition,
            )
            self._keep(MAX_KEPT_FILTERS)
        alive = self._alive[key]
        return (
            self._anti_join(deletes, write_ids, by_partition=by_partition)
            if alive is None
            else partial(_live, alive=alive)
        )

    def _alive_column(
        self, parts: Sequence[DeleteEvents], *, by_partition: bool
    ) -> SparkColumn | None:
        """A column that is true for live rows; None if the ids are too wide for such a test."""
        from pyspark.sql import functions as F

        if not any(map(len, parts)):
            return F.lit(True)
        dead = pack(parts)
        return None if dead is None else self._test(dead, by_partition=by_partition)

    def _test(self, dead: DeadRows, *, by_partition: bool) -> SparkColumn:
        spark = self._spark
        how = jvm.NumberSet.of(dead.keys)
        folded_bits = min(MOST_FOLDED_BITS, dead.row_bits)
        objects = {
            "dead_rows": jvm.bits(spark, dead.keys & ((1 << folded_bits) - 1)),
            "write_ids": jvm.longs(spark, dead.write_ids),
            "buckets": jvm.longs(spark, dead.bucket_properties),
            "dead": jvm.held(spark, dead.keys, how),
        }
        widths = (
            dead.partition_bits if by_partition else 0,
            dead.write_id_bits,
            dead.bucket_bits,
            dead.row_bits,
            folded_bits,
        )
        return jvm.with_objects(
            spark, f"alive {how} {widths}", lambda: _alive(spark, how, *widths), objects
        )

    def _anti_join(
        self, deletes: Sequence[ScanFile], write_ids: ValidWriteIdList | None, *, by_partition: bool
    ) -> Filter:
        """The delete files as a relation; Spark chooses how to join."""
        files = in_order(deletes) if by_partition else tuple(deletes)
        first = files[0].columns
        ddl = (
            f"{META_DDL}, row struct<{identifier(first.names[0])}:{stored_type(first.children[0])}>"
        )
        # The last condition holds for every event and needs the column "row", which is null in all
        # of them.
        condition = f"{META_NEEDED} AND (row IS NULL OR operation >= 0)" + visible_sql(
            write_ids, files
        )
        events = scan_of(self._spark, files, ddl, {})
        if by_partition:
            events = with_file_number(self._spark, events, files)
        shown = [f"{name} AS _dead_{name}" for name in ID_FIELDS]
        if by_partition:
            numbers = of_file([file.partition_number for file in files], "int")
            shown.append(f"{numbers} AS _dead_{PARTITION_NUMBER}")
        dead = events.where(condition).selectExpr(*shown)

        def without(rows: DataFrame, condition: str) -> DataFrame:
            keys = [*ID_FIELDS, PARTITION_NUMBER] if by_partition else ID_FIELDS
            return rows.where(condition).join(
                dead, [rows[name] == dead[f"_dead_{name}"] for name in keys], "left_anti"
            )

        return without


def _alive(
    spark: SparkSession,
    how: jvm.NumberSet,
    partition_bits: int,
    write_id_bits: int,
    bucket_bits: int,
    row_bits: int,
    folded_bits: int,
) -> jvm.JavaObject:
    """The test of ``DeadRows``, where their parts are called dead_rows (a bitmap of row numbers,
    folded), write_ids, buckets and dead.

    ``partition_bits``: 0 where all rows lie in one partition.
    """

    def sql(text: str, **parts: jvm.JavaObject) -> jvm.JavaObject:
        return jvm.expression(spark, text, **parts)

    write_id = jvm.position(spark, sql("write_ids"), sql("originalTransaction"))
    bucket = jvm.position(spark, sql("buckets"), sql("CAST(bucket AS bigint)"))
    partition = (
        f"shiftleft(CAST({PARTITION_NUMBER} AS bigint), {write_id_bits}) | "
        if partition_bits
        else ""
    )
    with_bucket = (
        f"shiftleft({partition}CAST(write_id AS bigint), {bucket_bits}) | CAST(bucket_id AS bigint)"
    )
    # Of a row whose write id or bucket no event has it is negative, because a position is then.
    key = sql(f"shiftleft({with_bucket}, {row_bits}) | rowId", write_id=write_id, bucket_id=bucket)
    fits = f"rowId <= {(1 << row_bits) - 1}L" + (
        f" AND {PARTITION_NUMBER} <= {(1 << partition_bits) - 1}" if partition_bits else ""
    )
    # Most rows are told by one look at a bitmap; only for those whose number is among the dead of
    # some file is the key made.
    maybe = jvm.bit(spark, sql("dead_rows"), sql(f"CAST(rowId & {(1 << folded_bits) - 1}L AS int)"))
    member = jvm.is_member(spark, how, sql("dead"), key)
    return sql(f"NOT (maybe AND {fits} AND member)", maybe=maybe, member=member)


def _live(rows: DataFrame, condition: str, alive: SparkColumn) -> DataFrame:
    from pyspark.sql import functions as F

    # One filter and not two: each is a round trip and an analysis.
    return rows.where(F.expr(condition) & alive)


# ---- rows of ACID version 1
#
# Rows of partitions with events of ACID version 1 for Spark: the driver merges the events and
# hands the rows over, so that both engines see the same.


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPartitions:
    """The partitions of a snapshot with ``old_events``: ``files`` and ``write_ids``, a list's text,
    tell whether the rows are the same.
    """

    files: tuple[ScanFile, ...]
    write_ids: str
    snapshot: TableSnapshot = field(compare=False)


def parted(
    snapshot: TableSnapshot, files: tuple[ScanFile, ...]
) -> tuple[TableSnapshot, tuple[ScanFile, ...], OldPartitions]:
    """The snapshot without partitions that have old events, its files, and these partitions.
    ``files``: with inserts, of the whole snapshot; one is ``mixed``. Partitions keep their numbers.
    """
    old = old_partitions(files)
    whole = list(enumerate(snapshot.partitions))
    new, rest = (
        replace(
            snapshot,
            partitions=tuple(
                part if (number in old) is wanted else replace(part, directory=None)
                for number, part in whole
            ),
        )
        for wanted in (False, True)
    )
    partitions = OldPartitions(
        files=tuple(file for file in files if file.partition_number in old),
        write_ids=str(snapshot.write_ids),
        snapshot=rest,
    )
    return new, tuple(file for file in files if file.partition_number not in old), partitions


def old_rows(
    spark: SparkSession, known: KnownFiles, old: OldPartitions, *, row_id: bool
) -> DataFrame:
    """The columns of the table, its partition columns and, if asked for, ROW__ID.
    UnsupportedStatementError where values are such that Spark alone reads them.
    """
    table = old.snapshot.table
    columns: tuple[Column, ...] = (*table.columns, *table.partition_columns)
    scanner = Scanner(known)
    try:
        names = [column.name for column in columns]
        schema = scanner.schema(old.snapshot, names)
        batches = [batch.columns for batch in scanner.batches(old.snapshot, names, ids=True)]
    except NotHere as reason:
        raise UnsupportedStatementError(
            f"events of ACID version 1 of table {table.name} cannot be merged: {reason}",
            hint=COMPACT_FIRST,
        ) from reason
    kinds = [pa.int64(), pa.int32(), pa.int64(), *schema.types]
    fields = [f"c{number}" for number, _ in enumerate(kinds)]
    rows = pa.Table.from_batches(
        [pa.RecordBatch.from_arrays(arrays, names=fields) for arrays in batches],
        pa.schema(list(zip(fields, kinds, strict=True))),
    )
    shown = [
        f"CAST({name} AS {spark_type(column.type)}) AS {identifier(column.name)}"
        for name, column in zip(fields[3:], columns, strict=True)
    ]
    if row_id:
        ids = "named_struct('writeId', c0, 'bucketId', c1, 'rowId', c2)"
        shown.append(f"CAST({ids} AS {ROW_ID_TYPE}) AS {ROW_ID_COLUMN}")
    return with_hive_types(frame_of(spark, rows).selectExpr(*shown), columns)
