"""The transactions of compactions: workers beside writers, and beside whoever drops and renames."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.errors import MetastoreError, WriteConflictError
from acidsql.txn.compactions import CompactionBlockedError, CompactionQueue, CompactionType
from acidsql.txn.locks import LockState
from acidsql.txn.manager import OperationType, TxnManager
from tests.contracts.compactions.queue import (
    FAILED,
    INITIATED,
    OTHER,
    WORKER,
    QueueFixture,
    end,
    one,
    request,
    states,
    work,
)
from tests.contracts.lock_requests import EXCLUSIVE, SHARED_WRITE, asking, on
from tests.contracts.sample_tables import columns, days, table
from tests.contracts.store import Clock, T, component, insert


class CompactionTxnContract(QueueFixture):
    """Workers beside writers, and beside whoever drops and renames."""

    # ---- what may be merged

    def test_a_worker_takes_what_is_decided(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """Up to the lowest open write id, with the aborted ones below it named."""
        insert(manager)
        aborted = manager.begin([T])
        manager.abort(aborted.txn_id)
        insert(manager)
        running = manager.begin([T])
        insert(manager)
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        opened = queue.begin_compaction(number)
        assert opened.write_ids.high_watermark == 3
        assert opened.write_ids.aborted == (aborted.write_ids[T],)
        assert opened.txns.open == (running.txn_id,)
        assert one(queue, number).highest_write_id == 3
        queue.finish_compaction(number, opened.write_ids.aborted[0])
        assert one(queue, number).highest_write_id == 2

    def test_a_compaction_is_nobody_s_conflict(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """Changes that overlap with one commit, whichever ends first, and it takes no write id."""
        insert(manager)
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        before = manager.begin([T], asking(on(T, SHARED_WRITE)))
        queue.begin_compaction(number)
        during = manager.begin([T], asking(on(T, SHARED_WRITE)))
        assert during.locks is not None
        assert during.locks.state is LockState.ACQUIRED
        change = [component(T, before.write_ids[T], OperationType.UPDATE, "p=1")]
        manager.commit(before.txn_id, change)
        queue.finish_compaction(number)
        change = [component(T, during.write_ids[T], OperationType.DELETE, "p=2")]
        manager.commit(during.txn_id, change)
        assert manager.valid_write_ids(T, manager.valid_txns()).high_watermark == 3

    def test_a_rebalance_keeps_changes_away(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """Whoever began before cannot commit a change of rows that are elsewhere now, nor may
        anybody begin one meanwhile, with locks or without; inserts go on.
        """
        insert(manager)
        began, inserter = manager.begin([T]), manager.begin([T])
        kind = CompactionType.REBALANCE
        number = queue.enqueue_compaction(request(kind=kind)).compaction_id
        queue.next_compaction(WORKER)
        queue.begin_compaction(number)
        asked = manager.begin([T], asking(on(T, SHARED_WRITE)))
        assert asked.locks is not None
        assert asked.locks.state is LockState.WAITING
        meanwhile = manager.begin([T])
        queue.finish_compaction(number)
        manager.commit(inserter.txn_id, [component(T, inserter.write_ids[T])])
        with pytest.raises(WriteConflictError, match="rebalanced"):
            manager.commit(began.txn_id, [component(T, began.write_ids[T], OperationType.DELETE)])
        with pytest.raises(WriteConflictError, match="rebalanced"):
            manager.commit(
                meanwhile.txn_id, [component(T, meanwhile.write_ids[T], OperationType.UPDATE)]
            )
        late = manager.begin([T])
        manager.commit(late.txn_id, [component(T, late.write_ids[T], OperationType.DELETE)])

    def test_an_overwriting_does_not_wait_for_a_compaction(
        self, queue: CompactionQueue, manager: TxnManager, clock: Clock
    ) -> None:
        """A transaction gets EXCLUSIVE at once, and both commit. Whoever drops waits, and so does
        everybody while ROW__IDs change.
        """
        insert(manager)
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        queue.begin_compaction(number)
        dropping = manager.lock(asking(on(T, EXCLUSIVE)))
        assert dropping.state is LockState.WAITING
        manager.unlock(dropping.lock_id)
        overwriting = manager.begin([T], asking(on(T, EXCLUSIVE)))
        assert overwriting.locks is not None
        assert overwriting.locks.state is LockState.ACQUIRED
        write_id = overwriting.write_ids[T]
        manager.commit(overwriting.txn_id, [component(T, write_id, OperationType.OVERWRITE)])
        queue.finish_compaction(number)
        assert one(queue, number).highest_write_id == 1
        queue.mark_cleaned(number)
        kind = CompactionType.REBALANCE
        number = queue.enqueue_compaction(request(kind=kind)).compaction_id
        queue.next_compaction(WORKER)
        queue.begin_compaction(number)
        asked = manager.begin([T], asking(on(T, EXCLUSIVE)))
        assert asked.locks is not None
        assert asked.locks.state is LockState.WAITING

    def test_a_locked_table_is_not_waited_for(
        self, queue: CompactionQueue, manager: TxnManager, clock: Clock
    ) -> None:
        """The entry is given back, and no request for a lock stays in the queue."""
        held = manager.lock(asking(on(T, EXCLUSIVE)))
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        with pytest.raises(CompactionBlockedError):
            queue.begin_compaction(number)
        assert states(queue) == {number: INITIATED}
        assert [lock.lock_id for lock in manager.list_locks()] == [held.lock_id]
        manager.unlock(held.lock_id)
        clock.now += 10
        assert queue.next_compaction(WORKER) is not None
        queue.begin_compaction(number)
        assert manager.lock(asking(on(T, EXCLUSIVE))).state is LockState.WAITING

    # ---- what was written

    def test_writes_are_candidates_until_they_are_cleaned(
        self, queue: CompactionQueue, manager: TxnManager, clock: Clock
    ) -> None:
        """By table and partition, since a time; failures are candidates at any time."""
        opened = manager.begin([T])
        written = [component(T, opened.write_ids[T], partition=f"p={p}") for p in (1, 2)]
        manager.commit(opened.txn_id, written)
        insert(manager, OTHER)
        now = int(clock.now * 1000)
        assert set(queue.written_since(now)) == {(T, "p=1"), (T, "p=2"), (OTHER, None)}
        assert not queue.written_since(now + 1)
        work(queue, request(partition="p=1"), cleaned=True)
        end(queue, FAILED, request(OTHER))
        assert set(queue.written_since(now)) == {(T, "p=2"), (OTHER, None)}
        assert set(queue.written_since(now + 1)) == {(OTHER, None)}
        work(queue, request(OTHER), cleaned=True)
        assert not queue.written_since(now + 1)

    def test_writes_above_the_result_stay_candidates(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """Cleaning forgets only those that were taken in."""
        insert(manager)
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        queue.begin_compaction(number)
        insert(manager)
        queue.finish_compaction(number)
        queue.mark_cleaned(number)
        assert set(queue.written_since(0)) == {(T, None)}

    # ---- DDL

    def test_a_dropped_table_takes_its_compactions_along(
        self, queue: CompactionQueue, manager: TxnManager, catalog: Catalog
    ) -> None:
        """Whether asked for, carried out or over; a worker notices."""
        catalog.create_table(table(columns=columns(a="int"), location=""))
        work(queue, cleaned=True)
        number = queue.enqueue_compaction(request()).compaction_id
        kept = queue.enqueue_compaction(request(OTHER)).compaction_id
        queue.next_compaction(WORKER)
        queue.begin_compaction(number)
        catalog.drop_table(T)
        assert set(states(queue)) == {kept}
        with pytest.raises(MetastoreError):
            queue.finish_compaction(number)
        assert manager.list_locks() == ()

    def test_a_renamed_table_keeps_its_compactions(
        self, queue: CompactionQueue, catalog: Catalog
    ) -> None:
        """Under its new name; the old one is a new table's."""
        before = catalog.create_table(table(columns=columns(a="int"), location=""))
        over = work(queue, cleaned=True)
        waiting = queue.enqueue_compaction(request()).compaction_id
        catalog.rename_table(before, replace(before, name=OTHER))
        assert {c.compaction_id: c.request.table for c in queue.compactions()} == {
            over: OTHER,
            waiting: OTHER,
        }
        assert queue.enqueue_compaction(request()).accepted

    def test_partitions_take_their_compactions_along(
        self, queue: CompactionQueue, catalog: Catalog
    ) -> None:
        """A dropped one's are forgotten, those of others stay."""
        stored = catalog.create_table(
            table(partition_columns=columns(day="string", region="string"), location="")
        )
        catalog.add_partitions(T, days("2024-01-01", "2024-01-02"))
        names = [f"day=2024-01-0{d}/region=x" for d in (1, 2)]
        numbers = [work(queue, request(partition=name)) for name in names]
        catalog.drop_partitions(stored, days("2024-01-01"))
        assert set(states(queue)) == {numbers[1]}

    def test_a_result_appears_in_its_own_table_alone(
        self, queue: CompactionQueue, catalog: Catalog
    ) -> None:
        """While it is what it was: not in the next one of its name, or where it lay before."""
        before = catalog.create_table(table(columns=columns(a="int"), location=""))
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        with pytest.raises(MetastoreError), queue.publishing(number, before, None):
            pytest.fail("it has not begun")
        queue.begin_compaction(number)
        with queue.publishing(number, before, None):
            pass
        for other in (
            replace(before, table_id=before.table_id + 1),
            replace(before, location=f"{before.location}_2"),
            replace(before, name=OTHER),
        ):
            with pytest.raises(MetastoreError), queue.publishing(number, other, None):
                pytest.fail("it is another table")
        catalog.drop_table(T)
        again = catalog.create_table(table(columns=columns(a="int"), location=""))
        for one_of_two in (before, again):
            with pytest.raises(MetastoreError), queue.publishing(number, one_of_two, None):
                pytest.fail("it was dropped")

    def test_a_cleaner_is_kept_to_its_partition(
        self, queue: CompactionQueue, catalog: Catalog
    ) -> None:
        """Which was dropped, and made anew, since its entry was read."""
        stored = catalog.create_table(
            table(partition_columns=columns(day="string", region="string"), location="")
        )
        (partition,) = catalog.add_partitions(T, days("2024-01-01"))
        number = work(queue, request(partition="day=2024-01-01/region=x"))
        entry = one(queue, number)
        with queue.cleaning(entry, stored, partition):
            pass
        moved = replace(partition, location=f"{partition.location}_2")
        for other in (moved, None):
            with pytest.raises(MetastoreError), queue.cleaning(entry, stored, other):
                pytest.fail("it is not there")
        catalog.drop_partitions(stored, [partition])
        catalog.add_partitions(T, days("2024-01-01"))
        with pytest.raises(MetastoreError), queue.cleaning(entry, stored, partition):
            pytest.fail("it was dropped")
