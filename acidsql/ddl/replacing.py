"""CREATE OR REPLACE TABLE: the new table is made first, under a name of its own, with all its rows.
Then both get other names at once, and the old one is dropped.

    t                 -> t__old_<n>, which is dropped in the end
    t__new_<n>        -> t

No directory moves: the new table stays where it was made. Whatever fails before the names change
leaves the old table as it was; killed before they do, the new one is there under its own name,
and killed behind that, the old one is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import count

from acidsql import crash_points
from acidsql.catalog.attached import check_not_attached
from acidsql.catalog.model import Table, TableKind, TableName
from acidsql.catalog.names import table_location
from acidsql.ddl.partitions.locations import at_span
from acidsql.ddl.tables import create_table, create_table_as, drop_table
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import Error, InternalError
from acidsql.planner.bind.bound_catalog import (
    BoundCreateTable,
    BoundDropTable,
    BoundReplaceTable,
)
from acidsql.result import Result


def replace_table(warehouse: Warehouse, action: BoundReplaceTable) -> Result:
    before = action.before
    check_not_attached(before, action.span)
    number = _free_number(warehouse, before, action.new.table)
    staged = _called(warehouse, action.new.table, f"{before.name.table}__new_{number}")
    new = replace(action.new, table=staged)
    result = (
        create_table(warehouse, new)
        if isinstance(new, BoundCreateTable)
        else create_table_as(warehouse, new)
    )
    created = warehouse.store.find_table(staged.name)
    assert created is not None
    aside = TableName(before.name.database, f"{before.name.table}__old_{number}")
    crash_points.reached("table made")
    try:
        warehouse.store.reap()
        with at_span(action.span):
            warehouse.store.exchange_tables(before, aside, created)
    except BaseException:
        if not _has_its_name(warehouse, created, before.name):
            _drop(warehouse, created.name)
        raise
    crash_points.reached("tables exchanged")
    drop_table(warehouse, BoundDropTable(name=aside))
    return result


def _free_number(warehouse: Warehouse, before: Table, wanted: Table) -> int:
    """The first number that neither a table nor a directory has. The lock on the old table keeps
    others from it.
    """
    for number in count(1):
        names = [f"{before.name.table}__{word}_{number}" for word in ("new", "old")]
        tables = [TableName(before.name.database, name) for name in names]
        staged = _called(warehouse, wanted, names[0])
        if not any(map(warehouse.store.find_table, tables)) and (
            staged.location == wanted.location or not warehouse.files.exists(staged.location)
        ):
            return number
    raise InternalError("no number is free")


def _called(warehouse: Warehouse, table: Table, name: str) -> Table:
    """The table under another name; its directory goes with it where that says the name."""
    database = warehouse.store.find_database(table.name.database)
    assert database is not None
    location = table.location
    if location == table_location(database.location, table.name.table) and (
        table.kind is TableKind.MANAGED
    ):
        location = table_location(database.location, name)
    return replace(table, name=TableName(table.name.database, name), location=location)


def _has_its_name(warehouse: Warehouse, created: Table, name: TableName) -> bool:
    """Whether the names changed though that was not confirmed. Not known counts as yes: what may be
    in use must not be taken away.
    """
    try:
        stored = warehouse.store.find_table(name)
    except Error:
        return True
    return stored is not None and stored.table_id == created.table_id


def _drop(warehouse: Warehouse, name: TableName) -> None:
    with suppress(Error):
        drop_table(warehouse, BoundDropTable(name=name))
