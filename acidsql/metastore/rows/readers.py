"""Registrations of those who read: rows of MIN_HISTORY_WRITE_ID for transactions, of READERS for
reads outside of them.

Functions on a connection inside somebody's write transaction, unless they only look.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from acidsql.acid.ids import TxnId, ValidTxnList, ValidWriteIdList, WriteId
from acidsql.catalog.model import TableName
from acidsql.lazy import dataclass
from acidsql.metastore.opening import ended_processes
from acidsql.metastore.sql import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from acidsql.metastore.tables import CLEANED_HISTORY, MIN_HISTORY_WRITE_ID, READERS, TXNS
from acidsql.processes import Process
from acidsql.txn.compactions import Compaction
from acidsql.txn.readers import ReaderInfo, ReadRequest, too_old

STATEMENT_LENGTH = 1000
"""The number of characters of a statement that are kept."""

_RD, _MH, _CH = READERS.c, MIN_HISTORY_WRITE_ID.c, CLEANED_HISTORY.c

# what every statement runs is built once: building a statement takes longer than running it

_INSERT_READER = insert(READERS)
_INSERT_TXN = insert(MIN_HISTORY_WRITE_ID)
_IDS = _RD.RD_ID.in_(bindparam("ids", expanding=True))
_OF_IDS = select(_RD.RD_ID).where(_IDS).distinct()
_DELETE = delete(READERS).where(_IDS)
_RENEW = update(READERS).where(_IDS).values(RD_LAST_HEARTBEAT=bindparam("now"))
_OF_TXN = select(_MH.MH_DATABASE, _MH.MH_TABLE).where(_MH.MH_TXNID == bindparam("txn_id"))
_CLEANED = select(_CH.CH_WRITEID).where(
    _CH.CH_DATABASE == bindparam("database"), _CH.CH_TABLE == bindparam("table")
)
_LIVES = select(
    _RD.RD_ID, _RD.RD_HOST, _RD.RD_AGENT_INFO, _RD.RD_LAST_HEARTBEAT, _RD.RD_UNTIL
).distinct()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Who looks, and when; epoch milliseconds. ``cutoff``: who gave no sign of life since is
    dead.
    """

    user: str
    host: str
    process: Process
    now: int
    cutoff: int


def lowest_needed(write_ids: ValidWriteIdList) -> WriteId:
    """The lowest write id that was open for a reader, else the one behind the highest: what lies
    below it is decided for the reader. Hive: TxnHandler.addWriteIdsToMinHistory.
    """
    if write_ids.min_open is not None:
        return write_ids.min_open
    return WriteId(write_ids.high_watermark + 1)


def check_history(connection: Connection, seen: Mapping[TableName, ValidWriteIdList]) -> None:
    """Raises SnapshotTooOldError if a snapshot may need files that are gone."""
    for table, write_ids in seen.items():
        cleaned = connection.scalar(_CLEANED, {"database": table.database, "table": table.table})
        if cleaned is not None and lowest_needed(write_ids) <= cleaned:
            raise too_old(
                f'the snapshot is too old to read "{table}": it was compacted since, and what it'
                " was before is gone"
            )


def insert_reader(
    connection: Connection,
    reader_id: int,
    request: ReadRequest,
    txns: ValidTxnList,
    seen: Mapping[TableName, ValidWriteIdList],
    by: Observer,
) -> None:
    snapshot = str(replace(txns, aborted=()))
    rows = [
        {
            "RD_ID": reader_id,
            "RD_DATABASE": table.database,
            "RD_TABLE": table.table,
            "RD_WRITEID": lowest_needed(write_ids),
            "RD_TXNS": snapshot,
            "RD_STARTED": by.now,
            "RD_LAST_HEARTBEAT": by.now,
            "RD_UNTIL": by.now + int(request.lease_seconds * 1000),
            "RD_USER": by.user,
            "RD_HOST": by.host,
            "RD_AGENT_INFO": str(by.process),
            "RD_STATEMENT": request.statement[:STATEMENT_LENGTH],
        }
        for table, write_ids in seen.items()
    ]
    if rows:
        connection.execute(_INSERT_READER, rows)


def insert_txn_reads(
    connection: Connection,
    txn_id: TxnId,
    seen: Mapping[TableName, ValidWriteIdList],
    known: Collection[TableName] = (),
) -> None:
    """Registers tables of a transaction, but for the ``known`` ones, which it has registered."""
    rows = [
        {
            "MH_TXNID": txn_id,
            "MH_DATABASE": table.database,
            "MH_TABLE": table.table,
            "MH_WRITEID": lowest_needed(write_ids),
        }
        for table, write_ids in seen.items()
        if table not in known
    ]
    if rows:
        connection.execute(_INSERT_TXN, rows)


def txn_reads(connection: Connection, txn_id: TxnId) -> set[TableName]:
    """The tables that a transaction has registered."""
    rows = connection.execute(_OF_TXN, {"txn_id": txn_id})
    return {TableName(row.MH_DATABASE, row.MH_TABLE) for row in rows}


def registered(connection: Connection, reader_ids: Sequence[int]) -> set[int]:
    """The ones of ``reader_ids`` that are registered."""
    if not reader_ids:
        return set()
    return set(connection.scalars(_OF_IDS, {"ids": list(reader_ids)}))


def renew(connection: Connection, reader_ids: Sequence[int], *, now: int) -> None:
    if reader_ids:
        connection.execute(_RENEW, {"ids": list(reader_ids), "now": now})


