"""What a catalog and its transaction manager must do together when a table is altered, renamed or
becomes transactional.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acidsql.acid.ids import WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import (
    Bucketing,
    Constraint,
    ConstraintKind,
    Database,
    Partition,
    SortColumn,
    Table,
    TableName,
)
from acidsql.errors import (
    AlreadyExistsError,
    DatabaseNotFoundError,
    ExecutionError,
    TableNotFoundError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager, TxnState
from tests.contracts.sample_tables import T, columns
from tests.contracts.store import OpenStore, StoreContract

NEW = TableName("default", "new")
ACID = {"transactional": "true", "transactional_properties": "default", "bucketing_version": "2"}


def table(name: TableName = T, **facts: Any) -> Table:
    known: dict[str, Any] = {
        "name": name,
        "columns": columns(a="int", b="string"),
        "location": f"/data/{name.table}",
        "properties": {"k": "v"},
    }
    return Table(**(known | facts))


def renamed(before: Table, name: TableName = NEW) -> Table:
    return replace(
        before,
        name=name,
        location=f"/data/{name.table}",
        properties={**before.properties, "stamp": "1"},
    )


def write(
    manager: TxnManager, name: TableName = T, operation: OperationType = OperationType.INSERT
) -> WriteId:
    opened = manager.begin([name])
    write_id = opened.write_ids[name]
    manager.commit(
        opened.txn_id,
        [TxnComponent(table=name, partition=None, operation=operation, write_id=write_id)],
    )
    return write_id


def seen(manager: TxnManager, name: TableName) -> str:
    return str(manager.valid_write_ids(name, manager.valid_txns()))


class AlterContract(StoreContract):
    """A table that is altered or renamed keeps its transactions."""

    def test_a_renamed_column_is_renamed_wherever_the_table_names_it(
        self, catalog: Catalog
    ) -> None:
        """In bucketing, sorting and constraints, also those of other tables that refer to it."""
        before = catalog.create_table(
            table(
                columns=columns(id="int", v="string", w="int"),
                partition_columns=columns(ds="string"),
                bucketing=Bucketing(
                    columns=("w", "id"),
                    count=4,
                    sorted_by=(SortColumn(name="id", descending=True), SortColumn(name="v")),
                ),
                constraints=(
                    Constraint(
                        kind=ConstraintKind.PRIMARY_KEY,
                        name="pk",
                        columns=("id", "ds"),
                        enabled=False,
                    ),
                    Constraint(kind=ConstraintKind.NOT_NULL, name="nn", columns=("v",)),
                ),
                properties={"bucketing_version": "2"},
            )
        )
        catalog.add_partitions(T, [Partition(values=("x",), location="/data/t/ds=x")])
        key = Constraint(
            kind=ConstraintKind.FOREIGN_KEY,
            name="fk",
            columns=("a", "b"),
            references=T,
            referenced_columns=("id", "ds"),
            enabled=False,
            rely=False,
        )
        child = catalog.create_table(table(TableName("default", "child"), constraints=(key,)))
        after = replace(
            before,
            columns=columns(key="bigint", v="string", number="int", more="date"),
            bucketing=Bucketing(
                columns=("number", "key"),
                count=4,
                sorted_by=(SortColumn(name="key", descending=True), SortColumn(name="v")),
            ),
            constraints=(
                replace(before.constraints[0], columns=("key", "ds")),
                before.constraints[1],
            ),
        )
        catalog.alter_table(before, after)
        assert catalog.find_table(T) == after
        assert catalog.find_table(child.name) == replace(
            child, constraints=(replace(key, referenced_columns=("key", "ds")),)
        )

    def test_a_table_that_becomes_full_acid_leaves_room_for_its_rows(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Its first write id is 10000001, as in Hive; before there is one, all below counts as
        committed.
        """
        before = catalog.create_table(table())
        catalog.alter_table(before, after := replace(before, properties=ACID))
        assert catalog.find_table(T) == after
        assert seen(manager, T) == "default.t:10000000:9223372036854775807::"
        assert write(manager) == 10_000_001
        assert seen(manager, T) == "default.t:10000001:9223372036854775807::"

    def test_an_open_writer_of_a_converted_table_is_seen_as_one(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """The write ids of others stay what they are."""
        before = catalog.create_table(table())
        reader = manager.begin()
        catalog.alter_table(before, replace(before, properties=ACID))
        writer = manager.begin([T])
        assert writer.write_ids[T] == 10_000_001
        assert (
            str(manager.valid_write_ids(T, reader.txns))
            == "default.t:10000000:9223372036854775807::"
        )
        assert seen(manager, T) == "default.t:10000001:10000001:10000001:"

    def test_a_table_that_becomes_insert_only_has_one_write_id(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """That of the files it had."""
        before = catalog.create_table(table())
        moved: list[str] = []
        after = replace(before, properties={**ACID, "transactional_properties": "insert_only"})
        catalog.alter_table(before, after, move=lambda: moved.append("once"))
        assert moved == ["once"]
        assert seen(manager, T) == "default.t:1:9223372036854775807::"
        assert write(manager) == 2

    def test_a_table_whose_files_cannot_be_moved_is_not_altered(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Neither it nor its write ids."""
        before = catalog.create_table(table())

        def fail() -> None:
            raise ExecutionError("no space")

        with pytest.raises(ExecutionError, match="no space"):
            catalog.alter_table(before, replace(before, properties=ACID), move=fail)
        assert catalog.find_table(T) == before
        assert seen(manager, T).startswith("default.t:0:")

    def test_other_changes_leave_the_write_ids_alone(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """A table that was transactional before goes on counting."""
        before = catalog.create_table(table(properties=ACID))
        write(manager)
        catalog.alter_table(before, replace(before, properties={**ACID, "k": "v"}))
        assert write(manager) == 2

    def test_a_writer_that_missed_a_drop_does_not_reach_a_converted_table(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Its write id was another table's."""
        catalog.create_table(table(properties=ACID))
        write(manager)
        catalog.drop_table(T)
        plain = catalog.create_table(table())
        late = manager.begin([T])
        catalog.alter_table(plain, replace(plain, properties=ACID))
        with pytest.raises(TransactionAbortedError):
            manager.commit(late.txn_id)
        assert write(manager) == 10_000_001

    def test_a_renamed_table_is_the_same_table(self, catalog: Catalog) -> None:
        """Under its new name, in another database perhaps, with the same id; the old name is
        free.
        """
        catalog.create_database(Database(name="sales", location="/sales"))
        before = catalog.create_table(table(partition_columns=columns(ds="string")))
        inside, outside = (
            Partition(values=("a",), location="/data/t/ds=a"),
            Partition(values=("b",), location="/data/t2/ds=b"),
        )
        catalog.add_partitions(T, [inside, outside])
        after = renamed(before, TableName("sales", "orders"))
        moved: list[str] = []
        catalog.rename_table(before, after, move=lambda: moved.append("once"))
        if catalog.moves_directories:
            moved.append("once")
        assert moved == ["once"]
        assert catalog.find_table(T) is None
        assert catalog.find_table(after.name) == after
        partitions = {p.values: p for p in catalog.list_partitions(after)}
        assert partitions["a",].location == "/data/orders/ds=a"
        assert replace(partitions["b",], created_at=0) == replace(outside, created_at=0)
        assert catalog.create_table(table()).table_id > after.table_id

    def test_a_renamed_table_keeps_its_transactions(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Committed and aborted write ids, and the next one; a table made under the old name begins
        anew.
        """
        before = catalog.create_table(table(properties=ACID))
        write(manager)
        aborted = manager.begin([T])
        manager.abort(aborted.txn_id)
        write(manager)
        known = seen(manager, T)
        catalog.rename_table(before, renamed(before))
        assert seen(manager, NEW) == known.replace("default.t:", "default.new:")
        assert write(manager, NEW) == 4
        catalog.create_table(table(properties=ACID))
        assert write(manager, T) == 1

    def test_a_rename_does_not_hide_a_conflict(self, catalog: Catalog, manager: TxnManager) -> None:
        """The second of two overlapping updates still fails if the table got its name between
        them.
        """
        before = catalog.create_table(table(properties=ACID))
        late = manager.begin()
        write(manager, operation=OperationType.UPDATE)
        catalog.rename_table(before, renamed(before))
        write_id = manager.allocate_write_id(late.txn_id, NEW)
        with pytest.raises(WriteConflictError):
            manager.commit(
                late.txn_id,
                [
                    TxnComponent(
                        table=NEW, partition=None, operation=OperationType.UPDATE, write_id=write_id
                    )
                ],
            )

    def test_tables_are_exchanged(self, catalog: Catalog, manager: TxnManager) -> None:
        """Both have their new names, each with its own location, rows and write ids, or none has."""
        before = catalog.create_table(table(properties=ACID))
        new = catalog.create_table(table(NEW, properties=ACID))
        write(manager, T)
        write(manager, T)
        write(manager, NEW)
        aside = TableName("default", "aside")
        writer = manager.begin([NEW])
        with pytest.raises(WriteConflictError):
            catalog.exchange_tables(before, aside, new)
        assert catalog.find_table(T) == before
        assert catalog.find_table(aside) is None
        manager.commit(writer.txn_id)
        known = seen(manager, T), seen(manager, NEW)
        catalog.exchange_tables(before, aside, new)
        assert catalog.find_table(T) == replace(new, name=T)
        assert catalog.find_table(aside) == replace(before, name=aside)
        assert catalog.find_table(NEW) is None
        assert seen(manager, aside) == known[0].replace("default.t:", "default.aside:")
        assert seen(manager, T) == known[1].replace("default.new:", "default.t:")
        assert write(manager, aside) == 3
        with pytest.raises(WriteConflictError):  # neither is what it was
            catalog.exchange_tables(before, aside, new)

    def test_a_table_that_is_written_keeps_its_name(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Until the writer has ended: then the same call works."""
        before = catalog.create_table(table(properties=ACID))
        writer = manager.begin([T])
        moved: list[str] = []
        with pytest.raises(
            WriteConflictError,
            match=f'table "default.t" is being written by transaction txnid:{writer.txn_id}',
        ) as caught:
            catalog.rename_table(before, renamed(before), move=lambda: moved.append("never"))
        assert caught.value.retryable
        assert not moved
        assert catalog.find_table(T) == before
        manager.commit(writer.txn_id)
        catalog.rename_table(before, renamed(before))
        assert catalog.find_table(T) is None

    def test_what_a_late_writer_did_under_the_new_name_is_not_the_tables(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """It took its write id for one of that name that had been dropped; nobody gets it again."""
        gone = catalog.create_table(table(NEW, properties=ACID))
        catalog.drop_table(gone.name)
        before = catalog.create_table(table(properties=ACID))
        late = manager.begin([NEW])
        catalog.rename_table(before, renamed(before))
        assert write(manager, NEW) == 2
        with pytest.raises(TransactionAbortedError):
            manager.commit(late.txn_id)

    def test_a_rename_that_is_refused_changes_nothing(self, catalog: Catalog) -> None:
        """Because the name is taken, the table is another by now, a database or the table is
        missing, or its files cannot be moved.
        """
        before = catalog.create_table(table())
        other = catalog.create_table(table(NEW))
        free = TableName("default", "free")
        with pytest.raises(AlreadyExistsError, match=r"new table default\.new already exists"):
            catalog.rename_table(before, renamed(before))
        with pytest.raises(DatabaseNotFoundError):
            catalog.rename_table(before, renamed(before, TableName("nowhere", "t")))
        with pytest.raises(WriteConflictError, match="was changed by another session"):
            catalog.rename_table(replace(before, comment="old"), renamed(before, free))
        with pytest.raises(TableNotFoundError):
            catalog.rename_table(
                replace(before, name=free), renamed(before, TableName("default", "more"))
            )

        def fail() -> None:
            raise ExecutionError("no space")

        with pytest.raises(ExecutionError, match="no space"):
            catalog.rename_table(before, renamed(before, free), move=fail)
        assert (catalog.find_table(T), catalog.find_table(NEW), catalog.find_table(free)) == (
            before,
            other,
            None,
        )

    def test_garbage_of_aborted_writers_is_found_under_the_new_name(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Their write ids are never taken for committed ones, and the transactions stay listed."""
        before = catalog.create_table(table(properties=ACID))
        opened = manager.begin([T])
        manager.abort(opened.txn_id)
        catalog.rename_table(before, renamed(before))
        assert seen(manager, NEW) == "default.new:1:9223372036854775807::1"
        assert [(txn.txn_id, txn.state) for txn in manager.list_txns()] == [
            (opened.txn_id, TxnState.ABORTED)
        ]

    # ---- a table that comes with files

    @pytest.mark.parametrize("properties", [ACID, {"k": "v"}], ids=["transactional", "not"])
    def test_a_table_that_comes_with_files_is_there_when_they_are(
        self, open_store: OpenStore, catalog: Catalog, properties: dict[str, str]
    ) -> None:
        """With its partitions, and not before; its files have the first write id."""
        beside = open_store()
        new = table(partition_columns=columns(ds="string"), properties=properties)
        part = Partition(values=("a",), location="/data/t/ds=a", created_at=5)
        with catalog.creating_table(new, [part]):
            assert seen(beside, T).startswith("default.t:0:")
        stored = catalog.find_table(T)
        assert stored is not None
        assert replace(stored, table_id=0, created_at=0) == replace(new, created_at=0)
        assert catalog.list_partitions(stored) == (part,)
        first = 1 if properties is ACID else 0
        assert seen(beside, T) == f"default.t:{first}:9223372036854775807::"

    def test_a_table_whose_files_do_not_come_has_never_been(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Nor may there be one of its name."""
        with (
            pytest.raises(ExecutionError, match="no space"),
            catalog.creating_table(table(properties=ACID)),
        ):
            raise ExecutionError("no space")
        assert catalog.find_table(T) is None
        assert seen(manager, T).startswith("default.t:0:")
        catalog.create_table(table())
        with pytest.raises(AlreadyExistsError), catalog.creating_table(table(properties=ACID)):
            pytest.fail("the files of a table that exists were published")
