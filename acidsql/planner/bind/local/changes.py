"""The rows of UPDATE, DELETE and INSERT as trees. First a query gives values, then columns store
them: neither knows the other's types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import ColumnRef, Condition, Constant
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.inline_rows import inline_rows
from acidsql.planner.bind.local.queries import Queries, local_select
from acidsql.planner.bind.local.query_trees import (
    ROW_ID_FIELDS,
    LocalQuery,
    LocalValues,
    Output,
    Outside,
    Semantics,
    Stored,
)
from acidsql.planner.bind.local.scope import Scope, check_rules, default_tree, stored, understood
from acidsql.planner.bind.local.selects import condition_of

_STRING = PrimitiveType("string")


def given_value(number: int) -> str:
    """What trees of ``Stored`` call a value of the query."""
    return f"given.{number}"


def check_surroundings(semantics: Semantics, span: Span) -> None:
    """NotHere where every statement is left to Spark."""
    if semantics.only_spark is not None:
        raise NotHere(semantics.only_spark, span)


def local_update(
    read: Read,
    values: Sequence[Condition | None],
    where: Condition | None,
    queries: Queries,
) -> LocalQuery:
    """The query of BoundUpdate. ``values``: for each column of the table what it is set to, None
    for what it holds. NotHere.
    """
    semantics = queries.semantics
    table, scope = read.table, queries.scope_of(read)
    check_rules(table, semantics, read.span)
    outputs = []
    for number, (column, tree) in enumerate(zip(table.columns, values, strict=True)):
        own = ColumnRef((column.name,), read.span)
        value = scope.resolved(own if tree is None else tree)
        kind = scope.type_of(value)
        outputs.append(Output(name=given_value(number), value=value, type=kind))
    query = _changed(read, scope, outputs, where)
    types = {output.name: output.type for output in outputs}
    for one in updated(table, read.span):
        stored(one, types, semantics)
    return query


def updated(table: Table, span: Span, reported: Collection[str] = ()) -> tuple[Stored, ...]:
    """What the columns of a table store of the values of an UPDATE's query. ``reported``: those of
    which it is said before.
    """
    return tuple(
        Stored(
            column=column,
            value=ColumnRef((given_value(number),), span),
            counted=column.name not in reported,
        )
        for number, column in enumerate(table.columns)
    )


def local_delete(
    read: Read, where: Condition | None, queries: Queries, given: Sequence[Column] = ()
) -> LocalQuery:
    """The query of BoundDelete. ``given``: the columns that it gives back. NotHere."""
    scope = queries.scope_of(read)
    outputs = []
    for number, column in enumerate(given):
        value = scope.resolved(ColumnRef((column.name,), read.span))
        kind = scope.type_of(value)
        outputs.append(Output(name=given_value(number), value=value, type=kind))
    return _changed(read, scope, outputs, where)


def _changed(read: Read, scope: Scope, values: list[Output], where: Condition | None) -> LocalQuery:
    ids = [
        Output(name=stored_name, value=scope.resolved(ColumnRef((name,), read.span)), type=kind)
        for name, (stored_name, kind) in ROW_ID_FIELDS.items()
    ]
    keys = [
        Output(name=c.name, value=scope.resolved(ColumnRef((c.name,), read.span)), type=c.type)
        for c in read.table.partition_columns
    ]
    condition = None if where is None else condition_of(scope, where)
    return scope.query((*ids, *values, *keys), condition)


def insert_source(
    source: str, span: Span, reads: Sequence[Read], outside: Outside, semantics: Semantics
) -> LocalQuery | LocalValues | NotHere:
    """The query behind INSERT, as ``local_select``, or rows that stand in it. Nobody asks for the
    names of its columns.
    """
    query = local_select(source, span, reads, outside, semantics, named=False)
    if reads or outside.files or not isinstance(query, NotHere):
        return query
    rows = understood(lambda: inline_rows(source, span, semantics, named=False), span)
    return query if rows is None else rows


def local_insert(
    table: Table,
    columns: tuple[Column, ...],
    static: Mapping[str, str],
    query: LocalQuery | LocalValues | NotHere,
    semantics: Semantics,
    span: Span,
) -> tuple[Stored, ...]:
    """What an INSERT stores of the values of its source in each column of the table, those of its
    partitions behind the others. NotHere.
    """
    if isinstance(query, NotHere):
        raise NotHere(query.reason, query.span or span)
    if table.file_format is not FileFormat.ORC:
        raise NotHere(f"how {table.file_format} files are written", span)
    if len(query.outputs) != len(columns):
        raise NotHere("so many columns", span)
    check_rules(table, semantics, span)
    given = {column.name: given_value(number) for number, column in enumerate(columns)}
    types: dict[str, HiveType] = {
        given_value(number): output.type for number, output in enumerate(query.outputs)
    }
    every = []
    for column in (*table.columns, *table.partition_columns):
        if column.name in static:
            text = Constant(static[column.name], _STRING, span)
            every.append(Stored(column=Column(name=column.name, type=_STRING), value=text))
            continue
        value = (
            ColumnRef((given[column.name],), span)
            if column.name in given
            else default_tree(table, column, semantics, span)
        )
        every.append(Stored(column=column, value=value, counted=column.name in given))
    for one in every:
        stored(one, types, semantics)
    return tuple(every)
