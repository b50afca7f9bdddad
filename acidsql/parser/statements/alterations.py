"""ALTER TABLE."""

from __future__ import annotations

from acidsql.errors import Span
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.statements.pieces import (
    ColumnDefinition,
    Constraint,
    Name,
    PartitionSpec,
    Property,
    QualifiedName,
    SortKey,
)


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
