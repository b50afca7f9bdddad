"""The life of one transaction: its snapshot (see ``txn``), its locks, and its end.

How it ends: committed (one metastore call: all or nothing), aborted (by itself, by a conflict, or
by others when its heartbeat stops, its process dies or its table is dropped), or unknown (the
commit was sent and no answer came; then nothing of it may be removed, and it is for the user to
look).

    begin --> open --+--> commit --> committed
      heartbeats     |          +--> aborted     WriteConflictError, TransactionAbortedError,
                     |          |                RunCommittedError
                     |          +--> unknown     CommitStateUnknownError
                     +--> abort ---> aborted
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Self

from acidsql import crash_points
from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import (
    CommitStateUnknownError,
    Error,
    InterfaceError,
    MetastoreError,
    OperationalError,
    RunCommittedError,
    SnapshotTooOldError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.txn.locks import Heartbeat, LockComponent, LockRequest, LockState, Patience, wait
from acidsql.txn.manager import OpenedTxn, TxnComponent, TxnManager, highest_given
from acidsql.txn.overlaps import CompareRows, Overlap, conflict_error
from acidsql.txn.runs import Run, Taken

HEARTBEAT_SECONDS = 150.0
"""Half of Hive's default hive.txn.timeout."""

PATIENCE = Patience()
"""How long Hive waits for locks by default."""


