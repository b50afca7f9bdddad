"""The statements that read no rows: DDL on the catalog and the file system, SHOW, DESCRIBE, SET, transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from acidsql.catalog.model import TableKind
from acidsql.errors import UnsupportedStatementError
from acidsql.planner.bound import BoundReset, BoundSet, SessionAction
from acidsql.planner.bound_catalog import (
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
    BoundDropDatabase,
    BoundDropPartitions,
    BoundDropTable,
    BoundDropView,
    BoundRenamePartition,
    BoundRenameTable,
    BoundRepairTable,
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
    CatalogAction,
)
from acidsql.planner.bound_transactions import (
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowTransactions,
    BoundStartTransaction,
)
from acidsql.result import Result
from acidsql.session_commands.alterations import alter_table, convert_table, rename_table
from acidsql.session_commands.analyze import analyze_table
from acidsql.session_commands.answers import done, matching, one_column
from acidsql.session_commands.create_as import create_table_as
from acidsql.session_commands.databases import create_database, describe_database, drop_database
from acidsql.session_commands.partitions import run_partition_command
from acidsql.session_commands.show import describe_table, show_columns, show_create_table, show_partitions, show_table_properties
from acidsql.session_commands.tables import create_table, drop_table
from acidsql.session_commands.transactions import (
    abort_transactions,
    end_transaction,
    set_autocommit,
    show_transactions,
    start_transaction,
)
from acidsql.session_commands.variables import reset_variables, set_variable
from acidsql.session_commands.views import create_view, drop_view

if TYPE_CHECKING:
    from acidsql.session import Session


def run_catalog_command(session: Session, action: CatalogAction) -> Result:
    """Runs one DDL statement or look-up."""
    match action:
        case BoundCreateDatabase():
            return create_database(session, action)
        case BoundDropDatabase():
            return drop_database(session, action)
        case BoundUse():
            session.database = action.database
            return done("USE")
        case BoundShowDatabases():
            return one_column("SHOW DATABASES", "database_name", matching(session.store.list_databases(), action.pattern))
        case BoundDescribeDatabase():
            return describe_database(action)
        case BoundCreateTable():
            return create_table(session, action)
        case BoundCreateTableAs():
            return create_table_as(session, action)
        case BoundDropTable():
            return drop_table(session, action)
        case BoundAlterTable():
            return alter_table(session, action)
        case BoundRenameTable():
            return rename_table(session, action)
        case BoundConvertTable():
            return convert_table(session, action)
        case BoundAnalyze():
            return analyze_table(session, action)
        case (
            BoundAddPartitions()
            | BoundDropPartitions()
            | BoundRenamePartition()
            | BoundSetPartitionLocation()
            | BoundSetTableLocation()
            | BoundRepairTable()
        ):
            return run_partition_command(session, action)
        case BoundCreateView():
            return create_view(session, action)
        case BoundDropView():
            return drop_view(session, action)
        case BoundUnbuilt():
            raise UnsupportedStatementError(f"{action.words} is not supported yet", span=action.span)
        case _:
            return run_show(session, action)


ShowAction = (
    BoundShowTables | BoundShowViews | BoundShowColumns | BoundShowTableProperties | BoundShowPartitions
    | BoundDescribe | BoundShowCreateTable
)  # fmt: skip


def run_show(session: Session, action: ShowAction) -> Result:
    """SHOW and DESCRIBE of tables and views."""
    match action:
        case BoundShowTables():
            return one_column("SHOW TABLES", "tab_name", matching(session.store.list_tables(action.database), action.pattern))
        case BoundShowViews():
            views = session.store.list_tables(action.database, TableKind.VIEW)
            return one_column("SHOW VIEWS", "tab_name", matching(views, action.pattern))
        case BoundShowColumns():
            return show_columns(action)
        case BoundShowTableProperties():
            return show_table_properties(action)
        case BoundShowPartitions():
            return show_partitions(session, action)
        case BoundDescribe():
            return describe_table(action)
        case BoundShowCreateTable():
            return show_create_table(action)
        case _:
            assert_never(action)


def run_session_command(session: Session, action: SessionAction) -> Result:
    """Runs a statement about settings or transactions."""
    match action:
        case BoundShowTransactions():
            return show_transactions(session)
        case BoundAbortTransactions():
            return abort_transactions(session, action)
        case BoundStartTransaction():
            return start_transaction(session, action)
        case BoundCommit() | BoundRollback():
            return end_transaction(session, action)
        case BoundSetAutocommit():
            return set_autocommit(session, action)
        case BoundSet():
            return set_variable(session, action)
        case BoundReset():
            return reset_variables(session, action)
        case _:
            assert_never(action)
