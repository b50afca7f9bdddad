"""Set operations. Rows are equal whose values are, NULLs among them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.arrow_arrays import arrow_scalar, numpy_array
from acidsql.planner.bind.local.query_trees import SetKind
from acidsql.run.driver.aggregates import aggregated, distinct_rows
from acidsql.run.driver.held import Held
from acidsql.run.driver.values import normalized, whole_array

Counts = npt.NDArray[np.int64]
_LEFT, _RIGHT = "left", "right"


def combined(kind: SetKind, left: pa.Table, right: pa.Table, held: Held) -> pa.Table:
    """The rows of two tables of the same columns, which are called by their places. NotHere."""
    held(left.num_rows + right.num_rows, left.nbytes + right.nbytes)
    match kind:
        case SetKind.UNION_ALL:
            return pa.concat_tables([left, right])
        case SetKind.UNION:
            return next(distinct_rows([left, right], None, held))
    names = left.column_names
    both = pa.concat_tables([_marked(left, (1, 0)), _marked(right, (0, 1))])
    grouped = aggregated(both, names, [(_LEFT, "sum"), (_RIGHT, "sum")])
    counts = (numpy_array(whole_array(grouped.column(f"{n}_sum"))) for n in (_LEFT, _RIGHT))
    copies = _copies(kind, *counts)
    return grouped.select(names).take(pa.array(np.repeat(np.arange(len(copies)), copies)))


def _copies(kind: SetKind, left: Counts, right: Counts) -> Counts:
    """How often each row comes that is so often on the one and on the other side."""
    copies: Counts
    match kind:
        case SetKind.INTERSECT:
            copies = ((left > 0) & (right > 0)).astype(np.int64)
        case SetKind.INTERSECT_ALL:
            copies = np.minimum(left, right)
        case SetKind.EXCEPT:
            copies = ((left > 0) & (right == 0)).astype(np.int64)
        case _:
            copies = np.maximum(left - right, 0)
    return copies


def _marked(rows: pa.Table, marks: tuple[int, int]) -> pa.Table:
    """The rows with what each of them counts on the two sides."""
    arrays = [normalized(whole_array(column)) for column in rows.columns]
    arrays += [pa.repeat(arrow_scalar(mark, pa.int64()), rows.num_rows) for mark in marks]
    return pa.Table.from_arrays(arrays, names=[*rows.column_names, _LEFT, _RIGHT])
