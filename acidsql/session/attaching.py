"""ATTACH, ADOPT and DETACH of tables that others write, and what was changed over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, assert_never

from acidsql.attach.overlays import going_words
from acidsql.attach.statements import attach_table, detach_table
from acidsql.catalog.attached import is_attached, is_overlay
from acidsql.catalog.model import DEFAULT_DATABASE, Database, Table
from acidsql.ddl.databases import create_database
from acidsql.ddl.tables import drop_table
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import BindError
from acidsql.files.fileio import path_of
from acidsql.planner.bind.bound_catalog import (
    AttachAction,
    BoundAdoptTable,
    BoundAttachDatabase,
    BoundAttachTable,
    BoundCreateDatabase,
    BoundDescribeChanges,
    BoundDetachDatabase,
    BoundDetachTable,
    BoundDropTable,
)
from acidsql.result import Result, Stats

if TYPE_CHECKING:
    from acidsql.attach.sources.live import LiveTables


def run_attach_command(
    warehouse: Warehouse, live_tables: Callable[[], LiveTables], action: AttachAction
) -> Result:
    """Runs one of these statements."""
    store, files = warehouse.store, warehouse.files
    match action:
        case BoundAttachTable():
            return attach_table(store, files, action, live_tables())
        case BoundAttachDatabase():
            from acidsql.attach.databases import attach_database

            return attach_database(
                store, files, action, live_tables(), lambda: _make_database(warehouse, action)
            )
        case BoundAdoptTable():
            from acidsql.attach.adoption import Adopter

            return Adopter(store, warehouse.engine, warehouse.reads).adopt(action)
        case BoundDetachTable(overlay=Table() as overlay):
            return Result((), Stats(), notes=_detach_overlay(warehouse, overlay))
        case BoundDetachTable():
            return detach_table(store, action)
        case BoundDetachDatabase():
            return Result((), Stats(), notes=_detach_database(warehouse, action))
        case BoundDescribeChanges():
            from acidsql.attach.overlays import describe_changes

            return describe_changes(store, warehouse.engine, warehouse.reads, action)
        case _:
            assert_never(action)


def _make_database(warehouse: Warehouse, action: BoundAttachDatabase) -> None:
    database = Database(name=action.name, location="", owner=action.owner)
    create_database(
        warehouse, BoundCreateDatabase(database=database, if_not_exists=True, span=None)
    )


def _detach_overlay(warehouse: Warehouse, overlay: Table) -> Iterator[str]:
    """What is dropped is what DROP TABLE drops: the entry, and the directory of its changes."""
    yield going_words(warehouse.store, warehouse.engine, warehouse.reads, overlay)
    yield from drop_table(warehouse, BoundDropTable(name=overlay.name)).notes


def _detach_database(warehouse: Warehouse, action: BoundDetachDatabase) -> Iterator[str]:
    """Deletes nothing of its directory but changes of overlays: others may have files there."""
    store, name = warehouse.store, action.name
    database = None if name is None else store.find_database(name)
    if name is None or database is None:
        return
    for table in action.tables:
        current = store.find_table(table.name)
        if current is not None and is_overlay(current):
            for note in _detach_overlay(warehouse, current):
                yield f"{table.name}: {note}"
        elif current is not None and is_attached(current):
            store.drop_table(table.name)
    yield f"detached {len(action.tables)} table{'' if len(action.tables) == 1 else 's'}"
    if name == DEFAULT_DATABASE:
        return
    try:
        store.drop_database(name, keeps_directory=True)
    except BindError as error:  # somebody has made a table in it
        yield f"database {name} stays: {error.message}"
        return
    with suppress(OSError):
        warehouse.files.remove_empty_directory(path_of(database.location))
