"""Marks of lost values beside rows on the driver: see ``expressions.losses``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.expressions.losses import MARKS, Counter, Lost, counted, lost_names, mark

if TYPE_CHECKING:
    import pyarrow as pa

Marks = npt.NDArray[np.bool_]


def marked(marks: Sequence[Marks | None], count: int) -> list[pa.Array]:
    """The columns of marks of ``count`` rows. ``marks``: for each counter whose values have lost
    something; None: none has.
    """
    import pyarrow as pa

    columns = []
    for at in range(0, len(marks), MARKS):
        bits = np.zeros(count, np.int64)
        for number, one in enumerate(marks[at : at + MARKS]):
            if one is not None:
                bits |= np.where(one, np.int64(mark(number)), np.int64(0))
        columns.append(arrow_array(bits, pa.int64()))
    return columns


def lost_of(rows: pa.Table, counters: Sequence[Counter]) -> tuple[Lost, ...]:
    """What the rows have lost, by their marks; nothing where they have none."""
    return counted(counters, counts_of(rows, counters))


def counts_of(rows: pa.Table, counters: Sequence[Counter]) -> list[int]:
    """For each counter how many rows have its mark."""
    columns = [
        numpy_array(rows.column(name).combine_chunks()) for name in lost_names(rows.column_names)
    ]
    if not columns:
        return [0] * len(counters)
    counts = [0] * len(counters)
    for number in range(min(len(counters), len(columns) * MARKS)):
        counts[number] = int(np.count_nonzero(columns[number // MARKS] & mark(number)))
    return counts


def without_marks(rows: pa.Table) -> pa.Table:
    """The rows as they are stored."""
    return rows.drop_columns(lost_names(rows.column_names))
