"""CREATE TABLE .. AS: the query's rows are written below a hidden name; then the table appears in the catalog, its files in place.

Nobody ever sees the table without its rows. A query that fails leaves no table and no directory. Of two sessions that make the same
table the slower one fails. Killed in the one step in which the files get their names, the statement leaves them without a table: CREATE
TABLE then says that the directory is not empty.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from acidsql.acid.ids import FIRST_WRITE_ID
from acidsql.catalog.model import Table
from acidsql.errors import BindError
from acidsql.planner.bound_catalog import BoundCreateTableAs
from acidsql.planner.new_table import new_table
from acidsql.planner.physical import plan_insert
from acidsql.planner.runnable import check_runnable
from acidsql.result import Result, Stats
from acidsql.session_commands.file_errors import file_errors
from acidsql.session_commands.tables import NOT_EMPTY, check_location
from acidsql.spark.fileio import FileIO
from acidsql.spark.urls import relative_to
from acidsql.txn.transaction import ReadSnapshot

if TYPE_CHECKING:
    from acidsql.session import Session

STATEMENT = "CREATE TABLE"


def create_table_as(session: Session, action: BoundCreateTableAs) -> Result:
    engine, io = session.engine, session.files
    snapshots = engine.snapshots(ReadSnapshot(session.store))
    table, insert = new_table(action, engine.new_columns(action.query, snapshots))
    made = plan_insert(insert)
    check_runnable(made)
    if action.location_span is not None:
        check_location(session, table, action.location_span)
    with file_errors(STATEMENT):
        _check_empty(io, table, action)
        was_there = io.exists(table.location)
    try:
        written = engine.write_new(made, snapshots)
    except BaseException:
        if not was_there:
            _tidy(session, table)
        raise
    stats = Stats(
        statement=STATEMENT,
        rows_inserted=written.inserted,
        write_ids={str(table.name): FIRST_WRITE_ID} if table.is_transactional else {},
        directories=tuple(relative_to(directory, session.warehouse) for directory in written.directories),
        path=written.path,
    )
    return Result((), stats)


def _check_empty(io: FileIO, table: Table, action: BoundCreateTableAs) -> None:
    if not io.list_files(table.location):
        return
    if action.location_span is None:
        raise BindError(f'directory "{table.location}" of the new table is not empty', hint=NOT_EMPTY, span=action.span)
    message = f"CREATE-TABLE-AS-SELECT cannot create table with location to a non-empty directory. {table.location}"
    raise BindError(message, code=10304, span=action.location_span)


def _tidy(session: Session, table: Table) -> None:
    """Takes away the empty directories of a table that was not made; those of another session's table are its own."""
    io = session.files
    with suppress(OSError):
        if session.store.find_table(table.name) is None:
            for path in reversed(io.listing(table.location).directories):
                io.remove_empty_directory(f"{table.location}/{path}")
            io.remove_empty_directory(table.location)
