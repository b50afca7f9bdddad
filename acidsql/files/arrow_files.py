"""FileIO over pyarrow.fs: S3, Google's and Azure's object stores, HDFS, and whatever else is given
as a pyarrow file system.

Two kinds. Those that rename (HDFS) give a name in one step. Object stores know no directories and
no renaming: a directory is there as long as a file's name begins with it, a move is a copy, and no
call creates a file only if its name is free. Why that is enough:

* A name that readers look at holds the write id and statement id of its own transaction, and
  staging directories hold a random part: no two writers ever want the same name. The look before
  each write finds mistakes; it need not win a race.
* A file is there as a whole or not at all: an upload shows only when it is complete.
* What is half published when a process dies belongs to a write id that never becomes valid.

A file that was written can be changed on neither kind: ``replace_tail`` writes another one, a piece
at a time.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import takewhile
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from acidsql.acid.ids import is_hidden
from acidsql.acid.listed import FileEntry
from acidsql.files.fileio import Listing, parent
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass

# ---- arrow errors
#
# The errors of pyarrow's file systems as OSErrors with a number and a path.


# What stores say in their messages, for lack of an error number.
_WORDS = (
    (
        errno.ENOENT,
        (
            "NO_SUCH_KEY",
            "NO_SUCH_BUCKET",
            "HTTP status 404",
            "[BlobNotFound]",
            "[ContainerNotFound]",
            "No such directory",
        ),
    ),
    (
        errno.EACCES,
        (
            "ACCESS_DENIED",
            "INVALID_ACCESS_KEY_ID",
            "SIGNATURE_DOES_NOT_MATCH",
            "HTTP status 403",
            "HTTP status 401",
        ),
    ),
    (
        errno.EACCES,
        (
            "[AuthorizationFailure]",
            "[AuthorizationPermissionMismatch]",
            "[AuthenticationFailed]",
            "PERMISSION_DENIED",
        ),
    ),
)


@contextlib.contextmanager
def os_errors(path: str) -> Iterator[None]:
    """pyarrow's errors come out as OSErrors that name ``path``."""
    try:
        yield
    except NotImplementedError as error:
        raise OSError(errno.ENOTSUP, _first_line(error), path) from error
    except (ValueError, EOFError) as error:
        raise OSError(errno.EINVAL, _first_line(error), path) from error
    except OSError as error:
        if error.filename is not None:
            raise
        text = _first_line(error)
        code = error.errno or next(
            (code for code, words in _WORDS if any(word in text for word in words)), errno.EIO
        )
        raise OSError(code, text, path) from error


def _first_line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.partition("\n")[0].partition(" Detail: ")[0]


def os_error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


# ---- arrow files


PIECE = 16 << 20
"""Bytes that are held in memory of a file that is copied through here."""

SMALL = 4 << 20
"""A file of up to so many bytes is read in one request."""

ATTEMPTS = 5
"""How often a directory is listed anew, at most, because something in it vanishes while it is."""

