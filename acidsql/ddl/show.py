"""SHOW and DESCRIBE of tables and views: text from the catalog's objects; and views themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql.catalog import describe
from acidsql.catalog.describe import show_create, shown_properties
from acidsql.catalog.model import Column, Table
from acidsql.catalog.partitions import partition_name
from acidsql.catalog.statistics import merged, of_partitions
from acidsql.catalog.types import HiveType
from acidsql.ddl.warehouse import Warehouse, done, file_errors, matching, one_column
from acidsql.errors import AlreadyExistsError, BindError
from acidsql.expressions.spark_words import identifier
from acidsql.plan.building import read_operators
from acidsql.plan.plans import ReadPlan, check_runnable
from acidsql.planner.bind.bound_catalog import (
    BoundCreateView,
    BoundDescribe,
    BoundDescribeHealth,
    BoundDropView,
    BoundShowColumns,
    BoundShowCreateTable,
    BoundShowPartitions,
    BoundShowTableProperties,
)
from acidsql.planner.bind.ddl.columns import VIRTUAL_COLUMNS, duplicate
from acidsql.planner.bind.ddl.view import wrong_width
from acidsql.result import Result, Stats
from acidsql.run.flow import UNTRACED


def describe_table(action: BoundDescribe) -> Result:
    names = ["col_name", "data_type", "comment"]
    return Result.of_text(Stats(), names, _described(action))


def describe_health(warehouse: Warehouse, action: BoundDescribeHealth) -> Result:
    with file_errors("DESCRIBE HEALTH"):
        facts = warehouse.health(action.table, action.partition)
    return Result.of_text(Stats(), ["section", "item", "value"], facts)


def _described(action: BoundDescribe) -> list[describe.Row]:
    table, column, partition = action.table, action.column, action.partition
    if column is not None:
        plain: list[describe.Row] = [(column.name, str(column.type), column.comment or "")]
        statistics = merged(action.statistics) if action.statistics else None
        return (
            describe.describe_column(table, column, statistics, partition)
            if action.formatted
            else plain
        )
    if partition is None and table.partition_columns:
        table = replace(table, statistics=of_partitions(action.partitions))
    if action.formatted:
        return describe.describe_formatted(table, partition)
    return (
        describe.describe_extended(table, partition)
        if action.extended
        else describe.describe(table)
    )


def show_create_table(action: BoundShowCreateTable) -> Result:
    return one_column("createtab_stmt", show_create(action.table, qualified=action.qualified))


def show_columns(action: BoundShowColumns) -> Result:
    return one_column("field", matching([c.name for c in action.columns], action.pattern))


def show_partitions(warehouse: Warehouse, action: BoundShowPartitions) -> Result:
    """The names of the partitions. Starts Spark only for conditions that the planner cannot
    judge.
    """
    columns = action.table.partition_columns
    partitions = warehouse.engine.by_spark.queries.meeting(
        columns, action.partitions, action.undecided
    )
    names = [partition_name([c.name for c in columns], p.values) for p in partitions]
    return one_column("partition", names[: action.limit])


def show_table_properties(action: BoundShowTableProperties) -> Result:
    """The table's properties, or one of them; Hive says instead of its name that one is
    not there."""
    comment = {} if action.table.comment is None else {"comment": action.table.comment}
    properties = shown_properties(action.table) | comment | dict(action.table.statistics)
    rows: list[list[str | None]]
    if action.key is None:
        rows = [[key, value] for key, value in sorted(properties.items())]
    elif action.key in properties:
        rows = [[action.key, properties[action.key]]]
    else:
        rows = [[f"Table {action.table.name} does not have property: {action.key}", None]]
    return Result.of_text(Stats(), ["prpt_name", "prpt_value"], rows)


# ---- views
#
# CREATE and DROP VIEW. The engine finds the types of the query's columns; nothing is read.


def create_view(warehouse: Warehouse, action: BoundCreateView) -> Result:
    if action.exists:
        return done()
    query = ReadPlan(query=action.query, operators=read_operators(action.query, warehouse.settings))
    check_runnable(query)
    with warehouse.reads.reading((), f"CREATE VIEW {action.view.name}") as (visible, _):
        snapshots = warehouse.engine.snapshots(visible)
        given = warehouse.engine.answer(query, snapshots, UNTRACED).columns
    view = _with_columns(action, given)
    if action.replaced is None:
        try:
            warehouse.store.create_table(view)
        except AlreadyExistsError:  # since the statement was bound
            if not action.if_not_exists:
                raise
    else:
        warehouse.store.alter_table(
            action.replaced, replace(view, table_id=action.replaced.table_id)
        )
    return done()


def drop_view(warehouse: Warehouse, action: BoundDropView) -> Result:
    if action.name is not None:
        warehouse.store.drop_table(action.name)
    return done(filter(None, [action.note]))


def _with_columns(action: BoundCreateView, given: Sequence[tuple[str, HiveType]]) -> Table:
    names = [name.lower() for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise duplicate(name, action.span)
    if not action.names:
        for name in names:
            if name in VIRTUAL_COLUMNS:
                raise BindError(
                    f"Invalid column name {name}",
                    code=10328,
                    hint="Give it another name with AS.",
                    span=action.span,
                )
        return replace(
            action.view,
            columns=tuple(Column(name=n, type=t) for n, (_, t) in zip(names, given, strict=True)),
        )
    if len(action.names) != len(given):
        raise wrong_width(action.span)
    columns = tuple(
        Column(name=c.name, type=t, comment=c.comment)
        for c, (_, t) in zip(action.names, given, strict=True)
    )
    assert action.view.view is not None
    # by position: the names of expressions are the engine's business
    renamed = ", ".join(identifier(c.name) for c in columns)
    text = (
        f"SELECT * FROM ({action.view.view.expanded}) AS"
        f" {identifier(action.view.name.table)}({renamed})"
    )
    return replace(action.view, columns=columns, view=replace(action.view.view, expanded=text))
