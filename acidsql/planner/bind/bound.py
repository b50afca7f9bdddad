"""Statements after binding: names are tables and columns of the catalog, types are known, the
target is writable.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Column, SparkRelation, Table, TableName
from acidsql.catalog.path_relation import FileStamp
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import Predicate, Wanted
from acidsql.expressions.spark_words import Piece, QueryText
from acidsql.expressions.tree import Condition, PartitionCondition
from acidsql.lazy import dataclass
from acidsql.parser.statements import Match
from acidsql.planner.bind.bound_catalog import BoundCreateTable, CatalogAction
from acidsql.planner.bind.bound_transactions import TransactionAction
from acidsql.planner.bind.local.query_trees import (
    NOT_LOOKED_INTO,
    LocalMerge,
    LocalQuery,
    LocalValues,
    Stored,
)

if TYPE_CHECKING:
    from acidsql.planner.bind.analysis import Read
    from acidsql.storage.unload.destination import Destination


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRead:
    """One reference to a table. ``row_id``: the query asks for ROW__ID. ``predicates`` may be used
    to skip data.

    ``partition_filter``: a partition for which one of them is not true holds no row the statement
    needs (``expressions.pruning``). ``condition``: the WHERE of the query that reads this table
    alone, as far as it is understood.
    """

    table: Table
    span: Span
    row_id: bool = False
    predicates: tuple[Predicate, ...] = ()
    partition_filter: tuple[PartitionCondition, ...] = ()
    condition: Condition | None = field(default=None, compare=False, repr=False)

    def wanted(self, *, ansi: bool, zone: str = "", now: datetime.datetime | None = None) -> Wanted:
        """The partitions of the table that the statement may need; see ``Wanted``."""
        columns, conditions = self.table.partition_columns, self.partition_filter
        return Wanted(columns=columns, conditions=conditions, ansi=ansi, zone=zone, now=now)


def bound_reads(reads: Iterable[Read]) -> tuple[BoundRead, ...]:
    """What the analysis of a text has found of the tables that it reads."""
    return tuple(
        BoundRead(
            table=r.table,
            span=r.span,
            row_id=r.row_id,
            predicates=r.predicates,
            partition_filter=tuple(dict.fromkeys(r.partition_filter)),
            condition=r.condition,
        )
        for r in reads
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundValue:
    """A value of VALUES as it is stored. ``given``: before that, if it may lose something."""

    stored: tuple[Piece, ...]
    given: tuple[Piece, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundQuery:
    """``reads[i]`` stands in slot ``i`` of ``text``; ``views`` are the relations that only Spark's
    session knows.

    ``width``: how many columns it gives, and ``names`` what they are called, in lower case, "" for
    none; None where only Spark can tell. ``values``: of a query that is the rows of VALUES, each of
    them. ``local``: the same query as a tree, or why there is none.
    """

    text: QueryText
    reads: tuple[BoundRead, ...]
    views: tuple[SparkRelation, ...] = ()
    width: int | None = None
    names: tuple[str, ...] | None = None
    values: tuple[tuple[BoundValue, ...], ...] = field(default=(), compare=False, repr=False)
    local: LocalQuery | LocalValues | NotHere = field(
        default=NOT_LOOKED_INTO, compare=False, repr=False
    )

    def shown(self) -> str:
        """The query on one line, with the names of tables in place of the views that are read."""
        return _on_one_line(self.text, self.reads)


def _on_one_line(text: QueryText, reads: Iterable[BoundRead]) -> str:
    return " ".join(text.render([f"<{r.table.name}>" for r in reads]).split())


class Telling(StrEnum):
    """What is told of a query in place of its rows, by the word that asks for it."""

    COLUMNS = "DESCRIBE"
    SUMMARY = "SUMMARIZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReturning:
    """RETURNING: the query over the rows that are written; ``text``: the list, on one line."""

    query: BoundQuery
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTelling:
    """A query of which something is told."""

    query: BoundQuery
    telling: Telling


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUnload:
    """A query whose rows become files that no table has."""

    query: BoundQuery
    into: Destination


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRows:
    """Literal rows in the order of ``BoundInsert.columns``, as values Arrow takes."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPartition:
    """Where an INSERT into a partitioned table goes: values of the leading columns, then columns
    whose values come with the rows.

    Values are Hive's text.
    """

    static: tuple[tuple[str, str], ...]
    dynamic: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...] | None:
        """The one partition all rows go to, None if they say it themselves."""
        return None if self.dynamic else tuple(text for _, text in self.static)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCopy:
    """What COPY INTO is about beside rows. ``given``: the path as it was written; ``files``: that
    are taken; ``skipped``: how many were taken ``once`` before; ``rejects``: where the rows go that
    do not fit.
    """

    given: str
    files: tuple[FileStamp, ...]
    skipped: int = 0
    once: bool = False
    rejects: TableName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInsert:
    """``columns``: the target columns the source's columns go to, in the source's order; the others
    become NULL.

    Dynamic partition columns are among them. ``by_name``: the source's columns go to those of their
    names; where only Spark can tell the names there are no ``columns``. ``by_position``: nobody
    said which columns they are. ``if_not_exists``: nothing is done where the partition is there.
    ``truncate``: this is TRUNCATE TABLE, an overwriting by no rows, and ``truncated`` the partition
    values that what it empties has. ``stores``: what the table holds of the values of a query's
    tree, or why there is none. ``copied``: this is COPY INTO.
    """

    table: Table
    columns: tuple[Column, ...]
    source: BoundRows | BoundQuery
    span: Span
    overwrite: bool = False
    partition: BoundPartition | None = None
    by_name: bool = False
    by_position: bool = False
    if_not_exists: bool = False
    truncate: bool = False
    truncated: tuple[tuple[str, str], ...] = ()
    stores: tuple[Stored, ...] | NotHere = field(default=NOT_LOOKED_INTO, compare=False, repr=False)
    copied: BoundCopy | None = None
    returning: BoundReturning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCopyInto:
    """COPY INTO .. REJECTS INTO: the INSERT of the rows that fit, and that of the others; without
    it the table that takes these is to be made first.
    """

    legs: tuple[BoundInsert, ...]
    span: Span
    making: BoundCreateTable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMultiInsert:
    """FROM .. INSERT .. INSERT ..: legs that are written under one snapshot and become visible
    together.
    """

    legs: tuple[BoundInsert, ...]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundLoad:
    """LOAD DATA: the files that ``path`` means become files of the table. ``local``: they are
    copied, else moved.

    ``span``: of the path.
    """

    table: Table
    path: str
    local: bool
    span: Span
    overwrite: bool = False
    partition: BoundPartition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundUpdate:
    """``query`` gives originalTransaction, bucket, rowId, then every column's new value, then the
    partition columns. ``stores``: what becomes of the values of its tree.
    """

    table: Table
    changed: tuple[Column, ...]
    query: BoundQuery
    stores: tuple[Stored, ...] = field(default=(), compare=False, repr=False)
    returning: BoundReturning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDelete:
    """``query`` gives originalTransaction, bucket, rowId, then the partition columns. With
    ``returning`` it gives the table's columns before these, which ``stores`` are of.
    """

    table: Table
    query: BoundQuery
    stores: tuple[Stored, ...] = field(default=(), compare=False, repr=False)
    returning: BoundReturning | None = None


