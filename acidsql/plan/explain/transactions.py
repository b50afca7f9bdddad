"""What EXPLAIN says of the statements that begin, end and abort transactions."""

from __future__ import annotations

from acidsql.planner.bind.bound import SessionAction
from acidsql.planner.bind.bound_transactions import (
    BoundAbortTransactions,
    BoundCommit,
    BoundRollback,
    BoundSetAutocommit,
    BoundShowTransaction,
    BoundStartTransaction,
)

AT_FIRST_STATEMENT = "snapshot: taken by the first statement that reads or writes rows"


def transaction_facts(action: SessionAction) -> tuple[str, tuple[str, ...]] | None:
    """What follows the statement's words, and the lines below them; None for other statements
    about the session.
    """
    match action:
        case BoundStartTransaction(read_only=True):
            return " READ ONLY", (AT_FIRST_STATEMENT, "changes: refused")
        case BoundStartTransaction():
            return "", (
                AT_FIRST_STATEMENT,
                "changes: seen by this session alone until COMMIT, then by all at once",
            )
        case BoundCommit():
            settle = (
                "settle: files with rows that later statements of the transaction changed are"
                " written anew, without them"
            )
            return "", (
                settle,
                "publish: the files of all tables get their names",
                "commit: all of it becomes visible at once, or nothing",
            )
        case BoundRollback():
            return "", (
                (
                    "abort: nothing of the open transaction was visible to others, and its files"
                    " are deleted"
                ),
            )
        case BoundSetAutocommit(on=True):
            return " TRUE", (
                "commit: the open transaction, if there is one",
                "then: each statement is a transaction of its own",
            )
        case BoundSetAutocommit():
            return " FALSE", (
                (
                    "then: a statement that reads or writes rows begins a transaction where none is"
                    " open"
                ),
            )
        case BoundShowTransaction(txn_id=txn_id):
            return "", (f"id: {txn_id}",)
        case BoundAbortTransactions(ids=ids):
            return "", (f"ids: {', '.join(map(str, ids))}",)
        case _:
            return None
