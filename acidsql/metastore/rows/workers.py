"""Whose an entry of the queue of compactions is, and who has lost it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from acidsql.errors import MetastoreError
from acidsql.metastore.compaction_tables import COMPACTION_QUEUE
from acidsql.metastore.opening import ended_processes
from acidsql.metastore.process import Process
from acidsql.metastore.rows.compactions import find_entries, find_entry
from acidsql.metastore.txn_tables import TXNS
from acidsql.txn.compactions import CompactionState
from acidsql.txn.manager import TxnState


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


def find_lost(
    connection: Connection, *, host: str, process: Process, cutoff: int, before_beginning: int
) -> list[Row[Any]]:
    """The entries whose worker is gone, as ``process`` on ``host`` sees it: its process has ended,
    its transaction is over, or it gave no sign of life since ``cutoff``, or since
    ``before_beginning`` where it has no transaction yet; epoch milliseconds.
    """
    rows = find_entries(connection, COMPACTION_QUEUE.c.CQ_STATE == CompactionState.WORKING.value)
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
