"""SHOW LOCKS. Hive: ShowLocksOperation."""

from __future__ import annotations

from acidsql.planner.bind.bound_transactions import BoundShowLocks
from acidsql.result import Result, Stats
from acidsql.txn.locks import LockInfo, LockState
from acidsql.txn.manager import TxnManager

COLUMNS = (
    "lockid", "database", "table", "partition", "lock_state", "blocked_by", "lock_type",
    "transaction_id", "last_heartbeat", "acquired_at", "user", "hostname", "agent_info",
)  # fmt: skip
NOTHING = "NULL"
NOT_BLOCKED = " " * 12
_STATES = {LockState.ACQUIRED: "ACQUIRED", LockState.WAITING: "WAITING"}


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
        _STATES[lock.state],
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
