"""Locks as rows of HIVE_LOCKS, one for each component of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acidsql.acid.ids import TxnId
from acidsql.errors import MetastoreError
from acidsql.metastore.sql import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
    update,
)
from acidsql.metastore.tables import HIVE_LOCKS, NEXT_LOCK_ID, TXNS, TxnType
from acidsql.txn.locks import NO_TXN, LockComponent, LockInfo, LockState, LockType

LOCK_NO_SUCH_LOCK = 10270

TYPE_LETTERS = {
    LockType.SHARED_READ: "r",
    LockType.SHARED_WRITE: "w",
    LockType.EXCL_WRITE: "x",
    LockType.EXCLUSIVE: "e",
}
"""HL_LOCK_TYPE. Hive: LockTypeUtil."""

_TYPES = {letter: kind for kind, letter in TYPE_LETTERS.items()}

# what every transaction runs is built once: building a statement takes longer than running it

_OF_COMPACTION = (
    select(TXNS.c.TXN_TYPE == TxnType.COMPACTION)
    .where(TXNS.c.TXN_ID == HIVE_LOCKS.c.HL_TXNID)
    .scalar_subquery()
)
_ALL = select(HIVE_LOCKS, _OF_COMPACTION.label("OF_COMPACTION")).order_by(
    HIVE_LOCKS.c.HL_LOCK_EXT_ID, HIVE_LOCKS.c.HL_LOCK_INT_ID
)
_AHEAD = _ALL.where(
    HIVE_LOCKS.c.HL_LOCK_EXT_ID < bindparam("lock_id"),
    HIVE_LOCKS.c.HL_DB.in_(bindparam("databases", expanding=True)),
    or_(
        HIVE_LOCKS.c.HL_LOCK_TYPE.in_(bindparam("types", expanding=True)),
        and_(HIVE_LOCKS.c.HL_TXNID == bindparam("txn_id"), HIVE_LOCKS.c.HL_TXNID != NO_TXN),
    ),
)
_NEXT_ID = select(NEXT_LOCK_ID.c.NL_NEXT)
_ADVANCE = update(NEXT_LOCK_ID).values(NL_NEXT=NEXT_LOCK_ID.c.NL_NEXT + 1)
_INSERT = insert(HIVE_LOCKS)
_FREE = delete(HIVE_LOCKS).where(HIVE_LOCKS.c.HL_TXNID == bindparam("txn_id"))
_DELETE = delete(HIVE_LOCKS).where(
    HIVE_LOCKS.c.HL_LOCK_EXT_ID.in_(bindparam("lock_ids", expanding=True))
)
_REQUEST = _ALL.where(HIVE_LOCKS.c.HL_LOCK_EXT_ID == bindparam("lock_id"))


def next_lock_id(connection: Connection) -> int:
    lock_id = connection.execute(_NEXT_ID).scalar_one()
    connection.execute(_ADVANCE)
    return int(lock_id)


def insert_locks(connection: Connection, locks: Iterable[LockInfo]) -> None:
    connection.execute(_INSERT, [_row(lock) for lock in locks])


def select_locks(connection: Connection, *where: ColumnElement[bool]) -> list[LockInfo]:
    """The locks that meet all conditions, in the order in which they came."""
    return [_lock(row) for row in connection.execute(_ALL.where(*where))]


def select_ahead(
    connection: Connection,
    lock_id: int,
    txn_id: TxnId,
    *,
    databases: Iterable[str],
    types: Iterable[LockType],
) -> list[LockInfo]:
    """The locks of these types that came before a request, in order, with those its transaction
    has of any type.
    """
    rows = connection.execute(
        _AHEAD,
        {
            "lock_id": lock_id,
            "txn_id": txn_id,
            "databases": list(databases),
            "types": [TYPE_LETTERS[kind] for kind in types],
        },
    )
    return [_lock(row) for row in rows]


def select_request(connection: Connection, lock_id: int) -> list[LockInfo]:
    """The locks that came with one request; none if it is unknown."""
    return [_lock(row) for row in connection.execute(_REQUEST, {"lock_id": lock_id})]


def find_request(connection: Connection, lock_id: int) -> list[LockInfo]:
    """The locks that came with one request, at least one. MetastoreError if it is unknown."""
    locks = select_request(connection, lock_id)
    if not locks:
        raise MetastoreError(
            f"No such lock lockid:{lock_id}",
            detail="it was given up, its transaction has ended, or its heartbeat timed out",
            code=LOCK_NO_SUCH_LOCK,
        )
    return locks


def delete_locks(connection: Connection, lock_ids: Iterable[int]) -> None:
    connection.execute(_DELETE, {"lock_ids": list(lock_ids)})


def free_locks(connection: Connection, txn_id: TxnId) -> None:
    """Deletes all that a transaction holds or waits for, at its end."""
    connection.execute(_FREE, {"txn_id": txn_id})


def grant(connection: Connection, lock_id: int, *, now: int) -> None:
    """Makes a request one that is held: all of it."""
    connection.execute(
        update(HIVE_LOCKS)
        .where(HIVE_LOCKS.c.HL_LOCK_EXT_ID == lock_id)
        .values(
            HL_LOCK_STATE=LockState.ACQUIRED.value,
            HL_ACQUIRED_AT=now,
            HL_BLOCKEDBY_EXT_ID=None,
            HL_BLOCKEDBY_INT_ID=None,
        )
    )


def set_blockers(
    connection: Connection, locks: Sequence[LockInfo], blockers: Mapping[int, LockInfo]
) -> None:
    """Notes what each lock of a request waits for, by part; most often that is so already."""
    changed = [
        {"part": lock.part, "lock": blocker and blocker[0], "blocking_part": blocker and blocker[1]}
        for lock in locks
        for blocker in [name_of(blockers.get(lock.part))]
        if blocker != lock.blocked_by
    ]
    hl = HIVE_LOCKS.c
    if changed:
        connection.execute(
            update(HIVE_LOCKS)
            .where(
                hl.HL_LOCK_EXT_ID == locks[0].lock_id,
                hl.HL_LOCK_INT_ID == bindparam("part"),
            )
            .values(
                HL_BLOCKEDBY_EXT_ID=bindparam("lock"),
                HL_BLOCKEDBY_INT_ID=bindparam("blocking_part"),
            ),
            changed,
        )


def name_of(lock: LockInfo | None) -> tuple[int, int] | None:
    return None if lock is None else (lock.lock_id, lock.part)


def hand_over(connection: Connection, old: TxnId, new: TxnId) -> None:
    """Gives all locks of a transaction, held or waited for, to another."""
    connection.execute(update(HIVE_LOCKS).where(HIVE_LOCKS.c.HL_TXNID == old).values(HL_TXNID=new))


def beat(connection: Connection, lock_id: int, *, now: int) -> None:
    """Notes a sign of life of a lock that belongs to no transaction."""
    hl = HIVE_LOCKS.c
    connection.execute(
        update(HIVE_LOCKS)
        .where(hl.HL_LOCK_EXT_ID == lock_id, hl.HL_TXNID == NO_TXN)
        .values(HL_LAST_HEARTBEAT=now)
    )


def _row(lock: LockInfo) -> dict[str, object]:
    blocked_by = lock.blocked_by or (None, None)
    return {
        "HL_LOCK_EXT_ID": lock.lock_id,
        "HL_LOCK_INT_ID": lock.part,
        "HL_TXNID": lock.txn_id,
        "HL_DB": lock.component.database,
        "HL_TABLE": lock.component.table,
        "HL_PARTITION": lock.component.partition,
        "HL_LOCK_STATE": lock.state.value,
        "HL_LOCK_TYPE": TYPE_LETTERS[lock.component.type],
        "HL_LAST_HEARTBEAT": lock.last_heartbeat,
        "HL_ACQUIRED_AT": lock.acquired_at or None,
        "HL_USER": lock.user,
        "HL_HOST": lock.host,
        "HL_AGENT_INFO": lock.agent,
        "HL_BLOCKEDBY_EXT_ID": blocked_by[0],
        "HL_BLOCKEDBY_INT_ID": blocked_by[1],
        "HL_STATEMENT": lock.statement,
    }


def _lock(row: Row[Any]) -> LockInfo:
    component = LockComponent(
        database=row.HL_DB,
        table=row.HL_TABLE,
        partition=row.HL_PARTITION,
        type=_TYPES[row.HL_LOCK_TYPE],
    )
    blocker = row.HL_BLOCKEDBY_EXT_ID
    return LockInfo(
        lock_id=row.HL_LOCK_EXT_ID,
        part=row.HL_LOCK_INT_ID,
        component=component,
        state=LockState(row.HL_LOCK_STATE),
        txn_id=TxnId(row.HL_TXNID),
        blocked_by=None if blocker is None else (blocker, row.HL_BLOCKEDBY_INT_ID),
        last_heartbeat=row.HL_LAST_HEARTBEAT,
        acquired_at=row.HL_ACQUIRED_AT or 0,
        user=row.HL_USER,
        host=row.HL_HOST,
        agent=row.HL_AGENT_INFO,
        statement=row.HL_STATEMENT,
        of_compaction=bool(row.OF_COMPACTION),
    )
