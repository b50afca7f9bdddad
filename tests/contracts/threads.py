"""Threads that share a store: ids are given out once, locks are held by one, conflicts are seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from acidsql.acid.ids import TxnId, WriteId
from acidsql.errors import WriteConflictError
from acidsql.txn.manager import OperationType, TxnManager
from tests.contracts.lock_requests import WAITING, asking, on
from tests.contracts.store import OTHER, OpenStore, StoreContract, T, component, write

THREADS = 4
ROUNDS = 6
BETWEEN_CHECKS = 0.002


Result = TypeVar("Result")


def side_by_side(
    managers: Iterable[TxnManager], act: Callable[[TxnManager], Result]
) -> list[Result]:
    """What ``act`` returns in a thread for each manager; they start together."""
    each = list(managers)
    start = threading.Barrier(len(each))

    def run(manager: TxnManager) -> Result:
        start.wait()
        return act(manager)

    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(run, each))


class ThreadContract(StoreContract):
    """Several threads on one manager, and on managers of their own."""

    def test_threads_share_a_manager(self, manager: TxnManager) -> None:
        """Each transaction and write id is given out once, none is left out, all are visible."""

        def insert_some(shared: TxnManager) -> list[tuple[TxnId, WriteId]]:
            done = []
            for _ in range(ROUNDS):
                opened = shared.begin([T])
                shared.commit(opened.txn_id, [component(T, opened.write_ids[T])])
                done.append((opened.txn_id, opened.write_ids[T]))
            return done

        done = [pair for some in side_by_side([manager] * THREADS, insert_some) for pair in some]
        assert len({txn_id for txn_id, _ in done}) == len(done)
        assert sorted(write_id for _, write_id in done) == list(range(1, len(done) + 1))
        seen = manager.valid_write_ids(T, manager.valid_txns())
        assert (seen.high_watermark, seen.open, seen.aborted) == (len(done), (), ())

    def test_one_of_those_who_change_the_same_commits(self, open_store: OpenStore) -> None:
        """However close they come: of transactions that overlap, one."""
        managers = [open_store() for _ in range(THREADS)]

        def update(manager: TxnManager, txn_of: dict[int, TxnId]) -> bool:
            txn_id = txn_of[id(manager)]
            try:
                manager.commit(txn_id, [write(manager, txn_id, OperationType.UPDATE)])
            except WriteConflictError:
                return False
            return True

        for _ in range(ROUNDS):
            txn_of = {id(manager): manager.open_txn() for manager in managers}
            committed = side_by_side(managers, partial(update, txn_of=txn_of))
            assert committed.count(True) == 1

    def test_a_snapshot_is_whole(self, open_store: OpenStore) -> None:
        """Who reads while others commit to two tables sees both changes of each, or neither."""
        managers = [open_store() for _ in range(THREADS)]
        pairs: list[tuple[WriteId, WriteId]] = []

        def write_to_both(manager: TxnManager) -> None:
            for _ in range(ROUNDS):
                opened = manager.begin([T, OTHER])
                pairs.append((opened.write_ids[T], opened.write_ids[OTHER]))
                tables = (component(table, opened.write_ids[table]) for table in (T, OTHER))
                manager.commit(opened.txn_id, tables)

        def read(manager: TxnManager) -> list[tuple[frozenset[WriteId], frozenset[WriteId]]]:
            seen = []
            for _ in range(ROUNDS * 2):
                txns = manager.valid_txns()
                one, two = (manager.valid_write_ids(table, txns) for table in (T, OTHER))
                ids = [WriteId(number) for number in range(1, THREADS * ROUNDS + 1)]
                seen.append(
                    (frozenset(filter(one.is_valid, ids)), frozenset(filter(two.is_valid, ids)))
                )
            return seen

        reader, *writers = managers

        def act(manager: TxnManager) -> list[tuple[frozenset[WriteId], frozenset[WriteId]]]:
            if manager is reader:
                return read(manager)
            write_to_both(manager)
            return []

        snapshots = [seen for some in side_by_side([reader, *writers], act) for seen in some]
        for one, two in snapshots:
            assert [a in one for a, _ in pairs] == [b in two for _, b in pairs]

    def test_a_lock_is_held_by_one(self, open_store: OpenStore) -> None:
        """Who takes turns is never beside another, and all get theirs."""
        managers = [open_store() for _ in range(THREADS)]
        inside = threading.Semaphore()

        def take_turns(manager: TxnManager) -> int:
            alone = 0
            for _ in range(ROUNDS):
                opened = manager.begin([T], asking(on(T)))
                assert opened.locks is not None
                while manager.check_lock(opened.locks.lock_id, opened.txn_id).state is WAITING:
                    time.sleep(BETWEEN_CHECKS)  # else those who look keep away those who end
                alone += inside.acquire(blocking=False)
                inside.release()
                manager.commit(opened.txn_id)
            return alone

        assert side_by_side(managers, take_turns) == [ROUNDS] * THREADS
        assert managers[0].list_locks() == ()
