"""What a column holds of a value: the store cast, DEFAULT, and the rules of a table.

The same in Spark SQL: ``expressions.spark_words.store_cast``, ``bind.tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from acidsql.catalog.model import Column, ConstraintKind, Table
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import NestingError, ParseError, Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import VOID, Condition, Constant
from acidsql.expressions.vectors import Vector, store_cast, vectorized
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.local.query_trees import Semantics, Stored
from acidsql.planner.bind.tables import default_of, rules_of

_BOOLEAN = PrimitiveType("boolean")

T = TypeVar("T")


def understood(make: Callable[[], T], span: Span) -> T | NotHere:
    """What ``make`` gives, or why it is left to Spark. ``span``: of the whole it is about."""
    try:
        return make()
    except NotHere as signal:
        return signal.to_keep()
    except (ParseError, NestingError, RecursionError):
        return NotHere(THESE_WORDS, span)


def vector_of(tree: Condition, types: Mapping[str, HiveType], semantics: Semantics) -> Vector:
    """The tree over columns of these types. NotHere."""
    return vectorized(tree, types, ansi=semantics.ansi, zone=semantics.zone, now=semantics.now)


def stored(one: Stored, types: Mapping[str, HiveType], semantics: Semantics) -> Vector:
    """The value as its column stores it, over columns of these types. NotHere."""
    given = vector_of(one.value, types, semantics)
    return store_cast(given, one.column.type, ansi=semantics.ansi, span=one.value.span)


def default_tree(table: Table, column: Column, semantics: Semantics, span: Span) -> Condition:
    """What a column gets that no value was given for. NotHere, at ``span``."""
    text = default_of(table, column)
    if text is None:
        return Constant(None, VOID, span)
    tree = _read(text, f"the DEFAULT of {column.name}", span)
    _at(span, lambda: stored(Stored(column=column, value=tree), {}, semantics))
    return tree


def checks_of(table: Table, semantics: Semantics, span: Span) -> Iterator[Vector | None]:
    """For each of ``rules_of`` the condition of CHECK over the table's columns, None for NOT NULL.
    NotHere, at ``span``.
    """
    types = {c.name: c.type for c in (*table.columns, *table.partition_columns)}
    checks = {c.name: c for c in table.constraints if c.kind is ConstraintKind.CHECK}
    for rule in rules_of(table):
        if rule.column is not None:
            yield None
            continue
        tree = _read(checks[rule.name].expression or "", f"CHECK {rule.name}", span)
        vector = _at(span, lambda tree=tree: vector_of(tree, types, semantics))  # type: ignore[misc]
        if vector.type != _BOOLEAN:
            raise NotHere(f"CHECK {rule.name}", span)
        yield vector


def check_rules(table: Table, semantics: Semantics, span: Span) -> None:
    """NotHere, at ``span``, if a rule of the table is not."""
    for _ in checks_of(table, semantics, span):
        pass


def _read(text: str, words: str, span: Span) -> Condition:
    """The tree of a text that the catalog keeps."""
    tree = read_expression(text, tokenize(text))
    if tree is None:
        raise NotHere(words, span)
    return tree


def _at(span: Span, make: Callable[[], T]) -> T:
    """What is not understood of a text that the user did not write is so where it is needed."""
    try:
        return make()
    except NotHere as signal:
        raise NotHere(signal.reason, span) from None
