"""Transactions, compactions and locks as statements name them: START TRANSACTION ..
UNLOCK TABLE.
"""

from __future__ import annotations

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import partition_name
from acidsql.errors import BindError, ColumnNotFoundError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_transactions import (
    BoundAbortCompactions,
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowCompactions,
    BoundShowLocks,
    BoundShowTransaction,
    BoundShowTransactions,
    BoundStartTransaction,
    TransactionAction,
)
from acidsql.planner.bind.ddl.columns import after_word
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import Spec, not_full, static_spec
from acidsql.planner.bind.tables import did_you_mean
from acidsql.txn.compactions import CompactionState, CompactionType

COMPACTION_TYPES = (CompactionType.MAJOR, CompactionType.MINOR, CompactionType.REBALANCE)
COMPACTION_COLUMNS = (
    "compactionid", "dbname", "tabname", "partname", "type", "state", "workerhost", "workerid",
    "enqueuetime", "starttime", "duration", "hadoopjobid", "errormessage", "initiatorhost",
    "initiatorid", "poolname", "txnid", "nexttxnid", "committime", "highestwriteid",
)  # fmt: skip
MAX_LIMIT = 2**15 - 1
"""Hive sends the limit of SHOW COMPACTIONS as a Java short."""
MANAGER = "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager"

LockStatement = ast.LockTable | ast.UnlockTable | ast.LockDatabase | ast.UnlockDatabase


def bind_transaction(  # noqa: C901 (flat: a case for each kind)
    names: Names, statement: ast.TransactionStatement
) -> TransactionAction:
    """What a statement about transactions, compactions or locks asks for."""
    match statement:
        case ast.StartTransaction():
            return bind_start(statement)
        case ast.Commit():
            return BoundCommit(span=statement.span)
        case ast.Rollback():
            return BoundRollback(span=statement.span)
        case ast.SetAutocommit():
            return BoundSetAutocommit(on=statement.on)
        case ast.ShowTransactions():
            return BoundShowTransactions()
        case ast.ShowTransaction():
            return BoundShowTransaction(txn_id=TxnId(statement.txn_id))
        case ast.AbortTransactions():
            return BoundAbortTransactions(ids=tuple(map(TxnId, statement.ids)))
        case ast.ShowCompactions():
            return bind_show_compactions(names, statement)
        case ast.AbortCompactions():
            return BoundAbortCompactions(ids=statement.ids)
        case ast.ShowLocks():
            return bind_show_locks(names, statement)
        case _:
            raise refuse_lock(names, statement)


def bind_start(statement: ast.StartTransaction) -> BoundStartTransaction:
    access = [mode for mode in statement.modes if mode.startswith("READ")]
    if len(set(access)) > 1:
        raise BindError("a transaction is either READ ONLY or READ WRITE", span=statement.span)
    return BoundStartTransaction(read_only="READ ONLY" in access, span=statement.span)


# ---- compactions


def bind_show_compactions(names: Names, statement: ast.ShowCompactions) -> BoundShowCompactions:
    """Which compactions to show; a table's or database's name is looked up."""
    source, span = names.source, statement.span
    table, partition = None, None
    if statement.name is not None:
        table = names.table(statement.name)
        partition = _partition(names, table, statement.partition)
    limit = statement.limit
    if limit is not None and limit > MAX_LIMIT:
        message = f"LIMIT of SHOW COMPACTIONS is at most {MAX_LIMIT}"
        raise BindError(message, span=after_word(source, span, "LIMIT"))
    return BoundShowCompactions(
        compaction_id=statement.compaction_id,
        database=names.database(statement.database) if statement.database else None,
        table=None if table is None else table.name,
        partition=partition,
        pool=statement.pool,
        type=_type(names, statement),
        state=_state(names, statement),
        order_by=tuple((_ordered_column(key), key.descending) for key in statement.order_by),
        limit=limit,
    )


def _type(names: Names, statement: ast.ShowCompactions) -> CompactionType | None:
    written = statement.type
    if written is None:
        return None
    known = {one.name: one for one in COMPACTION_TYPES}
    span = after_word(names.source, statement.span, "TYPE")
    return known[_word("type", written.upper(), written, tuple(known), span)]


def _state(names: Names, statement: ast.ShowCompactions) -> CompactionState | None:
    written = statement.status
    if written is None:
        return None
    words = " ".join(written.lower().replace("_", " ").split())
    known = {state.words: state for state in CompactionState}
    span = after_word(names.source, statement.span, "STATUS")
    return known[_word("state", words, written, tuple(known), span)]


def _word(what: str, word: str, written: str, known: tuple[str, ...], span: Span) -> str:
    if word not in known:
        hint = did_you_mean(word, known) or f"Use one of {', '.join(known)}."
        raise BindError(f"Unexpected compaction {what} {written}", hint=hint, span=span)
    return word


def _ordered_column(key: ast.SortKey) -> str:
    name = key.key.text.strip("`").lower()
    if name not in COMPACTION_COLUMNS:
        message = f"Invalid column reference '{key.key.text}'"
        raise ColumnNotFoundError(
            message, code=10002, hint=did_you_mean(name, COMPACTION_COLUMNS), span=key.key.span
        )
    return name


# ---- locks


def bind_show_locks(names: Names, statement: ast.ShowLocks) -> BoundShowLocks:
    """Which locks to show. EXTENDED changes nothing, as in Hive under DbTxnManager."""
    if statement.database is not None:
        return BoundShowLocks(database=names.database(statement.database))
    if statement.name is None:
        return BoundShowLocks()
    table = names.table(statement.name)
    partition = _partition(names, table, statement.partition)
    return BoundShowLocks(table=table.name, partition=partition)


def refuse_lock(names: Names, statement: LockStatement) -> UnsupportedStatementError:
    """Hive's answer, once the names are checked: its transaction manager knows no explicit locks
    (DbTxnManager.supportsExplicitLock).
    """
    match statement:
        case ast.LockDatabase() | ast.UnlockDatabase():
            names.database(statement.name)
        case _:
            _partition(names, names.table(statement.name), statement.partition)
    message = (
        "Current transaction manager does not support explicit lock requests.  Transaction"
        f" manager:   {MANAGER}"
    )
    return UnsupportedStatementError(
        message,
        code=10271,
        hint="Statements lock what they need themselves; EXPLAIN LOCKS says what.",
        span=statement.span,
    )


def _partition(names: Names, table: Table, written: ast.PartitionSpec | None) -> str | None:
    """The partition (``p=1/q=2``) that a clause names by all its columns; it need not exist."""
    if written is None:
        return None
    spec = _full_spec(names, table, written)
    return partition_name(list(spec), list(spec.values()))


def _full_spec(names: Names, table: Table, partition: ast.PartitionSpec) -> Spec:
    spec = static_spec(names, table, partition)
    if len(spec) < len(table.partition_columns):
        raise not_full(table, spec, partition.span)
    return spec
