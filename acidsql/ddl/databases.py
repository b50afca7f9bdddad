"""CREATE, DROP and DESCRIBE DATABASE."""

from __future__ import annotations

from acidsql.catalog import describe
from acidsql.catalog.model import TableKind, TableName
from acidsql.ddl.answers import done
from acidsql.ddl.file_errors import delete_all
from acidsql.ddl.tables import directories_of, partitions_of
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import AlreadyExistsError
from acidsql.planner.bind.bound_catalog import (
    BoundCreateDatabase,
    BoundDescribeDatabase,
    BoundDropDatabase,
)
from acidsql.result import Result, Stats


def create_database(warehouse: Warehouse, action: BoundCreateDatabase) -> Result:
    try:
        warehouse.store.create_database(action.database)
    except AlreadyExistsError:
        if not action.if_not_exists:
            raise
    return done()


def drop_database(warehouse: Warehouse, action: BoundDropDatabase) -> Result:
    """Drops a database. Its directory goes too, unless files of an external table may lie in it."""
    database = warehouse.store.find_database(action.name)
    if database is not None:
        names = [
            TableName(action.name, table) for table in warehouse.store.list_tables(action.name)
        ]
        partitions = {name: partitions_of(warehouse, name) for name in names}
        dropped = warehouse.store.drop_database(action.name, cascade=action.cascade)
        directories = [
            path
            for table in dropped
            for path in directories_of(table, partitions.get(table.name, ()))
        ]
        if not any(table.kind is TableKind.EXTERNAL for table in dropped):
            directories.append(database.location)
        hint = "The database is dropped. Delete the directories by hand."
        delete_all(
            directories, warehouse.files.delete_tree, f"dropped database {action.name}", hint
        )
    return done()


def describe_database(action: BoundDescribeDatabase) -> Result:
    names = ["db_name", "comment", "location", "owner_name", "owner_type", "parameters"]
    row = describe.describe_database(action.database, extended=action.extended)
    return Result.of_text(Stats(), names, [row])
