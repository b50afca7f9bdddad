"""SHOW and ABORT TRANSACTIONS, and the end of a transaction that nobody began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.errors import BindError, Span
from acidsql.planner.bound_transactions import BoundAbortTransactions
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


def no_transaction(operation: str, span: Span) -> BindError:
    return BindError(f"Operation {operation} is not allowed without an active transaction", code=20008, span=span)
