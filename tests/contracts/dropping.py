"""Tables that are dropped while transactions write to them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, Database, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import TransactionAbortedError, WriteConflictError
from acidsql.txn.manager import OperationType, TxnManager
from acidsql.txn.readers import ReadRequest
from tests.contracts.lock_requests import asking, on
from tests.contracts.store import StoreContract, T, component, insert

OTHER = TableName("default", "other")
ACID = {"transactional": "true"}


def table_of(name: TableName) -> Table:
    return Table(name=name, columns=(Column(name="a", type=parse_type("int")),), location="")


def create(catalog: Catalog, name: TableName = T) -> Table:
    return catalog.create_table(table_of(name))


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
        """It took its write id between drop and re-creation: nobody gets that again."""
        create(catalog)
        catalog.drop_table(T)
        late = manager.begin([T])
        create(catalog)
        assert manager.begin([T]).write_ids[T] == 2
        with pytest.raises(TransactionAbortedError):
            manager.commit(late.txn_id, [component(T, 1)])

    @pytest.mark.parametrize("leaving", ["dropped", "renamed", "dropped with its database"])
    @pytest.mark.parametrize("in_txn", [False, True])
    def test_no_file_of_a_table_that_is_read_comes_twice(
        self, catalog: Catalog, manager: TxnManager, leaving: str, in_txn: bool
    ) -> None:
        """The next table of its name begins behind its write ids, though the reader is done by
        then; one that comes with files as well. What was read by nobody begins at 1.
        """
        catalog.create_database(Database(name="sales", location=""))
        name, other = TableName("sales", "orders"), TableName("sales", "other")
        for table in (name, other):
            create(catalog, table)
            insert(manager, table)
            insert(manager, table)
        if in_txn:
            reader = manager.begin(reads=[name])
            assert name in reader.seen
        else:
            manager.open_reader(ReadRequest(tables=(name,), lease_seconds=1000))
        match leaving:
            case "dropped":
                catalog.drop_table(name)
            case "renamed":
                before = catalog.find_table(name)
                assert before is not None
                catalog.rename_table(before, replace(before, name=TableName("default", "new")))
            case _:
                catalog.drop_database("sales", cascade=True)
                catalog.create_database(Database(name="sales", location=""))
        if leaving != "dropped with its database":
            catalog.drop_table(other)
        if in_txn:
            manager.abort(reader.txn_id)
        assert manager.first_write_id(other) == 1
        assert manager.first_write_id(name) == 3
        late = replace(table_of(name), properties=ACID)
        with (
            pytest.raises(WriteConflictError),
            catalog.creating_table(late, write_id=WriteId(2)),
        ):
            pytest.fail("a file would have had a name that is looked for")
        with catalog.creating_table(late, write_id=WriteId(3)):
            pass
        assert manager.begin([name]).write_ids[name] == 4

    def test_a_table_that_gets_the_name_of_one_that_is_read(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """What is written to it from then on has names that the other's files had not."""
        for name, count in ((T, 5), (OTHER, 2)):
            create(catalog, name)
            for _ in range(count):
                insert(manager, name)
        manager.open_reader(ReadRequest(tables=(T,), lease_seconds=1000))
        catalog.drop_table(T)
        table = catalog.find_table(OTHER)
        assert table is not None
        catalog.rename_table(table, replace(table, name=T))
        assert manager.begin([T]).write_ids[T] == 6

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
