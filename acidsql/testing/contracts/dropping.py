"""Tables that are dropped while transactions write to them."""

from __future__ import annotations

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, Database, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import TransactionAbortedError
from acidsql.testing.contracts.lock_requests import asking, on
from acidsql.testing.contracts.store import StoreContract, T, component, insert
from acidsql.txn.manager import OperationType, TxnManager

OTHER = TableName("default", "other")


def create(catalog: Catalog, name: TableName = T) -> Table:
    return catalog.create_table(
        Table(name=name, columns=(Column(name="a", type=parse_type("int")),), location="")
    )


class DropContract(StoreContract):
    """A dropped table takes its write ids and its writers along."""

    def test_dropping_a_table_aborts_its_writers(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Whoever was given a write id on it, and nobody else; what they locked is free."""
        for name in (T, OTHER):
            create(catalog, name)
        writer = manager.begin([T, OTHER], asking(on(T))).txn_id
        bystander = manager.begin([OTHER]).txn_id
        catalog.drop_table(T)
        with pytest.raises(TransactionAbortedError) as caught:
            manager.commit(writer, [component(T, 1)])
        assert caught.value.detail == "a table it wrote to was dropped"
        assert manager.list_locks() == ()
        manager.commit(bystander, [component(OTHER, 2)])

    def test_a_re_created_table_begins_anew(self, catalog: Catalog, manager: TxnManager) -> None:
        """Write id 1, no conflicts with the former table's writers, nothing visible to those who
        began before.
        """
        create(catalog)
        for _ in range(3):
            insert(manager, operation=OperationType.UPDATE)
        overlapping = manager.begin()
        insert(manager, operation=OperationType.UPDATE)
        catalog.drop_table(T)
        create(catalog)
        insert(manager)
        assert manager.valid_write_ids(T, overlapping.txns).high_watermark == 0
        write_id = manager.allocate_write_id(overlapping.txn_id, T)
        assert write_id == 2
        manager.commit(overlapping.txn_id, [component(T, write_id, OperationType.UPDATE)])
        assert (
            str(manager.valid_write_ids(T, manager.valid_txns()))
            == "default.t:2:9223372036854775807::"
        )

    def test_a_writer_that_missed_the_drop_does_not_reach_the_new_table(
        self,
        catalog: Catalog,
        manager: TxnManager,
    ) -> None:
        """It took its write id between drop and re-creation."""
        create(catalog)
        catalog.drop_table(T)
        late = manager.begin([T])
        create(catalog)
        assert manager.begin([T]).write_ids[T] == 1
        with pytest.raises(TransactionAbortedError):
            manager.commit(late.txn_id, [component(T, 1)])

    def test_dropping_a_database_drops_what_transactions_know(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Each of its tables goes as one that is dropped by itself."""
        catalog.create_database(Database(name="sales", location=""))
        orders = TableName("sales", "orders")
        create(catalog, orders)
        insert(manager, orders)
        catalog.drop_database("sales", cascade=True)
        assert manager.valid_write_ids(orders, manager.valid_txns()).high_watermark == 0
