"""Set operations. Rows are equal whose values are, NULLs among them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_scalar
from acidsql.planner.bind.local.query_trees import SetKind
from acidsql.run.driver.aggregates import aggregated, distinct_rows
from acidsql.run.driver.held import Held

_SIDE = "side"


def combined(kind: SetKind, left: pa.Table, right: pa.Table, held: Held) -> pa.Table:
    """The rows of two tables of the same columns, which are called by their places. NotHere."""
    held(left.num_rows + right.num_rows, left.nbytes + right.nbytes)
    match kind:
        case SetKind.UNION_ALL:
            return pa.concat_tables([left, right])
        case SetKind.UNION:
            return next(distinct_rows([left, right], None, held))
    sides = [
        _marked(next(distinct_rows([table], None, held)), n)
        for n, table in enumerate((left, right))
    ]
    names = left.column_names
    grouped = aggregated(pa.concat_tables(sides), names, [(_SIDE, "min"), (_SIDE, "max")])
    first, last = grouped.column(f"{_SIDE}_min"), grouped.column(f"{_SIDE}_max")
    kept = pc.equal(last, 0) if kind is SetKind.EXCEPT else pc.not_equal(first, last)
    return grouped.filter(kept).select(names)


def _marked(rows: pa.Table, side: int) -> pa.Table:
    return rows.append_column(_SIDE, pa.repeat(arrow_scalar(side, pa.int8()), rows.num_rows))
