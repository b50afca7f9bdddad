"""The few things acidsql asks of a file system, as a protocol, and the local one.

No pyspark here: the paths that need no Spark (INSERT VALUES, SHOW, DDL) use it too. A file gets its final name by one
step that fails where the name is taken (``publish``); nothing is ever renamed onto an existing name.
Failures are Python's own ``OSError`` family (FileExistsError, FileNotFoundError ..): the callers know what they mean.
The other file systems: file_systems, arrow_files, hadoop_files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

from acidsql.acid.paths import is_hidden
from acidsql.acid.snapshot import FileEntry
from acidsql.errors import UnsupportedStatementError
from acidsql.spark.urls import path_of, split_url

if TYPE_CHECKING:
    import pyarrow as pa

_THREADS = 8
_MOST_HANDED_OUT = 1024
"""Handing an item to a thread takes as long as looking into a small file."""
_QUICK_SECONDS = 0.0005
"""A look at a file or a directory that takes longer has waited for it."""
_GRACE_SECONDS = 0.02
"""What the first looks may take beside that: much is done for the first time in them."""
_PIECE = 4 << 20
_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP)
"""What a file system says that has no second names for this file, or not for us."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All that is not hidden below a root: files, and directories with ``/`` separated paths relative to it; both sorted."""

    files: tuple[FileEntry, ...]
    directories: tuple[str, ...]


