"""ADD, DROP, RENAME PARTITION and SET LOCATION: the catalog's entries, and the directories that belong to them.

Whenever the process dies between the two, no partition of the catalog is without its rows, but for one instant of RENAME:
ADD makes its directories first; DROP forgets the partitions first and then takes each directory away in one step, by a hidden name;
RENAME moves the directory inside the catalog's transaction, after all that could refuse it. (Killed before that commits, MSCK REPAIR
TABLE .. SYNC PARTITIONS puts it right.)
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql import crash_points
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import nothing_yet
from acidsql.errors import AlreadyExistsError, BindError, Error, ExecutionError, Span
from acidsql.planner.bound_catalog import (
    BoundAddPartitions,
    BoundDropPartitions,
    BoundRenamePartition,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    PartitionAction,
)
from acidsql.result import Result
from acidsql.session_commands.answers import done
from acidsql.session_commands.file_errors import file_errors
from acidsql.session_commands.places import at_place, check_ids, check_place, ids_at, lies_elsewhere
from acidsql.session_commands.repair import repair_table
from acidsql.session_commands.tables import check_apart, is_inside
from acidsql.spark.fileio import FileIO
from acidsql.spark.urls import parent, real_path

if TYPE_CHECKING:
    from acidsql.session import Session

STATEMENT = "ALTER TABLE"


def run_partition_command(session: Session, action: PartitionAction) -> Result:
    match action:
        case BoundAddPartitions():
            add_partitions(session, action)
        case BoundDropPartitions():
            drop_partitions(session, action)
        case BoundRenamePartition():
            rename_partition(session, action)
        case BoundSetPartitionLocation():
            set_partition_location(session, action)
        case BoundSetTableLocation():
            set_table_location(session, action)
        case _:
            return repair_table(session, action)
    return done(STATEMENT)


# ---- ADD


def add_partitions(session: Session, action: BoundAddPartitions) -> None:
    """All or none; of directories that were not there, none stays if it fails."""
    table = action.table
    known = list(session.store.list_partitions(table))
    elsewhere = [partition for partition in known if lies_elsewhere(table, partition)]
    for partition, span in zip(action.partitions, action.spans, strict=True):
        with at_place(span), file_errors("ADD PARTITION"):
            check_place(session, table, partition, known if lies_elsewhere(table, partition) else elsewhere)
            check_ids(session, table, {partition.location: ids_at(session.files, partition.location)})
        known.append(partition)
        elsewhere += [partition] if lies_elsewhere(table, partition) else []
    made: list[str] = []
    try:
        with file_errors("ADD PARTITION"):
            for partition in action.partitions:
                _make_directory(session.files, partition.location, made)
            new = [_with_statistics(session, table, partition, made) for partition in action.partitions]
        crash_points.reached("directories made")
        session.store.add_partitions(table.name, new, if_not_exists=action.if_not_exists)
    except BaseException:
        with file_errors("ADD PARTITION"):
            for path in reversed(made):
                session.files.remove_empty_directory(path)
        raise


def _with_statistics(session: Session, table: Table, partition: Partition, made: list[str]) -> Partition:
    """Those of an empty partition; nobody has counted what was there."""
    if not session.settings.flag("hive.stats.autogather"):
        return partition
    if partition.location not in made and session.files.list_files(partition.location):
        return partition
    return replace(partition, statistics=nothing_yet(table.columns))


def _make_directory(io: FileIO, path: str, made: list[str]) -> None:
    """Notes those that were not there, the outermost first."""
    missing = []
    while path and not io.exists(path):
        missing.append(path)
        path = parent(path)
    for directory in reversed(missing):
        made.append(directory)
        io.make_directory(directory)


# ---- DROP


def drop_partitions(session: Session, action: BoundDropPartitions) -> None:
    dropped = session.store.drop_partitions(action.table, action.partitions)
    crash_points.reached("partitions dropped")
    if action.table.owns_files:
        delete_directories(session.files, action.table, dropped)


def delete_directories(io: FileIO, table: Table, partitions: Iterable[Partition]) -> None:
    """Of partitions that were dropped, as many as can be; ExecutionError names one that cannot."""
    failed: list[tuple[str, OSError]] = []
    for partition in partitions:
        try:
            _delete_directory(io, table, partition.location)
        except OSError as error:
            failed.append((partition.location, error))
    if failed:
        path, reason = failed[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        hint = "The partitions are dropped. Delete the directories by hand, or their rows come back with partitions of these names."
        message = f'directory "{path}"{more} of dropped partitions could not be deleted'
        raise ExecutionError(message, detail=reason.strerror or str(reason), hint=hint) from reason


def _delete_directory(io: FileIO, table: Table, path: str) -> None:
    """One rename makes it disappear, however much there is to delete, and whoever still writes into it."""
    if not io.exists(path) or is_inside(real_path(table.location), real_path(path)):
        return
    if not io.renames(path):
        io.delete_tree(path)
        return
    below = path.startswith(f"{table.location}/")
    hidden = f"{table.location if below else parent(path)}/.acidsql_dropped_{uuid.uuid4().hex[:12]}"
    try:
        io.move_directory(path, hidden)
    except OSError:  # its parent is not ours, or it is a file system of its own
        hidden = path
    _remove_empty_parents(io, table, path)
    crash_points.reached("directory hidden")
    io.delete_tree(hidden)


def _remove_empty_parents(io: FileIO, table: Table, path: str) -> None:
    """Up to the table's own directory, which stays; of a place outside it, none."""
    above = parent(path)
    while above.startswith(f"{table.location}/") and io.remove_empty_directory(above):
        above = parent(above)


