"""What every transaction manager must do, by Hive's rules. Knows the protocol only, so each back
end runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import (
    Error,
    MetastoreError,
    OperationalError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager, TxnState, TxnWrite
from acidsql.txn.overlaps import Overlap

T = TableName("default", "t")
OTHER = TableName("sales", "orders")


def write(
    manager: TxnManager,
    txn_id: TxnId,
    operation: OperationType = OperationType.INSERT,
    table: TableName = T,
    partition: str | None = None,
) -> TxnComponent:
    return TxnComponent(
        table=table,
        partition=partition,
        operation=operation,
        write_id=manager.allocate_write_id(txn_id, table),
    )


def test_ids_ascend(manager: TxnManager) -> None:
    """Each transaction has a higher id than all before it, whatever became of those."""
    first, second = manager.open_txn(), manager.open_txn()
    manager.abort(second)
    manager.commit(first)
    assert 0 < first < second < manager.open_txn()


def test_an_empty_store_shows_nothing(manager: TxnManager) -> None:
    """Before the first transaction there are no exceptions, and no table has a write id."""
    txns = manager.valid_txns()
    assert (txns.open, txns.aborted, manager.list_txns()) == ((), (), ())
    assert str(manager.valid_write_ids(T, txns)) == "default.t:0:9223372036854775807::"


def test_begin_is_the_three_calls_in_one(manager: TxnManager) -> None:
    """It opens, allocates a write id for each table and fixes the snapshot as of then."""
    before = manager.open_txn()
    opened = manager.begin([T, OTHER])
    assert dict(opened.write_ids) == {T: 1, OTHER: 1}
    assert opened.txns == manager.valid_txns(opened.txn_id)
    assert (opened.txns.high_watermark, opened.txns.open) == (opened.txn_id, (before,))
    assert manager.allocate_write_id(opened.txn_id, T) == 1


def test_a_snapshot_ends_at_its_own_transaction(manager: TxnManager) -> None:
    """Transactions opened later are not visible, not even those committed first."""
    mine, later = manager.open_txn(), manager.open_txn()
    manager.commit(later)
    assert not manager.valid_txns(mine).is_valid(later)
    assert manager.valid_txns().is_valid(later)


def test_the_own_transaction_is_visible_to_itself_only(manager: TxnManager) -> None:
    """Own writes are read before they are committed, by nobody else."""
    mine, other = manager.open_txn(), manager.open_txn()
    write_id = manager.allocate_write_id(mine, T)
    assert manager.valid_write_ids(T, manager.valid_txns(mine)).is_valid(write_id)
    assert not manager.valid_write_ids(T, manager.valid_txns(other)).is_valid(write_id)
    assert not manager.valid_write_ids(T, manager.valid_txns()).is_valid(write_id)


def test_open_and_aborted_are_told_apart(manager: TxnManager) -> None:
    """Both are exceptions; a compactor may pass over the aborted, never over the open."""
    done, undecided, given_up, reader = (manager.open_txn() for _ in range(4))
    for txn_id in (done, undecided, given_up):
        manager.allocate_write_id(txn_id, T)
    manager.commit(done)
    manager.abort(given_up)
    txns = manager.valid_txns(reader)
    assert (txns.open, txns.aborted) == ((undecided,), (given_up,))
    assert str(manager.valid_write_ids(T, txns)) == "default.t:3:2:2:3"


def test_one_write_id_for_each_transaction_and_table(manager: TxnManager) -> None:
    """Asked again it is the same; tables count for themselves; numbers go in the order
    of asking.
    """
    first, second = manager.open_txn(), manager.open_txn()
    assert manager.allocate_write_id(second, T) == 1
    assert manager.allocate_write_id(first, T) == 2
    assert manager.allocate_write_id(second, T) == 1
    assert manager.allocate_write_id(first, OTHER) == 1


def test_write_ids_need_not_follow_transaction_ids(manager: TxnManager) -> None:
    """A reader between the two sees the higher write id and not the lower."""
    early, late = manager.open_txn(), manager.open_txn()
    manager.allocate_write_id(late, T)
    manager.allocate_write_id(early, T)
    manager.commit(early)
    assert str(manager.valid_write_ids(T, manager.valid_txns())) == "default.t:2:1:1:"


def test_a_snapshot_keeps_its_answers(manager: TxnManager) -> None:
    """Whatever is committed, aborted or opened after a transaction began, its write ids stay the
    same.
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
        [now.is_valid(w) for w in range(1, 9)]
        == [seen.is_valid(w) for w in range(1, 9)]
        == [True] + [False] * 7
    )


def test_commit_makes_visible_at_once(manager: TxnManager) -> None:
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


