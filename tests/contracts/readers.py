"""Who reads what is on record, and nothing is claimed that somebody registered may need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import TableName
from acidsql.errors import SnapshotTooOldError, TransactionAbortedError
from acidsql.txn.compactions import (
    Compaction,
    CompactionRequest,
    CompactionState,
    CompactionType,
)
from acidsql.txn.manager import TxnManager
from acidsql.txn.readers import ReadRequest
from tests.contracts.dropping import create
from tests.contracts.lock_requests import (
    ACQUIRED,
    EXCLUSIVE,
    SHARED_READ,
    WAITING,
    U,
    asking,
    on,
)
from tests.contracts.store import Clock, OpenStore, StoreContract, T, component, insert

OTHER = TableName("default", "other")


def reading(*tables: TableName, lease: float = 1000, statement: str = "") -> ReadRequest:
    return ReadRequest(tables=tables, lease_seconds=lease, statement=statement)


def open_reader(manager: TxnManager, *tables: TableName, lease: float = 1000) -> int:
    reader_id = manager.open_reader(reading(*tables, lease=lease)).reader_id
    assert reader_id is not None
    return reader_id


def compacted(manager: TxnManager, table: TableName = T) -> Compaction:
    """A compaction of all that is written, which commits now."""
    txn_id = manager.open_txn()
    top = manager.valid_write_ids(table, manager.valid_txns()).high_watermark
    manager.commit(txn_id)
    request = CompactionRequest(
        table=table, partition=None, type=CompactionType.MAJOR, initiator="a-manual"
    )
    return Compaction(
        compaction_id=1,
        request=request,
        state=CompactionState.READY_FOR_CLEANING,
        enqueued=0,
        highest_write_id=top,
        txn_id=txn_id,
        next_txn_id=TxnId(manager.valid_txns().high_watermark + 1),
    )


def claims(manager: TxnManager, compaction: Compaction) -> bool:
    """Whether what lies below the base that it made may go."""
    return manager.begin_cleaning(compaction, compaction.highest_write_id)


class ReaderContract(StoreContract):
    """Readers keep what they have registered, and nothing else."""

    def test_a_read_keeps_what_was_compacted_since(self, manager: TxnManager) -> None:
        """Its table, until it is closed; nobody's other table."""
        for table in (T, U):
            insert(manager, table)
        reader = open_reader(manager, T)
        assert not claims(manager, compacted(manager))
        assert claims(manager, compacted(manager, U))
        compaction = compacted(manager)
        assert manager.close_readers([reader]) == set()
        assert claims(manager, compaction)

    def test_a_transaction_keeps_what_it_has_read(self, manager: TxnManager) -> None:
        """From when it first asks, until it ends in whichever way."""
        insert(manager)
        first, second = manager.begin(reads=[T]), manager.begin()
        assert first.seen == {T: manager.valid_write_ids(T, first.txns)}
        assert manager.read_in_txn(second.txn_id, second.txns, [T, U])[T] == first.seen[T]
        compaction = compacted(manager)
        assert not claims(manager, compaction)
        manager.commit(first.txn_id)
        assert manager.is_registered(second.txn_id, T)
        assert not claims(manager, compaction)
        manager.abort(second.txn_id)
        assert not manager.is_registered(second.txn_id, T)
        assert claims(manager, compaction)

    def test_who_comes_behind_the_commit_keeps_nothing(self, manager: TxnManager) -> None:
        """It sees the compaction; a constant stream of readers so holds no cleaner up."""
        insert(manager)
        open_elsewhere = manager.begin()
        before = open_reader(manager, T)
        compaction = compacted(manager)
        open_reader(manager, T)
        manager.begin(reads=[T])
        assert not claims(manager, compaction)
        manager.close_readers([before])
        assert claims(manager, compaction)
        manager.commit(open_elsewhere.txn_id)

    def test_a_snapshot_that_needs_what_is_gone_is_refused(self, manager: TxnManager) -> None:
        """A transaction that asks too late, and a read; one that all of it was decided for need
        not care.
        """
        writer = manager.begin([T])
        late, later = manager.begin(), manager.valid_txns()
        manager.commit(writer.txn_id, [component(T, 1)])
        early = manager.begin()
        assert claims(manager, compacted(manager))
        with pytest.raises(SnapshotTooOldError, match=r'too old to read "default\.t"') as caught:
            manager.read_in_txn(late.txn_id, late.txns, [T])
        assert caught.value.retryable
        with pytest.raises(SnapshotTooOldError):
            manager.read_also(None, later, reading(T))
        assert manager.read_in_txn(early.txn_id, early.txns, [T])[T].high_watermark == 1
        assert manager.read_in_txn(late.txn_id, late.txns, [U])[U].high_watermark == 0

    def test_what_loses_no_history_refuses_nobody(self, manager: TxnManager) -> None:
        """A compaction whose rows say by whom they were written."""
        writer, late = manager.begin([T]), manager.begin()
        manager.commit(writer.txn_id, [component(T, 1)])
        assert manager.begin_cleaning(compacted(manager), None)
        assert manager.read_in_txn(late.txn_id, late.txns, [T])

    def test_a_read_sees_what_is_committed_when_it_registers(self, manager: TxnManager) -> None:
        """Its snapshot and its locks come with the registration."""
        insert(manager)
        writer = manager.begin([T])
        opened = manager.open_reader(reading(T), asking(on(T, SHARED_READ)))
        assert opened.locks is not None
        assert opened.locks.state is ACQUIRED
        assert opened.txns == manager.valid_txns()
        assert opened.write_ids == {T: manager.valid_write_ids(T, opened.txns)}
        assert not opened.write_ids[T].is_valid(writer.write_ids[T])
        assert opened.reader_id is not None
        assert manager.close_readers([opened.reader_id], opened.locks.lock_id) == set()
        assert (manager.list_locks(), manager.list_readers()) == ((), ())

    def test_who_waits_for_locks_is_not_registered(self, manager: TxnManager) -> None:
        """Nor has it a snapshot: that is to be from behind the waiting."""
        insert(manager)
        manager.begin((), asking(on(T, EXCLUSIVE)))
        opened = manager.open_reader(reading(T), asking(on(T, SHARED_READ)))
        assert opened.locks is not None
        assert (opened.locks.state, opened.reader_id, opened.write_ids) == (WAITING, None, {})
        assert manager.list_readers() == ()

    def test_more_tables_are_kept_by_the_same_read(self, manager: TxnManager) -> None:
        """It sees them at its own snapshot."""
        insert(manager)
        opened = manager.open_reader(reading(T))
        insert(manager, U)
        more = manager.read_also(opened.reader_id, opened.txns, reading(U))
        assert more.reader_id == opened.reader_id
        assert not more.write_ids[U].is_valid(WriteId(1))
        assert not claims(manager, compacted(manager, U))

    def test_readers_are_shown_with_all_that_is_known(
        self, open_store: OpenStore, clock: Clock
    ) -> None:
        """Who, what, since when and for how long."""
        manager = open_store(user="ann", host="node1")
        insert(manager)
        now = int(clock.now * 1000)
        manager.open_reader(reading(T, lease=60, statement="SELECT 1 " * 1000))
        clock.now += 1
        opened = manager.begin(reads=[T])
        reader, txn = manager.list_readers()
        assert (reader.table, reader.write_id, reader.started) == (T, 2, now)
        assert (reader.until, reader.user, reader.host) == (now + 60_000, "ann", "node1")
        assert (reader.statement, reader.txn_id) == (("SELECT 1 " * 1000)[:1000], None)
        assert (txn.txn_id, txn.reader_id, txn.until) == (opened.txn_id, None, None)
        assert (txn.started, txn.user) == (now + 1000, "ann")

    def test_a_lease_ends(self, manager: TxnManager, clock: Clock) -> None:
        """However often it is renewed; and is lost only once somebody has claimed the files."""
        insert(manager)
        reader = open_reader(manager, T, lease=500)
        compaction = compacted(manager)
        for _ in range(2):
            clock.now += 249
            assert manager.renew_readers([reader]) == set()
        assert not claims(manager, compaction)
        clock.now += 3
        assert manager.list_readers() == ()
        assert manager.renew_readers([reader]) == set()
        assert claims(manager, compaction)
        assert manager.renew_readers([reader]) == {reader}
        assert manager.close_readers([reader]) == {reader}

    def test_the_silent_keep_nothing(self, manager: TxnManager, clock: Clock) -> None:
        """Reads without a heartbeat, and transactions: these are aborted."""
        insert(manager)
        reader, txn = open_reader(manager, T), manager.begin(reads=[T])
        compaction = compacted(manager)
        clock.now += 300
        assert not claims(manager, compaction)
        clock.now += 0.001
        assert claims(manager, compaction)
        assert manager.close_readers([reader]) == {reader}
        with pytest.raises(TransactionAbortedError):
            manager.heartbeat(txn.txn_id)
        opened = manager.valid_txns()
        with pytest.raises(SnapshotTooOldError, match="not kept for it any more"):
            manager.read_also(reader, opened, reading(U))

    def test_the_dead_are_reaped_on_demand(self, manager: TxnManager, clock: Clock) -> None:
        """With the transactions: nothing of them is on record any more."""
        insert(manager)
        reader = open_reader(manager, T)
        manager.reap()
        assert manager.renew_readers([reader]) == set()
        clock.now += 300.001
        manager.reap()
        assert manager.renew_readers([reader]) == {reader}

    def test_a_read_outlives_its_transaction(self, manager: TxnManager) -> None:
        """It keeps what that kept, by a lease of its own; one that was aborted keeps nothing."""
        insert(manager)
        opened = manager.begin(reads=[T, U])
        kept = manager.keep_reading(opened.txn_id, opened.txns, reading(T))
        manager.commit(opened.txn_id)
        assert kept.write_ids == {T: opened.seen[T]}
        assert kept.reader_id is not None
        compaction = compacted(manager)
        assert not claims(manager, compaction)
        assert claims(manager, compacted(manager, U))
        manager.renew_readers([], [kept.reader_id])
        assert claims(manager, compaction)
        aborted = manager.begin(reads=[T])
        manager.abort(aborted.txn_id)
        with pytest.raises(TransactionAbortedError):
            manager.keep_reading(aborted.txn_id, aborted.txns, reading(T))
        with pytest.raises(TransactionAbortedError):
            manager.read_in_txn(aborted.txn_id, aborted.txns, [U])


