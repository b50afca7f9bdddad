"""What several statements are made of: names, fragments, columns, partitions, storage."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from acidsql.errors import Span
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token


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
    """A query or an expression as the user wrote it: a balanced slice of the source. ``tokens``: of
    an expression that the grammar knows as one; () where they are still to be read.
    """

    text: str
    span: Span
    tokens: tuple[Token, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A path that stands in quotes; ``span`` is that of the quotes."""

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
    """A rule of a column or a table. ``traits`` are Hive's words after it (ENABLE, DISABLE,
    NOVALIDATE, RELY, ..), upper case.

    ``columns`` is empty for a column's own rule; ``expression`` belongs to CHECK and DEFAULT,
    ``references`` to FOREIGN KEY.
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
    """``type_text`` is the user's; the binder turns it into a HiveType and points at ``type_span``
    if it cannot.
    """

    name: Name
    type_text: str
    type_span: Span
    comment: str | None = None
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionItem:
    """``ds``, ``ds='x'``; in DROP PARTITION also ``ds < 'x'``. A name alone is a dynamic partition
    column.
    """

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
    """ROW FORMAT SERDE 'class' or DELIMITED; ``delimiters`` maps Hive's words (``FIELDS``,
    ``COLLECTION``, ..) to the characters.
    """

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
