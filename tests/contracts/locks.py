"""Who gets which locks, in which order, and who waits in a circle."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import InternalError
from acidsql.txn.locks import LockAnswer, LockComponent, LockRequest, LockType
from acidsql.txn.manager import TxnManager, TxnState
from tests.contracts.lock_requests import (
    ACQUIRED,
    EXCL_WRITE,
    EXCLUSIVE,
    NOT_ACQUIRED,
    SHARED_READ,
    WAITING,
    U,
    asking,
    begin,
    ids,
    on,
    stands_in_the_way,
    states,
)
from tests.contracts.store import StoreContract, T

DATABASE = on("default")
PAIRS = {
    "same database": (DATABASE, DATABASE),
    "same table": (on(T), on(T)),
    "same partition": (on(T, partition="p=1"), on(T, partition="p=1")),
    "other partition": (on(T, partition="p=1"), on(T, partition="p=2")),
    "table and its partition": (on(T), on(T, partition="p=1")),
    "partition and its table": (on(T, partition="p=1"), on(T)),
    "database and its table": (DATABASE, on(T)),
    "table and its database": (on(T), DATABASE),
    "database and its partition": (DATABASE, on(T, partition="p=1")),
    "partition and its database": (on(T, partition="p=1"), DATABASE),
    "other table": (on(T), on(U)),
    "other table's partition": (on(T, partition="p=1"), on(U, partition="p=1")),
    "other database": (DATABASE, on("other")),
    "other database's table": (DATABASE, on(TableName("other", "t"))),
}
"""What is held, and what is wanted."""


class LockContract(StoreContract):
    """Locks are had in the order of asking, whole or not at all."""

    def test_locks_that_are_free_come_with_the_transaction(self, manager: TxnManager) -> None:
        """Its write ids and its snapshot come in the same step."""
        opened = manager.begin([T], asking(on(T), on("default", SHARED_READ)))
        assert opened.locks is not None
        assert opened.locks == LockAnswer(lock_id=opened.locks.lock_id, state=ACQUIRED)
        assert opened.write_ids == {T: 1}
        assert [(lock.part, lock.txn_id) for lock in manager.list_locks()] == [
            (2, opened.txn_id),
            (1, opened.txn_id),
        ]

    def test_who_waits_has_no_write_id_yet(self, manager: TxnManager) -> None:
        """It is told what it waits for, until that is gone."""
        first, held = begin(manager, on(T))
        second = manager.begin([T], asking(on(T)))
        assert second.locks is not None
        assert (second.write_ids, second.locks.state) == ({}, WAITING)
        assert ids(second.locks) == [(held.lock_id, 1)]
        assert second.locks.blockers[0].txn_id == first
        waiting = second.locks.lock_id
        assert manager.check_lock(waiting, second.txn_id).state is WAITING
        manager.commit(first)
        assert manager.check_lock(waiting, second.txn_id) == LockAnswer(
            lock_id=waiting, state=ACQUIRED
        )
        assert manager.check_lock(waiting).state is ACQUIRED

    def test_a_request_is_granted_whole_or_not_at_all(self, manager: TxnManager) -> None:
        """What is free of it is not held before the rest is, and only what is not free is
        blocked.
        """
        _, held = begin(manager, on(U))
        txn_id, asked = begin(manager, on(T, SHARED_READ), on(U))
        assert asked.state is WAITING
        noted = {
            lock.part: lock.blocked_by for lock in manager.list_locks() if lock.txn_id == txn_id
        }
        assert noted == {1: None, 2: (held.lock_id, 1)}
        assert states(manager)[asked.lock_id] is WAITING

    def test_locks_are_had_in_the_order_of_asking(self, manager: TxnManager) -> None:
        """One that waits stands in the way of those behind it: no writer starves behind readers."""
        reading = manager.lock(asking(on(T, SHARED_READ)))
        dropping = manager.lock(asking(on(T, EXCLUSIVE)))
        late = manager.lock(asking(on(T, SHARED_READ)))
        assert (reading.state, dropping.state, late.state) == (ACQUIRED, WAITING, WAITING)
        assert ids(late) == [(dropping.lock_id, 1)]
        manager.unlock(reading.lock_id)
        assert manager.check_lock(late.lock_id).state is WAITING
        assert manager.check_lock(dropping.lock_id).state is ACQUIRED
        manager.unlock(dropping.lock_id)
        assert manager.check_lock(late.lock_id).state is ACQUIRED

    @pytest.mark.parametrize("pair", PAIRS)
    def test_locks_are_compatible_as_in_hive(self, manager: TxnManager, pair: str) -> None:
        """Each kind, held by one, against each that another wants."""
        held_on, wanted_on = PAIRS[pair]
        answers = {}
        for held, wanted in product(LockType, repeat=2):
            holder, _ = begin(manager, replace(held_on, type=held))
            asker, answer = begin(manager, replace(wanted_on, type=wanted))
            answers[held, wanted] = answer.state is WAITING
            manager.abort(asker)
            manager.abort(holder)
        assert answers == {
            (held, wanted): stands_in_the_way(
                replace(wanted_on, type=wanted), replace(held_on, type=held)
            )
            for held, wanted in product(LockType, repeat=2)
        }

    def test_what_a_lock_waits_for_is_kept_up_to_date(self, manager: TxnManager) -> None:
        """SHOW LOCKS names the oldest that is still in the way, none once it is free."""
        first, second = (manager.lock(asking(on(T, SHARED_READ))).lock_id for _ in range(2))
        dropping = manager.lock(asking(on(T, EXCLUSIVE))).lock_id
        seen = []
        for free in (first, second):
            seen.append(manager.list_locks()[-1].blocked_by)
            manager.unlock(free)
            manager.check_lock(dropping)
        (last,) = manager.list_locks()
        assert [*seen, last.blocked_by] == [(first, 1), (second, 1), None]

    def test_a_transaction_does_not_stand_in_its_own_way(self, manager: TxnManager) -> None:
        """Its statements may ask for more, and for what they have."""
        txn_id, _ = begin(manager, on(T, SHARED_READ))
        assert manager.lock(asking(on(T, EXCLUSIVE)), txn_id).state is ACQUIRED
        assert manager.lock(asking(on(T, EXCL_WRITE, "p=1")), txn_id).state is ACQUIRED

    def test_what_a_transaction_has_it_need_not_queue_for(self, manager: TxnManager) -> None:
        """Else a second UPDATE would wait for whoever waits for the first: a deadlock."""
        txn_id, _ = begin(manager, on(T))
        _, waiting = begin(manager, on(T))
        assert manager.lock(asking(on(T)), txn_id).state is ACQUIRED
        assert manager.lock(asking(on(T, SHARED_READ, "p=1")), txn_id).state is ACQUIRED
        assert manager.check_lock(waiting.lock_id).state is WAITING

    def test_names_are_the_same_in_any_case(self, manager: TxnManager) -> None:
        """This goes for databases, tables and partition columns, not for values."""
        big = LockComponent(database="D", table="T", partition="P=A/Q=b", type=EXCLUSIVE)
        manager.lock(asking(big))
        (lock,) = manager.list_locks()
        assert str(lock.component) == "d.t.p=A/q=b"
        assert manager.lock(asking(replace(big, table="t"))).state is WAITING
        assert manager.lock(asking(replace(big, partition="p=a/q=b"))).state is ACQUIRED

    def test_a_request_for_nothing_is_a_mistake(self, manager: TxnManager) -> None:
        """It could never be found again."""
        with pytest.raises(InternalError):
            manager.lock(asking())
        with pytest.raises(InternalError):
            manager.begin([T], asking())
        assert manager.list_txns() == ()

    def test_a_reader_may_refuse_to_wait(self, manager: TxnManager) -> None:
        """Then nothing is left of it, and its transaction is aborted; a writer waits all the
        same.
        """
        _, held = begin(manager, on(T, EXCLUSIVE))
        reading = LockRequest(components=(on(T, SHARED_READ),), zero_wait_reads=True)
        refused = manager.begin([T], reading)
        assert refused.locks is not None
        assert (refused.locks.state, refused.write_ids) == (NOT_ACQUIRED, {})
        assert ids(refused.locks) == [(held.lock_id, 1)]
        assert {info.txn_id: info.state for info in manager.list_txns()}[refused.txn_id] is (
            TxnState.ABORTED
        )
        assert manager.lock(reading).state is NOT_ACQUIRED
        open_txn = manager.open_txn()
        assert manager.lock(reading, open_txn).state is NOT_ACQUIRED
        manager.heartbeat(open_txn)
        assert list(states(manager)) == [held.lock_id]
        writing = replace(reading, components=(on(T), on(U, SHARED_READ)))
        assert manager.lock(writing).state is WAITING

    def test_create_table_as_refuses_to_wait(self, manager: TxnManager) -> None:
        """Another one is making the same table."""
        creating = LockRequest(components=(on(T),), exclusive_ctas=True)
        assert manager.lock(creating).state is ACQUIRED
        assert manager.lock(creating).state is NOT_ACQUIRED
        assert len(manager.list_locks()) == 1

    @pytest.mark.parametrize("size", [2, 3, 5])
    def test_the_one_who_closes_a_circle_is_told(self, manager: TxnManager, size: int) -> None:
        """And only that one, so that the others go on when it has given up."""
        tables = [TableName("default", f"t{number}") for number in range(size)]
        txns = [begin(manager, on(table))[0] for table in tables]
        waiting = [
            manager.lock(asking(on(table)), txn_id)
            for txn_id, table in zip(txns[:-1], tables[1:], strict=True)
        ]
        assert [(answer.state, answer.deadlock) for answer in waiting] == [(WAITING, ())] * (
            size - 1
        )
        closing = manager.lock(asking(on(tables[0])), txns[-1])
        assert (closing.state, closing.deadlock) == (WAITING, (txns[-1], *txns[:-1]))
        assert manager.check_lock(waiting[0].lock_id).deadlock == ()
        assert manager.check_lock(closing.lock_id).deadlock == closing.deadlock
        manager.unlock(closing.lock_id)
        manager.abort(txns[-1])
        assert manager.check_lock(waiting[-1].lock_id).state is ACQUIRED

    def test_a_circle_need_not_go_by_the_first_blocker(self, manager: TxnManager) -> None:
        """Any of several that stand in the way may be the one that waits for us."""
        begin(manager, on(T, SHARED_READ))
        other, _ = begin(manager, on(T, SHARED_READ))
        txn_id, _ = begin(manager, on(U))
        manager.lock(asking(on(U)), other)
        assert manager.lock(asking(on(T, EXCLUSIVE)), txn_id).deadlock == (txn_id, other)

    def test_waiting_is_no_circle(self, manager: TxnManager) -> None:
        """A chain of any length, and two who wait for the same."""
        tables = [TableName("default", f"t{number}") for number in range(4)]
        txns = [begin(manager, on(table))[0] for table in tables]
        answers = [
            manager.lock(asking(on(table)), txn_id)
            for txn_id, table in zip(txns[:-1], tables[1:], strict=True)
        ]
        answers.append(begin(manager, on(tables[3]))[1])
        assert [(answer.state, answer.deadlock) for answer in answers] == [(WAITING, ())] * 4

    def test_two_readers_who_both_want_to_write_are_a_circle(self, manager: TxnManager) -> None:
        """Neither gives up its reading before the other."""
        first, _ = begin(manager, on(T, SHARED_READ))
        second, _ = begin(manager, on(T, SHARED_READ))
        assert manager.lock(asking(on(T, EXCLUSIVE)), first).deadlock == ()
        assert manager.lock(asking(on(T, EXCLUSIVE)), second).deadlock == (second, first)
