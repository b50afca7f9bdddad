"""Ids, snapshots, write ids, and how transactions end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.acid.ids import TxnId, WriteId
from acidsql.errors import (
    MetastoreError,
    OperationalError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.txn.manager import OperationType, TxnManager, TxnState, TxnWrite
from tests.contracts.store import OTHER, StoreContract, T, insert, write

CALLS: tuple[Callable[[TxnManager, TxnId], object], ...] = (
    lambda manager, txn_id: manager.commit(txn_id),
    lambda manager, txn_id: manager.heartbeat(txn_id),
    lambda manager, txn_id: manager.allocate_write_id(txn_id, T),
    lambda manager, txn_id: manager.add_components(txn_id, []),
)


class SnapshotContract(StoreContract):
    """What a transaction sees: ids, snapshots, write ids."""

    def test_ids_ascend(self, manager: TxnManager) -> None:
        """Each transaction has a higher id than all before it, whatever became of those."""
        first, second = manager.open_txn(), manager.open_txn()
        manager.abort(second)
        manager.commit(first)
        assert 0 < first < second < manager.open_txn()

    def test_an_empty_store_shows_nothing(self, manager: TxnManager) -> None:
        """Before the first transaction there are no exceptions, and no table has a write id."""
        txns = manager.valid_txns()
        assert (txns.open, txns.aborted, manager.list_txns()) == ((), (), ())
        assert str(manager.valid_write_ids(T, txns)) == "default.t:0:9223372036854775807::"

    def test_begin_is_the_three_calls_in_one(self, manager: TxnManager) -> None:
        """It opens, allocates a write id for each table and fixes the snapshot as of then."""
        before = manager.open_txn()
        opened = manager.begin([T, OTHER])
        assert dict(opened.write_ids) == {T: 1, OTHER: 1}
        assert opened.txns == manager.valid_txns(opened.txn_id)
        assert (opened.txns.high_watermark, opened.txns.open) == (opened.txn_id, (before,))
        assert manager.allocate_write_id(opened.txn_id, T) == 1

    def test_a_snapshot_ends_at_its_own_transaction(self, manager: TxnManager) -> None:
        """Transactions opened later are not visible, not even those committed first."""
        reader, later = manager.open_txn(), manager.open_txn()
        manager.commit(later)
        assert not manager.valid_txns(reader).is_valid(later)
        assert manager.valid_txns().is_valid(later)

    def test_compactions_are_seen_with_their_transactions(self, manager: TxnManager) -> None:
        """By what a snapshot sees, or with no regard to it where names have no transactions."""
        manager.open_txn()
        txns = manager.valid_txns()
        assert manager.seen_compactions(txns) in (txns, None)

    def test_the_own_transaction_is_visible_to_itself_only(self, manager: TxnManager) -> None:
        """Own writes are read before they are committed, by nobody else."""
        reader, other = manager.open_txn(), manager.open_txn()
        write_id = manager.allocate_write_id(reader, T)
        assert manager.valid_write_ids(T, manager.valid_txns(reader)).is_valid(write_id)
        assert not manager.valid_write_ids(T, manager.valid_txns(other)).is_valid(write_id)
        assert not manager.valid_write_ids(T, manager.valid_txns()).is_valid(write_id)

    def test_open_and_aborted_are_told_apart(self, manager: TxnManager) -> None:
        """Both are exceptions; a compactor may pass over the aborted, never over the open."""
        done, undecided, given_up, reader = (manager.open_txn() for _ in range(4))
        for txn_id in (done, undecided, given_up):
            manager.allocate_write_id(txn_id, T)
        manager.commit(done)
        manager.abort(given_up)
        txns = manager.valid_txns(reader)
        assert (txns.open, txns.aborted) == ((undecided,), (given_up,))
        assert str(manager.valid_write_ids(T, txns)) == "default.t:3:2:2:3"

    def test_one_write_id_for_each_transaction_and_table(self, manager: TxnManager) -> None:
        """Asked again it is the same; tables count for themselves; numbers go in the order
        of asking.
        """
        first, second = manager.open_txn(), manager.open_txn()
        assert manager.allocate_write_id(second, T) == 1
        assert manager.allocate_write_id(first, T) == 2
        assert manager.allocate_write_id(second, T) == 1
        assert manager.allocate_write_id(first, OTHER) == 1

    def test_write_ids_need_not_follow_transaction_ids(self, manager: TxnManager) -> None:
        """A reader between the two sees the higher write id and not the lower."""
        early, late = manager.open_txn(), manager.open_txn()
        manager.allocate_write_id(late, T)
        manager.allocate_write_id(early, T)
        manager.commit(early)
        assert str(manager.valid_write_ids(T, manager.valid_txns())) == "default.t:2:1:1:"

    def test_a_snapshot_keeps_its_answers(self, manager: TxnManager) -> None:
        """Whatever is committed, aborted or opened after a transaction began, its write ids stay
        the same.
        """
        writers = [manager.open_txn() for _ in range(4)]
        for txn_id in writers[:3]:
            manager.allocate_write_id(txn_id, T)
        manager.commit(writers[0])
        txns = manager.begin().txns
        seen = manager.valid_write_ids(T, txns)
        manager.commit(writers[1])
        manager.abort(writers[2])
        manager.allocate_write_id(writers[3], T)
        later = manager.begin([T])
        manager.commit(later.txn_id)
        now = manager.valid_write_ids(T, txns)
        assert (
            [now.is_valid(WriteId(w)) for w in range(1, 9)]
            == [seen.is_valid(WriteId(w)) for w in range(1, 9)]
            == [True] + [False] * 7
        )

    def test_list_txns_shows_open_and_aborted(self, manager: TxnManager) -> None:
        """By id, without the committed ones."""
        done, aborted, still_open = (manager.open_txn() for _ in range(3))
        manager.commit(done)
        manager.abort(aborted)
        assert [(info.txn_id, info.state) for info in manager.list_txns()] == [
            (aborted, TxnState.ABORTED),
            (still_open, TxnState.OPEN),
        ]
        assert all(
            info.user and info.host and info.started == info.last_heartbeat
            for info in manager.list_txns()
        )

    def test_a_table_takes_over_the_write_ids_of_its_files(self, manager: TxnManager) -> None:
        """All up to the one named are committed, the next writer gets the one after; once ids were
        given out it is too late.
        """
        reader = manager.open_txn()
        manager.seed_write_id(T, WriteId(7))
        assert (
            str(manager.valid_write_ids(T, manager.valid_txns(reader)))
            == "default.t:7:9223372036854775807::"
        )
        writer = manager.open_txn()
        assert manager.allocate_write_id(writer, T) == 8
        assert str(manager.valid_write_ids(T, manager.valid_txns())) == "default.t:8:8:8:"
        with pytest.raises(WriteConflictError, match="began to write"):
            manager.seed_write_id(T, WriteId(9))

    def test_it_is_said_what_became_of_others_write_ids(self, manager: TxnManager) -> None:
        """Some were committed, some aborted; what is in between was nobody's. The next writer gets
        the one after, and what was given out is not declared.
        """
        insert(manager)
        manager.declare_write_ids(T, committed=[WriteId(3), WriteId(7)], aborted=[WriteId(5)])
        valid = manager.valid_write_ids(T, manager.valid_txns())
        assert (valid.high_watermark, valid.open, valid.aborted) == (7, (), (5,))
        writer = manager.open_txn()
        assert manager.allocate_write_id(writer, T) == 8
        manager.abort(writer)
        with pytest.raises(WriteConflictError, match="was given out here"):
            manager.declare_write_ids(T, committed=[WriteId(8), WriteId(9)], aborted=[])

    def test_transactions_go_on_behind_those_of_others(self, manager: TxnManager) -> None:
        """That compacted the files whose write ids are declared; lower ones change nothing."""
        insert(manager)
        manager.declare_write_ids(T, committed=[WriteId(3)], aborted=[], highest_txn=TxnId(55))
        assert manager.valid_txns().is_valid(TxnId(55))
        later = manager.open_txn()
        assert later == 57
        manager.abort(later)
        manager.declare_write_ids(T, committed=[WriteId(9)], aborted=[], highest_txn=TxnId(21))
        assert manager.open_txn() == 59

    def test_a_write_id_is_given_back(self, manager: TxnManager) -> None:
        """The next writer gets it; where there was one meanwhile it is aborted for ever."""
        early, late = manager.open_txn(), manager.open_txn()
        assert manager.allocate_write_id(early, T) == 1
        manager.give_back(early, T)
        assert manager.first_write_id(T) == 1
        assert manager.allocate_write_id(early, T) == 1
        assert manager.allocate_write_id(late, T) == 2
        manager.give_back(early, T)
        [info] = [info for info in manager.list_txns() if info.txn_id == early]
        assert info.state is TxnState.ABORTED
        manager.commit(late, [write(manager, late)])
        valid = manager.valid_write_ids(T, manager.valid_txns())
        assert (valid.high_watermark, valid.aborted) == (2, (1,))


class EndContract(StoreContract):
    """Commit, abort, and what is known of a transaction afterwards."""

    def test_commit_makes_visible_at_once(self, manager: TxnManager) -> None:
        """On every table it wrote to."""
        opened = manager.begin([T, OTHER])
        manager.commit(
            opened.txn_id, [write(manager, opened.txn_id, table=table) for table in (T, OTHER)]
        )
        txns = manager.valid_txns()
        assert all(
            manager.valid_write_ids(table, txns).is_valid(opened.write_ids[table])
            for table in (T, OTHER)
        )

    def test_commit_twice_is_no_error(self, manager: TxnManager) -> None:
        """A commit whose answer was lost may be sent again, also of a transaction that
        wrote nothing.
        """
        for components in ([], [OperationType.UPDATE]):
            txn_id = manager.open_txn()
            wrote = [write(manager, txn_id, operation) for operation in components]
            manager.commit(txn_id, wrote)
            manager.commit(txn_id, wrote)
        assert manager.list_txns() == ()

    def test_abort_twice_is_no_error(self, manager: TxnManager) -> None:
        """An abort whose answer was lost may be sent again."""
        txn_id = manager.open_txn()
        manager.abort(txn_id)
        manager.abort(txn_id)

    def test_a_committed_transaction_cannot_be_aborted(self, manager: TxnManager) -> None:
        """What is visible stays visible."""
        txn_id = manager.begin([T]).txn_id
        manager.commit(txn_id, [write(manager, txn_id)])
        with pytest.raises(
            OperationalError, match=f"Transaction txnid:{txn_id} is already committed"
        ):
            manager.abort(txn_id)
        assert manager.valid_write_ids(T, manager.valid_txns()).is_valid(WriteId(1))

    @pytest.mark.parametrize("call", CALLS, ids=["commit", "heartbeat", "allocate", "components"])
    def test_an_aborted_transaction_can_do_nothing(
        self, manager: TxnManager, call: Callable[[TxnManager, TxnId], object]
    ) -> None:
        """Every call says so, with Hive's words and code, and may be run again as a new
        transaction.
        """
        txn_id = manager.open_txn()
        manager.abort(txn_id)
        with pytest.raises(
            TransactionAbortedError, match=f"Transaction txnid:{txn_id} already aborted"
        ) as caught:
            call(manager, txn_id)
        assert (caught.value.code, caught.value.retryable) == (10263, True)

    @pytest.mark.parametrize(
        "call",
        [*CALLS, lambda manager, txn_id: manager.abort(txn_id)],
        ids=["c", "h", "w", "o", "a"],
    )
    def test_an_unknown_transaction_is_not_retryable(
        self, manager: TxnManager, call: Callable[[TxnManager, TxnId], object]
    ) -> None:
        """Nobody knows what became of it, so nobody may be told to do it again."""
        with pytest.raises(
            MetastoreError, match="No record of transaction txnid:99 could be found"
        ) as caught:
            call(manager, TxnId(99))
        assert (caught.value.code, caught.value.retryable) == (10262, False)

    def test_a_failed_call_changes_nothing(self, manager: TxnManager) -> None:
        """A write id refused is not used up."""
        txn_id = manager.open_txn()
        manager.abort(txn_id)
        with pytest.raises(TransactionAbortedError):
            manager.allocate_write_id(txn_id, T)
        assert manager.begin([T]).write_ids[T] == 1

    def test_an_abort_tells_why(self, manager: TxnManager) -> None:
        """A transaction that lost a conflict says so to whoever asks later."""
        first, second = manager.open_txn(), manager.open_txn()
        manager.abort(first, conflict=True)
        manager.abort(first, conflict=True)
        manager.abort(second)
        for txn_id, words in ((first, "had changed the same data"), (second, "was rolled back")):
            with pytest.raises(TransactionAbortedError) as caught:
                manager.heartbeat(txn_id)
            assert words in (caught.value.detail or "")

    def test_a_user_aborts_open_transactions_only(self, manager: TxnManager) -> None:
        """By ABORT TRANSACTIONS: committed, aborted and unknown ones are passed over, and the error
        says who did it.
        """
        first, second, third = (manager.open_txn() for _ in range(3))
        manager.commit(second)
        manager.abort(third)
        manager.abort_txns([first, second, third, TxnId(4711)])
        assert [(info.txn_id, info.state) for info in manager.list_txns()] == [
            (first, TxnState.ABORTED),
            (third, TxnState.ABORTED),
        ]
        manager.commit(second)
        with pytest.raises(TransactionAbortedError) as caught:
            manager.heartbeat(first)
        assert caught.value.detail == "by ABORT TRANSACTIONS"

    def test_what_became_of_a_transaction_is_on_record(self, manager: TxnManager) -> None:
        """Its line of SHOW TRANSACTIONS, whatever its state, what it wrote, and why it was
        aborted.
        """
        opened, aborted, committed = manager.open_txn(), manager.open_txn(), manager.open_txn()
        components = [
            write(manager, committed, OperationType.UPDATE, OTHER, "p=1"),
            write(manager, committed, OperationType.INSERT),
        ]
        manager.commit(committed, components)
        manager.abort(aborted)
        outcomes = [manager.find_txn(txn_id) for txn_id in (opened, aborted, committed)]
        assert all(outcomes)
        infos = [outcome.info for outcome in outcomes if outcome is not None]
        assert [info.state for info in infos if info] == [
            TxnState.OPEN,
            TxnState.ABORTED,
            TxnState.COMMITTED,
        ]
        assert tuple(info for info in infos if info)[:2] == manager.list_txns()
        reasons = [outcome.reason for outcome in outcomes if outcome is not None]
        assert reasons == [None, "it was rolled back", None]
        assert [outcome.writes for outcome in outcomes if outcome is not None] == [
            (),
            (),
            (
                TxnWrite(
                    table=T, partition=None, operation=OperationType.INSERT, write_id=WriteId(1)
                ),
                TxnWrite(
                    table=OTHER,
                    partition="p=1",
                    operation=OperationType.UPDATE,
                    write_id=WriteId(1),
                ),
            ),
        ]

    def test_a_transaction_that_was_never_opened_is_not_on_record(
        self, manager: TxnManager
    ) -> None:
        """Neither is the number behind the newest one."""
        newest = manager.open_txn()
        assert manager.find_txn(TxnId(newest + 1)) is None
        assert manager.find_txn(TxnId(0)) is None
