"""PARTITION (..) in DDL: its columns are the table's, its values have their types, and which
partitions it names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition, Table
from acidsql.catalog.partitions import partition_text, unnameable
from acidsql.catalog.types import HiveType
from acidsql.errors import BindError, Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.stores import typed, value_of
from acidsql.expressions.tree import parse_literal
from acidsql.parser import statements as ast
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import did_you_mean

Spec = Mapping[str, str]
"""Partition columns and their values as Hive's text, in the order of the table."""

RESERVED_VALUES = (
    DEFAULT_PARTITION,
    "__HIVE_DEFAULT_ZOOKEEPER_PARTITION__",
    "_INTERMEDIATE_ORIGINAL",
    "_INTERMEDIATE_ARCHIVED",
    "_INTERMEDIATE_EXTRACTED",
)


def check_partitioned(table: Table, spec: ast.PartitionSpec, source: str) -> None:
    if not table.partition_columns:
        raise BindError(
            f"{table.name} table is not partitioned but partition spec exists: {_written(spec)}",
            span=spec.span,
        )


Refusal = Callable[[ast.PartitionSpec, ast.PartitionItem], BindError]


def _not_a_partition_column(spec: ast.PartitionSpec, item: ast.PartitionItem) -> BindError:
    return BindError(
        f"Partition spec {_written(spec)} contains non-partition columns", span=item.name.span
    )


def columns_named(
    names: Names, table: Table, spec: ast.PartitionSpec, unknown: Refusal = _not_a_partition_column
) -> dict[str, ast.PartitionItem]:
    """Each item under its column. BindError for a column that is no partition column (``unknown``)
    or is named twice.
    """
    check_partitioned(table, spec, names.source)
    known = [c.name for c in table.partition_columns]
    given: dict[str, ast.PartitionItem] = {}
    for item in spec.items:
        name = item.name.text.lower()
        if name not in known:
            error = unknown(spec, item)
            error.hint = did_you_mean(name, known)
            raise error
        if name in given:
            raise BindError(f'partition column "{name}" is named twice', span=item.name.span)
        given[name] = item
    return given


def static_spec(names: Names, table: Table, spec: ast.PartitionSpec, *, full: bool = False) -> Spec:
    """The values of a PARTITION clause that has one for each column it names; ``full``: it must
    name all columns.
    """
    given = columns_named(names, table, spec)
    values: dict[str, str] = {}
    for column in table.partition_columns:
        item = given.get(column.name)
        if item is None:
            continue
        if item.value is None:
            message = (
                f'Invalid partition spec specified: partition column "{column.name}" has no value'
            )
            raise BindError(message, code=10214, span=item.name.span)
        values[column.name] = _text(column, item.value)
        check_nameable(column, values[column.name], item.value.span)
    if full and len(values) != len(table.partition_columns):
        raise not_full(table, values, spec.span)
    return values


def check_nameable(column: Column, value: str, span: Span) -> None:
    """BindError for a value after which no directory can be called."""
    if (problem := unnameable(column.name, value)) is not None:
        raise BindError(f'the value of partition column "{column.name}" {problem}', span=span)


def not_full(table: Table, spec: Spec, span: Span) -> BindError:
    count = len(table.partition_columns)
    missing = ", ".join(c.name for c in table.partition_columns if c.name not in spec)
    message = (
        f"{table.name}: partition spec {shown(spec)} doesn't contain all ({count}) partition"
        " columns"
    )
    return BindError(message, hint=f"Missing: {missing}.", span=span)


def shown(spec: Spec) -> str:
    """A spec as Hive prints one: ``{ds=x, hr=1}``."""
    return "{" + ", ".join(f"{name}={value}" for name, value in spec.items()) + "}"


def _written(spec: ast.PartitionSpec) -> str:
    return (
        "{"
        + ", ".join(
            f"{i.name.text}{i.operator}{i.value.text}" if i.value else i.name.text
            for i in spec.items
        )
        + "}"
    )


def matching(names: Names, table: Table, spec: Spec) -> tuple[Partition, ...]:
    """The partitions with the values of a full or partial spec."""
    ordinals = {c.name: i for i, c in enumerate(table.partition_columns)}
    from acidsql.catalog.partitions import name_ranges

    among = name_ranges(table.partition_columns, {name: [text] for name, text in spec.items()})
    listed = names.catalog.list_partitions(table, among)
    return tuple(
        p for p in listed if all(p.values[ordinals[name]] == value for name, value in spec.items())
    )


