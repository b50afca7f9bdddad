"""The statements of the catalog: DDL on its entries and their directories, SHOW and DESCRIBE."""

from __future__ import annotations

from typing import assert_never

from acidsql import crash_points
from acidsql.catalog.model import TableKind
from acidsql.ddl.alterations import alter_table, convert_table, rename_table
from acidsql.ddl.compactions import compact
from acidsql.ddl.databases import create_database, describe_database, drop_database
from acidsql.ddl.show import (
    create_view,
    describe_health,
    describe_table,
    drop_view,
    show_columns,
    show_create_table,
    show_partitions,
    show_table_properties,
)
from acidsql.ddl.tables import create_table, drop_table
from acidsql.ddl.warehouse import Warehouse, done, matching, one_column
from acidsql.errors import UnsupportedStatementError
from acidsql.planner.bind.bound_catalog import (
    BoundAddPartitions,
    BoundAlterTable,
    BoundAnalyze,
    BoundConvertTable,
    BoundCreateDatabase,
    BoundCreateTable,
    BoundCreateTableAs,
    BoundCreateView,
    BoundDescribe,
    BoundDescribeDatabase,
    BoundDescribeHealth,
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundDropView,
    BoundRenamePartition,
    BoundRenameTable,
    BoundRepairTable,
    BoundReplaceTable,
    BoundSetPartitionLocation,
    BoundSetTableLocation,
    BoundShowColumns,
    BoundShowCreateTable,
    BoundShowDatabases,
    BoundShowPartitions,
    BoundShowTableProperties,
    BoundShowTables,
    BoundShowViews,
    BoundUnbuilt,
    BoundUse,
    DdlAction,
)
from acidsql.planner.bind.bound_transactions import BoundCompact
from acidsql.result import Result


def run_catalog_command(warehouse: Warehouse, action: DdlAction) -> Result:  # noqa: C901 (flat: a case for each kind)
    """Runs one DDL statement or look-up."""
    match action:
        case BoundCreateDatabase():
            return create_database(warehouse, action)
        case BoundDropDatabase():
            return drop_database(warehouse, action)
        case BoundUse():
            return done()  # the session remembers
        case BoundShowDatabases():
            return one_column(
                "database_name",
                matching(warehouse.store.list_databases(), action.pattern),
            )
        case BoundDescribeDatabase():
            return describe_database(action)
        case BoundCreateTable():
            return create_table(warehouse, action)
        case BoundCreateTableAs():
            from acidsql.ddl.tables import create_table_as

            return create_table_as(warehouse, action)
        case BoundReplaceTable():
            from acidsql.ddl.replacing import replace_table

            return replace_table(warehouse, action)
        case BoundDropTable():
            return drop_table(warehouse, action)
        case BoundAlterTable():
            return alter_table(warehouse, action)
        case BoundRenameTable():
            return rename_table(warehouse, action)
        case BoundConvertTable():
            return convert_table(warehouse, action)
        case BoundAnalyze():
            return analyze_table(warehouse, action)
        case (
            BoundAddPartitions()
            | BoundDropPartitions()
            | BoundRenamePartition()
            | BoundSetPartitionLocation()
            | BoundSetTableLocation()
            | BoundRepairTable()
        ):
            from acidsql.ddl.partitions.commands import run_partition_command

            return run_partition_command(warehouse, action)
        case BoundCreateView():
            return create_view(warehouse, action)
        case BoundDropView():
            return drop_view(warehouse, action)
        case BoundCompact():
            return compact(warehouse, action)
        case BoundUnbuilt():
            raise UnsupportedStatementError(
                f"{action.words} is not supported yet", hint=action.hint, span=action.span
            )
        case _:
            return run_show(warehouse, action)


ShowAction = (
    BoundShowTables | BoundShowViews | BoundShowColumns | BoundShowTableProperties
    | BoundShowPartitions
    | BoundDescribe | BoundDescribeHealth | BoundShowCreateTable
)  # fmt: skip


def run_show(warehouse: Warehouse, action: ShowAction) -> Result:
    """SHOW and DESCRIBE of tables and views."""
    match action:
        case BoundShowTables():
            return one_column(
                "tab_name",
                matching(warehouse.store.list_tables(action.database), action.pattern),
            )
        case BoundShowViews():
            views = warehouse.store.list_tables(action.database, TableKind.VIEW)
            return one_column("tab_name", matching(views, action.pattern))
        case BoundShowColumns():
            return show_columns(action)
        case BoundShowTableProperties():
            return show_table_properties(action)
        case BoundShowPartitions():
            return show_partitions(warehouse, action)
        case BoundDescribe():
            return describe_table(action)
        case BoundDescribeHealth():
            return describe_health(warehouse, action)
        case BoundShowCreateTable():
            return show_create_table(action)
        case _:
            assert_never(action)


# ---- ANALYZE TABLE
#
# ANALYZE TABLE: measured under one snapshot, stored in one step, unless somebody has committed in
# between: then measured again.


ATTEMPTS = 3
"""On a table that is written all the time. What the last one finds is stored without the mark that
says it holds.
"""


def analyze_table(warehouse: Warehouse, action: BoundAnalyze) -> Result:
    """Measures a table and stores its statistics. Numbers that hold already are kept right by every
    commit: they need no ANALYZE, and none takes their mark away.
    """
    table = action.table
    for attempt in range(ATTEMPTS):
        tables = [table.name] if table.is_transactional else []
        with warehouse.reads.reading(tables, f"ANALYZE TABLE {table.name}") as (visible, _):
            measured = warehouse.engine.analyze(action, warehouse.engine.snapshots(visible))
        crash_points.reached("analyzed")
        write_ids = visible.write_ids(table.name) if table.is_transactional else None
        if warehouse.store.put_statistics(
            table, measured, write_ids, outdated=attempt == ATTEMPTS - 1
        ):
            break
    return done()