class ReaderTableContract(StoreContract):
    """Registrations follow the tables."""

    def test_a_renamed_table_is_still_read(self, catalog: Catalog, manager: TxnManager) -> None:
        """By those who read it before, under its new name."""
        table = create(catalog)
        insert(manager)
        reader, txn = open_reader(manager, T), manager.begin(reads=[T])
        catalog.rename_table(table, replace(table, name=U))
        compaction = compacted(manager, U)
        assert not claims(manager, compaction)
        manager.commit(txn.txn_id)
        assert not claims(manager, compaction)
        manager.close_readers([reader])
        assert claims(manager, compaction)

    def test_what_is_dropped_is_kept_for_who_reads_it(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """Under a name of its own, apart from the next table's; and what is read stays on record
        apart from what that one does.
        """
        table = create(catalog)
        insert(manager)
        reader, other = open_reader(manager, T, U), open_reader(manager, U)
        catalog.drop_table(T)
        kept = manager.kept_for(reader)
        assert list(kept) == [table.location]
        assert kept[table.location] != table.location
        later = open_reader(manager, T)
        assert (manager.kept_for(other), manager.kept_for(later)) == ({}, {})
        manager.close_readers([later])
        assert manager.renew_readers([reader, other]) == set()
        create(catalog)
        insert(manager)
        assert claims(manager, compacted(manager))
        catalog.drop_table(T)
        assert manager.kept_for(reader) == kept

    def test_what_is_moved_is_followed(self, catalog: Catalog, manager: TxnManager) -> None:
        """From one place to the next; and where it is dropped at last, that is kept."""
        table = create(catalog)
        reader = open_reader(manager, T)
        once = replace(table, name=OTHER, location=f"{table.location}_2")
        catalog.rename_table(table, once, move=lambda: None)
        assert manager.kept_for(reader) == {table.location: once.location}
        catalog.rename_table(once, table, move=lambda: None)
        assert manager.kept_for(reader)[table.location] == table.location
        catalog.drop_table(T)
        assert manager.kept_for(reader, behind=True)[table.location] not in (
            table.location,
            once.location,
        )

    def test_a_new_table_of_the_name_has_all_its_history(
        self, catalog: Catalog, manager: TxnManager
    ) -> None:
        """What was claimed of the dropped one is none of its."""
        create(catalog)
        insert(manager)
        assert claims(manager, compacted(manager))
        catalog.drop_table(T)
        create(catalog)
        writer, reader = manager.begin([T]), manager.begin()
        manager.commit(writer.txn_id, [component(T, 1)])
        assert manager.read_in_txn(reader.txn_id, reader.txns, [T])
