"""CREATE TABLE .. AS: the query's rows are written below a hidden name; then the table appears in
the catalog, its files in place.

Nobody ever sees the table without its rows. A query that fails leaves no table and no directory. Of
two sessions that make the same table the slower one fails. What it leaves when it is killed goes
with the next statement that writes; only in a directory that was there before, files may stay.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from acidsql.catalog.model import Table
from acidsql.commit.at_once import NewTableWork
from acidsql.commit.unit_of_work import carry_out
from acidsql.ddl.answers import done
from acidsql.ddl.tables import NOT_EMPTY, check_location, holds_rows, planned_words
from acidsql.ddl.warehouse import Warehouse, file_errors
from acidsql.errors import BindError
from acidsql.plan.new_table import new_table
from acidsql.plan.plans import CatalogCommand, check_runnable, plan_insert
from acidsql.planner.bind.bound_catalog import BoundCreateTable, BoundCreateTableAs
from acidsql.result import Result, warnings_of
from acidsql.storage.snapshots import Snapshots


def create_table_as(warehouse: Warehouse, action: BoundCreateTableAs) -> Result:
    try:
        return _create_table_as(warehouse, action)
    except BindError:
        # another session may have made one since the statement was bound
        table = warehouse.store.find_table(action.table.name)
        if not action.if_not_exists or table is None:
            raise
    result = done()
    result.plan = CatalogCommand(action=BoundCreateTable(table=table, exists=True))
    return result


def _create_table_as(warehouse: Warehouse, action: BoundCreateTableAs) -> Result:
    reads = [read.table.name for read in action.query.reads if read.table.is_transactional]
    with warehouse.reads.reading(reads, f"CREATE TABLE {action.table.name}") as (visible, _):
        return _create_at(warehouse, action, warehouse.engine.snapshots(visible))


def _create_at(warehouse: Warehouse, action: BoundCreateTableAs, snapshots: Snapshots) -> Result:
    engine, io = warehouse.engine, warehouse.files
    asked, insert = new_table(action, engine.new_columns(action.query, snapshots))
    table = warehouse.store.planned_table(asked, located=action.location_span is not None)
    insert = replace(insert, table=table)
    first = plan_insert(insert, warehouse.settings, spark=engine.spark_at_hand)
    check_runnable(first)
    notes = (*planned_words(asked, table), *check_location(warehouse, table, action.location_span))
    with file_errors("CREATE TABLE"):
        _check_empty(warehouse, table, action)
        was_there = io.exists(table.location)
    work = NewTableWork(warehouse.store, engine, table, snapshots, new_directory=not was_there)
    try:
        stats = carry_out([first], work, ends=True, warehouse=warehouse.root)
        return Result((), stats, notes=notes, warnings=warnings_of(stats))
    except BaseException:
        if not was_there:
            _tidy(warehouse, table)
        raise


def _check_empty(warehouse: Warehouse, table: Table, action: BoundCreateTableAs) -> None:
    if not holds_rows(warehouse, table.location):
        return
    if action.location_span is None:
        raise BindError(
            f'directory "{table.location}" of the new table is not empty',
            hint=NOT_EMPTY,
            span=action.span,
        )
    message = (
        "CREATE-TABLE-AS-SELECT cannot create table with location to a non-empty directory."
        f" {table.location}"
    )
    raise BindError(message, code=10304, span=action.location_span)


def _tidy(warehouse: Warehouse, table: Table) -> None:
    """Takes away the empty directories of a table that was not made; those of another session's
    table are its own.
    """
    io = warehouse.files
    with suppress(OSError):
        if warehouse.store.find_table(table.name) is None:
            for path in reversed(io.listing(table.location).directories):
                io.remove_empty_directory(f"{table.location}/{path}")
            io.remove_empty_directory(table.location)
