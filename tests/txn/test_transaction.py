"""The life of a transaction, on a real store."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from acidsql.acid.ids import RowId, TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import (
    CommitStateUnknownError,
    ExecutionError,
    InterfaceError,
    MetastoreError,
    OperationalError,
    SnapshotTooOldError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from acidsql.txn.manager import OperationType, TxnComponent
from acidsql.txn.overlaps import Clash, Overlap, conflict_error
from acidsql.txn.reading import ReadSnapshot
from acidsql.txn.runs import Run, Taken
from acidsql.txn.transaction import Transaction, TransactionState
from tests.contracts.readers import claims, compacted

T = TableName("default", "t")
OTHER = TableName("default", "other")


@pytest.fixture
def manager(warehouse: Path, metastore_url: str | None) -> Iterator[EmbeddedMetastore]:
    with EmbeddedMetastore(str(warehouse), metastore=metastore_url) as metastore:
        yield metastore


def component(
    txn: Transaction, operation: OperationType = OperationType.INSERT, table: TableName = T
) -> TxnComponent:
    return TxnComponent(
        table=table, partition=None, operation=operation, write_id=txn.write_id(table)
    )


def insert(manager: EmbeddedMetastore, operation: OperationType = OperationType.INSERT) -> None:
    with Transaction.begin(manager, [T]) as txn:
        txn.record([component(txn, operation)])
        txn.commit()


def states(manager: EmbeddedMetastore) -> list[str]:
    return [info.state.value for info in manager.list_txns()]


def visible(manager: EmbeddedMetastore) -> list[int]:
    seen = ReadSnapshot(manager).write_ids(T)
    return [write_id for write_id in range(1, 10) if seen.is_valid(write_id)]  # type: ignore[arg-type]


def test_a_snapshot_is_from_behind_the_first_locks(manager: EmbeddedMetastore) -> None:
    """Whoever held them is seen, and no conflict, though nobody had to wait; what has been read or
    written stays under the first snapshot.
    """
    request = LockRequest(
        components=(LockComponent(type=LockType.EXCLUSIVE, database="default", table="t"),)
    )
    before = Transaction.begin(manager)
    used = Transaction.begin(manager)
    used.write_ids(OTHER)
    first = before.txn_id, used.txn_id
    insert(manager, OperationType.UPDATE)
    assert before.lock(request) is False
    assert before.txn_id > first[0]
    assert before.write_ids(T).is_valid(WriteId(1))
    before.record([component(before, OperationType.UPDATE)])
    before.commit()
    used.lock(request)
    assert used.txn_id == first[1]
    assert not used.write_ids(T).is_valid(WriteId(1))
    used.abort()


@pytest.mark.parametrize("has_seen", [False, True])
def test_a_snapshot_too_old_for_the_first_statement(
    manager: EmbeddedMetastore, has_seen: bool
) -> None:
    """The table was compacted and cleaned since it began: one that has seen nothing yet begins
    again and sees the table as it is; one that has is refused.
    """
    with Transaction.begin(manager, [T]) as writer:
        late = Transaction.begin(manager)
        if has_seen:
            late.look_at([OTHER])
        first = late.txn_id
        writer.record([component(writer)])
        writer.commit()
    assert claims(manager, compacted(manager))
    late.look_at([T])
    if has_seen:
        assert late.txn_id == first
        with pytest.raises(SnapshotTooOldError):
            late.write_ids(T)
    else:
        assert late.txn_id > first
        assert late.keeps(T)
        assert late.write_ids(T).is_valid(WriteId(1))
    late.abort()


def test_the_diagram_of_the_docstring(manager: EmbeddedMetastore) -> None:
    """Says what happens."""
    txn1, txn2 = Transaction.begin(manager, [T]), Transaction.begin(manager)
    txn1.commit()
    txn3 = Transaction.begin(manager)
    txn2.write_id(T)
    txn3.write_id(T)
    txn3.commit()
    txn4 = Transaction.begin(manager)
    txn5 = Transaction.begin(manager, [T])
    txn5.commit()
    assert (str(txn4.txns), str(txn4.write_ids(T))) == ("4:2:2:", "default.t:3:2:2:")
    txn2.commit()
    assert manager.valid_write_ids(T, txn4.txns) == txn4.write_ids(T)
    txn4.commit()


def test_leaving_without_commit_aborts(manager: EmbeddedMetastore) -> None:
    """By an error, and by simply not committing."""
    with pytest.raises(ZeroDivisionError), Transaction.begin(manager, [T]):
        raise ZeroDivisionError
    with Transaction.begin(manager, [T]):
        pass
    assert states(manager) == ["a", "a"]
    assert visible(manager) == []


def test_leaving_after_the_end_changes_nothing(manager: EmbeddedMetastore) -> None:
    """An error after the commit does not undo it; after an abort there is nothing to do."""
    txn = Transaction.begin(manager, [T])
    txn.record([component(txn)])
    txn.commit()
    with pytest.raises(ZeroDivisionError), txn:
        raise ZeroDivisionError
    with Transaction.begin(manager) as aborted:
        aborted.abort()
        aborted.abort()
    assert (txn.state, aborted.state) == (TransactionState.COMMITTED, TransactionState.ABORTED)
    assert visible(manager) == [1]


def test_write_ids_come_with_the_beginning_or_on_demand(manager: EmbeddedMetastore) -> None:
    """One for each table, always the same."""
    with Transaction.begin(manager, [T]) as txn:
        assert txn.allocated == {T: 1}
        assert (txn.write_id(OTHER), txn.write_id(T), txn.write_id(OTHER)) == (1, 1, 1)
        assert txn.allocated == {T: 1, OTHER: 1}


def test_own_writes_join_a_snapshot_already_taken(manager: EmbeddedMetastore) -> None:
    """A write id taken after the first read is read by the next statement; those others took
    meanwhile are not.
    """
    insert(manager)
    with Transaction.begin(manager) as txn:
        assert str(txn.write_ids(T)) == "default.t:1:9223372036854775807::"
        insert(manager)
        assert txn.write_ids(T).high_watermark == 1
        assert txn.write_id(T) == 3
        assert str(txn.write_ids(T)) == "default.t:3:2:2:"


def test_a_read_snapshot_keeps_its_answers(manager: EmbeddedMetastore) -> None:
    """It opens nothing; two reads of one table agree, and so do tables first read later."""
    insert(manager)
    snapshot = ReadSnapshot(manager)
    first = snapshot.write_ids(T)
    with Transaction.begin(manager, [T, OTHER]) as txn:
        txn.commit()
    assert snapshot.write_ids(T) is first
    assert snapshot.write_ids(OTHER).high_watermark == 0
    assert manager.list_txns() == ()


def test_a_conflict_ends_the_transaction(manager: EmbeddedMetastore) -> None:
    """It is aborted; nothing more can be done with it."""
    with Transaction.begin(manager) as txn:
        insert(manager, OperationType.UPDATE)
        txn.record([component(txn, OperationType.DELETE)])
        with pytest.raises(WriteConflictError):
            txn.commit()
        assert txn.state is TransactionState.ABORTED
        with pytest.raises(InterfaceError, match="transaction txnid:1 is aborted"):
            txn.write_id(T)
    assert states(manager) == ["a"]


def changed(manager: EmbeddedMetastore) -> TxnId:
    """Another transaction that has changed ``T``."""
    with Transaction.begin(manager, [T]) as txn:
        txn.record([component(txn, OperationType.UPDATE)])
        txn.commit(lambda overlaps: None)
        return txn.txn_id


def test_overlapping_changes_are_compared_until_none_is_left(manager: EmbeddedMetastore) -> None:
    """Each once, those that others commit meanwhile in another round; outside of the store, so that
    nobody waits.
    """
    rounds: list[list[TxnId]] = []

    def compare(overlaps: Sequence[Overlap]) -> Clash | None:
        rounds.append([overlap.txn_id for overlap in overlaps])
        if len(rounds) < 3:
            others.append(changed(manager))
        return None

    txn = Transaction.begin(manager, [T])
    others = [changed(manager), changed(manager)]
    txn.record([component(txn, OperationType.DELETE)])
    txn.commit(compare)
    assert rounds == [others[:2], others[2:3], others[3:]]
    assert txn.state is TransactionState.COMMITTED
    assert visible(manager) == [1, 2, 3, 4, 5]


def test_nothing_is_compared_without_an_overlap(manager: EmbeddedMetastore) -> None:
    """Nor for an insert: the store is asked once."""

    def fail(overlaps: Sequence[Overlap]) -> Clash | None:
        raise AssertionError(overlaps)

    for operation in (OperationType.INSERT, OperationType.UPDATE):
        with Transaction.begin(manager, [T]) as txn:
            if operation is OperationType.INSERT:
                insert(manager, OperationType.UPDATE)
            txn.record([component(txn, operation)])
            txn.commit(fail)


@pytest.mark.parametrize("second_round", [False, True])
def test_a_common_row_ends_the_transaction(manager: EmbeddedMetastore, second_round: bool) -> None:
    """The error names the table, the other transaction, how many rows and one of them; the store
    knows why it was aborted.
    """
    others: list[TxnId] = []

    def compare(overlaps: Sequence[Overlap]) -> Clash | None:
        if second_round and len(others) == 1:
            others.append(changed(manager))
            return None
        return Clash(overlap=overlaps[0], rows=3, example=RowId(WriteId(1), 1 << 29, 7))

    with Transaction.begin(manager, [T]) as txn:
        others.append(changed(manager))
        txn.record([component(txn, OperationType.DELETE)])
        with pytest.raises(WriteConflictError) as caught:
            txn.commit(compare)
        assert txn.state is TransactionState.ABORTED
    highest = max(others)
    assert str(caught.value.message) == (
        f"Aborting [txnid:1,{highest}] due to a write conflict on default/t committed by"
        f" [txnid:{others[-1]},{highest}] d/u: both changed 3 rows, such as ROW__ID"
        ' {"writeid":1,"bucketid":536870912,"rowid":7}'
    )
    assert (caught.value.code, caught.value.retryable) == (10263, True)
    with pytest.raises(TransactionAbortedError) as asked:
        manager.heartbeat(txn.txn_id)
    assert "changed the same data" in (asked.value.detail or "")


def test_words_of_a_clash() -> None:
    """One row, at least so many, and none that anybody knows of."""
    overlap = Overlap(
        table=T,
        partition="k=1",
        txn_id=TxnId(2),
        commit_id=TxnId(3),
        write_id=None,
        operations="u/d",
        highest_txn=TxnId(4),
    )
    row = RowId(WriteId(5), 6, 7)
    text = 'ROW__ID {"writeid":5,"bucketid":6,"rowid":7}'
    one = Clash(overlap=overlap, rows=1, example=row)
    some = Clash(overlap=overlap, rows=9, all_counted=False, example=row)
    assert one.words == f": both changed 1 row, {text}"
    assert some.words == f": both changed at least 9 rows, such as {text}"
    error = conflict_error(TxnId(1), Clash(overlap=overlap, reason="gone"))
    assert (error.message, error.detail) == (
        "Aborting [txnid:1,4] due to a write conflict on default/t/k=1 committed by [txnid:2,3] u/d",
        "gone",
    )


def test_a_comparison_that_fails_leaves_the_transaction_open(manager: EmbeddedMetastore) -> None:
    """It is for its owner to end it; a Ctrl-C ends it at once."""

    def fail(overlaps: Sequence[Overlap]) -> Clash | None:
        raise errors.pop()

    errors: list[BaseException] = [KeyboardInterrupt(), ExecutionError("no disk")]
    txn = Transaction.begin(manager, [T])
    changed(manager)
    txn.record([component(txn, OperationType.UPDATE)])
    with pytest.raises(ExecutionError, match="no disk"):
        txn.commit(fail)
    assert (txn.state, states(manager)) == (TransactionState.OPEN, ["o"])
    with pytest.raises(KeyboardInterrupt):
        txn.commit(fail)
    assert (txn.state, states(manager)) == (TransactionState.ABORTED, ["a"])


def test_a_commit_after_others_aborted_it(manager: EmbeddedMetastore) -> None:
    """Fails, and leaving the block adds nothing to that."""
    txn = Transaction.begin(manager)
    manager.abort(txn.txn_id)
    with pytest.raises(TransactionAbortedError), txn:
        txn.commit()
    assert txn.state is TransactionState.ABORTED


def test_asking_whether_it_is_open(manager: EmbeddedMetastore) -> None:
    """``check`` knows what the last heartbeat knew, ``confirm`` asks."""
    txn = Transaction.begin(manager, [T])
    txn.confirm()
    manager.abort_txns([txn.txn_id])
    txn.check()
    with pytest.raises(TransactionAbortedError):
        txn.confirm()
    txn.abort()
    with pytest.raises(InterfaceError):
        txn.confirm()


def test_committing_twice_is_no_error(manager: EmbeddedMetastore) -> None:
    """Aborting what is committed is one."""
    txn = Transaction.begin(manager)
    txn.commit()
    txn.commit()
    with pytest.raises(OperationalError, match="transaction txnid:1 is committed"):
        txn.abort()


def test_an_abort_tells_the_cleaner_what_was_recorded(
    manager: EmbeddedMetastore, metastore_url: str | None
) -> None:
    """The partitions, where they are known."""
    told: list[TxnComponent] = []

    class Listening(EmbeddedMetastore):
        def add_components(self, txn_id: TxnId, components: Iterable[TxnComponent]) -> None:
            told.extend(components)

    with (
        Listening(manager.warehouse, metastore=metastore_url) as listening,
        Transaction.begin(listening, [T]) as txn,
    ):
        recorded = TxnComponent(
            table=T, partition="p=1", operation=OperationType.INSERT, write_id=txn.write_id(T)
        )
        txn.record([recorded])
    assert told == [recorded]


class Unreliable(EmbeddedMetastore):
    """A store whose commit fails in a way the test chooses."""

    failure: BaseException
    happens = False

    def commit(
        self,
        txn_id: TxnId,
        components: Iterable[TxnComponent] = (),
        statistics: Iterable[StatisticsChange] = (),
        run: Run | None = None,
        taken: Sequence[Taken] = (),
    ) -> None:
        if self.happens:
            super().commit(txn_id, components, statistics, run=run, taken=taken)
        raise self.failure


@pytest.fixture
def unreliable(warehouse: Path) -> Iterator[Unreliable]:
    with Unreliable(str(warehouse)) as metastore:
        yield metastore


def test_an_unknown_commit_is_left_alone(unreliable: Unreliable) -> None:
    """Neither aborted nor tried again: it may be visible."""
    unreliable.failure = CommitStateUnknownError("nobody knows")
    with pytest.raises(CommitStateUnknownError), Transaction.begin(unreliable) as txn:
        txn.commit()
    assert txn.state is TransactionState.UNKNOWN
    assert states(unreliable) == ["o"]
    with pytest.raises(OperationalError, match="is unknown"):
        txn.abort()


def test_a_commit_refused_before_it_began_leaves_the_transaction_open(
    unreliable: Unreliable,
) -> None:
    """A busy store: it may be tried again, and is aborted when left."""
    unreliable.failure = MetastoreError("busy")
    with Transaction.begin(unreliable) as txn:
        with pytest.raises(MetastoreError, match="busy"):
            txn.commit()
        assert txn.state is TransactionState.OPEN
    assert states(unreliable) == ["a"]


@pytest.mark.parametrize("happens", [False, True])
def test_an_interrupted_commit(unreliable: Unreliable, happens: bool) -> None:
    """Control-C in the middle of it: aborted if that is still possible, else the interruption says
    that it is committed.
    """
    unreliable.failure, unreliable.happens = KeyboardInterrupt(), happens
    with pytest.raises(KeyboardInterrupt) as caught, Transaction.begin(unreliable) as txn:
        txn.commit()
    assert states(unreliable) == ([] if happens else ["a"])
    notes = getattr(caught.value, "__notes__", [])
    assert notes == (
        [
            f"transaction txnid:{txn.txn_id} could not be aborted: Transaction txnid:1 is already committed."
        ]
        if happens
        else []
    )


def test_no_thread_outlives_a_transaction(manager: EmbeddedMetastore) -> None:
    """However it ends."""
    before = set(threading.enumerate())
    insert(manager)
    with Transaction.begin(manager):
        pass
    assert set(threading.enumerate()) == before
