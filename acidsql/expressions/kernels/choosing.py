"""Values by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, filled, numpy_array
from acidsql.catalog.arrow_types import arrow_type
from acidsql.expressions.kernels.comparing import FAILURES, Values
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.vectors.vector import Vector

Branch = tuple[Vector, Vector]
"""A condition and the value where it is true."""


def case(branches: Sequence[Branch], otherwise: Vector, batch: pa.RecordBatch) -> Values:
    """The value of the first condition that is true. All are computed for all rows; if that fails
    each only for the rows that come to it, as in Spark.
    """
    try:
        values = otherwise.evaluate(batch)
        for condition, value in reversed(branches):
            holds = filled(condition.evaluate(batch), False)
            values = pc.if_else(holds, value.evaluate(batch), values)
        return values
    except (*FAILURES, NotHere):
        return _by_rows(branches, otherwise, batch)


def _by_rows(branches: Sequence[Branch], otherwise: Vector, batch: pa.RecordBatch) -> Values:
    rest = np.arange(batch.num_rows)
    rows, values = [], []
    for condition, value in branches:
        holds = filled(condition.run(batch.take(arrow_array(rest))), False)
        mask = numpy_array(holds)
        rows.append(rest[mask])
        values.append(_run(value, batch, rest[mask]))
        rest = rest[~mask]
    rows.append(rest)
    values.append(_run(otherwise, batch, rest))
    order = np.argsort(np.concatenate(rows), kind="stable")
    return pa.concat_arrays(values).take(arrow_array(order))


def _run(value: Vector, batch: pa.RecordBatch, rows: Any) -> pa.Array:
    if not len(rows):
        return pa.nulls(0, arrow_type(value.type))
    return value.run(batch.take(arrow_array(rows)))


def first_value(*values: Values) -> Values:
    """COALESCE."""
    return pc.coalesce(*values)
