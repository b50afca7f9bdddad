"""CREATE and DROP TABLE: the catalog's entry and the directory that belongs to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.statistics import nothing_yet
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.planner.bound_catalog import BoundCreateTable, BoundDropTable
from acidsql.result import Result
from acidsql.session_commands.answers import done
from acidsql.session_commands.file_errors import file_errors
from acidsql.spark.fileio import FileIO
from acidsql.spark.urls import path_of, real_path

if TYPE_CHECKING:
    from acidsql.session import Session


def create_table(session: Session, action: BoundCreateTable) -> Result:
    """A managed table never takes over a directory with files in it: they would become rows of the new table, and go with it."""
    if action.exists:
        return done("CREATE TABLE")
    table = action.table
    io = session.files
    if action.span is not None:
        check_location(session, table, action.span)
    with file_errors("CREATE TABLE"):
        if table.kind is TableKind.MANAGED and io.list_files(table.location):
            raise BindError(f'directory "{table.location}" of the new table is not empty', hint=NOT_EMPTY, span=action.span)
        if not io.renames(table.location):  # only says whether there is such a store
            io.make_directory(table.location)
        session.store.create_table(_with_statistics(session, table, placed=action.span is not None))
        io.make_directory(table.location)
    return done("CREATE TABLE")


NOT_EMPTY = "Move the files away; they may belong to a table that was dropped while its writer died."


def check_location(session: Session, table: Table, span: Span) -> None:
    """``check_apart``, and that the place can be opened; a refusal points to LOCATION."""
    try:
        check_apart(session, table)
        session.files.renames(table.location)
    except (BindError, UnsupportedStatementError) as error:
        error.span = span
        raise


def _with_statistics(session: Session, table: Table, *, placed: bool) -> Table:
    """Those of an empty table. What lies in a place that somebody named for an external table, nobody has counted."""
    counted = session.settings.flag("hive.stats.autogather") and not table.partition_columns
    if counted and (table.kind is TableKind.MANAGED or not (placed or session.files.list_files(table.location))):
        return replace(table, statistics=nothing_yet(table.columns))
    return table


def drop_table(session: Session, action: BoundDropTable) -> Result:
    if action.name is not None:
        partitions = partitions_of(session, action.name)
        table = session.store.drop_table(action.name)
        with file_errors("DROP TABLE"):
            delete_files(session.files, table, partitions)
    return done("DROP TABLE")


def partitions_of(session: Session, name: TableName) -> tuple[Partition, ...]:
    """Before the table is dropped: their directories may lie outside its own."""
    table = session.store.find_table(name)
    return () if table is None else session.store.list_partitions(table)


def delete_files(io: FileIO, table: Table, partitions: Iterable[Partition]) -> None:
    """Of a table that was dropped, where they are its own: an external table's files stay unless it says otherwise."""
    if table.owns_files:
        for partition in partitions:
            if not partition.location.startswith(f"{table.location}/"):
                io.delete_tree(partition.location)
        io.delete_tree(table.location)


def check_apart(session: Session, table: Table, *, formerly: Table | None = None) -> None:
    """BindError if the table's directory is, holds or lies in that of another table, or holds a database's or the store's.

    Whoever drops or fills the one would delete or change the rows of the other. ``formerly``: the table under the name it is to lose.
    UnsupportedStatementError for a URL that names no host.
    """
    mine = real_path(path_of(table.location))
    mine_too = {table.name, (formerly or table).name}
    for name, location in session.store.list_locations():
        if name not in mine_too and (is_inside(mine, theirs := real_path(location)) or is_inside(theirs, mine)):
            raise BindError(f'directory "{table.location}" overlaps that of table {name}', hint="Choose a directory of its own.")
    holders = [session.warehouse, *(d.location for d in map(session.store.find_database, session.store.list_databases()) if d is not None)]
    for holder in holders:
        if is_inside(real_path(holder), mine):
            raise BindError(f'directory "{table.location}" holds other tables', hint="Choose a directory of its own.")


def is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