def test_commit_twice_is_no_error(manager: TxnManager) -> None:
    """A commit whose answer was lost may be sent again, also of a transaction that
    wrote nothing.
    """
    for components in ([], [OperationType.UPDATE]):
        txn_id = manager.open_txn()
        wrote = [write(manager, txn_id, operation) for operation in components]
        manager.commit(txn_id, wrote)
        manager.commit(txn_id, wrote)
    assert manager.list_txns() == ()


def test_abort_twice_is_no_error(manager: TxnManager) -> None:
    """An abort whose answer was lost may be sent again."""
    txn_id = manager.open_txn()
    manager.abort(txn_id)
    manager.abort(txn_id)


def test_a_committed_transaction_cannot_be_aborted(manager: TxnManager) -> None:
    """What is visible stays visible."""
    txn_id = manager.begin([T]).txn_id
    manager.commit(txn_id, [write(manager, txn_id)])
    with pytest.raises(OperationalError, match=f"Transaction txnid:{txn_id} is already committed"):
        manager.abort(txn_id)
    assert manager.valid_write_ids(T, manager.valid_txns()).is_valid(1)


CALLS: tuple[Callable[[TxnManager, TxnId], object], ...] = (
    lambda manager, txn_id: manager.commit(txn_id),
    lambda manager, txn_id: manager.heartbeat(txn_id),
    lambda manager, txn_id: manager.allocate_write_id(txn_id, T),
    lambda manager, txn_id: manager.add_components(txn_id, []),
)


@pytest.mark.parametrize("call", CALLS, ids=["commit", "heartbeat", "allocate", "components"])
def test_an_aborted_transaction_can_do_nothing(
    manager: TxnManager, call: Callable[[TxnManager, TxnId], object]
) -> None:
    """Every call says so, with Hive's words and code, and may be run again as a new transaction."""
    txn_id = manager.open_txn()
    manager.abort(txn_id)
    with pytest.raises(
        TransactionAbortedError, match=f"Transaction txnid:{txn_id} already aborted"
    ) as caught:
        call(manager, txn_id)
    assert (caught.value.code, caught.value.retryable) == (10263, True)


@pytest.mark.parametrize(
    "call", [*CALLS, lambda manager, txn_id: manager.abort(txn_id)], ids=["c", "h", "w", "o", "a"]
)
def test_an_unknown_transaction_is_not_retryable(
    manager: TxnManager, call: Callable[[TxnManager, TxnId], object]
) -> None:
    """Nobody knows what became of it, so nobody may be told to do it again."""
    with pytest.raises(
        MetastoreError, match="No record of transaction txnid:99 could be found"
    ) as caught:
        call(manager, TxnId(99))
    assert (caught.value.code, caught.value.retryable) == (10262, False)


def test_a_failed_call_changes_nothing(manager: TxnManager) -> None:
    """A write id refused is not used up."""
    txn_id = manager.open_txn()
    manager.abort(txn_id)
    with pytest.raises(TransactionAbortedError):
        manager.allocate_write_id(txn_id, T)
    assert manager.begin([T]).write_ids[T] == 1


def test_list_txns_shows_open_and_aborted(manager: TxnManager) -> None:
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


U, D, I = OperationType.UPDATE, OperationType.DELETE, OperationType.INSERT  # noqa: E741
CHANGES = {(U, U), (U, D), (D, U), (D, D)}


@pytest.mark.parametrize(
    ("ours", "theirs"), list(product((U, D, I), repeat=2)), ids=lambda operation: operation.value
)
def test_first_committer_wins(
    manager: TxnManager, ours: OperationType, theirs: OperationType
) -> None:
    """Of two overlapping transactions that change one table the second to commit is aborted;
    inserts never conflict.
    """
    first, second = manager.open_txn(), manager.open_txn()
    manager.commit(second, [write(manager, second, theirs)])
    last = manager.open_txn()
    if (ours, theirs) not in CHANGES:
        manager.commit(first, [write(manager, first, ours)])
        return
    message = (
        f"Aborting [txnid:{first},{last}] due to a write conflict on default/t "
        f"committed by [txnid:{second},{second}] {ours.value}/{theirs.value}"
    )
    with pytest.raises(WriteConflictError) as caught:
        manager.commit(first, [write(manager, first, ours)])
    assert (caught.value.message, caught.value.code, caught.value.retryable) == (
        message,
        10263,
        True,
    )
    assert manager.valid_txns().is_aborted(first)
    with pytest.raises(TransactionAbortedError):
        manager.commit(first)


