"""What several of the store's transaction steps share: the state of a transaction, open ids, and
how a transaction ends in abort.

Functions on a connection inside somebody's read or write transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum

from acidsql.acid.ids import TxnId, ValidTxnList, WriteId, base_name
from acidsql.catalog.model import Table, TableName
from acidsql.catalog.statistics import Filled, StatisticsChange, WrittenDirectory
from acidsql.errors import MetastoreError, TransactionAbortedError
from acidsql.metastore.sql import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    true,
    update,
)
from acidsql.metastore.sql import Table as SqlTable
from acidsql.metastore.tables import (
    AUX_TABLE,
    CLEANED_HISTORY,
    COMPACTION_QUEUE,
    COMPACTOR_DAEMONS,
    COMPLETED_COMPACTIONS,
    COMPLETED_TXN_COMPONENTS,
    DBS,
    DIRECTORIES_TO_DELETE,
    HIVE_LOCKS,
    MIN_HISTORY_LEVEL,
    MIN_HISTORY_WRITE_ID,
    PARTITIONS,
    READERS,
    TBLS,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
    WRITE_SET,
    WRITTEN_DIRECTORIES,
)
from acidsql.txn.leftovers import OF_COMPACTION
from acidsql.txn.manager import OperationType, TxnInfo, TxnOutcome, TxnState, TxnWrite
from acidsql.txn.overlaps import TXN_ABORTED as TXN_ABORTED

TXN_NO_SUCH_TRANSACTION = 10262


class AbortReason(IntEnum):
    """TXN_META_INFO of an aborted transaction. Hive: TxnErrorMsg."""

    NONE = 50000
    ABORT_COMMAND = 50001
    CONCURRENT = 50002
    WRITE_CONFLICT = 50003
    TIME_OUT = 50004
    ROLLBACK = 50005
    COMPACTION = 50006
    PROCESS_GONE = 50900
    """Ours: the process that opened it has ended."""
    TABLE_DROPPED = 50901
    """Ours: a table it wrote to was dropped."""
    PARTITION_DROPPED = 50902
    """Ours: a partition it wrote to was dropped."""
    RENEWED = 50903
    """Ours: it waited for locks, and another went on in its place."""
    RUN_COMMITTED = 50904
    """Ours: another has committed what it was to do, under the same run id."""
    ADOPTED = 50905
    """Ours: it was of others, whose table was adopted, and does not count."""
    COMPACTION_FAILED = 50906
    """Ours: the worker of its compaction has said that it failed, and writes nothing any more."""


_WORDS = {
    AbortReason.ABORT_COMMAND: "by ABORT TRANSACTIONS",
    AbortReason.CONCURRENT: "a concurrent transaction had changed the same data",
    AbortReason.WRITE_CONFLICT: "a concurrent transaction had changed the same data",
    AbortReason.TIME_OUT: "its heartbeat timed out",
    AbortReason.ROLLBACK: "it was rolled back",
    AbortReason.COMPACTION: "its compaction ended without a result",
    AbortReason.COMPACTION_FAILED: "its compaction failed",
    AbortReason.PROCESS_GONE: "the process that opened it has ended",
    AbortReason.TABLE_DROPPED: "a table it wrote to was dropped",
    AbortReason.PARTITION_DROPPED: "a partition it wrote to was dropped",
    AbortReason.RUN_COMMITTED: "another transaction had committed the same run",
    AbortReason.ADOPTED: "others had aborted it, or left it open, when their table was adopted",
    AbortReason.RENEWED: "it waited for locks, and another transaction went on in its place",
}


# what every transaction runs is built once: building a statement takes longer than running it

_STATE = select(TXNS.c.TXN_STATE).where(TXNS.c.TXN_ID == bindparam("txn_id"))
_HIGHEST = select(func.max(TXNS.c.TXN_ID))
_LOWEST_OPEN = select(func.min(TXNS.c.TXN_ID)).where(TXNS.c.TXN_STATE == TxnState.OPEN)
_UNDECIDED = select(TXNS.c.TXN_ID, TXNS.c.TXN_STATE).where(
    TXNS.c.TXN_STATE.in_((TxnState.OPEN, TxnState.ABORTED)),
    TXNS.c.TXN_ID <= bindparam("top"),
    TXNS.c.TXN_ID != bindparam("own"),
)

_FORGET_COMPACTED = delete(TXN_COMPONENTS).where(
    TXN_COMPONENTS.c.TC_TXNID.in_(bindparam("txn_ids", expanding=True)),
    TXN_COMPONENTS.c.TC_OPERATION_TYPE == OperationType.COMPACT.value,
    TXN_COMPONENTS.c.TC_WRITEID != OF_COMPACTION,
)


def find_state(connection: Connection, txn_id: TxnId) -> TxnState | None:
    """The state of a transaction; None: never opened, or so long over that its row was purged."""
    state = connection.scalar(_STATE, {"txn_id": txn_id})
    return None if state is None else TxnState(state)


def require_open(connection: Connection, txn_id: TxnId) -> None:
    """TransactionAbortedError, MetastoreError for a transaction that is not open."""
    check_open(connection, txn_id, find_state(connection, txn_id))


def check_open(connection: Connection, txn_id: TxnId, state: TxnState | None) -> None:
    """``require_open`` of a transaction whose state is known."""
    match state:
        case TxnState.OPEN:
            return
        case TxnState.ABORTED:
            raise aborted_error(connection, txn_id)
        case TxnState.COMMITTED:
            raise MetastoreError(
                f"Transaction txnid:{txn_id} is already committed.", code=TXN_NO_SUCH_TRANSACTION
            )
        case None:
            raise unknown_error(txn_id)


def aborted_error(connection: Connection, txn_id: TxnId) -> TransactionAbortedError:
    reason = connection.scalar(select(TXNS.c.TXN_META_INFO).where(TXNS.c.TXN_ID == txn_id))
    error = TransactionAbortedError(
        f"Transaction txnid:{txn_id} already aborted",
        detail=abort_words(reason),
        code=TXN_ABORTED,
    )
    # who ended it by hand does not want it to come back
    error.retryable = reason != str(int(AbortReason.ABORT_COMMAND))
    return error


def abort_words(reason: str | None) -> str | None:
    """Why a transaction was aborted, given its TXN_META_INFO; None where that does not say."""
    known = reason and int(reason) in set(AbortReason)
    return _WORDS.get(AbortReason(int(reason))) if reason and known else None


def unknown_error(txn_id: TxnId) -> MetastoreError:
    """The error for an unknown transaction. It is not retryable: a transaction whose row is gone
    may well have been committed.
    """
    return MetastoreError(
        f"No record of transaction txnid:{txn_id} could be found, may have timed out",
        code=TXN_NO_SUCH_TRANSACTION,
    )


def highest_txn(connection: Connection) -> TxnId:
    return TxnId(connection.scalar(_HIGHEST) or 0)


_COUNT_OPEN = select(func.count()).where(TXNS.c.TXN_STATE == TxnState.OPEN.value)


def count_open_txns(connection: Connection) -> int:
    return connection.scalar(_COUNT_OPEN) or 0


def lowest_open_txn(connection: Connection) -> TxnId | None:
    txn_id = connection.scalar(_LOWEST_OPEN)
    return None if txn_id is None else TxnId(txn_id)


def valid_txns(connection: Connection, txn_id: TxnId | None) -> ValidTxnList:
    """The valid transactions. Hive: TxnCommonUtils.createValidReadTxnList. The own transaction is
    no exception: it sees what it writes.
    """
    top = highest_txn(connection)
    if txn_id is not None:
        top = min(txn_id, top)
    return txns_below(connection, top, own=txn_id or TxnId(0))


def txns_below(connection: Connection, top: TxnId, *, own: TxnId) -> ValidTxnList:
    """The valid transactions up to ``top``, which is one that there is."""
    undecided = connection.execute(_UNDECIDED, {"top": top, "own": own}).all()
    return ValidTxnList(
        high_watermark=top,
        open=tuple(TxnId(txn) for txn, state in undecided if state == TxnState.OPEN),
        aborted=tuple(TxnId(txn) for txn, state in undecided if state == TxnState.ABORTED),
    )


def abort_txns(connection: Connection, txn_ids: Collection[TxnId], reason: AbortReason) -> None:
    """Aborts open transactions, which frees their locks. Hive: AbortTxnsFunction.

    TXN_COMPONENTS stay, they tell the cleaner where the garbage is. A compaction's goes: its write
    id is one of other transactions, and nobody sees its files but as they are in place and right;
    or it is of files that wait for its commit, and stays.
    """
    if not txn_ids:
        return
    _record_unrecorded(connection, txn_ids)
    connection.execute(_FORGET_COMPACTED, {"txn_ids": list(txn_ids)})
    connection.execute(delete(MIN_HISTORY_LEVEL).where(MIN_HISTORY_LEVEL.c.MHL_TXNID.in_(txn_ids)))
    connection.execute(
        delete(MIN_HISTORY_WRITE_ID).where(MIN_HISTORY_WRITE_ID.c.MH_TXNID.in_(txn_ids))
    )
    connection.execute(delete(HIVE_LOCKS).where(HIVE_LOCKS.c.HL_TXNID.in_(txn_ids)))
    connection.execute(
        update(TXNS)
        .where(TXNS.c.TXN_ID.in_(txn_ids))
        .values(TXN_STATE=TxnState.ABORTED.value, TXN_META_INFO=str(reason.value))
    )


def _record_unrecorded(connection: Connection, txn_ids: Collection[TxnId]) -> None:
    """Where a write id was given out but nothing recorded yet, there may be files all the same: a
    component for the whole table stands for them, and keeps the aborted row from being purged.
    """
    t2w, recorded = TXN_TO_WRITE_ID.c, TXN_COMPONENTS.c
    unrecorded = select(
        t2w.T2W_TXNID,
        t2w.T2W_DATABASE,
        t2w.T2W_TABLE,
        null(),
        literal(OperationType.INSERT.value),
        t2w.T2W_WRITEID,
    ).where(
        t2w.T2W_TXNID.in_(txn_ids),
        ~exists().where(
            recorded.TC_TXNID == t2w.T2W_TXNID,
            recorded.TC_DATABASE == t2w.T2W_DATABASE,
            recorded.TC_TABLE == t2w.T2W_TABLE,
        ),
    )
    columns = (
        "TC_TXNID",
        "TC_DATABASE",
        "TC_TABLE",
        "TC_PARTITION",
        "TC_OPERATION_TYPE",
        "TC_WRITEID",
    )
    connection.execute(insert(TXN_COMPONENTS).from_select(columns, unrecorded))


# ---- which tables a transaction has written to


_WD = WRITTEN_DIRECTORIES.c
_INSERT = insert(WRITTEN_DIRECTORIES)
_OF_TABLE = (
    select(PARTITIONS.c.PART_NAME, _WD.WD_DIRECTORY, _WD.WD_FILES, _WD.WD_BYTES)
    .join_from(
        WRITTEN_DIRECTORIES, PARTITIONS, PARTITIONS.c.PART_ID == _WD.WD_PART_ID, isouter=True
    )
    .where(_WD.WD_TBL_ID == bindparam("table"))
)
_FORGET_BASE = delete(WRITTEN_DIRECTORIES).where(
    _WD.WD_TBL_ID
    == select(TBLS.c.TBL_ID)
    .join_from(TBLS, DBS, DBS.c.DB_ID == TBLS.c.DB_ID)
    .where(DBS.c.NAME == bindparam("database"), TBLS.c.TBL_NAME == bindparam("table"))
    .scalar_subquery(),
    _WD.WD_DIRECTORY == bindparam("directory"),
)
_IS_THERE = select(TBLS.c.TBL_ID).where(TBLS.c.TBL_ID == bindparam("table"))


def insert_written(
    connection: Connection,
    table_id: int,
    changes: Iterable[StatisticsChange],
    ids: Mapping[str, int],
) -> None:
    """Stores the directories of changes of one table. ``ids``: of its partitions that are there, by
    their names; those of others are passed over.
    """
    rows = [
        {
            "WD_TBL_ID": table_id,
            "WD_PART_ID": None if partition is None else ids[partition],
            "WD_DIRECTORY": directory,
            "WD_FILES": filled.files,
            "WD_BYTES": filled.bytes,
        }
        for change in changes
        for partition in [change.partition_name]
        if partition is None or partition in ids
        for directory, filled in change.directories.items()
    ]
    if rows and connection.execute(_IS_THERE, {"table": table_id}).first() is not None:
        connection.execute(_INSERT, rows)


def find_written(connection: Connection, table: Table) -> tuple[WrittenDirectory, ...]:
    """The directories on record of a table."""
    return tuple(
        WrittenDirectory(
            partition=row.PART_NAME,
            directory=row.WD_DIRECTORY,
            filled=Filled(row.WD_FILES, row.WD_BYTES),
        )
        for row in connection.execute(_OF_TABLE, {"table": table.table_id})
    )


def forget_written(
    connection: Connection,
    table_id: int,
    partition_id: int | None,
    directories: Collection[str] | None = None,
) -> None:
    """Forgets these directories of a table without partitions, or of one partition; None: all."""
    root = and_(_WD.WD_TBL_ID == table_id, _WD.WD_PART_ID.is_not_distinct_from(partition_id))
    if directories is None:
        connection.execute(delete(WRITTEN_DIRECTORIES).where(root))
    elif directories:
        named = _WD.WD_DIRECTORY == bindparam("name")
        connection.execute(
            delete(WRITTEN_DIRECTORIES).where(root, named),
            [{"name": directory} for directory in directories],
        )


def forget_base(connection: Connection, table: TableName, write_id: WriteId) -> None:
    """Forgets the base of a write id, in whatever partition of the table."""
    named = {"database": table.database, "table": table.table, "directory": base_name(write_id)}
    connection.execute(_FORGET_BASE, named)


# ---- signs of life on a clock that neither jumps nor runs while the machine sleeps


CLOCK_OFFSET = "ClockOffset"
"""AUX_TABLE key: MT_KEY2 is the wall clock less the steady one, in milliseconds; MT_COMMENT names
the boot of the machine that the steady one counts from.
"""

_KNOWN = select(AUX_TABLE.c.MT_KEY2, AUX_TABLE.c.MT_COMMENT).where(
    AUX_TABLE.c.MT_KEY1 == CLOCK_OFFSET
)
_NOTE = (
    update(AUX_TABLE)
    .where(AUX_TABLE.c.MT_KEY1 == CLOCK_OFFSET)
    .values(MT_KEY2=bindparam("offset"), MT_COMMENT=bindparam("boot"))
)


def jump(connection: Connection, *, offset: int, boot: str, tolerance: int) -> int:
    """How far the wall clock has jumped against the steady one since signs of life were last in
    step with it; milliseconds. 0 if by no more than ``tolerance``, or in another boot.
    """
    known = connection.execute(_KNOWN).first()
    if known is None or known.MT_COMMENT != boot:
        return 0
    difference: int = offset - known.MT_KEY2
    return difference if abs(difference) > tolerance else 0


def keep_in_step(
    connection: Connection, *, now: int, offset: int, boot: str, tolerance: int
) -> None:
    """Moves all signs of life with the wall clock if that has jumped. ``now``: what it shows."""
    known = connection.execute(_KNOWN).first()
    if known is None:
        connection.execute(
            insert(AUX_TABLE).values(MT_KEY1=CLOCK_OFFSET, MT_KEY2=offset, MT_COMMENT=boot)
        )
        return
    difference = offset - known.MT_KEY2
    if known.MT_COMMENT == boot and abs(difference) <= tolerance:
        return
    if known.MT_COMMENT == boot:
        _move(connection, difference, now)
    connection.execute(_NOTE, {"offset": offset, "boot": boot})


def _move(connection: Connection, difference: int, now: int) -> None:
    """None lies in the future afterwards: those that were given after the jump are as they were."""
    beats = (
        (TXNS, TXNS.c.TXN_LAST_HEARTBEAT, TXNS.c.TXN_STATE != TxnState.COMMITTED.value),
        (HIVE_LOCKS, HIVE_LOCKS.c.HL_LAST_HEARTBEAT, HIVE_LOCKS.c.HL_LAST_HEARTBEAT > 0),
        (DIRECTORIES_TO_DELETE, DIRECTORIES_TO_DELETE.c.DD_TIME, true()),
        (COMPACTION_QUEUE, COMPACTION_QUEUE.c.CQ_LAST_HEARTBEAT, true()),
        (COMPACTOR_DAEMONS, COMPACTOR_DAEMONS.c.CD_LAST_HEARTBEAT, true()),
        (READERS, READERS.c.RD_LAST_HEARTBEAT, true()),
    )
    for table, beat, living in beats:
        connection.execute(update(table).where(living).values({beat: beat + difference}))
        connection.execute(update(table).where(living, beat > now).values({beat: now}))
    until = READERS.c.RD_UNTIL
    connection.execute(update(READERS).values({until: until + difference}))


# ---- what became of a transaction
#
# What became of a transaction, by what the store still has: its row, and what it wrote.
#
# Each table of the store forgets at its own time. TXN_COMPONENTS has what was written until a
# commit, WRITE_SET until no open transaction can conflict with it; COMPLETED_TXN_COMPONENTS has
# the newest change of each object, without its operation; TXN_TO_WRITE_ID knows the tables only,
# and longest.


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


# ---- a table that is dropped or gets another name
#
# What transactions know of a table that is dropped or gets another name.


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
