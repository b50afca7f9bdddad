"""What every metastore must do about statistics: they change with a commit or not at all, and no
change is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from acidsql.acid.ids import TxnId
from acidsql.catalog import statistics
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, Partition, Table
from acidsql.catalog.statistics import (
    Analyzed,
    ColumnStatistics,
    StatisticsChange,
    nothing_yet,
)
from acidsql.catalog.types import parse_type
from acidsql.errors import TableNotFoundError, WriteConflictError
from acidsql.txn.manager import OperationType, TxnComponent, TxnManager
from tests.contracts.store import OpenStore, StoreContract, T, write

ID, NAME = Column(name="id", type=parse_type("int")), Column(name="name", type=parse_type("string"))
DAY = Partition(values=("mon",), location="/data/t/ds=mon", statistics=nothing_yet([ID]))
BASIC = '{"BASIC_STATS":"true"}'
FOUND = Analyzed(
    rows=4,
    files=2,
    bytes=222,
    columns=(
        ColumnStatistics(column=ID, nulls=1, distinct=3, low=-5, high=7),
        ColumnStatistics(column=NAME, nulls=0, average_length=2.5),
    ),
)


def inserted(
    table: Table,
    rows: int,
    partition: Partition | None = None,
    *,
    replaces: bool = False,
    directories: Mapping[str, statistics.Filled] | None = None,
) -> StatisticsChange:
    return StatisticsChange(
        table=table,
        partition=partition,
        rows=rows,
        files=1,
        bytes=100 * rows,
        raw_bytes=0,
        replaces=replaces,
        directories=directories or {},
    )


def written(
    manager: TxnManager, txn_id: TxnId, operation: OperationType = OperationType.INSERT
) -> list[TxnComponent]:
    return [write(manager, txn_id, operation)]


def numbers(catalog: Catalog) -> tuple[str | None, ...]:
    """Rows, files, bytes and what is accurate."""
    stored = catalog.find_table(T)
    assert stored is not None
    return tuple(
        stored.statistics.get(key)
        for key in ("numRows", "numFiles", "totalSize", "COLUMN_STATS_ACCURATE")
    )


class MeasuredTables(StoreContract):
    """Tables whose statistics are known."""

    @pytest.fixture
    def table(self, catalog: Catalog) -> Table:
        """An empty table."""
        return catalog.create_table(
            Table(
                name=T,
                columns=(ID, NAME),
                location="/data/t",
                properties={"transactional": "true"},
                statistics=nothing_yet([ID, NAME]),
            )
        )

    @pytest.fixture
    def partitioned(self, catalog: Catalog) -> Table:
        """A table with one empty partition."""
        keys = (Column(name="ds", type=parse_type("string")),)
        created = catalog.create_table(
            Table(
                name=T,
                columns=(ID,),
                partition_columns=keys,
                location="/data/t",
                properties={"transactional": "true"},
            )
        )
        catalog.add_partitions(T, [DAY])
        return created


class StatisticsContract(MeasuredTables):
    """Statistics change with a commit or not at all."""

    def test_an_empty_table_is_known_whole(self, catalog: Catalog, table: Table) -> None:
        """Its zeros are stored with it, and are no properties."""
        assert numbers(catalog) == (
            "0",
            "0",
            "0",
            '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true","name":"true"}}',
        )
        assert table.properties == {"transactional": "true"}

    def test_statistics_change_with_the_commit(
        self, catalog: Catalog, manager: TxnManager, table: Table
    ) -> None:
        """Not before it, once however often it is asked for, and those of columns do not outlive
        it.
        """
        txn_id = manager.open_txn()
        components = written(manager, txn_id)
        assert numbers(catalog)[0] == "0"
        for _ in range(2):
            manager.commit(txn_id, components, [inserted(table, 3)])
        assert numbers(catalog) == ("3", "1", "300", BASIC)

    def test_what_is_not_committed_changes_nothing(
        self, catalog: Catalog, manager: TxnManager, table: Table
    ) -> None:
        """Neither an abort nor a lost conflict leaves a trace in the statistics."""
        first, second = manager.open_txn(), manager.open_txn()
        first_change, second_change = (
            written(manager, txn_id, OperationType.DELETE) for txn_id in (first, second)
        )
        manager.commit(first, first_change, [inserted(table, 1)])
        with pytest.raises(WriteConflictError):
            manager.commit(second, second_change, [inserted(table, 5)])
        third = manager.open_txn()
        manager.add_components(third, written(manager, third))
        manager.abort(third)
        assert numbers(catalog) == ("1", "1", "100", BASIC)

    def test_no_change_is_lost(self, open_store: OpenStore, catalog: Catalog, table: Table) -> None:
        """Sessions that commit to one table at the same time add up."""

        def run(manager: TxnManager) -> None:
            for _ in range(10):
                txn_id = manager.open_txn()
                manager.commit(txn_id, written(manager, txn_id), [inserted(table, 2)])

        threads = [threading.Thread(target=run, args=(open_store(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert numbers(catalog) == ("60", "30", "6000", BASIC)

    def test_an_overwriting_replaces_the_numbers(self, catalog: Catalog, table: Table) -> None:
        """Whatever they were, also where nobody answered for them."""
        catalog.change_statistics(
            [inserted(table, 3), StatisticsChange(table=table, rows=None, files=1, bytes=7)]
        )
        assert numbers(catalog) == ("3", "2", "307", None)
        catalog.change_statistics([inserted(table, 5, replaces=True)])
        assert numbers(catalog) == ("5", "1", "500", BASIC)

    def test_what_cannot_be_is_doubted(self, catalog: Catalog, table: Table) -> None:
        """Fewer rows than none: something was miscounted, and nobody answers for the number
        any more.
        """
        catalog.change_statistics([inserted(table, 1), replace(inserted(table, 1), rows=-2)])
        assert numbers(catalog)[-1] is None

    def test_nothing_is_made_of_nothing(self, catalog: Catalog) -> None:
        """A table whose rows were never counted has no statistics after an INSERT either."""
        table = catalog.create_table(Table(name=T, columns=(ID,), location="/data/t"))
        catalog.change_statistics([inserted(table, 3)])
        assert numbers(catalog) == (None, None, None, None)

    def test_each_partition_has_its_own(self, catalog: Catalog, partitioned: Table) -> None:
        """A change goes to the partition it names; one that is dropped is passed over."""
        other = replace(DAY, values=("tue",), location="/data/t/ds=tue")
        catalog.add_partitions(T, [other])
        catalog.change_statistics(
            [
                inserted(partitioned, 3, DAY),
                inserted(partitioned, 1, other),
                inserted(partitioned, 2, DAY),
            ]
        )
        stored = catalog.list_partitions(partitioned)
        assert [p.statistics["numRows"] for p in stored] == ["5", "1"]
        assert numbers(catalog) == (None, None, None, None)
        catalog.drop_partitions(partitioned, [other])
        catalog.change_statistics([inserted(partitioned, 9, other), inserted(partitioned, 1, DAY)])
        assert [p.statistics["numRows"] for p in catalog.list_partitions(partitioned)] == ["6"]
        summed = statistics.of_partitions(catalog.list_partitions(partitioned))
        assert (summed["numRows"], summed["numPartitions"], summed["COLUMN_STATS_ACCURATE"]) == (
            "6",
            "1",
            BASIC,
        )

    def test_alter_table_keeps_them(self, catalog: Catalog, table: Table) -> None:
        """They are no part of what a table is: a commit does not stand in the way of an ALTER, nor
        an ALTER in that of the numbers.
        """
        catalog.change_statistics([inserted(table, 3)])
        catalog.alter_table(table, replace(table, properties={**table.properties, "k": "v"}))
        assert numbers(catalog) == ("3", "1", "300", BASIC)
        changed = catalog.find_table(T)
        assert changed is not None
        catalog.alter_table(
            changed, replace(changed, properties={**changed.properties, "numRows": "77"})
        )
        assert numbers(catalog) == ("77", "1", "300", None)

    def test_other_files_are_other_numbers(self, catalog: Catalog, partitioned: Table) -> None:
        """SET LOCATION forgets them; a partition with another name keeps its own."""
        catalog.change_statistics([inserted(partitioned, 3, DAY)])
        renamed = replace(DAY, values=("tue",), location="/data/t/ds=tue")
        catalog.alter_partition(partitioned, DAY, renamed)
        assert catalog.list_partitions(partitioned)[0].statistics["numRows"] == "3"
        catalog.alter_partition(partitioned, renamed, replace(renamed, location="/elsewhere"))
        assert dict(catalog.list_partitions(partitioned)[0].statistics) == {}

    def test_a_conversion_is_doubted(self, catalog: Catalog) -> None:
        """A plain INSERT may have been under way: the number stays, its mark goes."""
        plain = catalog.create_table(
            Table(name=T, columns=(ID,), location="/data/t", statistics=nothing_yet([ID]))
        )
        catalog.change_statistics([inserted(plain, 3)])
        catalog.alter_table(plain, replace(plain, properties={"transactional": "true"}))
        assert numbers(catalog) == ("3", "1", "300", None)

    def test_what_was_found_is_stored(
        self, catalog: Catalog, manager: TxnManager, table: Table
    ) -> None:
        """Numbers of the table and of its columns, with their mark; NOSCAN leaves the number of
        rows alone.
        """
        seen = manager.valid_write_ids(T, manager.valid_txns())
        assert catalog.put_statistics(table, [FOUND], seen)
        assert numbers(catalog) == (
            "4",
            "2",
            "222",
            '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true","name":"true"}}',
        )
        assert catalog.list_column_statistics(table, ID) == (FOUND.columns[0],)
        assert catalog.put_statistics(table, [Analyzed(rows=None, files=9, bytes=9)], seen)
        assert numbers(catalog)[:3] == ("4", "9", "9")

    @pytest.mark.parametrize(
        ("type_", "low", "high"),
        [
            ("bigint", -(1 << 63), (1 << 63) - 1),
            ("double", -1.5, 2.25),
            ("decimal(38,2)", Decimal("-" + "9" * 36 + ".25"), Decimal("1.50")),
        ],
    )
    def test_least_and_greatest_values_come_back(
        self,
        catalog: Catalog,
        table: Table,
        type_: str,
        low: int | float | Decimal,
        high: int | float | Decimal,
    ) -> None:
        """Each in the column of its kind, to the last digit."""
        one = ColumnStatistics(
            column=replace(ID, type=parse_type(type_)), nulls=0, low=low, high=high
        )
        catalog.put_statistics(table, [replace(FOUND, columns=(one,))], None)
        (stored,) = catalog.list_column_statistics(table, one.column)
        assert (stored.low, stored.high) == (low, high)

    def test_what_is_out_of_date_is_not_stored(
        self, catalog: Catalog, manager: TxnManager, table: Table
    ) -> None:
        """A commit since the rows were counted makes the count another's; an open or aborted
        transaction does not.
        """
        seen = manager.valid_write_ids(T, manager.valid_txns())
        txn_id, aborted, opened = manager.open_txn(), manager.open_txn(), manager.open_txn()
        manager.allocate_write_id(aborted, T)
        manager.allocate_write_id(opened, T)
        manager.abort(aborted)
        assert catalog.put_statistics(table, [FOUND], seen)
        manager.commit(txn_id, written(manager, txn_id), [inserted(table, 1)])
        assert not catalog.put_statistics(table, [FOUND], seen)
        assert numbers(catalog)[:1] == ("5",)
        assert catalog.put_statistics(table, [FOUND], seen, outdated=True)
        assert numbers(catalog) == ("5", "3", "322", BASIC)  # what is known to hold stays

    def test_a_commit_of_an_older_write_id_counts(
        self, catalog: Catalog, manager: TxnManager, table: Table
    ) -> None:
        """What was open when the rows were counted is not among them, though its write id is within
        the snapshot's.
        """
        txn_id = manager.open_txn()
        components = written(manager, txn_id)
        seen = manager.valid_write_ids(T, manager.valid_txns())
        manager.commit(txn_id, components, [inserted(table, 1)])
        assert not catalog.put_statistics(table, [FOUND], seen)

    def test_columns_of_partitions(self, catalog: Catalog, partitioned: Table) -> None:
        """One partition's, or those of each; they go with the partition, and with a column of
        another type.
        """
        other = replace(DAY, values=("tue",), location="/data/t/ds=tue")
        catalog.add_partitions(T, [other])
        low, high = (
            ColumnStatistics(column=ID, nulls=n, distinct=n, low=n, high=n) for n in (1, 2)
        )
        measured = [
            Analyzed(partition=DAY, rows=1, files=1, bytes=1, columns=(low,)),
            replace(FOUND, partition=other, columns=(high,)),
        ]
        assert catalog.put_statistics(partitioned, measured, None)
        assert catalog.list_column_statistics(partitioned, ID, other) == (high,)
        merged = statistics.merged(catalog.list_column_statistics(partitioned, ID))
        assert (merged.nulls, merged.distinct, merged.low, merged.high) == (3, 2, 1, 2)
        catalog.drop_partitions(partitioned, [DAY])
        assert catalog.list_column_statistics(partitioned, ID) == (high,)
        stored = catalog.find_table(T)
        assert stored is not None
        catalog.alter_table(
            stored, replace(stored, columns=(replace(ID, type=parse_type("bigint")),))
        )
        assert catalog.list_column_statistics(partitioned, ID) == ()
        assert catalog.list_partitions(partitioned)[0].statistics["COLUMN_STATS_ACCURATE"] == BASIC

    def test_columns_that_do_not_hold_are_forgotten(self, catalog: Catalog, table: Table) -> None:
        """They are there until then, though nobody answers for them; those that hold stay."""
        catalog.put_statistics(table, [FOUND], None)
        catalog.forget_doubted_columns(table)
        assert [catalog.list_column_statistics(table, c) for c in (ID, NAME)] == [
            (one,) for one in FOUND.columns
        ]
        catalog.change_statistics([inserted(table, 1)])
        (measured,) = FOUND.columns[1:]
        catalog.put_statistics(table, [replace(FOUND, columns=(measured,))], None)
        assert catalog.list_column_statistics(table, ID) == FOUND.columns[:1]
        before = numbers(catalog)
        catalog.forget_doubted_columns(table)
        assert catalog.list_column_statistics(table, ID) == ()
        assert catalog.list_column_statistics(table, NAME) == (measured,)
        assert numbers(catalog) == before
        catalog.drop_table(T)
        catalog.forget_doubted_columns(table)

    def test_columns_of_a_partition_are_forgotten(
        self, catalog: Catalog, partitioned: Table
    ) -> None:
        """Those of the others stay, whether they hold or not; a partition that is gone has none."""
        others = [
            replace(DAY, values=(day,), location=f"/data/t/ds={day}") for day in ("sun", "tue")
        ]
        days = (DAY, *others)
        catalog.add_partitions(T, others)
        of_id = FOUND.columns[:1]
        measured = [replace(FOUND, partition=day, columns=of_id) for day in days]
        catalog.put_statistics(partitioned, measured, None)
        catalog.change_statistics([inserted(partitioned, 1, day) for day in days[:2]])
        for day in (DAY, days[2]):
            catalog.forget_doubted_columns(partitioned, day)
        assert [catalog.list_column_statistics(partitioned, ID, day) for day in days] == [
            (),
            of_id,
            of_id,
        ]
        catalog.drop_partitions(partitioned, [days[1]])
        catalog.forget_doubted_columns(partitioned, days[1])
        assert catalog.list_column_statistics(partitioned, ID) == of_id

    def test_a_dropped_table_is_not_analyzed(self, catalog: Catalog, table: Table) -> None:
        """And one made anew under its name is another."""
        catalog.drop_table(T)
        catalog.create_table(replace(table, table_id=0))
        with pytest.raises(TableNotFoundError):
            catalog.put_statistics(table, [FOUND], None)
        catalog.change_statistics([inserted(table, 3)])
        assert numbers(catalog)[0] == "0"
