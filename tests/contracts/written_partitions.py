"""Partitions that are dropped, renamed or moved while transactions write to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, Partition, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import TransactionAbortedError, WriteConflictError
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager
from tests.contracts.store import StoreContract

T = TableName("default", "p")
ONE = Partition(values=("1",), location="/data/p/k=1")
TWO = Partition(values=("2",), location="/data/p/k=2")
Writer = Callable[..., TxnId]


def record(
    manager: TxnManager,
    txn_id: TxnId,
    *partitions: str | None,
    operation: OperationType = OperationType.INSERT,
) -> None:
    write_id = manager.allocate_write_id(txn_id, T)
    manager.add_components(
        txn_id,
        [
            TxnComponent(table=T, partition=p, operation=operation, write_id=write_id)
            for p in partitions
        ],
    )


def record_and_commit(
    manager: TxnManager,
    txn_id: TxnId,
    partition: str,
    *,
    operation: OperationType = OperationType.INSERT,
) -> None:
    record(manager, txn_id, partition, operation=operation)
    manager.commit(txn_id)


def renamed(partition: Partition) -> Partition:
    return replace(partition, values=("9",), location="/data/p/k=9")


class WrittenPartitions(StoreContract):
    """A table with two partitions, and transactions that write to them."""

    @pytest.fixture
    def stored(self, catalog: Catalog) -> Table:
        """With the partitions k=1 and k=2."""
        column = Column(name="id", type=parse_type("int"))
        table = catalog.create_table(
            Table(
                name=T,
                columns=(column,),
                location="/data/p",
                partition_columns=(replace(column, name="k"),),
                properties={"transactional": "true"},
            )
        )
        catalog.add_partitions(T, (ONE, TWO))
        return table

    @pytest.fixture
    def writer(self, manager: TxnManager, stored: Table) -> Writer:
        """``writer("k=1")`` opens a transaction that has recorded a change of each partition
        named.
        """

        def opened(
            *partitions: str | None, operation: OperationType = OperationType.INSERT
        ) -> TxnId:
            txn_id = manager.open_txn()
            record(manager, txn_id, *partitions, operation=operation)
            return txn_id

        return opened


class WrittenPartitionContract(WrittenPartitions):
    """Who wrote where a partition is no more does not commit."""

    @pytest.mark.parametrize("recorded", ["k=1", None])
    def test_a_writer_of_a_dropped_partition_is_aborted(
        self,
        catalog: Catalog,
        manager: TxnManager,
        stored: Table,
        writer: Writer,
        recorded: str | None,
    ) -> None:
        """Also one that says only that it wrote somewhere; a writer of another partition goes
        on.
        """
        losing, other = writer("k=2", recorded), writer("k=2")
        catalog.drop_partitions(stored, [ONE])
        with pytest.raises(TransactionAbortedError) as caught:
            manager.commit(losing)
        assert caught.value.detail == "a partition it wrote to was dropped"
        manager.commit(other)

    @pytest.mark.parametrize(
        "operation",
        [OperationType.INSERT, OperationType.UPDATE, OperationType.DELETE, OperationType.OVERWRITE],
    )
    def test_a_writer_that_tells_too_late_is_refused(
        self, catalog: Catalog, manager: TxnManager, stored: Table, operation: OperationType
    ) -> None:
        """When it tells or at the latest when it commits: its files went with the directory;
        whoever begins after the drop makes the partition anew.
        """
        early = manager.begin([T]).txn_id
        catalog.drop_partitions(stored, [ONE])
        catalog.add_partitions(T, [ONE])
        late = manager.begin([T]).txn_id
        record(manager, late, "k=1", operation=operation)
        manager.commit(late)
        with pytest.raises(
            WriteConflictError,
            match=r"because default/p/k=1 was added, dropped, renamed or moved meanwhile",
        ) as caught:
            record_and_commit(manager, early, "k=1", operation=operation)
        assert caught.value.retryable

    def test_a_writer_of_another_partition_may_tell_late(
        self, catalog: Catalog, manager: TxnManager, stored: Table
    ) -> None:
        """Only the dropped one is closed to it."""
        early = manager.begin([T]).txn_id
        catalog.drop_partitions(stored, [ONE])
        record(manager, early, "k=2")
        manager.commit(early)

    def test_a_partition_is_not_renamed_under_a_writer(
        self, catalog: Catalog, manager: TxnManager, stored: Table, writer: Writer
    ) -> None:
        """It may be once the writer has ended; writers of other partitions do not matter."""
        writer("k=2")
        busy = writer("k=1")
        with pytest.raises(
            WriteConflictError,
            match=f'partition k=1 of table "default.p" is being written by .* txnid:{busy}',
        ):
            catalog.alter_partition(stored, ONE, renamed(ONE))
        assert catalog.list_partitions(stored) == (ONE, TWO)
        manager.commit(busy)
        catalog.alter_partition(stored, ONE, renamed(ONE))
        assert catalog.list_partitions(stored) == (TWO, renamed(ONE))

    @pytest.mark.parametrize("name", ["k=1", "k=9"])
    def test_who_began_before_a_rename_writes_to_neither_name(
        self, catalog: Catalog, manager: TxnManager, stored: Table, name: str
    ) -> None:
        """It looked for the rows in another directory."""
        early = manager.begin([T]).txn_id
        catalog.alter_partition(stored, ONE, renamed(ONE))
        late = manager.begin([T]).txn_id
        record(manager, late, name, operation=OperationType.OVERWRITE)
        with pytest.raises(
            WriteConflictError, match="was added, dropped, renamed or moved meanwhile"
        ):
            record_and_commit(manager, early, name, operation=OperationType.OVERWRITE)
        manager.commit(late)

    def test_what_ddl_did_is_compared_with_no_rows(
        self, catalog: Catalog, manager: TxnManager, stored: Table
    ) -> None:
        """An UPDATE of a partition that was renamed meanwhile fails at once, also where another
        transaction had changed rows of it before.
        """
        early, other = manager.begin([T]).txn_id, manager.begin([T]).txn_id
        record(manager, other, "k=1", operation=OperationType.UPDATE)
        manager.commit(other)
        catalog.alter_partition(stored, ONE, renamed(ONE))
        update = TxnComponent(
            table=T, partition="k=9", operation=OperationType.UPDATE, write_id=WriteId(1)
        )
        with pytest.raises(
            WriteConflictError, match="was added, dropped, renamed or moved meanwhile"
        ):
            manager.commit(early, [update], harmless=())

    def test_who_began_before_a_move_does_not_write_to_the_old_place(
        self, catalog: Catalog, manager: TxnManager, stored: Table
    ) -> None:
        """A location is as good as a name."""
        early = manager.begin([T]).txn_id
        catalog.alter_partition(stored, ONE, replace(ONE, location="/elsewhere"))
        with pytest.raises(WriteConflictError):
            record_and_commit(manager, early, "k=1")

    def test_a_table_does_not_move_under_a_writer(
        self, catalog: Catalog, manager: TxnManager, stored: Table
    ) -> None:
        """A write id is enough: its files may be anywhere in the table."""
        busy = manager.begin([T]).txn_id
        after = replace(stored, location="/elsewhere")
        with pytest.raises(
            WriteConflictError,
            match=f'table "default.p" is being written by transaction txnid:{busy}',
        ):
            catalog.alter_table(stored, after)
        manager.abort(busy)
        catalog.alter_table(stored, after)
        assert catalog.find_table(T) == after

    @pytest.mark.parametrize(
        ("location", "conflict"), [("/elsewhere", True), ("/data/p/k=3", False)]
    )
    def test_who_began_before_an_addition_writes_to_its_place(
        self, catalog: Catalog, manager: TxnManager, stored: Table, location: str, conflict: bool
    ) -> None:
        """Two may make the same partition; one that found none wrote to the place that its name
        says, so it must lie there.
        """
        early = manager.begin([T]).txn_id
        catalog.add_partitions(T, [Partition(values=("3",), location=location)])
        assert (
            catalog.add_partitions(
                T, [Partition(values=("3",), location="/data/p/k=3")], if_not_exists=True
            )
            == ()
        )
        if conflict:
            with pytest.raises(
                WriteConflictError, match="was added, dropped, renamed or moved meanwhile"
            ):
                record_and_commit(manager, early, "k=3")
        else:
            record_and_commit(manager, early, "k=3")
