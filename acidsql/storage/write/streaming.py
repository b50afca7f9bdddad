"""Insert events that come in the order of their ids become one final file, however many there are:

    batches --> pieces --a thread each--> files in memory --their stripes, in order--> the file

No more lies in memory than a piece for each thread, and one that grows.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
from pyarrow import orc

from acidsql import interrupts
from acidsql.acid.bucket_codec import bucket_ids
from acidsql.acid.ids import BucketId
from acidsql.acid.joining.files import JoinedFile
from acidsql.acid.orc_tail import OrcTail, edit_tail, footer_keys, is_strictly_ascending, last_rows
from acidsql.acid.row_id import RowId
from acidsql.arrow_arrays import numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.event_rows import CURRENT, values_of
from acidsql.storage.row_ids import RowIds, row_ids
from acidsql.storage.write.driver_writer import (
    EventFile,
    event_table,
    row_values,
    tail_of_bytes,
    writer_options,
)
from acidsql.storage.write.encoders import Encoders
from acidsql.storage.write.target import StagedFile, WriteTarget

PIECE_BYTES = 32 << 20
"""What the rows of a piece weigh in memory. Encoded they weigh a third and less: a stripe, or
several where the table asks for small ones.
"""
_MOST_PIECE_BYTES = 256 << 20


def stage_stream(
    io: FileIO,
    encoders: Encoders,
    target: WriteTarget,
    directory: str,
    bucket: BucketId,
    batches: Iterable[pa.Table],
) -> StagedFile | None:
    """The finished file of ``batches`` (``EventRows.batches``), below ``directory``; None if
    there is no row.
    """
    path = f"{directory}/{uuid.uuid4().hex}"
    stream = _Stream(encoders=encoders, target=target, bucket=bucket, path=path)
    parts = stream.parts(batches)
    if (first := next(parts, None)) is None:
        return None
    io.write_pieces(path, chain((first,), parts))
    return StagedFile(
        path=path,
        directory=target.insert_directory,
        bucket=bucket,
        rows=stream.rows,
        size=stream.size,
        partition=target.partition,
    )


class _Batch(NamedTuple):
    rows: pa.Table
    ids: RowIds


class _Encoded(NamedTuple):
    """A piece as a file. ``last_ids``: the id of the last row of each stripe."""

    data: pa.Buffer
    tail: OrcTail
    last_ids: Sequence[RowId]


@dataclass(slots=True, kw_only=True)
class _Stream:
    """One file while it is written. ``rows``, ``size``: what it has so far."""

    encoders: Encoders
    target: WriteTarget
    bucket: BucketId
    path: str
    rows: int = 0
    size: int = 0
    _last: RowId | None = None

    def parts(self, batches: Iterable[pa.Table]) -> Iterator[bytes | memoryview]:
        """The bytes of the file. NotHere if the rows do not come in the order of their ids, or are
        another bucket's.
        """
        joined, last_ids = JoinedFile(path=self.path), list[RowId]()
        for piece in _in_order(self.encoders, map(self._encoding, self._pieces(batches))):
            self.rows += piece.tail.row_count
            last_ids += piece.last_ids
            yield joined.add(memoryview(piece.data), piece.tail)
        if not self.rows:
            return
        data = joined.end()
        self.size = joined.size + len(data)
        tail = tail_of_bytes(data, self.size, self.path)
        edit = edit_tail(
            tail,
            footer_keys(last_ids, inserts=self.rows),
            self.target.event_schema,
            proleptic=True,
        )
        self.size = edit.offset + len(edit.data)
        yield data[: edit.offset - joined.size] + edit.data

    def _encoding(self, piece: Sequence[_Batch]) -> Callable[[], _Encoded]:
        return partial(_encoded, self.target, self.bucket, self.path, piece)

    def _pieces(self, batches: Iterable[pa.Table]) -> Iterator[Sequence[_Batch]]:
        """The batches, as many at a time as one thread encodes."""
        enough = piece_bytes(self.target)
        piece: list[_Batch] = []
        weight = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            piece.append(_Batch(batch, self._checked_ids(batch)))
            weight += batch.nbytes
            if weight >= enough:
                yield piece
                piece, weight = [], 0
        if piece:
            yield piece

    def _checked_ids(self, batch: pa.Table) -> RowIds:
        ids = row_ids(batch)
        if (
            (self._last is not None and ids.at(0) <= self._last)
            or not is_strictly_ascending(ids.write_ids, ids.bucket_properties, ids.rows)
            or not (bucket_ids(ids.bucket_properties) == self.bucket).all()
        ):
            raise NotHere("rows that do not come in the order of their ids, or of another bucket")
        self._last = ids.at(-1)
        return ids


def piece_bytes(target: WriteTarget) -> int:
    """What the rows of a piece weigh at least: more where the table asks for larger stripes."""
    return max(PIECE_BYTES, min(target.stripe_size // 2, _MOST_PIECE_BYTES))


def _in_order(encoders: Encoders, pieces: Iterable[Callable[[], _Encoded]]) -> Iterator[_Encoded]:
    """The pieces as they are encoded, while others wait for it."""
    begun: deque[Future[_Encoded]] = deque()
    try:
        for piece in pieces:
            interrupts.check()
            begun.append(encoders.begin(piece))
            while begun and begun[0].done():
                yield begun.popleft().result()
        while begun:
            interrupts.check()
            yield begun.popleft().result()
    finally:
        for left in begun:
            left.cancel()


def _encoded(target: WriteTarget, bucket: BucketId, path: str, piece: Sequence[_Batch]) -> _Encoded:
    sink = pa.BufferOutputStream()
    with orc.ORCWriter(sink, **writer_options(target)) as writer:
        for batch in piece:
            writer.write(_events(target, bucket, batch))
    data = sink.getvalue()
    tail = tail_of_bytes(data, data.size, path)
    return _Encoded(data, tail, list(_last_ids(tail, piece)))


def _events(target: WriteTarget, bucket: BucketId, batch: _Batch) -> pa.Table:
    return event_table(
        EventFile(
            target=target,
            bucket=bucket,
            ids=batch.ids,
            values=row_values(values_of(batch.rows), target.table.columns),
            event_write_ids=numpy_array(batch.rows.column(CURRENT)),
        )
    )


def _last_ids(tail: OrcTail, piece: Sequence[_Batch]) -> Iterator[RowId]:
    rest = iter(piece)
    first, ids = 0, next(rest).ids
    for row in last_rows(tail.stripes):
        while row >= first + len(ids):
            first, ids = first + len(ids), next(rest).ids
        yield ids.at(row - first)
