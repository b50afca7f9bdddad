"""Partitions that are dropped, renamed or moved while transactions write to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import select

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import Column, Partition, Table, TableName
from acidsql.catalog.types import parse_type
from acidsql.errors import TransactionAbortedError, WriteConflictError
from acidsql.metastore import opening
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.txn_tables import COMPLETED_TXN_COMPONENTS, TXN_COMPONENTS, WRITE_SET
from acidsql.txn.manager import OperationType, TxnComponent

T = TableName("default", "p")
ONE = Partition(values=("1",), location="/data/p/k=1")
TWO = Partition(values=("2",), location="/data/p/k=2")
Writer = Callable[..., TxnId]


@pytest.fixture
def table(metastore: EmbeddedMetastore) -> Table:
    """With the partitions k=1 and k=2."""
    column = Column(name="id", type=parse_type("int"))
    stored = metastore.create_table(
        Table(
            name=T,
            columns=(column,),
            location="/data/p",
            partition_columns=(replace(column, name="k"),),
            properties={"transactional": "true"},
        )
    )
    metastore.add_partitions(T, (ONE, TWO))
    return stored


@pytest.fixture
def writer(metastore: EmbeddedMetastore, table: Table) -> Writer:
    """``writer("k=1")`` opens a transaction that has recorded a change of each partition named."""

    def opened(*partitions: str | None, operation: OperationType = OperationType.INSERT) -> TxnId:
        txn_id = metastore.open_txn()
        record(metastore, txn_id, *partitions, operation=operation)
        return txn_id

    return opened


def record(
    metastore: EmbeddedMetastore,
    txn_id: TxnId,
    *partitions: str | None,
    operation: OperationType = OperationType.INSERT,
) -> None:
    write_id = metastore.allocate_write_id(txn_id, T)
    metastore.add_components(
        txn_id,
        [
            TxnComponent(table=T, partition=p, operation=operation, write_id=write_id)
            for p in partitions
        ],
    )


def history(metastore: EmbeddedMetastore) -> tuple[list[str | None], list[str | None]]:
    """The partitions that completed components and write sets name."""
    with metastore._store.read() as connection:
        completed = connection.scalars(
            select(COMPLETED_TXN_COMPONENTS.c.CTC_PARTITION).order_by(
                COMPLETED_TXN_COMPONENTS.c.CTC_WRITEID
            )
        )
        written = connection.scalars(
            select(WRITE_SET.c.WS_PARTITION)
            .where(WRITE_SET.c.WS_TXNID > 0)
            .order_by(WRITE_SET.c.WS_TXNID)
        )
        return list(completed), list(written)


def valid(metastore: EmbeddedMetastore, write_id: int) -> bool:
    return metastore.valid_write_ids(T, metastore.valid_txns()).is_valid(WriteId(write_id))


# ---- DROP


@pytest.mark.parametrize("recorded", ["k=1", None])
def test_a_writer_of_a_dropped_partition_is_aborted(
    metastore: EmbeddedMetastore, table: Table, writer: Writer, recorded: str | None
) -> None:
    """Also one that says only that it wrote somewhere; a writer of another partition goes on."""
    losing, other = writer("k=2", recorded), writer("k=2")
    metastore.drop_partitions(table, [ONE])
    with pytest.raises(TransactionAbortedError) as caught:
        metastore.commit(losing)
    assert caught.value.detail == "a partition it wrote to was dropped"
    metastore.commit(other)


@pytest.mark.parametrize(
    "operation",
    [OperationType.INSERT, OperationType.UPDATE, OperationType.DELETE, OperationType.OVERWRITE],
)
def test_a_writer_that_tells_too_late_cannot_commit(
    metastore: EmbeddedMetastore, table: Table, operation: OperationType
) -> None:
    """Its files went with the directory; whoever begins after the drop makes the partition anew."""
    early = metastore.begin([T]).txn_id
    metastore.drop_partitions(table, [ONE])
    metastore.add_partitions(T, [ONE])
    late = metastore.begin([T]).txn_id
    record(metastore, late, "k=1", operation=operation)
    metastore.commit(late)
    record(metastore, early, "k=1", operation=operation)
    with pytest.raises(
        WriteConflictError,
        match=r"because default/p/k=1 was added, dropped, renamed or moved meanwhile",
    ) as caught:
        metastore.commit(early)
    assert caught.value.retryable


def test_a_writer_of_another_partition_may_tell_late(
    metastore: EmbeddedMetastore, table: Table
) -> None:
    """Only the dropped one is closed to it."""
    early = metastore.begin([T]).txn_id
    metastore.drop_partitions(table, [ONE])
    record(metastore, early, "k=2")
    metastore.commit(early)


def test_a_dropped_partition_has_no_history(
    metastore: EmbeddedMetastore, table: Table, writer: Writer
) -> None:
    """Neither for the compactor nor for a conflict; that of others stays."""
    metastore.commit(writer("k=1", operation=OperationType.UPDATE))
    metastore.commit(writer("k=2", operation=OperationType.UPDATE))
    metastore.drop_partitions(table, [ONE])
    assert history(metastore) == (["k=2"], ["k=2"])


def test_what_was_aborted_stays_aborted_after_a_drop(
    metastore: EmbeddedMetastore, table: Table, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many transactions come later: its files may lie in other partitions, untold."""
    aborted, losing = writer("k=1"), writer("k=1")
    metastore.abort(aborted)
    metastore.drop_partitions(table, [ONE])
    monkeypatch.setattr(opening, "KEPT_TXNS", 1)
    monkeypatch.setattr(opening, "HOUSEKEEPING_INTERVAL", 1)
    for _ in range(5):
        metastore.commit(metastore.open_txn())
    assert [t.txn_id for t in metastore.list_txns()] == [aborted, losing]
    assert not valid(metastore, 1)
    assert not valid(metastore, 2)
    with metastore._store.read() as connection:
        assert list(connection.scalars(select(TXN_COMPONENTS.c.TC_PARTITION))) == [None, None]


