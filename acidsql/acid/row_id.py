"""The identity of a row, shown to users as ROW__ID ``{"writeid":..,"bucketid":..,"rowid":..}``."""

from __future__ import annotations

from typing import NamedTuple

from acidsql.acid.ids import WriteId

ROW_ID_COLUMN = "ROW__ID"
"""The hidden column that shows it."""
RETURNED_ROW_ID = "acidsql_row_id"
"""The name of it in rows that a statement gives back, and what those of its parts begin with."""
ROW_ID_PARTS = ("writeid", "bucketid", "rowid")
"""Its fields, as users see them, in the order of ID_FIELDS."""


class RowId(NamedTuple):
    """Ordered as the files are sorted: write id, then the packed bucket property as a signed int,
    then the row number.

    A tuple, not a dataclass: compared and hashed by the million when delete events are matched. All
    three parts count: ``bucket_property`` (see bucket_codec) keeps apart the statements of one
    write id.
    """

    write_id: WriteId
    bucket_property: int
    row: int
