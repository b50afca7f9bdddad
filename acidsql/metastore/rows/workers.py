"""Whose an entry of the queue of compactions is: who takes it, gives it back, or has lost it."""

from __future__ import annotations

from typing import Any

from acidsql.catalog.model import Partition, Table, TableName
from acidsql.catalog.partitions import name_of
from acidsql.errors import MetastoreError
from acidsql.metastore.opening import ended_processes
from acidsql.metastore.process import Process
from acidsql.metastore.rows.compactions import change_entry, find_entries, find_entry
from acidsql.metastore.rows.partitions import find_location
from acidsql.metastore.rows.tables import find_table
from acidsql.metastore.sql import Connection, Row, or_, select
from acidsql.metastore.tables import COMPACTION_QUEUE, TXNS
from acidsql.txn.compactions import CompactionState
from acidsql.txn.manager import TxnState

_CQ = COMPACTION_QUEUE.c


def find_free(
    connection: Connection, pool: str | None, only: int | None, *, now: int, unserved: int
) -> Row[Any] | None:
    """The next entry that a worker of ``pool`` may take: ``only`` that, if given, whosever it is.
    Who works for no pool takes those of a pool, too, that wait since before ``unserved``; epoch
    milliseconds.
    """
    of_pool = (
        or_(_CQ.CQ_POOL_NAME.is_(None), _CQ.CQ_ENQUEUE_TIME < unserved)
        if pool is None
        else _CQ.CQ_POOL_NAME == pool
    )
    rows = find_entries(
        connection,
        _CQ.CQ_STATE == CompactionState.INITIATED.value,
        of_pool if only is None else _CQ.CQ_ID == only,
        or_(_CQ.CQ_RETRY_AFTER.is_(None), _CQ.CQ_RETRY_AFTER <= now),
    )
    return rows[0] if rows else None


def take_entry(
    connection: Connection, row: Row[Any], worker: str, *, host: str, now: int, version: str
) -> None:
    """Gives a free entry to this process, under a lease of its own."""
    change_entry(
        connection,
        row.CQ_ID,
        STATE=CompactionState.WORKING.value,
        WORKER_ID=worker,
        WORKER_VERSION=version,
        WORKER_HOST=host,
        AGENT_INFO=str(Process.current()),
        LAST_HEARTBEAT=now,
        LEASE=(row.CQ_LEASE or 0) + 1,
        START=now,
        RETRY_AFTER=None,
    )


def give_back(connection: Connection, compaction_id: int, *, retry_after: int | None) -> None:
    """Makes an entry what it was before a worker took it. ``retry_after``: nobody takes it before
    then; epoch milliseconds.
    """
    change_entry(
        connection,
        compaction_id,
        STATE=CompactionState.INITIATED.value,
        WORKER_ID=None,
        WORKER_VERSION=None,
        WORKER_HOST=None,
        AGENT_INFO=None,
        LAST_HEARTBEAT=None,
        START=None,
        TXN_ID=None,
        HIGHEST_WRITE_ID=None,
        RETRY_AFTER=retry_after,
    )


def require_entry(connection: Connection, compaction_id: int) -> Row[Any]:
    row = find_entry(connection, compaction_id)
    if row is None:
        raise MetastoreError(f"compaction {compaction_id} is not in the queue (any more)")
    return row


def require_own(connection: Connection, compaction_id: int, lease: int | None = None) -> Row[Any]:
    """An entry that this process works on, under this lease if one is given; MetastoreError for
    another.
    """
    row = require_entry(connection, compaction_id)
    own = row.CQ_AGENT_INFO == str(Process.current()) and lease in (None, row.CQ_LEASE)
    if row.CQ_STATE != CompactionState.WORKING or not own:
        raise MetastoreError(
            f"compaction {compaction_id} is not this worker's any more",
            detail=f"it is {CompactionState(row.CQ_STATE).words}",
        )
    return row


def require_ready(connection: Connection, compaction_id: int) -> Row[Any]:
    row = require_entry(connection, compaction_id)
    if row.CQ_STATE != CompactionState.READY_FOR_CLEANING:
        words = CompactionState(row.CQ_STATE).words
        raise MetastoreError(f"compaction {compaction_id} is {words}, not ready for cleaning")
    return row


def require_same(
    connection: Connection,
    row: Row[Any],
    table: Table,
    partition: Partition | None,
    warehouse: str,
) -> None:
    """Raises MetastoreError unless an entry is of this very table or partition, which is where it
    was: another may have its name by now, or its directory.
    """
    name = None if partition is None else name_of(table, partition)
    asked = (TableName(row.CQ_DATABASE, row.CQ_TABLE), row.CQ_PARTITION)
    stored = find_table(connection, table.name, warehouse)
    same = (
        stored is not None
        and (stored.table_id, stored.location) == (table.table_id, table.location)
        and asked == (table.name, name)
    )
    if same and partition is not None and name is not None:
        same = find_location(connection, table.table_id, name, warehouse) == partition.location
    if not same:
        what = table.name if name is None else f"{table.name} {name}"
        raise MetastoreError(f"{what} is not there any more, or not what it was")


def find_lost(
    connection: Connection, *, host: str, process: Process, cutoff: int, before_beginning: int
) -> list[Row[Any]]:
    """The entries whose worker is gone, as ``process`` on ``host`` sees it: its process has ended,
    its transaction is over, or it gave no sign of life since ``cutoff``, or since
    ``before_beginning`` where it has no transaction yet; epoch milliseconds.
    """
    rows = find_entries(connection, _CQ.CQ_STATE == CompactionState.WORKING.value)
    agents = (row.CQ_AGENT_INFO for row in rows if row.CQ_WORKER_HOST == host)
    gone = ended_processes(agents, process)
    txn_ids = [row.CQ_TXN_ID for row in rows if row.CQ_TXN_ID is not None]
    is_open = TXNS.c.TXN_STATE == TxnState.OPEN.value
    still_open = set(
        connection.scalars(select(TXNS.c.TXN_ID).where(TXNS.c.TXN_ID.in_(txn_ids), is_open))
    )

    def is_lost(row: Row[Any]) -> bool:
        if row.CQ_WORKER_HOST == host and row.CQ_AGENT_INFO in gone:
            return True
        if row.CQ_TXN_ID is None:
            return bool(row.CQ_LAST_HEARTBEAT < before_beginning)
        return row.CQ_TXN_ID not in still_open or row.CQ_LAST_HEARTBEAT < cutoff

    return [row for row in rows if is_lost(row)]
