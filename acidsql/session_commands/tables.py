"""CREATE, DROP and ALTER TABLE: the catalog's entry and the directory that belongs to it."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from acidsql.catalog.model import Table, TableKind
from acidsql.errors import BindError
from acidsql.planner.bound_catalog import BoundAlterTable, BoundCreateTable, BoundDropTable
from acidsql.result import Result
from acidsql.session_commands.answers import done
from acidsql.spark.fileio import file_io, local_path

if TYPE_CHECKING:
    from acidsql.session import Session


def create_table(session: Session, action: BoundCreateTable) -> Result:
    """A managed table never takes over a directory with files in it: they would become rows of the new table, and go with it."""
    if action.exists:
        return done("CREATE TABLE")
    table = action.table
    io = file_io(table.location)
    if action.span is not None:
        try:
            check_apart(session, table)
        except BindError as error:
            error.span = action.span
            raise
    if table.kind is TableKind.MANAGED and io.list_files(table.location):
        hint = "Move the files away; they may belong to a table that was dropped while its writer died."
        raise BindError(f'directory "{table.location}" of the new table is not empty', hint=hint, span=action.span)
    session.store.create_table(table)
    io.make_directory(table.location)
    return done("CREATE TABLE")


def drop_table(session: Session, action: BoundDropTable) -> Result:
    if action.name is not None:
        delete_files(session.store.drop_table(action.name))
    return done("DROP TABLE")


def alter_table(session: Session, action: BoundAlterTable) -> Result:
    if action.after.kind is not action.before.kind:
        check_apart(session, action.after)
    session.store.alter_table(action.before, action.after)
    return done("ALTER TABLE")


def delete_files(table: Table) -> None:
    """Of a table that was dropped, where they are its own: an external table's files stay unless it says otherwise."""
    purged = table.properties.get("external.table.purge", "").lower() == "true"
    if table.kind is TableKind.MANAGED or (table.kind is TableKind.EXTERNAL and purged):
        file_io(table.location).delete_tree(table.location)


def check_apart(session: Session, table: Table) -> None:
    """BindError if the table's directory is, holds or lies in that of another table, or holds a database's or the store's.

    Whoever drops or fills the one would delete or change the rows of the other.
    """
    mine = _real(table.location)
    for name, location in session.store.list_locations():
        if name != table.name and (_inside(mine, theirs := _real(location)) or _inside(theirs, mine)):
            raise BindError(f'directory "{table.location}" overlaps that of table {name}', hint="Choose a directory of its own.")
    holders = [session.warehouse, *(d.location for d in map(session.store.find_database, session.store.list_databases()) if d is not None)]
    for holder in holders:
        if _inside(_real(holder), mine):
            raise BindError(f'directory "{table.location}" holds other tables', hint="Choose a directory of its own.")


def _real(location: str) -> str:
    return os.path.realpath(local_path(location))


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
