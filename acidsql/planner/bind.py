"""Statements to bound statements: every one is checked against the catalog here, before anything is opened. Pure but for look-ups."""

from __future__ import annotations

from acidsql.errors import Error
from acidsql.parser import statements as ast
from acidsql.planner.bind_catalog import bind_catalog
from acidsql.planner.bind_rows import bind_delete, bind_insert, bind_update
from acidsql.planner.bind_transactions import bind_transaction
from acidsql.planner.bound import BoundExplain, BoundReset, BoundSet, BoundStatement
from acidsql.planner.bound_catalog import BoundUnbuilt
from acidsql.planner.names import Names, Surroundings
from acidsql.planner.unbuilt import refuse_unbuilt

__all__ = ["Surroundings", "bind"]


def bind(statement: ast.Statement, source: str, around: Surroundings) -> BoundStatement:
    """BindError and its children, UnsupportedStatementError: each with its place in ``source``."""
    try:
        refuse_unbuilt(statement)
        return _bind(Names(source, around), statement)
    except Error as error:
        if error.source is None:
            error.at(source)
        raise


def _bind(names: Names, statement: ast.Statement) -> BoundStatement:
    match statement:
        case ast.Query():
            return names.query(statement.body)
        case ast.Insert():
            return bind_insert(names, statement)
        case ast.Update():
            return bind_update(names, statement)
        case ast.Delete():
            return bind_delete(names, statement)
        case ast.Explain():
            return BoundExplain(statement=_bind(names, statement.statement))
        case ast.MultiInsert() | ast.Merge():
            return BoundUnbuilt(words=type(statement).__name__, span=statement.span)
        case ast.SetVariable():
            return BoundSet(key=statement.key, value=statement.value)
        case ast.ResetVariable():
            return BoundReset(key=statement.key)
        case (
            ast.StartTransaction() | ast.Commit() | ast.Rollback() | ast.SetAutocommit() | ast.ShowTransactions() | ast.AbortTransactions()
            | ast.ShowCompactions() | ast.AbortCompactions() | ast.ShowLocks()
            | ast.LockTable() | ast.UnlockTable() | ast.LockDatabase() | ast.UnlockDatabase()
        ):  # fmt: skip
            return bind_transaction(names, statement)
        case _:
            return bind_catalog(names, statement)
