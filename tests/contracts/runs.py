"""Work under a name: it is committed once, whoever tries how often."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.acid.ids import TxnId
from acidsql.errors import RunCommittedError, WriteConflictError
from acidsql.txn.manager import OperationType, TxnManager
from acidsql.txn.runs import Run
from tests.contracts.store import Clock, OpenStore, StoreContract, T, component

RUN = Run(
    run_id="load 7",
    kept_seconds=3600.0,
    digest="d" * 64,
    rows_inserted=3,
    rows_updated=2,
    rows_deleted=1,
    write_ids={"default.t": 1},
)


def commit(manager: TxnManager, run: Run | None = RUN) -> TxnId:
    """Commits a transaction of its own, as ``run``."""
    opened = manager.begin([T])
    manager.commit(opened.txn_id, [component(T, opened.write_ids[T])], run=run)
    return opened.txn_id


class RunContract(StoreContract):
    """What is on record of a run, and what becomes of a second attempt."""

    def test_a_run_is_on_record_with_its_commit(self, manager: TxnManager, clock: Clock) -> None:
        """Its transaction, when, and all that it says of itself; by its whole name alone."""
        assert manager.find_run("load 7") is None
        txn_id = commit(manager)
        committed = manager.find_run("load 7")
        assert committed is not None
        assert (committed.txn_id, committed.committed) == (txn_id, int(clock.now * 1000))
        assert (committed.digest, committed.write_ids) == (RUN.digest, RUN.write_ids)
        counts = (committed.rows_inserted, committed.rows_updated, committed.rows_deleted)
        assert counts == (3, 2, 1)
        assert manager.find_run("load") is None
        assert manager.find_run("LOAD 7") is None

    def test_the_second_is_aborted(self, manager: TxnManager, open_store: OpenStore) -> None:
        """The first to commit wins of attempts side by side, in any process; nothing of the others
        is visible, then or later.
        """
        other = open_store()
        early, late = manager.begin([T]), other.begin([T])
        other.commit(late.txn_id, [component(T, late.write_ids[T])], run=RUN)
        with pytest.raises(RunCommittedError) as caught:
            manager.commit(early.txn_id, [component(T, early.write_ids[T])], run=RUN)
        assert (caught.value.run_id, caught.value.txn_id) == ("load 7", late.txn_id)
        assert caught.value.retryable is False
        assert manager.valid_txns().is_aborted(early.txn_id)
        outcome = manager.find_txn(early.txn_id)
        assert outcome is not None
        assert outcome.reason == "another transaction had committed the same run"
        other.close()  # type: ignore[attr-defined]

    def test_a_commit_asked_for_again_is_no_second_one(self, manager: TxnManager) -> None:
        """A transaction may be committed twice, with its run."""
        txn_id = commit(manager)
        manager.commit(txn_id, run=RUN)
        committed = manager.find_run("load 7")
        assert committed is not None
        assert committed.txn_id == txn_id

    def test_an_aborted_transaction_leaves_no_run(self, manager: TxnManager) -> None:
        """Neither one that a conflict ends nor one that is given up: its run may be tried again."""
        losing = manager.begin([T])
        winning = manager.begin([T])
        update = component(T, winning.write_ids[T], OperationType.UPDATE)
        manager.commit(winning.txn_id, [update])
        change = component(T, losing.write_ids[T], OperationType.UPDATE)
        with pytest.raises(WriteConflictError):
            manager.commit(losing.txn_id, [change], run=RUN)
        assert manager.find_run("load 7") is None
        commit(manager)

    def test_a_run_that_is_forgotten_may_be_done_again(self, manager: TxnManager) -> None:
        """And what was never on record is none."""
        commit(manager)
        assert manager.forget_run("load 7") is True
        assert manager.forget_run("load 7") is False
        commit(manager)

    def test_old_runs_are_purged(self, manager: TxnManager, clock: Clock) -> None:
        """Each when it was kept for as long as it asked, by whoever opens transactions."""
        commit(manager)
        commit(manager, replace(RUN, run_id="kept", kept_seconds=7200.0))
        clock.now += 3601
        for _ in range(64):
            commit(manager, None)
        assert manager.find_run("load 7") is None
        assert manager.find_run("kept") is not None
