"""Files and directories that DDL moves, one after the other, and back again if it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from acidsql.acid.listed import FileEntry
from acidsql.commit.recovery import move_back
from acidsql.commit.unit_of_work import Store
from acidsql.ddl.warehouse import Warehouse, file_errors
from acidsql.errors import Error, WriteConflictError
from acidsql.files.fileio import FileIO, rename_directory
from acidsql.files.urls import parent


@contextmanager
def moves_noted(warehouse: Warehouse, moves: Mapping[str, str]) -> Iterator[None]:
    """Moves directories, each from the second place to the first, beside a change of the catalog:
    should the process die between the two, or not know what became of the change, others move them
    back or delete what is a copy when it has ended.
    """
    store = warehouse.store
    renamed = {new: old for new, old in moves.items() if warehouse.files.renames(new)}
    noted = {new: [new] if new in renamed else [old, new] for new, old in moves.items()}
    store.note_moves(renamed)
    for path in (path for new in moves if new not in renamed for path in noted[new]):
        store.note_directory(path)
    try:
        yield
    except BaseException:
        with suppress(Error, OSError):
            gone = [new for new in moves if not warehouse.files.exists(new)]
            store.forget_directories([path for new in gone for path in noted[new]])
        raise
    with suppress(Error):
        store.forget_directories([path for paths in noted.values() for path in paths])


def step_of(
    io: FileIO, locations: Sequence[str], move: Callable[[], None], *, into: str = ""
) -> Callable[[], None]:
    """What the store does for a move of these directories while nobody else can change it: the
    move, where that takes one step.

    Else it is made now, as a copy, while the statement's lock alone keeps others away; and what is
    left to do is to see that what was copied is still all there is: WriteConflictError if not.
    ``into``: the directory in each of them to which the copies go.
    """
    if all(map(io.renames, locations)):
        return move

    def files() -> list[list[FileEntry]]:
        listed = (io.list_files(location) for location in locations)
        return [[f for f in of if not (into and f.path.startswith(f"{into}/"))] for of in listed]

    with file_errors("the copy"):
        before = files()
    move()

    def check() -> None:
        with file_errors("the copy"):
            now = files()
        if now != before:
            raise WriteConflictError(
                "files were written or removed while they were copied",
                hint="Run the statement again.",
            )

    return check


class Moves:
    """What one ``statement`` has moved so far; errors name it."""

    def __init__(self, io: FileIO, statement: str) -> None:
        self._io = io
        self._statement = statement
        self._done: list[tuple[str, str]] = []
        self._created: list[str] = []

    @property
    def any(self) -> bool:
        """Whether there is something to undo or to end."""
        return bool(self._done or self._created)

    def make_directory(self, path: str) -> None:
        if not self._io.exists(path):
            self._io.make_directory(path)
            self._created.append(path)

    def directory(self, old: str, new: str) -> None:
        self._io.move_directory(old, new)
        self._done.append((old, new))

    def renamed(self, old: str, new: str) -> bool:
        """Moves a directory if that is one step: see ``rename_directory``."""
        is_renamed = rename_directory(self._io, old, new)
        if is_renamed:
            self._done.append((old, new))
        return is_renamed

    def file(self, old: str, new: str) -> None:
        self._io.move_file(old, new)
        self._done.append((old, new))

    def sync(self) -> None:
        """Makes them outlive a crash of the machine."""
        for directory in dict.fromkeys(parent(path) for pair in self._done for path in pair):
            self._io.sync_directory(directory)

    def end(self) -> None:
        """After the commit."""
        with file_errors(f"{self._statement} is done, but deleting what was copied"):
            for old, _ in self._done:
                self._io.end_move(old)

    def undo(self, store: Store) -> None:
        """Moves all back that nobody else has moved back meanwhile: this process may have stood
        still. ExecutionError that names what could not be moved.
        """
        for old, new in reversed(self._done):
            with file_errors(f'{self._statement} failed and moving "{new}" back to "{old}"'):
                if not self._io.renames(new):
                    self._io.undo_move(old, new)
                    continue
                with store.alone():
                    if self._io.exists(new):
                        move_back(self._io, new, old)
        for path in self._created:
            with file_errors(self._statement):
                self._io.remove_empty_directory(path)
