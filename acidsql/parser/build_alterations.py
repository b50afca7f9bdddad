"""From skeleton to statement: the forms of ALTER TABLE."""

from __future__ import annotations

from typing import NoReturn

from acidsql.errors import ParseError, UnsupportedStatementError
from acidsql.parser import grammar
from acidsql.parser.grammar import Node, column_definition, table_constraint
from acidsql.parser.statements import (
    AddColumns,
    AddConstraint,
    AddedPartition,
    AddPartitions,
    ChangeColumn,
    ColumnDefinition,
    Compact,
    Concatenate,
    DropColumn,
    DropConstraint,
    DropPartitions,
    PartitionSpec,
    RenamePartition,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetTableProperties,
    UnsetTableProperties,
)


def compact(node: Node, text: str) -> Compact:
    kind = grammar.terminal(node, "STRING")
    buckets = grammar.once(node, "into_buckets_of_compaction")
    into = buckets.node("into_buckets") if buckets else None
    grammar.once(node, "wait")
    return Compact(
        span=node.span,
        name=grammar.table_name(node),
        type=str(kind),
        type_span=kind.span,
        partition=grammar.partition(node),
        wait=node.has("wait"),
        buckets=grammar.integer(grammar.terminal(into, "NUMBER")) if into else None,
        order_by=grammar.order_by(node),
        pool=grammar.clause_string(node, "pool"),
        properties=grammar.properties(grammar.once(node, "overwritten_properties")),
    )


def set_table_properties(node: Node, text: str) -> SetTableProperties:
    return SetTableProperties(
        span=node.span,
        name=grammar.table_name(node),
        properties=grammar.properties(node.node("table_properties")),
    )


def unset_table_properties(node: Node, text: str) -> UnsetTableProperties:
    return UnsetTableProperties(
        span=node.span,
        name=grammar.table_name(node),
        keys=tuple(str(key) for key in node.terminals("STRING")),
        if_exists=node.has("if_exists"),
    )


def add_partitions(node: Node, text: str) -> AddPartitions:
    return AddPartitions(
        span=node.span,
        name=grammar.table_name(node),
        partitions=tuple(_added_partition(child) for child in node.nodes("added_partition")),
        if_not_exists=node.has("if_not_exists"),
    )


def _added_partition(node: Node) -> AddedPartition:
    partition = grammar.partition(node)
    assert partition is not None
    return AddedPartition(partition=partition, location=grammar.clause_string(node, "location"))


def drop_partitions(node: Node, text: str) -> DropPartitions:
    return DropPartitions(
        span=node.span,
        name=grammar.table_name(node),
        partitions=tuple(_dropped_partition(child) for child in node.nodes("partition")),
        if_exists=node.has("if_exists"),
        purge=node.has("PURGE"),
    )


def _dropped_partition(node: Node) -> PartitionSpec:
    partition = grammar.partition_spec(node, compared=True)
    for item in partition.items:
        if item.value is None:
            raise ParseError(
                f'DROP PARTITION wants a value for "{item.name.text}"', span=item.name.span
            )
    return partition


def rename_partition(node: Node, text: str) -> RenamePartition:
    partition, new_partition = (grammar.partition_spec(child) for child in node.nodes("partition"))
    return RenamePartition(
        span=node.span,
        name=grammar.table_name(node),
        partition=partition,
        new_partition=new_partition,
    )


def add_columns(node: Node, text: str) -> AddColumns:
    return AddColumns(
        span=node.span,
        name=grammar.table_name(node),
        columns=_columns(node, text),
        cascade=node.has("CASCADE"),
    )


def replace_columns(node: Node, text: str) -> ReplaceColumns:
    return ReplaceColumns(
        span=node.span,
        name=grammar.table_name(node),
        columns=_columns(node, text),
        cascade=node.has("CASCADE"),
    )


def drop_column(node: Node, text: str) -> DropColumn:
    return DropColumn(
        span=node.span,
        name=grammar.table_name(node),
        column=grammar.first_name(node),
        cascade=node.has("CASCADE"),
    )


def _columns(node: Node, text: str) -> tuple[ColumnDefinition, ...]:
    return tuple(column_definition(child, text) for child in node.nodes("column_definition"))


def change_column(node: Node, text: str) -> ChangeColumn:
    (definition,) = _columns(node, text)
    after = grammar.once(node, "after")
    return ChangeColumn(
        span=node.span,
        name=grammar.table_name(node),
        column=grammar.first_name(node),
        definition=definition,
        first=node.has("FIRST"),
        after=grammar.first_name(after) if after else None,
        cascade=node.has("CASCADE"),
    )


def rename_table(node: Node, text: str) -> RenameTable:
    name, new_name = grammar.table_names(node)
    return RenameTable(span=node.span, name=name, new_name=new_name)


def add_constraint(node: Node, text: str) -> AddConstraint:
    constraint = node.node("table_constraint")
    assert constraint is not None
    return AddConstraint(
        span=node.span,
        name=grammar.table_name(node),
        constraint=table_constraint(constraint, text),
    )


def drop_constraint(node: Node, text: str) -> DropConstraint:
    return DropConstraint(
        span=node.span, name=grammar.table_name(node), constraint=grammar.first_name(node)
    )


def set_location(node: Node, text: str) -> SetLocation:
    location = grammar.clause_string(node, "location")
    assert location is not None
    return SetLocation(
        span=node.span,
        name=grammar.table_name(node),
        location=location,
        partition=grammar.partition(node),
    )


def concatenate(node: Node, text: str) -> Concatenate:
    return Concatenate(
        span=node.span, name=grammar.table_name(node), partition=grammar.partition(node)
    )


def alter_otherwise(node: Node, text: str) -> NoReturn:
    raise _unsupported(node, "otherwise", "ALTER TABLE ..", text)


def alter_partition_otherwise(node: Node, text: str) -> NoReturn:
    raise _unsupported(node, "otherwise_of_partition", "ALTER TABLE .. PARTITION ..", text)


def _unsupported(node: Node, rule: str, form: str, text: str) -> UnsupportedStatementError:
    words = node.node(rule)
    assert words is not None
    return UnsupportedStatementError(
        f"{form} {grammar.words(words, text)} is not supported", span=words.span
    )


BUILDERS = (
    compact, set_table_properties, unset_table_properties, add_partitions, drop_partitions,
    rename_partition, add_columns, replace_columns, drop_column, change_column, rename_table,
    add_constraint, drop_constraint, set_location, concatenate, alter_otherwise,
    alter_partition_otherwise,
)  # fmt: skip
