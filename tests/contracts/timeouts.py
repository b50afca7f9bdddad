"""Heartbeats, and what becomes of those that give none. Runs where the clock can be moved."""

from __future__ import annotations

import pytest

from acidsql.errors import MetastoreError, TransactionAbortedError
from acidsql.txn.manager import TxnManager, TxnState
from tests.contracts.lock_requests import (
    ACQUIRED,
    EXCLUSIVE,
    SHARED_READ,
    WAITING,
    U,
    asking,
    begin,
    on,
)
from tests.contracts.store import Clock, OpenStore, StoreContract, T


def txn_states(manager: TxnManager) -> dict[int, TxnState]:
    return {info.txn_id: info.state for info in manager.list_txns()}


class TimeoutContract(StoreContract):
    """The silent are aborted after the time-out, not before."""

    def test_a_silent_transaction_is_aborted_by_the_next_one(
        self, manager: TxnManager, clock: Clock
    ) -> None:
        """After the time-out, not before; the error tells why."""
        silent = manager.open_txn()
        clock.now += 300
        manager.open_txn()
        assert txn_states(manager)[silent] is TxnState.OPEN
        clock.now += 0.001
        manager.open_txn()
        assert txn_states(manager)[silent] is TxnState.ABORTED
        with pytest.raises(TransactionAbortedError) as caught:
            manager.commit(silent)
        assert caught.value.detail == "its heartbeat timed out"

    def test_the_silent_are_reaped_on_demand(self, manager: TxnManager, clock: Clock) -> None:
        """By the rules of opening, and without a new transaction."""
        silent = manager.open_txn()
        manager.reap()
        assert txn_states(manager)[silent] is TxnState.OPEN
        clock.now += 300.001
        manager.reap()
        assert txn_states(manager) == {silent: TxnState.ABORTED}

    def test_a_heartbeat_keeps_a_transaction_alive(self, manager: TxnManager, clock: Clock) -> None:
        """Time counts from the last one, which SHOW TRANSACTIONS shows."""
        txn_id = manager.open_txn()
        for _ in range(3):
            clock.now += 299
            manager.heartbeat(txn_id)
            manager.abort(manager.open_txn())
        info = next(info for info in manager.list_txns() if info.txn_id == txn_id)
        assert (info.state, info.last_heartbeat - info.started) == (TxnState.OPEN, 3 * 299_000)

    def test_the_time_out_is_a_setting(self, open_store: OpenStore, clock: Clock) -> None:
        """Whoever reaps applies its own."""
        patient, hasty = open_store(txn_timeout_seconds=1000), open_store(txn_timeout_seconds=1)
        txn_id = patient.open_txn()
        clock.now += 500
        patient.open_txn()
        assert txn_states(patient)[txn_id] is TxnState.OPEN
        hasty.open_txn()
        assert txn_states(patient)[txn_id] is TxnState.ABORTED

    def test_who_asks_to_be_renewed_is_alive(self, manager: TxnManager, clock: Clock) -> None:
        """Late as it may be: nobody else has taken it for dead."""
        txn_id, _ = begin(manager, on(T))
        clock.now += 1000
        renewed = manager.renew(txn_id)
        assert [lock.txn_id for lock in manager.list_locks()] == [renewed.txn_id]
        manager.heartbeat(renewed.txn_id)

    def test_a_silent_lock_is_reaped_by_who_is_blocked(
        self, manager: TxnManager, clock: Clock
    ) -> None:
        """After the time-out, not before; a heartbeat or a check is a sign of life."""
        held = manager.lock(asking(on(T)))
        asked = manager.lock(asking(on(T)))
        for keep_alive in (manager.heartbeat_lock, manager.heartbeat_lock):
            clock.now += 299
            keep_alive(held.lock_id)
            assert manager.check_lock(asked.lock_id).state is WAITING
        clock.now += 300
        assert manager.check_lock(asked.lock_id).state is WAITING
        clock.now += 0.001
        assert manager.check_lock(asked.lock_id).state is ACQUIRED
        for call in (manager.heartbeat_lock, manager.check_lock):
            with pytest.raises(MetastoreError, match=rf"No such lock lockid:{held.lock_id}\n"):
                call(held.lock_id)

    def test_a_silent_transaction_loses_its_locks(self, manager: TxnManager, clock: Clock) -> None:
        """To the one who is blocked by it, which is alive because it asks."""
        silent, _ = begin(manager, on(T))
        asker = manager.open_txn()
        clock.now += 300.001
        assert manager.lock(asking(on(T)), asker).state is ACQUIRED
        manager.heartbeat(asker)
        with pytest.raises(TransactionAbortedError):
            manager.heartbeat(silent)

    def test_waiting_keeps_a_transaction_alive(self, manager: TxnManager, clock: Clock) -> None:
        """Asking whether it can have its lock is a heartbeat, and so is that of its lock."""
        holder, _ = begin(manager, on(T))
        txn_id, asked = begin(manager, on(T))
        for keep_alive in (manager.check_lock, manager.heartbeat_lock, manager.check_lock):
            clock.now += 299
            manager.heartbeat(holder)
            keep_alive(asked.lock_id)
            manager.reap()
        manager.heartbeat(txn_id)
        assert {lock.last_heartbeat for lock in manager.list_locks()} == {0}

    def test_the_dead_leave_the_queue_too(self, manager: TxnManager, clock: Clock) -> None:
        """Nobody waits for one who waited and is no more."""
        held = manager.lock(asking(on(T, SHARED_READ)))
        manager.lock(asking(on(T, EXCLUSIVE)))
        clock.now += 200
        manager.heartbeat_lock(held.lock_id)
        clock.now += 200
        assert manager.lock(asking(on(T, SHARED_READ))).state is ACQUIRED

    def test_reaping_on_demand_ends_locks_too(self, manager: TxnManager, clock: Clock) -> None:
        """Locks without a transaction end, though nobody waits for them."""
        manager.lock(asking(on(T)))
        manager.reap()
        assert len(manager.list_locks()) == 1
        clock.now += 300.001
        manager.reap()
        assert manager.list_locks() == ()

    # ---- how many

    def test_there_is_a_limit_to_open_transactions(self, open_store: OpenStore) -> None:
        """Whoever would go beyond it opens nothing and locks nothing, until one has ended."""
        manager = open_store(max_open_txns=2)
        first, _ = manager.open_txn(), manager.open_txn()
        for call in (manager.open_txn, manager.begin, lambda: manager.begin([T], asking(on(T)))):
            with pytest.raises(MetastoreError, match="Maximum allowed number of open transactions"):
                call()
        assert (len(manager.list_txns()), manager.list_locks()) == (2, ())
        manager.commit(first)
        assert manager.begin([T]).write_ids[T] == 1

    def test_the_silent_make_room_for_others(self, open_store: OpenStore, clock: Clock) -> None:
        """They do not count any more once their time is over."""
        manager = open_store(max_open_txns=1)
        silent = manager.open_txn()
        clock.now += 300.001
        assert manager.open_txn() > silent

    def test_one_heartbeat_keeps_one_transaction_alive(
        self, manager: TxnManager, clock: Clock
    ) -> None:
        """The others are aborted, with what they had locked."""
        kept, lost = (manager.begin([T], asking(on(table))).txn_id for table in (T, U))
        clock.now += 299
        manager.heartbeat(kept)
        clock.now += 2
        manager.reap()
        assert txn_states(manager) == {kept: TxnState.OPEN, lost: TxnState.ABORTED}
        assert [lock.txn_id for lock in manager.list_locks()] == [kept]
