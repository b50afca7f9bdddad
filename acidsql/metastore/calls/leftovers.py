"""What the embedded metastore tells the cleaner, and who reads what they must leave: each
call one SQL transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import Table, TableName
from acidsql.metastore.calls.locks import find_dead_locks, give_up, next_lock_id
from acidsql.metastore.calls.txns import EmbeddedTxns, find_valid_write_ids
from acidsql.metastore.locations import stored_location
from acidsql.metastore.opening import open_txns, purged_below
from acidsql.metastore.rows.leftovers import (
    any_directories,
    delete_directories,
    find_aborted,
    find_directories,
    find_hidden_names,
    find_kept,
    find_recorded,
    forget,
    forget_kept,
    insert_directories,
    insert_moves,
    is_directory_noted,
    kept_locations,
    lose_kept,
    mark_txn_stray,
    move_kept,
    recorded,
)
from acidsql.metastore.rows.readers import (
    Observer,
    check_history,
    delete_readers,
    find_dead,
    find_readers,
    insert_reader,
    insert_txn_reads,
    note_cleaned,
    older_registrations,
    reap_readers,
    registered,
    renew,
    txn_reads,
)
from acidsql.metastore.rows.statistics import partition_ids
from acidsql.metastore.rows.tables import find_table
from acidsql.metastore.rows.txns import forget_written, require_open, valid_txns
from acidsql.metastore.sql import Connection
from acidsql.metastore.store import CommitFailedError
from acidsql.processes import Process
from acidsql.txn.compactions import Compaction
from acidsql.txn.leftovers import AbortedWrite, NotedDirectory, RecordedWriteIds
from acidsql.txn.locks import NO_TXN, LockRequest, LockState
from acidsql.txn.readers import (
    OpenedReader,
    ReaderInfo,
    ReadRequest,
    UnwritableError,
    lost_error,
)

LONG_AGO = 12
"""After so many times hive.txn.timeout without a heartbeat, a process nobody knows of writes
nothing any more.
"""

_A_DAY = 86_400_000


class EmbeddedReaders(EmbeddedTxns):
    """Implements Readers. What is on record for readers need not outlive a loss of power on the one
    host that all of them run on.
    """

    @contextmanager
    def _registering(self) -> Iterator[Connection]:
        """A write transaction that puts a reader on record; UnwritableError where it cannot, also
        if the COMMIT finds no room.
        """
        try:
            with self._store.write(durable=not self._store.one_host) as connection:
                yield connection
        except CommitFailedError as error:
            if any(mark in error.message for mark in self._store.full):
                raise UnwritableError(error.message) from error
            raise

    def open_reader(self, request: ReadRequest, locks: LockRequest | None = None) -> OpenedReader:
        with self._registering() as connection:
            now = self._time(connection)
            answer = None if locks is None else self._ask(connection, locks, NO_TXN, now)
            if answer is not None and answer.state is not LockState.ACQUIRED:
                return OpenedReader(reader_id=None, locks=answer)
            txns = valid_txns(connection, None)
            if not request.tables:
                return OpenedReader(reader_id=None, txns=txns, locks=answer)
            reader_id = next_lock_id(connection) if answer is None else answer.lock_id
            seen = self._requested(connection, txns, request)
            if request.as_of is not None:
                check_history(connection, seen)
            insert_reader(connection, reader_id, request, txns, seen, self._observer(now))
            return OpenedReader(reader_id=reader_id, txns=txns, write_ids=seen, locks=answer)

    def read_unknown(self, request: ReadRequest) -> OpenedReader:
        with self._store.read() as connection:
            txns = valid_txns(connection, None)
            seen = self._requested(connection, txns, request)
            return OpenedReader(reader_id=None, txns=txns, write_ids=seen)

    def read_also(
        self, reader_id: int | None, txns: ValidTxnList, request: ReadRequest
    ) -> OpenedReader:
        with self._registering() as connection:
            if reader_id is None:
                reader_id = next_lock_id(connection)
            elif not registered(connection, [reader_id]):
                raise lost_error()
            seen = self._requested(connection, txns, request)
            check_history(connection, seen)
            by = self._observer(self._time(connection))
            insert_reader(connection, reader_id, request, txns, seen, by)
            return OpenedReader(reader_id=reader_id, txns=txns, write_ids=seen)

    def read_in_txn(
        self, txn_id: TxnId, txns: ValidTxnList, tables: Iterable[TableName]
    ) -> Mapping[TableName, ValidWriteIdList]:
        with self._store.write(durable=not self._store.one_host) as connection:
            require_open(connection, txn_id)
            known = txn_reads(connection, txn_id)
            seen = self._seen(connection, txns, tables)
            check_history(connection, {t: ids for t, ids in seen.items() if t not in known})
            insert_txn_reads(connection, txn_id, seen, known)
            return seen

    def keep_reading(self, txn_id: TxnId, txns: ValidTxnList, request: ReadRequest) -> OpenedReader:
        with self._store.write(durable=not self._store.one_host) as connection:
            require_open(connection, txn_id)
            known = txn_reads(connection, txn_id)
            kept = known.intersection(request.tables) if request.tables else known
            reader_id, seen = next_lock_id(connection), self._seen(connection, txns, kept)
            by = self._observer(self._time(connection))
            insert_reader(connection, reader_id, request, txns, seen, by)
            return OpenedReader(reader_id=reader_id, txns=txns, write_ids=seen)

    def is_registered(self, txn_id: TxnId, table: TableName) -> bool:
        with self._store.read() as connection:
            return table in txn_reads(connection, txn_id)

    def renew_readers(
        self, reader_ids: Sequence[int], closed: Collection[int] = ()
    ) -> Collection[int]:
        with self._store.write(durable=False) as connection:
            delete_readers(connection, closed)
            renew(connection, reader_ids, now=self._time(connection))
            return set(reader_ids) - registered(connection, reader_ids)

    def close_readers(
        self, reader_ids: Sequence[int], lock_id: int | None = None
    ) -> Collection[int]:
        with self._store.write(durable=False) as connection:
            if lock_id is not None:
                give_up(connection, lock_id)
            lost = set(reader_ids) - registered(connection, reader_ids)
            delete_readers(connection, reader_ids)
            return lost

    def kept_for(self, reader_id: int, *, behind: bool = False) -> Mapping[str, str]:
        with self._store.write(durable=False) if behind else self._store.read() as connection:
            return find_kept(connection, reader_id, self._store.warehouse)

    def reap(self) -> None:
        with self._store.write() as connection:
            self._reap_all(connection)
            reap_readers(connection, self._observer(self._time(connection)))

    def list_readers(self) -> tuple[ReaderInfo, ...]:
        with self._store.read() as connection:
            by = self._observer(self._now(connection) - self._jump(connection))
            dead = find_dead(connection, by)
            readers = find_readers(connection, timeout=int(self._txn_timeout * 1000))
        return tuple(one for one in readers if one.reader_id not in dead)

    def begin_cleaning(
        self, compaction: Compaction, base: WriteId | None, directories: Collection[str] = ()
    ) -> bool:
        with self._store.write(durable=not self._store.one_host) as connection:
            self._reap_all(connection)
            reap_readers(connection, self._observer(self._time(connection)))
            if older_registrations(connection, compaction):
                return False
            if base is not None:
                note_cleaned(connection, compaction.request.table, base)
            if directories:
                self._forget_written(connection, compaction, directories)
            return True

    def _forget_written(
        self, connection: Connection, compaction: Compaction, directories: Collection[str]
    ) -> None:
        request = compaction.request
        table = find_table(connection, request.table, self._store.warehouse)
        if table is None:
            return
        names = [] if request.partition is None else [request.partition]
        ids = list(partition_ids(connection, table.table_id, names).values())
        if request.partition is None or ids:
            part_id = ids[0] if ids else None
            forget_written(connection, table.table_id, part_id, directories)

    def _seen(
        self, connection: Connection, txns: ValidTxnList, tables: Iterable[TableName]
    ) -> dict[TableName, ValidWriteIdList]:
        return {t: find_valid_write_ids(connection, t, txns) for t in dict.fromkeys(tables)}

    def _requested(
        self, connection: Connection, txns: ValidTxnList, request: ReadRequest
    ) -> dict[TableName, ValidWriteIdList]:
        seen = self._seen(connection, txns, request.tables)
        if request.as_of is None:
            return seen
        return {table: write_ids.up_to(request.as_of) for table, write_ids in seen.items()}

    def _observer(self, now: int) -> Observer:
        return Observer(
            user=self._user,
            host=self._host,
            process=Process.current(),
            now=now,
            cutoff=self._cutoff(now),
        )


class EmbeddedLeftovers(EmbeddedReaders):
    """Implements Leftovers."""

    def recorded_write_ids(self, table: TableName) -> RecordedWriteIds | None:
        with self._store.read() as connection:
            return find_recorded(connection, table, purged_below(connection))

    def aborted_writes(self, limit: int) -> tuple[AbortedWrite, ...]:
        process = Process.current()
        with self._store.read() as connection:
            now = self._now(connection) - self._jump(connection)
            if not self._somebody_is_dead(connection, process, now):
                return self._aborted_writes(connection, process, now, limit)
        self.reap()
        with self._store.read() as connection:
            now = self._now(connection) - self._jump(connection)
            return self._aborted_writes(connection, process, now, limit)

    def _somebody_is_dead(self, connection: Connection, process: Process, now: int) -> bool:
        cutoff = self._cutoff(now)
        txns = open_txns(connection, host=self._host, process=process, cutoff=cutoff)
        return txns.some_are_dead or bool(
            find_dead_locks(connection, host=self._host, process=process, cutoff=cutoff)
        )

    def _aborted_writes(
        self, connection: Connection, process: Process, now: int, limit: int
    ) -> tuple[AbortedWrite, ...]:
        """``now``: on the clock of the signs of life, see rows/clock.py."""
        long_ago = now - int(LONG_AGO * self._txn_timeout * 1000)
        cutoff = self._cutoff(now)
        return find_aborted(connection, process, cutoff=cutoff, long_ago=long_ago, limit=limit)

    def note_directory(self, location: str) -> None:
        with self._store.write(durable=not self._store.one_host) as connection:
            now = self._now(connection)
            insert_directories(connection, [location], self._store.warehouse, now=now)

    def note_moves(self, moves: Mapping[str, str]) -> None:
        if moves:
            with self._store.write() as connection:
                now = self._now(connection)
                insert_moves(connection, moves, self._store.warehouse, now=now)

    def forget_directories(self, locations: Collection[str]) -> None:
        with self._store.write(durable=False) as connection:
            forgotten = forget_kept(connection, locations, self._store.warehouse)
            delete_directories(connection, forgotten, self._store.warehouse)

    def noted_directories(self) -> tuple[NotedDirectory, ...]:
        with self._store.read() as connection:
            if not any_directories(connection):
                return ()
            by = self._observer(self._now(connection) - self._jump(connection))
            dead = find_dead(connection, by)
            if not dead or all(kept_locations(connection, dead).values()):
                return self._left_directories(connection)
        self.reap()  # a late one is told so before its files go
        with self._store.read() as connection:
            return self._left_directories(connection)

    def _left_directories(self, connection: Connection) -> tuple[NotedDirectory, ...]:
        now = self._now(connection)
        return find_directories(
            connection,
            self._store.warehouse,
            Process.current(),
            long_ago=now - _A_DAY,
            late=now - int(self._txn_timeout * 500),  # its locks have not ended yet
            one_host=self._store.one_host,
            kept=kept_locations(connection),
        )

    def hidden_names(self, locations: Collection[str]) -> Mapping[str, str]:
        with self._store.read() as connection:
            return find_hidden_names(connection, locations, self._store.warehouse)

    def kept(self, locations: Collection[str]) -> Collection[str]:
        with self._store.read() as connection:
            kept = kept_locations(connection)
        return [one for one in locations if stored_location(one, self._store.warehouse) in kept]

    @contextmanager
    def hiding(self, location: str, hidden: str) -> Iterator[None]:
        with self._store.write() as connection:
            yield
            warehouse, now = self._store.warehouse, self._now(connection)
            move_kept(connection, location, hidden, warehouse)
            delete_directories(connection, [location], warehouse)
            insert_directories(connection, [hidden], warehouse, now=now)

    def keep_none(self, hidden: Collection[str]) -> None:
        with self._store.write() as connection:
            lose_kept(connection, hidden, self._store.warehouse)

    def is_noted(self, location: str) -> bool:
        with self._store.read() as connection:
            return is_directory_noted(connection, location, self._store.warehouse)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._store.write(durable=False):
            yield

    def leave_writes(self, txn_id: TxnId) -> None:
        with self._store.write() as connection:
            mark_txn_stray(connection, txn_id)

    @contextmanager
    def removing(
        self, table: Table, writes: Collection[AbortedWrite]
    ) -> Iterator[Collection[AbortedWrite]]:
        with self._store.write(durable=False) as connection:
            stored = find_table(connection, table.name, self._store.warehouse)
            same = (
                stored is not None
                and stored.table_id == table.table_id
                and stored.location == table.location
            )
            yield recorded(connection, writes) if same else ()

    def forget_writes(self, writes: Collection[AbortedWrite]) -> None:
        with self._store.write(durable=False) as connection:
            forget(connection, tuple(writes))
