"""The queue of compactions of the embedded metastore: each call one SQL transaction.

An entry that is worked on belongs to a process. It is free again when that has ended, when it was
silent for hive.compactor.worker.timeout, or when the worker's transaction is not open any more
(it was silent for hive.txn.timeout, or somebody has aborted it).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from acidsql.acid.ids import TxnId, ValidCompactorWriteIdList, WriteId
from acidsql.catalog.model import Partition, Table, TableName
from acidsql.errors import InternalError
from acidsql.metastore.calls.txns import EmbeddedTxns, find_valid_write_ids
from acidsql.metastore.committing import finish, insert_components
from acidsql.metastore.opening import purge
from acidsql.metastore.partition_txns import keep_changes_out
from acidsql.metastore.rows.compactions import (
    change_entry,
    complete,
    find_compaction,
    find_entries,
    find_free,
    find_in_the_way,
    find_lost,
    find_states,
    find_written,
    forget_written,
    give_back,
    insert_entry,
    insert_note,
    purge_history,
    read_compactions,
    read_entry,
    require_entry,
    require_own,
    require_ready,
    require_same,
    take_entry,
)
from acidsql.metastore.rows.txns import (
    AbortReason,
    abort_txns,
    find_state,
    highest_txn,
    require_open,
    txns_below,
)
from acidsql.metastore.sql import Connection, Row, delete, select, update
from acidsql.metastore.store import CommitFailedError, insert_row
from acidsql.metastore.tables import COMPACTION_QUEUE, COMPACTOR_DAEMONS, TxnType
from acidsql.processes import Process
from acidsql.txn.compactions import (
    Compaction,
    CompactionBlockedError,
    CompactionRequest,
    CompactionState,
    CompactionType,
    EnqueueAnswer,
    OpenedCompaction,
)
from acidsql.txn.locks import LockAnswer, LockComponent, LockRequest, LockState, LockType
from acidsql.txn.manager import OperationType, TxnComponent, TxnState
from acidsql.txn.store import ALL_ROLES, CompactorDaemon

# ---- their rows
#
# The rows of daemons that compact.


_CD = COMPACTOR_DAEMONS.c
_ALL = select(COMPACTOR_DAEMONS).order_by(_CD.CD_ID)
_BETWEEN = ","


def insert_daemon(
    connection: Connection,
    *,
    host: str,
    process: Process,
    roles: Sequence[str],
    pools: Sequence[str],
    now: int,
) -> int:
    """Stores a daemon; returns its number."""
    return insert_row(
        connection,
        COMPACTOR_DAEMONS,
        CD_HOST=host,
        CD_AGENT_INFO=str(process),
        CD_ROLES=_BETWEEN.join(roles),
        CD_POOLS=_BETWEEN.join(pools),
        CD_STARTED=now,
        CD_LAST_HEARTBEAT=now,
    )


def beat_daemon(connection: Connection, daemon_id: int, *, now: int) -> bool:
    """Returns whether the daemon is known."""
    beat = update(COMPACTOR_DAEMONS).where(_CD.CD_ID == daemon_id).values(CD_LAST_HEARTBEAT=now)
    return connection.execute(beat).rowcount > 0


def delete_daemons(connection: Connection, daemon_ids: Sequence[int]) -> None:
    connection.execute(delete(COMPACTOR_DAEMONS).where(_CD.CD_ID.in_(daemon_ids)))


def select_daemons(
    connection: Connection, *, host: str, observer: Process, cutoff: int
) -> tuple[list[CompactorDaemon], list[int]]:
    """The daemons that live, and the numbers of those that do not. ``cutoff``: none of them has
    been silent since; epoch milliseconds.
    """
    living: list[CompactorDaemon] = []
    dead: list[int] = []
    for row in connection.execute(_ALL):
        process = Process.parse(row.CD_AGENT_INFO)
        gone = row.CD_HOST == host and process is not None and process.is_gone(observer)
        if gone or row.CD_LAST_HEARTBEAT < cutoff:
            dead.append(row.CD_ID)
            continue
        living.append(
            CompactorDaemon(
                daemon_id=row.CD_ID,
                host=row.CD_HOST,
                process=row.CD_AGENT_INFO,
                roles=tuple(row.CD_ROLES.split(_BETWEEN)),
                pools=tuple(row.CD_POOLS.split(_BETWEEN)),
                started=row.CD_STARTED,
                heartbeat=row.CD_LAST_HEARTBEAT,
            )
        )
    return living, dead


# ---- compactions


PAUSE = 5_000
"""Milliseconds for which nobody takes an entry that was given back: it would be the same again."""

ABORTED_BY_REQUEST = "Compaction Aborted by Abort Comapction request."
"""Hive's words, to the letter."""

