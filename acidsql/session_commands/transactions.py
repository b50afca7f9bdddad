"""SHOW and ABORT TRANSACTIONS; the beginning and the end of a transaction over several statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.errors import BindError, Error, Span
from acidsql.planner.bound_transactions import (
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundStartTransaction,
)
from acidsql.result import Result, Stats
from acidsql.session_commands.answers import done
from acidsql.txn.manager import TxnState

if TYPE_CHECKING:
    from acidsql.session import Session


def show_transactions(session: Session) -> Result:
    names = ["txnid", "state", "startedtime", "lastheartbeattime", "user", "host"]
    words = {TxnState.OPEN: "OPEN", TxnState.ABORTED: "ABORTED", TxnState.COMMITTED: "COMMITTED"}
    rows = [[str(t.txn_id), words[t.state], str(t.started), str(t.last_heartbeat), t.user, t.host] for t in session.store.list_txns()]
    return Result.of_text(Stats(statement="SHOW TRANSACTIONS"), names, rows)


def abort_transactions(session: Session, action: BoundAbortTransactions) -> Result:
    session.store.abort_txns(action.ids)
    return done("ABORT TRANSACTIONS")


def start_transaction(session: Session, action: BoundStartTransaction) -> Result:
    try:
        session.begin(read_only=action.read_only)
    except Error as error:
        error.span = action.span
        raise
    return done("START TRANSACTION")


def end_transaction(session: Session, action: BoundCommit | BoundRollback) -> Result:
    operation = "COMMIT" if isinstance(action, BoundCommit) else "ROLLBACK"
    if session.autocommit and not session.in_transaction:
        raise _no_transaction(operation, action.span)
    if isinstance(action, BoundCommit):
        session.commit()
    else:
        session.rollback()
    return done(operation)


def set_autocommit(session: Session, action: BoundSetAutocommit) -> Result:
    session.autocommit = action.on
    return done("SET AUTOCOMMIT")


def _no_transaction(operation: str, span: Span) -> BindError:
    return BindError(f"Operation {operation} is not allowed without an active transaction", code=20008, span=span)
