"""ALTER TABLE: the catalog's entry changed; with a new name the directory moves, to become
transactional the files must be Hive's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from acidsql import crash_points
from acidsql.acid.ids import is_reserved, original_bucket
from acidsql.acid.listed import FileEntry
from acidsql.catalog.model import Table
from acidsql.commit.recovery import move_back
from acidsql.commit.unit_of_work import Store
from acidsql.ddl.partitions.locations import at_span
from acidsql.ddl.tables import check_apart
from acidsql.ddl.warehouse import Warehouse, done, file_errors
from acidsql.errors import BindError, Error, WriteConflictError
from acidsql.files.fileio import FileIO, parent, rename_directory
from acidsql.planner.bind.bound_catalog import BoundAlterTable, BoundConvertTable, BoundRenameTable
from acidsql.result import Result

# ---- moves
#
# Files and directories that DDL moves, one after the other, and back again if it fails.


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


# ---- alterations


def alter_table(warehouse: Warehouse, action: BoundAlterTable) -> Result:
    before, after = action.before, action.after
    if after.kind is not before.kind or (after.owns_files and not before.owns_files):
        check_apart(warehouse, after)
    warehouse.store.alter_table(before, after)
    return done()


def _is_stored(warehouse: Warehouse, after: Table) -> bool:
    """Whether the change took place though its commit failed. Not known counts as yes: what
    may be in use must not be taken away.
    """
    try:
        stored = warehouse.store.find_table(after.name)
    except Error:
        return True
    return (
        stored is not None
        and stored.table_id == after.table_id
        and stored.is_transactional == after.is_transactional
    )


# ---- a new name


def rename_table(warehouse: Warehouse, action: BoundRenameTable) -> Result:
    """Renames a table. Its directory moves inside the metastore's transaction, which keeps writers
    from beginning, and back again if that fails; where it is copied, that comes before.

    Killed before that commits, the table keeps its name, and the next statement of anybody moves
    its directory back. Hive: HiveAlterHandler.alterTable, which moves it itself.
    """
    before, after = action.before, action.after
    warehouse.store.reap()
    if after.location == before.location or warehouse.store.moves_directories:
        warehouse.store.rename_table(before, after)
        return done()
    moves = Moves(warehouse.files, "ALTER TABLE")

    def move() -> None:
        _check_nothing_at(warehouse.files, before, after)
        with file_errors("RENAME"):
            moves.directory(before.location, after.location)
            moves.sync()
        crash_points.reached("directory moved")

    with at_span(action.span):
        check_apart(warehouse, after, formerly=before)
        with moves_noted(warehouse, {after.location: before.location}):
            try:
                step = step_of(warehouse.files, [before.location], move)
                warehouse.store.rename_table(before, after, move=step)
            except BaseException:
                if not _is_stored(warehouse, after):
                    moves.undo(warehouse.store)
                raise
            moves.end()
    return done()


def _check_nothing_at(io: FileIO, before: Table, after: Table) -> None:
    old, new = before.location, after.location
    if io.exists(new):
        killed = (
            f"There is nothing at {old}: if a RENAME was killed, move the directory back and run"
            " the statement again."
        )
        hint = (
            "Move it away; it may belong to a table that was dropped." if io.exists(old) else killed
        )
        raise BindError(
            f"New location for this table {after.name} already exists : {new}", hint=hint
        )


# ---- a table becomes transactional


def convert_table(warehouse: Warehouse, action: BoundConvertTable) -> Result:
    """Makes a table transactional. Full ACID: the files stay, and their rows have write id 0.
    Insert-only: they move into a delta of the first write id, because Hive passes over files that
    lie beside the deltas. Hive: TransactionalValidationListener, AlterTableSetPropertiesOperation.

    A plain INSERT that is under way cannot be seen, it has no transaction: nobody should write to a
    table while it is converted. Its files come late. In a full ACID table they are rows like the
    others, but the row ids of those may change when they come.
    """
    before, after = action.before, action.after
    locations = (
        [partition.location for partition in warehouse.store.list_partitions(before)]
        if before.partition_columns
        else [before.location]
    )
    moves = Moves(warehouse.files, "ALTER TABLE")

    def move() -> None:
        with file_errors("ALTER TABLE"):
            for location in locations:
                _move_into(warehouse.files, moves, location, action.directory or "")
            moves.sync()
        crash_points.reached("files moved")

    with at_span(action.span):
        check_apart(warehouse, after)
        for location in locations:
            check_originals(warehouse.files, after, location, moving_to=action.directory)
    try:
        step = None
        if action.directory is not None:
            step = step_of(warehouse.files, locations, move, into=action.directory)
        warehouse.store.alter_table(before, after, move=step)
    except BaseException:
        if not _is_stored(warehouse, after):
            moves.undo(warehouse.store)
        raise
    moves.end()
    return done()


def check_originals(
    io: FileIO, table: Table, location: str, *, moving_to: str | None = None
) -> None:
    """Raises BindError for a directory named like an ACID one, but that of a conversion that was
    killed; and, if the files do not move, for one that is not named like ``000000_0`` or
    ``000000_0_copy_1``. Hidden names do not count.
    """
    with file_errors(f"looking at the files of {table.name}"):
        listing = io.listing(location)
    for directory in listing.directories:
        if is_reserved(directory.rpartition("/")[2]) and directory != moving_to:
            message = (
                f"Unexpected directory name.  Cannot convert {table.name} to transactional table. "
                f" Directory: {location}/{directory}"
            )
            raise BindError(message, hint="Such names belong to ACID tables; rename it.")
    for file in listing.files:
        if moving_to is None and original_bucket(file.path.rpartition("/")[2]) is None:
            message = (
                f"Unexpected data file name format.  Cannot convert {table.name} to transactional"
                f" table.  File: {location}/{file.path}"
            )
            raise BindError(
                message,
                hint="INSERT OVERWRITE of its own rows gives them files named as Hive names them.",
            )


def _move_into(io: FileIO, moves: Moves, location: str, directory: str) -> None:
    """All that is not hidden in a table's or partition's directory, one by one: readers of the
    plain table find it there as well.
    """
    listing = io.listing(location)
    target = f"{location}/{directory}"
    if listing.files:
        moves.make_directory(target)
    for path in listing.directories:
        if "/" not in path and path != directory:
            moves.directory(f"{location}/{path}", f"{target}/{path}")
    for file in listing.files:
        if "/" not in file.path:
            moves.file(f"{location}/{file.path}", f"{target}/{file.path}")
