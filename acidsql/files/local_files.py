"""The local file system."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from acidsql.acid.ids import is_hidden
from acidsql.acid.listed import FileEntry
from acidsql.errors import UnsupportedStatementError
from acidsql.files.fileio import (
    FileIO,
    Listing,
    check_name,
    is_inside,
    path_of,
    pieces_of,
    real_entry,
    split_url,
)
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP)
"""What a file system says that has no second names for this file, or not for us."""


_ATTEMPTS = 20
"""How often something is done anew, at most, because others delete files or directories while it
is.
"""


class _VanishedError(FileNotFoundError):
    """A file was deleted while its directory was listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFileIO:
    """POSIX files. ``durable``: contents and names reach the disk before a call that publishes them
    returns.
    """

    durable: bool = True

    def renames(self, path: str) -> bool:
        return True

    def for_executors(self, root: str) -> FileIO | None:
        """Returns None: files are changed in place here, which takes no time, and may not be there
        elsewhere.
        """
        return None

    def listing(self, root: str) -> Listing:
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(_VanishedError):
                return self._listing(root)
        return self._listing(root)

    def _listing(self, root: str) -> Listing:
        """Lists once; _VanishedError if a file was deleted meanwhile."""
        files: list[FileEntry] = []
        directories: list[str] = []
        for entry, path in _walk(local_path(root), ""):
            check_name(entry.path)
            if entry.is_dir():
                directories.append(path)
            else:
                stat = _stat(entry)
                files.append(FileEntry(path=path, size=stat.st_size, mtime_ns=stat.st_mtime_ns))
        return Listing(
            files=tuple(sorted(files, key=lambda f: f.path)), directories=tuple(sorted(directories))
        )

    def names(self, path: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(os.listdir(local_path(path)))
        return []

    def list_files(self, root: str) -> list[FileEntry]:
        return list(self.listing(root).files)

    def exists(self, path: str) -> bool:
        return os.path.lexists(local_path(path))

    def make_directory(self, path: str) -> None:
        os.makedirs(local_path(path), exist_ok=True)

    def read(self, path: str) -> bytes:
        with open(local_path(path), "rb") as file:
            return file.read()

    def directory_id(self, path: str) -> object:
        try:
            status = os.stat(local_path(path))
        except OSError:
            return None
        return status.st_dev, status.st_ino

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

    def stage(self, path: str, *parts: bytes | memoryview) -> None:
        self._create(path, parts, durable=False)

    def write_pieces(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        self._create(path, pieces, durable=self.durable)

    def _create(self, path: str, pieces: Iterable[bytes | memoryview], *, durable: bool) -> None:
        with open(local_path(path), "xb", buffering=0) as file:
            for piece in pieces:
                _write_all(file.fileno(), piece)
            if durable:
                os.fsync(file.fileno())

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
            if self.durable:
                os.fsync(file.fileno())
        return path

    def publish(self, staged: str, final: str) -> None:
        source = local_path(staged)
        os.link(source, local_path(final))  # rename(2) would replace what is there; link(2) refuses
        os.unlink(source)

    def sync_file(self, path: str) -> None:
        self._sync_at(path, os.O_RDONLY)

    def sync_directory(self, path: str) -> None:
        self._sync_at(path, os.O_RDONLY | os.O_DIRECTORY)

    def _sync_at(self, path: str, flags: int) -> None:
        if self.durable:
            handle = os.open(local_path(path), flags)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def delete_file(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(local_path(path))

    def delete_tree(self, path: str) -> None:
        target = local_path(path)
        if os.path.islink(target):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
            return
        for attempt in range(_ATTEMPTS):
            try:
                return _remove_tree(target)
            except OSError as error:  # somebody has made another in it meanwhile
                if error.errno != errno.ENOTEMPTY or attempt == _ATTEMPTS - 1:
                    raise

    def move_directory(self, old: str, new: str) -> None:
        source, target = local_path(old), local_path(new)
        if os.path.lexists(target):  # rename(2) would replace an empty directory
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        _check_links(source, target)
        try:
            _rename(source, target)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error

    def move_file(self, old: str, new: str) -> None:
        self.move_directory(old, new)

    def end_move(self, old: str) -> None:
        """Does nothing: what was moved is no longer there."""

    def undo_move(self, old: str, new: str) -> None:
        self.move_directory(new, old)

    def remove_empty_directory(self, path: str) -> bool:
        target = local_path(path)
        try:
            if not os.path.islink(target):
                os.rmdir(target)
            elif not os.path.isdir(target) or os.listdir(target):
                return False
            else:
                os.unlink(target)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return False
        return True


LOCAL: FileIO = LocalFileIO()


def local_path(location: str) -> str:
    """An absolute path for a path or ``file:`` URL; percent signs are part of the name, as Hadoop's
    Path reads them.
    """
    if split_url(location) is None:
        return path_of(location)
    raise UnsupportedStatementError(f'location "{location}" is not on a local file system')


def _write_all(handle: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _walk(root: str, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
    try:
        entries = os.scandir(root)
    except FileNotFoundError:
        _check_missing(root)
        return
    with entries:
        for entry in entries:
            if is_hidden(entry.name):
                continue
            path = prefix + entry.name
            yield entry, path
            if entry.is_dir():
                if entry.is_symlink() and is_inside(
                    os.path.realpath(root), os.path.realpath(entry.path)
                ):
                    raise OSError(
                        errno.ELOOP,
                        "the symbolic link leads to a directory that holds it",
                        entry.path,
                    )
                yield from _walk(entry.path, path + "/")


def _rename(source: str, target: str) -> None:
    """Renames into a directory that is made if need be, anew if somebody removes it as empty. None
    is made for what is not there.
    """
    os.lstat(source)
    for attempt in range(_ATTEMPTS):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            os.rename(source, target)
            return
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1 or not os.path.lexists(source):
                raise


def _remove_tree(target: str) -> None:
    """Deletes a directory with all below. What others delete meanwhile is gone, and no reason to
    leave the rest.
    """
    with contextlib.suppress(OSError):  # a staging directory whose files are published is empty
        return os.rmdir(target)
    if sys.version_info >= (3, 12):
        shutil.rmtree(target, onexc=_unless_gone)
    else:
        shutil.rmtree(target, onerror=lambda call, path, info: _unless_gone(call, path, info[1]))


def _unless_gone(call: object, path: str, error: BaseException) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _stat(entry: os.DirEntry[str]) -> os.stat_result:
    try:
        return entry.stat()
    except FileNotFoundError as error:
        if entry.is_symlink():  # it leads nowhere
            raise
        raise _VanishedError(*error.args) from error


def _check_missing(path: str) -> None:
    """Raises FileNotFoundError if a link that leads nowhere is why there is nothing: perhaps a disk
    that is not mounted.
    """
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    if os.path.islink(path) and not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, "the symbolic link leads nowhere", path)


def _check_links(source: str, target: str) -> None:
    """Raises OSError if a relative link in what is moved would lead elsewhere then."""
    home, new_home = real_entry(source), real_entry(target)
    for path in _links(source):
        text = os.readlink(path)
        if os.path.isabs(text):
            continue
        leads = os.path.realpath(os.path.join(os.path.dirname(path), text))
        wanted = new_home + leads.removeprefix(home) if is_inside(leads, home) else leads
        moved = os.path.join(os.path.dirname(target + path.removeprefix(source)), text)
        if os.path.realpath(moved) != wanted:
            raise OSError(
                errno.EXDEV, "the symbolic link would lead elsewhere; make it an absolute one", path
            )


def _links(path: str) -> Iterator[str]:
    """All symbolic links at a path and below; none is followed."""
    if os.path.islink(path):
        yield path
    elif os.path.isdir(path):
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_symlink() or entry.is_dir():
                    yield from _links(entry.path)
