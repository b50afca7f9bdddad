"""The rows of UPDATE, DELETE and INSERT as trees."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.tree import ColumnRef, Condition, Constant
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.scope import Scope, Semantics
from acidsql.planner.bind.local.select_text import NotUnderstood
from acidsql.planner.bind.local.selects import condition_of, scope_of
from acidsql.planner.bind.local.stores import checks_of, default_tree, stored
from acidsql.planner.bind.local_query import (
    ROW_ID_FIELDS,
    LocalQuery,
    LocalValues,
    OnlySpark,
    Output,
)

_STRING = PrimitiveType("string")


def source_column(number: int) -> str:
    """What INSERT calls a column of its source."""
    return f"_c{number}"


def check_surroundings(semantics: Semantics, span: Span) -> None:
    if semantics.only_spark is not None:
        raise NotUnderstood(semantics.only_spark, span)


def local_update(
    read: Read,
    given: Mapping[str, Condition | None],
    where: Condition | None,
    semantics: Semantics,
) -> LocalQuery:
    """The query of BoundUpdate. ``given``: the values that columns are set to, None for their
    DEFAULT. NotUnderstood.
    """
    check_surroundings(semantics, read.span)
    table, scope = read.table, scope_of(read, semantics, read.alias)
    for _ in checks_of(table, semantics, read.span):  # all of them are understood
        pass
    outputs = []
    for column in table.columns:
        own = ColumnRef((column.name,), read.span)
        if column.name not in given:
            value = scope.resolved(own)
        elif (tree := given[column.name]) is None:
            value = default_tree(table, column, semantics, read.span)
        else:
            value = stored(scope.resolved(tree), column, scope.types, semantics)
        outputs.append(Output(name=column.name, value=value, type=column.type))
    return _changed(read, scope, outputs, where)


def local_delete(read: Read, where: Condition | None, semantics: Semantics) -> LocalQuery:
    """The query of BoundDelete. NotUnderstood."""
    check_surroundings(semantics, read.span)
    return _changed(read, scope_of(read, semantics, read.alias), [], where)


def _changed(
    read: Read, scope: Scope, values: list[Output], where: Condition | None
) -> LocalQuery:
    ids = [
        Output(name=stored_name, value=scope.resolved(ColumnRef((name,), read.span)), type=kind)
        for name, (stored_name, kind) in ROW_ID_FIELDS.items()
    ]
    places = [
        Output(name=c.name, value=scope.resolved(ColumnRef((c.name,), read.span)), type=c.type)
        for c in read.table.partition_columns
    ]
    assert tuple(one.name for one in ids) == tuple(ID_FIELDS)
    condition = None if where is None else condition_of(scope, where)
    return LocalQuery(
        read=0,
        columns=scope.used_columns(),
        row_id=True,
        outputs=(*ids, *values, *places),
        where=condition,
    )


def local_insert(
    table: Table,
    columns: tuple[Column, ...],
    static: Mapping[str, str],
    query: LocalQuery | LocalValues | OnlySpark,
    semantics: Semantics,
    span: Span,
) -> tuple[Output, ...]:
    """What an INSERT stores of the rows of its source, whose columns are ``source_column``: a value
    for each column of the table, those of its partitions behind the others. NotUnderstood.
    """
    if isinstance(query, OnlySpark):
        raise NotUnderstood(query.reason, query.span or span)
    if table.file_format is not FileFormat.ORC:
        raise NotUnderstood(f"how {table.file_format} files are written", span)
    for _ in checks_of(table, semantics, span):
        pass
    given = {column.name: source_column(number) for number, column in enumerate(columns)}
    types: dict[str, HiveType] = {
        source_column(number): output.type for number, output in enumerate(query.outputs)
    }
    outputs = []
    for column in (*table.columns, *table.partition_columns):
        if column.name in static:
            text = static[column.name]
            outputs.append(
                Output(name=column.name, value=Constant(text, _STRING, span), type=_STRING)
            )
            continue
        if column.name in given:
            tree = ColumnRef((given[column.name],), span)
            value = stored(tree, column, types, semantics)
        else:
            value = default_tree(table, column, semantics, span)
        outputs.append(Output(name=column.name, value=value, type=column.type))
    return tuple(outputs)
