"""Locks: which stand in whose way, the queue they wait in, and who waits there."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from acidsql import crash_points, interrupts
from acidsql.acid.ids import TxnId
from acidsql.errors import (
    DeadlockError,
    LockTimeoutError,
    MetastoreError,
    OperationalError,
    TransactionAbortedError,
)
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from acidsql.txn.manager import TxnManager


# ---- locks
#
# Locks as data: what is asked for, what the answer is, and which locks stand in each other's way.
#
# A request is granted whole or not at all, and locks queue: one that waits stands in the way of
# those behind it as if it were held. So no statement overtakes another, and one statement alone can
# never be part of a deadlock; a transaction of several statements can.


NO_TXN = TxnId(0)
"""The transaction of a lock that belongs to none: that of a query or of DDL."""


class LockType(StrEnum):
    """The metastore's kinds of locks, from the weakest to the strongest."""

    SHARED_READ = "SHARED_READ"
    SHARED_WRITE = "SHARED_WRITE"
    EXCL_WRITE = "EXCL_WRITE"
    EXCLUSIVE = "EXCLUSIVE"


_STRENGTH = {kind: rank for rank, kind in enumerate(LockType)}


def is_stronger(one: LockType, other: LockType) -> bool:
    return _STRENGTH[one] > _STRENGTH[other]