# ---- RENAME


def rename_partition(session: Session, action: BoundRenamePartition) -> None:
    table, before, after = action.table, action.before, action.after
    others = [p for p in session.store.list_partitions(table) if p.values != before.values]
    with at_place(action.span):
        if after.location != before.location:
            check_place(session, table, after, others)
    move = _Move(session.files, table, before, after, action.span)
    session.store.reap()
    try:
        session.store.alter_partition(table, before, after, move=move.run)
    except BaseException:
        if move.done and _is_there(session, table, before):
            move.undo()
        raise
    if move.done:
        with file_errors("RENAME"):
            session.files.end_move(before.location)
            _remove_empty_parents(session.files, table, before.location)


class _Move:
    """Of a partition's directory to its new place; of none if the partition stays where it is."""

    def __init__(self, io: FileIO, table: Table, before: Partition, after: Partition, span: Span) -> None:
        self.io, self.table, self.old, self.new, self.span = io, table, before.location, after.location, span
        self.done = False

    def run(self) -> None:
        if self.old == self.new:
            return
        try:
            with file_errors("RENAME"):
                self._run()
        except ExecutionError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
            hint = "MSCK REPAIR TABLE makes a partition of it; with SYNC PARTITIONS it also ends a RENAME that was killed."
            message = f'directory "{self.new}" of the new partition is there already'
            raise AlreadyExistsError(message, hint=hint, span=self.span) from error
        crash_points.reached("directory moved")

    def _run(self) -> None:
        io = self.io
        if not io.exists(self.old) and not io.exists(self.new):
            io.make_directory(self.new)
            return
        io.move_directory(self.old, self.new)
        self.done = True
        for path in (self.new, self.old):
            io.sync_directory(parent(path))

    def undo(self) -> None:
        with file_errors(f'RENAME failed and moving "{self.new}" back to "{self.old}"'):
            self.io.undo_move(self.old, self.new)


def _is_there(session: Session, table: Table, partition: Partition) -> bool:
    """Whether the partition still has its old name. Not known counts as no: what may be in place must not be taken away."""
    try:
        return any(p.values == partition.values for p in session.store.list_partitions(table))
    except Error:
        return False


# ---- SET LOCATION


def set_partition_location(session: Session, action: BoundSetPartitionLocation) -> None:
    table, before, after = action.table, action.before, action.after
    others = [p for p in session.store.list_partitions(table) if p.values != before.values]
    with at_place(action.span), file_errors("SET LOCATION"):
        check_place(session, table, after, others)
        check_ids(session, table, {after.location: ids_at(session.files, after.location)})
    session.store.reap()
    session.store.alter_partition(table, before, after)


def set_table_location(session: Session, action: BoundSetTableLocation) -> None:
    before, after = action.before, action.after
    partitions = session.store.list_partitions(before)
    with at_place(action.span), file_errors("SET LOCATION"):
        check_apart(session, after)
        if after.owns_files:
            _check_outside(after, partitions)
        if not after.partition_columns:
            check_ids(session, after, {after.location: ids_at(session.files, after.location)})
    session.store.reap()
    session.store.alter_table(before, after)


def _check_outside(table: Table, partitions: Sequence[Partition]) -> None:
    """A partition that lies elsewhere must not hold its table, nor lie where another partition would."""
    mine = real_path(table.location)
    for partition in partitions:
        theirs = real_path(partition.location)
        if lies_elsewhere(table, partition) and (is_inside(mine, theirs) or is_inside(theirs, mine)):
            message = f'directory "{table.location}" overlaps that of partition {name_of(table, partition)}'
            raise BindError(message, hint="Choose a directory of its own.")
