"""The reads of a session: with which locks each begins, how long it stays registered (see
``readers``), and the error of one whose files are not kept any more.

A read is registered in the store's write that takes its locks, and given up in the one that frees
them; one whose rows are to be fetched later stays registered until they have been, or nobody can
ask for them any more. A DataFrame that was handed out may be used at any time: it stays until the
session is closed, or its lease ends. One thread of the session renews what is registered.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self
from weakref import WeakSet, finalize, ref

from acidsql.acid.ids import ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import (
    Error,
    ExecutionError,
    FormatError,
    InterfaceError,
    MetastoreError,
    Warning,
)
from acidsql.txn.locks import Heartbeat, LockRequest, LockState, Patience, wait
from acidsql.txn.manager import TxnManager, highest_given
from acidsql.txn.readers import OpenedReader, ReadRequest, UnwritableError, lost_error
from acidsql.txn.transaction import Transaction, TransactionState


class Hold:
    """The files of a query whose rows are fetched later, or that a DataFrame reads: registered as
    ``reader_id``; or by ``txn`` while that is open.
    """

    def __init__(self, tables: Sequence[TableName], statement: str) -> None:
        self.tables = tuple(tables)
        self.statement = statement
        self.reader_id: int | None = None
        self.txn: Transaction | None = None
        self.is_unknown = False
        """The store could not be written: nobody knows of the read, and so none has given it up."""
        self.is_handed_out = False
        self.is_over = False

    @property
    def is_given_up(self) -> bool:
        """Whether nothing is registered any more that was to be."""
        return self.reader_id is None and not self.is_unknown

    @property
    def is_of_open_txn(self) -> bool:
        return self.txn is not None and self.txn.state is TransactionState.OPEN


class Reads:
    """The registered reads of one session. ``lease_seconds``, ``heartbeat_seconds``: as the
    session's settings are when a read begins.
    """

    def __init__(
        self,
        open_store: Callable[[], TxnManager],
        lease_seconds: Callable[[], float],
        heartbeat_seconds: Callable[[], float],
    ) -> None:
        self._open_store = open_store
        self._lease_seconds = lease_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._lock = threading.Lock()
        self._readers: set[int] = set()
        self._locks: set[int] = set()
        self._dropped: deque[int] = deque()
        self._said: set[str] = set()
        self._in_txn: WeakSet[Hold] = WeakSet()
        self._heartbeat: Heartbeat | None = None

    def tell_unknown(self, snapshot: ReadSnapshot) -> Iterator[Warning]:
        """What the user is told, once, of reads that nobody knows of."""
        unknown = snapshot.unknown
        if unknown is not None and unknown.message not in self._said:
            self._said.add(unknown.message)
            yield Warning(
                f"read without locks: {unknown.message}",
                hint="Nobody waits for this session: files that a compaction takes away, or a"
                " statement that removes rows, fail its reads.",
            )

    def request(
        self, tables: Sequence[TableName], statement: str, as_of: WriteId | None = None
    ) -> ReadRequest:
        return ReadRequest(
            tables=tuple(dict.fromkeys(tables)),
            statement=statement,
            lease_seconds=self._lease_seconds(),
            as_of=as_of,
        )

    # ---- statements

    @contextmanager
    def reading(
        self,
        tables: Sequence[TableName],
        statement: str,
        locks: LockRequest | None = None,
        patience: Patience | None = None,
        *,
        holds: list[Hold] | None = None,
        as_of: WriteId | None = None,
    ) -> Iterator[tuple[ReadSnapshot, bool]]:
        """A read with its locks: what it sees, and whether it had to wait for these. What it
        appends to ``holds`` outlives it, as registered as it is itself. ``as_of``: see ReadRequest.

        It fails as ``locks.wait`` does; SnapshotTooOldError if it was not registered to its end.
        """
        manager = self._open_store()
        request = self.request(tables, statement, as_of)
        snapshot, lock_id, waited = self._open(manager, request, locks, patience or Patience())
        with self._kept(manager, snapshot, lock_id, holds):
            yield snapshot, waited

    def _open(
        self,
        manager: TxnManager,
        request: ReadRequest,
        locks: LockRequest | None,
        patience: Patience,
    ) -> tuple[ReadSnapshot, int | None, bool]:
        if locks is None and not request.tables:
            return ReadSnapshot(manager, request), None, False
        try:
            opened = manager.open_reader(request, locks)
        except UnwritableError as error:
            opened = manager.read_unknown(request)
            return ReadSnapshot(manager, request, opened, unknown=error), None, False
        answer = opened.locks
        if locks is None or answer is None:
            return ReadSnapshot(manager, request, opened), None, False
        if answer.state is LockState.ACQUIRED:
            return ReadSnapshot(manager, request, opened), answer.lock_id, False
        wait(manager, answer, locks, patience)
        try:
            snapshot = ReadSnapshot(manager, request, manager.open_reader(request))
        except BaseException:
            with suppress(MetastoreError):
                manager.unlock(answer.lock_id)
            raise
        return snapshot, answer.lock_id, True

    @contextmanager
    def _kept(
        self,
        manager: TxnManager,
        snapshot: ReadSnapshot,
        lock_id: int | None,
        holds: list[Hold] | None,
    ) -> Iterator[None]:
        """What is registered and locked, while it lasts. ``holds``: see ``reading``."""
        reader = snapshot.reader_id
        self._begin(reader, lock_id)
        try:
            yield
        except BaseException as error:
            lost = self._end(manager, snapshot.reader_id, lock_id)
            if lost and isinstance(error, ExecutionError | FormatError):
                raise lost_error() from error
            raise
        if snapshot.unknown is not None:
            for hold in holds or ():
                hold.is_unknown = True
        elif holds and snapshot.reader_id is not None:
            self._begin(snapshot.reader_id, None)
            for hold in holds:
                hold.reader_id = snapshot.reader_id
            self._end(manager, None, lock_id)
        elif self._end(manager, snapshot.reader_id, lock_id):
            raise lost_error()

    # ---- rows that are fetched later

    @contextmanager
    def fetching(
        self, hold: Hold | None, locks: LockRequest | None, patience: Patience
    ) -> Iterator[None]:
        """Rows are fetched whole: then nothing is kept for the hold any more, but for a DataFrame.
        ``locks``: those of a read outside of a transaction. It fails as ``reading``.
        """
        if hold is None:
            yield
        elif hold.is_of_open_txn:
            with self._in_open_txn(hold):
                yield
        else:
            with self._fetching(hold, locks, patience):
                yield

    @contextmanager
    def _fetching(
        self, hold: Hold, locks: LockRequest | None, patience: Patience
    ) -> Iterator[None]:
        manager, lock_id = self._open_store(), None
        if hold.is_unknown:
            yield
            return
        if hold.reader_id is None:
            raise lost_error()
        if locks is not None:
            answer = manager.lock(locks)
            wait(manager, answer, locks, patience)
            lock_id = answer.lock_id
        self._begin(None, lock_id)
        try:
            yield
        except BaseException as error:
            self._end(manager, None, lock_id)
            if isinstance(error, ExecutionError | FormatError) and manager.renew_readers(
                [hold.reader_id]
            ):
                raise lost_error() from error
            raise
        if hold.is_handed_out:
            self._end(manager, None, lock_id)
            lost = bool(manager.renew_readers([hold.reader_id]))
        else:
            hold.is_over = True
            lost = self._end(manager, hold.reader_id, lock_id)
        if lost:
            raise lost_error()

    @contextmanager
    def _in_open_txn(self, hold: Hold) -> Iterator[None]:
        """Rows that a transaction keeps: they are right if it still does when they have come."""
        try:
            yield
        except (ExecutionError, FormatError) as error:
            cause = hold.txn.find_abort() if hold.txn is not None else None
            if cause is not None:
                raise cause from error
            raise
        self.check_txn(hold)

    def check_txn(self, hold: Hold) -> None:
        """Raises the error of a transaction that others have ended, if its tables are not
        registered any more.
        """
        txn, manager = hold.txn, self._open_store()
        if txn is None or all(
            manager.is_registered(txn.txn_id, table) for table in hold.tables if txn.keeps(table)
        ):
            return
        txn.confirm()
        raise lost_error()

    def finish(self, hold: Hold) -> None:
        """Gives a hold up whose rows have come. SnapshotTooOldError if its files were not kept to
        the end.
        """
        if hold.is_of_open_txn:
            hold.is_over = True
            self.check_txn(hold)
        elif not hold.is_over:
            hold.is_over = True
            if hold.is_given_up or self._end(self._open_store(), hold.reader_id, None):
                raise lost_error()

    def moved(self, hold: Hold, behind: bool) -> Mapping[str, str]:
        """Where what was dropped since is kept for the hold: see ``Readers.kept_for``."""
        if hold.reader_id is None:
            return {}
        return self._open_store().kept_for(hold.reader_id, behind=behind)

    def is_lost(self, hold: Hold) -> bool:
        """Whether the files of a read outside of a transaction are not kept any more."""
        return hold.reader_id is not None and bool(
            self._open_store().renew_readers([hold.reader_id])
        )

    def hand_out(self, hold: Hold | None) -> bool:
        """Whether a DataFrame may be handed out: its files are kept then until the session is
        closed. SnapshotTooOldError if they are not kept any more; False once the rows were fetched.
        """
        if hold is None or hold.is_handed_out:
            return True
        if hold.is_over:
            return False
        if not hold.is_of_open_txn and (hold.is_given_up or self.is_lost(hold)):
            raise lost_error()
        hold.is_handed_out = True
        return True

    def drop(self, hold: Hold) -> None:
        """Gives a hold up whose result is gone; for any thread, at any time: the store comes to
        know with its next write.
        """
        if not hold.is_handed_out and not hold.is_over and hold.reader_id is not None:
            hold.is_over = True
            self._dropped.append(hold.reader_id)

    # ---- transactions

    def hold_in_txn(self, hold: Hold, txn: Transaction) -> None:
        hold.txn = txn
        self._in_txn.add(hold)

    def outlive(self, txn: Transaction) -> None:
        """Registers what has been read in an open transaction, and may be asked for after its end,
        as reads outside of it. Raises no Error: what was not registered says so when it is asked
        for.
        """
        holds = [h for h in self._in_txn if h.txn is txn and (h.is_handed_out or not h.is_over)]
        self._in_txn.clear()
        for hold in holds:
            request = self.request(hold.tables, hold.statement)
            with suppress(Error):
                if hold.is_of_open_txn and hold.tables:
                    opened = self._open_store().keep_reading(txn.txn_id, txn.txns, request)
                    hold.reader_id = opened.reader_id
                    self._begin(opened.reader_id, None)

    # ---- keeping them

    def close(self) -> None:
        """Gives all up."""
        with self._lock:
            heartbeat, self._heartbeat = self._heartbeat, None
            readers = [*self._readers, *self._taken()]
            self._readers.clear()
        if heartbeat is not None:
            heartbeat.stop()
        if readers:
            with suppress(MetastoreError):  # the leases end with the process
                self._open_store().close_readers(readers)

    def _begin(self, reader_id: int | None, lock_id: int | None) -> None:
        if reader_id is None and lock_id is None:
            return
        with self._lock:
            if reader_id is not None:
                self._readers.add(reader_id)
            if lock_id is not None:
                self._locks.add(lock_id)
            if self._heartbeat is None:
                self._heartbeat = _heartbeat(self, self._heartbeat_seconds())

    def _end(self, manager: TxnManager, reader_id: int | None, lock_id: int | None) -> bool:
        """Gives up what a statement has; returns whether its registration was lost before. The
        statement has ended as it has: what cannot be given up now ends without heartbeats.
        """
        with self._lock:
            self._readers -= {reader_id}
            self._locks -= {lock_id}
            over = self._taken()
        own = [] if reader_id is None else [reader_id]
        if not own and not over and lock_id is None:
            return False
        try:
            return reader_id in manager.close_readers([*own, *over], lock_id)
        except MetastoreError:
            return False

    def _taken(self) -> list[int]:
        """The dropped ones, which are no more; under the lock."""
        over = [self._dropped.popleft() for _ in range(len(self._dropped))]
        self._readers.difference_update(over)
        return over

    def beat(self) -> None:
        """Renews all there is."""
        with self._lock:
            over = self._taken()
            readers, locks = sorted(self._readers), sorted(self._locks)
        manager = self._open_store()
        if readers or over:
            manager.renew_readers(readers, over)
        for lock_id in locks:
            with suppress(MetastoreError):  # it was given up meanwhile
                manager.heartbeat_lock(lock_id)


def _heartbeat(reads: Reads, seconds: float) -> Heartbeat:
    """The started heartbeat of a session's reads, which keeps nothing of the session: it ends with
    it.
    """
    weak = ref(reads)

    def beat() -> None:
        living = weak()
        if living is not None:
            living.beat()

    heartbeat = Heartbeat(beat, "reads", seconds)
    finalize(reads, heartbeat.stop).atexit = False
    heartbeat.start()
    return heartbeat


# ---- what a read outside of a transaction sees


DEFAULT_LEASE = 86_400.0
"""The default of acidsql.reader.lease; seconds."""


class ReadSnapshot:
    """The visibility of a read outside of a transaction: everything committed when it was taken.
    Registered from when it is first asked for a table until ``close``, or the end of its context.

    ``opened``: if that is so already. ``unknown``: why it is not registered, where the store cannot
    be written.
    """

    def __init__(
        self,
        manager: TxnManager,
        request: ReadRequest | None = None,
        opened: OpenedReader | None = None,
        unknown: UnwritableError | None = None,
    ) -> None:
        self._manager = manager
        self.unknown = unknown
        self._request = request or ReadRequest(tables=(), lease_seconds=DEFAULT_LEASE)
        self._write_ids: dict[TableName, ValidWriteIdList] = {}
        self.reader_id: int | None = None
        self._txns: ValidTxnList | None = None
        if opened is None and (request is None or request.tables):
            self._txns = manager.valid_txns()
        if opened is not None:
            self._txns = opened.txns
        if opened is not None:
            self._follow(opened)

    @property
    def txns(self) -> ValidTxnList:
        """The valid transactions. A read that names no tables, and so may need no store, is fixed
        when it first asks.
        """
        if self._txns is None:
            self._txns = self._manager.valid_txns()
        return self._txns

    def _follow(self, opened: OpenedReader) -> None:
        self.reader_id = opened.reader_id
        self._write_ids.update(opened.write_ids)

    def write_ids(self, table: TableName) -> ValidWriteIdList:
        """The write ids it may read, the same whenever asked. SnapshotTooOldError if first asked so
        late that what it needs may be gone, or when it is not registered any more.
        """
        if table not in self._write_ids:
            request = replace(self._request, tables=(table,))
            try:
                self._follow(self._manager.read_also(self.reader_id, self.txns, request))
            except UnwritableError as error:
                self.unknown = error
                self._write_ids[table] = self._manager.valid_write_ids(table, self.txns)
        return self._write_ids[table]

    def compactions(self) -> ValidTxnList | None:
        """By which transactions it sees compactions that have one in their names; None: all."""
        return self._manager.seen_compactions(self.txns)

    def check_given(self, tables: Iterable[TableName], write_id: WriteId) -> None:
        """InterfaceError for a write id that nobody has: rows as of it would be others later."""
        for table in tables:
            highest = self.write_ids(table).high_watermark
            if highest < write_id:
                raise InterfaceError(
                    f"table {table} has no write id {write_id}: the highest is {highest}"
                )

    def is_latest(self, table: TableName) -> bool:
        """Whether nobody has begun or ended a change of the table since: what the metastore told of
        it meanwhile holds for the snapshot.
        """
        return self._manager.valid_write_ids(table, self._manager.valid_txns()) == self.write_ids(
            table
        )

    def txns_now(self) -> ValidTxnList:
        """The transactions as they are now, also those that its snapshot does not know of."""
        return self._manager.valid_txns()

    def highest_given(self, table: TableName) -> WriteId:
        """The highest write id that was given out by now."""
        return highest_given(self._manager, table)

    def confirm(self) -> None:
        """Raises SnapshotTooOldError if its files are not kept any more, so that what was read may
        not be whole. Renews its lease.
        """
        if self.reader_id is not None and self._manager.renew_readers([self.reader_id]):
            raise lost_error()

    def close(self) -> None:
        """Gives the registration up; doing so twice is no error."""
        if self.reader_id is not None:
            with suppress(MetastoreError):  # its lease ends
                self._manager.close_readers([self.reader_id])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
