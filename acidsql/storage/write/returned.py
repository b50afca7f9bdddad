"""The rows that a statement has written, for RETURNING: as they are stored, with the values of
their partitions and their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from acidsql.acid.row_id import ROW_ID_COLUMN, ROW_ID_PARTS
from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.model import Table
from acidsql.expressions.stores import typed
from acidsql.storage.row_ids import RowIds


def returned(
    table: Table,
    values: Iterable[pa.Array],
    partition: Sequence[str],
    ids: RowIds | None,
    rows: int,
) -> pa.Table:
    """The columns of a table, those of the partition that the rows lie in, whose values are Hive's
    texts, and the ids, whole and in parts, where rows have some.
    """
    arrays = list(values)
    for column, text in zip(table.partition_columns, partition, strict=True):
        value = typed(text, column.type)
        arrays.append(pa.repeat(pa.scalar(value, arrow_type(column.type)), rows))
    names = [column.name for column in (*table.columns, *table.partition_columns)]
    if ids is not None:
        fields = (ids.write_ids, ids.bucket_properties, ids.rows)
        parts = [arrow_array(field) for field in fields]
        arrays += [pa.StructArray.from_arrays(parts, names=list(ROW_ID_PARTS)), *parts]
        names += [ROW_ID_COLUMN, *ROW_ID_PARTS]
    return pa.Table.from_arrays(arrays, names=names)
