"""CREATE and DROP TABLE: the catalog's entry and the directory that belongs to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.statistics import nothing_yet
from acidsql.ddl.answers import done
from acidsql.ddl.file_errors import delete_all, file_errors
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.files.urls import path_of, real_entry, real_path
from acidsql.planner.bind.bound_catalog import BoundCreateTable, BoundDropTable
from acidsql.result import Result


def create_table(warehouse: Warehouse, action: BoundCreateTable) -> Result:
    """Creates a table. A managed one never takes over a directory with files in it: they would
    become rows of the new table, and go with it.
    """
    if action.exists:
        return done()
    table = action.table
    io = warehouse.files
    check_location(warehouse, table, action.span)
    with file_errors("CREATE TABLE"):
        if table.kind is TableKind.MANAGED and io.list_files(table.location):
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
    return done()


NOT_EMPTY = (
    "Move the files away; they may belong to a table that was dropped while its writer died."
)


def check_location(warehouse: Warehouse, table: Table, span: Span | None) -> None:
    """Does ``check_apart``, and sees whether the location can be opened; a refusal points to
    LOCATION, which is at ``span``.

    Where there is none the name is a new one in the database's directory; only a link could lead to
    another table.
    """
    if span is None and real_path(table.location) == real_entry(table.location):
        return
    try:
        check_apart(warehouse, table)
        warehouse.files.renames(table.location)
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
        delete_all(
            directories_of(table, partitions),
            warehouse.files.delete_tree,
            f"dropped table {table.name}",
            hint,
        )
    return done()


def partitions_of(warehouse: Warehouse, name: TableName) -> tuple[Partition, ...]:
    """The partitions of a table that is to be dropped: their directories may lie outside its
    own.
    """
    table = warehouse.store.find_table(name)
    return () if table is None else warehouse.store.list_partitions(table)


def directories_of(table: Table, partitions: Iterable[Partition]) -> list[str]:
    """The directories that go with a table: none of an external one, unless it says otherwise."""
    if not table.owns_files:
        return []
    outside = [p.location for p in partitions if not p.location.startswith(f"{table.location}/")]
    return [*outside, table.location]


def check_apart(warehouse: Warehouse, table: Table, *, formerly: Table | None = None) -> None:
    """Raises BindError if the table's directory is, holds or lies in that of another table, or
    holds a database's or the store's.

    Whoever drops or fills the one would delete or change the rows of the other. ``formerly``: the
    table under the name it is to lose. UnsupportedStatementError for a URL that names no host.
    """
    path = real_path(path_of(table.location))
    mine_too = {table.name, (formerly or table).name}
    for name, location in warehouse.store.list_locations():
        if name not in mine_too and (
            is_inside(path, other_path := real_path(location)) or is_inside(other_path, path)
        ):
            raise BindError(
                f'directory "{table.location}" overlaps that of table {name}',
                hint="Choose a directory of its own.",
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


def is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