class LockState(StrEnum):
    """HL_LOCK_STATE, by Hive's letters; NOT_ACQUIRED is in no row."""

    ACQUIRED = "a"
    WAITING = "w"
    NOT_ACQUIRED = "n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockComponent:
    """One object to lock: a database, a table of it, or a partition (``p=1/q=2``) of that.

    ``is_transactional``: whether a transaction keeps it to its end. What is done to other tables
    takes effect at once, and so ends their lock.
    """

    database: str
    table: str | None = None
    partition: str | None = None
    type: LockType
    is_transactional: bool = True

    def __str__(self) -> str:
        return ".".join(p for p in (self.database, self.table, self.partition) if p is not None)

    def covers(self, other: LockComponent) -> bool:
        """Whether the two are about the same object, or one about a part of the other's."""
        if self.database != other.database:
            return False
        if self.table is None or other.table is None:
            return True
        if self.table != other.table:
            return False
        return None in (self.partition, other.partition) or self.partition == other.partition

    def settles(self, wanted: LockComponent) -> bool:
        """Whether who holds this has ``wanted`` with it: it keeps out whatever that would. (A
        database's SHARED_READ is none of its tables'.)
        """
        same_table = self.table is not None and self.partition is None
        covered = (wanted.database, wanted.table) == (self.database, self.table) and (
            same_table or wanted.partition == self.partition
        )
        return covered and not is_stronger(wanted.type, self.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """The locks of one statement. ``statement``: its text, for those who wait for it.

    ``zero_wait_reads``: a SHARED_READ that is not free is refused at once. ``exclusive_ctas``:
    so is anything.
    """

    components: tuple[LockComponent, ...]
    statement: str = ""
    zero_wait_reads: bool = False
    exclusive_ctas: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LockInfo:
    """A lock in the store, a line of SHOW LOCKS: number ``part`` of those that came with one
    request. Times in epoch milliseconds, 0 where there is none.

    ``blocked_by``: lock and part it waits for. ``agent``: the process that asked for it.
    ``of_compaction``: a compaction that keeps ROW__IDs has it.
    """

    lock_id: int
    part: int
    component: LockComponent
    state: LockState
    txn_id: TxnId
    blocked_by: tuple[int, int] | None
    last_heartbeat: int
    acquired_at: int
    user: str
    host: str
    agent: str | None
    statement: str
    of_compaction: bool = False

    def __str__(self) -> str:
        """Hive's words for a lock, in its errors: TxnHandler.LockInfo."""
        asked = self.component
        return (
            f"lockid:{self.lock_id} intLockId:{self.part} txnid:{self.txn_id}"
            f" db:{asked.database} table:{asked.table or 'null'}"
            f" partition:{asked.partition or 'null'} state:{self.state.name}"
            f" type:{asked.type}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LockAnswer:
    """What became of a request. ``blockers``: the locks that stand in its way, one a component
    that waits; ``deadlock``: the transactions of a circle of waiting ones that it closed, itself
    first. The others of the circle are not told, so that only one gives up.
    """

    lock_id: int
    state: LockState
    blockers: tuple[LockInfo, ...] = ()
    deadlock: tuple[TxnId, ...] = ()


def blocks(wanted: LockComponent, ahead: LockComponent) -> bool:
    """Whether ``ahead``, held or waited for before, stands in the way of ``wanted``. The two belong
    to different transactions. Hive: CheckLockFunction.
    """
    if not wanted.covers(ahead):
        return False
    match wanted.type, ahead.type:
        case LockType.SHARED_READ, LockType.EXCLUSIVE:
            return not (wanted.table is None and ahead.table is not None)
        case LockType.EXCLUSIVE, LockType.SHARED_READ:
            return not (ahead.table is None and wanted.table is not None)
        case LockType.SHARED_READ, _:
            return False
        case LockType.SHARED_WRITE, _:
            return ahead.type in (LockType.EXCL_WRITE, LockType.EXCLUSIVE)
        case LockType.EXCL_WRITE, _:
            return ahead.type is not LockType.SHARED_READ
        case _:
            return True


# ---- lock queue
#
# The queue of all locks: what stands in the way of a request, and who waits for whom in a circle.
#
# A request is behind all that came before it, held or waiting. It waits for its whole way to be
# free, so any way from one to another and back is a deadlock; its newest member, which closed it,
# is the one that is told, so that only one gives up.


Owner = tuple[TxnId, int]
"""Who holds or waits: a transaction, and 0; or none, and the request."""


def owner_of(lock_id: int, txn_id: TxnId) -> Owner:
    return (txn_id, 0 if txn_id != NO_TXN else lock_id)


class LockQueue:
    """Locks by what they are about, so that a request for many objects is no search for each."""

    def __init__(self, locks: Iterable[LockInfo]) -> None:
        """``locks``: in the order in which they came."""
        self._by_database: defaultdict[str, list[LockInfo]] = defaultdict(list)
        self._by_table: defaultdict[tuple[str, str | None], list[LockInfo]] = defaultdict(list)
        self._by_object: defaultdict[tuple[str, str | None, str | None], list[LockInfo]]
        self._by_object = defaultdict(list)
        self._waiting: defaultdict[Owner, list[LockInfo]] = defaultdict(list)
        for lock in locks:
            of = lock.component
            self._by_database[of.database].append(lock)
            self._by_table[of.database, of.table].append(lock)
            self._by_object[of.database, of.table, of.partition].append(lock)
            if lock.state is LockState.WAITING:
                self._waiting[owner_of(lock.lock_id, lock.txn_id)].append(lock)

    def first_blocker(
        self, wanted: LockComponent, lock_id: int, txn_id: TxnId = NO_TXN
    ) -> LockInfo | None:
        """The oldest of those that stand in the way of a component of request ``lock_id``."""
        return min(
            self._blockers(wanted, lock_id, txn_id),
            key=lambda lock: (lock.lock_id, lock.part),
            default=None,
        )

    def deadlock(self, txn_id: TxnId) -> tuple[TxnId, ...]:
        """The transactions of a shortest circle of waiting from ``txn_id`` back to it; () for none.
        To be told only the newest, let the queue end with what ``txn_id`` waits for.
        """
        start = owner_of(0, txn_id)
        came_from: dict[Owner, Owner] = {}
        ahead = deque([start])
        while ahead:
            owner = ahead.popleft()
            for other in self._waits_for(owner):
                if other == start:
                    return _transactions(came_from, owner)
                if other not in came_from:
                    came_from[other] = owner
                    ahead.append(other)
        return ()

    def _waits_for(self, owner: Owner) -> Iterator[Owner]:
        for lock in self._waiting.get(owner, ()):
            for blocker in self._blockers(lock.component, lock.lock_id, lock.txn_id):
                yield owner_of(blocker.lock_id, blocker.txn_id)

    def _blockers(self, wanted: LockComponent, lock_id: int, txn_id: TxnId) -> Iterator[LockInfo]:
        """What stands in the way: nothing, where the transaction holds as much already (Hive, whose
        transactions have one statement, never asks twice; it would wait behind those that wait for
        it). Nor does a transaction wait for a compaction: it writes above what that merges, an
        INSERT OVERWRITE, too. Statements that drop or move files do.
        """
        us = owner_of(lock_id, txn_id)
        before = [lock for lock in self._about(wanted) if lock.lock_id < lock_id]
        if any(
            owner_of(lock.lock_id, lock.txn_id) == us
            and lock.state is LockState.ACQUIRED
            and lock.component.settles(wanted)
            for lock in before
        ):
            return
        for lock in before:
            passes = txn_id != NO_TXN and lock.of_compaction
            if (
                owner_of(lock.lock_id, lock.txn_id) != us
                and not passes
                and blocks(wanted, lock.component)
            ):
                yield lock

    def _about(self, wanted: LockComponent) -> Iterator[LockInfo]:
        """The locks on the same object, on what it is part of, and on its parts."""
        database, table, partition = wanted.database, wanted.table, wanted.partition
        if table is None:
            yield from self._by_database.get(database, ())
            return
        yield from self._by_object.get((database, None, None), ())
        if partition is None:
            yield from self._by_table.get((database, table), ())
            return
        yield from self._by_object.get((database, table, None), ())
        yield from self._by_object.get((database, table, partition), ())


def _transactions(came_from: dict[Owner, Owner], last: Owner) -> tuple[TxnId, ...]:
    """The way from the start to ``last``, without what belongs to no transaction."""
    way = [last]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    return tuple(txn_id for txn_id, _ in reversed(way) if txn_id != NO_TXN)


# ---- waiting for locks
#
# Getting locks: asked for once, then waited for in the queue, with growing pauses, until they are
# there, or another transaction waits for this one in turn, or patience is at its end. Hive:
# DbLockManager.


# ---- heartbeat
#
# Keeps a transaction or a lock alive: a daemon thread that does nothing until that is older than
# one interval.


class Heartbeat:
    """Calls ``beat`` every ``seconds`` until stopped. ``name``: of what it keeps alive. ``lost``
    says why the transaction is no longer open, once that is known.

    A store that cannot be reached for a moment is no loss: the next beat tries again, and a commit
    asks the store anyway.
    """

    def __init__(self, beat: Callable[[], None], name: str, seconds: float) -> None:
        self._beat = beat
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"acidsql heartbeat of {name}", daemon=True
        )
        self.lost: TransactionAbortedError | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the beating; returns when no beat is under way any more."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._beat()
            except TransactionAbortedError as error:
                self.lost = error
                return
            except MetastoreError:
                continue


# ---- locking


LOCK_CANNOT_BE_ACQUIRED = 10104
LOCK_ACQUIRE_TIMEDOUT = 10307

_FIRST_PAUSE = 0.1
_LEAST_LONGEST_PAUSE = 15.0
_FIRST_LOOK = 0.005
_LONGEST_LOOK = 0.25
_STATEMENT_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long locks are waited for, as Hive counts it: ``retries`` pauses, the first a tenth of a
    second, each twice the one before, up to ``longest_pause`` seconds (15 at least). 0: not at all.

    The store itself is asked more often, which costs little. ``dump``: whether a time-out lists
    all locks there are. ``sleep`` and ``clock``: in seconds.
    """

    retries: int = 100
    longest_pause: float = 60.0
    dump: bool = False
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def seconds(self) -> float:
        longest = max(_LEAST_LONGEST_PAUSE, self.longest_pause)
        total, pause = 0.0, _FIRST_PAUSE
        for number in range(self.retries):
            if pause >= longest:
                return total + longest * (self.retries - number)
            total, pause = total + pause, pause * 2
        return total


def wait(
    manager: TxnManager,
    answer: LockAnswer,
    request: LockRequest,
    patience: Patience,
    txn_id: TxnId = NO_TXN,
) -> None:
    """Returns when the locks of ``answer``, asked for ``txn_id``, are held. LockTimeoutError,
    DeadlockError, OperationalError for locks that are refused at once: then nothing waits any more,
    nor does it after an interrupt.
    """
    if answer.state is LockState.NOT_ACQUIRED:
        raise _refused(request, answer)
    began, look = patience.clock(), _FIRST_LOOK
    try:
        while answer.state is LockState.WAITING:
            if answer.deadlock:
                raise _deadlock(answer)
            crash_points.reached("waiting")
            rest = began + patience.seconds - patience.clock()
            if rest <= 0:
                raise _timed_out(manager, request, answer, patience, patience.clock() - began)
            with interrupts.at_once():
                patience.sleep(min(look, rest))
            look = min(look * 2, _LONGEST_LOOK)
            answer = manager.check_lock(answer.lock_id, txn_id)
    except BaseException:
        with suppress(OperationalError):
            manager.unlock(answer.lock_id)
        raise


@contextmanager
def held(
    manager: TxnManager, request: LockRequest | None, patience: Patience, heartbeat_seconds: float
) -> Iterator[bool]:
    """A statement with locks that belong to no transaction; whether it had to wait for them. It
    fails as ``wait`` does.
    """
    if request is None:
        yield False
        return
    answer = manager.lock(request)
    waited = answer.state is not LockState.ACQUIRED
    wait(manager, answer, request, patience)
    heartbeat = Heartbeat(
        lambda: manager.heartbeat_lock(answer.lock_id),
        f"lockid:{answer.lock_id}",
        heartbeat_seconds,
    )
    try:
        heartbeat.start()
        crash_points.reached("locked")
        yield waited
        crash_points.reached("unlocking")
    finally:
        heartbeat.stop()
        # the statement has ended as it has; locks without heartbeats end as well
        with suppress(MetastoreError):
            manager.unlock(answer.lock_id)


def _refused(request: LockRequest, answer: LockAnswer) -> OperationalError:
    blocker = answer.blockers[0] if answer.blockers else ""
    if request.exclusive_ctas:
        message = "Failed to initiate a concurrent CTAS operation with the same table name"
        error = OperationalError(f"{message}, lockInfo : {blocker}", code=LOCK_CANNOT_BE_ACQUIRED)
    else:
        message = "Unable to acquire read lock due to an existing exclusive lock"
        error = LockTimeoutError(f"{message} {{{blocker}}}", code=LOCK_CANNOT_BE_ACQUIRED)
    error.detail = _blocked(answer)
    return error


def _deadlock(answer: LockAnswer) -> DeadlockError:
    circle = ", ".join(f"txnid:{txn}" for txn in answer.deadlock)
    return DeadlockError(
        f"these transactions wait for each other's locks: {circle}",
        detail=_blocked(answer),
        hint="ROLLBACK, and run the transaction again.",
    )


def _timed_out(
    manager: TxnManager,
    request: LockRequest,
    answer: LockAnswer,
    patience: Patience,
    seconds: float,
) -> LockTimeoutError:
    wanted = ", ".join(f"{part} -> {part.type}" for part in request.components)
    detail = _blocked(answer)
    if patience.dump:
        detail += "; all locks: " + "; ".join(_words(lock) for lock in manager.list_locks())
    return LockTimeoutError(
        f"Lock acquisition for {wanted} timed out after {round(seconds * 1000)}ms.",
        detail=detail,
        hint="Run the statement again; SHOW LOCKS shows who holds what, and hive.lock.numretries"
        " says how long to wait.",
        code=LOCK_ACQUIRE_TIMEDOUT,
    )


def _blocked(answer: LockAnswer) -> str:
    return "; ".join(_words(lock) for lock in answer.blockers) or "nothing stands in the way now"


def _words(lock: LockInfo) -> str:
    """Who holds what, since when, by which statement."""
    owner = f"txnid:{lock.txn_id}" if lock.txn_id != NO_TXN else f"lockid:{lock.lock_id}"
    if lock.state is LockState.ACQUIRED:
        since = datetime.fromtimestamp(lock.acquired_at / 1000, UTC).isoformat(" ", "seconds")
        does = f"holds {lock.component.type} on {lock.component} since {since}"
    else:
        does = f"waits for {lock.component.type} on {lock.component} before it"
    words = f"{owner} ({lock.user}@{lock.host}) {does}"
    return f"{words}, by: {_shortened(lock.statement)}" if lock.statement else words


def _shortened(statement: str) -> str:
    text = " ".join(statement.split())
    return text if len(text) <= _STATEMENT_LENGTH else text[: _STATEMENT_LENGTH - 3] + "..."
