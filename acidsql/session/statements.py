"""Statements about a session: its variables, the transaction it has open, and those of
the store.
"""

from __future__ import annotations

from typing import assert_never

from acidsql.ddl.compactions import abort_compactions, show_compactions
from acidsql.ddl.transactions import (
    abort_transactions,
    show_locks,
    show_transaction,
    show_transactions,
)
from acidsql.ddl.variables import reset_variables, set_variable
from acidsql.ddl.warehouse import Warehouse, done
from acidsql.errors import BindError, Error, Span
from acidsql.plan.facts import words_of
from acidsql.plan.plans import SessionCommand
from acidsql.planner.bind.bound import BoundReset, BoundSet, SessionAction
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
from acidsql.result import Result
from acidsql.session.transaction import SessionTransaction
from acidsql.settings import Variables


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
