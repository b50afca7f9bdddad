"""What a reader sees of one directory of a table or partition: the ACID directories that were
chosen, and the files to read in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from acidsql.acid.ids import NO_STATEMENT, BucketId, StatementId, WriteId
from acidsql.acid.paths import (
    FLUSH_LENGTH_SUFFIX,
    Base,
    DeleteDelta,
    Delta,
    DirectoryName,
    original_bucket,
    parse_bucket_file,
)
from acidsql.errors import FormatError
from acidsql.lazy_dataclass import dataclass


class FileEntry(NamedTuple):
    """A file of a listing; ``path`` is relative to the table's or partition's directory, ``/``
    separated.
    """

    path: str
    size: int
    mtime_ns: int


class DataFile(NamedTuple):
    """A file to read.

    ``min_write_id``, ``max_write_id``: of the directory's name; twice the base's id for a base, 0
    for originals. ``bucket``: from the file's name, None if the name tells none. ``original``: it
    is an original file, without ACID columns (from before the table was ACID, or from LOAD DATA):
    its row ids follow from where it lies (write id ``max_write_id``, this bucket and statement, the
    row's number).
    ``needs_row_filter``: some write id of the range is not valid, so rows must be tested by
    currentTransaction.
    """

    path: str
    size: int
    mtime_ns: int
    min_write_id: WriteId
    max_write_id: WriteId
    statement_id: StatementId
    bucket: BucketId | None
    original: bool
    needs_row_filter: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """An ACID directory that was chosen. ``path`` is its real name, which need not be the canonical
    one of ``name``. ``original``: those of its files that are not named as buckets are originals.
    """

    path: str
    name: DirectoryName
    original: bool
    needs_row_filter: bool
    files: tuple[FileEntry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidDirectory:
    """What a reader sees of one directory. ``current``: deltas and delete deltas as Hive orders
    them; ``obsolete`` and ``aborted``: paths, sorted.
    """

    base: Directory | None
    current: tuple[Directory, ...]
    originals: tuple[FileEntry, ...]
    obsolete: tuple[str, ...]
    aborted: tuple[str, ...]

    @property
    def deltas(self) -> tuple[Directory, ...]:
        return tuple(d for d in self.current if isinstance(d.name, Delta))

    @property
    def delete_deltas(self) -> tuple[Directory, ...]:
        return tuple(d for d in self.current if isinstance(d.name, DeleteDelta))

    @property
    def insert_files(self) -> tuple[DataFile, ...]:
        """The files of the base, the originals and those of insert deltas; listed anew at each
        call. Files without a byte hold no rows and are left out.

        FormatError where a streaming writer has a file open: what is committed of it ends inside
        the file.
        """
        files = list(map(_original_file, self.originals))
        for directory in (self.base, *self.deltas):
            if directory is not None:
                _refuse_open_stream(directory)
                files += _data_files(directory)
        return tuple(file for file in files if file.size)

    @property
    def delete_files(self) -> tuple[DataFile, ...]:
        """The files of delete deltas. FormatError for a file without a byte: what it should have
        deleted would come back.
        """
        files = tuple(file for directory in self.delete_deltas for file in _data_files(directory))
        for file in files:
            if not file.size:
                raise FormatError(f'delete file "{file.path}" is empty')
        return files


def _original_file(file: FileEntry) -> DataFile:
    return DataFile(
        path=file.path,
        size=file.size,
        mtime_ns=file.mtime_ns,
        min_write_id=WriteId(0),
        max_write_id=WriteId(0),
        statement_id=NO_STATEMENT,
        bucket=original_bucket(file_name(file)),
        original=True,
        needs_row_filter=False,
    )


def _data_files(directory: Directory) -> Iterator[DataFile]:
    """The files that Hive reads: of a base all, of a delta what is named as a bucket, or as an
    original if such were loaded into it.

    FormatError for another name in a delta: Hive passes over it, so that rows are missing or
    deleted rows come back.
    """
    low, high, statement = id_range(directory.name)
    for file in directory.files:
        name = file_name(file)
        bucket = parse_bucket_file(name)
        original = directory.original and bucket is None
        if bucket is None and (original or isinstance(directory.name, Base)):
            bucket = original_bucket(name)
        elif bucket is None:
            raise FormatError(
                f'file "{file.path}" is not named like one of a delta: bucket_00000',
                hint=(
                    "Hive passes over it and reads nothing of it. Give it its name or move it away."
                ),
            )
        yield DataFile(
            path=file.path,
            size=file.size,
            mtime_ns=file.mtime_ns,
            min_write_id=low,
            max_write_id=high,
            statement_id=statement,
            bucket=bucket,
            original=original,
            needs_row_filter=directory.needs_row_filter,
        )


def _refuse_open_stream(directory: Directory) -> None:
    side = next((f for f in directory.files if f.path.endswith(FLUSH_LENGTH_SUFFIX)), None)
    if side is not None:
        raise FormatError(
            f'a streaming writer has "{side.path.removesuffix(FLUSH_LENGTH_SUFFIX)}" open',
            hint="The table can be read when the writer has closed its batch of transactions.",
        )


def id_range(name: DirectoryName) -> tuple[WriteId, WriteId, StatementId]:
    """Least and greatest write id, and statement id; a base has its write id twice."""
    if isinstance(name, Base):
        return name.write_id, name.write_id, NO_STATEMENT
    return name.min_write_id, name.max_write_id, name.statement_id


def takes_in(whole: DirectoryName, part: DirectoryName) -> bool:
    """Whether all write ids that one directory is of are of another, too, and a compaction that
    made that one read this one: no delta is made of a base.
    """
    low, high, _ = id_range(part)
    whole_low, whole_high, _ = id_range(whole)
    if isinstance(whole, Base):
        return high <= whole_high
    return not isinstance(part, Base) and whole_low <= low and high <= whole_high


def file_name(file: FileEntry) -> str:
    """The name without the directories it lies in."""
    return file.path.rpartition("/")[2]
