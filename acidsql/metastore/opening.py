"""How a transaction starts: the dead are reaped, the id is given out, and write ids with it.

Hive's reaper and house-keeping run in services of their own; here there is none, so every opener
does a little of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from acidsql.acid.ids import FIRST_WRITE_ID, TxnId, WriteId
from acidsql.catalog.model import TableName
from acidsql.errors import NotSupportedError
from acidsql.metastore.rows.runs import purge_runs
from acidsql.metastore.rows.txns import AbortReason, abort_txns, lowest_open_txn
from acidsql.metastore.sql import (
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from acidsql.metastore.store import insert_row
from acidsql.metastore.tables import (
    ATTACHED_NEXT,
    AUX_TABLE,
    MIN_HISTORY_LEVEL,
    NEXT_WRITE_ID,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    WRITE_SET,
    TxnType,
)
from acidsql.processes import Process
from acidsql.txn.manager import TxnState

HOUSEKEEPING_INTERVAL = 64
"""Every so many transactions the opener purges."""

KEPT_TXNS = 1000
"""The number of finished transactions that keep their rows: for a commit that is asked for again,
and for readers with an older snapshot.
"""

PURGED_BELOW = "TxnToWriteIdPurged"
"""AUX_TABLE key: committed write ids of transactions below MT_KEY2 are no longer in
TXN_TO_WRITE_ID.
"""


# what every transaction runs is built once: building a statement takes longer than running it

_INSERT_LEVEL = insert(MIN_HISTORY_LEVEL)
_WRITE_ID = select(TXN_TO_WRITE_ID.c.T2W_WRITEID).where(
    TXN_TO_WRITE_ID.c.T2W_DATABASE == bindparam("database"),
    TXN_TO_WRITE_ID.c.T2W_TABLE == bindparam("table"),
    TXN_TO_WRITE_ID.c.T2W_TXNID == bindparam("txn_id"),
)
_OF_TABLE = and_(
    NEXT_WRITE_ID.c.NWI_DATABASE == bindparam("database"),
    NEXT_WRITE_ID.c.NWI_TABLE == bindparam("table"),
)
_NEXT_WRITE_ID = select(NEXT_WRITE_ID.c.NWI_NEXT).where(_OF_TABLE)
_FIRST_WRITE_ID = insert(NEXT_WRITE_ID)
_ADVANCE = update(NEXT_WRITE_ID).where(_OF_TABLE).values(NWI_NEXT=NEXT_WRITE_ID.c.NWI_NEXT + 1)
_INSERT_WRITE_ID = insert(TXN_TO_WRITE_ID)
_NEWEST_TXN = select(func.max(TXNS.c.TXN_ID))
_OPEN_TXNS = select(
    TXNS.c.TXN_ID, TXNS.c.TXN_HOST, TXNS.c.TXN_AGENT_INFO, TXNS.c.TXN_LAST_HEARTBEAT
).where(TXNS.c.TXN_STATE == TxnState.OPEN)


def insert_txn(
    connection: Connection,
    *,
    user: str,
    host: str,
    process: Process,
    now: int,
    lowest: TxnId | None,
    kind: TxnType = TxnType.DEFAULT,
) -> TxnId:
    """Stores a new transaction. Hive: OpenTxnsFunction. MIN_HISTORY_LEVEL keeps the oldest
    transaction that this one's snapshot may call open: ``lowest``, if there is any.
    """
    key = insert_row(
        connection,
        TXNS,
        TXN_STATE=TxnState.OPEN.value,
        TXN_STARTED=now,
        TXN_LAST_HEARTBEAT=now,
        TXN_USER=user,
        TXN_HOST=host,
        TXN_AGENT_INFO=str(process),
        TXN_TYPE=kind.value,
    )
    txn_id = TxnId(key)
    connection.execute(_INSERT_LEVEL, {"MHL_TXNID": txn_id, "MHL_MIN_OPEN_TXNID": lowest or txn_id})
    return txn_id


def allocate(connection: Connection, txn_id: TxnId, table: TableName) -> WriteId:
    """The write id of an open transaction on a table, the same when asked again. Hive:
    AllocateTableWriteIdsFunction.
    """
    return _find_write_id(connection, txn_id, table) or allocate_first(connection, txn_id, table)


def _find_write_id(connection: Connection, txn_id: TxnId, table: TableName) -> WriteId | None:
    write_id = connection.scalar(
        _WRITE_ID, {"database": table.database, "table": table.table, "txn_id": txn_id}
    )
    return None if write_id is None else WriteId(write_id)


def allocate_first(connection: Connection, txn_id: TxnId, table: TableName) -> WriteId:
    """The write id of a transaction that surely has none on the table."""
    name = {"database": table.database, "table": table.table}
    write_id = connection.scalar(_NEXT_WRITE_ID, name)
    if write_id == ATTACHED_NEXT:
        raise NotSupportedError(f"table {table} is attached read only: it gives out no write ids")
    if write_id is None:
        write_id = 1
        connection.execute(
            _FIRST_WRITE_ID,
            {"NWI_DATABASE": table.database, "NWI_TABLE": table.table, "NWI_NEXT": 2},
        )
    else:
        connection.execute(_ADVANCE, name)
    insert_write_id(connection, txn_id, table, WriteId(write_id))
    return WriteId(write_id)


def insert_write_id(
    connection: Connection, txn_id: TxnId, table: TableName, write_id: WriteId
) -> None:
    """Stores that a transaction has a write id."""
    connection.execute(
        _INSERT_WRITE_ID,
        {
            "T2W_TXNID": txn_id,
            "T2W_DATABASE": table.database,
            "T2W_TABLE": table.table,
            "T2W_WRITEID": write_id,
        },
    )


def take_back(connection: Connection, txn_id: TxnId, table: TableName) -> WriteId | None:
    """Has the write id of a transaction be nobody's again; returns it where that cannot be, as
    later ones were given out.
    """
    name = {"database": table.database, "table": table.table}
    write_id = _find_write_id(connection, txn_id, table)
    if write_id is None:
        return None
    if connection.scalar(_NEXT_WRITE_ID, name) != write_id + 1:
        return write_id
    t2w = TXN_TO_WRITE_ID.c
    connection.execute(
        delete(TXN_TO_WRITE_ID).where(
            t2w.T2W_TXNID == txn_id,
            t2w.T2W_DATABASE == table.database,
            t2w.T2W_TABLE == table.table,
        )
    )
    if write_id == FIRST_WRITE_ID:
        connection.execute(delete(NEXT_WRITE_ID).where(_OF_TABLE), name)
    else:
        back = update(NEXT_WRITE_ID).where(_OF_TABLE).values(NWI_NEXT=write_id)
        connection.execute(back, name)
    return None


def seed(connection: Connection, table: TableName, write_id: WriteId) -> bool:
    """Returns whether the table had no write id yet: then the next one comes after ``write_id``,
    and those before it, without rows, are committed.
    """
    nwi = NEXT_WRITE_ID.c
    if connection.execute(
        select(NEXT_WRITE_ID).where(
            nwi.NWI_DATABASE == table.database, nwi.NWI_TABLE == table.table
        )
    ).first():
        return False
    connection.execute(
        insert(NEXT_WRITE_ID).values(
            NWI_DATABASE=table.database, NWI_TABLE=table.table, NWI_NEXT=write_id + 1
        )
    )
    return True


class OpenTxns(NamedTuple):
    """The open transactions: those whose process is gone, those without a heartbeat for too long,
    and the others.
    """

    orphans: set[TxnId]
    late: set[TxnId]
    living: set[TxnId]

    @property
    def some_are_dead(self) -> bool:
        return bool(self.orphans or self.late)


def reap(connection: Connection, *, host: str, process: Process, cutoff: int) -> OpenTxns:
    """Aborts open transactions without a heartbeat since ``cutoff``, and at once those whose
    process is gone. Returns which ones were open.

    Hive: TxnHandler.performTimeOuts (which knows the time-out only).
    """
    txns = open_txns(connection, host=host, process=process, cutoff=cutoff)
    abort_txns(connection, txns.orphans, AbortReason.PROCESS_GONE)
    abort_txns(connection, txns.late, AbortReason.TIME_OUT)
    return txns


def open_txns(connection: Connection, *, host: str, process: Process, cutoff: int) -> OpenTxns:
    """The open transactions; none is to have been silent since ``cutoff``."""
    rows = connection.execute(_OPEN_TXNS).all()
    gone = ended_processes((row.TXN_AGENT_INFO for row in rows if row.TXN_HOST == host), process)
    orphans = {
        TxnId(row.TXN_ID) for row in rows if row.TXN_HOST == host and row.TXN_AGENT_INFO in gone
    }
    late = {TxnId(row.TXN_ID) for row in rows if row.TXN_LAST_HEARTBEAT < cutoff} - orphans
    return OpenTxns(orphans, late, {TxnId(row.TXN_ID) for row in rows} - orphans - late)


def ended_processes(agents: Iterable[str | None], observer: Process) -> set[str | None]:
    """The agents that name a process which has surely ended, as ``observer`` sees it."""
    processes = {agent: Process.parse(agent) for agent in agents}
    return {
        agent
        for agent, process in processes.items()
        if process is not None and process.is_gone(observer)
    }


def keep_house(connection: Connection, top: TxnId, now: int) -> None:
    """Does ``purge`` now and then; ``top`` is the newest transaction."""
    if top % HOUSEKEEPING_INTERVAL == 0:
        purge(connection, now)


def purge(connection: Connection, now: int) -> None:
    """Forgets what no snapshot and no conflict check can ask for any more, and old runs.

    Hive: AcidHouseKeeperService, AcidTxnCleanerService.
    """
    purge_runs(connection, now)
    top = connection.scalar(_NEWEST_TXN) or 0
    connection.execute(
        delete(WRITE_SET).where(WRITE_SET.c.WS_COMMIT_ID < (lowest_open_txn(connection) or top + 1))
    )
    oldest_seen = connection.scalar(select(func.min(MIN_HISTORY_LEVEL.c.MHL_MIN_OPEN_TXNID)))
    below = min(top - KEPT_TXNS, top if oldest_seen is None else oldest_seen)
    if below <= 0:
        return
    _purge_write_ids(connection, TxnId(below))
    txns = TXNS.c
    has_components = exists().where(TXN_COMPONENTS.c.TC_TXNID == txns.TXN_ID)
    over = txns.TXN_STATE.in_((TxnState.COMMITTED, TxnState.ABORTED))
    connection.execute(
        delete(TXNS).where(over, txns.TXN_ID < below, txns.TXN_ID > 0, ~has_components)
    )


def purged_below(connection: Connection) -> TxnId:
    """The transaction below which committed write ids are not in TXN_TO_WRITE_ID any more; 0 if all
    are.
    """
    mark = select(AUX_TABLE.c.MT_KEY2).where(AUX_TABLE.c.MT_KEY1 == PURGED_BELOW)
    return TxnId(connection.scalar(mark) or 0)


def _purge_write_ids(connection: Connection, below: TxnId) -> None:
    """Forgets write ids. One without a row is a committed one, so only those of aborted
    transactions must stay. Hive keeps all above the oldest aborted one; it must, because it takes
    the highest row for the high watermark (here that is NEXT_WRITE_ID).
    """
    t2w = TXN_TO_WRITE_ID.c
    aborted = exists().where(TXNS.c.TXN_ID == t2w.T2W_TXNID, TXNS.c.TXN_STATE == TxnState.ABORTED)
    connection.execute(delete(TXN_TO_WRITE_ID).where(t2w.T2W_TXNID < below, ~aborted))
    mark = update(AUX_TABLE).where(AUX_TABLE.c.MT_KEY1 == PURGED_BELOW)
    if connection.execute(mark.values(MT_KEY2=below)).rowcount == 0:
        connection.execute(insert(AUX_TABLE).values(MT_KEY1=PURGED_BELOW, MT_KEY2=below))
