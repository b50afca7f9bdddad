"""Rows that stand in a statement, as literals and as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.arrow_arrays import arrow_array, row_of_nothing
from acidsql.catalog.model import DEFAULT_PARTITION
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.types import arrow_type
from acidsql.expressions.losses import Counter, counters_of, lost_columns
from acidsql.expressions.tree import Condition, Constant
from acidsql.expressions.values import STRING
from acidsql.planner.bind.bound import BoundInsert, BoundRows
from acidsql.planner.bind.local.query_trees import LocalValues, Stored
from acidsql.planner.bind.local.scope import vector_of
from acidsql.run.driver.new_rows import Losing
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import arrow_schema
from acidsql.storage.write.driver_writer import marked

if TYPE_CHECKING:
    import pyarrow as pa


# ---- literal rows
#
# The rows of INSERT .. VALUES, which need no Spark.


def literal_table(action: BoundInsert, source: BoundRows) -> pa.Table:
    """Literal rows as Arrow: all columns of the table in its order, and the texts of its partition
    columns.
    """
    import pyarrow as pa

    from acidsql.arrow_arrays import arrow_array

    table = action.table
    ordinals = {c.name: i for i, c in enumerate(action.columns)}
    static = dict(action.partition.static) if action.partition is not None else {}
    arrays, names = [], []
    for column in arrow_schema(table.columns):
        at = ordinals.get(column.name)
        arrays.append(
            pa.nulls(len(source.rows), column.type)
            if at is None
            else arrow_array([row[at] for row in source.rows], column.type)
        )
        names.append(column.name)
    for key, name in zip(table.partition_columns, key_names(table), strict=True):
        texts = [
            static[key.name] if key.name in static else partition_text(row[ordinals[key.name]])
            for row in source.rows
        ]
        arrays.append(arrow_array([text or DEFAULT_PARTITION for text in texts], pa.string()))
        names.append(name)
    return pa.Table.from_arrays(arrays, names=names)


# ---- values rows
#
# Rows that stand in a statement as expressions.


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