_CQ = COMPACTION_QUEUE.c


class EmbeddedCompactions(EmbeddedTxns):
    """Implements CompactionQueue."""

    _worker_timeout: float
    _pool_timeout: float

    # ---- asking

    def enqueue_compaction(self, request: CompactionRequest) -> EnqueueAnswer:
        with self._store.write() as connection:
            row = find_in_the_way(connection, request)
            if row is not None:
                state = CompactionState(row.CQ_STATE)
                return EnqueueAnswer(compaction_id=row.CQ_ID, state=state, accepted=False)
            now = self._now(connection)
            compaction_id = insert_entry(connection, request, now=now, version=_version())
            state = CompactionState.INITIATED
            return EnqueueAnswer(compaction_id=compaction_id, state=state, accepted=True)

    def note_compaction(
        self, request: CompactionRequest, state: CompactionState, message: str
    ) -> int:
        with self._store.write() as connection:
            now = self._now(connection)
            return insert_note(connection, request, state, message, now=now, version=_version())

    def abort_compactions(
        self, compaction_ids: Collection[int]
    ) -> Mapping[int, CompactionState | None]:
        with self._store.write() as connection:
            before = find_states(connection, compaction_ids)
            for compaction_id, state in before.items():
                if state is CompactionState.INITIATED:
                    row = require_entry(connection, compaction_id)
                    now = self._now(connection)
                    end = CompactionState.ABORTED
                    complete(connection, row, end, ABORTED_BY_REQUEST, now=now)
            return {one: before.get(one) for one in compaction_ids}

    # ---- working

    def next_compaction(
        self, worker: str, *, pool: str | None = None, only: int | None = None
    ) -> Compaction | None:
        if not self._has_entries(CompactionState.INITIATED, CompactionState.WORKING):
            return None
        with self._store.write() as connection:
            now = self._time(connection)
            self._revoke(connection, now)
            unserved = now - int(self._pool_timeout * 1000)
            row = find_free(connection, pool, only, now=now, unserved=unserved)
            if row is None:
                return None
            take_entry(connection, row, worker, host=self._host, now=now, version=_version())
            return read_entry(require_entry(connection, row.CQ_ID))

    def _has_entries(self, *states: CompactionState) -> bool:
        """Whether there are any in these states: an idle worker need not write."""
        with self._store.read() as connection:
            return bool(find_entries(connection, _CQ.CQ_STATE.in_(states)))

    def begin_compaction(self, compaction_id: int, *, lease: int | None = None) -> OpenedCompaction:
        with self._store.write() as connection:
            row = require_own(connection, compaction_id, lease)
            if row.CQ_TXN_ID is not None:
                raise InternalError(f"compaction {compaction_id} has begun already")
            now = self._time(connection)
            rebalance = row.CQ_TYPE == CompactionType.REBALANCE
            kind = TxnType.REBALANCE_COMPACTION if rebalance else TxnType.COMPACTION
            txn_id = self._open(connection, now, kind)
            answer = self._ask(connection, _locks(row), txn_id, now)
            if answer.state is LockState.ACQUIRED:
                return self._begun(connection, row, txn_id, now)
            abort_txns(connection, [txn_id], AbortReason.COMPACTION)
            give_back(connection, compaction_id, retry_after=now + PAUSE)
        raise _blocked(compaction_id, answer)

    def _begun(
        self, connection: Connection, row: Row[Any], txn_id: TxnId, now: int
    ) -> OpenedCompaction:
        table = TableName(row.CQ_DATABASE, row.CQ_TABLE)
        txns = txns_below(connection, txn_id, own=txn_id)
        readers = find_valid_write_ids(connection, table, txns)
        write_ids = ValidCompactorWriteIdList.of(readers)
        top = write_ids.high_watermark
        component = TxnComponent(
            table=table,
            partition=row.CQ_PARTITION,
            operation=OperationType.COMPACT,
            write_id=top,
        )
        insert_components(connection, txn_id, [component])
        _keep_changes_out(connection, row)
        change_entry(connection, row.CQ_ID, TXN_ID=txn_id, HIGHEST_WRITE_ID=top, LAST_HEARTBEAT=now)
        return OpenedCompaction(txn_id=txn_id, txns=txns, write_ids=write_ids)

    def heartbeat_compaction(self, compaction_id: int, *, lease: int | None = None) -> None:
        with self._store.write(durable=not self._store.one_host) as connection:
            row = require_own(connection, compaction_id, lease)
            if row.CQ_TXN_ID is not None:
                require_open(connection, row.CQ_TXN_ID)
                self._beat_txn(connection, row.CQ_TXN_ID)
            change_entry(connection, compaction_id, LAST_HEARTBEAT=self._time(connection))

    @contextmanager
    def publishing(
        self,
        compaction_id: int,
        table: Table,
        partition: Partition | None,
        *,
        lease: int | None = None,
    ) -> Iterator[None]:
        with self._store.write(durable=False) as connection:
            row = require_own(connection, compaction_id, lease)
            require_open(connection, row.CQ_TXN_ID)
            require_same(connection, row, table, partition, self._store.warehouse)
            yield

    def finish_compaction(
        self,
        compaction_id: int,
        highest_write_id: WriteId | None = None,
        *,
        lease: int | None = None,
    ) -> None:
        try:
            with self._store.write() as connection:
                row = require_own(connection, compaction_id, lease)
                self._finish(connection, row, highest_write_id)
        except CommitFailedError:
            with self._store.read() as connection:
                state = find_states(connection, [compaction_id]).get(compaction_id)
            if state not in (CompactionState.READY_FOR_CLEANING, CompactionState.SUCCEEDED):
                raise

    def _finish(
        self, connection: Connection, row: Row[Any], highest_write_id: WriteId | None
    ) -> None:
        now = self._time(connection)
        if row.CQ_TXN_ID is not None:
            require_open(connection, row.CQ_TXN_ID)
            conflict = finish(connection, row.CQ_TXN_ID, now=now)
            if conflict is not None:
                raise conflict
        _keep_changes_out(connection, row)
        if highest_write_id is None:
            highest_write_id = row.CQ_HIGHEST_WRITE_ID
        change_entry(
            connection,
            row.CQ_ID,
            STATE=CompactionState.READY_FOR_CLEANING.value,
            WORKER_ID=None,
            WORKER_HOST=None,
            AGENT_INFO=None,
            LAST_HEARTBEAT=None,
            HIGHEST_WRITE_ID=highest_write_id,
            NEXT_TXN_ID=highest_txn(connection) + 1,
            COMMIT_TIME=now,
        )

    def end_compaction(
        self,
        compaction_id: int,
        state: CompactionState,
        message: str,
        *,
        lease: int | None = None,
    ) -> None:
        with self._store.write() as connection:
            row = require_entry(connection, compaction_id)
            if lease is not None or row.CQ_STATE != CompactionState.READY_FOR_CLEANING:
                row = require_own(connection, compaction_id, lease)
                by_worker = lease is not None
                reason = AbortReason.COMPACTION_FAILED if by_worker else AbortReason.COMPACTION
                _abort(connection, row, reason)
            complete(connection, row, state, message, now=self._now(connection))

    def return_compaction(
        self, compaction_id: int, *, lease: int | None = None, at_once: bool = False
    ) -> None:
        with self._store.write() as connection:
            row = require_own(connection, compaction_id, lease)
            _abort(connection, row)
            until = None if at_once else self._time(connection) + PAUSE
            give_back(connection, compaction_id, retry_after=until)

    def revoke_compactions(self) -> Collection[int]:
        if not self._has_entries(CompactionState.WORKING):
            return ()
        with self._store.write() as connection:
            return self._revoke(connection, self._time(connection))

    def _revoke(self, connection: Connection, now: int) -> Collection[int]:
        process = Process.current()
        cutoff = now - int(self._worker_timeout * 1000)
        self._reap_txns(connection, process, now)
        lost = find_lost(
            connection,
            host=self._host,
            process=process,
            cutoff=cutoff,
            before_beginning=max(cutoff, self._cutoff(now)),
        )
        for row in lost:
            _abort(connection, row)
            give_back(connection, row.CQ_ID, retry_after=None)
        return tuple(row.CQ_ID for row in lost)

    # ---- cleaning

    @contextmanager
    def cleaning(
        self, compaction: Compaction, table: Table, partition: Partition | None
    ) -> Iterator[None]:
        with self._store.write(durable=False) as connection:
            row = require_ready(connection, compaction.compaction_id)
            require_same(connection, row, table, partition, self._store.warehouse)
            yield

    def postpone_cleaning(self, compaction_id: int, message: str, *, retry_after: int) -> None:
        with self._store.write() as connection:
            row = require_ready(connection, compaction_id)
            change_entry(
                connection,
                compaction_id,
                CLEANING_ATTEMPTS=row.CQ_CLEANING_ATTEMPTS + 1,
                ERROR_MESSAGE=message,
                RETRY_AFTER=retry_after,
            )

    def mark_cleaned(self, compaction_id: int) -> None:
        with self._store.write() as connection:
            row = require_ready(connection, compaction_id)
            forget_written(connection, row)
            now = self._now(connection)
            complete(connection, row, CompactionState.SUCCEEDED, None, now=now)

    # ---- looking

    def compactions(self) -> tuple[Compaction, ...]:
        with self._store.read() as connection:
            return read_compactions(connection)

    def find_compaction(self, compaction_id: int) -> Compaction | None:
        with self._store.read() as connection:
            return find_compaction(connection, compaction_id)

    def ready_for_cleaning(self) -> tuple[Compaction, ...]:
        with self._store.read() as connection:
            ready = _CQ.CQ_STATE == CompactionState.READY_FOR_CLEANING.value
            return tuple(map(read_entry, find_entries(connection, ready)))

    def purge_compactions(
        self, keep: Mapping[CompactionState, int], *, timeout_seconds: float
    ) -> None:
        with self._store.write() as connection:
            long_ago = self._now(connection) - int(timeout_seconds * 1000)
            purge_history(connection, keep, long_ago=long_ago)

    def written_since(self, time: int) -> Collection[tuple[TableName, str | None]]:
        with self._store.read() as connection:
            return find_written(connection, time)