# ---- RENAME and SET LOCATION


def renamed(partition: Partition) -> Partition:
    return replace(partition, values=("9",), location="/data/p/k=9")


def test_a_partition_is_not_renamed_under_a_writer(
    metastore: EmbeddedMetastore, table: Table, writer: Writer
) -> None:
    """It may be once the writer has ended; writers of other partitions do not matter."""
    writer("k=2")
    busy = writer("k=1")
    with pytest.raises(
        WriteConflictError,
        match=r'partition k=1 of table "default\.p" is being written by transaction txnid:2',
    ):
        metastore.alter_partition(table, ONE, renamed(ONE))
    assert metastore.list_partitions(table) == (ONE, TWO)
    metastore.commit(busy)
    metastore.alter_partition(table, ONE, renamed(ONE))
    assert metastore.list_partitions(table) == (TWO, renamed(ONE))


def test_the_history_of_a_renamed_partition_goes_with_it(
    metastore: EmbeddedMetastore, table: Table, writer: Writer
) -> None:
    """What was committed there, and what was aborted there."""
    aborted = writer("k=1")
    metastore.abort(aborted)
    metastore.commit(writer("k=1", "k=2", operation=OperationType.UPDATE))
    metastore.alter_partition(table, ONE, renamed(ONE))
    assert [sorted(map(str, names)) for names in history(metastore)] == [
        ["k=2", "k=9"],
        ["k=2", "k=9"],
    ]
    with metastore._store.read() as connection:
        assert list(connection.scalars(select(TXN_COMPONENTS.c.TC_PARTITION))) == ["k=9"]


@pytest.mark.parametrize("name", ["k=1", "k=9"])
def test_who_began_before_a_rename_writes_to_neither_name(
    metastore: EmbeddedMetastore, table: Table, name: str
) -> None:
    """It looked for the rows in another directory."""
    early = metastore.begin([T]).txn_id
    metastore.alter_partition(table, ONE, renamed(ONE))
    late = metastore.begin([T]).txn_id
    for txn_id in (early, late):
        record(metastore, txn_id, name, operation=OperationType.OVERWRITE)
    with pytest.raises(WriteConflictError, match="was added, dropped, renamed or moved meanwhile"):
        metastore.commit(early)
    metastore.commit(late)


def test_what_ddl_did_is_compared_with_no_rows(metastore: EmbeddedMetastore, table: Table) -> None:
    """An UPDATE of a partition that was renamed meanwhile fails at once, also where another
    transaction had changed rows of it before.
    """
    early, other = metastore.begin([T]).txn_id, metastore.begin([T]).txn_id
    record(metastore, other, "k=1", operation=OperationType.UPDATE)
    metastore.commit(other)
    metastore.alter_partition(table, ONE, renamed(ONE))
    record(metastore, early, "k=9", operation=OperationType.UPDATE)
    with pytest.raises(WriteConflictError, match="was added, dropped, renamed or moved meanwhile"):
        metastore.commit(early, harmless=())


def test_who_began_before_a_move_does_not_write_to_the_old_place(
    metastore: EmbeddedMetastore, table: Table
) -> None:
    """A location is as good as a name."""
    early = metastore.begin([T]).txn_id
    metastore.alter_partition(table, ONE, replace(ONE, location="/elsewhere"))
    record(metastore, early, "k=1")
    with pytest.raises(WriteConflictError):
        metastore.commit(early)


def test_a_table_does_not_move_under_a_writer(metastore: EmbeddedMetastore, table: Table) -> None:
    """A write id is enough: its files may be anywhere in the table."""
    busy = metastore.begin([T]).txn_id
    after = replace(table, location="/elsewhere")
    with pytest.raises(
        WriteConflictError, match=r'table "default\.p" is being written by transaction txnid:1'
    ):
        metastore.alter_table(table, after)
    metastore.abort(busy)
    metastore.alter_table(table, after)
    assert metastore.find_table(T) == after


# ---- ADD


@pytest.mark.parametrize(("location", "conflict"), [("/elsewhere", True), ("/data/p/k=3", False)])
def test_who_began_before_an_addition_writes_to_its_place(
    metastore: EmbeddedMetastore, table: Table, location: str, conflict: bool
) -> None:
    """Two may make the same partition; one that found none wrote to the place that its name says,
    so it must lie there.
    """
    early = metastore.begin([T]).txn_id
    metastore.add_partitions(T, [Partition(values=("3",), location=location)])
    record(metastore, early, "k=3")
    assert (
        metastore.add_partitions(
            T, [Partition(values=("3",), location="/data/p/k=3")], if_not_exists=True
        )
        == ()
    )
    if conflict:
        with pytest.raises(
            WriteConflictError, match="was added, dropped, renamed or moved meanwhile"
        ):
            metastore.commit(early)
    else:
        metastore.commit(early)
