"""The files of a snapshot, wherever they are by now.

A table or partition that is dropped while somebody reads it is kept for him by a hidden name (see
``changes.dropped``); another may have its place at once, with files of the same names::

    reader   lists t             opens t/f    is t what was listed?
    others           drops t, hides it, makes another t

So a file that was opened at the old place is the right one only if the directory is still the one
that was listed. Else the store tells where that is kept. Where the file system cannot tell two
directories apart, the store is asked after each file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from acidsql.files.fileio import FileIO, FileReader
from acidsql.files.urls import is_inside, parent

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


def _nothing_moved(behind: bool) -> Mapping[str, str]:
    return {}


class MovedFiles(FileReader):
    """Opens the files of one snapshot by the paths they had in it.

    ``find_moved``: where directories are that were dropped since, or are about to be, by where they
    were; behind a change of that which is going on, if it is True. ``moves``: how often something
    else was told. FileNotFoundError for a file that nobody keeps.
    """

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self.find_moved: Callable[[bool], Mapping[str, str]] = _nothing_moved
        self.moves = 0
        self._ids: dict[str, object] = {}
        self._moved: Mapping[str, str] = {}

    def add_root(self, root: str) -> None:
        """Notes which directory has a path, before it is listed."""
        self._ids[root] = self._io.directory_id(root)

    def look_again(self, *, behind: bool = False) -> bool:
        """Asks where the directories are; whether anything has moved since that was last asked.
        ``behind``: see ``find_moved``.
        """
        before, moved = self._moved, self.find_moved(behind)
        # a partition may have been dropped before its table
        self._moved = dict(sorted(moved.items(), key=lambda pair: len(pair[0]), reverse=True))
        self.moves += self._moved != before
        return self._moved != before

    def location_of(self, root: str) -> str:
        """Where a directory is, as far as is known."""
        return next((path for path in self._kept(root) if self._io.exists(path)), root)

    def is_kept(self, root: str) -> bool:
        """Whether a directory is known to be kept for the reader."""
        return any(True for _ in self._kept(root))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._reading(path, self._io.open_input)

    def read_tail(self, path: str, count: int) -> tuple[bytes, int]:
        return self._reading(path, lambda now: self._io.read_tail(now, count))

    def _reading(self, path: str, read: Callable[[str], T]) -> T:
        was_behind = False
        while True:
            missing: OSError = FileNotFoundError(path)
            for now in (*self._kept(path), path):
                try:
                    result = read(now)
                except FileNotFoundError as error:
                    missing = error
                    continue
                if now != path or self._is_what_it_was(path):
                    return result
            if was_behind:
                raise missing
            if not self.look_again():
                # it may be given its hidden name just now
                self.look_again(behind=True)
                was_behind = True

    def _kept(self, path: str) -> Iterator[str]:
        """Where a path is kept, or is about to be."""
        for old, new in self._moved.items():
            if is_inside(path, old):
                yield new + path.removeprefix(old)

    def _is_what_it_was(self, path: str) -> bool:
        root = path
        while root and root not in self._ids:
            root = parent(root)
        known = self._ids.get(root)
        if known is None:
            return not self.look_again()
        return self._io.directory_id(root) == known
