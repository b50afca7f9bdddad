"""The queue of compactions, its history, and the transactions of workers."""

from __future__ import annotations

from typing import cast

import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import MetastoreError
from acidsql.txn.compactions import (
    Compaction,
    CompactionQueue,
    CompactionRequest,
    CompactionState,
    CompactionType,
)
from acidsql.txn.manager import TxnManager
from tests.contracts.store import (
    Clock,
    OpenStore,
    StoreContract,
    T,
    insert,
)

INITIATED, WORKING = CompactionState.INITIATED, CompactionState.WORKING
READY, SUCCEEDED = CompactionState.READY_FOR_CLEANING, CompactionState.SUCCEEDED
FAILED, REFUSED = CompactionState.FAILED, CompactionState.REFUSED
ABORTED, NOT_INITIATED = CompactionState.ABORTED, CompactionState.DID_NOT_INITIATE
OTHER = TableName("default", "other")
WORKER = "node1-17"


def request(
    table: TableName = T,
    partition: str | None = None,
    kind: CompactionType = CompactionType.MINOR,
    pool: str | None = None,
) -> CompactionRequest:
    return CompactionRequest(
        table=table, partition=partition, type=kind, initiator="node1-manual", pool=pool
    )


def one(queue: CompactionQueue, compaction_id: int) -> Compaction:
    """The entry, as it is found by its id and in the list of all."""
    entry = queue.find_compaction(compaction_id)
    assert entry is not None
    assert entry in queue.compactions()
    return entry


def states(queue: CompactionQueue) -> dict[int, CompactionState]:
    """The states of all entries, of which those that are to be cleaned are listed apart."""
    listed = queue.compactions()
    assert queue.ready_for_cleaning() == tuple(c for c in listed if c.state is READY)
    assert queue.find_compaction(max((c.compaction_id for c in listed), default=0) + 1) is None
    return {c.compaction_id: c.state for c in listed}


def work(
    queue: CompactionQueue, wanted: CompactionRequest | None = None, *, cleaned: bool = False
) -> int:
    """Has a compaction carried out, and cleaned; returns its id."""
    compaction_id = queue.enqueue_compaction(wanted or request()).compaction_id
    taken = queue.next_compaction(WORKER)
    assert taken is not None
    assert taken.compaction_id == compaction_id
    queue.begin_compaction(compaction_id)
    queue.finish_compaction(compaction_id)
    if cleaned:
        queue.mark_cleaned(compaction_id)
    return compaction_id


def end(queue: CompactionQueue, state: CompactionState, wanted: CompactionRequest) -> int:
    """Has a compaction end without a result; returns its id."""
    compaction_id = queue.enqueue_compaction(wanted).compaction_id
    assert queue.next_compaction(WORKER) is not None
    queue.end_compaction(compaction_id, state, "because")
    return compaction_id


class QueueFixture(StoreContract):
    """The queue is the transaction manager's store."""

    @pytest.fixture
    def queue(self, manager: TxnManager) -> CompactionQueue:
        return cast(CompactionQueue, manager)


