"""What became of a transaction, by what the store still has: its row, and what it wrote.

Each table of the store forgets at its own time. TXN_COMPONENTS has what was written until a commit,
WRITE_SET until no open transaction can conflict with it; COMPLETED_TXN_COMPONENTS has the newest
change of each object, without its operation; TXN_TO_WRITE_ID knows the tables only, and longest.
"""

from __future__ import annotations

from collections.abc import Iterator

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.metastore.rows.txns import abort_words, highest_txn
from acidsql.metastore.sql import Connection, Row, select
from acidsql.metastore.txn_tables import (
    COMPLETED_TXN_COMPONENTS,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    WRITE_SET,
)
from acidsql.txn.manager import OperationType, TxnInfo, TxnOutcome, TxnState, TxnWrite


def find_outcome(connection: Connection, txn_id: TxnId) -> TxnOutcome | None:
    """What became of a transaction; None if no transaction has that id yet."""
    if not 0 < txn_id <= highest_txn(connection):
        return None
    row = connection.execute(select(TXNS).where(TXNS.c.TXN_ID == txn_id)).first()
    writes = tuple(sorted(_writes(connection, txn_id), key=_by_name))
    if row is None:
        return TxnOutcome(info=None, writes=writes)
    info = txn_info(row)
    reason = abort_words(row.TXN_META_INFO) if info.state is TxnState.ABORTED else None
    return TxnOutcome(info=info, reason=reason, writes=writes)


def txn_info(row: Row[tuple[object, ...]]) -> TxnInfo:
    """A row of TXNS."""
    return TxnInfo(
        txn_id=TxnId(row.TXN_ID),
        state=TxnState(row.TXN_STATE),
        started=row.TXN_STARTED,
        last_heartbeat=row.TXN_LAST_HEARTBEAT,
        user=row.TXN_USER,
        host=row.TXN_HOST,
    )


def _by_name(write: TxnWrite) -> tuple[TableName, str, str]:
    return write.table, write.partition or "", write.operation or ""


def _writes(connection: Connection, txn_id: TxnId) -> Iterator[TxnWrite]:
    """The changes with their operations; without these, those that no row with one speaks of."""
    write_ids = _write_ids(connection, txn_id)
    known = {
        TxnWrite(
            table=table,
            partition=partition,
            operation=OperationType(operation),
            write_id=write_ids[table],
        )
        for table, partition, operation in _operations(connection, txn_id)
        if table in write_ids
    }
    yield from known
    named = {(write.table, write.partition) for write in known}
    for table, partition in _objects(connection, txn_id) - named:
        if table in write_ids:
            named.add((table, partition))
            yield TxnWrite(
                table=table, partition=partition, operation=None, write_id=write_ids[table]
            )
    for table in write_ids.keys() - {table for table, _ in named}:
        yield TxnWrite(table=table, partition=None, operation=None, write_id=write_ids[table])


def _operations(connection: Connection, txn_id: TxnId) -> set[tuple[TableName, str | None, str]]:
    tc, ws = TXN_COMPONENTS.c, WRITE_SET.c
    recorded = select(tc.TC_DATABASE, tc.TC_TABLE, tc.TC_PARTITION, tc.TC_OPERATION_TYPE).where(
        tc.TC_TXNID == txn_id
    )
    committed = select(ws.WS_DATABASE, ws.WS_TABLE, ws.WS_PARTITION, ws.WS_OPERATION_TYPE).where(
        ws.WS_TXNID == txn_id
    )
    rows = [*connection.execute(recorded), *connection.execute(committed)]
    return {(TableName(row[0], row[1]), row[2], row[3]) for row in rows}


def _objects(connection: Connection, txn_id: TxnId) -> set[tuple[TableName, str | None]]:
    ctc = COMPLETED_TXN_COMPONENTS.c
    rows = connection.execute(
        select(ctc.CTC_DATABASE, ctc.CTC_TABLE, ctc.CTC_PARTITION).where(ctc.CTC_TXNID == txn_id)
    )
    return {(TableName(row[0], row[1]), row[2]) for row in rows}


def _write_ids(connection: Connection, txn_id: TxnId) -> dict[TableName, WriteId]:
    """The write ids of the transaction, wherever one is kept."""
    t2w, tc, ctc = TXN_TO_WRITE_ID.c, TXN_COMPONENTS.c, COMPLETED_TXN_COMPONENTS.c
    sources = (
        select(ctc.CTC_DATABASE, ctc.CTC_TABLE, ctc.CTC_WRITEID).where(ctc.CTC_TXNID == txn_id),
        select(tc.TC_DATABASE, tc.TC_TABLE, tc.TC_WRITEID).where(tc.TC_TXNID == txn_id),
        select(t2w.T2W_DATABASE, t2w.T2W_TABLE, t2w.T2W_WRITEID).where(t2w.T2W_TXNID == txn_id),
    )
    return {
        TableName(database, table): WriteId(write_id)
        for source in sources
        for database, table, write_id in connection.execute(source)
        if write_id is not None
    }
