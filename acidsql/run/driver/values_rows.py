"""Rows that stand in a statement as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.arrow_arrays import arrow_array, row_of_nothing
from acidsql.catalog.arrow_types import arrow_type
from acidsql.expressions.losses import Counter, counters_of, lost_columns
from acidsql.expressions.tree import Condition, Constant
from acidsql.expressions.values import STRING
from acidsql.planner.bind.local.query_trees import LocalValues, Stored
from acidsql.planner.bind.local.stores import vector_of
from acidsql.run.driver.new_rows import Losing
from acidsql.storage.write.losses import marked

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of_values(values: LocalValues) -> pa.Table:
    """The rows. NotHere."""
    import pyarrow as pa

    if values.stored:
        return _stored_rows(values)
    nothing = row_of_nothing()
    columns = list(zip(*values.rows, strict=True))
    arrays = [_column(values, number, cells, nothing) for number, cells in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[output.name for output in values.outputs])


def batches_of_values(values: LocalValues, names: Sequence[str]) -> list[pa.RecordBatch]:
    """The rows as batches of some of their columns, by their names in lower case. NotHere."""
    rows = rows_of_values(values)
    rows = rows.rename_columns([name.lower() for name in rows.column_names])
    return list(rows.select(list(names)).combine_chunks().to_batches())


def _column(
    values: LocalValues, number: int, cells: tuple[Condition, ...], nothing: pa.RecordBatch
) -> pa.Array:
    import pyarrow as pa

    kind = values.outputs[number].type
    if all(isinstance(c, Constant) and c.type == kind for c in cells):
        return arrow_array([c.value for c in cells if isinstance(c, Constant)], arrow_type(kind))
    vectors = [vector_of(cell, {}, values.semantics) for cell in cells]
    return pa.concat_arrays([vector.run(nothing) for vector in vectors])


def counters_of_values(values: LocalValues) -> tuple[Counter, ...]:
    """What rows that are stored by themselves may have lost, whatever their types: what text may
    lose.
    """
    return tuple(counter for column in values.stored for counter in counters_of(column, STRING))


def _stored_rows(values: LocalValues) -> pa.Table:
    """The rows as the columns store them, with the marks of ``counters_of_values``. NotHere."""
    import pyarrow as pa

    nothing = row_of_nothing()
    reported = values.reported or [[False] * len(values.stored)] * len(values.rows)
    stores = [
        [
            Stored(column=column, value=cell, counted=not known)
            for column, cell, known in zip(values.stored, cells, known_cells, strict=True)
        ]
        for cells, known_cells in zip(values.rows, reported, strict=True)
    ]
    losing = Losing(stores, {}, values.semantics)
    every = counters_of_values(values)
    parts: list[list[pa.Array]] = []
    for number, row in enumerate(stores):
        arrays, marks = losing.stored(number, row, nothing)
        of_counters = dict(zip(losing.counters, marks, strict=True))
        parts.append([*arrays, *marked([of_counters.get(one) for one in every], 1)])
    names = [*(output.name for output in values.outputs), *lost_columns(every)]
    columns = [pa.concat_arrays(list(column)) for column in zip(*parts, strict=True)]
    return pa.Table.from_arrays(columns, names=names)
