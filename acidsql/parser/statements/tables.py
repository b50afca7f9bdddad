"""Statements about databases, tables and views: what makes, changes and drops them."""

from __future__ import annotations

from acidsql.errors import Span
from acidsql.lazy import dataclass
from acidsql.parser.statements.pieces import (
    ClusteredBy,
    ColumnDefinition,
    Constraint,
    Fragment,
    Name,
    PartitionSpec,
    Path,
    Property,
    QualifiedName,
    RowFormat,
    SkewedBy,
    SortKey,
    StorageClasses,
)

# ---- tables
#
# Databases, tables and views: CREATE, DROP, SHOW, DESCRIBE, LOAD DATA, ANALYZE, MSCK.


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
    """CREATE TABLE with columns, or AS a query (``query``; ``partitioned_by_names`` are then bare
    names of PARTITIONED BY).
    """

    span: Span
    name: QualifiedName
    columns: tuple[ColumnDefinition, ...]
    or_replace: bool = False
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
    or_replace: bool = False
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
class DescribeHealth:
    """DESCRIBE HEALTH, which Hive does not have."""

    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeChanges:
    """DESCRIBE CHANGES OF t, which Hive does not have: t is an overlay."""

    span: Span
    name: QualifiedName


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
    """ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN | FOR COLUMNS [a, ..]]; ``columns`` () means FOR
    COLUMNS without a list.
    """

    span: Span
    name: QualifiedName
    partition: PartitionSpec | None = None
    columns: tuple[Name, ...] | None = None
    noscan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTable:
    """MSCK [REPAIR] TABLE t [ADD | DROP | SYNC PARTITIONS]; ``mode`` is the word or None. Without
    REPAIR it only looks.
    """

    span: Span
    name: QualifiedName
    mode: str | None = None
    only_check: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """ASSUME COMMITTED [(1, 4) | EXCEPT (2, 3)]; ``write_ids`` is None without a list."""

    span: Span
    write_ids: tuple[int, ...] | None = None
    excepted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachTable:
    """ATTACH TABLE t [(a INT, ..)] [PARTITIONED BY (..)] [FROM 'location'] [READ ONLY | OVERLAY]
    [USING 'source'] [ASSUME ..].
    """

    span: Span
    name: QualifiedName
    location: Path | None = None
    if_not_exists: bool = False
    columns: tuple[ColumnDefinition, ...] = ()
    partitioned_by: tuple[ColumnDefinition, ...] = ()
    read_only: bool = False
    overlay: bool = False
    using: Path | None = None
    assumption: Assumption | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachDatabase:
    """ATTACH DATABASE [IF NOT EXISTS] d [FROM 'location'] [READ ONLY | OVERLAY] USING 'source'.
    What it cannot have (``assumption``) or lacks (``using``) is told when it is bound.
    """

    span: Span
    name: Name
    location: Path | None = None
    if_not_exists: bool = False
    read_only: bool = False
    overlay: bool = False
    using: Path | None = None
    assumption: Assumption | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptTable:
    """ADOPT TABLE t [CLUSTERED BY (..) INTO n BUCKETS | NOT CLUSTERED] [TBLPROPERTIES (..)]."""

    span: Span
    name: QualifiedName
    clustered_by: ClusteredBy | None = None
    not_clustered: bool = False
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachTable:
    """DETACH TABLE [IF EXISTS] t."""

    span: Span
    name: QualifiedName
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachDatabase:
    """DETACH DATABASE [IF EXISTS] d."""

    span: Span
    name: Name
    if_exists: bool = False


# ---- alterations
#
# ALTER TABLE.


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
class DropColumn:
    """ALTER TABLE t DROP COLUMN column [CASCADE | RESTRICT]."""

    span: Span
    name: QualifiedName
    column: Name
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
class AddConstraint:
    span: Span
    name: QualifiedName
    constraint: Constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    span: Span
    name: QualifiedName
    constraint: Name


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
    """ALTER TABLE t [PARTITION (..)] COMPACT 'type' ..; ``type`` is the user's text, ``type_span``
    its place.
    """

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
