"""Transactions, compactions and locks as statements name them: START TRANSACTION .. UNLOCK TABLE."""

from __future__ import annotations

from acidsql.parser import statements as ast
from acidsql.planner.bound import BoundShowTransactions, SessionAction
from acidsql.planner.bound_catalog import BoundUnbuilt
from acidsql.planner.names import Names


def bind_transaction(names: Names, statement: ast.TransactionStatement) -> SessionAction | BoundUnbuilt:
    """What a statement about transactions, compactions or locks asks for."""
    match statement:
        case ast.ShowTransactions():
            return BoundShowTransactions()
        case _:
            return BoundUnbuilt(words=type(statement).__name__, span=statement.span)
