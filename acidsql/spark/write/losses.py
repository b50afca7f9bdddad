"""What store casts take from the values of rows that Spark computes: each row carries its marks
(``expressions.losses``) as far as the place where it is written (counting).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType
from acidsql.expressions.losses import (
    LOST,
    Counter,
    counters_of,
    lost_sql,
    marks_sql,
)
from acidsql.expressions.query_text import GIVEN
from acidsql.expressions.spark_words import identifier
from acidsql.expressions.tree import VOID
from acidsql.lazy_dataclass import dataclass
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
