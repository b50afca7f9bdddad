"""The statements of a task's SQL, and what is done with each when the task is run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from acidsql.errors import ParseError
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.parameters import bind_parameters
from acidsql.parser.parse import parse
from acidsql.parser.statements import (
    AnalyzeTable,
    Commit,
    Copy,
    CopyInto,
    Delete,
    Describe,
    DescribeChanges,
    DescribeDatabase,
    DescribeHealth,
    DescribeQuery,
    DryRun,
    Explain,
    Insert,
    InsertDirectory,
    LoadData,
    Merge,
    MultiInsert,
    Query,
    ResetVariable,
    Rollback,
    SetAutocommit,
    SetVariable,
    ShowColumns,
    ShowCompactions,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    ShowTransaction,
    ShowTransactions,
    ShowViews,
    StartTransaction,
    Statement,
    Summarize,
    TruncateTable,
    Update,
    UseDatabase,
)

_CHANGES = (Insert, MultiInsert, CopyInto, Update, Delete, Merge, LoadData, TruncateTable)
_TRANSACTIONS = (StartTransaction, Commit, Rollback, SetAutocommit)
_HARMLESS = (
    Query,
    Copy,
    InsertDirectory,
    DescribeQuery,
    Summarize,
    Explain,
    DryRun,
    SetVariable,
    ResetVariable,
    UseDatabase,
    AnalyzeTable,
    Describe,
    DescribeDatabase,
    DescribeChanges,
    DescribeHealth,
    ShowColumns,
    ShowCompactions,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTableProperties,
    ShowTables,
    ShowTransaction,
    ShowTransactions,
    ShowViews,
)


class Kind(Enum):
    """CHANGE: rows. DEFINITION: the catalog, at once. TRANSACTION: begins or ends one. HARMLESS:
    may be carried out as often as one likes.
    """

    CHANGE = "change"
    DEFINITION = "definition"
    TRANSACTION = "transaction"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatement:
    """``text``: as it was given; ``source``: with its parameters in it."""

    text: str
    source: str
    kind: Kind


def task_statements(
    texts: Iterable[str], parameters: Sequence[Any] | Mapping[str, Any] | None
) -> tuple[TaskStatement, ...]:
    """What a task is to carry out; errors as of a session's statements."""
    return tuple(_task_statement(text, parameters) for text in texts)


def _task_statement(
    text: str, parameters: Sequence[Any] | Mapping[str, Any] | None
) -> TaskStatement:
    source = bind_parameters(text, parameters) if parameters else text
    try:
        kind = _kind_of(parse(source))
    except ParseError as error:
        raise error.at(source) from None
    return TaskStatement(text=text, source=source, kind=kind)


def _kind_of(statement: Statement) -> Kind:
    if isinstance(statement, Explain) and statement.mode == "ANALYZE":
        return _kind_of(statement.statement)
    if isinstance(statement, _CHANGES):
        return Kind.CHANGE
    if isinstance(statement, _TRANSACTIONS):
        return Kind.TRANSACTION
    return Kind.HARMLESS if isinstance(statement, _HARMLESS) else Kind.DEFINITION
