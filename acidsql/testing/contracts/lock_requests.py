"""What is asked for as locks: helpers of the tests of locks."""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.txn.locks import LockAnswer, LockComponent, LockRequest, LockState, LockType
from acidsql.txn.manager import TxnManager

U = TableName("default", "u")
SHARED_READ, SHARED_WRITE, EXCL_WRITE, EXCLUSIVE = LockType
ACQUIRED, WAITING, NOT_ACQUIRED = LockState


def on(
    name: TableName | str, kind: LockType = EXCL_WRITE, partition: str | None = None
) -> LockComponent:
    """A lock on a table, or on a database."""
    if isinstance(name, str):
        return LockComponent(database=name, type=kind)
    return LockComponent(database=name.database, table=name.table, partition=partition, type=kind)


def asking(*components: LockComponent, statement: str = "") -> LockRequest:
    return LockRequest(components=components, statement=statement)


def begin(manager: TxnManager, *components: LockComponent) -> tuple[TxnId, LockAnswer]:
    opened = manager.begin((), asking(*components))
    assert opened.locks is not None
    return opened.txn_id, opened.locks


def ids(answer: LockAnswer) -> list[tuple[int, int]]:
    return [(blocker.lock_id, blocker.part) for blocker in answer.blockers]


def states(manager: TxnManager) -> dict[int, LockState]:
    return {lock.lock_id: lock.state for lock in manager.list_locks()}
