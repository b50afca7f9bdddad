"""SHOW and DESCRIBE: what is asked for exists, and rows are put in the order asked for."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.catalog.model import Column, Partition, Table, TableKind
from acidsql.catalog.types import HiveType
from acidsql.errors import BindError, ColumnNotFoundError
from acidsql.expressions.pruning import Pruning, Wanted
from acidsql.expressions.stores import typed
from acidsql.parser import statements as ast
from acidsql.planner.bind.analysis import Analysis
from acidsql.planner.bind.bound_catalog import (
    BoundDescribe,
    BoundDescribeHealth,
    BoundShowColumns,
    BoundShowPartitions,
    BoundShowTableProperties,
    BoundUnbuilt,
)
from acidsql.planner.bind.columns import Visible, column_not_found
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.partitions import existing, matching, static_spec
from acidsql.planner.bind.query_scopes import Relation, whole_condition
from acidsql.planner.bind.tables import did_you_mean


def bind_describe(names: Names, statement: ast.Describe) -> BoundDescribe:
    """DESCRIBE [EXTENDED | FORMATTED] t [PARTITION (..)] [column]."""
    table = names.table(statement.name)
    column = _described_column(names, table, statement.column) if statement.column else None
    partition = None
    if statement.partition is not None:
        partition = existing(names, table, statement.partition, full=True)[1][0]
    whole = partition is None and column is None and (statement.formatted or statement.extended)
    measured = column is not None and statement.formatted and column not in table.partition_columns
    return BoundDescribe(
        table=table,
        formatted=statement.formatted,
        extended=statement.extended,
        column=column,
        partition=partition,
        partitions=(
            names.catalog.list_partitions(table) if whole and table.partition_columns else ()
        ),
        statistics=(
            names.catalog.list_column_statistics(table, column, partition)
            if measured and column is not None
            else ()
        ),
    )


def bind_describe_health(names: Names, statement: ast.DescribeHealth) -> BoundDescribeHealth:
    """DESCRIBE HEALTH t [PARTITION (..)]."""
    table = names.fresh_table(statement.name)
    if table.kind is TableKind.VIEW:
        raise BindError(f"{table.name} is a view and has no files", span=statement.name.span)
    partition = None
    if statement.partition is not None:
        partition = existing(names, table, statement.partition, full=True)[1][0]
    return BoundDescribeHealth(table=table, partition=partition)


def _described_column(names: Names, table: Table, name: ast.Name) -> Column:
    column = next(
        (c for c in (*table.columns, *table.partition_columns) if c.name == name.text.lower()), None
    )
    if column is None:
        raise column_not_found(name.text, table, name.span, names.source, code=10002)
    return column


def bind_show_columns(names: Names, statement: ast.ShowColumns) -> BoundShowColumns:
    written = statement.name
    if statement.database is not None:
        if (
            len(written.parts) > 1
            and written.parts[0].text.lower() != statement.database.text.lower()
        ):
            raise BindError(
                "Duplicates declaration for database name", span=statement.database.span
            )
        names.database(statement.database)
        written = ast.QualifiedName(
            parts=(statement.database, written.parts[-1]), span=written.span
        )
    table = names.table(written)
    return BoundShowColumns(
        columns=(*table.columns, *table.partition_columns), pattern=statement.pattern
    )


def bind_show_table_properties(
    names: Names, statement: ast.ShowTableProperties
) -> BoundShowTableProperties:
    return BoundShowTableProperties(table=names.table(statement.name), key=statement.key)


def bind_show_partitions(
    names: Names, statement: ast.ShowPartitions
) -> BoundShowPartitions | BoundUnbuilt:
    table = names.fresh_table(statement.name)
    if not table.partition_columns:
        raise BindError(
            f"Table {table.name} is not a partitioned table", code=10241, span=statement.name.span
        )
    partitions = matching(
        names, table, static_spec(names, table, statement.partition) if statement.partition else {}
    )
    pruning = Pruning(kept=partitions)
    if statement.where is not None:
        met = _met(names, table, partitions, statement.where)
        if met is None:
            facts = (("table", str(table.name)), ("where", " ".join(statement.where.text.split())))
            return BoundUnbuilt(
                words="SHOW PARTITIONS .. WHERE with this condition",
                span=statement.where.span,
                facts=facts,
            )
        pruning = met
    ordered = tuple(_ordered(table, pruning.kept, statement.order_by))
    return BoundShowPartitions(
        table=table, partitions=ordered, undecided=pruning.undecided, limit=statement.limit
    )


def _met(
    names: Names, table: Table, partitions: tuple[Partition, ...], where: ast.Fragment
) -> Pruning | None:
    """The partitions whose values meet the condition, as far as they tell; None for one that their
    values alone do not decide.
    """
    types = {c.name: c.type for c in table.partition_columns}
    visible = Visible(alias=table.name.table, name=str(table.name), columns=types)
    names.expression(where, [visible], Analysis())
    condition = whole_condition(
        names.source, names.condition(where), Relation(visible, types), today=True
    )
    if condition is None:
        return None
    wanted = Wanted(
        columns=table.partition_columns,
        conditions=(condition,),
        ansi=names.around.settings.flag("acidsql.ansi"),
    )
    return wanted.prune(partitions)


def _ordered(
    table: Table, partitions: Sequence[Partition], keys: tuple[ast.SortKey, ...]
) -> list[Partition]:
    """NULLs first when ascending, unless told."""
    ordered = list(partitions)
    numbered_columns = {c.name: (i, c.type) for i, c in enumerate(table.partition_columns)}
    for key in reversed(keys):
        name = key.key.text.strip("`").lower()
        if name not in numbered_columns:
            message = f"Invalid column reference '{key.key.text}': it is no partition column"
            raise ColumnNotFoundError(
                message, code=10002, hint=did_you_mean(name, numbered_columns), span=key.span
            )
        last = key.descending if key.nulls_last is None else key.nulls_last
        ordered = _sorted(
            ordered, *numbered_columns[name], descending=key.descending, nulls_last=last
        )
    return ordered


def _sorted(
    partitions: list[Partition],
    ordinal: int,
    hive_type: HiveType,
    *,
    descending: bool,
    nulls_last: bool,
) -> list[Partition]:
    values = [(typed(p.values[ordinal], hive_type), p) for p in partitions]
    nulls = [p for value, p in values if value is None]
    others = [(value, p) for value, p in values if value is not None]
    others.sort(key=lambda pair: pair[0], reverse=descending)
    rest = [p for _, p in others]
    return [*rest, *nulls] if nulls_last else [*nulls, *rest]
