"""The rows of INSERT .. VALUES that Spark computes, with the marks of what each value loses to its
column: one SELECT for each row, because a value is stored by itself, whatever type the others have.
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
from acidsql.expressions.query_text import Piece, QueryText
from acidsql.expressions.spark_words import store_cast
from acidsql.planner.bind.bound import BoundQuery, BoundValue
from acidsql.spark.write.losses import types_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
