"""SHOW and ABORT TRANSACTIONS, SHOW TRANSACTION (what became of one of them), and SHOW LOCKS."""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.ddl.warehouse import Warehouse, done
from acidsql.planner.bind.bound_transactions import (
    BoundAbortTransactions,
    BoundShowLocks,
    BoundShowTransaction,
)
from acidsql.result import Result, Stats
from acidsql.txn.locks import LockInfo, LockState
from acidsql.txn.manager import OperationType, TxnInfo, TxnManager, TxnOutcome, TxnState, TxnWrite

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


# ---- SHOW LOCKS
#
# SHOW LOCKS. Hive: ShowLocksOperation.


COLUMNS = (
    "lockid", "database", "table", "partition", "lock_state", "blocked_by", "lock_type",
    "transaction_id", "last_heartbeat", "acquired_at", "user", "hostname", "agent_info",
)  # fmt: skip
NOTHING = "NULL"
NOT_BLOCKED = " " * 12
_LOCK_STATES = {LockState.ACQUIRED: "ACQUIRED", LockState.WAITING: "WAITING"}


def show_locks(manager: TxnManager, action: BoundShowLocks) -> Result:
    """Returns a line for each lock, in the manager's order; all columns are text, as in Hive.
    Locks of dead processes are none any more.
    """
    manager.reap()
    locks = [lock for lock in manager.list_locks() if _is_asked_for(lock, action)]
    return Result.of_text(Stats(), COLUMNS, [_line(lock) for lock in locks])


def _is_asked_for(lock: LockInfo, action: BoundShowLocks) -> bool:
    component = lock.component
    if action.table is None:
        return action.database in (None, component.database)
    if (component.database, component.table) != (action.table.database, action.table.table):
        return False
    return action.partition in (None, component.partition)


def _line(lock: LockInfo) -> list[str]:
    """The thirteen values. What there is none of is the word NULL, but for a heartbeat: 0, as a
    transaction beats for its locks.
    """
    component = lock.component
    return [
        _id(lock.lock_id, lock.part),
        component.database,
        component.table or NOTHING,
        component.partition or NOTHING,
        _LOCK_STATES[lock.state],
        NOT_BLOCKED if lock.blocked_by is None else _id(*lock.blocked_by),
        component.type.value,
        str(lock.txn_id or NOTHING),
        str(lock.last_heartbeat),
        str(lock.acquired_at or NOTHING),
        lock.user,
        lock.host,
        lock.agent or NOTHING,
    ]


def _id(lock_id: int, part: int) -> str:
    return f"{lock_id}.{part}"
