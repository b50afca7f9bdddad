"""Statements after binding: names are tables and columns of the catalog, types are known, the target is writable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from acidsql.catalog.model import Column, Table
from acidsql.errors import Span
from acidsql.planner.bound_catalog import CatalogAction
from acidsql.planner.plan import Predicate
from acidsql.planner.query_text import QueryText


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRead:
    """One reference to a table. ``row_id``: the query asks for ROW__ID. ``predicates`` may be used to skip data."""

    table: Table
    span: Span
    row_id: bool = False
    predicates: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundQuery:
    """``reads[i]`` stands in slot ``i`` of ``text``; ``views`` are the names only Spark's session knows."""

    text: QueryText
    reads: tuple[BoundRead, ...]
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRows:
    """Literal rows in the order of ``BoundInsert.columns``, as values Arrow takes."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInsert:
    """``columns``: the target columns the source's columns go to, in the source's order; the others become NULL."""

    table: Table
    columns: tuple[Column, ...]
    source: BoundRows | BoundQuery
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUpdate:
    """``query`` gives originalTransaction, bucket, rowId, then every column's new value."""

    table: Table
    changed: tuple[Column, ...]
    query: BoundQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDelete:
    """``query`` gives originalTransaction, bucket, rowId."""

    table: Table
    query: BoundQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundShowTransactions:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSet:
    """``key`` None lists all settings, ``value`` None shows one."""

    key: str | None
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReset:
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundExplain:
    statement: BoundStatement


SessionAction = BoundShowTransactions | BoundSet | BoundReset
BoundStatement = CatalogAction | SessionAction | BoundQuery | BoundInsert | BoundUpdate | BoundDelete | BoundExplain
