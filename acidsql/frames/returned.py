"""The rows that a statement gives back with RETURNING, as a relation that is filled when it has
been carried out.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from acidsql.acid.ids import RETURNED_ROW_ID
from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import ROW_ID_TYPE, arrow_type
from acidsql.frames.frame_types import Batches
from acidsql.frames.spooling import Frame


class Returned:
    """The relation; ``frame`` has the columns of a table, those of its partitions, and ROW__ID."""

    def __init__(self, table: Table, directory: str) -> None:
        columns = (*table.columns, *table.partition_columns)
        if table.is_full_acid:
            parts = (Column(name=RETURNED_ROW_ID + f.name, type=f.type) for f in ROW_ID_TYPE.fields)
            columns = (*columns, Column(name=RETURNED_ROW_ID, type=ROW_ID_TYPE), *parts)
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
        self._rows: list[pa.Table] = []
        batches = Batches(schema=schema, rows=self._batches(schema))
        self.frame = Frame.unread(table.name.table, batches, directory, columns)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for rows in self._rows:
            arrays = [rows.column(at).cast(kind) for at, kind in enumerate(schema.types)]
            yield from pa.Table.from_arrays(arrays, schema=schema).to_batches()

    def fill(self, rows: list[pa.Table]) -> None:
        """Gives it its rows, once."""
        self._rows += rows
        self.frame.read()
