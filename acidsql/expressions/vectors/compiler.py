"""Expressions as functions of Arrow batches: which are understood, and of what type they are.

Nothing here looks at a value or imports Arrow: a plan is made of it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import CharType, HiveType, VarcharType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import (
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    Unread,
)
from acidsql.expressions.values import STRING, TIMESTAMP, is_utc
from acidsql.expressions.vectors import operators
from acidsql.expressions.vectors.functions import FUNCTIONS
from acidsql.expressions.vectors.operators import Kernels, Vector, applied, cast

if TYPE_CHECKING:
    from acidsql.expressions.kernels import comparing, texts
else:
    comparing, texts = Kernels("comparing"), Kernels("texts")

OF_ANY_ZONE = frozenset(
    "= <> < <= > >= <=> EQUAL_NULL BETWEEN IN ISNULL ISNOTNULL CASE IF NVL2 NULLIF COALESCE NVL"
    " IFNULL DATE_FORMAT".split()
) | {"IS NULL"}
"""What is certain of moments whatever their zone, or as certain as comparisons of them."""


def vectorized(
    tree: Condition,
    columns: Mapping[str, HiveType],
    *,
    ansi: bool,
    zone: str,
    now: datetime.datetime | None = None,
    partitions: bool = False,
) -> Vector:
    """``columns``: the names in a batch, each as the parts of a ColumnRef joined by dots. ``zone``:
    the session's, as Spark names it. ``now``: the statement's moment, a wall clock in UTC unless it
    has a zone; without it CURRENT_DATE and CURRENT_TIMESTAMP are refused. ``partitions``: the
    values are those of partitions, so few that each text may be asked what day it is; their moments
    are compared as far as the answer is the same in every zone, unless it is UTC. NotHere, at the
    part of the tree that is not understood.
    """
    compiler = Compiler(columns, ansi=ansi, zone=zone, now=now, partitions=partitions)
    return compiler.value(tree)


class Compiler:
    """``any_zone``: moments are wall clocks of whatever zone."""

    def __init__(
        self,
        columns: Mapping[str, HiveType],
        *,
        ansi: bool,
        zone: str,
        now: datetime.datetime | None,
        partitions: bool,
    ) -> None:
        self.columns = columns
        self.ansi = ansi
        self.utc = is_utc(zone)
        self.now = now
        self.partitions = partitions
        self.any_zone = partitions and not self.utc

    def value(self, node: Condition) -> Vector:
        """NotHere, at the innermost part that is not understood."""
        try:
            return self._value(node)
        except NotHere as signal:
            signal.span = signal.span or node.span
            raise

    def _value(self, node: Condition) -> Vector:
        match node:
            case Constant(value, hive_type):
                return self.constant(value, hive_type, node)
            case ColumnRef(parts):
                return self.column(".".join(parts))
            case Cast(argument, hive_type):
                return self.cast(self.value(argument), hive_type)
            case Call(name, arguments):
                return self.call(node, name, arguments)
            case Unread():
                raise NotHere("words that only Spark reads")

    def constant(self, value: Any, hive_type: HiveType, literal: Constant | None = None) -> Vector:
        return Vector(
            hive_type, partial(_scalar, value=value, hive_type=hive_type), literal=literal
        )

    def column(self, name: str) -> Vector:
        hive_type = self.columns.get(name)
        if hive_type is None:
            raise NotHere(f'the name "{name}"')
        return Vector(hive_type, partial(_column, name=name, hive_type=hive_type))

    def cast(self, given: Vector, target: HiveType) -> Vector:
        if self.any_zone and given.type == TIMESTAMP != target:
            raise NotHere("a moment in whatever zone")
        return operators.cast(given, target, ansi=self.ansi)

    def call(self, node: Call, name: str, arguments: Sequence[Condition]) -> Vector:
        given = [operators.computed(self.value(argument)) for argument in arguments]
        if self.any_zone and name not in OF_ANY_ZONE and any(g.type == TIMESTAMP for g in given):
            raise NotHere("a moment in whatever zone")
        function = FUNCTIONS.get(name)
        compiled = function.vector if function else None
        vector = compiled(self, name, given) if compiled else None
        if vector is None:
            raise NotHere(f"the function {name}")
        return vector


def _scalar(batch: Any, *, value: Any, hive_type: HiveType) -> Any:
    return comparing.scalar(value, hive_type)


def _column(batch: Any, *, name: str, hive_type: HiveType) -> Any:
    return comparing.column(batch, name, hive_type)


# ---- values as INSERT and UPDATE store them


def store_cast(vector: Vector, column_type: HiveType, *, ansi: bool, span: Span) -> Vector:
    """The value a column holds once ``vector`` is assigned to it: cast, and cut to the length of
    char and varchar; a char is without blanks at its end. ``span``: of the value in the user's
    text. NotHere, at ``span``.
    """
    try:
        match column_type:
            case VarcharType(length) | CharType(length):
                kernel = texts.cut_char if isinstance(column_type, CharType) else texts.cut
                text = cast(vector, STRING, ansi=ansi)
                return Vector(column_type, applied(partial(kernel, length), text))
        return cast(vector, column_type, ansi=ansi)
    except NotHere as signal:
        raise NotHere(signal.reason, span) from None
