"""SHOW and DESCRIBE of tables and views: text from the catalog's objects."""

from __future__ import annotations

from dataclasses import replace

from acidsql.catalog import describe
from acidsql.catalog.describe import show_create, shown_properties
from acidsql.catalog.partitions import partition_name
from acidsql.catalog.statistics import merged, of_partitions
from acidsql.ddl.answers import matching, one_column
from acidsql.ddl.warehouse import Warehouse, file_errors
from acidsql.planner.bind.bound_catalog import (
    BoundDescribe,
    BoundDescribeHealth,
    BoundShowColumns,
    BoundShowCreateTable,
    BoundShowPartitions,
    BoundShowTableProperties,
)
from acidsql.result import Result, Stats


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