class FileIO(Protocol):
    """Paths are absolute, as ``Table.location`` joined with ``/``."""

    def renames(self, path: str) -> bool:
        """Whether a file or directory there gets another name in one step. If not, a move is a copy: see ``move_directory``."""

    def for_executors(self, root: str) -> FileIO | None:
        """What opens files below ``root`` in another process, maybe on another machine; None where nothing would be gained by that."""

    def listing(self, root: str) -> Listing:
        """Recursive. Names that begin with ``_`` or ``.`` are left out, and all below them; a missing root is empty."""

    def list_files(self, root: str) -> list[FileEntry]:
        """The files of ``listing``."""

    def exists(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """With its parents; one that exists is no error. Nothing happens where directories are but the names of files."""

    def read(self, path: str) -> bytes: ...

    def open_input(self, path: str) -> pa.NativeFile:
        """For a reader that goes to and fro in the file; to be closed."""

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        """The last ``count`` bytes (all, if there are fewer) and the file's size."""

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        """Creates the file from its parts; FileExistsError if the name is taken."""

    def write_pieces(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        """The same of as many parts as there may be, each of which is asked for when it is its turn."""

    def copy_file(self, old: str, new: str, *, as_link: bool = False) -> None:
        """FileExistsError if ``new`` is taken. ``as_link``: another name for the same file will do, because the old one is about to go."""

    def replace_tail(self, path: str, offset: int, data: bytes) -> str:
        """Cuts a staged file off at ``offset`` and appends ``data``. Never asked of a published file.

        The path it has from then on: where files cannot be changed another one that nobody else uses, and the old one stays.
        """

    def publish(self, staged: str, final: str) -> None:
        """Gives a staged file its final name in one step; FileExistsError, and nothing changed, if the name is taken.

        Where that is a copy, the staged one goes with its directory.
        """

    def sync_directory(self, path: str) -> None:
        """Makes the names in a directory outlive a crash of the machine, where the file system needs to be asked."""

    def delete_file(self, path: str) -> None:
        """A missing file is no error."""

    def delete_tree(self, path: str) -> None:
        """With all below; a missing path is no error."""

    def move_directory(self, old: str, new: str) -> None:
        """In one step; parents of ``new`` are made. FileExistsError, and nothing moved, if there is anything at ``new``.

        ``sync_directory`` of both parents makes it outlive a crash of the machine.
        Where nothing can be renamed the files are copied, all or none, and those at ``old`` stay until ``end_move``, so that no file is
        missing at both places at any time.
        """

    def move_file(self, old: str, new: str) -> None:
        """The same of a file."""

    def end_move(self, old: str) -> None:
        """Deletes what a move that is a copy has left at ``old``; after it nothing can be undone."""

    def undo_move(self, old: str, new: str) -> None:
        """Moves back, before ``end_move``."""

    def remove_empty_directory(self, path: str) -> bool:
        """Whether it is gone: one that holds anything stays, hidden names too; a missing one is gone.

        So does one that the file system cannot delete unless it is empty.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFileIO:
    """POSIX files. ``durable``: contents and names reach the disk before a call that publishes them returns."""

    durable: bool = True

    def renames(self, path: str) -> bool:
        return True

    def for_executors(self, root: str) -> FileIO | None:
        """Files are changed in place here, which takes no time, and may not be there elsewhere."""
        return None

    def listing(self, root: str) -> Listing:
        files: list[FileEntry] = []
        directories: list[str] = []
        for entry, path in _walk(local_path(root), ""):
            if entry.is_dir():
                directories.append(path)
            else:
                stat = entry.stat()
                files.append(FileEntry(path=path, size=stat.st_size, mtime_ns=stat.st_mtime_ns))
        return Listing(files=tuple(sorted(files, key=lambda f: f.path)), directories=tuple(sorted(directories)))

    def list_files(self, root: str) -> list[FileEntry]:
        return list(self.listing(root).files)

    def exists(self, path: str) -> bool:
        return os.path.lexists(local_path(path))

    def make_directory(self, path: str) -> None:
        os.makedirs(local_path(path), exist_ok=True)

    def read(self, path: str) -> bytes:
        with open(local_path(path), "rb") as file:
            return file.read()

    def open_input(self, path: str) -> pa.NativeFile:
        import pyarrow as pa

        return pa.OSFile(local_path(path))

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        handle = os.open(local_path(path), os.O_RDONLY)
        try:
            size = os.fstat(handle).st_size
            return os.pread(handle, count, max(0, size - count)), size
        finally:
            os.close(handle)

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        self.write_pieces(path, parts)

    def write_pieces(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        with open(local_path(path), "xb", buffering=0) as file:
            for piece in pieces:
                _write_all(file.fileno(), piece)
            self._sync(file.fileno())

    def copy_file(self, old: str, new: str, *, as_link: bool = False) -> None:
        if as_link and not os.path.islink(local_path(old)):
            try:
                os.link(local_path(old), local_path(new))
                return
            except OSError as error:
                if error.errno not in _NO_LINK:
                    raise
        self.write_pieces(new, pieces_of(self, old))

    def replace_tail(self, path: str, offset: int, data: bytes) -> str:
        with open(local_path(path), "r+b") as file:
            file.seek(offset)
            file.write(data)
            file.truncate()
            file.flush()
            self._sync(file.fileno())
        return path

    def publish(self, staged: str, final: str) -> None:
        source = local_path(staged)
        os.link(source, local_path(final))  # rename(2) would replace what is there; link(2) refuses
        os.unlink(source)

    def sync_directory(self, path: str) -> None:
        if self.durable:
            handle = os.open(local_path(path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def delete_file(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(local_path(path))

    def delete_tree(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(local_path(path))

    def move_directory(self, old: str, new: str) -> None:
        source, target = local_path(old), local_path(new)
        if os.path.lexists(target):  # rename(2) would take the place of an empty directory
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            os.rename(source, target)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error

    def move_file(self, old: str, new: str) -> None:
        self.move_directory(old, new)

    def end_move(self, old: str) -> None:
        """What was moved is no longer there."""

    def undo_move(self, old: str, new: str) -> None:
        self.move_directory(new, old)

    def remove_empty_directory(self, path: str) -> bool:
        try:
            os.rmdir(local_path(path))
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return False
        return True

    def _sync(self, handle: int) -> None:
        if self.durable:
            os.fsync(handle)


LOCAL: FileIO = LocalFileIO()


def local_path(location: str) -> str:
    """An absolute path for a path or ``file:`` URL; percent signs are part of the name, as Hadoop's Path reads them."""
    if split_url(location) is None:
        return path_of(location)
    raise UnsupportedStatementError(f'location "{location}" is not on a local file system')


def pieces_of(io: FileIO, path: str) -> Iterator[bytes]:
    """A file's content, so much at a time as fits anywhere."""
    with io.open_input(path) as file:
        while piece := file.read(_PIECE):
            yield piece


def look_at_all(look: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """``in_parallel`` for short looks at files: as long as they are answered from memory, threads would only wait for each other."""
    found: list[_Result] = []
    began = time.perf_counter()
    for item in items:
        found.append(look(item))
        if time.perf_counter() - began > _GRACE_SECONDS + _QUICK_SECONDS * len(found):
            break
    return found + in_parallel(look, items[len(found) :])


def in_parallel(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """``work`` on each item in a few threads; results in order; the first error is raised when all have ended."""
    if len(items) < 2:
        return [work(item) for item in items]
    size = -(-len(items) // _MOST_HANDED_OUT)
    pieces = [items[at : at + size] for at in range(0, len(items), size)]
    with ThreadPoolExecutor(min(_THREADS, len(items))) as pool:
        return list(chain.from_iterable(pool.map(lambda piece: [work(item) for item in piece], pieces)))


def _write_all(handle: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _walk(root: str, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    try:
        entries = os.scandir(root)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            if is_hidden(entry.name):
                continue
            path = prefix + entry.name
            yield entry, path
            if entry.is_dir():
                yield from _walk(entry.path, path + "/")
