"""Transactions, compactions and locks as statements name them: START TRANSACTION ..
UNLOCK TABLE.
"""

from __future__ import annotations

from collections.abc import Iterable

from acidsql.acid.ids import TxnId
from acidsql.catalog.model import Table
from acidsql.catalog.partitions import partition_name
from acidsql.errors import BindError, ColumnNotFoundError, Span, UnsupportedStatementError
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound_catalog import BoundUnbuilt
from acidsql.planner.bind.bound_transactions import (
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowLocks,
    BoundShowTransaction,
    BoundShowTransactions,
    BoundStartTransaction,
    TransactionAction,
)
from acidsql.planner.bind.ddl.clause_spans import after_word
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import Spec, not_full, shown, static_spec
from acidsql.planner.bind.tables import did_you_mean

COMPACTION_TYPES = ("MAJOR", "MINOR", "REBALANCE")
COMPACTION_STATES = (
    "initiated",
    "working",
    "ready for cleaning",
    "succeeded",
    "failed",
    "did not initiate",
    "refused",
    "aborted",
)
COMPACTION_COLUMNS = (
    "compactionid", "dbname", "tabname", "partname", "type", "state", "workerhost", "workerid",
    "enqueuetime", "starttime", "duration", "hadoopjobid", "errormessage", "initiatorhost",
    "initiatorid", "poolname", "txnid", "nexttxnid", "committime", "highestwriteid",
)  # fmt: skip
MAX_LIMIT = 2**15 - 1
"""Hive sends the limit of SHOW COMPACTIONS as a Java short."""
MANAGER = "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager"

Facts = tuple[tuple[str, str], ...]
LockStatement = ast.LockTable | ast.UnlockTable | ast.LockDatabase | ast.UnlockDatabase


def bind_transaction(  # noqa: C901 (flat: a case for each kind)
    names: Names, statement: ast.TransactionStatement
) -> TransactionAction | BoundUnbuilt:
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
            return BoundUnbuilt(
                words="ABORT COMPACTIONS",
                span=statement.span,
                facts=(("ids", _listed(statement.ids)),),
            )
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


def bind_show_compactions(names: Names, statement: ast.ShowCompactions) -> BoundUnbuilt:
    source, span = names.source, statement.span
    facts = list(_subject(names, statement.database, statement.name, statement.partition))
    if statement.compaction_id is not None:
        facts.append(("compaction id", str(statement.compaction_id)))
    if statement.pool is not None:
        facts.append(("pool", statement.pool))
    if statement.type is not None:
        facts.append(
            (
                "type",
                _word(
                    "type",
                    statement.type.upper(),
                    statement.type,
                    COMPACTION_TYPES,
                    after_word(source, span, "TYPE"),
                ),
            )
        )
    if statement.status is not None:
        state = " ".join(statement.status.lower().replace("_", " ").split())
        status_span = after_word(source, span, "STATUS")
        facts.append(
            ("state", _word("state", state, statement.status, COMPACTION_STATES, status_span))
        )
    if statement.order_by:
        facts.append(("order by", _listed(_ordered_column(key) for key in statement.order_by)))
    if statement.limit is not None:
        if statement.limit > MAX_LIMIT:
            raise BindError(
                f"LIMIT of SHOW COMPACTIONS is at most {MAX_LIMIT}",
                span=after_word(source, span, "LIMIT"),
            )
        facts.append(("limit", str(statement.limit)))
    return BoundUnbuilt(words="SHOW COMPACTIONS", span=span, facts=tuple(facts))


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
    return f"{name} {'DESC' if key.descending else 'ASC'}"


# ---- locks


def bind_show_locks(names: Names, statement: ast.ShowLocks) -> BoundShowLocks:
    """Which locks to show. EXTENDED changes nothing, as in Hive under DbTxnManager."""
    if statement.database is not None:
        return BoundShowLocks(database=names.database(statement.database))
    if statement.name is None:
        return BoundShowLocks()
    table = names.table(statement.name)
    if statement.partition is None:
        return BoundShowLocks(table=table.name)
    spec = _full_spec(names, table, statement.partition)
    partition = partition_name(list(spec), list(spec.values()))
    return BoundShowLocks(table=table.name, partition=partition)


def refuse_lock(names: Names, statement: LockStatement) -> UnsupportedStatementError:
    """Hive's answer, once the names are checked: its transaction manager knows no explicit locks
    (DbTxnManager.supportsExplicitLock).
    """
    match statement:
        case ast.LockDatabase() | ast.UnlockDatabase():
            names.database(statement.name)
        case _:
            _subject(names, None, statement.name, statement.partition)
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


def _subject(
    names: Names,
    database: ast.Name | None,
    name: ast.QualifiedName | None,
    partition: ast.PartitionSpec | None,
) -> Facts:
    """The database, table or partition that a statement is about."""
    if database is not None:
        return (("database", names.database(database)),)
    if name is None:
        return ()
    table = names.table(name)
    facts: Facts = (("table", str(table.name)),)
    return (
        facts
        if partition is None
        else (*facts, ("partition", shown(_full_spec(names, table, partition))))
    )


def _full_spec(names: Names, table: Table, partition: ast.PartitionSpec) -> Spec:
    spec = static_spec(names, table, partition)
    if len(spec) < len(table.partition_columns):
        raise not_full(table, spec, partition.span)
    return spec


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
