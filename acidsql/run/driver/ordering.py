"""ORDER BY: rows in Spark's order, and of a query with LIMIT no more rows in memory than it takes.

Rows that the order leaves equal come as they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from acidsql.lazy_dataclass import dataclass
from acidsql.run.driver.held import Held, hold_all
from acidsql.run.driver.values import sortable, whole_array

if TYPE_CHECKING:
    import pyarrow as pa

_SLACK = 65_536
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
            and (rows > 2 * count + _SLACK or weight > _HEAVY)
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
