"""The rows of INSERT .. VALUES, which need no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.catalog.model import DEFAULT_PARTITION
from acidsql.catalog.partitions import partition_text
from acidsql.planner.bind.bound import BoundInsert, BoundRows
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa


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
