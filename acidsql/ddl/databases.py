"""CREATE, DROP and DESCRIBE DATABASE."""

from __future__ import annotations

from acidsql import crash_points
from acidsql.catalog import describe
from acidsql.catalog.attached import is_overlay
from acidsql.catalog.model import TableKind, TableName
from acidsql.catalog.partitions import own_directories
from acidsql.ddl.partitions.locations import at_span
from acidsql.ddl.tables import check_no_stores, partitions_of
from acidsql.ddl.warehouse import Warehouse, delete_noted, done
from acidsql.errors import AlreadyExistsError, BindError, Span
from acidsql.files.fileio import is_inside, real_path
from acidsql.planner.bind.bound_catalog import (
    BoundCreateDatabase,
    BoundDescribeDatabase,
    BoundDropDatabase,
)
from acidsql.result import Result, Stats


def create_database(warehouse: Warehouse, action: BoundCreateDatabase) -> Result:
    if action.database.location:
        _check_location(warehouse, action)
    try:
        warehouse.store.create_database(action.database)
    except AlreadyExistsError:
        if not action.if_not_exists:
            raise
    return done()


def drop_database(warehouse: Warehouse, action: BoundDropDatabase) -> Result:
    """Drops a database. Its directory goes too, unless files of an external table, or those that an
    overlay reads, may lie in it, or something lies there that is another's: a table or database at
    a LOCATION, a metastore.
    """
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
            for path in own_directories(table, partitions.get(table.name, ()))
        ]
        has_files_of_others = any(
            table.kind is TableKind.EXTERNAL or is_overlay(table) for table in dropped
        )
        if not has_files_of_others and _is_its_own(warehouse, database.location):
            directories.append(database.location)
        hint = "The database is dropped. Delete the directories by hand."
        crash_points.reached("database dropped")
        delete_noted(warehouse, directories, f"dropped database {action.name}", hint)
    return done()


def _check_location(warehouse: Warehouse, action: BoundCreateDatabase) -> None:
    """Raises BindError if the directory is, or lies in, a table's or a metastore's own: it would go
    with the one, or take the other along.
    """
    location = action.database.location
    with at_span(action.span or Span(0, 0)):
        check_no_stores(location)
        path = real_path(location)
        for name, other in warehouse.store.list_locations():
            if is_inside(path, real_path(other)):
                raise BindError(
                    f'directory "{location}" overlaps that of table {name}',
                    hint="Choose a directory of its own.",
                )


def _is_its_own(warehouse: Warehouse, location: str) -> bool:
    """Whether nothing of what the catalog still has lies in a database's directory, nor that in a
    metastore's.
    """
    try:
        check_no_stores(location)
    except BindError:
        return False
    store = warehouse.store
    databases = map(store.find_database, store.list_databases())
    others = [
        warehouse.root,
        *(database.location for database in databases if database is not None),
        *(other for _, other in store.list_locations()),
    ]
    path = real_path(location)
    return not any(is_inside(real_path(other), path) for other in others)


def describe_database(action: BoundDescribeDatabase) -> Result:
    names = ["db_name", "comment", "location", "owner_name", "owner_type", "parameters"]
    row = describe.describe_database(action.database, extended=action.extended)
    return Result.of_text(Stats(), names, [row])
