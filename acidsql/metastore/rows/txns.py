"""What several of the store's transaction steps share: the state of a transaction, open ids, and
how a transaction ends in abort.

Functions on a connection inside somebody's read or write transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from sqlalchemy import (
    Connection,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    select,
    update,
)

from acidsql.acid.ids import TxnId
from acidsql.acid.write_ids import ValidTxnList
from acidsql.errors import MetastoreError, TransactionAbortedError
from acidsql.metastore.txn_tables import (
    HIVE_LOCKS,
    MIN_HISTORY_LEVEL,
    MIN_HISTORY_WRITE_ID,
    TXN_COMPONENTS,
    TXN_TO_WRITE_ID,
    TXNS,
)
from acidsql.txn.manager import OperationType, TxnState
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


_WORDS = {
    AbortReason.ABORT_COMMAND: "by ABORT TRANSACTIONS",
    AbortReason.CONCURRENT: "a concurrent transaction had changed the same data",
    AbortReason.WRITE_CONFLICT: "a concurrent transaction had changed the same data",
    AbortReason.TIME_OUT: "its heartbeat timed out",
    AbortReason.ROLLBACK: "it was rolled back",
    AbortReason.COMPACTION: "its compaction ended without a result",
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
    id is one of other transactions, and nobody sees its files but as they are in place and right.
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
