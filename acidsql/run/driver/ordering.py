"""Rows as Spark sorts and groups them: ORDER BY, GROUP BY, aggregates and DISTINCT, batch after
batch, and how much of it memory holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.types import arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.lazy import dataclass
from acidsql.planner.bind.local.query_trees import Aggregate, Function

if TYPE_CHECKING:
    import pyarrow as pa


# ---- held
#
# How much a query may hold in memory: the rows that it sorts, its groups, its answer.


Held = Callable[[int, int], None]
"""Told how many rows are held, and how many bytes they weigh; NotHere where that is too much."""


def hold_all(rows: int, weight: int) -> None:
    """However much it is."""


def at_most(max_bytes: int | None) -> Held:
    """``max_bytes``, any number for None; one row may weigh what it likes."""

    def held(rows: int, weight: int) -> None:
        if max_bytes is not None and weight > max_bytes and rows > 1:
            raise NotHere("more rows than the driver may hold")

    return held


# ---- values
#
# Arrays of values as Spark groups and sorts them: NaN is equal to itself and greater than all other
# numbers, -0.0 and 0.0 are one number, texts and bytes are compared by their unsigned bytes.


def normalized(array: pa.Array) -> pa.Array:
    """The values with one NaN and one zero, so that equal ones have equal bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(array.type):
        return array
    zero, nan = arrow_scalar(0.0, array.type), arrow_scalar(float("nan"), array.type)
    one_zero = pc.if_else(pc.equal(array, zero), zero, array)
    return pc.if_else(pc.is_nan(one_zero), nan, one_zero)


def has_negative_zero(array: pa.Array) -> bool:
    """Whether -0.0 is among the values."""
    import pyarrow as pa

    if not pa.types.is_floating(array.type):
        return False
    values = numpy_array(array.drop_null())
    return bool(np.any((values == 0) & np.signbit(values)))


def sortable(array: pa.Array) -> pa.Array:
    """Values that Arrow orders as Spark orders these: whole numbers in place of floating ones."""
    import pyarrow as pa

    if not pa.types.is_floating(array.type):
        return array
    whole, bits = _whole(array.type)
    numbers = numpy_array(filled(normalized(array), 0)).view(whole)
    flipped = np.where(numbers < 0, numbers ^ np.array(bits, whole), numbers)
    mask = numpy_array(array.is_null()) if array.null_count else None
    return arrow_array(flipped, mask=mask)


