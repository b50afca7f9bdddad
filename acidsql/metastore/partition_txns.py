"""What transactions remember of partitions that DDL drops, renames or moves.

Where no lock keeps a writer off a partition that goes, the writer loses. One that has recorded a
change of it is aborted (or, where the partition is to live on, the DDL is refused); one that
records only later finds an overwriting in WRITE_SET that was committed after it began, and so
cannot commit: its files are not where a reader would look for them. Hive relies on the exclusive
lock on the partition, and has CleanupRecordsFunction, OnRenameFunction for the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import TableName
from acidsql.errors import WriteConflictError
from acidsql.metastore.rows.compactions import forget_compactions
from acidsql.metastore.rows.leftovers import mark_stray
from acidsql.metastore.rows.txns import AbortReason, abort_txns, highest_txn, lowest_open_txn
from acidsql.metastore.sql import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
    update,
)
from acidsql.metastore.tables import (
    COMPACTION_QUEUE,
    COMPLETED_COMPACTIONS,
    COMPLETED_TXN_COMPONENTS,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    WRITE_SET,
)
from acidsql.txn.manager import OperationType, TxnState

BY_DDL = TxnId(0)
"""WS_TXNID of an overwriting that no transaction made."""


def forget_partitions(
    connection: Connection,
    table: TableName,
    names: Sequence[str],
    elsewhere: Collection[str] = (),
) -> None:
    """Ends what transactions know of dropped partitions. Open transactions that changed one, or do
    not say which, are aborted.

    What aborted ones left there stays on record until a cleaner has looked: so their write ids are
    not taken for committed ones. In partitions that lay ``elsewhere``, not where their names say,
    it could not look.
    """
    abort_txns(
        connection, _writers(connection, table, frozenset(names)), AbortReason.PARTITION_DROPPED
    )
    ctc, ws = COMPLETED_TXN_COMPONENTS.c, WRITE_SET.c
    rows = [{"name": name} for name in names]
    mark_stray(connection, table, elsewhere)
    of_completed = _of(table, ctc.CTC_DATABASE, ctc.CTC_TABLE) & (
        ctc.CTC_PARTITION == bindparam("name")
    )
    connection.execute(delete(COMPLETED_TXN_COMPONENTS).where(of_completed), rows)
    connection.execute(
        delete(WRITE_SET).where(
            _of(table, ws.WS_DATABASE, ws.WS_TABLE) & (ws.WS_PARTITION == bindparam("name"))
        ),
        rows,
    )
    forget_compactions(connection, table, names)
    keep_out(connection, table, names)


def move_partition(connection: Connection, table: TableName, old: str, new: str) -> None:
    """Renames a partition in what transactions know of it. WriteConflictError while an open
    transaction has changed it.
    """
    writers = _writers(connection, table, frozenset((old,)))
    if writers:
        raise being_written(f'partition {old} of table "{table}"', writers[0])
    for rows, prefix in (
        (TXN_COMPONENTS, "TC"),
        (COMPLETED_TXN_COMPONENTS, "CTC"),
        (WRITE_SET, "WS"),
        (COMPACTION_QUEUE, "CQ"),
        (COMPLETED_COMPACTIONS, "CC"),
    ):
        columns = (rows.c[f"{prefix}_{part}"] for part in ("DATABASE", "TABLE", "PARTITION"))
        database, name, partition = columns
        connection.execute(
            update(rows)
            .where(_of(table, database, name), partition == old)
            .values({partition: new})
        )
    keep_out(connection, table, list(dict.fromkeys((old, new))))


def refuse_writers(connection: Connection, table: TableName) -> None:
    """Raises WriteConflictError while an open transaction has a write id on the table: its files
    may be anywhere in it.
    """
    t2w, tc = TXN_TO_WRITE_ID.c, TXN_COMPONENTS.c
    allocated = select(t2w.T2W_TXNID).where(_of(table, t2w.T2W_DATABASE, t2w.T2W_TABLE))
    recorded = select(tc.TC_TXNID).where(_of(table, tc.TC_DATABASE, tc.TC_TABLE))
    txn_id = TXNS.c.TXN_ID
    writer = connection.scalar(
        select(txn_id)
        .where(TXNS.c.TXN_STATE == TxnState.OPEN, or_(txn_id.in_(allocated), txn_id.in_(recorded)))
        .limit(1)
    )
    if writer is not None:
        raise being_written(f'table "{table}"', TxnId(writer))


def being_written(what: str, writer: TxnId) -> WriteConflictError:
    hint = f"Run the statement again when it has ended, or ABORT TRANSACTIONS {writer}."
    return WriteConflictError(f"{what} is being written by transaction txnid:{writer}", hint=hint)


def _writers(connection: Connection, table: TableName, names: frozenset[str]) -> list[TxnId]:
    """Open transactions that recorded a change of one of the partitions, or of the table as a
    whole.
    """
    tc = TXN_COMPONENTS.c
    rows = connection.execute(
        select(tc.TC_TXNID, tc.TC_PARTITION)
        .join(TXNS, TXNS.c.TXN_ID == tc.TC_TXNID)
        .where(TXNS.c.TXN_STATE == TxnState.OPEN, _of(table, tc.TC_DATABASE, tc.TC_TABLE))
        .distinct()
    )
    return sorted(
        {TxnId(txn_id) for txn_id, partition in rows if partition is None or partition in names}
    )


def keep_out(connection: Connection, table: TableName, names: Sequence[str]) -> None:
    """Sees to it that no transaction that began before now commits a change of these partitions."""
    if not names or lowest_open_txn(connection) is None:
        return
    commit_id = highest_txn(connection)
    row = {
        "WS_DATABASE": table.database,
        "WS_TABLE": table.table,
        "WS_TXNID": BY_DDL,
        "WS_COMMIT_ID": commit_id,
    }
    operation = {"WS_OPERATION_TYPE": OperationType.OVERWRITE.value}
    connection.execute(
        insert(WRITE_SET), [{**row, **operation, "WS_PARTITION": name} for name in names]
    )


def keep_changes_out(connection: Connection, table: TableName, partition: str | None) -> None:
    """Sees to it that no transaction that began before now can commit an update or delete of what
    is about to get other ROW__IDs. Inserts may.
    """
    connection.execute(
        insert(WRITE_SET).values(
            WS_DATABASE=table.database,
            WS_TABLE=table.table,
            WS_PARTITION=partition,
            WS_TXNID=BY_DDL,
            WS_COMMIT_ID=highest_txn(connection),
            WS_OPERATION_TYPE=OperationType.UPDATE.value,
        )
    )


def _of(
    table: TableName,
    database: ColumnElement[str],
    name: ColumnElement[str | None] | ColumnElement[str],
) -> ColumnElement[bool]:
    return and_(database == table.database, name == table.table)
