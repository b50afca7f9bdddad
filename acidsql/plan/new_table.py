"""CREATE TABLE .. AS once the columns of its query are known: the table that is to be, and the
INSERT of its first rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql.catalog.model import Column, Skew, Table
from acidsql.catalog.types import (
    PRIMITIVES,
    ArrayType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.errors import BindError, ColumnNotFoundError, Span, UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import VOID
from acidsql.plan.engines import engines
from acidsql.planner.bind.analysis import hive_names
from acidsql.planner.bind.bound import BoundInsert, BoundPartition, BoundQuery
from acidsql.planner.bind.bound_catalog import BoundCreateTableAs
from acidsql.planner.bind.ddl.columns import VIRTUAL_COLUMNS, duplicate
from acidsql.planner.bind.local.changes import local_insert
from acidsql.planner.bind.local.query_trees import Stored, shown_columns
from acidsql.planner.bind.local.scope import understood
from acidsql.planner.bind.tables import did_you_mean
from acidsql.settings import Settings

Given = Sequence[tuple[str, HiveType | None]]
"""The columns of a query; a type is None where all that is known is NULL."""


def known_columns(query: BoundQuery, settings: Settings) -> Given | None:
    """The columns of a query that is understood; None where the engine has to tell them."""
    local = query.local
    if isinstance(local, NotHere) or not engines(settings).driver:
        return None
    shown = zip(shown_columns(local), local.outputs, strict=True)
    return [(name, None if own.type == VOID else kind) for (name, kind), own in shown]


def new_table(action: BoundCreateTableAs, given: Given) -> tuple[Table, BoundInsert]:
    """BindError with Hive's code for columns a table cannot have."""
    columns = _columns(action, given)
    keys = tuple(_partition_column(columns, name, span) for name, span in action.partitioned_by)
    data = tuple(column for column in columns if column not in keys)
    if not data:
        raise BindError(
            "a table cannot have partition columns only", span=action.partitioned_by[0][1]
        )
    _check_skew(action.table.skew, data, action.span)
    table = replace(action.table, columns=data, partition_columns=keys)
    partition = BoundPartition(static=(), dynamic=tuple(c.name for c in keys)) if keys else None
    return table, BoundInsert(
        table=table,
        columns=columns,
        source=action.query,
        span=action.span,
        partition=partition,
        stores=_stores(table, columns, action),
    )


def _stores(
    table: Table, columns: tuple[Column, ...], action: BoundCreateTableAs
) -> tuple[Stored, ...] | NotHere:
    local = action.query.local
    if isinstance(local, NotHere):
        return local
    semantics, span = local.semantics, action.span
    return understood(lambda: local_insert(table, columns, {}, local, semantics, span), span)


def _columns(action: BoundCreateTableAs, given: Given) -> tuple[Column, ...]:
    """The new table's columns, in the order of the query."""
    span = action.span
    names = hive_names([name for name, _ in given], action.outputs, span)
    for name in names:
        if names.count(name) > 1:
            raise duplicate(name, span)
        if name in VIRTUAL_COLUMNS:
            raise BindError(
                f"Invalid column name {name}",
                code=10328,
                hint="Give it another name with AS.",
                span=span,
            )
    return tuple(
        Column(name=name, type=_type(name, hive_type, span))
        for name, (_, hive_type) in zip(names, given, strict=True)
    )


def _type(name: str, hive_type: HiveType | None, span: Span) -> HiveType:
    if hive_type is None:
        message = (
            "CREATE-TABLE-AS-SELECT creates a VOID type, please use CAST to specify the type, near"
            f" field:  {name}"
        )
        raise BindError(message, code=10305, span=span)
    unknown = _unknown(hive_type)
    if unknown is not None:
        hint = "Give it another type with CAST."
        raise UnsupportedStatementError(
            f'column "{name}" would be of type {unknown}, which Hive has not', hint=hint, span=span
        )
    return hive_type


def _unknown(hive_type: HiveType) -> str | None:
    """The first type inside that is Spark's alone."""
    match hive_type:
        case PrimitiveType(name):
            return None if name in PRIMITIVES else name
        case ArrayType(element):
            return _unknown(element)
        case MapType(key, value):
            return _unknown(key) or _unknown(value)
        case StructType(fields):
            return next(
                (unknown for field in fields if (unknown := _unknown(field.type)) is not None), None
            )
        case _:
            return None


def _partition_column(columns: Sequence[Column], name: str, span: Span) -> Column:
    column = next((c for c in columns if c.name == name), None)
    if column is None:
        hint = did_you_mean(name, [c.name for c in columns])
        raise ColumnNotFoundError(
            f"Invalid column reference '{name}'", code=10002, hint=hint, span=span
        )
    if isinstance(column.type, ArrayType | MapType | StructType):
        message = f"Partition column must be of primitive type. Found {name} of type: {column.type}"
        raise BindError(message, code=10126, span=span)
    return column


def _check_skew(skew: Skew | None, columns: Sequence[Column], span: Span) -> None:
    for name in skew.columns if skew is not None else ():
        if all(column.name != name for column in columns):
            raise ColumnNotFoundError(f"Invalid skewed column name: {name}", code=10203, span=span)
