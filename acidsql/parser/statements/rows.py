"""Statements about rows, and about transactions and compactions."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from acidsql.errors import Span
from acidsql.lazy import dataclass
from acidsql.parser.statements.pieces import (
    Fragment,
    Name,
    PartitionSpec,
    Path,
    QualifiedName,
    RowFormat,
    SortKey,
)

if TYPE_CHECKING:
    from acidsql.parser.statements import Statement


# ---- rows
#
# Queries, changes of rows, and what is said about statements: EXPLAIN, DRY RUN, SET.


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """``VALUES (..), (..)``: each row a tuple of expressions."""

    span: Span
    rows: tuple[tuple[Fragment, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """INSERT INTO | OVERWRITE [TABLE] t [PARTITION (..)] [(columns) | BY NAME] [IF NOT EXISTS] ..

    ``with_clause`` is the text before INSERT, if any (``WITH q AS (..)``). ``by_name``: the words
    BY NAME.
    """

    span: Span
    target: QualifiedName
    columns: tuple[Name, ...] | None
    source: Values | Fragment
    with_clause: Fragment | None = None
    overwrite: bool = False
    partition: PartitionSpec | None = None
    if_not_exists: bool = False
    by_name: Fragment | None = None
    returning: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertBranch:
    """One INSERT of a multi-insert; ``query`` is a SELECT without FROM."""

    span: Span
    target: QualifiedName
    columns: tuple[Name, ...] | None
    query: Fragment
    overwrite: bool = False
    partition: PartitionSpec | None = None
    if_not_exists: bool = False
    by_name: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsert:
    """FROM source INSERT .. SELECT .. INSERT .. SELECT ..: one read, several writes."""

    span: Span
    from_clause: Fragment
    branches: tuple[InsertBranch, ...]
    with_clause: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    column: Name
    value: Fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    span: Span
    target: QualifiedName
    alias: Name | None
    assignments: tuple[Assignment, ...]
    where: Fragment | None
    returning: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    span: Span
    target: QualifiedName
    alias: Name | None
    where: Fragment | None
    returning: Fragment | None = None


class Match(StrEnum):
    """Which rows a WHEN clause of MERGE is about."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeUpdate:
    """UPDATE SET assignments; ``assignments`` None for ``UPDATE SET *``."""

    span: Span
    assignments: tuple[Assignment, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeDelete:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeInsert:
    """INSERT [(columns)] VALUES (..); ``values`` None for ``INSERT *``."""

    span: Span
    columns: tuple[Name, ...] | None
    values: tuple[Fragment, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    """WHEN match [AND condition] THEN action."""

    span: Span
    match: Match
    condition: Fragment | None
    action: MergeUpdate | MergeDelete | MergeInsert


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """``source`` is a table, the path of files, or a sub-query with its parentheses, whose columns
    are called ``source_columns`` if it has such.
    """

    span: Span
    target: QualifiedName
    alias: Name | None
    source: QualifiedName | Fragment | Path
    source_alias: Name | None
    source_columns: tuple[Name, ...] | None
    on: Fragment
    clauses: tuple[MergeClause, ...]
    returning: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOption:
    """``FORMAT csv``, ``PARTITION_BY (a, b)``, ``HEADER``: the values behind its name, if any;
    ``listed``: they stand in brackets.
    """

    span: Span
    name: Name
    values: tuple[Fragment, ...] = ()
    listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """COPY t | (query) TO 'path' [(options)]. ``source`` is a table, or a query with its
    parentheses.
    """

    span: Span
    source: QualifiedName | Fragment
    path: Path
    options: tuple[CopyOption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInto:
    """COPY INTO t [PARTITION (..)] [(columns)] FROM 'path' [(options)] [BY NAME] [ONCE] [REJECTS
    INTO r]. ``by_name``, ``once``: these words.
    """

    span: Span
    target: QualifiedName
    columns: tuple[Name, ...] | None
    path: Path
    partition: PartitionSpec | None = None
    options: tuple[CopyOption, ...] = ()
    by_name: Fragment | None = None
    once: Fragment | None = None
    rejects: QualifiedName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertDirectory:
    """INSERT OVERWRITE [LOCAL] DIRECTORY 'path' [ROW FORMAT DELIMITED ..] [STORED AS ..] query."""

    span: Span
    path: Path
    query: Fragment
    with_clause: Fragment | None = None
    local: bool = False
    row_format: RowFormat | None = None
    stored_as: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuery:
    """DESCRIBE query | 'file': the columns that it gives."""

    span: Span
    query: Fragment | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize:
    """SUMMARIZE t | query | 'file': what there is to be told of each column's values."""

    span: Span
    source: QualifiedName | Fragment | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """SELECT .., WITH .. SELECT .., VALUES .., FROM .. SELECT ..: whatever only reads."""

    span: Span
    body: Fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """EXPLAIN [mode] statement; ``mode`` is Hive's word in upper case (EXTENDED, FORMATTED, LOCKS,
    ANALYZE, ..) or None.
    """

    span: Span
    statement: Statement
    mode: str | None = None


ChangingStatement = Insert | MultiInsert | Update | Delete | Merge | CopyInto


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """DRY RUN statement: what it would do. ``statement``: one that changes rows, the catalog or the
    transactions of others.
    """

    span: Span
    statement: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable:
    """SET, SET k, SET k=v: ``key`` None lists all (``verbose``: SET -v), ``value`` None shows one.
    The value is verbatim.
    """

    span: Span
    key: str | None
    value: str | None
    verbose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetVariable:
    """RESET [-d] [k ..]: all settings without ``keys``; ``to_default`` is -d."""

    span: Span
    keys: tuple[str, ...] = ()
    to_default: bool = False


# ---- transactions
#
# Transactions, compactions and locks.


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTransaction:
    """START TRANSACTION [modes] or BEGIN; ``modes`` as ``READ ONLY``, ``READ WRITE``, ``ISOLATION
    LEVEL SNAPSHOT``.
    """

    span: Span
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAutocommit:
    span: Span
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTransactions:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTransaction:
    """SHOW TRANSACTION n: what became of one transaction."""

    span: Span
    txn_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactions:
    span: Span
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCompactions:
    """SHOW COMPACTIONS, all or by id, or by database or table and the clauses; the words are as the
    user wrote them.
    """

    span: Span
    compaction_id: int | None = None
    database: Name | None = None
    name: QualifiedName | None = None
    partition: PartitionSpec | None = None
    pool: str | None = None
    type: str | None = None
    status: str | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortCompactions:
    span: Span
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLocks:
    span: Span
    database: Name | None = None
    name: QualifiedName | None = None
    partition: PartitionSpec | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTable:
    span: Span
    name: QualifiedName
    exclusive: bool
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockTable:
    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDatabase:
    span: Span
    name: Name
    exclusive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockDatabase:
    span: Span
    name: Name
