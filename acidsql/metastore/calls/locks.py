"""The locks of the embedded metastore: each call one SQL transaction on the store, which need not
outlive a loss of power where no process that holds or awaits a lock does. Nor need what frees a
lock, or keeps it alive: if that is lost, the lock is freed when its time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.acid.ids import TxnId
from acidsql.errors import InternalError, MetastoreError, OperationalError
from acidsql.lazy import dataclass
from acidsql.metastore.opening import OpenTxns, ended_processes, reap
from acidsql.metastore.rows.txns import jump, keep_in_step, require_open
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
from acidsql.metastore.store import Clock, Store
from acidsql.metastore.tables import HIVE_LOCKS, NEXT_LOCK_ID, TXNS, TxnType
from acidsql.processes import Process
from acidsql.txn.locks import (
    NO_TXN,
    LockAnswer,
    LockComponent,
    LockInfo,
    LockQueue,
    LockRequest,
    LockState,
    LockType,
    blocks,
)

# ---- their rows
#
# Locks as rows of HIVE_LOCKS, one for each component of a request.


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


# ---- locks


# ---- how a request is answered
#
# How a request for locks is answered: granted whole, queued, or refused. Hive: CheckLockFunction.
#
# Ids grow in the order of the store's write transactions, so a smaller id is an earlier place in
# the queue, and a row that is there stays in the way until it is deleted.


STATEMENT_LENGTH = 1000
"""The number of characters of a statement that are kept."""

_IN_THE_WAY = {
    wanted: frozenset(
        other
        for other in LockType
        if blocks(
            LockComponent(database="", table="", type=wanted),
            LockComponent(database="", table="", type=other),
        )
    )
    for wanted in LockType
}
"""The types that can stand in the way of a type: other rows need not be fetched."""

_HL = HIVE_LOCKS.c
_OF_NO_TXN = (
    select(_HL.HL_LOCK_EXT_ID, _HL.HL_HOST, _HL.HL_AGENT_INFO, _HL.HL_LAST_HEARTBEAT)
    .where(_HL.HL_TXNID == NO_TXN)
    .distinct()
)

Parts = Mapping[int, LockComponent]
"""The components of a request by their numbers, from 1 as Hive's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks for locks, and when (epoch milliseconds). ``txn_id``: NO_TXN for none."""

    txn_id: TxnId
    user: str
    host: str
    process: Process
    now: int


def ask(
    connection: Connection, request: LockRequest, asker: Asker, *, reap: Callable[[], bool]
) -> LockAnswer:
    """Puts a request into the queue, if it is not refused. ``reap`` ends the dead and returns
    whether there were any; it is only called when something is in the way.

    Hive refuses only requests of transactions; here a query has none, and may not want to wait.
    """
    parts = {part: _normal(c) for part, c in enumerate(request.components, start=1)}
    if not parts:
        raise InternalError("a request for locks names nothing to lock")
    lock_id = next_lock_id(connection)
    blockers = _living_blockers(connection, parts, lock_id, asker.txn_id, reap)
    if _is_refused(request, parts, blockers):
        return _answer(lock_id, LockState.NOT_ACQUIRED, blockers)
    state = LockState.WAITING if blockers else LockState.ACQUIRED
    insert_locks(
        connection,
        [
            LockInfo(
                lock_id=lock_id,
                part=part,
                component=component,
                state=state,
                txn_id=asker.txn_id,
                blocked_by=name_of(blockers.get(part)),
                last_heartbeat=asker.now if asker.txn_id == NO_TXN else 0,
                acquired_at=asker.now if state is LockState.ACQUIRED else 0,
                user=asker.user,
                host=asker.host,
                agent=str(asker.process),
                statement=request.statement[:STATEMENT_LENGTH],
            )
            for part, component in parts.items()
        ],
    )
    return _answer(lock_id, state, blockers, _deadlock(connection, lock_id, asker.txn_id, blockers))


def check(
    connection: Connection, lock_id: int, *, now: int, reap: Callable[[], bool]
) -> LockAnswer:
    """Looks again whether a request can be granted. MetastoreError if it is unknown."""
    locks = find_request(connection, lock_id)
    if locks[0].state is LockState.ACQUIRED:
        return LockAnswer(lock_id=lock_id, state=LockState.ACQUIRED)
    parts = {lock.part: lock.component for lock in locks}
    txn_id = locks[0].txn_id
    blockers = _living_blockers(connection, parts, lock_id, txn_id, reap)
    if not blockers:
        grant(connection, lock_id, now=now)
        return LockAnswer(lock_id=lock_id, state=LockState.ACQUIRED)
    set_blockers(connection, locks, blockers)
    deadlock = _deadlock(connection, lock_id, txn_id, blockers)
    return _answer(lock_id, LockState.WAITING, blockers, deadlock)


