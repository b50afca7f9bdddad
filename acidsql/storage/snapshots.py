"""The snapshots of a statement: the files of its tables are listed and chosen, and what a killed
INSERT OVERWRITE left is taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from acidsql.acid.acid_directory import AcidDirectory
from acidsql.acid.insert_only import visible_files
from acidsql.acid.paths import METADATA_FILE, Base, parse_directory
from acidsql.acid.snapshot import choose
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.statistics import BYTES, ROWS, is_accurate, whole_number
from acidsql.errors import TransactionAbortedError, Warning
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import look_at_all
from acidsql.files.urls import path_of
from acidsql.storage.write.pending import PendingRoot

if TYPE_CHECKING:
    from acidsql.storage.table_snapshot import PartitionSnapshot, TableSnapshot


class Visibility(Protocol):
    """What a statement may see: a transaction, or a snapshot taken for reading only."""

    def write_ids(self, table: TableName) -> ValidWriteIdList: ...
    def is_latest(self, table: TableName) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The numbers of statistics: rows, and the bytes of the files they are in."""

    rows: int
    bytes: int


class Snapshots:
    """The snapshots of one statement: a directory is listed once, however often its table is read,
    so that all reads see the same files.

    ``views``: of the user's Spark session that the statement has taken over by now.  ``warnings``:
    what the user should be told. ``clean``: for a writer, who removes the bases of killed
    statements.  ``own``: what the transaction has written before the statement.
    """

    def __init__(
        self,
        io: FileIO,
        visible: Visibility,
        catalog: Catalog,
        *,
        clean: bool,
        own: Mapping[str, PendingRoot],
    ) -> None:
        self._io = io
        self._visible = visible
        self._own = {path_of(root): written for root, written in own.items()}
        self._catalog = catalog
        self._clean = clean
        self._partitions: dict[TableName, tuple[Partition, ...]] = {}
        self._taken: dict[str, PartitionSnapshot] = {}
        self.views: set[str] = set()
        self.warnings: list[Warning] = []

    def partitions(self, table: Table) -> tuple[Partition, ...]:
        """All partitions of a table, as they were when it was first asked about."""
        if table.name not in self._partitions:
            known = self._catalog.list_partitions(table)
            locations = {partition.location for partition in known}
            own = (r.partition for r in self._own.values() if r.table.name == table.name)
            new = (
                partition
                for partition in own
                if partition is not None and partition.location not in locations
            )
            self._partitions[table.name] = (*known, *new)
        return self._partitions[table.name]

    def take(self, table: Table, partitions: Sequence[Partition] = ()) -> TableSnapshot:
        """The files of a table, or of these partitions of it. FormatError for a layout that is not
        Hive's; else as ``check_unchanged``.
        """
        from acidsql.storage.table_snapshot import TableSnapshot

        # Before any file is looked at: what is committed later must not be seen in part.
        write_ids = self._visible.write_ids(table.name) if table.is_transactional else None
        wanted: list[tuple[str, Partition | None]] = [(path_of(p.location), p) for p in partitions]
        if not table.partition_columns:
            wanted = [(path_of(table.location), None)]
        missing = [pair for pair in wanted if pair[0] not in self._taken]
        for partition in look_at_all(lambda pair: self._take(table, *pair, write_ids), missing):
            self._taken[partition.root] = partition
        self.check_unchanged(table)
        seen = tuple(self._with_own(self._taken[root]) for root, _ in wanted)
        return TableSnapshot(table=table, write_ids=write_ids, partitions=seen)

    def counted(self, table: Table, partitions: Sequence[Partition] | None) -> Counted | None:
        """The numbers that statistics of a transactional table, or of these partitions of it, give;
        None where they may not be the snapshot's.

        They change in the metastore transaction of each commit. So they hold where nothing began or
        ended while they were read.
        """
        self._visible.write_ids(table.name)
        if partitions is None:
            now = self._catalog.find_table(table.name)
            statistics = [
                now.statistics if now is not None and _identity(now) == _identity(table) else {}
            ]
        else:
            known = {p.values: p for p in self._catalog.list_partitions(table)}
            statistics = [
                known[p.values].statistics if p.values in known else {} for p in partitions
            ]
        if not all(
            is_accurate(one)
            and whole_number(one.get(ROWS)) is not None
            and whole_number(one.get(BYTES)) is not None
            for one in statistics
        ):
            return None
        if not self._visible.is_latest(table.name):
            return None
        return Counted(
            rows=sum(int(one[ROWS]) for one in statistics),
            bytes=sum(int(one[BYTES]) for one in statistics),
        )

    def check_unchanged(self, table: Table) -> None:
        """Raises TransactionAbortedError if the table is not any more what was bound: files of
        another one, or none, would be looked at.
        """
        stored = self._catalog.find_table(table.name)
        if stored is None or _identity(stored) != _identity(table):
            hint = "Run the statement again."
            raise TransactionAbortedError(
                f"table {table.name} was dropped, moved or converted while the statement began",
                hint=hint,
            )

    def _take(
        self,
        table: Table,
        root: str,
        partition: Partition | None,
        write_ids: ValidWriteIdList | None,
    ) -> PartitionSnapshot:
        from acidsql.storage.table_snapshot import PartitionSnapshot

        if write_ids is None:
            return PartitionSnapshot(
                root=root, partition=partition, files=self._io.listing(root).files
            )
        directory = acid_directory(self._io, root, write_ids, events=table.is_full_acid)
        if self._clean:
            _remove_aborted_bases(self._io, root, directory)
        if table.is_insert_only:
            return PartitionSnapshot(
                root=root, partition=partition, files=visible_files(directory, write_ids)
            )
        return PartitionSnapshot(root=root, partition=partition, directory=directory)

    def _with_own(self, partition: PartitionSnapshot) -> PartitionSnapshot:
        """The partition as the transaction has left it."""
        own = self._own.get(partition.root)
        if own is None:
            return partition
        kept = replace(partition, directory=None, files=()) if own.overwritten else partition
        return replace(
            kept, own_inserts=own.found_files(own.inserts), own_deletes=own.found_files(own.deletes)
        )


def _identity(table: Table) -> tuple[int, str, bool]:
    return table.table_id, table.location, table.is_transactional


def acid_directory(
    io: FileIO, root: str, write_ids: ValidWriteIdList, *, events: bool = True
) -> AcidDirectory:
    """What a reader with these write ids sees of a table's or partition's directory. ``events``:
    files may hold ACID events.
    """
    from acidsql.storage.footers import is_event_file, read_footer

    def is_original(path: str) -> bool:
        return not events or not is_event_file(read_footer(io, f"{root}/{path}"))

    def read_marker(directory: str) -> bytes | None:
        marker = f"{root}/{directory}/{METADATA_FILE}"
        return io.read(marker) if io.exists(marker) else None

    listing = io.listing(root)
    return choose(
        listing.files,
        write_ids,
        directories=listing.directories,
        is_original=is_original,
        read_marker=read_marker,
    )


def _remove_aborted_bases(io: FileIO, root: str, chosen: AcidDirectory) -> None:
    """Removes what a killed INSERT OVERWRITE left: a base that never becomes valid is garbage, and
    Hive 3.1 fails on it.
    """
    for directory in chosen.aborted:
        if isinstance(parse_directory(directory.rpartition("/")[2]), Base):
            io.delete_tree(f"{root}/{directory}")
