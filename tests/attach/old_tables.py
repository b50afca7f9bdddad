"""Files as Hive wrote them before version 3: events of all kinds beside one another, buckets as
plain numbers, no version of the format; and what a reader of them has to find.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import orc

from acidsql.acid.orc_tail import KEY_INDEX, STATS, edit_tail
from acidsql.files.local_files import LOCAL
from acidsql.storage.footers import read_footer

INSERT, UPDATE, DELETE = 0, 1, 2
ROW = pa.struct([("id", pa.int32()), ("name", pa.string())])


class Event(NamedTuple):
    """``values``: None for a delete."""

    operation: int
    write_id: int
    bucket: int
    row: int
    current: int
    values: tuple[int | None, str | None] | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        return self.write_id, self.bucket, self.row


def write_events(path: Path, events: Iterable[Event], *, stripe: int = 0) -> None:
    """A bucket file. ``stripe``: the most rows of one; 0: all are in one."""
    ordered = sorted(events, key=lambda e: (*e.key, -e.current))
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        pa.OSFile(str(path), "wb") as sink,
        orc.ORCWriter(
            sink, stripe_size=1 if stripe else 64 << 20, batch_size=stripe or 1024
        ) as out,
    ):
        size = stripe or max(1, len(ordered))
        for at in range(0, max(1, len(ordered)), size):
            out.write(_table(ordered[at : at + size]))
    tail = read_footer(LOCAL, str(path))
    keys, end = "", 0
    for rows in tail.stripes:
        end += rows
        keys += "{},{},{};".format(*ordered[end - 1].key)
    counts = [sum(e.operation == kind for e in ordered) for kind in (INSERT, UPDATE, DELETE)]
    edit = edit_tail(tail, {KEY_INDEX: keys, STATS: ",".join(map(str, counts))})
    path.write_bytes(path.read_bytes()[: edit.offset] + edit.data)


def _table(events: Sequence[Event]) -> pa.Table:
    values = [None if e.values is None else dict(zip(("id", "name"), e.values, strict=True)) for e in events]  # fmt: skip
    return pa.table(
        {
            "operation": pa.array([e.operation for e in events], pa.int32()),
            "originalTransaction": pa.array([e.write_id for e in events], pa.int64()),
            "bucket": pa.array([e.bucket for e in events], pa.int32()),
            "rowId": pa.array([e.row for e in events], pa.int64()),
            "currentTransaction": pa.array([e.current for e in events], pa.int64()),
            "row": pa.array(values, ROW),
        }
    )
