"""Relations by path: files of one format and of the same columns, and their rows.

All files are open before the first row is read. So one that gets a new file under its name goes on
as the old one, and one that is written to meanwhile is found out: no answer is of two states.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from acidsql.catalog.path_relation import FileStamp, PathColumn, PathRelation
from acidsql.catalog.types import arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import absolute

if TYPE_CHECKING:
    Open = Callable[[pa.NativeFile, str], "OpenFile"]


# ---- stamps
#
# Which files a path means to Spark, where that is sure.
#
# Spark lists a path through Hadoop, which takes some characters for patterns and hides some names.
# Directories that are more than a heap of files of data are left to it: those of partitions, with
# summary files, or with the log of a stream.


MAX_FILES = 100
"""More than these are no small read: a look into each would keep the statement waiting."""

_LOCAL = re.compile(r"(?:file:(?://)?)?(/[^/].*)", re.DOTALL)
_PLAIN = re.compile(r"(/[A-Za-z0-9_.=,+@~ -]+)+", re.ASCII)
"""Paths that Hadoop takes by the letter, in whatever encoding Java has for names of files."""
_NO_MARKS = str.maketrans({"*": "x", "?": "x"})
_TOLD_APART = ("_spark_metadata", "_metadata", "_common_metadata")
"""What tells Spark of the files beside it: the log of a stream, and files of a common schema."""
_CHECKED_BYTES, _HEAD, _SUM = 512, 8, 4
"""How Hadoop lays out a file of checksums: a head, then a sum of so many bytes each."""


def stamps_of(given: str) -> tuple[FileStamp, ...]:
    """The files of a path, sorted. NotHere; OSError for what cannot be looked at."""
    if (local := _LOCAL.fullmatch(given)) is None:
        raise NotHere("a path on another file system")
    path = local[1].removesuffix("/")
    directory, _, last = path.rpartition("/")
    if "*" in last or "?" in last:
        return tuple(_like(directory, last))
    _check_plain(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise NotHere("a path that does not exist") from None
    if not stat.S_ISDIR(status.st_mode):
        return (_stamp(path, status),)
    files = tuple(_below(path))
    if not files:
        raise NotHere("a directory without files")
    return files


def stamp_of(path: str) -> FileStamp:
    """The stamp that a file has now."""
    status = os.stat(path)
    return FileStamp(
        path=path,
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )


def is_written_to(stamp: FileStamp) -> bool:
    """Whether the file itself was changed since. One that has lost its name, or given it to
    another, is as it was for those who have it open.
    """
    try:
        now = stamp_of(stamp.path)
    except OSError:
        return False
    return (now.device, now.inode) == (stamp.device, stamp.inode) and now != stamp


def _check_plain(path: str) -> None:
    if _PLAIN.fullmatch(path) is None or {".", ".."} & set(path.split("/")):
        raise NotHere("a path of other characters than names mostly have")
    if _is_hidden(path.rpartition("/")[2]):
        raise NotHere("a path of a hidden name")


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", ".")) or name.endswith("._COPYING_")


def _below(path: str) -> Iterator[FileStamp]:
    """The files of a directory."""
    names = sorted(os.listdir(path))
    shown = [name for name in names if not _is_hidden(name)]
    if any(name.startswith(_TOLD_APART) or (name[0] == "_" and "=" in name) for name in names):
        raise NotHere("a directory with files that describe the others")
    if len(shown) > MAX_FILES:
        raise NotHere(f"more than {MAX_FILES} files")
    for name in shown:
        below = f"{path}/{name}"
        _check_plain(below)
        status = os.stat(below)
        if stat.S_ISDIR(status.st_mode):
            raise NotHere("a directory with others below it")
        yield _stamp(below, status)


def _like(directory: str, pattern: str) -> Iterator[FileStamp]:
    """The files of a directory whose names are like a pattern: some characters for ``*``, one for
    each ``?``.
    """
    _check_plain(f"{directory}/{pattern.translate(_NO_MARKS)}")
    names = [name for name in sorted(os.listdir(directory)) if fnmatchcase(name, pattern)]
    if not names:
        raise NotHere("a path that does not exist")
    if len(names) > MAX_FILES:
        raise NotHere(f"more than {MAX_FILES} files")
    for name in names:
        path = f"{directory}/{name}"
        _check_plain(path)
        yield _stamp(path, os.stat(path))


def _stamp(path: str, status: os.stat_result) -> FileStamp:
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        raise NotHere(f'"{path}", which is empty or no file')
    _check_sums(path, status)
    return FileStamp(
        path=path,
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )


def _check_sums(path: str, status: os.stat_result) -> None:
    """NotHere where the checksums beside a file look like another one's: Hadoop, who writes
    them, then fails.
    """
    directory, _, name = path.rpartition("/")
    try:
        sums = os.stat(f"{directory}/.{name}.crc")
    except FileNotFoundError:
        return
    wanted = _HEAD + _SUM * -(-status.st_size // _CHECKED_BYTES)
    second = 1_000_000_000
    if sums.st_size != wanted or status.st_mtime_ns > sums.st_mtime_ns + second:
        raise NotHere("a file that is not that of its checksums")


# ---- relations


BATCH_ROWS = 131_072
_CHANGED = "a file that was changed while the statement began"


class OpenFile(Protocol):
    """A file of one of the formats. NotHere, and whatever Arrow raises, from both."""

    def columns(self) -> tuple[PathColumn, ...]:
        """The columns that Spark tells from it."""

    def batches(self, columns: Sequence[PathColumn]) -> Iterator[list[pa.Array]]:
        """Values of some of these, as Spark reads them, in Arrow's types of Hive's."""


def relation_at(format: str, path: str) -> PathRelation:
    """The files of a format at a path, a relative one below the working directory. NotHere;
    OSError, and what Arrow raises.
    """
    path = absolute(path)
    open_file, files = _opener(format), stamps_of(path)
    columns = _opened(open_file, files[0]).columns()
    if any(_opened(open_file, file).columns() != columns for file in files[1:]):
        raise NotHere("files of different columns")
    return PathRelation(format=format, path=path, files=files, columns=columns)


def batches_of(relation: PathRelation, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows, of columns that are named in lower case. The files are opened now, and read when
    rows are asked for. NotHere where they are not those of ``relation`` any more; later for
    values that are Spark's. Else as ``relation_at``.
    """
    by_name = {column.name.lower(): column for column in relation.columns}
    wanted = [by_name[name] for name in names]
    if stamps_of(relation.path) != relation.files:
        raise NotHere(_CHANGED)
    open_file = _opener(relation.format)
    return _rows([(stamp, _opened(open_file, stamp)) for stamp in relation.files], wanted)


def open_file(format: str, stamp: FileStamp) -> OpenFile:
    """One file, as it was when it was looked at. As ``relation_at``."""
    return _opened(_opener(format), stamp)


def _opener(format: str) -> Open:
    match format:
        case "parquet":
            from acidsql.storage.by_path.parquet_file import ParquetFile

            return ParquetFile
        case "orc":
            from acidsql.storage.by_path.orc_file import OrcFile

            return OrcFile
    raise NotHere(f"{format} files by their path")


def _opened(open_file: Open, stamp: FileStamp) -> OpenFile:
    source = pa.OSFile(stamp.path)
    if stamp_of(stamp.path) != stamp:
        raise NotHere(_CHANGED)
    return open_file(source, stamp.path)


def _rows(
    files: Sequence[tuple[FileStamp, OpenFile]], columns: Sequence[PathColumn]
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(column.name.lower(), arrow_type(column.type)) for column in columns])
    for stamp, file in files:
        for arrays in file.batches(columns):
            if is_written_to(stamp):
                raise NotHere("a file that is written to while it is read")
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            for start in range(0, len(batch), BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)