def _abort(
    connection: Connection, row: Row[Any], reason: AbortReason = AbortReason.COMPACTION
) -> None:
    """Aborts an entry's transaction if it is open."""
    txn_id = row.CQ_TXN_ID
    if txn_id is not None and find_state(connection, txn_id) is TxnState.OPEN:
        abort_txns(connection, [txn_id], reason)
    if txn_id is not None:
        _keep_changes_out(connection, row)  # its result may be there all the same


def _keep_changes_out(connection: Connection, row: Row[Any]) -> None:
    """Has nobody who began before now commit changes of rows that a rebalance gives other
    ROW__IDs: locks see to that only where they are on.
    """
    if row.CQ_TYPE == CompactionType.REBALANCE:
        table = TableName(row.CQ_DATABASE, row.CQ_TABLE)
        keep_changes_out(connection, table, row.CQ_PARTITION)


def _locks(row: Row[Any]) -> LockRequest:
    """Hive's: nobody drops what is compacted; while ROW__IDs change, nobody changes rows."""
    rebalance = row.CQ_TYPE == CompactionType.REBALANCE
    component = LockComponent(
        database=row.CQ_DATABASE,
        table=row.CQ_TABLE,
        partition=row.CQ_PARTITION,
        type=LockType.EXCL_WRITE if rebalance else LockType.SHARED_READ,
    )
    return LockRequest(components=(component,), statement=f"compaction {row.CQ_ID}")