MAX_COPY = 5 << 30
"""S3 copies larger objects only in parts, which pyarrow does not ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowFileIO:
    """The files of one bucket, container or host. ``root``: how the paths begin ("s3://bucket");
    ``prefix``: what the file system calls that itself ("bucket").

    ``renaming``: it renames in one step. ``shows_directories``: a listing of one level shows the
    directories there, and not only those with a mark of their own. ``travels``: other processes can
    open ``files``, too.
    ``remove_if_empty``: removes a directory (by its prefixed name) only if it is empty; whether it
    is gone. Without it empty directories stay.
    """

    files: fs.FileSystem
    root: str
    prefix: str
    renaming: bool
    shows_directories: bool = True
    travels: bool = False
    remove_if_empty: Callable[[str], bool] | None = None
    _buckets_seen: set[str] = field(default_factory=set, repr=False)
    _copied: dict[str, list[tuple[str, str]]] = field(default_factory=dict, repr=False)

    def renames(self, path: str) -> bool:
        return self.renaming

    def for_executors(self, root: str) -> ArrowFileIO | None:
        return self if self.travels else None

    # ---- looking

    def listing(self, root: str) -> Listing:
        base = self._name(root)
        files: list[FileEntry] = []
        directories: set[str] = set()
        for info in self._below(base):
            path = info.path[len(base) :].strip("/")
            names = (
                list(takewhile(lambda name: not is_hidden(name), path.split("/"))) if path else []
            )
            is_file = info.type is fs.FileType.File
            if is_file and "/".join(names) == path:
                files.append(FileEntry(path=path, size=info.size, mtime_ns=info.mtime_ns or 0))
                names.pop()
            # the mark that some leave in a store for a directory is none
            if is_file or self.renaming:
                directories.update("/".join(names[:depth]) for depth in range(1, len(names) + 1))
        return Listing(
            files=tuple(sorted(files, key=lambda f: f.path)), directories=tuple(sorted(directories))
        )

    def names(self, path: str) -> list[str]:
        base = self._name(path)
        infos = self._below(base, recursive=False)
        return sorted(info.path[len(base) :].strip("/") for info in infos if info.path != base)

    def list_files(self, root: str) -> list[FileEntry]:
        return list(self.listing(root).files)

    def exists(self, path: str) -> bool:
        kind = self._type(path)
        return kind is fs.FileType.File or (
            kind is fs.FileType.Directory and (self.renaming or self._holds_files(self._name(path)))
        )

    def read(self, path: str) -> bytes:
        with (
            os_errors(path),
            self.files.open_input_stream(self._name(path), compression=None) as file,
        ):
            return bytes(file.read())

    def directory_id(self, path: str) -> object:
        return None

    def open_input(self, path: str) -> pa.NativeFile:
        with os_errors(path):
            file = self.files.open_input_file(self._name(path))
            if file.size() > SMALL:
                return file
            with file:
                return pa.BufferReader(file.read())

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        with os_errors(path), self.files.open_input_file(self._name(path)) as file:
            size = file.size()
            file.seek(max(0, size - count))
            return bytes(file.read()), size

    # ---- writing

    def make_directory(self, path: str) -> None:
        with os_errors(path):
            if self.renaming:
                self.files.create_dir(self._name(path), recursive=True)
            elif self.prefix not in self._buckets_seen:  # it must exist; one look is enough
                if self.files.get_file_info(self.prefix).type is fs.FileType.NotFound:
                    raise os_error(errno.ENOENT, self.root)
                self._buckets_seen.add(self.prefix)

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        self.write_pieces(path, parts)

    def stage(self, path: str, *parts: bytes | memoryview) -> None:
        self.write_pieces(path, parts)

    def write_pieces(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        self._check_no_file(path)
        with os_errors(path):
            self._create(self._name(path), pieces)

    def copy_file(self, old: str, new: str, *, as_link: bool = False) -> None:
        self._check_no_file(new)
        self._copy(self._name(old), self._name(new))

    def replace_tail(self, path: str, offset: int, data: bytes) -> str:
        new = f"{path}.{uuid4().hex}"
        with os_errors(path):
            self._create(self._name(new), self._pieces(self._name(path), offset, data))
        return new

    def publish(self, staged: str, final: str) -> None:
        self._check_no_file(final)
        if self.renaming:
            self._rename(staged, final)
        else:
            self._copy(self._name(staged), self._name(final))

    def sync_file(self, path: str) -> None:
        """Does nothing: a call that has returned is durable."""

    def sync_directory(self, path: str) -> None:
        """Does nothing: a call that has returned is durable."""

    def _create(self, name: str, parts: Iterable[bytes | memoryview]) -> None:
        """Writes a file. One that could not be written to its end does not stay: closing it makes
        it look complete.
        """
        file = self.files.open_output_stream(name, compression=None)
        try:
            for part in parts:
                file.write(part)
            file.close()
        except BaseException:
            with contextlib.suppress(Exception):
                file.close()
            with contextlib.suppress(Exception):
                self.files.delete_file(name)
            raise

    def _pieces(self, name: str, length: int, end: bytes = b"") -> Iterator[bytes | memoryview]:
        with self.files.open_input_file(name) as file:
            while length:
                piece = file.read(min(PIECE, length))
                if not piece:
                    raise EOFError(f"{length} bytes are missing")
                yield piece
                length -= len(piece)
        yield end

    def _copy(self, old: str, new: str) -> None:
        with os_errors(new):
            try:
                self.files.copy_file(old, new)
            except OSError:
                size = self.files.get_file_info(old).size or 0
                if size <= MAX_COPY:
                    raise
                self._create(new, self._pieces(old, size))

    # ---- deleting

    def delete_file(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError), os_errors(path):
            self.files.delete_file(self._name(path))

    def delete_tree(self, path: str) -> None:
        if path.rstrip("/") == self.root:
            raise OSError(errno.EPERM, "a whole file system is never deleted", path)
        name = self._name(path)
        with contextlib.suppress(FileNotFoundError), os_errors(path):
            try:
                self.files.delete_dir(name)
            except FileNotFoundError:
                raise
            except OSError:
                if self.renaming:
                    raise
                self._delete_upwards(name)

    def _delete_upwards(self, name: str) -> None:
        """For gateways to real directories (versitygw), which delete none that has something in it;
        pyarrow names the marks of directories first.
        """
        for info in sorted(self._below(name), key=lambda info: info.path, reverse=True):
            if info.type is fs.FileType.Directory:
                self.files.delete_dir(info.path)
            else:
                self.files.delete_file(info.path)
        self.files.delete_dir(name)

    def remove_empty_directory(self, path: str) -> bool:
        kind = self._type(path)
        if kind is fs.FileType.File:
            raise os_error(errno.ENOTDIR, path)
        if kind is fs.FileType.NotFound:
            return True
        with os_errors(path):
            if not self.renaming:
                return not self._holds_files(self._name(path))
            return self.remove_if_empty is not None and self.remove_if_empty(self._name(path))

    # ---- moving

    def move_directory(self, old: str, new: str) -> None:
        self._check_free(new)
        if self.renaming:
            self.make_directory(parent(new))
            self._rename(old, new)
        else:
            self._copy_all(old, new)

    def move_file(self, old: str, new: str) -> None:
        self.move_directory(old, new)

    def end_move(self, old: str) -> None:
        self._delete_all(name for name, _ in self._copied.pop(old, []))

    def undo_move(self, old: str, new: str) -> None:
        if self.renaming:
            self.move_directory(new, old)
        else:
            self._delete_all(copy for _, copy in self._copied.pop(old, []))

    def _rename(self, old: str, new: str) -> None:
        try:
            with os_errors(old):
                self.files.move(self._name(old), self._name(new))
        except OSError as error:
            if (
                not isinstance(error, FileExistsError | FileNotFoundError)
                and self.exists(new)
                and self.exists(old)
            ):
                raise os_error(errno.EEXIST, new) from error
            raise

    def _copy_all(self, old: str, new: str) -> None:
        """Copies a file, or a directory with hidden names too; there may be nothing to copy.
        After a failure there is nothing at ``new``.

        What was copied is remembered: others may write to ``old`` or ``new`` until one of the two
        is deleted.
        """
        source, target = self._name(old), self._name(new)
        if self._type(old) is fs.FileType.File:
            names = [source]
        else:
            names = [info.path for info in self._below(source) if info.type is fs.FileType.File]
        pairs = [(name, target + name[len(source) :]) for name in names]
        try:
            in_parallel(lambda pair: self._copy(*pair), pairs)
        except BaseException:
            self._delete_all(copy for _, copy in pairs)
            raise
        self._copied[old] = pairs

    def _delete_all(self, names: Iterable[str]) -> None:
        def delete(name: str) -> None:
            with contextlib.suppress(FileNotFoundError), os_errors(name):
                self.files.delete_file(name)

        in_parallel(delete, list(names))

    # ---- names

    def _name(self, path: str) -> str:
        """The name that pyarrow gives to a path. OSError for a path on another file system."""
        below = path.removeprefix(self.root)
        if not path.startswith(self.root) or (below and not below.startswith("/")):
            raise os_error(errno.EXDEV, path)
        return (self.prefix + below).rstrip("/") or "/"

    def _type(self, path: str) -> fs.FileType:
        with os_errors(path):
            return self.files.get_file_info(self._name(path)).type

    def _check_free(self, path: str) -> None:
        if self.exists(path):
            raise os_error(errno.EEXIST, path)

    def _check_no_file(self, path: str) -> None:
        """Raises FileExistsError if a file has the name, by one request, and not two: to a store, a
        directory of that name is another name.
        """
        if self.renaming:
            return self._check_free(path)
        with contextlib.suppress(FileNotFoundError), os_errors(path):
            self.files.open_input_file(self._name(path)).close()
            raise os_error(errno.EEXIST, path)

    def _holds_files(self, name: str) -> bool:
        infos = self._below(name, recursive=False)
        return any(info.type is fs.FileType.File for info in infos) or any(
            self._holds_files(info.path) for info in infos if info.path.rstrip("/") != name
        )

    def _below(self, name: str, *, recursive: bool = True) -> list[fs.FileInfo]:
        if not recursive and not self.shows_directories:
            return self._first_level(name)
        selector = fs.FileSelector(name, recursive=recursive, allow_not_found=True)
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(FileNotFoundError), os_errors(name):
                return list(self.files.get_file_info(selector))
        with os_errors(name):
            return list(self.files.get_file_info(selector))

    def _first_level(self, name: str) -> list[fs.FileInfo]:
        """What is in a directory, of the names of all files below it."""
        level: dict[str, fs.FileInfo] = {}
        for info in self._below(name):
            first, _, more = info.path[len(name) :].strip("/").partition("/")
            path = f"{name}/{first}" if first else info.path
            level[path] = fs.FileInfo(path, type=fs.FileType.Directory) if more else info
        return list(level.values())
