"""What is asked for as locks, and Hive 4's table of what stands in whose way: managers are held
against it.
"""

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


# ---- the table

MATRIX = {
    "SHARED_READ": "ok ok ok blocks",
    "SHARED_WRITE": "ok ok blocks blocks",
    "EXCL_WRITE": "ok blocks blocks blocks",
    "EXCLUSIVE": "blocks blocks blocks blocks",
}
"""A line for what is wanted, a column for what is there, both from SHARED_READ to EXCLUSIVE."""


def path(component: LockComponent) -> tuple[str, ...]:
    """The names of what is locked, from the database down."""
    parts = (component.database, component.table, component.partition)
    return tuple(part for part in parts if part is not None)


def stands_in_the_way(wanted: LockComponent, other: LockComponent) -> bool:
    """Whether ``other``, held or asked for before, keeps ``wanted`` waiting. A database that is
    read and a table of it that is locked as a whole (CREATE TABLE beside DROP TABLE) do not.
    """
    one, two = path(wanted), path(other)
    if one[: len(two)] != two and two[: len(one)] != one:
        return False
    if wanted.type is LockType.SHARED_READ and other.type is LockType.EXCLUSIVE:
        return not (len(one) == 1 and len(two) > 1)
    if wanted.type is LockType.EXCLUSIVE and other.type is LockType.SHARED_READ:
        return not (len(two) == 1 and len(one) > 1)
    return MATRIX[wanted.type].split()[list(LockType).index(other.type)] == "blocks"