class TransactionState(Enum):
    OPEN = "open"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Transaction:
    """An open transaction with its snapshot; a context manager that aborts unless ``commit`` was
    called and succeeded.
    """

    def __init__(
        self,
        manager: TxnManager,
        opened: OpenedTxn,
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._manager = manager
        self._unrecorded: list[TxnComponent] = []
        self._statistics: list[StatisticsChange] = []
        self._locks: list[LockComponent] = []
        self._heartbeat_seconds = heartbeat_seconds
        self._is_untouched = True
        self.waited = False
        self.state = TransactionState.OPEN
        self._follow(opened)

    def _follow(self, opened: OpenedTxn) -> None:
        self._own: dict[TableName, WriteId] = dict(opened.write_ids)
        self._write_ids: dict[TableName, ValidWriteIdList] = dict(opened.seen)
        self._registered: set[TableName] = set(opened.seen)
        self.txn_id: TxnId = opened.txn_id
        self.txns: ValidTxnList = opened.txns
        self._heartbeat = Heartbeat(
            partial(self._manager.heartbeat, opened.txn_id),
            f"txnid:{opened.txn_id}",
            self._heartbeat_seconds,
        )
        self._heartbeat.start()

    @classmethod
    def begin(
        cls,
        manager: TxnManager,
        tables: Sequence[TableName] = (),
        locks: LockRequest | None = None,
        patience: Patience = PATIENCE,
        *,
        reads: Sequence[TableName] = (),
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> Self:
        """Opens a transaction that holds ``locks``. ``tables``: those it is sure to write to, and
        ``reads`` to read; what it may of them comes with the same metastore call.

        It fails as ``locks.wait`` does, and then there is none. ``waited`` tells whether it had
        to wait; its snapshot is from behind that.
        """
        opened = manager.begin(tables, locks, reads)
        answer, waited = opened.locks, False
        if locks is not None and answer is not None and answer.state is not LockState.ACQUIRED:
            try:
                wait(manager, answer, locks, patience, opened.txn_id)
                opened, waited = manager.renew(opened.txn_id, tables, reads), True
            except BaseException:
                with suppress(Error):
                    manager.abort(opened.txn_id)
                raise
        txn = cls(manager, opened, heartbeat_seconds=heartbeat_seconds)
        txn.waited = waited
        txn._note(locks)
        return txn

    def lock(self, request: LockRequest, patience: Patience = PATIENCE) -> bool:
        """Takes the locks of another statement, those that it does not hold yet, and keeps them to
        its end; whether it had to wait.

        It fails as ``locks.wait`` does, and is open still. A transaction that has neither read
        nor written yet has a snapshot from behind its first locks: those who held them until it got
        them is no conflict.
        """
        self.check()
        missing = tuple(c for c in request.components if not self._holds(c))
        if not missing:
            return False
        answer = self._manager.lock(replace(request, components=missing), self.txn_id)
        waited = answer.state is not LockState.ACQUIRED
        wait(self._manager, answer, request, patience, self.txn_id)
        self._note(request)
        if self._is_untouched and (waited or self._others_have_come_or_gone()):
            self._begin_again()
        return waited

    def look_at(self, tables: Collection[TableName]) -> None:
        """Registers what its first statement reads, all at once. A snapshot that is too old for
        that by now is taken anew: nothing was seen of it yet.
        """
        if not self._is_untouched or not tables:
            return
        try:
            self._write_ids.update(self._manager.read_in_txn(self.txn_id, self.txns, tables))
            self._registered.update(tables)
        except SnapshotTooOldError:
            self._begin_again(tables)
        self._is_untouched = False

    def _begin_again(self, reads: Collection[TableName] = ()) -> None:
        """Takes its snapshot anew, and with it what it may read of ``reads``."""
        seen = self._registered.union(reads)
        opened = self._manager.renew(self.txn_id, tuple(self._own), tuple(seen))
        self._heartbeat.stop()
        self._follow(opened)

    def _others_have_come_or_gone(self) -> bool:
        """Whether a transaction has been opened or has ended since this one was."""
        now, then = self._manager.valid_txns(), self.txns
        still_open = set(now.open) - {self.txn_id}
        return now.high_watermark > self.txn_id or still_open != set(then.open) - {self.txn_id}

    def _holds(self, component: LockComponent) -> bool:
        return any(lock.settles(component) for lock in self._locks)

    def _note(self, request: LockRequest | None) -> None:
        for component in request.components if request else ():
            if not self._holds(component):
                self._locks.append(component)

    def write_id(self, table: TableName) -> WriteId:
        """Its one write id on ``table``, allocated on first use. TransactionAbortedError if it is
        no longer open.
        """
        self.check()
        self._is_untouched = False
        if table not in self._own:
            self._own[table] = self._manager.allocate_write_id(self.txn_id, table)
            # from now on the list has its own id as well, and is otherwise the same
            self._write_ids.pop(table, None)
        return self._own[table]

    @property
    def allocated(self) -> dict[TableName, WriteId]:
        """Its write ids so far."""
        return dict(self._own)

    def write_ids(self, table: TableName) -> ValidWriteIdList:
        """The write ids it may read of ``table``: the snapshot taken at its beginning, and its
        own writes. The table is registered as one that it reads.

        SnapshotTooOldError if first asked so late that what it needs may be gone.
        """
        self._is_untouched = False
        if table not in self._write_ids:
            self._write_ids[table] = self._seen(table)
        return self._write_ids[table]

    def _seen(self, table: TableName) -> ValidWriteIdList:
        if table in self._registered:
            return self._manager.valid_write_ids(table, self.txns)
        seen = self._manager.read_in_txn(self.txn_id, self.txns, [table])
        self._registered.add(table)
        return seen[table]

    def compactions(self) -> ValidTxnList | None:
        """By which transactions it sees compactions that have one in their names; None: all."""
        return self._manager.seen_compactions(self.txns)

    def keeps(self, table: TableName) -> bool:
        """Whether it has registered the table as one that it reads."""
        return table in self._registered

    def is_latest(self, table: TableName) -> bool:
        """Never true: what it has written itself is in no metastore."""
        return False

    def txns_now(self) -> ValidTxnList:
        """The transactions as they are now, also those that its snapshot does not know of."""
        return self._manager.valid_txns()

    def highest_given(self, table: TableName) -> WriteId:
        """The highest write id that was given out by now."""
        return highest_given(self._manager, table)

    def give_back(self, table: TableName) -> None:
        """Gives its write id on a table back: nothing was written under it."""
        self._manager.give_back(self.txn_id, table)
        self._own.pop(table, None)
        self._write_ids.pop(table, None)

    def record(
        self, components: Iterable[TxnComponent], statistics: Iterable[StatisticsChange] = ()
    ) -> None:
        """Notes what it wrote; recorded in the metastore with the commit, or with the abort for the
        cleaner's sake.
        """
        self._unrecorded.extend(components)
        self._statistics.extend(statistics)

    def announce(self, components: Iterable[TxnComponent]) -> None:
        """Records in the metastore what it is about to make visible, for the cleaner if it
        never commits. TransactionAbortedError if others have aborted it: then nothing may be made.
        """
        self.check()
        self._manager.add_components(self.txn_id, components)

    def check(self) -> None:
        """Checks that the transaction is open. InterfaceError if it was ended;
        TransactionAbortedError if others aborted it, as far as the heartbeat knows.
        """
        if self.state is not TransactionState.OPEN:
            raise InterfaceError(f"transaction txnid:{self.txn_id} is {self.state.value}")
        if self._heartbeat.lost is not None:
            raise self._heartbeat.lost

    def confirm(self) -> None:
        """Does what ``check`` does, but asks the metastore; counts as a heartbeat."""
        self.check()
        self._manager.heartbeat(self.txn_id)

    def find_abort(self) -> TransactionAbortedError | None:
        """The error of a transaction that others have aborted, as far as the store can tell."""
        if self.state is not TransactionState.OPEN:
            return None
        if self._heartbeat.lost is None:
            try:
                self._manager.heartbeat(self.txn_id)
            except TransactionAbortedError as error:
                return error
            except Error:
                return None
        return self._heartbeat.lost

    def commit(
        self,
        compare: CompareRows | None = None,
        run: Run | None = None,
        taken: Sequence[Taken] = (),
    ) -> None:
        """Makes everything visible at once. WriteConflictError, TransactionAbortedError: nothing of
        it is or will be visible; CommitStateUnknownError: nobody knows, touch nothing; any other
        error: still open. ``run``: what is on record from then on; RunCommittedError if it is
        already: nothing of this transaction is or will be visible. ``taken``: as for the manager.

        ``compare``: tells whether overlapping changes hit a common row; None: it is a conflict
        whichever rows they hit, as in Hive.
        """
        if self.state is TransactionState.COMMITTED:
            return
        self.check()
        self.state = TransactionState.COMMITTING
        try:
            self._commit(compare, run, taken)
        except CommitStateUnknownError:
            self._end(TransactionState.UNKNOWN)
            raise
        except (WriteConflictError, TransactionAbortedError, RunCommittedError):
            self._end(TransactionState.ABORTED)
            raise
        except Error:
            self.state = TransactionState.OPEN
            raise
        except BaseException as error:  # an interrupt, or a bug: the store can tell, if it still is
            self._abort_after(error)
            raise
        self._end(TransactionState.COMMITTED)

    def _commit(self, compare: CompareRows | None, run: Run | None, taken: Sequence[Taken]) -> None:
        """Asks the store to commit, until no overlapping change is left that was not compared. Most
        often there is none: that is one call.
        """
        if compare is None:
            self._manager.commit(
                self.txn_id, self._unrecorded, self._statistics, run=run, taken=taken
            )
            return
        harmless: frozenset[Overlap] = frozenset()
        while overlaps := self._manager.commit(
            self.txn_id, self._unrecorded, self._statistics, harmless, run, taken
        ):
            clash = compare(overlaps)
            if clash is not None:
                self._manager.abort(self.txn_id, conflict=True)
                raise conflict_error(self.txn_id, clash)
            harmless = harmless.union(overlaps)
            crash_points.reached("rows compared")

    def abort(self) -> None:
        """Gives it up. Doing so twice is no error; OperationalError if it is committed or nobody
        knows.

        Whatever is raised, it has ended here: no heartbeat keeps it from the reaper.
        """
        match self.state:
            case TransactionState.ABORTED:
                return
            case TransactionState.COMMITTED | TransactionState.UNKNOWN:
                raise OperationalError(f"transaction txnid:{self.txn_id} is {self.state.value}")
            case TransactionState.OPEN | TransactionState.COMMITTING:
                self._abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.state not in (TransactionState.OPEN, TransactionState.COMMITTING):
            return
        if error is None:
            self.abort()
        else:
            self._abort_after(error)

    def _abort_after(self, error: BaseException) -> None:
        """Aborts after an error, which is the one to report; the reaper will do what could not be
        done here.
        """
        try:
            self.abort()
        except Error as failure:
            error.add_note(
                f"transaction txnid:{self.txn_id} could not be aborted: {failure.message}"
            )

    def _abort(self) -> None:
        never_sent = self.state is TransactionState.OPEN
        if self._unrecorded:
            with suppress(Error):  # the metastore can do without, it knows the write ids
                self._manager.add_components(self.txn_id, self._unrecorded)
        state = TransactionState.UNKNOWN
        try:
            self._manager.abort(self.txn_id)
            state = TransactionState.ABORTED
        except MetastoreError as error:
            # Nobody else will commit it, unless the store says that somebody has.
            if never_sent and error.code is None:
                state = TransactionState.ABORTED
            raise
        finally:
            self._end(state)

    def _end(self, state: TransactionState) -> None:
        self.state = state
        self._heartbeat.stop()
