"""Locks as data: which stand in whose way, and the queue they wait in."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from enum import StrEnum

from acidsql.acid.ids import TxnId
from acidsql.lazy_dataclass import dataclass

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
