"""The files of one table under one visibility: pure data, by directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from acidsql.acid.acid_directory import AcidDirectory, DataFile, FileEntry
from acidsql.acid.ids import NO_STATEMENT, WriteId
from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import Partition, Table
from acidsql.files.urls import path_of
from acidsql.storage.footers import FoundFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSnapshot:
    """The files of one partition, or of a table without any. ``root``: its directory.
    ``directory``: what an ACID table has in it; ``files``: those of any other table.

    ``own_inserts``, ``own_deletes``: what the reading transaction has written to it, wherever that
    lies.
    """

    root: str
    partition: Partition | None = None
    directory: AcidDirectory | None = None
    files: tuple[FileEntry, ...] = ()
    own_inserts: tuple[FoundFile, ...] = ()
    own_deletes: tuple[FoundFile, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(f.file.size for f in (*self.insert_files(0), *self.delete_files(0)))

    def insert_files(self, number: int) -> Iterator[FoundFile]:
        """The files with rows; ``number``: the partition's in the table snapshot."""
        listed = self.directory.insert_files if self.directory is not None else ()
        for file in (*listed, *(_original_file(file) for file in self.files if file.size)):
            yield FoundFile(file=file, path=f"{self.root}/{file.path}", partition_number=number)
        yield from (file._replace(partition_number=number) for file in self.own_inserts)

    def delete_files(self, number: int) -> Iterator[FoundFile]:
        """The files with delete events; ``number`` as above."""
        for file in self.directory.delete_files if self.directory is not None else ():
            yield FoundFile(file=file, path=f"{self.root}/{file.path}", partition_number=number)
        yield from (file._replace(partition_number=number) for file in self.own_deletes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """A table as a statement sees it. ``write_ids`` is None for a table that is not transactional.

    The position of a partition in ``partitions`` is its number: it tells the rows of partitions
    apart, which number them each for itself.
    """

    table: Table
    write_ids: ValidWriteIdList | None = None
    partitions: tuple[PartitionSnapshot, ...] = field(repr=False)

    @classmethod
    def acid(
        cls, table: Table, write_ids: ValidWriteIdList, directory: AcidDirectory
    ) -> TableSnapshot:
        """The snapshot of a transactional table without partitions."""
        return cls(
            table=table,
            write_ids=write_ids,
            partitions=(PartitionSnapshot(root=path_of(table.location), directory=directory),),
        )

    @classmethod
    def plain(cls, table: Table, files: Iterable[FileEntry]) -> TableSnapshot:
        """The snapshot of a plain table without partitions. ``files``: all files below its
        location.
        """
        return cls(
            table=table,
            partitions=(PartitionSnapshot(root=path_of(table.location), files=tuple(files)),),
        )

    @property
    def insert_files(self) -> list[FoundFile]:
        """The files with rows of all partitions."""
        return [f for n, partition in enumerate(self.partitions) for f in partition.insert_files(n)]

    @property
    def delete_files(self) -> list[FoundFile]:
        """The files with delete events of all partitions."""
        return [f for n, partition in enumerate(self.partitions) for f in partition.delete_files(n)]


def _original_file(file: FileEntry) -> DataFile:
    nothing = WriteId(0)
    return DataFile(
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        min_write_id=nothing,
        max_write_id=nothing,
        statement_id=NO_STATEMENT,
        bucket=None,
        original=True,
        needs_row_filter=False,
    )
