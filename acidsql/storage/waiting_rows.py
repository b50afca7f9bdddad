"""Relations of a session whose rows lie in memory, by their locations: no file has them yet. Who
lists such a relation's files gets one first, whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.catalog.model import Table


class WaitingRows(Protocol):
    def waiting(self) -> Sequence[pa.RecordBatch] | None:
        """The rows, with the columns of the relation; None once they are in a file."""

    def to_file(self) -> None:
        """Writes the file, if it is not there."""


_WAITING: WeakValueDictionary[str, WaitingRows] = WeakValueDictionary()


def wait(location: str, rows: WaitingRows) -> None:
    """From now on the rows of this location are these."""
    _WAITING[location] = rows


def waiting_rows(table: Table) -> Sequence[pa.RecordBatch] | None:
    """The rows of a relation; None where its files have them."""
    rows = _WAITING.get(table.location)
    return None if rows is None else rows.waiting()


def to_file(table: Table) -> None:
    """Sees to it that the files of a relation have its rows."""
    rows = _WAITING.get(table.location)
    if rows is not None:
        rows.to_file()