def give_up(connection: Connection, lock_id: int) -> None:
    """Deletes a request that waits, or belongs to no transaction; an unknown one is no error.
    Hive: TxnHandler.unlock.
    """
    locks = select_request(connection, lock_id)
    if locks and locks[0].txn_id != NO_TXN and locks[0].state is LockState.ACQUIRED:
        raise OperationalError(
            f"Unlocking locks associated with transaction not permitted.  {locks[0]}",
            hint="They end with the transaction.",
        )
    delete_locks(connection, [lock_id])


def reap_locks(connection: Connection, *, host: str, process: Process, cutoff: int) -> bool:
    """Deletes locks of no transaction that had no heartbeat since ``cutoff``, and at once those
    whose process is gone. Returns whether there were any. Hive: TxnHandler.timeOutLocks (which
    knows the time-out only).
    """
    dead = find_dead_locks(connection, host=host, process=process, cutoff=cutoff)
    if dead:
        delete_locks(connection, dead)
    return bool(dead)


def find_dead_locks(
    connection: Connection, *, host: str, process: Process, cutoff: int
) -> list[int]:
    """The requests, of no transaction, of those who are gone."""
    rows = connection.execute(_OF_NO_TXN).all()
    gone = ended_processes((row.HL_AGENT_INFO for row in rows if row.HL_HOST == host), process)
    return [
        row.HL_LOCK_EXT_ID
        for row in rows
        if row.HL_LAST_HEARTBEAT < cutoff or (row.HL_HOST == host and row.HL_AGENT_INFO in gone)
    ]


def _living_blockers(
    connection: Connection,
    parts: Parts,
    lock_id: int,
    txn_id: TxnId,
    reap: Callable[[], bool],
) -> dict[int, LockInfo]:
    blockers = _find_blockers(connection, parts, lock_id, txn_id)
    if blockers and reap():
        blockers = _find_blockers(connection, parts, lock_id, txn_id)
    return blockers


def _find_blockers(
    connection: Connection, parts: Parts, lock_id: int, txn_id: TxnId
) -> dict[int, LockInfo]:
    """What each component that is not free waits for, by part."""
    locks = select_ahead(
        connection,
        lock_id,
        txn_id,
        databases={component.database for component in parts.values()},
        types={other for component in parts.values() for other in _IN_THE_WAY[component.type]},
    )
    if not locks:
        return {}
    queue = LockQueue(locks)
    blockers = {
        part: queue.first_blocker(component, lock_id, txn_id) for part, component in parts.items()
    }
    return {part: blocker for part, blocker in blockers.items() if blocker is not None}


def _is_refused(request: LockRequest, parts: Parts, blockers: Mapping[int, LockInfo]) -> bool:
    if request.exclusive_ctas and blockers:
        return True
    return request.zero_wait_reads and any(
        parts[part].type is LockType.SHARED_READ for part in blockers
    )


def _deadlock(
    connection: Connection, lock_id: int, txn_id: TxnId, blockers: Mapping[int, LockInfo]
) -> tuple[TxnId, ...]:
    """The circle that a waiting request closes. Nobody waits for who has nothing but this request,
    the last of those looked at.
    """
    if not blockers or txn_id == NO_TXN:
        return ()
    hl = HIVE_LOCKS.c
    has_more = select(hl.HL_LOCK_EXT_ID).where(hl.HL_TXNID == txn_id, hl.HL_LOCK_EXT_ID < lock_id)
    if connection.execute(has_more.limit(1)).first() is None:
        return ()
    return LockQueue(select_locks(connection, hl.HL_LOCK_EXT_ID <= lock_id)).deadlock(txn_id)


def _answer(
    lock_id: int,
    state: LockState,
    blockers: Mapping[int, LockInfo],
    deadlock: tuple[TxnId, ...] = (),
) -> LockAnswer:
    return LockAnswer(
        lock_id=lock_id, state=state, blockers=tuple(blockers.values()), deadlock=deadlock
    )


def _normal(component: LockComponent) -> LockComponent:
    """A component with names as the store has them: lower case, but for a partition's values."""
    return replace(
        component,
        database=component.database.lower(),
        table=component.table and component.table.lower(),
        partition=component.partition and _normal_partition(component.partition),
    )


def _normal_partition(name: str) -> str:
    """Hive: TxnHandler.normalizePartitionCase."""
    pairs = (level.partition("=") for level in name.split("/"))
    return "/".join(f"{key.lower()}{equals}{value}" for key, equals, value in pairs)


# ---- locks


_TOLERANCE = 10_000