@pytest.mark.parametrize(
    "other",
    [OperationType.INSERT, OperationType.UPDATE, OperationType.DELETE, OperationType.OVERWRITE],
)
@pytest.mark.parametrize("overwriting_commits_first", [True, False])
def test_overwriting_conflicts_with_every_write(
    manager: TxnManager, other: OperationType, overwriting_commits_first: bool
) -> None:
    """An overwriting hides what it has not seen, so none that overlaps it, not even an insert, may
    be committed beside it.
    """
    overwriter, writer = manager.open_txn(), manager.open_txn()
    mine = write(manager, overwriter, OperationType.OVERWRITE)
    theirs = write(manager, writer, other)
    order = (
        [(overwriter, mine), (writer, theirs)]
        if overwriting_commits_first
        else [(writer, theirs), (overwriter, mine)]
    )
    (first, first_component), (second, second_component) = order
    manager.commit(first, [first_component])
    with pytest.raises(WriteConflictError):
        manager.commit(second, [second_component])
    later = manager.open_txn()
    manager.commit(later, [write(manager, later, other)])


def test_the_one_after_the_other_never_conflict(manager: TxnManager) -> None:
    """A transaction that began after the other's commit has seen its rows."""
    for _ in range(3):
        txn_id = manager.open_txn()
        manager.commit(txn_id, [write(manager, txn_id, U)])
    assert manager.list_txns() == ()


def test_a_conflict_spans_every_commit_since_the_beginning(manager: TxnManager) -> None:
    """Not only the last one: a long transaction is checked against all that committed meanwhile."""
    long_one = manager.open_txn()
    for table in (T, OTHER):
        txn_id = manager.open_txn()
        manager.commit(txn_id, [write(manager, txn_id, D, table)])
    with pytest.raises(WriteConflictError, match="on default/t committed"):
        manager.commit(long_one, [write(manager, long_one, U)])


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        ("p=1", "p=1", True),
        ("p=1", "p=2", False),
        (None, None, True),
        (None, "p=1", False),
        ("p=1", None, False),
        ("p=1", "P=1", False),
    ],
)
def test_conflicts_are_by_partition(
    manager: TxnManager, ours: str | None, theirs: str | None, conflict: bool
) -> None:
    """Equal partitions, or both the whole table; a record of the whole table meets only its like,
    as in Hive.
    """
    first, second = manager.open_txn(), manager.open_txn()
    manager.commit(first, [write(manager, first, U, partition=theirs)])
    components = [
        write(manager, second, I, partition="p=0"),
        write(manager, second, D, partition=ours),
    ]
    if not conflict:
        manager.commit(second, components)
        return
    place = "default/t/p=1" if ours else "default/t"
    with pytest.raises(WriteConflictError, match=f"on {place} committed by .* d/u"):
        manager.commit(second, components)


@pytest.mark.parametrize(("ours", "theirs"), sorted(CHANGES))
def test_changes_that_may_be_of_different_rows_are_told(
    manager: TxnManager, ours: OperationType, theirs: OperationType
) -> None:
    """Where rows count, nothing is changed until the overlap is said to be harmless; who does not
    compare rows gets the conflict all the same.
    """
    first, second, third = (manager.open_txn() for _ in range(3))
    manager.commit(second, [write(manager, second, theirs, partition="p=1")])
    mine = [write(manager, first, ours, partition="p=1"), write(manager, first, I)]
    (overlap,) = manager.commit(first, mine, harmless=())
    assert overlap == Overlap(
        table=T,
        partition="p=1",
        txn_id=second,
        commit_id=third,
        write_id=WriteId(1),
        operations=f"{ours.value}/{theirs.value}",
        highest_txn=third,
    )
    assert [info.txn_id for info in manager.list_txns()] == [first, third]
    assert manager.commit(first, mine, harmless=()) == (overlap,)
    assert manager.commit(first, mine, harmless=(overlap,)) == ()
    assert manager.valid_txns().is_valid(first)
    with pytest.raises(WriteConflictError, match="on default/t/p=1"):
        manager.commit(third, [write(manager, third, U, partition="p=1")])


