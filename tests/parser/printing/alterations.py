"""Statements to text: the forms of ALTER TABLE."""

from __future__ import annotations

from typing import assert_never

from acidsql.parser.statements import (
    AddColumns,
    AddConstraint,
    AddPartitions,
    ChangeColumn,
    ColumnDefinition,
    Compact,
    Concatenate,
    DropColumn,
    DropConstraint,
    DropPartitions,
    RenamePartition,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetTableProperties,
    TableAlteration,
    UnsetTableProperties,
)
from tests.parser.printing.pieces import (
    clauses,
    items,
    name,
    order_by,
    partition,
    properties,
    qualified,
    quoted,
    string,
    words,
)
from tests.parser.printing.tables import print_column, print_constraint


def print_alteration(statement: TableAlteration) -> str:
    return clauses(f"ALTER TABLE {qualified(statement.name)}", *_alteration(statement))


def _alteration(
    statement: TableAlteration,
) -> tuple[str | None, ...]:
    """What is altered, a clause each."""
    match statement:
        case SetTableProperties():
            return (properties("SET TBLPROPERTIES", statement.properties),)
        case UnsetTableProperties():
            keys = items(string(key) for key in statement.keys)
            return (words("UNSET TBLPROPERTIES", statement.if_exists and "IF EXISTS", keys),)
        case AddPartitions():
            return _added_partitions(statement)
        case DropPartitions():
            dropped = ", ".join(partition(spec) or "" for spec in statement.partitions)
            return (
                words(
                    "DROP",
                    statement.if_exists and "IF EXISTS",
                    dropped,
                    statement.purge and "PURGE",
                ),
            )
        case RenamePartition():
            return (
                partition(statement.partition),
                f"RENAME TO {partition(statement.new_partition)}",
            )
        case AddColumns() | ReplaceColumns():
            verb = "ADD" if isinstance(statement, AddColumns) else "REPLACE"
            columns = _columns(statement.columns)
            return (words(f"{verb} COLUMNS", columns, statement.cascade and "CASCADE"),)
        case DropColumn():
            return (words("DROP COLUMN", name(statement.column), statement.cascade and "CASCADE"),)
        case ChangeColumn():
            return (_changed_column(statement),)
        case RenameTable():
            return (f"RENAME TO {qualified(statement.new_name)}",)
        case AddConstraint():
            return (f"ADD {print_constraint(statement.constraint)}",)
        case DropConstraint():
            return (f"DROP CONSTRAINT {name(statement.constraint)}",)
        case SetLocation():
            return (partition(statement.partition), quoted("SET LOCATION", statement.location))
        case Concatenate():
            return (partition(statement.partition), "CONCATENATE")
        case Compact():
            return _compaction(statement)
        case _:
            assert_never(statement)


def _added_partitions(statement: AddPartitions) -> tuple[str | None, ...]:
    added = (
        clauses(partition(item.partition), quoted("LOCATION", item.location))
        for item in statement.partitions
    )
    return (words("ADD", statement.if_not_exists and "IF NOT EXISTS"), *added)


def _columns(columns: tuple[ColumnDefinition, ...]) -> str:
    return items(print_column(column) for column in columns)


def _changed_column(statement: ChangeColumn) -> str:
    return words(
        "CHANGE COLUMN",
        name(statement.column),
        print_column(statement.definition),
        statement.first and "FIRST",
        f"AFTER {name(statement.after)}" if statement.after else None,
        statement.cascade and "CASCADE",
    )


def _compaction(statement: Compact) -> tuple[str | None, ...]:
    """The clauses of a COMPACT stand in Hive's order."""
    return (
        partition(statement.partition),
        f"COMPACT {string(statement.type)}",
        None if statement.buckets is None else f"CLUSTERED INTO {statement.buckets} BUCKETS",
        "AND WAIT" if statement.wait else None,
        quoted("POOL", statement.pool),
        properties("WITH OVERWRITE TBLPROPERTIES", statement.properties),
        order_by(statement.order_by),
    )
