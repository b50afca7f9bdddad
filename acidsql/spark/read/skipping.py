"""What a scan need not look at: the files of other buckets, and columns where only rows count."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from acidsql.acid.bucketing import bucket_numbers
from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import CharType, DecimalType, PrimitiveType, VarcharType
from acidsql.expressions.predicate import Comparison, Predicate
from acidsql.storage.schema import arrow_type

# From the cheapest to decode upwards.
_CHEAP_TYPES = ("boolean", "tinyint", "date", "int", "smallint", "bigint", "float", "double")


def buckets_of(table: Table, predicates: Sequence[Predicate]) -> frozenset[int] | None:
    """The buckets that rows meeting the predicates lie in; None if they may lie in any. Hive:
    bucket pruning.
    """
    bucketing = table.bucketing
    if bucketing is None:
        return None
    keys: list[tuple[pa.Array, str]] = []
    for name in bucketing.columns:
        column = table.column(name)
        equal = next(
            (
                p
                for p in predicates
                if p.column == name and p.op in (Comparison.EQUAL, Comparison.IN)
            ),
            None,
        )
        if column is None or equal is None or (keys and len(equal.values) > 1):
            return None  # of several columns only one value each is looked at
        keys.append((pa.array(list(equal.values), arrow_type(column.type)), str(column.type)))
    if len({len(values) for values, _ in keys}) > 1:
        return None
    return frozenset(
        int(n) for n in bucket_numbers(keys, bucketing.count, 1 if bucketing.version == 1 else 2)
    )


def cheapest_column(columns: Sequence[Column]) -> int | None:
    """The ordinal of a column that is cheap to decode; None if all are dear."""

    def cost(column: Column) -> int:
        match column.type:
            case PrimitiveType(name) if name in _CHEAP_TYPES:
                return _CHEAP_TYPES.index(name)
            case PrimitiveType("string") | CharType() | VarcharType() | DecimalType():
                return len(_CHEAP_TYPES)
            case _:
                return len(_CHEAP_TYPES) + 1

    cheapest = min(range(len(columns)), key=lambda i: cost(columns[i]))
    return cheapest if cost(columns[cheapest]) <= len(_CHEAP_TYPES) else None