class CompactionQueueContract(QueueFixture):
    """What is asked for, taken, carried out, given back and remembered."""

    def test_a_compaction_lives_from_request_to_success(
        self, queue: CompactionQueue, manager: TxnManager, clock: Clock
    ) -> None:
        """With the times, ids and names that SHOW COMPACTIONS shows."""
        insert(manager)
        start = int(clock.now * 1000)
        answer = queue.enqueue_compaction(request())
        assert (answer.state, answer.accepted) == (INITIATED, True)
        number = answer.compaction_id
        clock.now += 1
        taken = queue.next_compaction(WORKER)
        assert taken is not None
        assert (taken.compaction_id, taken.state, taken.request) == (number, WORKING, request())
        opened = queue.begin_compaction(number)
        begun = one(queue, number)
        assert (begun.worker, begun.txn_id, begun.highest_write_id) == (WORKER, opened.txn_id, 1)
        clock.now += 1
        queue.finish_compaction(number)
        done = one(queue, number)
        assert (done.state, done.worker, done.next_txn_id) == (READY, None, opened.txn_id + 1)
        clock.now += 1
        queue.mark_cleaned(number)
        over = one(queue, number)
        assert (over.state, over.message) == (SUCCEEDED, None)
        times = (over.enqueued, over.started, over.committed, over.ended)
        assert times == (start, start + 1000, start + 2000, start + 3000)

    def test_requests_keep_what_they_say(self, queue: CompactionQueue) -> None:
        """To the letter, whatever the letters are."""
        wanted = CompactionRequest(
            table=OTHER,
            partition="day=2024-01-01/region=x%3Ay",
            type=CompactionType.REBALANCE,
            initiator="node-2-manual",
            properties={"compactor.a": "1:2", "tblprops.é": ""},
            pool="night",
            buckets=4,
            order_by="a DESC",
        )
        number = queue.enqueue_compaction(wanted).compaction_id
        assert one(queue, number).request == wanted
        queue.abort_compactions([number])
        assert one(queue, number).request == wanted

    def test_the_oldest_is_taken_first_and_once(self, queue: CompactionQueue) -> None:
        """Until none is left."""
        numbers = [
            queue.enqueue_compaction(request(partition=f"p={p}")).compaction_id for p in range(3)
        ]
        taken = [queue.next_compaction(WORKER) for _ in range(4)]
        assert [c and c.compaction_id for c in taken] == [*numbers, None]

    # ---- one entry for each table or partition

    def test_a_second_request_is_not_accepted(self, queue: CompactionQueue) -> None:
        """While the first is initiated or working; the answer names it."""
        first = queue.enqueue_compaction(request())
        for state in (INITIATED, WORKING):
            again = queue.enqueue_compaction(request(kind=CompactionType.MAJOR))
            assert (again.compaction_id, again.state, again.accepted) == (
                first.compaction_id,
                state,
                False,
            )
            queue.next_compaction(WORKER)
        assert queue.enqueue_compaction(request(partition="p=1")).accepted
        assert queue.enqueue_compaction(request(OTHER)).accepted

    def test_what_is_ready_for_cleaning_waits_for_new_writes(
        self, queue: CompactionQueue, manager: TxnManager
    ) -> None:
        """Another is accepted as soon as something was written since."""
        insert(manager)
        first = work(queue)
        again = queue.enqueue_compaction(request())
        assert (again.compaction_id, again.state, again.accepted) == (first, READY, False)
        insert(manager)
        assert queue.enqueue_compaction(request()).accepted

    def test_what_is_over_is_in_nobody_s_way(self, queue: CompactionQueue) -> None:
        """Whatever became of it."""
        work(queue, cleaned=True)
        for state in (REFUSED, FAILED, ABORTED):
            end(queue, state, request())
        assert queue.enqueue_compaction(request()).accepted

    # ---- pools

    def test_a_pool_takes_its_own(self, queue: CompactionQueue) -> None:
        """And whoever is of no pool what belongs to none."""
        night = queue.enqueue_compaction(request(partition="p=1", pool="night")).compaction_id
        plain = queue.enqueue_compaction(request(partition="p=2")).compaction_id
        assert queue.next_compaction(WORKER, pool="day") is None
        taken = queue.next_compaction(WORKER)
        assert taken is not None
        assert taken.compaction_id == plain
        assert queue.next_compaction(WORKER) is None
        taken = queue.next_compaction(WORKER, pool="night")
        assert taken is not None
        assert taken.compaction_id == night

    def test_what_no_pool_serves_is_anybody_s_in_the_end(
        self, open_store: OpenStore, clock: Clock
    ) -> None:
        """After the pool's time-out, not before; not another pool's."""
        queue = cast(CompactionQueue, open_store(pool_timeout_seconds=60))
        queue.enqueue_compaction(request(pool="night"))
        clock.now += 60
        assert queue.next_compaction(WORKER) is None
        clock.now += 0.001
        assert queue.next_compaction(WORKER, pool="day") is None
        assert queue.next_compaction(WORKER) is not None

    # ---- ends

    @pytest.mark.parametrize("state", [REFUSED, FAILED, ABORTED])
    def test_an_end_without_result_aborts_the_transaction(
        self, queue: CompactionQueue, manager: TxnManager, state: CompactionState
    ) -> None:
        """And says why; nothing of it stays behind, neither locks nor components."""
        number = queue.enqueue_compaction(request()).compaction_id
        queue.next_compaction(WORKER)
        opened = queue.begin_compaction(number)
        queue.end_compaction(number, state, "because")
        over = one(queue, number)
        assert (over.state, over.message, over.ended) == (state, "because", over.enqueued)
        assert manager.list_locks() == ()
        outcome = manager.find_txn(opened.txn_id)
        assert outcome is not None
        assert (outcome.reason, outcome.writes) == ("its compaction ended without a result", ())

    def test_only_what_is_initiated_can_be_aborted(self, queue: CompactionQueue) -> None:
        """The others are told apart by their state; unknown ones have none."""
        ready = work(queue, request(partition="p=1"))
        failed = end(queue, FAILED, request(partition="p=2"))
        working = queue.enqueue_compaction(request(partition="p=3")).compaction_id
        queue.next_compaction(WORKER)
        waiting = queue.enqueue_compaction(request(partition="p=4")).compaction_id
        answer = queue.abort_compactions([ready, failed, working, waiting, 99])
        assert answer == {
            ready: READY,
            failed: FAILED,
            working: WORKING,
            waiting: INITIATED,
            99: None,
        }
        assert states(queue)[waiting] is ABORTED
        assert queue.next_compaction(WORKER) is None

    def test_cleaning_that_fails_is_counted(self, queue: CompactionQueue) -> None:
        """And tried again later; or given up, with what is known."""
        number = work(queue)
        for attempt in (1, 2):
            queue.postpone_cleaning(number, "no space", retry_after=attempt * 1000)
            known = one(queue, number)
            facts = (known.state, known.attempts, known.retry_after, known.message)
            assert facts == (READY, attempt, attempt * 1000, "no space")
        queue.end_compaction(number, FAILED, "given up")
        assert (one(queue, number).state, one(queue, number).attempts) == (FAILED, 2)
        with pytest.raises(MetastoreError):
            queue.mark_cleaned(number)
        with pytest.raises(MetastoreError):
            queue.postpone_cleaning(number, "", retry_after=0)

    def test_what_never_was_queued_is_in_the_history(self, queue: CompactionQueue) -> None:
        """With its reason and an id of its own."""
        number = queue.note_compaction(request(), NOT_INITIATED, "it failed twice")
        noted = one(queue, number)
        assert (noted.state, noted.message, noted.started) == (
            NOT_INITIATED,
            "it failed twice",
            None,
        )
        assert queue.next_compaction(WORKER) is None
        assert queue.enqueue_compaction(request()).compaction_id > number

    # ---- the history

    def test_the_newest_of_each_state_are_kept(self, queue: CompactionQueue) -> None:
        """For each table and partition; all of a state that is not named."""
        failed = [end(queue, FAILED, request()) for _ in range(3)]
        succeeded = [work(queue, cleaned=True) for _ in range(3)]
        refused = [end(queue, REFUSED, request()) for _ in range(2)]
        other = end(queue, FAILED, request(partition="p=1"))
        waiting = queue.enqueue_compaction(request(OTHER)).compaction_id
        queue.purge_compactions({FAILED: 2, SUCCEEDED: 1}, timeout_seconds=1000)
        kept = {*failed[1:], succeeded[-1], *refused, other, waiting}
        assert set(states(queue)) == kept

    def test_old_failures_go_that_a_success_made_up_for(
        self, queue: CompactionQueue, clock: Clock
    ) -> None:
        """A minor compaction makes up for minor ones, another for all; the newest failures of
        what never succeeded since stay.
        """
        major, minor = (request(kind=kind) for kind in (CompactionType.MAJOR, CompactionType.MINOR))
        first = end(queue, FAILED, major), end(queue, REFUSED, minor)
        success = work(queue, minor, cleaned=True)
        last = end(queue, FAILED, minor)
        clock.now += 100
        queue.purge_compactions({}, timeout_seconds=100)
        assert set(states(queue)) == {*first, success, last}
        clock.now += 0.001
        queue.purge_compactions({}, timeout_seconds=100)
        assert set(states(queue)) == {first[0], success, last}
        second = work(queue, major, cleaned=True)
        queue.purge_compactions({}, timeout_seconds=100)
        assert set(states(queue)) == {success, second}
