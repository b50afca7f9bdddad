"""ALTER TABLE: the catalog's entry changed; with a new name the directory moves, to become
transactional the files must be Hive's.
"""

from __future__ import annotations

from acidsql import crash_points
from acidsql.acid.paths import is_reserved, original_bucket
from acidsql.catalog.model import Table
from acidsql.ddl.answers import done
from acidsql.ddl.moves import Moves, moves_noted, step_of
from acidsql.ddl.partitions.locations import at_span
from acidsql.ddl.tables import check_apart
from acidsql.ddl.warehouse import Warehouse, file_errors
from acidsql.errors import BindError, Error
from acidsql.files.fileio import FileIO
from acidsql.planner.bind.bound_catalog import BoundAlterTable, BoundConvertTable, BoundRenameTable
from acidsql.result import Result


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
