"""An ORC file of whole rows, without event columns, which says of itself what Arrow's writer does
not: its calendar, and Hive's types.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import edit_tail, load_tail
from acidsql.catalog.model import Column
from acidsql.errors import UnsupportedStatementError
from acidsql.storage.stored import arrow_schema, needs_java_writer, orc_row_type, stored_array

_STRIPE_BYTES = 16 << 20


def check_writable(rows: pa.Table, *, whose: str, hint: str) -> None:
    """UnsupportedStatementError for times that Arrow's writer cannot write. ``whose``, ``hint``: as
    for OrcRows.
    """
    if needs_java_writer(rows):
        raise UnsupportedStatementError(
            f"{whose} holds a date of the days that the calendar skips (1582-10-05 to"
            " 1582-10-14), or a timestamp before 1970 with a fraction of a second",
            hint=hint,
        )


class OrcRows:
    """The file while it is written. ``whose``: what its rows are called where some cannot be
    written, and the ``hint`` for it.
    """

    def __init__(
        self, path: str, columns: Sequence[Column], compression: str, *, whose: str, hint: str
    ) -> None:
        self._path = path
        self._columns = columns
        self._schema = arrow_schema(columns)
        self._whose, self._hint = whose, hint
        self._sink = pa.OSFile(path, "wb")
        self._writer = orc.ORCWriter(self._sink, compression=compression, stripe_size=_STRIPE_BYTES)
        self._writer.write(self._schema.empty_table())

    def write(self, rows: pa.Table) -> None:
        """Adds rows, in Arrow's types of Hive's. DataError; UnsupportedStatementError for times
        that Arrow's writer cannot write.
        """
        check_writable(rows, whose=self._whose, hint=self._hint)
        pairs = zip(rows.columns, self._columns, strict=True)
        stored = [stored_array(array.combine_chunks(), c.type) for array, c in pairs]
        self._writer.write(pa.Table.from_arrays(stored, schema=self._schema))

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()
        self._sink.close()
        with open(self._path, "r+b") as file:
            size = file.seek(0, os.SEEK_END)

            def read_tail(count: int) -> tuple[bytes, int]:
                file.seek(max(0, size - count))
                return file.read(), size

            tail = load_tail(read_tail, self._path)
            edit = edit_tail(tail, {}, orc_row_type(self._columns), proleptic=True)
            file.seek(edit.offset)
            file.write(edit.data)
            file.truncate()
