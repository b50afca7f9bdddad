"""What transactions know of a table that is dropped or gets another name."""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.metastore.compaction_tables import COMPACTION_QUEUE, COMPLETED_COMPACTIONS
from acidsql.metastore.rows.txns import AbortReason, abort_txns
from acidsql.metastore.sql import ColumnElement, Connection, and_, delete, or_, select, update
from acidsql.metastore.sql import Table as SqlTable
from acidsql.metastore.txn_tables import (
    CLEANED_HISTORY,
    COMPLETED_TXN_COMPONENTS,
    MIN_HISTORY_WRITE_ID,
    READERS,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    WRITE_SET,
)
from acidsql.txn.manager import TxnState

_ROWS_OF_A_TABLE: tuple[tuple[SqlTable, ColumnElement[str], ColumnElement[str]], ...] = (
    (TXN_COMPONENTS, TXN_COMPONENTS.c.TC_DATABASE, TXN_COMPONENTS.c.TC_TABLE),
    (
        COMPLETED_TXN_COMPONENTS,
        COMPLETED_TXN_COMPONENTS.c.CTC_DATABASE,
        COMPLETED_TXN_COMPONENTS.c.CTC_TABLE,
    ),
    (TXN_TO_WRITE_ID, TXN_TO_WRITE_ID.c.T2W_DATABASE, TXN_TO_WRITE_ID.c.T2W_TABLE),
    (WRITE_SET, WRITE_SET.c.WS_DATABASE, WRITE_SET.c.WS_TABLE),
    (COMPACTION_QUEUE, COMPACTION_QUEUE.c.CQ_DATABASE, COMPACTION_QUEUE.c.CQ_TABLE),
    (COMPLETED_COMPACTIONS, COMPLETED_COMPACTIONS.c.CC_DATABASE, COMPLETED_COMPACTIONS.c.CC_TABLE),
    (
        MIN_HISTORY_WRITE_ID,
        MIN_HISTORY_WRITE_ID.c.MH_DATABASE,
        MIN_HISTORY_WRITE_ID.c.MH_TABLE,
    ),
    (CLEANED_HISTORY, CLEANED_HISTORY.c.CH_DATABASE, CLEANED_HISTORY.c.CH_TABLE),
)
"""What transactions and compactions left behind about a table, and the columns that name it."""

_READERS = (READERS, READERS.c.RD_DATABASE, READERS.c.RD_TABLE)


def forget_transactions(connection: Connection, name: TableName) -> None:
    """Forgets what transactions know of a table, but for its next write id (see ``successors``).
    The name may be a new table's tomorrow. Hive: CleanupRecordsFunction.
    """
    abort_txns(connection, _open_writers(connection, name), AbortReason.TABLE_DROPPED)
    for rows, database_column, table_column in _ROWS_OF_A_TABLE:
        connection.execute(
            delete(rows).where(database_column == name.database, table_column == name.table)
        )


def rename_transactions(connection: Connection, old: TableName, new: TableName) -> None:
    """Renames a table in what transactions know of it. Its write ids stay its own, committed and
    aborted ones. Hive: OnRenameFunction.
    """
    for rows, database_column, table_column in (*_ROWS_OF_A_TABLE, _READERS):
        of_old = and_(database_column == old.database, table_column == old.table)
        connection.execute(
            update(rows)
            .where(of_old)
            .values({database_column: new.database, table_column: new.table})
        )


def _open_writers(connection: Connection, name: TableName) -> list[TxnId]:
    """Open transactions with a write id on the table or a component of it."""
    t2w, tc = TXN_TO_WRITE_ID.c, TXN_COMPONENTS.c
    allocated = select(t2w.T2W_TXNID).where(
        and_(t2w.T2W_DATABASE == name.database, t2w.T2W_TABLE == name.table)
    )
    recorded = select(tc.TC_TXNID).where(
        and_(tc.TC_DATABASE == name.database, tc.TC_TABLE == name.table)
    )
    txn_id = TXNS.c.TXN_ID
    writers = select(txn_id).where(
        TXNS.c.TXN_STATE == TxnState.OPEN, or_(txn_id.in_(allocated), txn_id.in_(recorded))
    )
    return [TxnId(txn_id) for txn_id in connection.scalars(writers)]
