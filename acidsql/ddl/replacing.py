"""CREATE OR REPLACE TABLE: the new table is made first, under a name of its own, with all its rows.
Only then the old one goes aside, the new one gets its name, and the old one is dropped.

    t                 -> t__old_<id>, which is dropped in the end
    t__new_<id>       -> t

Whatever fails before that leaves the old table as it was; if the new one cannot get the name, the
old one gets it back. Killed between the two renames, both are there under these names.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace

from acidsql.catalog.attached import check_not_attached
from acidsql.catalog.model import Table, TableKind, TableName
from acidsql.catalog.names import table_location
from acidsql.ddl.alterations import rename_table
from acidsql.ddl.create_as import create_table_as
from acidsql.ddl.tables import create_table, drop_table
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import Error, Span
from acidsql.planner.bind.bound_catalog import (
    BoundCreateTable,
    BoundDropTable,
    BoundRenameTable,
    BoundReplaceTable,
)
from acidsql.result import Result


def replace_table(warehouse: Warehouse, action: BoundReplaceTable) -> Result:
    before, mark = action.before, uuid.uuid4().hex[:8]
    check_not_attached(before, action.span)
    wanted = action.new.table
    staged = _called(warehouse, wanted, f"{before.name.table}__new_{mark}")
    new = replace(action.new, table=staged)
    result = (
        create_table(warehouse, new)
        if isinstance(new, BoundCreateTable)
        else create_table_as(warehouse, new)
    )
    created = warehouse.store.find_table(staged.name)
    assert created is not None
    aside = _called(warehouse, before, f"{before.name.table}__old_{mark}")
    try:
        _rename(warehouse, before, aside, action.span)
    except BaseException:
        _drop(warehouse, created.name)
        raise
    try:
        final = replace(created, name=before.name, location=wanted.location)
        _rename(warehouse, created, final, action.span)
    except BaseException:
        _rename(warehouse, aside, before, action.span)
        _drop(warehouse, created.name)
        raise
    drop_table(warehouse, BoundDropTable(name=aside.name))
    return result


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


def _rename(warehouse: Warehouse, before: Table, after: Table, span: Span) -> None:
    words = "CREATE OR REPLACE TABLE"
    rename = BoundRenameTable(before=before, after=after, span=span, words=words, facts=())
    rename_table(warehouse, rename)


def _drop(warehouse: Warehouse, name: TableName) -> None:
    with suppress(Error):
        drop_table(warehouse, BoundDropTable(name=name))
