"""The protocol of file systems, and the several spellings of one location: what the user wrote,
what files are opened by, what is said to Spark, what Spark shows.

A location is a path, a ``file:`` URL, or the URL of another file system: ``s3://bucket/dir``,
``hdfs://host:8020/dir``, ``abfss://container@account.dfs.core.windows.net/dir``. Percent signs are
part of a name, as Hadoop's Path reads them.
"""

from __future__ import annotations

import errno
import os.path
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from acidsql.acid.listed import FileEntry
from acidsql.errors import UnsupportedStatementError
from acidsql.lazy import dataclass
from acidsql.utf8 import is_text

if TYPE_CHECKING:
    import pyarrow as pa


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)(?://([^/]*))?(.*)", re.DOTALL)
_RELATIVE = re.compile(r"[^/:][^:]*", re.DOTALL)
_S3 = frozenset({"s3", "s3a", "s3n"})


class Url(NamedTuple):
    """A location on another file system. ``scheme`` is in lower case; ``path`` begins with a slash
    or is empty. ``root``: the scheme and the host as they were written.
    """

    scheme: str
    host: str
    path: str
    root: str


def split_url(location: str) -> Url | None:
    """The parts of a URL; None for a local path. UnsupportedStatementError for a URL of another
    file system that names no host, bucket or container.
    """
    if location.startswith("/"):
        return None
    match = _URL.fullmatch(location)
    if match is None or match[1].lower() == "file":
        return None
    scheme, host, path = match.groups()
    if not host:
        raise UnsupportedStatementError(
            f'location "{location}" names no host',
            hint=f"Write it in full: {scheme}://host/{path.lstrip('/') or 'directory'}",
        )
    return Url(scheme=scheme.lower(), host=host, path=path, root=f"{scheme}://{host}")


def path_of(location: str) -> str:
    """A location as files are opened by it, without a trailing slash: an absolute path if it is
    local, else the URL.
    """
    if location.startswith("/"):
        return location
    url = split_url(location)
    if url is not None:
        return f"{url.root}{url.path}".rstrip("/")
    scheme, separator, rest = location.partition(":")
    if separator and scheme.lower() == "file":
        return re.sub("^//[^/]*", "", rest)
    return location


def is_relative(given: str) -> bool:
    """Whether a path is below the working directory."""
    return _RELATIVE.fullmatch(given) is not None


def absolute(given: str) -> str:
    """The path with the working directory of this process, if it is relative."""
    # like Hadoop, which looks at no symbolic link to tell what ".." is
    return os.path.normpath(os.path.join(os.getcwd(), given)) if is_relative(given) else given


def parent(path: str) -> str:
    """The directory a path lies in; empty for that of a root."""
    above = path.rpartition("/")[0]
    return "" if above.endswith("/") else above


def real_path(location: str) -> str:
    """The one spelling of a location: links followed, S3's schemes taken for one. Two directories
    overlap if the real path of one begins with that of the other.
    """
    match = None if location.startswith("/") else _URL.fullmatch(location)
    if match is None or match[1].lower() == "file":
        return os.path.realpath(path_of(location))
    scheme, host, path = match[1].lower(), match[2] or "", match[3]
    scheme, host = ("s3", host) if scheme in _S3 else (scheme, host.lower())
    return f"{scheme}://{host}{path}".rstrip("/")


class RealPaths:
    """The real paths of many locations, as they are now: a directory that several lie in is looked
    at once.
    """

    def __init__(self) -> None:
        self._directories: dict[str, str] = {}

    def of(self, location: str) -> str:
        """Returns what ``real_path`` does."""
        path = path_of(location)
        directory, _, name = path.rpartition("/")
        if not path.startswith("/") or not directory or name in ("", ".", ".."):
            return real_path(location)
        known = self._directories.get(directory)
        if known is None:
            known = self._directories[directory] = os.path.realpath(directory)
        inside = f"{known.rstrip('/')}/{name}"
        return os.path.realpath(inside) if os.path.islink(inside) else inside


def real_entry(location: str) -> str:
    """The real path of a name itself: links above it are followed, but not the one that it may
    be.
    """
    path = path_of(location)
    if not path.startswith("/"):
        return real_path(location)
    return f"{real_path(parent(path) or '/').rstrip('/')}/{path.rpartition('/')[2]}"


def is_inside(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies below it, by their names alone."""
    return path == directory or is_below(path, directory)


def is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def spark_url(path: str) -> str:
    """The URL for Spark: without a scheme it would look on the cluster's default file system, and
    S3 it knows as ``s3a``.
    """
    if path.startswith("/"):
        return f"file://{path}"
    url = split_url(path)
    if url is None:
        return f"file://{path_of(path)}"
    return f"s3a://{url.host}{url.path}" if url.scheme in _S3 else f"{url.root}{url.path}"


def relative_to(path: str, directory: str) -> str:
    """A path as seen from a local directory; one on another file system as it is."""
    return os.path.relpath(path_of(path), directory) if split_url(path) is None else path


# ---- the protocol
#
# The few things acidsql asks of a file system, as a protocol.
#
# No pyspark here: the paths that need no Spark (INSERT VALUES, SHOW, DDL) use it too. A file gets
# its final name by one step that fails where the name is taken (``publish``); nothing is ever
# renamed onto an existing name. Failures are Python's own ``OSError`` family (FileExistsError,
# FileNotFoundError ..): the callers know what they mean. The file systems: local_files,
# arrow_files, spark/jvm/hadoop_files.


_PIECE = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All that is not hidden below a root: files, and directories with ``/`` separated paths
    relative to it; both sorted.
    """

    files: tuple[FileEntry, ...]
    directories: tuple[str, ...]


class FileReader(Protocol):
    """What opens files to read them."""

    def open_input(self, path: str) -> pa.NativeFile:
        """Opens a file for a reader that goes to and fro in it; to be closed."""

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        """The last ``count`` bytes (all, if there are fewer) and the file's size."""


class FileIO(FileReader, Protocol):
    """A file system. Paths are absolute, as ``Table.location`` joined with ``/``."""

    def renames(self, path: str) -> bool:
        """Whether a file or directory there gets another name in one step. If not, a move is a
        copy: see ``move_directory``.
        """

    def for_executors(self, root: str) -> FileIO | None:
        """A file system that opens files below ``root`` in another process, maybe on another
        machine; None where nothing would be gained by that.
        """

    def listing(self, root: str) -> Listing:
        """Lists all levels below ``root``. Names that begin with ``_`` or ``.`` are left out, and
        all below them; a missing root is empty. What is deleted meanwhile may be in it or not.

        Symbolic links are followed; OSError for one that leads nowhere or in a circle: what it led
        to would be missed, or come twice.
        """

    def list_files(self, root: str) -> list[FileEntry]:
        """The files of ``listing``."""

    def names(self, path: str) -> list[str]:
        """The names in one directory, hidden ones too, sorted; a missing one has none."""

    def exists(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """Makes a directory with its parents; one that exists is no error. Nothing happens where
        directories are but the names of files.
        """

    def directory_id(self, path: str) -> object:
        """What tells a directory from every other one that has its name later; None if there is
        none, or the file system cannot tell.
        """

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, *parts: bytes | memoryview) -> None:
        """Creates the file from its parts; FileExistsError if the name is taken."""

    def stage(self, path: str, *parts: bytes | memoryview) -> None:
        """Creates a file as ``write`` does, whose contents need not outlive a crash of the machine
        before ``sync_file``.
        """

    def write_pieces(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        """Writes a new file from as many parts as there may be, each of which is asked for when
        it is its turn.
        """

    def copy_file(self, old: str, new: str, *, as_link: bool = False) -> None:
        """Copies a file; FileExistsError if ``new`` is taken. ``as_link``: another name for the
        same file will do, because the old one is about to go.
        """

    def replace_tail(self, path: str, offset: int, data: bytes) -> str:
        """Cuts a staged file off at ``offset`` and appends ``data``. Never asked of a published
        file.

        Returns the path it has from then on: where files cannot be changed another one that nobody
        else uses, and the old one stays.
        """

    def publish(self, staged: str, final: str) -> None:
        """Gives a staged file its final name in one step; FileExistsError, and nothing changed, if
        the name is taken.

        Where that is a copy, the staged one goes with its directory.
        """

    def sync_file(self, path: str) -> None:
        """Makes the contents of a staged file, which may have its final name by now, outlive a
        crash of the machine.
        """

    def sync_directory(self, path: str) -> None:
        """Makes the names in a directory outlive a crash of the machine, where the file system
        needs to be asked.
        """

    def delete_file(self, path: str) -> None:
        """Deletes a file; a missing one is no error."""

    def delete_tree(self, path: str) -> None:
        """Deletes a directory with all below; a missing path is no error. Of a symbolic link the
        link goes and not what it leads to, as in Hadoop.
        """

    def move_directory(self, old: str, new: str) -> None:
        """Moves a directory in one step; parents of ``new`` are made. FileExistsError, and nothing
        moved, if there is anything at ``new``.

        ``sync_directory`` of both parents makes it outlive a crash of the machine. OSError, and
        nothing moved, if a symbolic link in it, or the link that it is, would lead elsewhere from
        there. Where nothing can be renamed the files are copied, all or none, and those at ``old``
        stay until ``end_move``, so that no file is missing at both paths at any time.
        """

    def move_file(self, old: str, new: str) -> None:
        """Moves a file as ``move_directory`` moves a directory."""

    def end_move(self, old: str) -> None:
        """Deletes what a move that is a copy has left at ``old``; after it nothing can
        be undone.
        """

    def undo_move(self, old: str, new: str) -> None:
        """Moves back, before ``end_move``."""

    def remove_empty_directory(self, path: str) -> bool:
        """Removes an empty directory and returns whether it is gone: one that holds anything stays,
        hidden names too; a missing one is gone.

        Another that stays is one that the file system cannot delete unless it is empty.
        """


def check_name(path: str) -> None:
    """Raises OSError for a name whose bytes are not UTF-8: neither the catalog nor Java could write
    it.
    """
    if not is_text(path):
        raise OSError(errno.EILSEQ, "its name is not UTF-8", path)


def rename_directory(io: FileIO, old: str, new: str) -> bool:
    """Moves a directory where that is one step, and returns whether it did. It does not where a
    move is a copy, the parent is not ours, the directory is a file system of its own, or there are
    links in it. FileNotFoundError if there is no directory.
    """
    if not io.renames(old):
        return False
    try:
        io.move_directory(old, new)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    return True


def hidden_reader(io: FileIO, root: str) -> Callable[[str], bytes | None]:
    """What reads a hidden file by its path below ``root``; None if there is none, or who cleans
    up takes it away meanwhile.
    """

    def read(path: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return io.read(f"{root}/{path}") if io.exists(f"{root}/{path}") else None
        return None

    return read


def pieces_of(io: FileIO, path: str) -> Iterator[bytes]:
    """A file's content, so much at a time as fits anywhere."""
    with io.open_input(path) as file:
        while piece := file.read(_PIECE):
            yield piece
