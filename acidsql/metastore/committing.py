"""How a transaction becomes visible: first committer wins, then its components become history.
Hive: CommitTxnFunction.

A transaction lives in the interval ``[txn id, commit id]``; the commit id is the highest
transaction id at its commit. Two that overlap and both changed (updated or deleted in) one table or
partition cannot both have seen the other's rows, so the second to commit is aborted: by Hive's
rule. Where rows count, the second is told of such overlaps, compares rows outside of the store, and
comes again with those that are harmless (see txn.overlaps for why that is enough). Inserts conflict
with nothing but an overwriting, which would hide the rows of an insert with a lower write id that
it has never seen. One write lock serialises all commits, so check and commit are one step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from acidsql.acid.ids import TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.catalog.statistics import StatisticsChange
from acidsql.errors import WriteConflictError
from acidsql.metastore.calls.locks import free_locks
from acidsql.metastore.partition_txns import BY_DDL
from acidsql.metastore.rows.statistics import apply_changes
from acidsql.metastore.rows.txns import AbortReason, abort_txns, highest_txn
from acidsql.metastore.sql import (
    BigInteger,
    Connection,
    Delete,
    Insert,
    Row,
    Select,
    String,
    bindparam,
    delete,
    insert,
    or_,
    select,
    update,
)
from acidsql.metastore.tables import (
    COMPLETED_TXN_COMPONENTS,
    MIN_HISTORY_LEVEL,
    MIN_HISTORY_WRITE_ID,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    WRITE_SET,
)
from acidsql.txn.manager import OperationType, TxnComponent, TxnState
from acidsql.txn.overlaps import TXN_ABORTED, Clash, Overlap, conflict_error

CHANGES = (OperationType.UPDATE, OperationType.DELETE, OperationType.OVERWRITE)
"""The operations that conflict with each other, as in Hive 4 (Hive 3 let two deletes pass)."""

BY_ROW = frozenset((OperationType.UPDATE, OperationType.DELETE))
"""The operations that say which rows they hit: by delete events."""

WRITES = (OperationType.INSERT, *CHANGES)

# what every transaction runs is built once: building a statement takes longer than running it

_FORGET_LEVEL = delete(MIN_HISTORY_LEVEL).where(
    MIN_HISTORY_LEVEL.c.MHL_TXNID == bindparam("txn_id")
)
_FORGET_READS = delete(MIN_HISTORY_WRITE_ID).where(
    MIN_HISTORY_WRITE_ID.c.MH_TXNID == bindparam("txn_id")
)
_COMMIT = (
    update(TXNS)
    .where(TXNS.c.TXN_ID == bindparam("txn_id"))
    .values(TXN_STATE=TxnState.COMMITTED.value)
)


def _overlapping_statement() -> Select[Any]:
    tc, ws, t2w = TXN_COMPONENTS.c, WRITE_SET.c, TXN_TO_WRITE_ID.c
    same = (
        (ws.WS_DATABASE == tc.TC_DATABASE)
        & (ws.WS_TABLE == tc.TC_TABLE)
        & ws.WS_PARTITION.is_not_distinct_from(tc.TC_PARTITION)
    )
    write_id = (
        select(t2w.T2W_WRITEID)
        .where(
            t2w.T2W_DATABASE == ws.WS_DATABASE,
            t2w.T2W_TABLE == ws.WS_TABLE,
            t2w.T2W_TXNID == ws.WS_TXNID,
        )
        .scalar_subquery()
    )
    this = bindparam("txn_id", type_=BigInteger)
    return (
        select(tc.TC_OPERATION_TYPE, WRITE_SET, write_id.label("write_id"))
        .join_from(TXN_COMPONENTS, WRITE_SET, same)
        .where(
            tc.TC_TXNID == this,
            or_(
                tc.TC_OPERATION_TYPE.in_(CHANGES) & ws.WS_OPERATION_TYPE.in_(CHANGES),
                (tc.TC_OPERATION_TYPE == OperationType.INSERT)
                & (ws.WS_OPERATION_TYPE == OperationType.OVERWRITE),
                (tc.TC_OPERATION_TYPE == OperationType.OVERWRITE)
                & (ws.WS_OPERATION_TYPE == OperationType.INSERT),
            ),
            ws.WS_TXNID != this,
            ws.WS_COMMIT_ID >= this,
        )
        .order_by(
            ws.WS_TXNID,
            ws.WS_PARTITION.nulls_first(),
            tc.TC_OPERATION_TYPE.desc(),
            ws.WS_OPERATION_TYPE.desc(),
        )
    )


def _remember_statement() -> Insert:
    tc = TXN_COMPONENTS.c
    changes = (
        select(
            tc.TC_DATABASE,
            tc.TC_TABLE,
            tc.TC_PARTITION,
            tc.TC_TXNID,
            bindparam("commit_id", type_=BigInteger),
            tc.TC_OPERATION_TYPE,
        )
        .where(tc.TC_TXNID == bindparam("txn_id"), tc.TC_OPERATION_TYPE.in_(WRITES))
        .distinct()
    )
    return insert(WRITE_SET).from_select([column.name for column in WRITE_SET.c], changes)


def _complete_statement() -> Insert:
    tc = TXN_COMPONENTS.c
    done = (
        select(
            tc.TC_TXNID,
            tc.TC_DATABASE,
            tc.TC_TABLE,
            tc.TC_PARTITION,
            bindparam("now", type_=BigInteger),
            tc.TC_WRITEID,
            bindparam("kind", type_=String),
        )
        .where(
            tc.TC_TXNID == bindparam("txn_id"), tc.TC_OPERATION_TYPE != OperationType.COMPACT.value
        )
        .distinct()
    )
    columns = [column.name for column in COMPLETED_TXN_COMPONENTS.c]
    return insert(COMPLETED_TXN_COMPONENTS).from_select(columns, done)


def _components_statement() -> Select[Any]:
    tc = TXN_COMPONENTS.c
    columns = (tc.TC_OPERATION_TYPE, tc.TC_DATABASE, tc.TC_TABLE, tc.TC_PARTITION, tc.TC_WRITEID)
    return select(*columns).where(tc.TC_TXNID == bindparam("txn_id")).distinct()


def _delete_older_statement() -> Delete:
    ctc = COMPLETED_TXN_COMPONENTS.c
    return delete(COMPLETED_TXN_COMPONENTS).where(
        ctc.CTC_DATABASE == bindparam("database"),
        ctc.CTC_TABLE == bindparam("table"),
        ctc.CTC_PARTITION.is_not_distinct_from(bindparam("partition", type_=String)),
        ctc.CTC_WRITEID <= bindparam("write_id"),
        ctc.CTC_UPDATE_DELETE == bindparam("kind"),
    )


_OVERLAPPING = _overlapping_statement()
_MOVED = _OVERLAPPING.where(WRITE_SET.c.WS_TXNID == bindparam("by_ddl", type_=BigInteger))
_REMEMBER = _remember_statement()
_COMPLETE = _complete_statement()
_COMPONENTS = _components_statement()
_DELETE_OLDER = _delete_older_statement()
_INSERT_COMPONENTS = insert(TXN_COMPONENTS)
_FORGET_COMPONENTS = delete(TXN_COMPONENTS).where(TXN_COMPONENTS.c.TC_TXNID == bindparam("txn_id"))


class UncomparedError(Exception):
    """The commit must not be: ``overlaps`` are to be compared by rows first."""

    def __init__(self, overlaps: tuple[Overlap, ...]) -> None:
        super().__init__(overlaps)
        self.overlaps = overlaps


def insert_components(
    connection: Connection, txn_id: TxnId, components: Iterable[TxnComponent]
) -> None:
    """Stores what a transaction did; reads leave no trace. Hive: InsertTxnComponentsCommand."""
    rows = [
        {
            "TC_TXNID": txn_id,
            "TC_DATABASE": component.table.database,
            "TC_TABLE": component.table.table,
            "TC_PARTITION": component.partition,
            "TC_OPERATION_TYPE": component.operation.value,
            "TC_WRITEID": component.write_id,
        }
        for component in dict.fromkeys(components)
        if component.operation is not OperationType.SELECT
    ]
    if rows:
        connection.execute(_INSERT_COMPONENTS, rows)


def refuse_moved(connection: Connection, txn_id: TxnId) -> None:
    """Raises WriteConflictError if DDL has dropped or moved what the transaction wrote to: its
    files would get their names where nobody looks.
    """
    for row in connection.execute(_MOVED, {"txn_id": txn_id, "by_ddl": BY_DDL}):
        raise _conflict_error(row, txn_id, highest_txn(connection))


def finish(
    connection: Connection,
    txn_id: TxnId,
    *,
    now: int,
    statistics: Iterable[StatisticsChange] = (),
    harmless: Collection[Overlap] | None = None,
) -> WriteConflictError | None:
    """Commits an open transaction whose components are all recorded, or aborts it and
    returns why. ``harmless``: as in ``TxnManager.commit``; UncomparedError if there are others.
    """
    this = {"txn_id": txn_id}
    components = connection.execute(_COMPONENTS, this).all()
    operations = {row.TC_OPERATION_TYPE for row in components}
    changes = not operations.isdisjoint(CHANGES)
    if not operations.isdisjoint(WRITES):
        commit_id = highest_txn(connection)
        conflict = _find_conflict(connection, txn_id, commit_id, harmless)
        if conflict is not None:
            abort_txns(connection, [txn_id], AbortReason.WRITE_CONFLICT)
            return conflict
        _remember_changes(connection, txn_id, commit_id)
    if operations:
        objects = dict.fromkeys(
            tuple(row)[1:]
            for row in components
            if row.TC_OPERATION_TYPE != OperationType.COMPACT.value
        )
        if objects:
            _complete_components(connection, txn_id, objects, changes=changes, now=now)
        connection.execute(_FORGET_COMPONENTS, this)
    apply_changes(connection, statistics)
    connection.execute(_FORGET_LEVEL, this)
    connection.execute(_FORGET_READS, this)
    free_locks(connection, txn_id)
    connection.execute(_COMMIT, this)
    return None


def _find_conflict(
    connection: Connection,
    txn_id: TxnId,
    commit_id: TxnId,
    harmless: Collection[Overlap] | None,
) -> WriteConflictError | None:
    """The first conflict. UncomparedError if there is none but what rows may be."""
    # one for each transaction and table or partition: by the strongest operations, which come first
    overlaps: dict[tuple[Any, ...], Overlap] = {}
    for row in _overlapping(connection, txn_id):
        if harmless is None or not _says_rows(row):
            return _conflict_error(row, txn_id, commit_id)
        key = (row.WS_TXNID, row.WS_DATABASE, row.WS_TABLE, row.WS_PARTITION)
        overlaps.setdefault(key, _overlap(row, commit_id))
    unknown = tuple(one for one in overlaps.values() if one not in (harmless or ()))
    if unknown:
        raise UncomparedError(unknown)
    return None


def _says_rows(row: Row[Any]) -> bool:
    return row.WS_TXNID != BY_DDL and {row.TC_OPERATION_TYPE, row.WS_OPERATION_TYPE} <= BY_ROW


def _overlapping(connection: Connection, txn_id: TxnId) -> Sequence[Row[Any]]:
    """What others committed since the transaction began that may conflict with it.

    The write id of the other is there as long as its row of WRITE_SET can matter: ``keep_house``
    purges none of transactions that were open when one that is open now began, nor of later ones.
    """
    return connection.execute(_OVERLAPPING, {"txn_id": txn_id}).all()


def _overlap(row: Row[Any], commit_id: TxnId) -> Overlap:
    return Overlap(
        table=TableName(row.WS_DATABASE, row.WS_TABLE),
        partition=row.WS_PARTITION,
        txn_id=TxnId(row.WS_TXNID),
        commit_id=TxnId(row.WS_COMMIT_ID),
        write_id=None if row.write_id is None else WriteId(row.write_id),
        operations=f"{row.TC_OPERATION_TYPE}/{row.WS_OPERATION_TYPE}",
        highest_txn=commit_id,
    )


def _conflict_error(conflict: Row[Any], txn_id: TxnId, commit_id: TxnId) -> WriteConflictError:
    overlap = _overlap(conflict, commit_id)
    if overlap.txn_id == BY_DDL:
        rebalanced = conflict.WS_OPERATION_TYPE == OperationType.UPDATE.value
        what = "rebalanced" if rebalanced else "added, dropped, renamed or moved"
        message = f"Aborting [txnid:{txn_id},{commit_id}] because {overlap} was {what} meanwhile"
        return WriteConflictError(message, hint="Run the statement again.", code=TXN_ABORTED)
    return conflict_error(txn_id, Clash(overlap=overlap))


def _remember_changes(connection: Connection, txn_id: TxnId, commit_id: TxnId) -> None:
    connection.execute(_REMEMBER, {"txn_id": txn_id, "commit_id": commit_id})


def _complete_components(
    connection: Connection,
    txn_id: TxnId,
    objects: Iterable[tuple[Any, ...]],
    *,
    changes: bool,
    now: int,
) -> None:
    """Copies the components to history, where a newer row replaces the older of the same object,
    kind by kind. ``objects``: database, table, partition and write id of each.

    Hive's house-keeper drops such duplicates later; the compactor asks only for the newest.
    """
    kind = "Y" if changes else "N"
    names = ("database", "table", "partition", "write_id")
    older = [{"kind": kind} | dict(zip(names, one, strict=True)) for one in objects]
    connection.execute(_DELETE_OLDER, older)
    connection.execute(_COMPLETE, {"txn_id": txn_id, "now": now, "kind": kind})
