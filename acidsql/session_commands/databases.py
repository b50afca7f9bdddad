"""CREATE, DROP and DESCRIBE DATABASE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.catalog import describe
from acidsql.catalog.model import TableKind, TableName
from acidsql.errors import AlreadyExistsError
from acidsql.planner.bound_catalog import BoundCreateDatabase, BoundDescribeDatabase, BoundDropDatabase
from acidsql.result import Result, Stats
from acidsql.session_commands.answers import done
from acidsql.session_commands.file_errors import file_errors
from acidsql.session_commands.tables import delete_files, partitions_of

if TYPE_CHECKING:
    from acidsql.session import Session


def create_database(session: Session, action: BoundCreateDatabase) -> Result:
    try:
        session.store.create_database(action.database)
    except AlreadyExistsError:
        if not action.if_not_exists:
            raise
    return done("CREATE DATABASE")


def drop_database(session: Session, action: BoundDropDatabase) -> Result:
    """Its directory goes too, unless files of an external table may lie in it."""
    database = session.store.find_database(action.name)
    if database is not None:
        names = [TableName(action.name, table) for table in session.store.list_tables(action.name)]
        partitions = {name: partitions_of(session, name) for name in names}
        dropped = session.store.drop_database(action.name, cascade=action.cascade)
        with file_errors("DROP DATABASE"):
            for table in dropped:
                delete_files(session.files, table, partitions.get(table.name, ()))
            if not any(table.kind is TableKind.EXTERNAL for table in dropped):
                session.files.delete_tree(database.location)
        if session.database == action.name:
            session.database = "default"
    return done("DROP DATABASE")


def describe_database(action: BoundDescribeDatabase) -> Result:
    names = ["db_name", "comment", "location", "owner_name", "owner_type", "parameters"]
    row = describe.describe_database(action.database, extended=action.extended)
    return Result.of_text(Stats(statement="DESCRIBE DATABASE"), names, [row])
