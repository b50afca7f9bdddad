"""What the files of a statement or transaction change in the statistics of the tables and partitions they go to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import StatisticsChange, nothing_yet
from acidsql.errors import FormatError
from acidsql.spark.fileio import FileIO
from acidsql.spark.pending import PendingRoot
from acidsql.spark.snapshots import Snapshots
from acidsql.spark.target import StagedFile, Written


def of_transaction(roots: Iterable[PendingRoot], *, counted: bool) -> Iterator[StatisticsChange]:
    """Of files as they were published: each row event adds a row, each delete event takes one away. ``counted``: hive.stats.autogather."""
    for root in roots:
        known = counted and all(file.counted for file in root.inserts)
        rows = sum(file.rows for file in root.inserts) - sum(file.rows for file in root.deletes)
        change = _change(root.table, root.partition, root.files, replaces=root.overwritten)
        raw_bytes = 0 if root.table.is_full_acid else None  # Hive counts none of ACID tables
        yield replace(change, rows=rows if known else None, raw_bytes=raw_bytes)


def of_plain_files(table: Table, written: Written, *, overwrite: bool, counted: bool) -> Iterator[StatisticsChange]:
    """Of a statement that has published its files in a table without transactions."""
    for partition in written.partitions if table.partition_columns else (None,):
        files = [file for file in written.files if partition is None or file.partition == partition]
        change = _change(table, partition, files, replaces=overwrite)
        yield change if counted else replace(change, rows=None)


def _change(table: Table, partition: Partition | None, files: Sequence[StagedFile], *, replaces: bool) -> StatisticsChange:
    return StatisticsChange(
        table=table,
        partition=partition,
        rows=sum(file.rows for file in files) if all(file.counted for file in files) else None,
        files=len(files),
        bytes=sum(file.size for file in files),
        replaces=replaces,
    )


def as_begun(io: FileIO, table: Table, partitions: Iterable[Partition], snapshots: Snapshots) -> Iterator[Partition]:
    """Partitions that a transaction is about to write to; a new one with the statistics of nothing, if nothing lies in its place yet."""
    known = {partition.location for partition in snapshots.partitions(table)}
    for partition in partitions:
        if partition.location not in known and (not io.exists(partition.location) or _is_empty(snapshots, table, partition)):
            yield replace(partition, statistics=nothing_yet(table.columns))
        else:
            yield partition


def _is_empty(snapshots: Snapshots, table: Table, partition: Partition) -> bool:
    """Whether all that lies there is of transactions that failed, or that this one does not see."""
    try:
        (place,) = snapshots.take(table, [partition]).places
        return not any(True for _ in place.insert_files(0))
    except FormatError:  # whoever reads the partition will be told
        return False


def as_written(io: FileIO, table: Table, written: Written, known: Iterable[Partition]) -> Iterator[Partition]:
    """The new partitions of a plain statement that has published its files: nothing was there if nothing else is."""
    places = {partition.location for partition in known}
    for partition in written.partitions:
        if partition.location not in places:
            mine = sorted(file.size for file in written.files if file.partition == partition)
            empty = mine == sorted(file.size for file in io.list_files(partition.location))
            yield replace(partition, statistics=nothing_yet(table.columns)) if empty else partition
