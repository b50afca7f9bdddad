"""What store casts take from the values of rows that Spark computes: each row carries its marks
(``expressions.losses``) as far as the place where it is written (counting).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType
from acidsql.expressions.losses import (
    LOST,
    Counter,
    counters_of,
    given_name,
    lost_columns,
    lost_sql,
    marks_sql,
)
from acidsql.expressions.spark_words import GIVEN, Piece, QueryText, identifier, store_cast
from acidsql.expressions.tree import VOID
from acidsql.lazy import dataclass
from acidsql.planner.bind.bound import BoundQuery, BoundValue
from acidsql.spark.read.answers import columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_AT = "acidsql_at_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A value of a frame and what its column stores of it, by their places. ``when``: SQL over
    ``place`` that is true for the rows that store this value.
    """

    given: int
    stored: int
    column: Column
    when: str | None = None


def value_at(ordinal: int) -> str:
    """What conditions of ``Store`` call a column of the frame."""
    return f"{_AT}{ordinal}"


def types_of(frame: DataFrame) -> list[HiveType]:
    """The types of the columns of a frame as Hive's."""
    kinds = [field.dataType.typeName() for field in frame.schema.fields]
    return [
        VOID if kind == "void" else hive_type
        for kind, (_, hive_type) in zip(kinds, columns_of(frame), strict=True)
    ]


def with_marks(
    frame: DataFrame,
    types: Sequence[HiveType],
    stores: Sequence[Store],
    counters: list[Counter],
) -> DataFrame:
    """The frame without the values before they are stored (columns GIVEN), and with the marks of
    what they lose behind the others. ``types``: of its columns. New counters join ``counters``.
    """
    names = frame.columns
    conditions: dict[int, list[str]] = {}
    for store in stores:
        given = types[store.given]
        for counter in counters_of(store.column, given):
            if counter not in counters:
                counters.append(counter)
            condition = lost_sql(
                counter.loss,
                value_at(store.given),
                value_at(store.stored),
                (given, store.column.type),
            )
            whole = condition if store.when is None else f"{store.when} AND ({condition})"
            conditions.setdefault(counters.index(counter), []).append(whole)
    kept = [
        f"{value_at(ordinal)} AS {identifier(name)}"
        for ordinal, name in enumerate(names)
        if not name.startswith(GIVEN)
    ]
    if len(kept) == len(names) and not conditions:
        return frame
    marks = marks_sql(
        {number: " OR ".join(f"({one})" for one in ones) for number, ones in conditions.items()}
    )
    lost = [f"{sql} AS {LOST}{number}" for number, sql in enumerate(marks)]
    return frame.toDF(*map(value_at, range(len(names)))).selectExpr(*kept, *lost)


# ---- rows of VALUES
#
# The rows of INSERT .. VALUES that Spark computes, with the marks of what each value loses to its
# column: one SELECT for each row, because a value is stored by itself, whatever type the others
# have.


def marked_values(
    query: BoundQuery, columns: Sequence[Column], planned: Callable[[BoundQuery], DataFrame]
) -> tuple[DataFrame, tuple[Counter, ...]]:
    """The rows as ``columns`` store them, and marks behind them. ``planned``: gives the rows of a
    query as Spark sees it, without running it.
    """
    losing = [
        [at for at, value in enumerate(row) if value.given is not None] for row in query.values
    ]
    if not any(losing):
        return planned(query), ()
    asked = [
        given
        for row, ats in zip(query.values, losing, strict=True)
        for at in ats
        if (given := row[at].given) is not None
    ]
    only_values = _query(query, _listed([("(", *given, ")") for given in asked]))
    types = iter(types_of(planned(only_values)))
    types_of_rows = [{at: next(types) for at in ats} for ats in losing]
    counters = tuple(
        dict.fromkeys(
            counter
            for of_row in types_of_rows
            for at, given in of_row.items()
            for counter in counters_of(columns[at], given)
        )
    )
    if not counters:
        return planned(query), ()
    pieces: list[Piece] = []
    for row, of_row in zip(query.values, types_of_rows, strict=True):
        pieces += [" UNION ALL " if pieces else "", *_row(row, columns, of_row, counters)]
    return planned(_query(query, tuple(pieces))), counters


def _query(query: BoundQuery, pieces: tuple[Piece, ...]) -> BoundQuery:
    return replace(query, text=QueryText(query.text.source, pieces))


def _listed(items: Sequence[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for item in items:
        pieces += [", " if pieces else "SELECT ", *item]
    return tuple(pieces)


def _row(
    row: Sequence[BoundValue],
    columns: Sequence[Column],
    types: dict[int, HiveType],
    counters: Sequence[Counter],
) -> Iterator[Piece]:
    """The SELECT of one row. ``types``: of the values that have names of their own in it, because
    more is asked of them than what is stored.
    """
    items: list[tuple[Piece, ...]] = []
    conditions = dict.fromkeys(range(len(counters)), "FALSE")
    for at, value in enumerate(row):
        stored, name = value.stored, given_name(at)
        if at in types and value.given is not None:
            items.append(("(", *value.given, f") AS {name}"))
            stored = store_cast((name,), columns[at].type)
            for counter in counters_of(columns[at], types[at]):
                conditions[counters.index(counter)] = lost_sql(
                    counter.loss, name, f"acidsql_{at}", (types[at], columns[at].type)
                )
        items.append((*stored, f" AS acidsql_{at}"))
    items += [(sql, f" AS {LOST}{number}") for number, sql in enumerate(marks_sql(conditions))]
    names = [*(f"acidsql_{at}" for at in range(len(row))), *lost_columns(counters)]
    yield f"SELECT {', '.join(names)} FROM ("
    yield from _listed(items)
    yield ")"
