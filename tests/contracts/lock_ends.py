"""How locks end, what is shown of them, and who goes on after waiting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acidsql.acid.ids import TxnId
from acidsql.errors import MetastoreError, OperationalError, TransactionAbortedError
from acidsql.txn.locks import LockInfo
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager
from tests.contracts.lock_requests import (
    ACQUIRED,
    EXCL_WRITE,
    EXCLUSIVE,
    SHARED_READ,
    SHARED_WRITE,
    WAITING,
    U,
    asking,
    begin,
    on,
    states,
)
from tests.contracts.store import Clock, OpenStore, StoreContract, T, component


def ends(manager: TxnManager, how: str, txn_id: TxnId) -> None:
    match how:
        case "commit":
            manager.commit(txn_id)
        case "abort":
            manager.abort(txn_id)
        case "ABORT TRANSACTIONS":
            manager.abort_txns([txn_id])
        case "conflict":
            by = component(T, 1, OperationType.UPDATE)
            manager.commit(manager.open_txn(), [by])
            with pytest.raises(OperationalError, match="write conflict"):
                manager.commit(txn_id, [by])


class LockEndContract(StoreContract):
    """Locks end with their transaction, or are given up."""

    @pytest.mark.parametrize("how", ["commit", "abort", "ABORT TRANSACTIONS", "conflict"])
    def test_locks_end_with_their_transaction(self, manager: TxnManager, how: str) -> None:
        """However it ends: those it holds, and those it waits for."""
        _, held = begin(manager, on(U))
        txn_id, _ = begin(manager, on(T, SHARED_READ))
        asked = manager.lock(asking(on(U)), txn_id)
        _, behind = begin(manager, on(T, EXCLUSIVE))
        ends(manager, how, txn_id)
        assert states(manager) == {held.lock_id: ACQUIRED, behind.lock_id: WAITING}
        assert manager.check_lock(behind.lock_id).state is ACQUIRED
        with pytest.raises(
            MetastoreError, match=rf"No such lock lockid:{asked.lock_id}\n"
        ) as caught:
            manager.check_lock(asked.lock_id)
        assert caught.value.code == 10270

    def test_a_waiting_transaction_that_was_aborted_is_told_so(self, manager: TxnManager) -> None:
        """Its lock is gone with it; the reason is the transaction's."""
        begin(manager, on(T))
        txn_id, asked = begin(manager, on(T))
        manager.abort_txns([txn_id])
        with pytest.raises(TransactionAbortedError) as caught:
            manager.check_lock(asked.lock_id, txn_id)
        assert caught.value.detail == "by ABORT TRANSACTIONS"
        with pytest.raises(TransactionAbortedError):
            manager.lock(asking(on(T)), txn_id)
        with pytest.raises(TransactionAbortedError):
            manager.renew(txn_id)

    def test_a_transaction_keeps_what_it_holds(self, manager: TxnManager) -> None:
        """Only what waits can be given up; what is unknown need not."""
        txn_id, held = begin(manager, on(T))
        with pytest.raises(OperationalError) as caught:
            manager.unlock(held.lock_id)
        assert caught.value.message == (
            f"Unlocking locks associated with transaction not permitted.  lockid:{held.lock_id}"
            " intLockId:1"
            f" txnid:{txn_id} db:default table:t partition:null state:ACQUIRED type:EXCL_WRITE"
        )
        _, asked = begin(manager, on(T), on(U))
        manager.unlock(asked.lock_id)
        manager.unlock(asked.lock_id)
        assert states(manager) == {held.lock_id: ACQUIRED}

    def test_who_waited_goes_on_with_a_new_snapshot(self, manager: TxnManager) -> None:
        """In its place and with its locks: it sees who was before it, and does not conflict with
        it.
        """
        first = manager.begin([T], asking(on(T)))
        second, asked = begin(manager, on(T))
        _, third = begin(manager, on(T))
        update = OperationType.UPDATE
        manager.commit(
            first.txn_id,
            [TxnComponent(table=T, partition=None, operation=update, write_id=first.write_ids[T])],
        )
        assert manager.check_lock(asked.lock_id, second).state is ACQUIRED
        renewed = manager.renew(second, [T])
        assert renewed.txn_id > second
        assert (renewed.write_ids, second in renewed.txns.aborted) == ({T: 2}, True)
        assert manager.valid_write_ids(T, renewed.txns).is_valid(first.write_ids[T])
        assert {k.lock_id: k.txn_id for k in manager.list_locks()}[asked.lock_id] == renewed.txn_id
        assert manager.check_lock(third.lock_id).state is WAITING
        manager.commit(
            renewed.txn_id,
            [
                TxnComponent(
                    table=T, partition=None, operation=update, write_id=renewed.write_ids[T]
                )
            ],
        )
        assert manager.check_lock(third.lock_id).state is ACQUIRED
        with pytest.raises(TransactionAbortedError) as caught:
            manager.commit(second)
        assert caught.value.detail == (
            "it waited for locks, and another transaction went on in its place"
        )

    def test_renewing_keeps_the_turn(self, manager: TxnManager) -> None:
        """Also of one that still waits."""
        held, _ = begin(manager, on(T))
        second, asked = begin(manager, on(T))
        _, behind = begin(manager, on(T))
        renewed = manager.renew(second).txn_id
        manager.commit(held)
        assert manager.check_lock(behind.lock_id).state is WAITING
        assert manager.check_lock(asked.lock_id, renewed).state is ACQUIRED

    def test_locks_are_shown_with_all_that_is_known(
        self, open_store: OpenStore, clock: Clock
    ) -> None:
        """Who asked for them, when and for which statement."""
        manager = open_store(user="ann", host="node1")
        now = int(clock.now * 1000)
        held = manager.lock(asking(on(T, SHARED_READ, "p=1"), statement="SELECT 1 " * 1000))
        clock.now += 1
        txn_id, asked = begin(manager, on(T, EXCLUSIVE))
        who: dict[str, Any] = {"user": "ann", "host": "node1", "agent": None}
        shown = tuple(replace(lock, agent=None) for lock in manager.list_locks())
        assert shown == (
            LockInfo(
                lock_id=held.lock_id,
                part=1,
                component=on(T, SHARED_READ, "p=1"),
                state=ACQUIRED,
                txn_id=TxnId(0),
                blocked_by=None,
                last_heartbeat=now,
                acquired_at=now,
                statement=("SELECT 1 " * 1000)[:1000],
                **who,
            ),
            LockInfo(
                lock_id=asked.lock_id,
                part=1,
                component=on(T, EXCLUSIVE),
                state=WAITING,
                txn_id=txn_id,
                blocked_by=(held.lock_id, 1),
                last_heartbeat=0,
                acquired_at=0,
                statement="",
                **who,
            ),
        )
        assert asked.blockers == manager.list_locks()[:1]
        manager.unlock(held.lock_id)
        manager.check_lock(asked.lock_id)
        assert manager.list_locks()[0].acquired_at == now + 1000

    def test_locks_are_shown_in_hives_order(self, manager: TxnManager) -> None:
        """What is held comes first, then the weak before the strong, then by age."""
        requests = (
            asking(on(T, EXCL_WRITE), on(U, SHARED_READ)),
            asking(on("other", SHARED_WRITE)),
            asking(on(T, EXCLUSIVE), on(T, SHARED_WRITE)),
            asking(on(U, SHARED_READ, "p=1")),
        )
        one, two, three, four = (manager.lock(request).lock_id for request in requests)
        assert [(lock.lock_id, lock.part) for lock in manager.list_locks()] == [
            (one, 2),
            (four, 1),
            (two, 1),
            (one, 1),
            (three, 2),
            (three, 1),
        ]
