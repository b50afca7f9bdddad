"""Rows that stand in a statement as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.arrow_types import arrow_type
from acidsql.expressions.tree import Condition, Constant
from acidsql.local.rows import no_table
from acidsql.planner.bind.local.query_trees import LocalValues, Stored
from acidsql.planner.bind.local.stores import stored, vector_of

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of_values(values: LocalValues) -> pa.Table:
    """The rows. Uncertain."""
    import pyarrow as pa

    [nothing] = no_table()
    columns = list(zip(*values.rows, strict=True))
    arrays = [_column(values, number, cells, nothing) for number, cells in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[output.name for output in values.outputs])


def batches_of_values(values: LocalValues, names: Sequence[str]) -> list[pa.RecordBatch]:
    """The rows as batches of some of their columns, by their names in lower case. Uncertain."""
    rows = rows_of_values(values)
    rows = rows.rename_columns([name.lower() for name in rows.column_names])
    return list(rows.select(list(names)).combine_chunks().to_batches())


def _column(
    values: LocalValues, number: int, cells: tuple[Condition, ...], nothing: pa.RecordBatch
) -> pa.Array:
    import pyarrow as pa

    kind = values.outputs[number].type
    if not values.stored and all(isinstance(c, Constant) and c.type == kind for c in cells):
        return arrow_array([c.value for c in cells if isinstance(c, Constant)], arrow_type(kind))
    vectors = [
        stored(Stored(column=values.stored[number], value=cell), {}, values.semantics)
        if values.stored
        else vector_of(cell, {}, values.semantics)
        for cell in cells
    ]
    return pa.concat_arrays([vector.run(nothing) for vector in vectors])
