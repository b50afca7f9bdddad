"""Statements as the parser gives them: SQL words and source spans only, no catalog facts."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    """``type_text`` is the user's; the binder turns it into a HiveType and points at ``type_span`` if it cannot."""

    name: Name
    type_text: str
    type_span: Span
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredBy:
    columns: tuple[Name, ...]
    buckets: int
    span: Span


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
class ShowDatabases:
    span: Span
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
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
    serde: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    span: Span
    name: QualifiedName
    if_exists: bool = False
    purge: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable:
    span: Span
    name: QualifiedName


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTransactions:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """``VALUES (..), (..)``: each row a tuple of expressions."""

    span: Span
    rows: tuple[tuple[Fragment, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """INSERT INTO [TABLE] t [(columns)] source. ``with_clause`` is the text before INSERT, if any (``WITH q AS (..)``)."""

    span: Span
    target: QualifiedName
    columns: tuple[Name, ...] | None
    source: Values | Fragment
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """SELECT .., WITH .. SELECT .., VALUES .., FROM .. SELECT ..: whatever only reads."""

    span: Span
    body: Fragment


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """EXPLAIN [EXTENDED | FORMATTED] statement; ``mode`` is the word in upper case or None."""

    span: Span
    statement: Statement
    mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVariable:
    """SET, SET k, SET k=v: ``key`` None lists all (``verbose``: SET -v), ``value`` None shows one. The value is verbatim."""

    span: Span
    key: str | None
    value: str | None
    verbose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetVariable:
    """RESET [k]."""

    span: Span
    key: str | None


Statement = (
    CreateDatabase | DropDatabase | UseDatabase | ShowDatabases
    | CreateTable | DropTable | ShowTables | Describe | ShowCreateTable
    | ShowTransactions | Insert | Update | Delete | Query | Explain | SetVariable | ResetVariable
)  # fmt: skip
