"""ADD, DROP, RENAME PARTITION and SET LOCATION: the catalog's entries, and the directories that
belong to them.

Whenever the process dies between the two, no partition of the catalog is without its rows: ADD
makes its directories first; DROP and RENAME move the directory, to a hidden name or to its new one,
inside the catalog's transaction, after all that could refuse it, and if they are killed before that
commits the next statement moves it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

from acidsql import crash_points
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import lies_elsewhere, name_of
from acidsql.catalog.statistics import nothing_yet
from acidsql.ddl.alterations import Moves, moves_noted, step_of
from acidsql.ddl.partitions.locations import (
    at_span,
    check_ids,
    check_partition_location,
    ids_at,
)
from acidsql.ddl.partitions.repair import repair_table
from acidsql.ddl.tables import check_apart
from acidsql.ddl.warehouse import Warehouse, delete_all, deleting_noted, done, file_errors
from acidsql.errors import AlreadyExistsError, BindError, Error, ExecutionError
from acidsql.files.fileio import FileIO, is_inside, parent, real_entry, real_path
from acidsql.planner.bind.bound_catalog import (
    BoundAddPartitions,
    BoundDropPartitions,
    BoundRenamePartition,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    PartitionAction,
)
from acidsql.result import Result
from acidsql.txn.leftovers import hidden_name


def run_partition_command(warehouse: Warehouse, action: PartitionAction) -> Result:
    notes: tuple[str, ...] = ()
    match action:
        case BoundAddPartitions():
            notes = add_partitions(warehouse, action)
        case BoundDropPartitions():
            drop_partitions(warehouse, action)
            return done(filter(None, [action.note]))
        case BoundRenamePartition():
            rename_partition(warehouse, action)
        case BoundSetPartitionLocation():
            notes = set_partition_location(warehouse, action)
        case BoundSetTableLocation():
            notes = set_table_location(warehouse, action)
        case _:
            return repair_table(warehouse, action)
    return done(notes)


# ---- ADD


def add_partitions(warehouse: Warehouse, action: BoundAddPartitions) -> tuple[str, ...]:
    """All or none; of directories that were not there, none stays if it fails. Returns notes."""
    notes: list[str] = []
    table = action.table
    known = list(warehouse.store.list_partitions(table))
    elsewhere = [partition for partition in known if lies_elsewhere(table, partition)]
    for partition, span in zip(action.partitions, action.spans, strict=True):
        with at_span(span), file_errors("ADD PARTITION"):
            notes += check_partition_location(
                warehouse,
                table,
                partition,
                known if lies_elsewhere(table, partition) else elsewhere,
            )
            check_ids(
                warehouse, table, {partition.location: ids_at(warehouse.files, partition.location)}
            )
        known.append(partition)
        elsewhere += [partition] if lies_elsewhere(table, partition) else []
    new_directories: list[str] = []
    try:
        with file_errors("ADD PARTITION"):
            for partition in action.partitions:
                _make_directory(warehouse.files, partition.location, new_directories)
            new = [
                _with_statistics(warehouse, table, partition, new_directories)
                for partition in action.partitions
            ]
        crash_points.reached("directories made")
        warehouse.store.add_partitions(table.name, new, if_not_exists=action.if_not_exists)
    except BaseException:
        with file_errors("ADD PARTITION"):
            for path in reversed(new_directories):
                warehouse.files.remove_empty_directory(path)
        raise
    return tuple(dict.fromkeys(notes))


def _with_statistics(
    warehouse: Warehouse, table: Table, partition: Partition, new_directories: list[str]
) -> Partition:
    """The partition with the statistics of an empty one, if its directory is new or empty: nobody
    has counted the rows of files that lie in it already.
    """
    if not warehouse.settings.flag("hive.stats.autogather"):
        return partition
    is_new = partition.location in new_directories
    if not is_new and warehouse.files.list_files(partition.location):
        return partition
    return replace(partition, statistics=nothing_yet(table.columns))


def _make_directory(io: FileIO, path: str, new_directories: list[str]) -> None:
    """Makes a directory, and notes those on its path that are new, the outermost first."""
    missing = []
    while path and not io.exists(path):
        missing.append(path)
        path = parent(path)
    for directory in reversed(missing):
        new_directories.append(directory)
        io.make_directory(directory)


# ---- DROP

_DROPPED = (
    "The partitions are dropped. Delete the directories by hand, or their rows come back with"
    " partitions of these names."
)


def drop_partitions(warehouse: Warehouse, action: BoundDropPartitions) -> None:
    """Their directories get hidden names within the catalog's step, so that all rows that come
    afterwards, into partitions of these names, are others' and stay.
    """
    table = action.table
    if not table.owns_files:
        warehouse.store.drop_partitions(table, action.partitions)
        return
    hiding = _Hiding(warehouse.files, table, action.partitions)
    with moves_noted(warehouse, hiding.names):
        try:
            warehouse.store.drop_partitions(table, action.partitions, take_away=hiding.hide)
        except BaseException:
            if hiding.moves.any and all(_is_there(warehouse, table, p) for p in hiding.dropped):
                hiding.moves.undo(warehouse.store)
            raise
        crash_points.reached("partitions dropped")
        kept = warehouse.store.kept(hiding.left)
        unread = [path for path in hiding.left if path not in kept]
        with deleting_noted(warehouse, unread):
            delete_all(unread, warehouse.files.delete_tree, "dropped partitions", _DROPPED)
        for partition in hiding.dropped:  # of those that could not be moved
            _remove_empty_parents(warehouse.files, table, partition.location)


class _Hiding:
    """The directories of ``partitions`` that are being dropped. ``names``: where they are to be,
    with where they were; ``dropped`` and ``left``: the partitions, and where what is to be
    deleted is, with where it was, once ``hide`` has been called.
    """

    def __init__(self, io: FileIO, table: Table, partitions: Iterable[Partition]) -> None:
        self._io = io
        self._table = table
        self.moves = Moves(io, "DROP PARTITION")
        self.names: dict[str, str] = {}
        self.dropped: tuple[Partition, ...] = ()
        self.left: dict[str, str] = {}
        for path in (partition.location for partition in partitions):
            if io.renames(path):
                below = path.startswith(f"{table.location}/")
                self.names[hidden_name(table.location if below else parent(path))] = path

    def hide(self, dropped: tuple[Partition, ...]) -> dict[str, str]:
        """Gives each directory its hidden name, where it can be renamed; returns ``left``."""
        self.dropped = dropped
        hidden = {path: name for name, path in self.names.items()}
        for path in (partition.location for partition in dropped):
            # the table's own directory lies in it
            if is_inside(real_path(self._table.location), real_entry(path)):
                continue
            with suppress(FileNotFoundError):
                name = hidden.get(path)
                if name is None or not self.moves.renamed(path, name):
                    name = path
                self.left[name] = path
        self.moves.sync()
        for partition in dropped:
            _remove_empty_parents(self._io, self._table, partition.location)
        crash_points.reached("directory hidden")
        return self.left


def _remove_empty_parents(io: FileIO, table: Table, path: str) -> None:
    """Removes directories above a partition's while they are empty, up to the table's own, which
    stays. Above a partition that lies outside the table nothing is removed.
    """
    above = parent(path)
    while above.startswith(f"{table.location}/") and io.remove_empty_directory(above):
        above = parent(above)


# ---- RENAME


def rename_partition(warehouse: Warehouse, action: BoundRenamePartition) -> None:
    table, before, after = action.table, action.before, action.after
    if warehouse.store.moves_directories:
        warehouse.store.alter_partition(table, before, after)
        return
    others = [p for p in warehouse.store.list_partitions(table) if p.values != before.values]
    with at_span(action.span):
        if after.location != before.location:
            check_partition_location(warehouse, table, after, others)
    moves = Moves(warehouse.files, "RENAME")
    warehouse.store.reap()
    stays = before.location == after.location
    with nullcontext() if stays else moves_noted(warehouse, {after.location: before.location}):
        try:
            io = warehouse.files
            step = step_of(io, [before.location], lambda: _move(io, moves, action))
            warehouse.store.alter_partition(table, before, after, move=step)
        except BaseException:
            if moves.any and _is_there(warehouse, table, before):
                moves.undo(warehouse.store)
            raise
        if moves.any:
            moves.end()
            with file_errors("RENAME"):
                _remove_empty_parents(warehouse.files, table, before.location)


def _move(io: FileIO, moves: Moves, action: BoundRenamePartition) -> None:
    """Moves the partition's directory to its new location, if that is another one."""
    old, new = action.before.location, action.after.location
    if old == new:
        return
    try:
        with file_errors("RENAME"):
            if io.exists(old) or io.exists(new):
                moves.directory(old, new)
                moves.sync()
            else:
                moves.make_directory(new)
    except ExecutionError as error:
        if not isinstance(error.__cause__, FileExistsError):
            raise
        hint = (
            "MSCK REPAIR TABLE makes a partition of it; with SYNC PARTITIONS it also ends a"
            " RENAME that was killed."
        )
        message = f'directory "{new}" of the new partition is there already'
        raise AlreadyExistsError(message, hint=hint, span=action.span) from error
    crash_points.reached("directory moved")