def _blocked(compaction_id: int, answer: LockAnswer) -> CompactionBlockedError:
    blocker = answer.blockers[0]
    return CompactionBlockedError(
        f"compaction {compaction_id} was given back: {blocker.component} is locked",
        detail=str(blocker),
    )


@cache
def _version() -> str:
    """CQ_WORKER_VERSION and CQ_INITIATOR_VERSION."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"acidsql {version('acidsql')}"
    except PackageNotFoundError:  # a source tree that is not installed
        return "acidsql"


# ---- daemons
#
# Daemons that look after the tables, and the housekeeping of the store: each call one SQL
# transaction.


class EmbeddedDaemons(EmbeddedTxns):
    """Implements CompactorDaemons."""

    daemon_roles: Sequence[str] = ALL_ROLES

    def register_daemon(self, roles: Sequence[str], pools: Sequence[str]) -> int:
        process = Process.current()
        with self._store.write(durable=False) as connection:
            now = self._time(connection)
            _, dead = select_daemons(
                connection, host=self._host, observer=process, cutoff=self._cutoff(now)
            )
            delete_daemons(connection, dead)
            return insert_daemon(
                connection, host=self._host, process=process, roles=roles, pools=pools, now=now
            )

    def heartbeat_daemon(self, daemon_id: int) -> bool:
        with self._store.write(durable=False) as connection:
            return beat_daemon(connection, daemon_id, now=self._time(connection))

    def end_daemon(self, daemon_id: int) -> None:
        with self._store.write(durable=False) as connection:
            delete_daemons(connection, [daemon_id])

    def compactor_daemons(self) -> tuple[CompactorDaemon, ...]:
        process = Process.current()
        with self._store.read() as connection:
            cutoff = self._cutoff(self._now(connection)) - self._jump(connection)
            living, _ = select_daemons(connection, host=self._host, observer=process, cutoff=cutoff)
        return tuple(living)

    def keep_house(self) -> None:
        with self._store.write(durable=False) as connection:
            purge(connection, self._now(connection))
