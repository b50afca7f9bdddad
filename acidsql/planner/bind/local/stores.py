"""What a column holds of a value, as trees: the store cast, DEFAULT, and the rules of a table.

The same in Spark SQL: ``expressions.spark_words.store_cast``, ``bind.tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from acidsql.catalog.model import Column, ConstraintKind, Table
from acidsql.catalog.types import CharType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import NestingError, ParseError, Span
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import VOID, Call, Cast, Condition, Constant
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.local.scope import Semantics, type_of
from acidsql.planner.bind.local.select_text import NotUnderstood
from acidsql.planner.bind.local_query import OnlySpark
from acidsql.planner.bind.tables import default_of, rules_of

_INT, _STRING, _BOOLEAN = (PrimitiveType(name) for name in ("int", "string", "boolean"))

T = TypeVar("T")


def understood(make: Callable[[], T], span: Span) -> T | OnlySpark:
    """What ``make`` gives, or why it is left to Spark. ``span``: of the whole it is about."""
    try:
        return make()
    except NotUnderstood as signal:
        return OnlySpark(reason=signal.reason, span=signal.span)
    except (ParseError, NestingError, RecursionError):
        return OnlySpark(reason="these words", span=span)


def stored(
    value: Condition, column: Column, types: Mapping[str, HiveType], semantics: Semantics
) -> Condition:
    """The value as ``column`` stores it. NotUnderstood for one of which that is not sure."""
    given = type_of(value, types, semantics)
    tree = _cast(value, given, column.type)
    if tree is not value:
        type_of(tree, types, semantics)
    return tree


def _cast(value: Condition, given: HiveType, hive_type: HiveType) -> Condition:
    if given == hive_type:
        return value
    match hive_type:
        case VarcharType(length):
            return _cut(value, given, length)
        case CharType(length):
            return Call("RTRIM", (_cut(value, given, length),), value.span)
    return Cast(value, hive_type, value.span)


def _cut(value: Condition, given: HiveType, length: int) -> Condition:
    text = value if given == _STRING else Cast(value, _STRING, value.span)
    ends = (Constant(1, _INT, value.span), Constant(length, _INT, value.span))
    return Call("SUBSTRING", (text, *ends), value.span)


def default_tree(table: Table, column: Column, semantics: Semantics, span: Span) -> Condition:
    """What a column holds that no value was given for, as it is stored. NotUnderstood, at
    ``span``.
    """
    text = default_of(table, column)
    if text is None:
        return typed_null(column.type, span)
    tree = _read(text, f"the DEFAULT of {column.name}", span)
    return _at(span, lambda: stored(tree, column, {}, semantics))


def typed_null(hive_type: HiveType, span: Span) -> Condition:
    """NULL of a type."""
    return Cast(Constant(None, VOID, span), hive_type, span)


def checks_of(table: Table, semantics: Semantics, span: Span) -> Iterator[Condition | None]:
    """For each of ``rules_of`` the condition of CHECK over the table's columns, None for NOT NULL.
    NotUnderstood, at ``span``.
    """
    types = {c.name: c.type for c in (*table.columns, *table.partition_columns)}
    checks = {c.name: c for c in table.constraints if c.kind is ConstraintKind.CHECK}
    for rule in rules_of(table):
        if rule.column is not None:
            yield None
            continue
        tree = _read(checks[rule.name].expression or "", f"CHECK {rule.name}", span)
        if _at(span, lambda tree=tree: type_of(tree, types, semantics)) != _BOOLEAN:  # type: ignore[misc]
            raise NotUnderstood(f"CHECK {rule.name}", span)
        yield tree


def _read(text: str, words: str, span: Span) -> Condition:
    """The tree of a text that the catalog keeps."""
    tree = read_expression(text, tokenize(text))
    if tree is None:
        raise NotUnderstood(words, span)
    return tree


def _at(span: Span, make: Callable[[], T]) -> T:
    """What is not understood of a text that the user did not write is so where it is needed."""
    try:
        return make()
    except NotUnderstood as signal:
        raise NotUnderstood(signal.reason, span) from None
