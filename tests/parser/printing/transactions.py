"""Statements to text: transactions, compactions and locks."""

from __future__ import annotations

from typing import assert_never

from acidsql.parser.statements import (
    AbortCompactions,
    AbortTransactions,
    Commit,
    LockDatabase,
    LockTable,
    Rollback,
    SetAutocommit,
    ShowCompactions,
    ShowLocks,
    ShowTransaction,
    ShowTransactions,
    StartTransaction,
    TransactionStatement,
    UnlockDatabase,
    UnlockTable,
)
from tests.parser.printing.pieces import (
    limit,
    name,
    order_by,
    partition,
    qualified,
    quoted,
    words,
)


def print_transaction_statement(
    statement: TransactionStatement,
) -> str:
    match statement:
        case StartTransaction():
            return words("START TRANSACTION", ", ".join(statement.modes))
        case Commit():
            return "COMMIT"
        case Rollback():
            return "ROLLBACK"
        case SetAutocommit():
            return f"SET AUTOCOMMIT {'TRUE' if statement.on else 'FALSE'}"
        case ShowTransactions():
            return "SHOW TRANSACTIONS"
        case ShowTransaction():
            return f"SHOW TRANSACTION {statement.txn_id}"
        case AbortTransactions():
            return words("ABORT TRANSACTIONS", *map(str, statement.ids))
        case AbortCompactions():
            return words("ABORT COMPACTIONS", *map(str, statement.ids))
        case ShowCompactions():
            return print_show_compactions(statement)
        case ShowLocks():
            return words("SHOW LOCKS", _scope(statement), statement.extended and "EXTENDED")
        case LockTable():
            return words(
                "LOCK TABLE",
                qualified(statement.name),
                partition(statement.partition),
                _mode(statement),
            )
        case UnlockTable():
            return words("UNLOCK TABLE", qualified(statement.name), partition(statement.partition))
        case LockDatabase():
            return words("LOCK DATABASE", name(statement.name), _mode(statement))
        case UnlockDatabase():
            return words("UNLOCK DATABASE", name(statement.name))
        case _:
            assert_never(statement)


def print_show_compactions(statement: ShowCompactions) -> str:
    return words(
        "SHOW COMPACTIONS",
        None if statement.compaction_id is None else f"COMPACTIONID = {statement.compaction_id}",
        _scope(statement),
        quoted("POOL", statement.pool),
        quoted("TYPE", statement.type),
        quoted("STATUS", statement.status),
        order_by(statement.order_by),
        limit(statement.limit),
    )


def _scope(statement: ShowCompactions | ShowLocks) -> str:
    database = f"DATABASE {name(statement.database)}" if statement.database else None
    return words(
        database,
        qualified(statement.name) if statement.name else None,
        partition(statement.partition),
    )


def _mode(statement: LockTable | LockDatabase) -> str:
    return "EXCLUSIVE" if statement.exclusive else "SHARED"
