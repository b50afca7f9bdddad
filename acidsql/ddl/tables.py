"""CREATE and DROP TABLE: the catalog's entry and the directory that belongs to it; and CREATE
TABLE AS."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace

from acidsql import crash_points
from acidsql.acid.ids import parse_directory
from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import own_directories
from acidsql.catalog.statistics import nothing_yet
from acidsql.commit.at_once import NewTableWork
from acidsql.commit.unit_of_work import carry_out
from acidsql.ddl.warehouse import Warehouse, delete_noted, done, file_errors
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.files.fileio import FileIO, RealPaths, is_inside, path_of, real_path
from acidsql.metastore.stores import database_file
from acidsql.plan.new_table import new_table
from acidsql.plan.plans import CatalogCommand, check_runnable, plan_insert
from acidsql.planner.bind.bound_catalog import BoundCreateTable, BoundCreateTableAs, BoundDropTable
from acidsql.result import Result, warnings_of
from acidsql.storage.snapshots import Snapshots

_SECONDS_TO_DELETE = 5
"""How long a CREATE waits for the files of a dropped table to go."""


def create_table(warehouse: Warehouse, action: BoundCreateTable) -> Result:
    """Creates a table. A managed one never takes over a directory with files in it: they would
    become rows of the new table, and go with it.
    """
    notes: tuple[str, ...] = ()
    if not action.exists:
        try:
            notes = _create_table(warehouse, action)
        except BindError:
            # another session may have made one, and filled it, since the statement was bound
            if not action.if_not_exists or warehouse.store.find_table(action.table.name) is None:
                raise
    return done(notes)


def _create_table(warehouse: Warehouse, action: BoundCreateTable) -> tuple[str, ...]:
    """Makes the table; what is to be said of its directory."""
    io = warehouse.files
    table = warehouse.store.planned_table(action.table, located=action.span is not None)
    notes = (*planned_words(action.table, table), *check_location(warehouse, table, action.span))
    with file_errors("CREATE TABLE"):
        if action.table.kind is TableKind.MANAGED and holds_rows(warehouse, table.location):
            raise BindError(
                f'directory "{table.location}" of the new table is not empty',
                hint=NOT_EMPTY,
                span=action.span,
            )
        was_there = io.exists(table.location)
        io.make_directory(table.location)  # before the catalog has a table that could not have one
        try:
            warehouse.store.create_table(
                _with_statistics(warehouse, table, located=action.span is not None)
            )
        except BaseException:
            if not was_there and warehouse.store.find_table(table.name) is None:
                io.remove_empty_directory(table.location)
            raise
        # somebody who failed to make the same table may have taken it away
        io.make_directory(table.location)
    return notes


def planned_words(asked: Table, planned: Table) -> tuple[str, ...]:
    """What is to be said of a table that the metastore makes otherwise than it was asked for."""
    if planned.kind is asked.kind:
        return ()
    files = "go with it" if planned.owns_files else "stay when it is dropped"
    return (
        f"the metastore makes table {asked.name} an external one, since it has no transactions; its"
        f' files, in "{planned.location}", {files}',
    )


def holds_rows(warehouse: Warehouse, location: str) -> bool:
    """Whether there are rows in the directory of a new table that stay there. Those of a table that
    was dropped a moment ago go: the one that dropped it is given some time for that.
    """
    deadline = time.monotonic() + _SECONDS_TO_DELETE
    while _holds_rows_now(warehouse.files, location):
        if time.monotonic() > deadline or not warehouse.store.is_noted(location):
            return _holds_rows_now(warehouse.files, location)
        time.sleep(0.01)
    return False


def _holds_rows_now(io: FileIO, location: str) -> bool:
    """Whether there are files in a directory, or such directories as rows are in: one without a
    visible file would hide rows, or have a name that is wanted.
    """
    listing = io.listing(location)
    names = (path.rpartition("/")[2] for path in listing.directories)
    return bool(listing.files) or any(parse_directory(name) is not None for name in names)


NOT_EMPTY = (
    "Move the files away; they may belong to a table that was dropped while its writer died."
)


def check_location(warehouse: Warehouse, table: Table, span: Span | None) -> tuple[str, ...]:
    """Does ``check_apart``, and sees whether the location can be opened; a refusal points to
    LOCATION, which is at ``span``, if there is one.
    """
    try:
        notes = check_apart(warehouse, table)
        warehouse.files.renames(table.location)
        return notes
    except (BindError, UnsupportedStatementError) as error:
        error.span = span
        raise


def _with_statistics(warehouse: Warehouse, table: Table, *, located: bool) -> Table:
    """The table with the statistics of an empty one. What lies at a LOCATION of an
    external table, nobody has counted.
    """
    counted = warehouse.settings.flag("hive.stats.autogather") and not table.partition_columns
    if counted and (
        table.kind is TableKind.MANAGED
        or not (located or warehouse.files.list_files(table.location))
    ):
        return replace(table, statistics=nothing_yet(table.columns))
    return table


def drop_table(warehouse: Warehouse, action: BoundDropTable) -> Result:
    if action.name is not None:
        partitions = partitions_of(warehouse, action.name)
        table = warehouse.store.drop_table(action.name)
        hint = (
            "The table is dropped. Delete the directory by hand; no other table can have it as"
            " it is."
        )
        directories = own_directories(table, partitions)
        crash_points.reached("table dropped")
        delete_noted(warehouse, directories, f"dropped table {table.name}", hint)
    return done(filter(None, [action.note]))


def partitions_of(warehouse: Warehouse, name: TableName) -> tuple[Partition, ...]:
    """The partitions of a table that is to be dropped: their directories may lie outside its
    own.
    """
    table = warehouse.store.find_table(name)
    return () if table is None else warehouse.store.list_partitions(table)


def check_apart(
    warehouse: Warehouse, table: Table, *, formerly: Table | None = None
) -> tuple[str, ...]:
    """Raises BindError if the table's directory is, holds or lies in that of another table or a
    metastore's own, or holds a database's.

    A statement that drops or fills the one would delete or change the rows of the other. Two tables
    whose files nobody but their owner looks after may have one directory, as in Hive: the notes say
    so.
    ``formerly``: the table under the name it is to lose. UnsupportedStatementError for a URL that
    names no host.
    """
    path = real_path(path_of(table.location))
    check_no_stores(table.location)
    mine_too = {table.name, (formerly or table).name}
    sharing: list[str] = []
    real_paths = RealPaths()
    for name, location in warehouse.store.list_locations():
        other_path = real_paths.of(location)
        if name in mine_too or not (is_inside(path, other_path) or is_inside(other_path, path)):
            continue
        other = warehouse.store.find_table(name) if _leaves_files_alone(table) else None
        if path != other_path or other is None or not _leaves_files_alone(other):
            raise BindError(
                f'directory "{table.location}" overlaps that of table {name}',
                hint="Choose a directory of its own.",
            )
        sharing.append(
            f'directory "{table.location}" is that of table {name}, too: what is written to the one'
            " is read in the other"
        )
    holders = [
        warehouse.root,
        *(
            d.location
            for d in map(warehouse.store.find_database, warehouse.store.list_databases())
            if d is not None
        ),
    ]
    for holder in holders:
        if is_inside(real_path(holder), path):
            raise BindError(
                f'directory "{table.location}" holds other tables',
                hint="Choose a directory of its own.",
            )
    return tuple(sharing)


def _leaves_files_alone(table: Table) -> bool:
    """Whether nothing but statements about its rows changes what lies in a table's directory, and
    no file of it has an id.
    """
    external = table.kind is TableKind.EXTERNAL
    return external and not table.is_transactional and not table.owns_files


def check_no_stores(location: str) -> None:
    """Raises BindError for the directory in which a warehouse, this one or another, has its
    metastore, and for what lies in it: no statement may delete, move or overwrite that.
    """
    path = real_path(path_of(location))
    head = ""
    for part in path.split("/"):
        head = f"{head}{part}"
        if part == database_file.DIRECTORY and os.path.exists(f"{head}/{database_file.FILE}"):
            raise BindError(
                f'directory "{location}" is a metastore\'s own',
                hint="Choose a directory of its own.",
            )
        head += "/"


# ---- CREATE TABLE AS
#
# CREATE TABLE .. AS: the query's rows are written below a hidden name; then the table appears in
# the catalog, its files in place.
#
# Nobody ever sees the table without its rows. A query that fails leaves no table and no directory.
# Of two sessions that make the same table the slower one fails. What it leaves when it is killed
# goes with the next statement that writes; only in a directory that was there before, files may
# stay.


def create_table_as(warehouse: Warehouse, action: BoundCreateTableAs) -> Result:
    try:
        return _create_table_as(warehouse, action)
    except BindError:
        # another session may have made one since the statement was bound
        table = warehouse.store.find_table(action.table.name)
        if not action.if_not_exists or table is None:
            raise
    result = done()
    result.plan = CatalogCommand(action=BoundCreateTable(table=table, exists=True))
    return result


def _create_table_as(warehouse: Warehouse, action: BoundCreateTableAs) -> Result:
    reads = [read.table.name for read in action.query.reads if read.table.is_transactional]
    with warehouse.reads.reading(reads, f"CREATE TABLE {action.table.name}") as (visible, _):
        return _create_at(warehouse, action, warehouse.engine.snapshots(visible))


def _create_at(warehouse: Warehouse, action: BoundCreateTableAs, snapshots: Snapshots) -> Result:
    engine, io = warehouse.engine, warehouse.files
    asked, insert = new_table(action, engine.new_columns(action.query, snapshots))
    table = warehouse.store.planned_table(asked, located=action.location_span is not None)
    insert = replace(insert, table=table)
    first = plan_insert(insert, warehouse.settings, spark=engine.spark_at_hand)
    check_runnable(first)
    notes = (*planned_words(asked, table), *check_location(warehouse, table, action.location_span))
    with file_errors("CREATE TABLE"):
        _check_empty(warehouse, table, action)
        was_there = io.exists(table.location)
    work = NewTableWork(warehouse.store, engine, table, snapshots, new_directory=not was_there)
    try:
        stats = carry_out([first], work, ends=True, warehouse=warehouse.root)
        return Result((), stats, notes=notes, warnings=warnings_of(stats))
    except BaseException:
        if not was_there:
            _tidy(warehouse, table)
        raise


def _check_empty(warehouse: Warehouse, table: Table, action: BoundCreateTableAs) -> None:
    if not holds_rows(warehouse, table.location):
        return
    if action.location_span is None:
        raise BindError(
            f'directory "{table.location}" of the new table is not empty',
            hint=NOT_EMPTY,
            span=action.span,
        )
    message = (
        "CREATE-TABLE-AS-SELECT cannot create table with location to a non-empty directory."
        f" {table.location}"
    )
    raise BindError(message, code=10304, span=action.location_span)


def _tidy(warehouse: Warehouse, table: Table) -> None:
    """Takes away the empty directories of a table that was not made; those of another session's
    table are its own.
    """
    io = warehouse.files
    with suppress(OSError):
        if warehouse.store.find_table(table.name) is None:
            for path in reversed(io.listing(table.location).directories):
                io.remove_empty_directory(f"{table.location}/{path}")
            io.remove_empty_directory(table.location)