def from_sortable(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The floating numbers of ``kind`` that ``sortable`` made whole ones of."""
    import pyarrow as pa

    if not pa.types.is_floating(kind):
        return array
    whole, bits = _whole(kind)
    numbers = numpy_array(filled(array, 0))
    values = np.where(numbers < 0, numbers ^ np.array(bits, whole), numbers).view(
        kind.to_pandas_dtype()
    )
    mask = numpy_array(array.is_null()) if array.null_count else None
    return arrow_array(values, kind, mask=mask)


def _whole(kind: pa.DataType) -> tuple[Any, int]:
    """The whole numbers of the same width, and all their bits but the sign's."""
    import pyarrow as pa

    if pa.types.is_float32(kind):
        return np.int32, (1 << 31) - 1
    return np.int64, (1 << 63) - 1


def whole_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column of a table in one piece."""
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


# ---- ordering
#
# ORDER BY: rows in Spark's order, and of a query with LIMIT no more rows in memory than it takes.
#
# Rows that the order leaves equal come as they were read.


_SPARE_ROWS = 65_536
"""Rows that are kept beyond those wanted before they are sorted out."""
_HEAVY = 16 << 20
"""Bytes of rows that are sorted out as soon as they are twice as many as are wanted."""


class SortKey(Protocol):
    """The order of one value of rows."""

    @property
    def descending(self) -> bool: ...
    @property
    def nulls_first(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """``column``: by its place in the table."""

    column: int
    descending: bool
    nulls_first: bool


def first_rows(
    batches: Iterable[pa.Table], keys: Sequence[Key], count: int | None, held: Held = hold_all
) -> pa.Table:
    """The first ``count`` rows, all for None, of all batches in the order of ``keys``. There is at
    least one batch. ``held`` is told what is in memory after each of them.
    """
    import pyarrow as pa

    kept: list[pa.Table] = []
    rows = weight = 0
    for batch in batches:
        kept.append(batch)
        rows += batch.num_rows
        weight += batch.nbytes
        if (
            count is not None
            and rows > 2 * count
            and (rows > 2 * count + _SPARE_ROWS or weight > _HEAVY)
        ):
            kept = [ordered(pa.concat_tables(kept), keys, count)]
            rows, weight = kept[0].num_rows, kept[0].nbytes
        held(rows, weight)
    return ordered(pa.concat_tables(kept), keys, count)


def ordered(table: pa.Table, keys: Sequence[Key], count: int | None) -> pa.Table:
    """The first rows of a table in the order of ``keys``."""
    indices = sorted_indices([(whole_array(table.column(key.column)), key) for key in keys])
    return table.take(indices if count is None else indices[:count])


def sorted_indices(by: Sequence[tuple[pa.Array, SortKey]]) -> pa.Array:
    """The places of rows in the order of these values. Rows that it leaves equal stay as they
    are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: list[pa.Array] = []
    orders: list[tuple[str, str]] = []
    for values, key in by:
        if values.null_count:
            orders.append((str(len(columns)), "descending" if key.nulls_first else "ascending"))
            columns.append(values.is_null())
        orders.append((str(len(columns)), "descending" if key.descending else "ascending"))
        columns.append(sortable(values))
    table = pa.Table.from_arrays(columns, names=[str(i) for i in range(len(columns))])
    return pc.sort_indices(table, sort_keys=orders)


# ---- aggregates
#
# GROUP BY, aggregates and DISTINCT: what is known of each group so far, batch after batch.
#
# In memory are the groups, never the rows. The order of groups means nothing; it is the same each
# time. Whole numbers whose sum may leave the range of exact numbers are Spark's. Floating ones are
# added one after another in the order of the rows, batch by batch, as each of Spark's tasks does;
# how many tasks there are, and with it the last digits, is as little in the query there as here.


_DIVIDING = Context(prec=100, rounding=ROUND_HALF_UP)
_PARTIAL_ROWS = 65_536
"""Rows of partial results that are kept before they are put together."""
_PARTS: dict[Function, tuple[tuple[str, str], ...]] = {
    Function.COUNT: (("count", "sum"),),
    Function.COUNT_DISTINCT: (("count_distinct", ""),),
    Function.MIN: (("min", "min"),),
    Function.MAX: (("max", "max"),),
    Function.SUM: (("sum", "sum"),),
    Function.AVG: (("sum", "sum"), ("count", "sum")),
}
"""What is kept of the values of a batch, and how two of these become one. Of different values all
are kept.
"""
_MOST = {Function.SUM: 1 << 63, Function.AVG: 1 << 53}
"""Below this a sum of whole numbers is exact, in whatever order: as a bigint, as a double."""


def distinct_rows(
    batches: Iterable[pa.Table], enough: int | None, held: Held = hold_all
) -> Iterator[pa.Table]:
    """One table of the rows that are different; reading ends once there are ``enough``. ``held`` is
    told what is in memory, each time rows were put together.
    """
    import pyarrow as pa

    kept: pa.Table | None = None
    waiting: list[pa.Table] = []
    for batch in batches:
        waiting.append(_one_each(batch))
        few = 0 if kept is None else kept.num_rows
        if enough is not None or sum(table.num_rows for table in waiting) > _PARTIAL_ROWS + few:
            kept = _one_each(pa.concat_tables([*([] if kept is None else [kept]), *waiting]))
            waiting = []
            held(kept.num_rows, kept.nbytes)
            if enough is not None and kept.num_rows >= enough:
                break
    tables = [*([] if kept is None else [kept]), *waiting]
    yield _one_each(pa.concat_tables(tables))


def _one_each(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    arrays = [normalized(whole_array(column)) for column in table.columns]
    names = table.column_names
    return aggregated(pa.Table.from_arrays(arrays, names=names), names, []).select(names)


def aggregated(table: pa.Table, keys: list[str], asked: Sequence[tuple[str, str]]) -> pa.Table:
    """What ``table.group_by(keys).aggregate(asked)`` gives, ``asked`` being columns and functions.

    That goes by way of pyarrow.acero, which imports pandas for the sake of data sets, in a fifth of
    a second; the part that is needed does not.
    """
    try:
        from pyarrow._acero import (  # type: ignore[import-not-found,unused-ignore]
            AggregateNodeOptions,
            Declaration,
            TableSourceNodeOptions,
        )
    except ImportError:
        return table.group_by(keys, use_threads=False).aggregate(list(asked))
    named = [([name], f"hash_{part}", None, f"{name}_{part}") for name, part in asked]
    grouping = [
        Declaration("table_source", TableSourceNodeOptions(table)),
        Declaration("aggregate", AggregateNodeOptions(named, keys=keys)),
    ]
    return Declaration.from_sequence(grouping).to_table(use_threads=False)


@dataclass(slots=True, kw_only=True)
class Groups:
    """The groups of one query. ``keys``: the names and types of what they are made by. ``held``: as
    for ``distinct_rows``.
    """

    keys: Sequence[tuple[str, pa.DataType]]
    aggregates: Sequence[Aggregate]
    held: Held = hold_all
    _partial: list[pa.Table] = field(default_factory=list)
    _rows: int = 0
    _merged: int = 0
    _weight: int = 0
    _bounds: dict[str, int] = field(default_factory=dict)
    _negative_zeros: set[str] = field(default_factory=set)

    def add(
        self, keys: Sequence[pa.Array], arguments: Sequence[pa.Array | None], rows: int
    ) -> None:
        """Takes in the rows of a batch: the values of their keys, and of each aggregate's argument,
        None for COUNT(*). NotHere where exact numbers end.
        """
        import pyarrow as pa

        if not rows:
            return
        columns = [normalized(key) for key in keys]
        names = self._key_names
        asked: list[tuple[Any, ...]] = []
        for aggregate, argument in zip(self.aggregates, arguments, strict=True):
            name = aggregate.name
            values = pa.repeat(arrow_scalar(0, pa.int8()), rows) if argument is None else argument
            columns.append(self._prepared(aggregate, values))
            names = [*names, name]
            asked += [(name, first) for first, _ in _PARTS[aggregate.function]]
        table = pa.Table.from_arrays(columns, names=names)
        if self._keeps_rows:
            self._partial.append(table)
            self._rows, self._weight = self._rows + rows, self._weight + table.nbytes
            self.held(self._rows, self._weight)
            return
        self._partial.append(self._grouped(table, asked))
        self._rows += self._partial[-1].num_rows
        # As many as there are groups already: else each batch would go over all of them.
        if self._rows > _PARTIAL_ROWS + 2 * self._merged and len(self._partial) > 1:
            self._merge()

    @property
    def _keeps_rows(self) -> bool:
        return any(one.function is Function.COUNT_DISTINCT for one in self.aggregates)

    @property
    def _key_names(self) -> list[str]:
        return [name for name, _ in self.keys]

    def _prepared(self, aggregate: Aggregate, values: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        match aggregate.function:
            case Function.SUM | Function.AVG:
                if pa.types.is_integer(values.type):
                    self._check_range(aggregate, values)
                return values.cast(pa.float64()) if pa.types.is_float32(values.type) else values
            case Function.COUNT_DISTINCT:
                return sortable(values)
            case Function.MIN | Function.MAX:
                if has_negative_zero(values):
                    self._negative_zeros.add(aggregate.name)
                return sortable(values)
        nothing = arrow_scalar(None, pa.int8())
        return pc.if_else(values.is_valid(), arrow_scalar(0, pa.int8()), nothing)

    def _check_range(self, aggregate: Aggregate, values: pa.Array) -> None:
        import pyarrow.compute as pc

        ends = pc.min_max(values)
        largest = max(abs(ends["min"].as_py() or 0), abs(ends["max"].as_py() or 0))
        bound = self._bounds.get(aggregate.name, 0) + largest * len(values)
        if bound >= _MOST[aggregate.function]:
            raise NotHere(f"{aggregate.function} of numbers as large as these")
        self._bounds[aggregate.name] = bound

    def _grouped(self, table: pa.Table, asked: Sequence[tuple[Any, ...]]) -> pa.Table:
        names = self._key_names
        if not names:
            return _of_all(table, asked)
        grouped = aggregated(table, names, asked)
        return grouped.select([*names, *(f"{column}_{part}" for column, part in asked)])

    def _merge(self) -> pa.Table:
        """All partial results as one."""
        import pyarrow as pa

        names = self._key_names
        if self._keeps_rows:
            parts = [
                (one.name, first) for one in self.aggregates for first, _ in _PARTS[one.function]
            ]
            return self._grouped(pa.concat_tables(self._partial), parts)
        asked = [
            (f"{aggregate.name}_{first}", second)
            for aggregate in self.aggregates
            for first, second in _PARTS[aggregate.function]
        ]
        table = self._grouped(pa.concat_tables(self._partial), asked)
        merged = table.rename_columns([*names, *(column for column, _ in asked)])
        self._partial, self._rows, self._merged = [merged], merged.num_rows, merged.num_rows
        self.held(merged.num_rows, merged.nbytes)
        return merged

    def batch(self) -> pa.RecordBatch:
        """The keys, and each aggregate under its name. Without rows there are no groups, but for
        the one of a query without GROUP BY.
        """
        import pyarrow as pa

        names = [*(name for name, _ in self.keys), *(one.name for one in self.aggregates)]
        if self._partial:
            merged = self._merge()
            keys = [whole_array(merged.column(name)) for name, _ in self.keys]
            return pa.RecordBatch.from_arrays(
                [*keys, *(self._result(one, merged) for one in self.aggregates)], names=names
            )
        keys = [arrow_array([], kind) for _, kind in self.keys]
        count = 0 if self.keys else 1
        return pa.RecordBatch.from_arrays(
            [*keys, *(_of_nothing(one).slice(0, count) for one in self.aggregates)], names=names
        )

    def _result(self, aggregate: Aggregate, merged: pa.Table) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = arrow_type(aggregate.type)
        parts = [
            whole_array(merged.column(f"{aggregate.name}_{first}"))
            for first, _ in _PARTS[aggregate.function]
        ]
        match aggregate.function:
            case Function.AVG if pa.types.is_decimal(kind):
                return averages(parts[0], parts[1], kind)
            case Function.AVG:
                total, count = (part.cast(kind) for part in parts)
                zero, nothing = arrow_scalar(0.0, pa.float64()), arrow_scalar(None, kind)
                return pc.if_else(pc.equal(count, zero), nothing, pc.divide(total, count))
            case Function.MIN | Function.MAX:
                values = from_sortable(parts[0], kind)
                if aggregate.name in self._negative_zeros and pc.any(pc.equal(values, 0.0)).as_py():
                    raise NotHere(f"{aggregate.function} of 0.0 and -0.0")
                return values
        return parts[0].cast(kind)


def averages(totals: pa.Array, counts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Averages of decimals, rounded as Spark's division rounds them."""
    unit = Decimal(1).scaleb(-kind.scale)
    values = [
        None if not count else _DIVIDING.quantize(_DIVIDING.divide(total, Decimal(count)), unit)
        for total, count in zip(totals.to_pylist(), counts.to_pylist(), strict=True)
    ]
    return arrow_array(values, kind)


def _of_all(table: pa.Table, asked: Sequence[tuple[str, str]]) -> pa.Table:
    """What ``asked`` are, columns and functions, of all rows together."""
    import pyarrow as pa

    values = [_of_column(whole_array(table.column(column)), part) for column, part in asked]
    names = [f"{column}_{part}" for column, part in asked]
    return pa.Table.from_arrays([pa.repeat(value, 1) for value in values], names=names)


def _of_column(values: pa.Array, part: str) -> pa.Scalar:
    import pyarrow as pa
    import pyarrow.compute as pc

    match part:
        case "count":
            return pc.count(values)
        case "count_distinct":
            return pc.count_distinct(values)
        case "min" | "max":
            return pc.min_max(values)[part]
    if not pa.types.is_floating(values.type):
        return pc.sum(values)
    # Arrow's own sum adds in pairs.
    numbers = numpy_array(values.drop_null())
    with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN, as in Spark
        total = None if not len(numbers) else 0.0 + float(np.add.accumulate(numbers)[-1])
    return arrow_scalar(total, values.type)


def _of_nothing(aggregate: Aggregate) -> pa.Array:
    """What an aggregate is of no rows."""

    counts = aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT)
    value = 0 if counts else None
    return arrow_array([value], arrow_type(aggregate.type))
