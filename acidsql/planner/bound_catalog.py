"""Bound statements about the catalog: DDL, SHOW, DESCRIBE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.catalog.model import Column, Database, Table, TableName
from acidsql.errors import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateDatabase:
    database: Database
    if_not_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropDatabase:
    name: str
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUse:
    database: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowDatabases:
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateTable:
    """``exists``: a table of that name is there already and IF NOT EXISTS was said."""

    table: Table
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropTable:
    """``name`` None: there is none and IF EXISTS was said."""

    name: TableName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTables:
    database: str
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDescribe:
    table: Table
    formatted: bool
    column: Column | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowCreateTable:
    table: Table
    qualified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUnbuilt:
    """A statement that was checked against the catalog and that acidsql does not carry out yet.

    ``words`` name it ("ALTER TABLE .. COMPACT"), ``facts`` are what EXPLAIN tells of it, name and value.
    """

    words: str
    span: Span
    facts: tuple[tuple[str, str], ...] = ()


CatalogAction = (
    BoundCreateDatabase | BoundDropDatabase | BoundUse | BoundShowDatabases
    | BoundCreateTable | BoundDropTable | BoundShowTables | BoundDescribe | BoundShowCreateTable | BoundUnbuilt
)  # fmt: skip
