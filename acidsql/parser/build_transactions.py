"""From skeleton to statement: transactions, compactions and locks."""

from __future__ import annotations

from acidsql.parser import grammar
from acidsql.parser.grammar import Node
from acidsql.parser.statements import (
    AbortCompactions,
    AbortTransactions,
    Commit,
    LockDatabase,
    LockTable,
    QualifiedName,
    Rollback,
    ShowCompactions,
    ShowLocks,
    ShowTransaction,
    ShowTransactions,
    StartTransaction,
    UnlockDatabase,
    UnlockTable,
)


def start_transaction(node: Node, text: str) -> StartTransaction:
    return StartTransaction(
        span=node.span,
        modes=tuple(grammar.words(mode, text) for mode in node.nodes("transaction_mode")),
    )


def commit(node: Node, text: str) -> Commit:
    return Commit(span=node.span)


def rollback(node: Node, text: str) -> Rollback:
    return Rollback(span=node.span)


def show_transactions(node: Node, text: str) -> ShowTransactions:
    return ShowTransactions(span=node.span)


def show_transaction(node: Node, text: str) -> ShowTransaction:
    txn_id = grammar.integer(grammar.terminal(node, "NUMBER"))
    return ShowTransaction(span=node.span, txn_id=txn_id)


def abort_transactions(node: Node, text: str) -> AbortTransactions:
    return AbortTransactions(span=node.span, ids=_ids(node))


def abort_compactions(node: Node, text: str) -> AbortCompactions:
    return AbortCompactions(span=node.span, ids=_ids(node))


def _ids(node: Node) -> tuple[int, ...]:
    return tuple(grammar.integer(number) for number in node.terminals("NUMBER"))


def show_compactions(node: Node, text: str) -> ShowCompactions:
    by_id = node.node("compaction_id")
    return ShowCompactions(
        span=node.span,
        compaction_id=grammar.integer(grammar.terminal(by_id, "NUMBER")) if by_id else None,
        database=grammar.optional_name(node),
        name=_table_name(node),
        partition=grammar.partition(node),
        pool=grammar.clause_string(node, "pool"),
        type=grammar.clause_string(node, "compaction_type"),
        status=grammar.clause_string(node, "compaction_status"),
        order_by=grammar.order_by(node),
        limit=grammar.limit(node),
    )


def show_locks(node: Node, text: str) -> ShowLocks:
    return ShowLocks(
        span=node.span,
        database=grammar.optional_name(node),
        name=_table_name(node),
        partition=grammar.partition(node),
        extended=node.has("EXTENDED"),
    )


def _table_name(node: Node) -> QualifiedName | None:
    return next(iter(grammar.table_names(node)), None)


def lock_table(node: Node, text: str) -> LockTable:
    return LockTable(
        span=node.span,
        name=grammar.table_name(node),
        exclusive=node.has("EXCLUSIVE"),
        partition=grammar.partition(node),
    )


def unlock_table(node: Node, text: str) -> UnlockTable:
    return UnlockTable(
        span=node.span, name=grammar.table_name(node), partition=grammar.partition(node)
    )


def lock_database(node: Node, text: str) -> LockDatabase:
    return LockDatabase(
        span=node.span, name=grammar.first_name(node), exclusive=node.has("EXCLUSIVE")
    )


def unlock_database(node: Node, text: str) -> UnlockDatabase:
    return UnlockDatabase(span=node.span, name=grammar.first_name(node))


BUILDERS = (
    start_transaction, commit, rollback, show_transactions, show_transaction, abort_transactions,
    show_compactions, abort_compactions, show_locks, lock_table, unlock_table, lock_database,
    unlock_database,
)  # fmt: skip
