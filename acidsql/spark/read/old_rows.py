"""Rows of partitions with events of ACID version 1 for Spark: the driver merges the events and
hands the rows over, so that both engines see the same.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.acid.ids import ROW_ID_COLUMN
from acidsql.catalog.model import Column
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.lazy_dataclass import dataclass
from acidsql.spark.jvm.sessions import frame_of
from acidsql.spark.read.scan_words import ROW_ID_TYPE, with_hive_types
from acidsql.storage.events.old_events import COMPACT_FIRST, old_partitions
from acidsql.storage.footers import ScanFile
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import TableSnapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
