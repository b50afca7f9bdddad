"""Whose an entry of the queue is: the leases of workers."""

from __future__ import annotations

from typing import cast

import pytest

from acidsql.errors import MetastoreError, TransactionAbortedError
from acidsql.txn.compactions import Compaction, CompactionQueue
from acidsql.txn.manager import TxnManager, TxnState
from tests.contracts.compactions.queue import (
    FAILED,
    INITIATED,
    OTHER,
    READY,
    WORKER,
    QueueFixture,
    request,
    states,
)
from tests.contracts.store import Clock, OpenStore


def take(queue: CompactionQueue, worker: str) -> Compaction:
    """The entry that a worker is given."""
    entry = queue.next_compaction(worker)
    assert entry is not None
    return entry


def refuses(queue: CompactionQueue, number: int, lease: int | None) -> None:
    """No call under this lease has an effect."""
    before = queue.compactions()
    for call in (
        lambda: queue.heartbeat_compaction(number, lease=lease),
        lambda: queue.begin_compaction(number, lease=lease),
        lambda: queue.finish_compaction(number, lease=lease),
        lambda: queue.return_compaction(number, lease=lease),
        lambda: queue.end_compaction(number, FAILED, "late", lease=lease),
    ):
        with pytest.raises(MetastoreError, match="not this worker's any more"):
            call()
    assert queue.compactions() == before


class CompactionLeaseContract(QueueFixture):
    """How a worker keeps its entry, and how it loses it."""

    def test_a_silent_worker_loses_its_entry(self, open_store: OpenStore, clock: Clock) -> None:
        """Once it has given no sign of life for the worker's time-out; it may not end it then."""
        queue = cast(CompactionQueue, open_store(worker_timeout_seconds=60))
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        for _ in range(2):
            clock.now += 60
            assert not queue.revoke_compactions()
            queue.heartbeat_compaction(number)
        clock.now += 60.001
        assert list(queue.revoke_compactions()) == [number]
        assert states(queue) == {number: INITIATED}
        for call in (
            lambda: queue.heartbeat_compaction(number),
            lambda: queue.begin_compaction(number),
            lambda: queue.finish_compaction(number),
            lambda: queue.return_compaction(number),
            lambda: queue.end_compaction(number, FAILED, "late"),
        ):
            with pytest.raises(MetastoreError, match="not this worker's any more"):
                call()

    def test_an_entry_falls_with_its_transaction(
        self, queue: CompactionQueue, manager: TxnManager, clock: Clock
    ) -> None:
        """The next who asks for work gets it; heartbeats keep both alive."""
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        first = queue.begin_compaction(number).txn_id
        clock.now += 299
        queue.heartbeat_compaction(number)
        clock.now += 299
        assert queue.next_compaction("node2-1") is None
        clock.now += 2
        taken = queue.next_compaction("node2-1")
        assert taken is not None
        assert (taken.compaction_id, taken.worker, taken.txn_id) == (number, "node2-1", None)
        ended = {txn.txn_id: txn.state for txn in manager.list_txns()}
        assert ended == {first: TxnState.ABORTED}

    def test_a_worker_that_lost_its_entry_cannot_end_another_s(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """Though both are of one process: they show the lease that each was given."""
        number = queue.enqueue_compaction(request()).compaction_id
        first = take(queue, WORKER).lease
        manager.abort_txns([queue.begin_compaction(number, lease=first).txn_id])
        second = take(queue, "node1-18").lease
        queue.begin_compaction(number, lease=second)
        refuses(queue, number, first)
        queue.heartbeat_compaction(number, lease=second)
        queue.finish_compaction(number, lease=second)
        assert states(queue) == {number: READY}

    def test_a_worker_that_lost_its_entry_before_it_began_cannot_begin_another_s(
        self, queue: CompactionQueue, clock: Clock
    ) -> None:
        """Nor give it back, end it or keep it: neither before the other has begun nor later."""
        number = queue.enqueue_compaction(request()).compaction_id
        first = take(queue, WORKER).lease
        clock.now += 1_000
        assert list(queue.revoke_compactions()) == [number]
        second = take(queue, "node1-18").lease
        refuses(queue, number, first)
        queue.begin_compaction(number, lease=second)
        refuses(queue, number, first)
        queue.return_compaction(number, lease=second, at_once=True)
        assert take(queue, WORKER).lease not in (first, second)

    def test_a_worker_that_has_not_begun_may_be_silent_for_less_long(
        self, queue: CompactionQueue, clock: Clock
    ) -> None:
        """Its entry is free after the time-out of a transaction."""
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        clock.now += 300
        assert not queue.revoke_compactions()
        clock.now += 0.001
        assert list(queue.revoke_compactions()) == [number]

    def test_an_aborted_transaction_cannot_finish(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """ABORT TRANSACTIONS stops a compaction, which is begun anew."""
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        manager.abort_txns([queue.begin_compaction(number).txn_id])
        with pytest.raises(TransactionAbortedError):
            queue.heartbeat_compaction(number)
        with pytest.raises(TransactionAbortedError):
            queue.finish_compaction(number)
        assert list(queue.revoke_compactions()) == [number]

    def test_what_is_given_back_rests(self, queue: CompactionQueue, clock: Clock) -> None:
        """Others are taken meanwhile; then it is taken again."""
        first = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        queue.begin_compaction(first)
        queue.return_compaction(first)
        second = queue.enqueue_compaction(request(OTHER)).compaction_id
        assert states(queue) == {first: INITIATED, second: INITIATED}
        taken = queue.next_compaction(WORKER)
        assert taken is not None
        assert taken.compaction_id == second
        assert queue.next_compaction(WORKER) is None
        clock.now += 10
        taken = queue.next_compaction(WORKER)
        assert taken is not None
        assert taken.compaction_id == first
