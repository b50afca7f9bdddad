"""Statements to bound statements: every one is checked against the catalog here, before anything is
opened. Pure but for look-ups. A process imports the binders of the statements that it runs.
"""

from __future__ import annotations

import re
from typing import Any, cast

from acidsql.catalog.model import Table, TableName
from acidsql.errors import Error, Span, UnsupportedStatementError
from acidsql.expressions.spark_words import Edit, QueryText, Slot, edited
from acidsql.parser import statements as ast
from acidsql.planner.bind.bound import (
    BoundDryRun,
    BoundExplain,
    BoundQuery,
    BoundRead,
    BoundReset,
    BoundSet,
    BoundStatement,
    BoundTelling,
    Telling,
)
from acidsql.planner.bind.local.scope import Surroundings
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.rows import bind_delete, bind_update

__all__ = ["Surroundings", "bind", "bind_all_rows"]

_BLANK_END = re.compile(r"[^\\] ['\"](?=[\s),;=<>!]|$)")
"""A blank before what may be a closing quote: most texts have none."""


def bind(statement: ast.Statement, source: str, around: Surroundings) -> BoundStatement:
    """BindError and its children, UnsupportedStatementError: each with its place in ``source``."""
    try:
        if _BLANK_END.search(source) is not None:
            source, statement = _without_blank_ends(source, statement, around)
        return _bind(Names(source, around), statement)
    except Error as error:
        if error.source is None:
            error.at(source)
        raise


def _without_blank_ends(
    source: str, statement: ast.Statement, around: Surroundings
) -> tuple[str, ast.Statement]:
    """The text and the statement with the literals beside CHAR columns cut."""
    from acidsql.parser.parse import parse
    from acidsql.planner.bind.char_literals import without_blank_ends

    def find(parts: tuple[str, ...]) -> Table | None:
        return around.catalog.find_table(TableName((around.database, *parts)[-2], parts[-1]))

    text = without_blank_ends(source, find)
    return (source, statement) if text == source else (text, parse(text))


def bind_all_rows(
    parts: tuple[str, ...], span: Span, source: str, around: Surroundings
) -> BoundQuery:
    """The query ``SELECT * FROM name`` (``source``), whose name of these parts stands at ``span``:
    its text is not read. It reads no table where the name is a view's. Errors as of ``bind``.
    """
    names = Names(source, around)
    table = names.resolve(parts, span)
    reads = () if table is None or table.view else (BoundRead(table=table, span=span),)
    edits = [Edit(span, (Slot(number),)) for number in range(len(reads))]
    text = QueryText(source, edited(Span(0, len(source)), edits))
    return BoundQuery(text=text, reads=reads, views=tuple(names.views))


def _bind(  # noqa: C901  (one arm for each statement)
    names: Names, statement: ast.Statement
) -> BoundStatement:
    match statement:
        case ast.Query():
            return names.query(statement.body)
        case ast.DescribeQuery(query=source):
            from acidsql.planner.bind.files.whole import rows_of

            return BoundTelling(query=rows_of(names, source), telling=Telling.COLUMNS)
        case ast.Summarize(source=summarized):
            from acidsql.planner.bind.files.whole import rows_of

            return BoundTelling(query=rows_of(names, summarized), telling=Telling.SUMMARY)
        case ast.Copy():
            from acidsql.planner.bind.files.unload import bind_copy

            return bind_copy(names, statement)
        case ast.CopyInto():
            from acidsql.planner.bind.files.copy_into import bind_copy_into

            return bind_copy_into(names, statement)
        case ast.InsertDirectory():
            from acidsql.planner.bind.files.unload import bind_insert_directory

            return bind_insert_directory(names, statement)
        case ast.Insert():
            from acidsql.planner.bind.insert import bind_insert

            return bind_insert(names, statement)
        case ast.Update():
            return bind_update(names, statement)
        case ast.Delete():
            return bind_delete(names, statement)
        case ast.DryRun():
            return BoundDryRun(statement=cast(Any, _bind(names, statement.statement)))
        case ast.Explain():
            return BoundExplain(
                statement=_bind(names, statement.statement), mode=explain_mode(statement)
            )
        case ast.MultiInsert():
            from acidsql.planner.bind.insert import bind_multi_insert

            return bind_multi_insert(names, statement)
        case ast.Merge():
            from acidsql.planner.bind.merge import bind_merge

            return bind_merge(names, statement)
        case ast.SetVariable():
            return BoundSet(
                key=statement.key,
                value=statement.value,
                verbose=statement.verbose,
                span=statement.span,
            )
        case ast.ResetVariable():
            return BoundReset(
                keys=statement.keys, to_default=statement.to_default, span=statement.span
            )
        case (
            ast.StartTransaction() | ast.Commit() | ast.Rollback() | ast.SetAutocommit()
            | ast.ShowTransactions() | ast.ShowTransaction() | ast.AbortTransactions()
            | ast.ShowCompactions() | ast.AbortCompactions() | ast.ShowLocks()
            | ast.LockTable() | ast.UnlockTable() | ast.LockDatabase() | ast.UnlockDatabase()
        ):  # fmt: skip
            from acidsql.planner.bind.transactions import bind_transaction

            return bind_transaction(names, statement)
        case _:
            from acidsql.planner.bind.ddl.catalog import bind_catalog

            return bind_catalog(names, statement)


EXPLAIN_MODES = ("ANALYZE", "EXTENDED", "FORMATTED", "LOCKS", "DEPENDENCY")


def explain_mode(statement: ast.Explain) -> str | None:
    """Hive's further modes show what only Hive has."""
    if statement.mode is None or statement.mode in EXPLAIN_MODES:
        return statement.mode
    hint = f"Use EXPLAIN or one of EXPLAIN {', '.join(EXPLAIN_MODES)}."
    raise UnsupportedStatementError(
        f"EXPLAIN {statement.mode} is not supported", hint=hint, span=statement.span
    )
