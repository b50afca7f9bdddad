"""The locks of the embedded metastore: each call one SQL transaction on the store, which need not
outlive a loss of power where no process that holds or awaits a lock does. Nor need what frees a
lock, or keeps it alive: if that is lost, the lock is freed when its time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from acidsql.acid.ids import TxnId
from acidsql.errors import InternalError, OperationalError
from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.opening import OpenTxns, ended_processes, reap
from acidsql.metastore.process import Process
from acidsql.metastore.rows.locks import (
    beat,
    delete_locks,
    find_request,
    grant,
    insert_locks,
    name_of,
    next_lock_id,
    select_ahead,
    select_locks,
    select_request,
    set_blockers,
)
from acidsql.metastore.rows.txns import jump, keep_in_step, require_open
from acidsql.metastore.sql import Connection, select, update
from acidsql.metastore.store import Clock, Store
from acidsql.metastore.tables import HIVE_LOCKS, TXNS
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