def existing(
    names: Names, table: Table, spec: ast.PartitionSpec, *, full: bool = False
) -> tuple[Spec, tuple[Partition, ...]]:
    """The spec and the partitions it names. BindError if there is none."""
    values = static_spec(names, table, spec, full=full)
    partitions = matching(names, table, values)
    if not partitions:
        raise BindError(f"Partition not found {shown(values)}", code=10006, span=spec.span)
    return values, partitions


def compared(
    names: Names, table: Table, spec: ast.PartitionSpec
) -> tuple[str, tuple[Partition, ...]]:
    """DROP PARTITION's conditions as Hive prints them, and the partitions that meet them all."""
    check_partitioned(table, spec, names.source)
    columns = {c.name: (ordinal, c) for ordinal, c in enumerate(table.partition_columns)}
    tests: list[tuple[int, Callable[[str], bool]]] = []
    words = []
    for item in spec.items:
        name = item.name.text.lower()
        if name not in columns:
            columns_named(names, table, spec)  # says which
        ordinal, column = columns[name]
        if item.value is None or item.operator is None:
            raise BindError(
                f'partition column "{name}" has no value', code=10214, span=item.name.span
            )
        tests.append((ordinal, _test(column, item.operator, item.value)))
        words.append(f"({name} {item.operator} {item.value.text})")
    partitions = [
        p
        for p in names.catalog.list_partitions(table)
        if all(holds(p.values[ordinal]) for ordinal, holds in tests)
    ]
    return " and ".join(words), tuple(partitions)


def _test(column: Column, operator: str, written: ast.Fragment) -> Callable[[str], bool]:
    """Whether a partition's text meets the condition. NULL meets none but ``= NULL`` and ``<>
    NULL``, Hive's IS NULL and IS NOT NULL here.
    """
    text = _text(column, written)
    if text != DEFAULT_PARTITION:
        wanted, holds = typed(text, column.type), _OPERATORS[operator]
        return lambda value_text: (
            (value := typed(value_text, column.type)) is not None
            and wanted is not None
            and holds(value, wanted)
        )
    match operator:
        case "=":
            return lambda value_text: value_text == DEFAULT_PARTITION
        case "<>" | "!=":
            return lambda value_text: value_text != DEFAULT_PARTITION
    message = f"Cannot use {operator} in a default partition spec; only '=' and '!=' are allowed."
    raise BindError(message, span=written.span)


def canonical(text: str, hive_type: HiveType) -> str | None:
    """The text Hive writes for a value that somebody wrote as ``text``: ``01`` is ``1`` of an INT.
    None if it is no value of the type.
    """
    if text == DEFAULT_PARTITION:
        return text
    value = typed(text, hive_type)
    # cut off to the length of its type
    if value is None or (isinstance(value, str) and value != text):
        return None
    return partition_text(value)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "<>": lambda a, b: bool(a != b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def _text(column: Column, value: ast.Fragment) -> str:
    try:
        literal = parse_literal(value.text, in_rows=False)
    except NotHere:
        message = (
            f'Invalid partition spec specified: the value of "{column.name}" must be a literal'
        )
        raise BindError(message, code=10214, span=value.span) from None
    if literal == DEFAULT_PARTITION:
        return DEFAULT_PARTITION  # whatever the column's type
    try:
        return partition_text(value_of(value.text, column.type, in_rows=False))
    except NotHere:
        given = "string" if isinstance(literal, str) else type(literal).__name__
        message = (
            f"Cannot add partition column {column.name} of type {given} as it cannot be converted"
            f" to type {column.type}"
        )
        raise BindError(message, code=10248, span=value.span) from None


def check_reserved(spec: Spec, written: ast.PartitionSpec) -> None:
    """BindError for a text that Hive keeps for itself; NULL may be said."""
    for item in written.items:
        value = spec.get(item.name.text.lower(), "")
        reserved = next((r for r in RESERVED_VALUES if r in value), None)
        if reserved is not None and item.value is not None and item.value.text.upper() != "NULL":
            message = (
                f"Partition value contains a reserved substring (User value: {value} Reserved"
                f" substring: {reserved})"
            )
            raise BindError(message, code=10111, span=item.value.span)
