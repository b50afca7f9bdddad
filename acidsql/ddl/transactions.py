"""SHOW and ABORT TRANSACTIONS, and SHOW TRANSACTION: what became of one of them."""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.ddl.answers import done
from acidsql.ddl.warehouse import Warehouse
from acidsql.planner.bind.bound_transactions import (
    BoundAbortTransactions,
    BoundShowTransaction,
)
from acidsql.result import Result, Stats
from acidsql.txn.manager import OperationType, TxnInfo, TxnOutcome, TxnState, TxnWrite

_STATES = {TxnState.OPEN: "OPEN", TxnState.ABORTED: "ABORTED", TxnState.COMMITTED: "COMMITTED"}
UNKNOWN = "UNKNOWN"
NEVER_OPENED = "there is no such transaction yet"
FORGOTTEN = "it has ended: transactions that ended long ago have no record"
NO_RECORD = "-"


def show_transactions(warehouse: Warehouse) -> Result:
    names = ["txnid", "state", "startedtime", "lastheartbeattime", "user", "host"]
    rows = [
        [str(txn.txn_id), _STATES[txn.state], *_facts(txn)] for txn in warehouse.store.list_txns()
    ]
    return Result.of_text(Stats(), names, rows)


def show_transaction(warehouse: Warehouse, action: BoundShowTransaction) -> Result:
    """Returns one line, whatever became of the transaction; NULL is what nobody knows."""
    names = [
        "txnid", "state", "reason", "startedtime", "lastheartbeattime", "user", "host", "tables",
    ]  # fmt: skip
    outcome = warehouse.store.find_txn(action.txn_id)
    return Result.of_text(Stats(), names, [_outcome(action.txn_id, outcome)])


def abort_transactions(warehouse: Warehouse, action: BoundAbortTransactions) -> Result:
    warehouse.store.abort_txns(action.ids)
    return done()


def _outcome(txn_id: TxnId, outcome: TxnOutcome | None) -> list[str | None]:
    if outcome is None:
        return [str(txn_id), UNKNOWN, NEVER_OPENED, *[None] * 5]
    tables = ", ".join(map(_write, outcome.writes)) or None
    if outcome.info is None:
        return [str(txn_id), UNKNOWN, FORGOTTEN, *[None] * 4, tables]
    state = _STATES[outcome.info.state]
    return [str(txn_id), state, outcome.reason, *_facts(outcome.info), tables]


def _facts(txn: TxnInfo) -> list[str]:
    return [str(txn.started), str(txn.last_heartbeat), txn.user, txn.host]


def _write(write: TxnWrite) -> str:
    """A table or partition, what was done to it and under which write id: ``db.t/p=1 update 5``."""
    name = str(write.table) if write.partition is None else f"{write.table}/{write.partition}"
    return f"{name} {_word(write.operation)} {write.write_id}"


def _word(operation: OperationType | None) -> str:
    return NO_RECORD if operation is None else operation.name.lower()