class MergeAction(StrEnum):
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"


NOTHING = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMergeClause:
    """WHEN ``match`` [AND ``condition``] THEN ``action``. ``values``: of every column of the target
    in its order; () for DELETE whose rows are not returned. ``given``: for each of them the value
    before it is stored, if it may lose something there; else None.

    ``changed``: the columns UPDATE sets or INSERT names.  ``copies``: for each of ``values`` the
    column of the source that it is a mere copy of, NOTHING for NULL, None for any other value.
    ``of_source``: the condition asks for nothing but columns of the source.
    """

    match: Match
    action: MergeAction
    span: Span
    condition: tuple[Piece, ...] | None = None
    values: tuple[tuple[Piece, ...], ...] = ()
    given: tuple[tuple[Piece, ...] | None, ...] = ()
    changed: tuple[Column, ...] = ()
    copies: tuple[str | None, ...] = ()
    of_source: bool = False

    @property
    def makes_rows(self) -> bool:
        """Whether its values are written; those of a DELETE are only returned."""
        return self.action is not MergeAction.DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMerge:
    """Pieces of Spark SQL over the target (``reads[0]``, under ``alias``) and ``source`` (a
    relation with its alias).

    The first clause whose condition holds is the one that acts. ``text_source`` is the user's
    statement, which the pieces cut. ``keys``: columns of the target that ON equates with columns of
    the source.  ``asked``: the source's columns in ON and in the conditions of WHEN MATCHED, None
    if there may be others.  ``only_keys``: ON says nothing but that the keys are equal.
    ``on_columns``: those of the target in ON.
    ``local``: the same as trees, or why there are none.
    """

    table: Table
    alias: str
    source: tuple[Piece, ...]
    source_alias: str
    on: tuple[Piece, ...]
    clauses: tuple[BoundMergeClause, ...]
    reads: tuple[BoundRead, ...]
    views: tuple[SparkRelation, ...]
    text_source: str
    span: Span
    keys: tuple[tuple[str, str], ...] = ()
    asked: frozenset[str] | None = None
    only_keys: bool = False
    on_columns: tuple[str, ...] = ()
    local: LocalMerge | NotHere = field(default=NOT_LOOKED_INTO, compare=False, repr=False)
    returning: BoundReturning | None = None

    def shown(self, pieces: tuple[Piece, ...]) -> str:
        """A part of the statement as the user wrote it, on one line."""
        return _on_one_line(QueryText(self.text_source, pieces), self.reads)

    def joined(self, kind: str) -> str:
        """A join of target and source of this kind, in SQL's words."""
        return f"{self.alias} {kind} {self.source_alias} ON {self.shown(self.on)}"

    def heading(self, clause: BoundMergeClause) -> str:
        """WHEN ``match`` [AND ``condition``] THEN ``action``, on one line."""
        condition = f" AND {self.shown(clause.condition)}" if clause.condition else ""
        return f"WHEN {clause.match}{condition} THEN {clause.action}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSet:
    """``key`` None lists what was set (``verbose``: all settings), ``value`` None shows one."""

    key: str | None
    value: str | None
    verbose: bool
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReset:
    """All settings without ``keys``; ``to_default``: not to what the session began with."""

    keys: tuple[str, ...]
    to_default: bool
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundExplain:
    """``mode``: Hive's word behind EXPLAIN, or None."""

    statement: BoundStatement
    mode: str | None = None


BoundChange = (
    BoundInsert
    | BoundCopyInto
    | BoundLoad
    | BoundMultiInsert
    | BoundUpdate
    | BoundDelete
    | BoundMerge
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDryRun:
    statement: BoundChange | CatalogAction | SessionAction


SessionAction = TransactionAction | BoundSet | BoundReset
BoundStatement = (
    CatalogAction
    | SessionAction
    | BoundQuery
    | BoundUnload
    | BoundTelling
    | BoundChange
    | BoundDryRun
    | BoundExplain
)
