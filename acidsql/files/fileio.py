"""The few things acidsql asks of a file system, as a protocol.

No pyspark here: the paths that need no Spark (INSERT VALUES, SHOW, DDL) use it too. A file gets its
final name by one step that fails where the name is taken (``publish``); nothing is ever renamed
onto an existing name. Failures are Python's own ``OSError`` family (FileExistsError,
FileNotFoundError ..): the callers know what they mean. The file systems: local_files,
arrow_files, spark/jvm/hadoop_files.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from acidsql.acid.listed import FileEntry
from acidsql.lazy_dataclass import dataclass
from acidsql.utf8 import is_text

if TYPE_CHECKING:
    import pyarrow as pa

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
