"""ALTER TABLE: the catalog's entry changed; with a new name the directory moves, to become transactional the files must be Hive's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql import crash_points
from acidsql.acid.paths import is_reserved, original_bucket
from acidsql.catalog.model import Table
from acidsql.errors import BindError, Error
from acidsql.planner.bound_catalog import BoundAlterTable, BoundConvertTable, BoundRenameTable
from acidsql.result import Result
from acidsql.session_commands.answers import done
from acidsql.session_commands.file_errors import file_errors
from acidsql.session_commands.places import at_place
from acidsql.session_commands.tables import check_apart
from acidsql.spark.fileio import FileIO
from acidsql.spark.urls import parent

if TYPE_CHECKING:
    from acidsql.session import Session

STATEMENT = "ALTER TABLE"


def alter_table(session: Session, action: BoundAlterTable) -> Result:
    if action.after.kind is not action.before.kind:
        check_apart(session, action.after)
    session.store.alter_table(action.before, action.after)
    return done(STATEMENT)


class _Moves:
    """Of files and directories, one after the other, and back again."""

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._done: list[tuple[str, str]] = []
        self._made: list[str] = []

    def make_directory(self, path: str) -> None:
        if not self._io.exists(path):
            self._io.make_directory(path)
            self._made.append(path)

    def directory(self, old: str, new: str) -> None:
        self._io.move_directory(old, new)
        self._done.append((old, new))

    def file(self, old: str, new: str) -> None:
        self._io.move_file(old, new)
        self._done.append((old, new))

    def sync(self) -> None:
        """Makes them outlive a crash of the machine."""
        for directory in dict.fromkeys(parent(path) for pair in self._done for path in pair):
            self._io.sync_directory(directory)

    def end(self) -> None:
        """After the commit."""
        with file_errors("ALTER TABLE is done, but deleting what was copied"):
            for old, _ in self._done:
                self._io.end_move(old)

    def undo(self) -> None:
        """ExecutionError that names what could not be moved back."""
        for old, new in reversed(self._done):
            with file_errors(f'ALTER TABLE failed and moving "{new}" back to "{old}"'):
                self._io.undo_move(old, new)
        for path in self._made:
            with file_errors("ALTER TABLE"):
                self._io.remove_empty_directory(path)


def _is_stored(session: Session, after: Table) -> bool:
    """Whether the change took place though its commit failed. Not known counts as yes: what may be in place must not be taken away."""
    try:
        found = session.store.find_table(after.name)
    except Error:
        return True
    return found is not None and found.table_id == after.table_id and found.is_transactional == after.is_transactional


# ---- a new name


def rename_table(session: Session, action: BoundRenameTable) -> Result:
    """The directory moves inside the metastore's transaction, which keeps writers from beginning, and back again if that fails.

    Killed before that commits, the table keeps its name and its files lie under the new one: then the statement, run again, tells how
    to put it right. Hive: HiveAlterHandler.alterTable.
    """
    before, after = action.before, action.after
    session.store.reap()
    if after.location == before.location:
        session.store.rename_table(before, after)
        return done(STATEMENT)
    moves = _Moves(session.files)

    def move() -> None:
        _check_nothing_at(session.files, before, after)
        with file_errors("RENAME"):
            moves.directory(before.location, after.location)
            moves.sync()
        crash_points.reached("directory moved")

    with at_place(action.span):
        check_apart(session, after, formerly=before)
        try:
            session.store.rename_table(before, after, move=move)
        except BaseException:
            if not _is_stored(session, after):
                moves.undo()
            raise
    moves.end()
    return done(STATEMENT)


def _check_nothing_at(io: FileIO, before: Table, after: Table) -> None:
    old, new = before.location, after.location
    if io.exists(new):
        killed = f"There is nothing at {old}: if a RENAME was killed, move the directory back and run the statement again."
        hint = "Move it away; it may belong to a table that was dropped." if io.exists(old) else killed
        raise BindError(f"New location for this table {after.name} already exists : {new}", hint=hint)


# ---- a table becomes transactional


def convert_table(session: Session, action: BoundConvertTable) -> Result:
    """Full ACID: the files stay, and their rows have write id 0. Insert-only: they move into a delta of the first write id, because Hive
    passes over files that lie beside the deltas. Hive: TransactionalValidationListener, AlterTableSetPropertiesOperation.

    A plain INSERT that is under way cannot be seen, it has no transaction: nobody should write to a table while it is converted. Its
    files come late. In a full ACID table they are rows like the others, but the row ids of those may change when they come.
    """
    before, after = action.before, action.after
    places = [partition.location for partition in session.store.list_partitions(before)] if before.partition_columns else [before.location]
    moves = _Moves(session.files)

    def move() -> None:
        with file_errors("ALTER TABLE"):
            for location in places:
                _move_into(session.files, moves, location, action.directory or "")
            moves.sync()
        crash_points.reached("files moved")

    with at_place(action.span):
        if after.kind is not before.kind:
            check_apart(session, after)
        for location in places:
            check_originals(session.files, after, location, moving_to=action.directory)
    try:
        session.store.alter_table(before, after, move=None if action.directory is None else move)
    except BaseException:
        if not _is_stored(session, after):
            moves.undo()
        raise
    moves.end()
    return done(STATEMENT)


def check_originals(io: FileIO, table: Table, location: str, *, moving_to: str | None = None) -> None:
    """BindError for a directory named like an ACID one, but that of a conversion that was killed; and, if the files do not move, for one
    that is not named like ``000000_0`` or ``000000_0_copy_1``. Hidden names do not count.
    """
    with file_errors(f"looking at the files of {table.name}"):
        listing = io.listing(location)
    for directory in listing.directories:
        if is_reserved(directory.rpartition("/")[2]) and directory != moving_to:
            message = f"Unexpected directory name.  Cannot convert {table.name} to transactional table.  Directory: {location}/{directory}"
            raise BindError(message, hint="Such names belong to ACID tables; rename it.")
    for file in listing.files:
        if moving_to is None and original_bucket(file.path.rpartition("/")[2]) is None:
            message = (
                f"Unexpected data file name format.  Cannot convert {table.name} to transactional table.  File: {location}/{file.path}"
            )
            raise BindError(message, hint="INSERT OVERWRITE of its own rows gives them files named as Hive names them.")


def _move_into(io: FileIO, moves: _Moves, location: str, directory: str) -> None:
    """All that is not hidden in a table's or partition's directory, one by one: readers of the plain table find it there as well."""
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