class EmbeddedLocks:
    """Implements the part of TxnManager that is about locks, and about who is still alive.
    ``steady``: seconds that neither jump nor pass while the machine sleeps; None where the store
    has a clock of its own, which is the same for all.
    """

    def __init__(
        self,
        store: Store,
        *,
        user: str,
        host: str,
        steady: Clock | None,
        txn_timeout_seconds: float,
        max_open_txns: int,
    ) -> None:
        self._store = store
        self._user = user
        self._host = host
        self._steady = steady
        self._txn_timeout = txn_timeout_seconds
        self._max_open_txns = max_open_txns

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        with self._store.write(durable=not self._store.one_host) as connection:
            if txn_id != NO_TXN:
                require_open(connection, txn_id)
            return self._ask(connection, request, txn_id, self._time(connection))

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        with self._store.write(durable=not self._store.one_host) as connection:
            if txn_id != NO_TXN:
                require_open(connection, txn_id)
            owner = find_request(connection, lock_id)[0].txn_id
            self._beat(connection, lock_id, owner)
            return check(
                connection,
                lock_id,
                now=self._time(connection),
                reap=lambda: self._reap_all(connection),
            )

    def unlock(self, lock_id: int) -> None:
        with self._store.write(durable=False) as connection:
            give_up(connection, lock_id)

    def heartbeat_lock(self, lock_id: int) -> None:
        with self._store.write(durable=False) as connection:
            self._beat(connection, lock_id, find_request(connection, lock_id)[0].txn_id)

    def list_locks(self) -> tuple[LockInfo, ...]:
        with self._store.read() as connection:
            locks = select_locks(connection)
        strength = list(LockType).index
        return tuple(
            sorted(
                locks,
                key=lambda lock: (
                    lock.state is not LockState.ACQUIRED,
                    strength(lock.component.type),
                ),
            )
        )

    def reap(self) -> None:
        with self._store.write() as connection:
            self._reap_all(connection)

    def _ask(
        self, connection: Connection, request: LockRequest, txn_id: TxnId, now: int
    ) -> LockAnswer:
        def reap_others() -> bool:
            self._beat_txn(connection, txn_id)  # who asks is alive
            return self._reap_all(connection)

        asker = Asker(
            txn_id=txn_id,
            user=self._user,
            host=self._host,
            process=Process.current(),
            now=now,
        )
        return ask(connection, request, asker, reap=reap_others)

    def _beat(self, connection: Connection, lock_id: int, txn_id: TxnId) -> None:
        if txn_id == NO_TXN:
            beat(connection, lock_id, now=self._time(connection))
        else:
            self._beat_txn(connection, txn_id)

    def _beat_txn(self, connection: Connection, txn_id: TxnId) -> None:
        now = self._time(connection)
        connection.execute(
            update(TXNS).where(TXNS.c.TXN_ID == txn_id).values(TXN_LAST_HEARTBEAT=now)
        )

    def _reap_all(self, connection: Connection) -> bool:
        process = Process.current()
        txns = self._reap_txns(connection, process, self._time(connection))
        cutoff = self._cutoff(self._now(connection))
        locks = reap_locks(connection, host=self._host, process=process, cutoff=cutoff)
        return txns.some_are_dead or locks

    def _reap_txns(self, connection: Connection, process: Process, now: int) -> OpenTxns:
        cutoff = self._cutoff(now)
        return reap(connection, host=self._host, process=process, cutoff=cutoff)

    def _cutoff(self, now: int) -> int:
        """Who gave no sign of life since is dead; epoch milliseconds."""
        return now - int(self._txn_timeout * 1000)

    def _time(self, connection: Connection) -> int:
        """Epoch milliseconds, with which all signs of life are in step; for a write transaction."""
        now = self._now(connection)
        boot = Process.current().boot
        if boot and self._steady is not None:
            keep_in_step(
                connection,
                now=now,
                offset=now - _milliseconds(self._steady),
                boot=boot,
                tolerance=self._tolerance,
            )
        return now

    def _jump(self, connection: Connection) -> int:
        """How far all signs of life are out of step; milliseconds."""
        if self._steady is None:
            return 0
        offset = self._now(connection) - _milliseconds(self._steady)
        boot = Process.current().boot
        return jump(connection, offset=offset, boot=boot, tolerance=self._tolerance)

    @property
    def _tolerance(self) -> int:
        """Clocks are corrected a little all the time; milliseconds."""
        return min(_TOLERANCE, int(self._txn_timeout * 100))

    def _now(self, connection: Connection) -> int:
        return self._store.now(connection)


def _milliseconds(clock: Clock) -> int:
    return int(clock() * 1000)
