"""The queue of all locks: what stands in the way of a request, and who waits for whom in a circle.

A request is behind all that came before it, held or waiting. It waits for its whole way to be free,
so any way from one to another and back is a deadlock; its newest member, which closed it, is the
one that is told, so that only one gives up.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from acidsql.acid.ids import TxnId
from acidsql.txn.locks import NO_TXN, LockComponent, LockInfo, LockState, blocks

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
