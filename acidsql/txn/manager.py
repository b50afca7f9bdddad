"""The protocol of a transaction manager: Hive's TxnHandler calls that an ACID writer or reader
needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.lazy import dataclass
from acidsql.txn.locks import NO_TXN, LockAnswer, LockInfo, LockRequest
from acidsql.txn.overlaps import Overlap
from acidsql.txn.readers import Readers
from acidsql.txn.runs import CommittedRun, Run, Taken, TakenFile


class OperationType(StrEnum):
    """TC_OPERATION_TYPE and WS_OPERATION_TYPE, by Hive's letters.

    OVERWRITE (INSERT OVERWRITE, TRUNCATE) is ours: Hive records an UPDATE and keeps others out by
    an exclusive lock. STRAY, too: what an aborted transaction did to a table or partition that
    lies elsewhere since.
    """

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"
    COMPACT = "c"
    OVERWRITE = "o"
    STRAY = "x"


class TxnState(StrEnum):
    """TXN_STATE, by Hive's letters."""

    OPEN = "o"
    ABORTED = "a"
    COMMITTED = "c"


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnComponent:
    """What a transaction did to a table or partition: a row of TXN_COMPONENTS. ``partition`` is
    Hive's ``p=1/q=2`` or None.
    """

    table: TableName
    partition: str | None
    operation: OperationType
    write_id: WriteId


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnInfo:
    """One line of SHOW TRANSACTIONS; times in epoch milliseconds."""

    txn_id: TxnId
    state: TxnState
    started: int
    last_heartbeat: int
    user: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnWrite:
    """What is on record of a transaction's changes of a table or partition: TxnComponent, where
    the operation may be forgotten (None), and the partitions with it.
    """

    table: TableName
    partition: str | None
    operation: OperationType | None
    write_id: WriteId


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOutcome:
    """What became of a transaction, as far as is on record. ``info``: None if it ended so long ago
    that its row is gone; ``reason``: why it was aborted, in words.
    """

    info: TxnInfo | None
    reason: str | None = None
    writes: tuple[TxnWrite, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedTxn:
    """A transaction as ``begin`` opened it: its snapshot, its write id on each table asked for,
    and what became of its locks, if it asked for some. ``seen``: what it may read of the tables
    that it has registered.
    """

    txn_id: TxnId
    txns: ValidTxnList
    write_ids: Mapping[TableName, WriteId]
    locks: LockAnswer | None = None
    seen: Mapping[TableName, ValidWriteIdList] = field(default_factory=dict)


class TxnManager(Readers, Protocol):
    def begin(
        self,
        tables: Iterable[TableName] = (),
        locks: LockRequest | None = None,
        reads: Iterable[TableName] = (),
    ) -> OpenedTxn:
        """Does ``open_txn``, ``lock``, ``valid_txns``, an ``allocate_write_id`` for each table and
        ``Readers.read_in_txn`` for ``reads``, in one step where the store can. Where the locks are
        not free it has neither yet: ``renew`` gives them; where they are refused (NOT_ACQUIRED) it
        is aborted already.
        """

    def renew(
        self,
        txn_id: TxnId,
        tables: Iterable[TableName] = (),
        reads: Iterable[TableName] = (),
    ) -> OpenedTxn:
        """Opens a new transaction, with a snapshot of now, in the place of one that has waited for
        its locks and done nothing yet: it has those locks, and the old one is aborted. What
        others committed while it waited is what it sees, and no conflict.

        TransactionAbortedError if the old one is not open.
        """

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        """Asks for locks. They are there when it returns, or it is their turn once those before
        them are gone: ``check_lock`` tells. NOT_ACQUIRED: refused, and nothing waits. What the
        transaction holds already it need not wait for again. Those of a
        transaction end with it; others with ``unlock``, or their heartbeat, or their process.

        TransactionAbortedError if the transaction is not open. Hive: TxnHandler.lock.
        """

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        """Whether waiting locks can be had now; counts as a heartbeat. ``txn_id``: the transaction
        they were asked for in.

        MetastoreError if the lock is unknown; TransactionAbortedError if ``txn_id`` is not open any
        more (locks end with their transaction, so without it they are unknown). Hive:
        TxnHandler.checkLock.
        """

    def unlock(self, lock_id: int) -> None:
        """Gives up locks that wait, or that belong to no transaction; no error for an unknown one.
        OperationalError for those that a transaction holds. Hive: TxnHandler.unlock.
        """

    def heartbeat_lock(self, lock_id: int) -> None:
        """Keeps locks alive; of those of a transaction, that. MetastoreError if they are gone."""

    def list_locks(self) -> tuple[LockInfo, ...]:
        """All locks: acquired ones first, then by strength, then in the order of the queue. Hive:
        TxnHandler.showLocks.
        """

    def open_txn(self) -> TxnId:
        """Opens a transaction, reaping those whose heartbeat timed out first. Hive:
        TxnHandler.openTxns.
        """

    def valid_txns(self, txn_id: TxnId | None = None) -> ValidTxnList:
        """The transactions visible to ``txn_id`` (None: now). Hive:
        TxnCommonUtils.createValidReadTxnList.
        """

    def valid_write_ids(self, table: TableName, txns: ValidTxnList) -> ValidWriteIdList:
        """The write ids of a table that are valid in ``txns``; one that nobody wrote to has high
        watermark 0. Hive: TxnHandler.getValidWriteIdsForTable.
        """

    def seen_compactions(self, txns: ValidTxnList) -> ValidTxnList | None:
        """By which transactions compactions are seen that have one in their names, by who sees
        ``txns``: by these where compactions are transactions of the store, as in Hive 4. None where
        its own have no transactions in their names.
        """

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        """The one write id of this transaction on this table; the same again when asked again.

        TransactionAbortedError if the transaction is not open.
        """

    def seed_write_id(self, table: TableName, write_id: WriteId) -> None:
        """Gives a table that nobody has written to here, because its files are another store's, its
        first write ids: all up to ``write_id`` count as committed.

        WriteConflictError if a write id was given out meanwhile. Hive: TxnHandler.seedWriteId.
        """

    def declare_write_ids(
        self,
        table: TableName,
        *,
        committed: Collection[WriteId],
        aborted: Collection[WriteId],
        highest_txn: TxnId = NO_TXN,
    ) -> None:
        """Says what became of write ids of files that are another store's, all of them above those
        that were given out here; others below the highest count as committed. ``highest_txn``: of
        those that compacted the files; the next ones here are above it.

        WriteConflictError if one of them was given out meanwhile.
        """

    def give_back(self, txn_id: TxnId, table: TableName) -> None:
        """Has a write id be nobody's again, of a transaction that has written nothing under it. If
        later ones were given out it is an aborted one for ever, whose files nobody touches, and so
        is the transaction.
        """

    def first_write_id(self, table: TableName) -> WriteId:
        """The first one of a table to come: behind those of the one that had its name before, if
        somebody read that when it was dropped or renamed, so that no file of it is looked for where
        one of the new table has its name. Else FIRST_WRITE_ID.
        """

    def add_components(self, txn_id: TxnId, components: Iterable[TxnComponent]) -> None:
        """Records what the transaction writes to: conflict check, compaction and garbage collection
        need it. TransactionAbortedError if it is not open; WriteConflictError if DDL has moved a
        partition since it began. Hive: TxnHandler.addDynamicPartitions.
        """

    def heartbeat(self, txn_id: TxnId) -> None:
        """Keeps the transaction alive. TransactionAbortedError if it is no longer open."""

    def commit(
        self,
        txn_id: TxnId,
        components: Iterable[TxnComponent] = (),
        statistics: Iterable[StatisticsChange] = (),
        harmless: Collection[Overlap] | None = None,
        run: Run | None = None,
        taken: Collection[Taken] = (),
    ) -> tuple[Overlap, ...]:
        """Does ``add_components`` and makes the transaction visible; with it, or not at all, the
        statistics change, ``run`` and the files that were ``taken`` are on record.

        ``harmless``: overlapping updates and deletes that hit no common row. If there are others
        these are returned and nothing is changed: to be compared, and asked again. None: every
        overlapping change is a conflict, as in Hive; () is returned.

        WriteConflictError (then it is aborted), also where another has taken one of the files;
        RunCommittedError (so it is, too: another has committed the run), TransactionAbortedError,
        CommitStateUnknownError. A commit that already happened is no error. Hive:
        TxnHandler.commitTxn.
        """

    def abort(self, txn_id: TxnId, *, conflict: bool = False) -> None:
        """Aborts a transaction. For an aborted one that is no error; a committed one raises
        OperationalError. ``conflict``: because another has changed the same rows.
        """

    def abort_txns(self, txn_ids: Iterable[TxnId]) -> None:
        """Aborts transactions on a user's demand: those that are open; others stay as they are.
        Hive: TxnHandler.abortTxns.
        """

    def reap(self) -> None:
        """Aborts open transactions whose heartbeat timed out or whose process has ended; ends the
        locks and the registrations of such readers. Hive: TxnHandler.performTimeOuts.
        """

    def list_txns(self) -> tuple[TxnInfo, ...]:
        """Open and aborted transactions by id."""

    def find_txn(self, txn_id: TxnId) -> TxnOutcome | None:
        """What became of a transaction; None if no transaction has that id yet."""

    def find_run(self, run_id: str) -> CommittedRun | None:
        """What was committed under a run id; None if nothing was, or so long ago that it is
        forgotten.
        """

    def find_taken(self, table_id: int, files: Collection[TakenFile]) -> frozenset[TakenFile]:
        """The ones among the files that a table has taken, in transactions that were committed."""

    def forget_run(self, run_id: str) -> bool:
        """Has a run id be used again; whether something was on record under it."""


def highest_given(manager: TxnManager, table: TableName) -> WriteId:
    """The highest write id that was given out on a table by now; 0 for none."""
    now = manager.valid_write_ids(table, manager.valid_txns())
    return max((now.high_watermark, *now.exceptions))
