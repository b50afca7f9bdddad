"""Statements as the parser gives them: SQL words and source spans only, no catalog facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from acidsql.errors import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One identifier; ``text`` is unquoted and in the user's case."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifiedName:
    """``t`` or ``db.t``."""

    parts: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A query or an expression as the user wrote it: a balanced slice of the source."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    key: str
    value: str
    span: Span


class ConstraintKind(StrEnum):
    PRIMARY_KEY = "PRIMARY KEY"
    FOREIGN_KEY = "FOREIGN KEY"
    UNIQUE = "UNIQUE"
    NOT_NULL = "NOT NULL"
    CHECK = "CHECK"
    DEFAULT = "DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule of a column or a table. ``traits`` are Hive's words after it (ENABLE, DISABLE, NOVALIDATE, RELY, ..), upper case.

    ``columns`` is empty for a column's own rule; ``expression`` belongs to CHECK and DEFAULT, ``references`` to FOREIGN KEY.
    """

    span: Span
    kind: ConstraintKind
    name: Name | None = None
    columns: tuple[Name, ...] = ()
    expression: Fragment | None = None
    references: QualifiedName | None = None
    referenced_columns: tuple[Name, ...] = ()
    traits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    """``type_text`` is the user's; the binder turns it into a HiveType and points at ``type_span`` if it cannot."""

    name: Name
    type_text: str
    type_span: Span
    comment: str | None = None
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionItem:
    """``ds``, ``ds='x'``; in DROP PARTITION also ``ds < 'x'``. A name alone is a dynamic partition column."""

    name: Name
    operator: str | None = None
    value: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    span: Span
    items: tuple[PartitionItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """``nulls_last`` is None where the statement leaves it open."""

    span: Span
    key: Fragment
    descending: bool = False
    nulls_last: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredBy:
    columns: tuple[Name, ...]
    buckets: int
    span: Span
    sorted_by: tuple[SortKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewedBy:
    """``directories``: STORED AS DIRECTORIES was said too."""

    span: Span
    columns: tuple[Name, ...]
    values: tuple[Fragment, ...]
    directories: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFormat:
    """ROW FORMAT SERDE 'class' or DELIMITED; ``delimiters`` maps Hive's words (``FIELDS``, ``COLLECTION``, ..) to the characters."""

    span: Span
    serde: str | None = None
    properties: tuple[Property, ...] = ()
    delimiters: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClasses:
    """STORED AS INPUTFORMAT 'x' OUTPUTFORMAT 'y', or STORED BY 'handler'."""

    span: Span
    input_format: str | None = None
    output_format: str | None = None
    handler: str | None = None
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDatabase:
    span: Span
    name: Name
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabase:
    span: Span
    name: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UseDatabase:
    span: Span
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeDatabase:
    span: Span
    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowDatabases:
    span: Span
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """CREATE TABLE with columns, or AS a query (``query``; ``partitioned_by_names`` are then bare names of PARTITIONED BY)."""

    span: Span
    name: QualifiedName
    columns: tuple[ColumnDefinition, ...]
    if_not_exists: bool = False
    transactional_word: bool = False
    external: bool = False
    comment: str | None = None
    clustered_by: ClusteredBy | None = None
    stored_as: Name | None = None
    location: str | None = None
    properties: tuple[Property, ...] = ()
    row_format: RowFormat | None = None
    temporary: bool = False
    managed: bool = False
    partitioned_by: tuple[ColumnDefinition, ...] = ()
    partitioned_by_names: tuple[Name, ...] = ()
    skewed_by: SkewedBy | None = None
    storage_classes: StorageClasses | None = None
    constraints: tuple[Constraint, ...] = ()
    query: Fragment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike:
    """CREATE TABLE t LIKE s [STORED AS ..] [LOCATION ..] [TBLPROPERTIES ..]."""

    span: Span
    name: QualifiedName
    like: QualifiedName
    if_not_exists: bool = False
    transactional_word: bool = False
    external: bool = False
    temporary: bool = False
    managed: bool = False
    stored_as: Name | None = None
    row_format: RowFormat | None = None
    storage_classes: StorageClasses | None = None
    location: str | None = None
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    span: Span
    name: QualifiedName
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    name: Name
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    span: Span
    name: QualifiedName
    query: Fragment
    columns: tuple[ViewColumn, ...] = ()
    if_not_exists: bool = False
    or_replace: bool = False
    comment: str | None = None
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView:
    span: Span
    name: QualifiedName
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateTable:
    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTables:
    span: Span
    database: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    span: Span
    name: QualifiedName
    formatted: bool = False
    extended: bool = False
    column: Name | None = None
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable:
    span: Span
    name: QualifiedName


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowViews:
    span: Span
    database: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions:
    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None
    where: Fragment | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableProperties:
    """SHOW TBLPROPERTIES t [('key')]."""

    span: Span
    name: QualifiedName
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowColumns:
    span: Span
    name: QualifiedName
    database: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadData:
    """LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE t [PARTITION (..)]."""

    span: Span
    path: str
    target: QualifiedName
    local: bool = False
    overwrite: bool = False
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeTable:
    """ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN | FOR COLUMNS [a, ..]]; ``columns`` () means FOR COLUMNS without a list."""

    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None
    columns: tuple[Name, ...] | None = None
    noscan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTable:
    """MSCK [REPAIR] TABLE t [ADD | DROP | SYNC PARTITIONS]; ``mode`` is the word or None. Without REPAIR it only looks."""

    span: Span
    name: QualifiedName
    mode: str | None = None
    only_check: bool = False


# ---- ALTER TABLE -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTableProperties:
    span: Span
    name: QualifiedName
    properties: tuple[Property, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetTableProperties:
    span: Span
    name: QualifiedName
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPartition:
    partition: PartitionSpec
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    span: Span
    name: QualifiedName
    partitions: tuple[AddedPartition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions:
    span: Span
    name: QualifiedName
    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamePartition:
    span: Span
    name: QualifiedName
    partition: PartitionSpec
    new_partition: PartitionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns:
    span: Span
    name: QualifiedName
    columns: tuple[ColumnDefinition, ...]
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceColumns:
    span: Span
    name: QualifiedName
    columns: tuple[ColumnDefinition, ...]
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeColumn:
    """ALTER TABLE t CHANGE [COLUMN] old definition [FIRST | AFTER column] [CASCADE | RESTRICT]."""

    span: Span
    name: QualifiedName
    column: Name
    definition: ColumnDefinition
    first: bool = False
    after: Name | None = None
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    span: Span
    name: QualifiedName
    new_name: QualifiedName


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLocation:
    span: Span
    name: QualifiedName
    location: str
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concatenate:
    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """ALTER TABLE t [PARTITION (..)] COMPACT 'type' ..; ``type`` is the user's text, ``type_span`` its place."""

    span: Span
    name: QualifiedName
    type: str
    type_span: Span
    partition: PartitionSpec | None = None
    wait: bool = False
    buckets: int | None = None
    order_by: tuple[SortKey, ...] = ()
    pool: str | None = None
    properties: tuple[Property, ...] = ()


# ---- transactions, compactions, locks ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTransaction:
    """START TRANSACTION [modes] or BEGIN; ``modes`` as ``READ ONLY``, ``READ WRITE``, ``ISOLATION LEVEL SNAPSHOT``."""

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
class AbortTransactions:
    span: Span
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCompactions:
    """SHOW COMPACTIONS, all or by id, or by database or table and the clauses; the words are as the user wrote them."""

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


# ---- queries and changes of rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """``VALUES (..), (..)``: each row a tuple of expressions."""

    span: Span
    rows: tuple[tuple[Fragment, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """INSERT INTO | OVERWRITE [TABLE] t [PARTITION (..)] [(columns)] [IF NOT EXISTS] source.

    ``with_clause`` is the text before INSERT, if any (``WITH q AS (..)``).
    """

    span: Span
    target: QualifiedName
    columns: tuple[Name, ...] | None
    source: Values | Fragment
    with_clause: Fragment | None = None
    overwrite: bool = False
    partition: PartitionSpec | None = None
    if_not_exists: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    span: Span
    target: QualifiedName
    alias: Name | None
    where: Fragment | None


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
    """``source`` is a table, or a sub-query with its parentheses."""

    span: Span
    target: QualifiedName
    alias: Name | None
    source: QualifiedName | Fragment
    source_alias: Name | None
    on: Fragment
    clauses: tuple[MergeClause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """SELECT .., WITH .. SELECT .., VALUES .., FROM .. SELECT ..: whatever only reads."""

    span: Span
    body: Fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """EXPLAIN [mode] statement; ``mode`` is Hive's word in upper case (EXTENDED, FORMATTED, LOCKS, ANALYZE, ..) or None."""

    span: Span
    statement: Statement
    mode: str | None = None


ChangingStatement = Insert | MultiInsert | Update | Delete | Merge


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """DRY RUN statement: what it would do."""

    span: Span
    statement: ChangingStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable:
    """SET, SET k, SET k=v: ``key`` None lists all (``verbose``: SET -v), ``value`` None shows one. The value is verbatim."""

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


TableAlteration = (
    SetTableProperties | UnsetTableProperties | AddPartitions | DropPartitions | RenamePartition
    | AddColumns | ReplaceColumns | ChangeColumn | RenameTable | SetLocation | Concatenate | Compact
)  # fmt: skip
CatalogStatement = (
    CreateDatabase | DropDatabase | UseDatabase | DescribeDatabase | ShowDatabases
    | CreateTable | CreateTableLike | DropTable | CreateView | DropView | TruncateTable
    | ShowTables | ShowViews | ShowCreateTable | ShowPartitions | ShowTableProperties | ShowColumns | Describe
    | LoadData | AnalyzeTable | RepairTable | TableAlteration
)  # fmt: skip
TransactionStatement = (
    StartTransaction | Commit | Rollback | SetAutocommit | ShowTransactions | AbortTransactions
    | ShowCompactions | AbortCompactions | ShowLocks | LockTable | UnlockTable | LockDatabase | UnlockDatabase
)  # fmt: skip
Statement = (
    CatalogStatement | TransactionStatement
    | ChangingStatement | Query | Explain | DryRun | SetVariable | ResetVariable
)  # fmt: skip
