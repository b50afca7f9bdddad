"""Insert events that come in the order of their ids become one final file, however many there are:
no more than a batch and a stripe of them lie in memory.
"""

from __future__ import annotations

import io as streams
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import chain

import pyarrow as pa
from pyarrow import orc

from acidsql.acid.bucket_codec import bucket_ids
from acidsql.acid.footer_keys import footer_keys, is_strictly_ascending, last_rows
from acidsql.acid.ids import BucketId
from acidsql.acid.orc_tail import OrcTail, edit_tail
from acidsql.acid.row_id import RowId
from acidsql.arrow_arrays import numpy_array
from acidsql.errors import InternalError
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.event_rows import CURRENT, values_of
from acidsql.storage.row_ids import RowIds, row_ids
from acidsql.storage.write.driver_writer import row_values
from acidsql.storage.write.encoding import EventFile, event_table, tail_of_bytes, writer_options
from acidsql.storage.write.target import StagedFile, WriteTarget


class OutOfOrderError(Exception):
    """The rows do not come in the order of their ids, or are another bucket's."""


def stage_stream(
    io: FileIO, target: WriteTarget, directory: str, bucket: BucketId, batches: Iterable[pa.Table]
) -> StagedFile | None:
    """The finished file of ``batches`` (``EventRows.batches``), below ``directory``; None if
    there is no row.
    """
    path = f"{directory}/{uuid.uuid4().hex}"
    stream = _Stream(target=target, bucket=bucket, path=path)
    pieces = stream.pieces(batches)
    if (first := next(pieces, None)) is None:
        return None
    io.write_pieces(path, chain((first,), pieces))
    return StagedFile(
        path=path,
        directory=target.insert_directory,
        bucket=bucket,
        rows=stream.rows,
        size=stream.size,
        partition=target.partition,
    )


class _Sink(streams.RawIOBase):
    """Holds what a writer has given away until somebody takes it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        data, self._parts = b"".join(self._parts), []
        return data


@dataclass(slots=True, kw_only=True)
class _Stream:
    """One file while it is written. ``rows``, ``size``: what it has so far."""

    target: WriteTarget
    bucket: BucketId
    path: str
    rows: int = 0
    size: int = 0
    _ends: list[tuple[int, RowIds]] = field(default_factory=list)
    """The batches in which a stripe may end, each with the number of its first row: the writer
    gives a stripe away while it takes a batch.
    """
    _last: RowId | None = None

    def pieces(self, batches: Iterable[pa.Table]) -> Iterator[bytes]:
        """The bytes of the file. OutOfOrderError"""
        sink = _Sink()
        writer: orc.ORCWriter | None = None
        latest: tuple[int, RowIds] | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if writer is None:
                writer = orc.ORCWriter(pa.PythonFile(sink, "w"), **writer_options(self.target))
            latest = self.rows, self._checked_ids(batch)
            writer.write(self._events(batch, latest[1]))
            self.rows += batch.num_rows
            if data := sink.take():
                self._ends.append(latest)
                self.size += len(data)
                yield data
        if writer is None or latest is None:
            return
        self._ends.append(latest)
        writer.close()
        yield self._end(sink.take())

    def _checked_ids(self, batch: pa.Table) -> RowIds:
        ids = row_ids(batch)
        if (
            (self._last is not None and ids.at(0) <= self._last)
            or not is_strictly_ascending(ids.write_ids, ids.bucket_properties, ids.rows)
            or not (bucket_ids(ids.bucket_properties) == self.bucket).all()
        ):
            raise OutOfOrderError
        self._last = ids.at(-1)
        return ids

    def _events(self, batch: pa.Table, ids: RowIds) -> pa.Table:
        return event_table(
            EventFile(
                target=self.target,
                bucket=self.bucket,
                ids=ids,
                values=row_values(values_of(batch), self.target.table.columns),
                event_write_ids=numpy_array(batch.column(CURRENT)),
            )
        )

    def _end(self, data: bytes) -> bytes:
        """The last bytes of the writer's with the tail of an ACID file."""
        tail = tail_of_bytes(data, self.size + len(data), self.path)
        keys = footer_keys(self._stripe_ends(tail), inserts=self.rows)
        edit = edit_tail(tail, keys, self.target.event_schema, proleptic=True)
        end = data[: edit.offset - self.size] + edit.data
        self.size += len(end)
        return end

    def _stripe_ends(self, tail: OrcTail) -> list[RowId]:
        """The id of the last row of each stripe."""
        ids, ends = [], iter(self._ends)
        first, batch = next(ends)
        for row in last_rows(tail.stripes):
            while row >= first + len(batch):
                first, batch = next(ends, (row, batch))
            if row < first:
                raise InternalError(f'a stripe of "{self.path}" ends where none was given away')
            ids.append(batch.at(row - first))
        return ids
