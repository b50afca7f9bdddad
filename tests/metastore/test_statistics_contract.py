"""What every metastore must do about statistics: they change with a commit or not at all, and no
change is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from acidsql.catalog import statistics
from acidsql.catalog.model import Column, Partition, Table, TableName
from acidsql.catalog.statistics import Analyzed, ColumnStatistics, StatisticsChange, nothing_yet
from acidsql.catalog.types import parse_type
from acidsql.errors import TableNotFoundError, WriteConflictError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.manager import OperationType, TxnComponent

T = TableName("default", "t")
ID, NAME = Column(name="id", type=parse_type("int")), Column(name="name", type=parse_type("string"))
DAY = Partition(values=("mon",), location="/data/t/ds=mon", statistics=nothing_yet([ID]))


@pytest.fixture
def table(metastore: EmbeddedMetastore) -> Table:
    """An empty table."""
    return metastore.create_table(
        Table(
            name=T,
            columns=(ID, NAME),
            location="/data/t",
            properties={"transactional": "true"},
            statistics=nothing_yet([ID, NAME]),
        )
    )


@pytest.fixture
def partitioned(metastore: EmbeddedMetastore) -> Table:
    """A table with one empty partition."""
    keys = (Column(name="ds", type=parse_type("string")),)
    made = metastore.create_table(
        Table(
            name=T,
            columns=(ID,),
            partition_columns=keys,
            location="/data/t",
            properties={"transactional": "true"},
        )
    )
    metastore.add_partitions(T, [DAY])
    return made


def inserted(
    table: Table, rows: int, partition: Partition | None = None, **facts: bool
) -> StatisticsChange:
    return StatisticsChange(
        table=table, partition=partition, rows=rows, files=1, bytes=100 * rows, raw_bytes=0, **facts
    )


def written(
    metastore: EmbeddedMetastore, txn_id: int, operation: OperationType = OperationType.INSERT
) -> list[TxnComponent]:
    write_id = metastore.allocate_write_id(txn_id, T)  # type: ignore[arg-type]
    return [TxnComponent(table=T, partition=None, operation=operation, write_id=write_id)]


def numbers(metastore: EmbeddedMetastore) -> tuple[str | None, ...]:
    """Rows, files, bytes and what is accurate."""
    found = metastore.find_table(T)
    assert found is not None
    return tuple(
        found.statistics.get(key)
        for key in ("numRows", "numFiles", "totalSize", "COLUMN_STATS_ACCURATE")
    )


BASIC = '{"BASIC_STATS":"true"}'


def test_an_empty_table_is_known_whole(metastore: EmbeddedMetastore, table: Table) -> None:
    """Its zeros are stored with it, and are no properties."""
    assert numbers(metastore) == (
        "0",
        "0",
        "0",
        '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true","name":"true"}}',
    )
    assert table.properties == {"transactional": "true"}


def test_statistics_change_with_the_commit(metastore: EmbeddedMetastore, table: Table) -> None:
    """Not before it, once however often it is asked for, and those of columns do not outlive it."""
    txn_id = metastore.open_txn()
    components = written(metastore, txn_id)
    assert numbers(metastore)[0] == "0"
    for _ in range(2):
        metastore.commit(txn_id, components, [inserted(table, 3)])
    assert numbers(metastore) == ("3", "1", "300", BASIC)


def test_what_is_not_committed_changes_nothing(metastore: EmbeddedMetastore, table: Table) -> None:
    """Neither an abort nor a lost conflict leaves a trace in the statistics."""
    first, second = metastore.open_txn(), metastore.open_txn()
    mine, theirs = (written(metastore, txn_id, OperationType.DELETE) for txn_id in (first, second))
    metastore.commit(first, mine, [inserted(table, 1)])
    with pytest.raises(WriteConflictError):
        metastore.commit(second, theirs, [inserted(table, 5)])
    third = metastore.open_txn()
    metastore.add_components(third, written(metastore, third))
    metastore.abort(third)
    assert numbers(metastore) == ("1", "1", "100", BASIC)


def test_a_commit_that_fails_changes_nothing(
    metastore: EmbeddedMetastore, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics and commit are one transaction of the store: what stops the one stops
    the other.
    """
    txn_id = metastore.open_txn()
    components = written(metastore, txn_id)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    # after the statistics, before the state
    monkeypatch.setattr("acidsql.metastore.committing.free_locks", fail)
    with pytest.raises(Exception, match="disk full"):
        metastore.commit(txn_id, components, [inserted(table, 3)])
    monkeypatch.undo()
    assert numbers(metastore)[0] == "0"
    assert not metastore.valid_txns().is_valid(txn_id)


