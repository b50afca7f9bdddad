"""Statements about a session: its variables, the transaction it has open, and those of
the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, assert_never

from acidsql.attach.changes import going_words
from acidsql.attach.statements import attach_table, detach_table
from acidsql.catalog.attached import is_attached, is_overlay
from acidsql.catalog.model import DEFAULT_DATABASE, Database, Table
from acidsql.ddl.answers import done
from acidsql.ddl.compactions import abort_compactions, show_compactions
from acidsql.ddl.databases import create_database
from acidsql.ddl.locks import show_locks
from acidsql.ddl.tables import drop_table
from acidsql.ddl.transactions import abort_transactions, show_transaction, show_transactions
from acidsql.ddl.variables import reset_variables, set_variable
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import BindError, Error, Span
from acidsql.files.urls import path_of
from acidsql.plan.facts import words_of
from acidsql.plan.plans import SessionCommand
from acidsql.planner.bind.bound import BoundReset, BoundSet, SessionAction
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
from acidsql.planner.bind.bound_transactions import (
    BoundAbortCompactions,
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowCompactions,
    BoundShowLocks,
    BoundShowTransaction,
    BoundShowTransactions,
    BoundStartTransaction,
)
from acidsql.result import Result, Stats
from acidsql.session.transaction import SessionTransaction
from acidsql.settings import Variables

if TYPE_CHECKING:
    from acidsql.attach.sources.live import LiveTables


# ---- attaching
#
# ATTACH, ADOPT and DETACH of tables that others write, and what was changed over them.


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
            from acidsql.attach.changes import describe_changes

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


# ---- statements


def run_session_statement(  # noqa: C901 (flat: a case for each kind)
    warehouse: Warehouse,
    variables: Variables,
    transaction: SessionTransaction,
    action: SessionAction,
) -> Result:
    """Runs a statement about settings, transactions or compactions."""
    match action:
        case BoundShowTransactions():
            return show_transactions(warehouse)
        case BoundShowTransaction():
            return show_transaction(warehouse, action)
        case BoundShowLocks():
            return show_locks(warehouse.store, action)
        case BoundShowCompactions():
            return show_compactions(warehouse, action)
        case BoundAbortCompactions():
            return abort_compactions(warehouse, action)
        case BoundAbortTransactions():
            return abort_transactions(warehouse, action)
        case BoundStartTransaction():
            return start_transaction(transaction, action)
        case BoundCommit() | BoundRollback():
            return end_transaction(transaction, action)
        case BoundSetAutocommit():
            return set_autocommit(transaction, action)
        case BoundSet():
            return set_variable(variables, action)
        case BoundReset():
            return reset_variables(variables, action)
        case _:
            assert_never(action)


def start_transaction(transaction: SessionTransaction, action: BoundStartTransaction) -> Result:
    try:
        transaction.begin(read_only=action.read_only)
    except Error as error:
        error.span = action.span
        raise
    return done()


def end_transaction(transaction: SessionTransaction, action: BoundCommit | BoundRollback) -> Result:
    if transaction.autocommit and not transaction.is_open:
        raise _no_transaction(words_of(SessionCommand(action=action)), action.span)
    if isinstance(action, BoundCommit):
        transaction.commit()
    else:
        transaction.rollback()
    return done()


def set_autocommit(transaction: SessionTransaction, action: BoundSetAutocommit) -> Result:
    transaction.set_autocommit(action.on)
    return done()


def _no_transaction(operation: str, span: Span) -> BindError:
    return BindError(
        f"Operation {operation} is not allowed without an active transaction", code=20008, span=span
    )
