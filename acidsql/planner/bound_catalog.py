"""Bound statements about the catalog: DDL, SHOW, DESCRIBE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, Database, Partition, Table, TableName
from acidsql.errors import Span

if TYPE_CHECKING:
    from acidsql.planner.bound import BoundQuery


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
class BoundDescribeDatabase:
    database: Database
    extended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateTable:
    """``exists``: a table of that name is there already and IF NOT EXISTS was said. ``span``: the place of LOCATION, if any."""

    table: Table
    exists: bool
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """One name of a view's column list."""

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCreateView:
    """``view`` has no columns yet: the engine finds the types of ``query``'s, which then take the ``names``, if there are any.

    ``replaced``: the view of that name that goes.  ``exists``: there is one and IF NOT EXISTS was said.
    """

    view: Table
    query: BoundQuery
    names: tuple[ViewColumn, ...]
    replaced: Table | None
    exists: bool
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropTable:
    """``name`` None: there is none and IF EXISTS was said."""

    name: TableName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDropView:
    """``name`` None: there is none and IF EXISTS was said."""

    name: TableName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundAlterTable:
    """A change of the catalog alone: the table is to be ``after`` what it was ``before``."""

    before: Table
    after: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTables:
    database: str
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowViews:
    database: str
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowColumns:
    columns: tuple[Column, ...]
    pattern: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTableProperties:
    """``key`` None: all of them."""

    table: Table
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowPartitions:
    """``partitions``: those asked for, in the order and number asked for."""

    table: Table
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDescribe:
    """``column`` or ``partition`` narrow what is described."""

    table: Table
    formatted: bool = False
    extended: bool = False
    column: Column | None = None
    partition: Partition | None = None


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
    BoundCreateDatabase | BoundDropDatabase | BoundUse | BoundShowDatabases | BoundDescribeDatabase
    | BoundCreateTable | BoundDropTable | BoundCreateView | BoundDropView | BoundAlterTable
    | BoundShowTables | BoundShowViews | BoundShowColumns | BoundShowTableProperties | BoundShowPartitions
    | BoundDescribe | BoundShowCreateTable | BoundUnbuilt
)  # fmt: skip