def test_no_change_is_lost(
    reopen: Callable[..., EmbeddedMetastore], metastore: EmbeddedMetastore, table: Table
) -> None:
    """Sessions that commit to one table at the same time add up."""

    def run(mine: EmbeddedMetastore) -> None:
        for _ in range(10):
            txn_id = mine.open_txn()
            mine.commit(txn_id, written(mine, txn_id), [inserted(table, 2)])

    threads = [threading.Thread(target=run, args=(reopen(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(metastore) == ("60", "30", "6000", BASIC)


def test_an_overwriting_replaces_the_numbers(metastore: EmbeddedMetastore, table: Table) -> None:
    """Whatever they were, also where nobody answered for them."""
    metastore.change_statistics(
        [inserted(table, 3), StatisticsChange(table=table, rows=None, files=1, bytes=7)]
    )
    assert numbers(metastore) == ("3", "2", "307", None)
    metastore.change_statistics([inserted(table, 5, replaces=True)])
    assert numbers(metastore) == ("5", "1", "500", BASIC)


def test_what_cannot_be_is_doubted(metastore: EmbeddedMetastore, table: Table) -> None:
    """Fewer rows than none: something was miscounted, and nobody answers for the number
    any more.
    """
    metastore.change_statistics([inserted(table, 1), replace(inserted(table, 1), rows=-2)])
    assert numbers(metastore)[-1] is None


def test_nothing_is_made_of_nothing(metastore: EmbeddedMetastore) -> None:
    """A table whose rows were never counted has no statistics after an INSERT either."""
    table = metastore.create_table(Table(name=T, columns=(ID,), location="/data/t"))
    metastore.change_statistics([inserted(table, 3)])
    assert numbers(metastore) == (None, None, None, None)


def test_each_partition_has_its_own(metastore: EmbeddedMetastore, partitioned: Table) -> None:
    """A change goes to the partition it names; one that is dropped is passed over."""
    other = replace(DAY, values=("tue",), location="/data/t/ds=tue")
    metastore.add_partitions(T, [other])
    metastore.change_statistics(
        [
            inserted(partitioned, 3, DAY),
            inserted(partitioned, 1, other),
            inserted(partitioned, 2, DAY),
        ]
    )
    found = metastore.list_partitions(partitioned)
    assert [p.statistics["numRows"] for p in found] == ["5", "1"]
    assert numbers(metastore) == (None, None, None, None)
    metastore.drop_partitions(partitioned, [other])
    metastore.change_statistics([inserted(partitioned, 9, other), inserted(partitioned, 1, DAY)])
    assert [p.statistics["numRows"] for p in metastore.list_partitions(partitioned)] == ["6"]
    summed = statistics.of_partitions(metastore.list_partitions(partitioned))
    assert (summed["numRows"], summed["numPartitions"], summed["COLUMN_STATS_ACCURATE"]) == (
        "6",
        "1",
        BASIC,
    )


def test_alter_table_keeps_them(metastore: EmbeddedMetastore, table: Table) -> None:
    """They are no part of what a table is: a commit does not stand in the way of an ALTER, nor an
    ALTER in that of the numbers.
    """
    metastore.change_statistics([inserted(table, 3)])
    metastore.alter_table(table, replace(table, properties={**table.properties, "k": "v"}))
    assert numbers(metastore) == ("3", "1", "300", BASIC)
    changed = metastore.find_table(T)
    assert changed is not None
    metastore.alter_table(
        changed, replace(changed, properties={**changed.properties, "numRows": "77"})
    )
    assert numbers(metastore) == ("77", "1", "300", None)


def test_other_files_are_other_numbers(metastore: EmbeddedMetastore, partitioned: Table) -> None:
    """SET LOCATION forgets them; a partition with another name keeps its own."""
    metastore.change_statistics([inserted(partitioned, 3, DAY)])
    renamed = replace(DAY, values=("tue",), location="/data/t/ds=tue")
    metastore.alter_partition(partitioned, DAY, renamed)
    assert metastore.list_partitions(partitioned)[0].statistics["numRows"] == "3"
    metastore.alter_partition(partitioned, renamed, replace(renamed, location="/elsewhere"))
    assert dict(metastore.list_partitions(partitioned)[0].statistics) == {}


def test_a_conversion_is_doubted(metastore: EmbeddedMetastore) -> None:
    """A plain INSERT may have been under way: the number stays, its mark goes."""
    plain = metastore.create_table(
        Table(name=T, columns=(ID,), location="/data/t", statistics=nothing_yet([ID]))
    )
    metastore.change_statistics([inserted(plain, 3)])
    metastore.alter_table(plain, replace(plain, properties={"transactional": "true"}))
    assert numbers(metastore) == ("3", "1", "300", None)


# ---- what ANALYZE finds


FOUND = Analyzed(
    rows=4,
    files=2,
    bytes=222,
    columns=(
        ColumnStatistics(column=ID, nulls=1, distinct=3, low=-5, high=7),
        ColumnStatistics(column=NAME, nulls=0, average_length=2.5),
    ),
)


def test_what_was_found_is_stored(metastore: EmbeddedMetastore, table: Table) -> None:
    """Numbers of the table and of its columns, with their mark; NOSCAN leaves the number of rows
    alone.
    """
    seen = metastore.valid_write_ids(T, metastore.valid_txns())
    assert metastore.put_statistics(table, [FOUND], seen)
    assert numbers(metastore) == (
        "4",
        "2",
        "222",
        '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true","name":"true"}}',
    )
    assert metastore.list_column_statistics(table, ID) == (FOUND.columns[0],)
    assert metastore.put_statistics(table, [Analyzed(rows=None, files=9, bytes=9)], seen)
    assert numbers(metastore)[:3] == ("4", "9", "9")


@pytest.mark.parametrize(
    ("type_", "low", "high"),
    [
        ("bigint", -(1 << 63), (1 << 63) - 1),
        ("double", -1.5, 2.25),
        ("decimal(38,2)", Decimal("-" + "9" * 36 + ".25"), Decimal("1.50")),
    ],
)
def test_least_and_greatest_values_come_back(
    metastore: EmbeddedMetastore, table: Table, type_: str, low: object, high: object
) -> None:
    """Each in the column of its kind, to the last digit."""
    one = ColumnStatistics(column=replace(ID, type=parse_type(type_)), nulls=0, low=low, high=high)  # type: ignore[arg-type]
    metastore.put_statistics(table, [replace(FOUND, columns=(one,))], None)
    (found,) = metastore.list_column_statistics(table, one.column)
    assert (found.low, found.high) == (low, high)


def test_what_is_out_of_date_is_not_stored(metastore: EmbeddedMetastore, table: Table) -> None:
    """A commit since the rows were counted makes the count another's; an open or aborted
    transaction does not.
    """
    seen = metastore.valid_write_ids(T, metastore.valid_txns())
    txn_id, aborted, opened = metastore.open_txn(), metastore.open_txn(), metastore.open_txn()
    metastore.allocate_write_id(aborted, T)
    metastore.allocate_write_id(opened, T)
    metastore.abort(aborted)
    assert metastore.put_statistics(table, [FOUND], seen)
    metastore.commit(txn_id, written(metastore, txn_id), [inserted(table, 1)])
    assert not metastore.put_statistics(table, [FOUND], seen)
    assert numbers(metastore)[:1] == ("5",)
    assert metastore.put_statistics(table, [FOUND], seen, outdated=True)
    assert numbers(metastore) == ("5", "3", "322", BASIC)  # what is known to hold stays


def test_a_commit_of_an_older_write_id_counts(metastore: EmbeddedMetastore, table: Table) -> None:
    """What was open when the rows were counted is not among them, though its write id is within the
    snapshot's.
    """
    txn_id = metastore.open_txn()
    components = written(metastore, txn_id)
    seen = metastore.valid_write_ids(T, metastore.valid_txns())
    metastore.commit(txn_id, components, [inserted(table, 1)])
    assert not metastore.put_statistics(table, [FOUND], seen)


def test_columns_of_partitions(metastore: EmbeddedMetastore, partitioned: Table) -> None:
    """One partition's, or those of each; they go with the partition, and with a column of another
    type.
    """
    other = replace(DAY, values=("tue",), location="/data/t/ds=tue")
    metastore.add_partitions(T, [other])
    low, high = (ColumnStatistics(column=ID, nulls=n, distinct=n, low=n, high=n) for n in (1, 2))
    found = [
        Analyzed(partition=DAY, rows=1, files=1, bytes=1, columns=(low,)),
        replace(FOUND, partition=other, columns=(high,)),
    ]
    assert metastore.put_statistics(partitioned, found, None)
    assert metastore.list_column_statistics(partitioned, ID, other) == (high,)
    merged = statistics.merged(metastore.list_column_statistics(partitioned, ID))
    assert (merged.nulls, merged.distinct, merged.low, merged.high) == (3, 2, 1, 2)
    metastore.drop_partitions(partitioned, [DAY])
    assert metastore.list_column_statistics(partitioned, ID) == (high,)
    stored = metastore.find_table(T)
    assert stored is not None
    metastore.alter_table(
        stored, replace(stored, columns=(replace(ID, type=parse_type("bigint")),))
    )
    assert metastore.list_column_statistics(partitioned, ID) == ()
    assert metastore.list_partitions(partitioned)[0].statistics["COLUMN_STATS_ACCURATE"] == BASIC


def test_a_dropped_table_is_not_analyzed(metastore: EmbeddedMetastore, table: Table) -> None:
    """And one made anew under its name is another."""
    metastore.drop_table(T)
    metastore.create_table(replace(table, table_id=0))
    with pytest.raises(TableNotFoundError):
        metastore.put_statistics(table, [FOUND], None)
    metastore.change_statistics([inserted(table, 3)])
    assert numbers(metastore)[0] == "0"