def delete_readers(connection: Connection, reader_ids: Collection[int]) -> None:
    if reader_ids:
        connection.execute(_DELETE, {"ids": list(reader_ids)})


def readers_of(connection: Connection, table: TableName) -> set[int]:
    """The RD_IDs of those who read a table outside of transactions."""
    return set(connection.scalars(select(_RD.RD_ID).where(_of_table(table))))


def txns_that_read(connection: Connection, table: TableName) -> list[TxnId]:
    """The open transactions that have read a table."""
    of_table = (_MH.MH_DATABASE == table.database, _MH.MH_TABLE == table.table)
    rows = connection.scalars(select(_MH.MH_TXNID).where(*of_table).order_by(_MH.MH_TXNID))
    return [TxnId(row) for row in rows]


def is_read(connection: Connection, table: TableName) -> bool:
    """Whether anybody reads a table, in a transaction or outside."""
    return bool(readers_of(connection, table) or txns_that_read(connection, table))


def any_readers(connection: Connection) -> bool:
    """Whether anybody reads any table outside of transactions."""
    return connection.execute(select(_RD.RD_ID).limit(1)).first() is not None


def part_readers(connection: Connection, table: TableName, table_id: int) -> None:
    """Keeps the registrations of those who read a table that is dropped apart from those of the
    next one of its name: under a name that no table has.
    """
    dropped = {"RD_TABLE": f"{table.table}:dropped:{table_id}"}
    connection.execute(update(READERS).where(_of_table(table)).values(dropped))


def _of_table(table: TableName) -> ColumnElement[bool]:
    return and_(_RD.RD_DATABASE == table.database, _RD.RD_TABLE == table.table)


def reap_readers(connection: Connection, by: Observer) -> None:
    """Deletes registrations of those who are gone, and those whose lease has ended."""
    delete_readers(connection, find_dead(connection, by))


def find_dead(connection: Connection, by: Observer) -> set[int]:
    rows = connection.execute(_LIVES).all()
    gone = ended_processes((r.RD_AGENT_INFO for r in rows if r.RD_HOST == by.host), by.process)
    return {
        row.RD_ID
        for row in rows
        if row.RD_LAST_HEARTBEAT < by.cutoff
        or row.RD_UNTIL <= by.now
        or (row.RD_HOST == by.host and row.RD_AGENT_INFO in gone)
    }


def find_readers(connection: Connection, *, timeout: int) -> tuple[ReaderInfo, ...]:
    """All registrations, the oldest first. ``timeout``: of a process without a sign of life;
    milliseconds.
    """
    readers = [
        ReaderInfo(
            reader_id=row.RD_ID,
            txn_id=None,
            table=TableName(row.RD_DATABASE, row.RD_TABLE),
            write_id=WriteId(row.RD_WRITEID),
            started=row.RD_STARTED,
            until=min(row.RD_UNTIL, row.RD_LAST_HEARTBEAT + timeout),
            user=row.RD_USER,
            host=row.RD_HOST,
            statement=row.RD_STATEMENT,
        )
        for row in connection.execute(select(READERS))
    ]
    txns = [
        ReaderInfo(
            reader_id=None,
            txn_id=TxnId(row.MH_TXNID),
            table=TableName(row.MH_DATABASE, row.MH_TABLE),
            write_id=WriteId(row.MH_WRITEID),
            started=row.TXN_STARTED,
            until=None,
            user=row.TXN_USER,
            host=row.TXN_HOST,
            statement="",
        )
        for row in connection.execute(
            select(MIN_HISTORY_WRITE_ID, TXNS.c.TXN_STARTED, TXNS.c.TXN_USER, TXNS.c.TXN_HOST).join(
                TXNS, TXNS.c.TXN_ID == _MH.MH_TXNID
            )
        )
    ]
    return tuple(sorted(readers + txns, key=lambda one: (one.started, str(one.table))))


def older_registrations(connection: Connection, compaction: Compaction) -> bool:
    """Whether anybody reads the table with a snapshot from before the compaction's commit."""
    table = compaction.request.table
    of_table = (_MH.MH_DATABASE == table.database, _MH.MH_TABLE == table.table)
    txns = select(func.count()).select_from(MIN_HISTORY_WRITE_ID).where(*of_table)
    if compaction.next_txn_id is not None:
        txns = txns.where(_MH.MH_TXNID < compaction.next_txn_id)
    if connection.scalar(txns):
        return True
    readers = select(_RD.RD_TXNS).where(
        _RD.RD_DATABASE == table.database, _RD.RD_TABLE == table.table
    )
    return any(not _sees(text, compaction) for text in connection.scalars(readers.distinct()))


def _sees(snapshot: str, compaction: Compaction) -> bool:
    """Whether the compaction's transaction is committed in a snapshot. Of one without it nobody can
    tell.
    """
    return compaction.txn_id is not None and ValidTxnList.parse(snapshot).is_valid(
        compaction.txn_id
    )


def note_cleaned(connection: Connection, table: TableName, base: WriteId) -> None:
    """Notes that what lay below a base may be gone."""
    of_table = (_CH.CH_DATABASE == table.database, _CH.CH_TABLE == table.table)
    known = connection.scalar(select(_CH.CH_WRITEID).where(*of_table))
    if known is None:
        connection.execute(
            insert(CLEANED_HISTORY).values(
                CH_DATABASE=table.database, CH_TABLE=table.table, CH_WRITEID=base
            )
        )
    elif known < base:
        connection.execute(update(CLEANED_HISTORY).where(*of_table).values(CH_WRITEID=base))