def _is_there(warehouse: Warehouse, table: Table, partition: Partition) -> bool:
    """Whether the partition still has its old name. Not known counts as no: what may be in place
    must not be taken away.
    """
    try:
        return any(p.values == partition.values for p in warehouse.store.list_partitions(table))
    except Error:
        return False


# ---- SET LOCATION


def set_partition_location(
    warehouse: Warehouse, action: BoundSetPartitionLocation
) -> tuple[str, ...]:
    table, before, after = action.table, action.before, action.after
    others = [p for p in warehouse.store.list_partitions(table) if p.values != before.values]
    with at_span(action.span), file_errors("SET LOCATION"):
        notes = check_partition_location(warehouse, table, after, others)
        check_ids(warehouse, table, {after.location: ids_at(warehouse.files, after.location)})
    warehouse.store.reap()
    warehouse.store.alter_partition(table, before, after)
    return notes


def set_table_location(warehouse: Warehouse, action: BoundSetTableLocation) -> tuple[str, ...]:
    before, after = action.before, action.after
    partitions = warehouse.store.list_partitions(before)
    with at_span(action.span), file_errors("SET LOCATION"):
        notes = check_apart(warehouse, after)
        if after.owns_files:
            _check_outside(after, partitions)
        if not after.partition_columns:
            check_ids(warehouse, after, {after.location: ids_at(warehouse.files, after.location)})
    warehouse.store.reap()
    warehouse.store.alter_table(before, after)
    return notes


def _check_outside(table: Table, partitions: Sequence[Partition]) -> None:
    """A partition that lies elsewhere must not hold its table, nor lie where another partition
    would.
    """
    table_path = real_path(table.location)
    for partition in partitions:
        partition_path = real_path(partition.location)
        if lies_elsewhere(table, partition) and (
            is_inside(table_path, partition_path) or is_inside(partition_path, table_path)
        ):
            message = (
                f'directory "{table.location}" overlaps that of partition'
                f" {name_of(table, partition)}"
            )
            raise BindError(message, hint="Choose a directory of its own.")
