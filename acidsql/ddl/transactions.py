"""SHOW and ABORT TRANSACTIONS."""

from __future__ import annotations

from acidsql.ddl.answers import done
from acidsql.ddl.warehouse import Warehouse
from acidsql.planner.bind.bound_transactions import (
    BoundAbortTransactions,
)
from acidsql.result import Result, Stats
from acidsql.txn.manager import TxnState


def show_transactions(warehouse: Warehouse) -> Result:
    names = ["txnid", "state", "startedtime", "lastheartbeattime", "user", "host"]
    words = {TxnState.OPEN: "OPEN", TxnState.ABORTED: "ABORTED", TxnState.COMMITTED: "COMMITTED"}
    rows = [
        [str(t.txn_id), words[t.state], str(t.started), str(t.last_heartbeat), t.user, t.host]
        for t in warehouse.store.list_txns()
    ]
    return Result.of_text(Stats(), names, rows)


def abort_transactions(warehouse: Warehouse, action: BoundAbortTransactions) -> Result:
    warehouse.store.abort_txns(action.ids)
    return done()
