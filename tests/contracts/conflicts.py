"""Which transactions conflict: the first to commit wins."""

from __future__ import annotations

import pickle
from itertools import product

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import Error, TransactionAbortedError, WriteConflictError
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager
from acidsql.txn.overlaps import Overlap
from tests.contracts.store import OTHER, StoreContract, T, write

U, D, I = OperationType.UPDATE, OperationType.DELETE, OperationType.INSERT  # noqa: E741
S, O = OperationType.SELECT, OperationType.OVERWRITE  # noqa: E741
CHANGES = {(U, U), (U, D), (D, U), (D, D)}
PAIRS = {
    "same table": ((T, None), (T, None), True),
    "same partition": ((T, "p=1"), (T, "p=1"), True),
    "other partition": ((T, "p=1"), (T, "p=2"), False),
    "table and partition": ((T, None), (T, "p=1"), False),
    "other table": ((T, None), (OTHER, None), False),
    "other table's partition": ((T, "p=1"), (OTHER, "p=1"), False),
}
"""Where the two write, and whether that is one object."""


class ConflictContract(StoreContract):
    """Overlapping transactions that wrote to one table or partition."""

    @pytest.mark.parametrize(
        ("ours", "others"),
        list(product((U, D, I), repeat=2)),
        ids=lambda operation: operation.value,
    )
    def test_first_committer_wins(
        self, manager: TxnManager, ours: OperationType, others: OperationType
    ) -> None:
        """Two overlapping transactions change one table: the second to commit is aborted;
        inserts never conflict.
        """
        first, second = manager.open_txn(), manager.open_txn()
        manager.commit(second, [write(manager, second, others)])
        last = manager.open_txn()
        if (ours, others) not in CHANGES:
            manager.commit(first, [write(manager, first, ours)])
            return
        message = (
            f"Aborting [txnid:{first},{last}] due to a write conflict on default/t "
            f"committed by [txnid:{second},{second}] {ours.value}/{others.value}"
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
        self, manager: TxnManager, other: OperationType, overwriting_commits_first: bool
    ) -> None:
        """An overwriting hides what it has not seen, so none that overlaps it, not even an insert,
        may be committed beside it.
        """
        overwriter, writer = manager.open_txn(), manager.open_txn()
        changes = write(manager, overwriter, OperationType.OVERWRITE)
        others = write(manager, writer, other)
        order = (
            [(overwriter, changes), (writer, others)]
            if overwriting_commits_first
            else [(writer, others), (overwriter, changes)]
        )
        (first, first_component), (second, second_component) = order
        manager.commit(first, [first_component])
        with pytest.raises(WriteConflictError):
            manager.commit(second, [second_component])
        later = manager.open_txn()
        manager.commit(later, [write(manager, later, other)])

    @pytest.mark.parametrize("pair", PAIRS)
    @pytest.mark.parametrize(
        ("ours", "others"), list(product((S, I, U, D, O), repeat=2)), ids=lambda kind: kind.value
    )
    def test_conflicts_are_by_what_was_done_where(
        self, manager: TxnManager, ours: OperationType, others: OperationType, pair: str
    ) -> None:
        """Two changes of one object are a conflict, an overwriting and any write of it are one;
        nothing else is. The one who lost has never been, the other stays.
        """
        (our_table, our_part), (their_table, their_part), same = PAIRS[pair]
        first, second = manager.open_txn(), manager.open_txn()
        changes = write(manager, first, ours, our_table, our_part)
        manager.commit(second, [write(manager, second, others, their_table, their_part)])
        overwrites = O in (ours, others) and S not in (ours, others)
        if same and ((ours, others) in CHANGES or overwrites):
            with pytest.raises(WriteConflictError):
                manager.commit(first, [changes])
        else:
            manager.commit(first, [changes])
        lost = same and ((ours, others) in CHANGES or overwrites)
        txns = manager.valid_txns()
        assert (txns.is_valid(first), txns.is_valid(second)) == (not lost, True)

    def test_the_one_after_the_other_never_conflict(self, manager: TxnManager) -> None:
        """A transaction that began after the other's commit has seen its rows."""
        for _ in range(3):
            txn_id = manager.open_txn()
            manager.commit(txn_id, [write(manager, txn_id, U)])
        assert manager.list_txns() == ()

    def test_a_conflict_spans_every_commit_since_the_beginning(self, manager: TxnManager) -> None:
        """Not only the last one: a long transaction is checked against all that committed
        meanwhile.
        """
        long_one = manager.open_txn()
        for table in (T, OTHER):
            txn_id = manager.open_txn()
            manager.commit(txn_id, [write(manager, txn_id, D, table)])
        with pytest.raises(WriteConflictError, match="on default/t committed"):
            manager.commit(long_one, [write(manager, long_one, U)])

    @pytest.mark.parametrize(
        ("ours", "others", "conflict"),
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
        self, manager: TxnManager, ours: str | None, others: str | None, conflict: bool
    ) -> None:
        """Equal partitions, or both the whole table; a record of the whole table meets only its
        like, as in Hive.
        """
        first, second = manager.open_txn(), manager.open_txn()
        manager.commit(first, [write(manager, first, U, partition=others)])
        components = [
            write(manager, second, I, partition="p=0"),
            write(manager, second, D, partition=ours),
        ]
        if not conflict:
            manager.commit(second, components)
            return
        changed = "default/t/p=1" if ours else "default/t"
        with pytest.raises(WriteConflictError, match=f"on {changed} committed by .* d/u"):
            manager.commit(second, components)

    @pytest.mark.parametrize(("ours", "others"), sorted(CHANGES))
    def test_changes_that_may_be_of_different_rows_are_told(
        self, manager: TxnManager, ours: OperationType, others: OperationType
    ) -> None:
        """Where rows count, nothing is changed until the overlap is said to be harmless; who does
        not compare rows gets the conflict all the same.
        """
        first, second, third = (manager.open_txn() for _ in range(3))
        manager.commit(second, [write(manager, second, others, partition="p=1")])
        changes = [write(manager, first, ours, partition="p=1"), write(manager, first, I)]
        (overlap,) = manager.commit(first, changes, harmless=())
        assert overlap == Overlap(
            table=T,
            partition="p=1",
            txn_id=second,
            commit_id=third,
            write_id=WriteId(1),
            operations=f"{ours.value}/{others.value}",
            highest_txn=third,
        )
        assert [info.txn_id for info in manager.list_txns()] == [first, third]
        assert manager.commit(first, changes, harmless=()) == (overlap,)
        assert manager.commit(first, changes, harmless=(overlap,)) == ()
        assert manager.valid_txns().is_valid(first)
        with pytest.raises(WriteConflictError, match="on default/t/p=1"):
            manager.commit(third, [write(manager, third, U, partition="p=1")])

    def test_overlaps_that_come_in_between_are_told_next(self, manager: TxnManager) -> None:
        """What was compared stays harmless when the commit is asked for again, under a later commit
        id; each table, partition and transaction is told by itself.
        """
        long_one, early, late = (manager.open_txn() for _ in range(3))
        changes = [write(manager, long_one, U), write(manager, long_one, D, OTHER, "p=1")]
        manager.commit(early, [write(manager, early, U), write(manager, early, D)])
        compared = manager.commit(long_one, changes, harmless=())
        assert [(one.txn_id, one.operations) for one in compared] == [(early, "u/u")]
        manager.open_txn()
        others = [write(manager, late, D), write(manager, late, U, OTHER, "p=1")]
        manager.commit(late, others, harmless=manager.commit(late, others, harmless=()))
        new = manager.commit(long_one, changes, harmless=compared)
        assert [(one.txn_id, str(one), one.write_id) for one in new] == [
            (late, "default/t", 3),
            (late, "sales/orders/p=1", 2),
        ]
        assert manager.commit(long_one, changes, harmless=(*compared, *new)) == ()

    @pytest.mark.parametrize(
        ("ours", "others"),
        [
            pair
            for pair in product((I, U, D, OperationType.OVERWRITE), repeat=2)
            if OperationType.OVERWRITE in pair
        ],
    )
    def test_an_overwriting_is_never_compared(
        self, manager: TxnManager, ours: OperationType, others: OperationType
    ) -> None:
        """It does not say which rows it hides, so it is a conflict, also where another overlap is
        only to be compared.
        """
        first, second, third = (manager.open_txn() for _ in range(3))
        manager.commit(second, [write(manager, second, U, OTHER)])
        manager.commit(third, [write(manager, third, others)])
        changes = [write(manager, first, U, OTHER), write(manager, first, ours)]
        with pytest.raises(WriteConflictError, match="on default/t committed by"):
            manager.commit(first, changes, harmless=())
        assert manager.valid_txns().is_aborted(first)

    def test_conflicts_are_by_table(self, manager: TxnManager) -> None:
        """Another table, or the same name in another database, is no conflict."""
        first, *others = (manager.open_txn() for _ in range(3))
        manager.commit(first, [write(manager, first, U)])
        for txn_id, table in zip(others, (OTHER, TableName("sales", "t")), strict=True):
            manager.commit(txn_id, [write(manager, txn_id, U, table)])

    def test_what_an_aborted_transaction_did_is_no_conflict(self, manager: TxnManager) -> None:
        """Neither by itself nor after losing a conflict."""
        first, second, third = (manager.open_txn() for _ in range(3))
        manager.add_components(first, [write(manager, first, U)])
        manager.abort(first)
        manager.commit(second, [write(manager, second, U, OTHER)])
        with pytest.raises(WriteConflictError):
            manager.commit(third, [write(manager, third, U), write(manager, third, U, OTHER)])
        fourth = manager.open_txn()
        manager.commit(fourth, [write(manager, fourth, U)])

    def test_components_added_before_count_as_those_given_with_the_commit(
        self, manager: TxnManager
    ) -> None:
        """Either way they take part in the conflict check."""
        first, second = manager.open_txn(), manager.open_txn()
        manager.add_components(first, [write(manager, first, U)])
        manager.commit(first)
        manager.add_components(second, [write(manager, second, D)])
        with pytest.raises(WriteConflictError):
            manager.commit(second)

    def test_reading_conflicts_with_nothing(self, manager: TxnManager) -> None:
        """A component that only read is no change: write skew is allowed under snapshot
        isolation.
        """
        first, second = manager.open_txn(), manager.open_txn()
        reads = TxnComponent(
            table=OTHER,
            partition=None,
            operation=OperationType.SELECT,
            write_id=manager.allocate_write_id(first, OTHER),
        )
        manager.commit(first, [write(manager, first, U), reads])
        manager.commit(second, [write(manager, second, U, OTHER)])

    def test_errors_survive_pickling(self, manager: TxnManager) -> None:
        """They may cross a process boundary with code, hint and class."""

        first, second = manager.open_txn(), manager.open_txn()
        manager.commit(first, [write(manager, first, U)])
        with pytest.raises(Error) as caught:
            manager.commit(second, [write(manager, second, U)])
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (type(copy), str(copy)) == (WriteConflictError, str(caught.value))
