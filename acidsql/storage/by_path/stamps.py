"""Which files a path means to Spark, where that is sure.

Spark lists a path through Hadoop, which takes some characters for patterns and hides some names.
Directories that are more than a heap of files of data are left to it: those of partitions, with
summary files, or with the log of a stream.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase

from acidsql.catalog.path_relation import FileStamp
from acidsql.expressions.not_here import NotHere

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
