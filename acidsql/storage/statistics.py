"""What the files of a statement or transaction change in the statistics of the tables and
partitions they go to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.acid.listed import FileEntry
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import Filled, StatisticsChange, changed, nothing_yet
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.pending import PendingRoot
from acidsql.storage.write.target import StagedFile


def of_published(roots: Iterable[PendingRoot], *, counted: bool) -> Iterator[StatisticsChange]:
    """What published files change: each row event adds a row, each delete event takes one away.
    ``counted``: hive.stats.autogather.
    """
    for root in roots:
        known = counted and all(file.counted for file in root.inserts)
        rows = sum(file.rows for file in root.inserts) - sum(file.rows for file in root.deletes)
        change = _change(root.table, root.partition, root.files, replaces=root.overwritten)
        raw_bytes = 0 if root.table.is_full_acid else None  # Hive counts none of ACID tables
        yield replace(
            change,
            rows=rows if known else None,
            raw_bytes=raw_bytes,
            directories=_directories(root),
        )


def _change(
    table: Table, partition: Partition | None, files: Sequence[StagedFile], *, replaces: bool
) -> StatisticsChange:
    return StatisticsChange(
        table=table,
        partition=partition,
        rows=sum(file.rows for file in files) if all(file.counted for file in files) else None,
        files=len(files),
        bytes=sum(file.size for file in files),
        replaces=replaces,
    )


def _directories(root: PendingRoot) -> Mapping[str, Filled]:
    """The ACID directories that a root gets, by their names."""
    if not root.table.is_transactional:
        return {}
    filled = {path: Filled(0, 0) for path in root.directories}
    for file in root.files:
        before = filled[file.directory]
        filled[file.directory] = Filled(before.files + 1, before.bytes + file.size)
    return {path.rpartition("/")[2]: of_one for path, of_one in filled.items()}


def as_begun(
    io: FileIO, table: Table, partitions: Iterable[Partition], snapshots: Snapshots
) -> Iterator[Partition]:
    """Partitions that a transaction is about to write to; a new one with the statistics of nothing,
    if nothing lies in its directory yet.
    """
    partitions = tuple(partitions)
    known = snapshots.known_locations(table, partitions)
    for partition in partitions:
        if partition.location not in known and (
            not io.exists(partition.location) or _is_empty(snapshots, table, partition)
        ):
            yield replace(partition, statistics=nothing_yet(table.columns))
        else:
            yield partition


def _is_empty(snapshots: Snapshots, table: Table, partition: Partition) -> bool:
    """Whether all that lies there is of transactions that failed, or that this one does not see."""
    try:
        return not snapshots.take(table, [partition]).insert_files
    except FormatError:  # a reader of the partition will be told
        return False


def as_published(
    io: FileIO, roots: Iterable[PendingRoot], known: Iterable[Partition]
) -> Iterator[Partition]:
    """The partitions that a plain statement has published its files in: nothing was in a new one if
    nothing else is.
    """
    locations = {partition.location for partition in known}
    for root in roots:
        partition = root.partition
        if partition is None:
            continue
        if partition.location not in locations and _sizes(root.files) == _sizes(
            io.list_files(partition.location)
        ):
            partition = replace(partition, statistics=nothing_yet(root.table.columns))
        yield partition


def _sizes(files: Iterable[StagedFile | FileEntry]) -> list[int]:
    return sorted(file.size for file in files)


def with_first_files(
    table: Table, roots: Iterable[PendingRoot]
) -> tuple[Table, tuple[Partition, ...]]:
    """A table and its partitions with the statistics of their first files. A partitioned table has
    none of its own.
    """
    nothing = nothing_yet(table.columns)
    partitions = []
    for change in of_published(roots, counted=True):
        statistics = changed(nothing, change)
        if change.partition is None:
            return replace(table, statistics=statistics), ()
        partitions.append(replace(change.partition, statistics=statistics))
    whole = table if table.partition_columns else replace(table, statistics=nothing)
    return whole, tuple(partitions)