def test_overlaps_that_come_in_between_are_told_next(manager: TxnManager) -> None:
    """What was compared stays harmless when the commit is asked for again, under a later commit
    id; each table, partition and transaction is told by itself.
    """
    long_one, early, late = (manager.open_txn() for _ in range(3))
    mine = [write(manager, long_one, U), write(manager, long_one, D, OTHER, "p=1")]
    manager.commit(early, [write(manager, early, U), write(manager, early, D)])
    compared = manager.commit(long_one, mine, harmless=())
    assert [(one.txn_id, one.operations) for one in compared] == [(early, "u/u")]
    manager.open_txn()
    theirs = [write(manager, late, D), write(manager, late, U, OTHER, "p=1")]
    manager.commit(late, theirs, harmless=manager.commit(late, theirs, harmless=()))
    new = manager.commit(long_one, mine, harmless=compared)
    assert [(one.txn_id, str(one), one.write_id) for one in new] == [
        (late, "default/t", 3),
        (late, "sales/orders/p=1", 2),
    ]
    assert manager.commit(long_one, mine, harmless=(*compared, *new)) == ()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pair
        for pair in product((I, U, D, OperationType.OVERWRITE), repeat=2)
        if OperationType.OVERWRITE in pair
    ],
)
def test_an_overwriting_is_never_compared(
    manager: TxnManager, ours: OperationType, theirs: OperationType
) -> None:
    """It does not say which rows it hides, so it is a conflict, also where another overlap is only
    to be compared.
    """
    first, second, third = (manager.open_txn() for _ in range(3))
    manager.commit(second, [write(manager, second, U, OTHER)])
    manager.commit(third, [write(manager, third, theirs)])
    mine = [write(manager, first, U, OTHER), write(manager, first, ours)]
    with pytest.raises(WriteConflictError, match="on default/t committed by"):
        manager.commit(first, mine, harmless=())
    assert manager.valid_txns().is_aborted(first)


def test_an_abort_tells_why(manager: TxnManager) -> None:
    """A transaction that lost a conflict says so to whoever asks later."""
    first, second = manager.open_txn(), manager.open_txn()
    manager.abort(first, conflict=True)
    manager.abort(first, conflict=True)
    manager.abort(second)
    for txn_id, words in ((first, "had changed the same data"), (second, "was rolled back")):
        with pytest.raises(TransactionAbortedError) as caught:
            manager.heartbeat(txn_id)
        assert words in (caught.value.detail or "")


def test_conflicts_are_by_table(manager: TxnManager) -> None:
    """Another table, or the same name in another database, is no conflict."""
    first, *others = (manager.open_txn() for _ in range(3))
    manager.commit(first, [write(manager, first, U)])
    for txn_id, table in zip(others, (OTHER, TableName("sales", "t")), strict=True):
        manager.commit(txn_id, [write(manager, txn_id, U, table)])


def test_what_an_aborted_transaction_did_is_no_conflict(manager: TxnManager) -> None:
    """Neither by itself nor after losing a conflict."""
    first, second, third = (manager.open_txn() for _ in range(3))
    manager.add_components(first, [write(manager, first, U)])
    manager.abort(first)
    manager.commit(second, [write(manager, second, U, OTHER)])
    with pytest.raises(WriteConflictError):
        manager.commit(third, [write(manager, third, U), write(manager, third, U, OTHER)])
    fourth = manager.open_txn()
    manager.commit(fourth, [write(manager, fourth, U)])


def test_components_added_before_count_as_those_given_with_the_commit(manager: TxnManager) -> None:
    """Either way they take part in the conflict check."""
    first, second = manager.open_txn(), manager.open_txn()
    manager.add_components(first, [write(manager, first, U)])
    manager.commit(first)
    manager.add_components(second, [write(manager, second, D)])
    with pytest.raises(WriteConflictError):
        manager.commit(second)


def test_reading_conflicts_with_nothing(manager: TxnManager) -> None:
    """A component that only read is no change: write skew is allowed under snapshot isolation."""
    first, second = manager.open_txn(), manager.open_txn()
    reads = TxnComponent(
        table=OTHER,
        partition=None,
        operation=OperationType.SELECT,
        write_id=manager.allocate_write_id(first, OTHER),
    )
    manager.commit(first, [write(manager, first, U), reads])
    manager.commit(second, [write(manager, second, U, OTHER)])


def test_errors_survive_pickling(manager: TxnManager) -> None:
    """They may cross a process boundary with code, hint and class."""
    import pickle

    first, second = manager.open_txn(), manager.open_txn()
    manager.commit(first, [write(manager, first, U)])
    with pytest.raises(Error) as caught:
        manager.commit(second, [write(manager, second, U)])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (WriteConflictError, str(caught.value))


def test_a_user_aborts_open_transactions_only(manager: TxnManager) -> None:
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


def test_a_table_takes_over_the_write_ids_of_its_files(manager: TxnManager) -> None:
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


def test_what_became_of_a_transaction_is_on_record(manager: TxnManager) -> None:
    """Its line of SHOW TRANSACTIONS, whatever its state, what it wrote, and why it was aborted."""
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
            TxnWrite(table=T, partition=None, operation=OperationType.INSERT, write_id=WriteId(1)),
            TxnWrite(
                table=OTHER, partition="p=1", operation=OperationType.UPDATE, write_id=WriteId(1)
            ),
        ),
    ]


def test_a_transaction_that_was_never_opened_is_not_on_record(manager: TxnManager) -> None:
    """Neither is the number behind the newest one."""
    newest = manager.open_txn()
    assert manager.find_txn(TxnId(newest + 1)) is None
    assert manager.find_txn(TxnId(0)) is None
