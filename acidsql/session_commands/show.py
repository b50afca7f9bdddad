"""SHOW and DESCRIBE of tables and views: text from the catalog's objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.catalog import describe
from acidsql.catalog.partitions import partition_name
from acidsql.catalog.show_create import show_create, shown_properties
from acidsql.catalog.statistics import merged, of_partitions
from acidsql.planner.bound_catalog import (
    BoundDescribe,
    BoundShowColumns,
    BoundShowCreateTable,
    BoundShowPartitions,
    BoundShowTableProperties,
)
from acidsql.result import Result, Stats
from acidsql.session_commands.answers import matching, one_column

if TYPE_CHECKING:
    from acidsql.session import Session


def describe_table(action: BoundDescribe) -> Result:
    names = ["col_name", "data_type", "comment"]
    return Result.of_text(Stats(statement="DESCRIBE"), names, _described(action))


def _described(action: BoundDescribe) -> list[describe.Row]:
    table, column, partition = action.table, action.column, action.partition
    if column is not None:
        plain: list[describe.Row] = [(column.name, str(column.type), column.comment or "")]
        found = merged(action.statistics) if action.statistics else None
        return describe.describe_column(table, column, found, partition) if action.formatted else plain
    if partition is None and table.partition_columns:
        table = replace(table, statistics=of_partitions(action.partitions))
    if action.formatted:
        return describe.describe_formatted(table, partition)
    return describe.describe_extended(table, partition) if action.extended else describe.describe(table)


def show_create_table(action: BoundShowCreateTable) -> Result:
    return one_column("SHOW CREATE TABLE", "createtab_stmt", show_create(action.table, qualified=action.qualified))


def show_columns(action: BoundShowColumns) -> Result:
    return one_column("SHOW COLUMNS", "field", matching([c.name for c in action.columns], action.pattern))


def show_partitions(session: Session, action: BoundShowPartitions) -> Result:
    """Starts Spark only for conditions that the planner cannot judge."""
    columns = action.table.partition_columns
    found = session.engine.meeting(columns, action.partitions, action.undecided)
    names = [partition_name([c.name for c in columns], p.values) for p in found]
    return one_column("SHOW PARTITIONS", "partition", names[: action.limit])


def show_table_properties(action: BoundShowTableProperties) -> Result:
    """Of one property that is not there, Hive says so in the place of its name."""
    comment = {} if action.table.comment is None else {"comment": action.table.comment}
    properties = shown_properties(action.table) | comment | dict(action.table.statistics)
    rows: list[list[str | None]]
    if action.key is None:
        rows = [[key, value] for key, value in sorted(properties.items())]
    elif action.key in properties:
        rows = [[action.key, properties[action.key]]]
    else:
        rows = [[f"Table {action.table.name} does not have property: {action.key}", None]]
    return Result.of_text(Stats(statement="SHOW TBLPROPERTIES"), ["prpt_name", "prpt_value"], rows)
