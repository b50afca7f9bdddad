"""What every metastore must do when a table of others becomes one of this warehouse."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.attached import ADOPTED, ATTACHED, READ_ONLY, TXNS, WRITE_IDS
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Bucketing, Partition, Table, TableKind
from acidsql.catalog.statistics import Analyzed, ColumnStatistics
from acidsql.errors import ExecutionError, WriteConflictError
from acidsql.txn.manager import TxnManager
from tests.contracts.sample_tables import T, columns, table
from tests.contracts.store import OpenStore, StoreContract, component, insert

ACID = {"transactional": "true"}
DAY = Partition(values=("mon",), location="/others/t/ds=mon")
OTHERS = ValidWriteIdList(
    table=str(T), high_watermark=WriteId(7), open=(WriteId(6),), aborted=(WriteId(2), WriteId(3))
)
UNCOUNTED = (WriteId(2), WriteId(3), WriteId(6))
HIGHEST_TXN = TxnId(40)


def attach(catalog: Catalog, *, transactional: bool = True) -> Table:
    """A table of others with one partition: of its write ids 1 to 7 three do not count."""
    of_others = {WRITE_IDS: str(OTHERS), **ACID} if transactional else {}
    attached = catalog.create_table(
        table(
            partition_columns=columns(ds="string"),
            kind=TableKind.EXTERNAL,
            location="/others/t",
            properties={"k": "v", ATTACHED: READ_ONLY, **of_others},
        )
    )
    catalog.add_partitions(T, [DAY])
    return attached


def adopted(attached: Table) -> Table:
    of_others = {
        ADOPTED: str(OTHERS.high_watermark),
        TXNS: str(ValidTxnList(high_watermark=HIGHEST_TXN, open=(), aborted=())),
        **ACID,
    }
    return replace(
        attached,
        kind=TableKind.MANAGED,
        bucketing=Bucketing(columns=("a",), count=4),
        properties={"k": "v", "bucketing_version": "2"}
        | (of_others if attached.is_transactional else {}),
    )


def adopting(catalog: Catalog, attached: Table) -> AbstractContextManager[None]:
    return catalog.adopting_table(
        attached,
        adopted(attached),
        uncounted=UNCOUNTED if attached.is_transactional else (),
        highest_txn=HIGHEST_TXN if attached.is_transactional else TxnId(0),
    )


def counted(manager: TxnManager) -> list[int]:
    """The write ids up to 10 that a reader sees who comes now."""
    seen = manager.valid_write_ids(T, manager.valid_txns())
    return [number for number in range(1, 11) if seen.is_valid(WriteId(number))]


class AdoptContract(StoreContract):
    """An adopted table is as if all that is in it had been written here."""

    @pytest.mark.parametrize("transactional", [True, False])
    def test_an_adopted_table_is_what_it_is_said_to_be(
        self, open_store: OpenStore, catalog: Catalog, transactional: bool
    ) -> None:
        """Once the block has ended, and not before; its partitions stay, and nothing is known of
        their numbers any more.
        """
        beside = open_store()
        attached = attach(catalog, transactional=transactional)
        [key] = [one for one in attached.columns if one.name == "a"]
        of_key = (ColumnStatistics(column=key, nulls=0, distinct=1, low=1, high=1),)
        measured = Analyzed(partition=DAY, rows=1, files=1, bytes=9, columns=of_key)
        catalog.put_statistics(attached, [measured], None)
        with adopting(catalog, attached):
            assert beside.first_write_id(T) == 1
        assert beside.first_write_id(T) == (8 if transactional else 1)
        stored = catalog.find_table(T)
        assert stored == adopted(attached)
        [partition] = catalog.list_partitions(stored)
        assert (partition.values, partition.location) == (DAY.values, DAY.location)
        assert dict(partition.statistics) == {}
        assert catalog.list_column_statistics(stored, key) == ()

    def test_ids_go_on_behind_those_of_others(self, catalog: Catalog, manager: TxnManager) -> None:
        """Write ids that did not count never will; transactions are above those of others, so that
        a compaction of theirs is no one's of this store.
        """
        insert(manager)
        attached = attach(catalog)
        with adopting(catalog, attached):
            pass
        assert counted(manager) == [1, 4, 5, 7]
        opened = manager.begin([T])
        assert opened.write_ids[T] == 8
        assert opened.txn_id > HIGHEST_TXN + len(UNCOUNTED)
        manager.commit(opened.txn_id, [component(T, 8)])
        assert counted(manager) == [1, 4, 5, 7, 8]
        assert manager.valid_txns().aborted == tuple(
            range(HIGHEST_TXN + 2, HIGHEST_TXN + 2 + len(UNCOUNTED))
        )

    def test_a_snapshot_from_before_sees_what_counted(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Nothing more: of what did not count no row appears to a transaction that began before."""
        attached = attach(catalog)
        before = manager.begin()
        with adopting(catalog, attached):
            pass
        seen = manager.valid_write_ids(T, before.txns)
        assert not any(seen.is_valid(write_id) for write_id in UNCOUNTED)

    def test_a_table_that_is_read_is_not_adopted(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """By a transaction, which would see other rows than before; nor one that is another now."""
        attached = attach(catalog)
        reader = manager.begin(reads=[T])
        with (
            pytest.raises(WriteConflictError, match=f"is being read by .*:{reader.txn_id}"),
            adopting(catalog, attached),
        ):
            pytest.fail("what must not be there was removed under a reader")
        assert catalog.find_table(T) == attached
        manager.abort(reader.txn_id)
        with (
            pytest.raises(WriteConflictError, match="was changed by another session"),
            adopting(catalog, replace(attached, comment="old")),
        ):
            pytest.fail("what must not be there was removed of another table")
        with adopting(catalog, attached):
            pass
        assert catalog.find_table(T) == adopted(attached)

    def test_an_adoption_that_fails_has_never_been(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """What must not be there cannot be removed: the table is that of others, as are the ids."""
        attached = attach(catalog)
        before = manager.valid_txns()
        with (
            pytest.raises(ExecutionError, match="no right"),
            adopting(catalog, attached),
        ):
            raise ExecutionError("no right")
        assert catalog.find_table(T) == attached
        assert manager.first_write_id(T) == 1
        assert manager.valid_txns() == before
