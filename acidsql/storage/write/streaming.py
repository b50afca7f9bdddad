"""Rows that come batch by batch become one final file, however many there are: insert events in the
order of their ids, and new rows:

    batches --> pieces --a thread each--> files in memory --their stripes, in order--> the file

No more lies in memory than a piece for each thread, and one that grows. The file has one tail,
which is made once: nothing that was written is read or written again.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, repeat
from threading import BoundedSemaphore
from types import TracebackType
from typing import NamedTuple, Protocol, Self, TypeVar

import pyarrow as pa
from pyarrow import orc

from acidsql import crash_points, interrupts
from acidsql.acid.ids import BucketId, RowId, bucket_ids
from acidsql.acid.joining import JoinedFile
from acidsql.acid.orc_tail import OrcTail, edit_tail, footer_keys, is_strictly_ascending, last_rows
from acidsql.arrow_arrays import numpy_array
from acidsql.errors import InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import THREADS
from acidsql.lazy import dataclass
from acidsql.storage.events.event_rows import CURRENT, values_of
from acidsql.storage.events.row_ids import RowIds, row_ids
from acidsql.storage.partitions import by_values
from acidsql.storage.write.driver_writer import (
    MANY_BYTES,
    EventFile,
    event_table,
    new_row_ids,
    plain_table,
    row_values,
    tail_of_bytes,
    writer_options,
)
from acidsql.storage.write.target import (
    StagedFile,
    WriteTarget,
    Written,
    partitions_of,
    staging,
    take_in,
)

# ---- encoders
#
# Threads that encode rows. They are the processors' and shared by all files that are written at
# once, so that a file alone keeps all of them busy, and many files hold no more in memory than one.


_Result = TypeVar("_Result")


class Encoders:
    """Does as many pieces of work at once as there are threads; who brings another one waits.
    Behind its ``with`` none is in hand.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="acidsql-encode")
        self._free = BoundedSemaphore(threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, work: Callable[[], _Result]) -> Future[_Result]:
        """Lets a thread do ``work``, as soon as one is free."""
        self._free.acquire()
        try:
            future = self._pool.submit(work)
        except BaseException:
            self._free.release()
            raise
        future.add_done_callback(lambda _: self._free.release())
        return future


# ---- streaming


PIECE_BYTES = 32 << 20
"""What the rows of a piece weigh in memory. Encoded they weigh a third and less: a stripe, or
several where the table asks for small ones.
"""
_MOST_PIECE_BYTES = 256 << 20
_SLICE_BYTES = 1 << 20
"""What of a batch goes to a piece at once."""


def stage_stream(
    io: FileIO,
    encoders: Encoders,
    target: WriteTarget,
    directory: str,
    bucket: BucketId,
    batches: Iterable[pa.Table],
) -> StagedFile | None:
    """The finished file of ``batches`` (``EventRows.batches``), below ``directory``; None if
    there is no row. NotHere if the rows do not come in the order of their ids, or are another
    bucket's.
    """
    stream = _Stream(
        encoders=encoders, target=target, bucket=bucket, path=f"{directory}/{uuid.uuid4().hex}"
    )
    return stream.stage(io, _checked(target, bucket, batches), repeat(piece_bytes(target)))


def insert_batches(io: FileIO, target: WriteTarget, batches: Iterable[pa.Table]) -> Written:
    """Writes an INSERT's rows while they come, those of ``driver_writer.insert_rows``: into one
    file of a table without buckets, all of one partition. Nobody asks for them again.
    """
    with staging(io, target) as directory, Encoders() as encoders:
        path = f"{directory}/{uuid.uuid4().hex}"
        target, batches = _placed(target, iter(batches))
        stream = _Stream(encoders=encoders, target=target, bucket=BucketId(0), path=path)
        staged = stream.stage(io, _new_rows(target, batches), _growing(encoders, target))
        files = [] if staged is None else [staged]
        directories = take_in(target, files)
    partitions = partitions_of(files) or target.sure
    return Written(directories=directories, partitions=partitions, inserted=stream.rows)


def _placed(
    target: WriteTarget, batches: Iterator[pa.Table]
) -> tuple[WriteTarget, Iterable[pa.Table]]:
    """The target of the partition that all rows are of, and the rows without its texts."""
    if not target.table.partition_columns:
        return target, batches
    parts = (part for batch in batches for part in by_values(target.table, batch))
    first = next(parts, None)
    if first is None:
        return target, ()
    values = first[0]

    def rows() -> Iterator[pa.Table]:
        for key, part in chain((first,), parts):
            if key != values:
                raise InternalError("rows of several partitions are streamed to one")
            yield part

    return target.at(values), rows()


def piece_bytes(target: WriteTarget) -> int:
    """What the rows of a piece weigh at least: more where the table asks for larger stripes."""
    return max(PIECE_BYTES, min(target.stripe_size // 2, _MOST_PIECE_BYTES))


def _growing(encoders: Encoders, target: WriteTarget) -> Iterator[int]:
    """New rows begin with small pieces, one for each thread, which then become larger: all threads
    are soon busy, and in the end none waits long for another.
    """
    most, size = piece_bytes(target), MANY_BYTES
    while size < most:
        yield from repeat(size, encoders.threads)
        size *= 2
    yield from repeat(most)


# ---- what comes, batch by batch


class _Part(Protocol):
    """Rows that go to a piece together."""

    @property
    def count(self) -> int: ...
    @property
    def weight(self) -> int: ...
    def table(self) -> pa.Table:
        """The rows as Arrow's writer takes them; an encoding thread asks."""

    def id_at(self, position: int) -> RowId:
        """The id of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """Insert events that have their ids."""

    target: WriteTarget
    bucket: BucketId
    rows: pa.Table
    ids: RowIds

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def weight(self) -> int:
        return int(self.rows.nbytes)

    def table(self) -> pa.Table:
        file = EventFile(
            target=self.target,
            bucket=self.bucket,
            ids=self.ids,
            values=row_values(values_of(self.rows), self.target.table.columns),
            event_write_ids=numpy_array(self.rows.column(CURRENT)),
        )
        return event_table(file)

    def id_at(self, position: int) -> RowId:
        return self.ids.at(position)


def _checked(
    target: WriteTarget, bucket: BucketId, batches: Iterable[pa.Table]
) -> Iterator[_Events]:
    last: RowId | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        ids = row_ids(batch)
        if (
            (last is not None and ids.at(0) <= last)
            or not is_strictly_ascending(ids.write_ids, ids.bucket_properties, ids.rows)
            or not (bucket_ids(ids.bucket_properties) == bucket).all()
        ):
            raise NotHere("rows that do not come in the order of their ids, or of another bucket")
        last = ids.at(-1)
        yield _Events(target=target, bucket=bucket, rows=batch, ids=ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewRows:
    """Rows that get their ids here, if the table has any. ``first``: the number of the first."""

    target: WriteTarget
    first: int
    rows: pa.Table

    @property
    def count(self) -> int:
        return int(self.rows.num_rows)

    @property
    def weight(self) -> int:
        return int(self.rows.nbytes)

    def table(self) -> pa.Table:
        table, bucket = self.target.table, BucketId(0)
        values = row_values(self.rows, table.columns)
        if not table.is_full_acid:
            return plain_table(values)
        ids = new_row_ids(self.target, bucket, range(self.first, self.first + self.count))
        return event_table(EventFile(target=self.target, bucket=bucket, ids=ids, values=values))

    def id_at(self, position: int) -> RowId:
        at = self.first + position
        return new_row_ids(self.target, BucketId(0), range(at, at + 1)).at(0)


def _new_rows(target: WriteTarget, batches: Iterable[pa.Table]) -> Iterator[_NewRows]:
    first = 0
    for batch in batches:
        size = max(1, batch.num_rows * _SLICE_BYTES // max(1, batch.nbytes))
        for at in range(0, batch.num_rows, size):
            rows = batch.slice(at, size)
            yield _NewRows(target=target, first=first, rows=rows)
            first += rows.num_rows


# ---- the file


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

    def stage(self, io: FileIO, parts: Iterable[_Part], sizes: Iterator[int]) -> StagedFile | None:
        """Writes the file; None if there is no row. ``sizes``: what each piece weighs at least."""
        bytes_of_file = self._bytes(parts, sizes)
        if (first := next(bytes_of_file, None)) is None:
            return None
        try:
            io.write_pieces(self.path, chain((first,), bytes_of_file))
        except NotHere:  # Spark takes over, and what is here is no part of what it writes
            io.delete_file(self.path)
            raise
        events = self.target.table.is_full_acid
        return StagedFile(
            path=self.path,
            directory=self.target.insert_directory if events else self.target.plain_directory,
            bucket=self.bucket,
            rows=self.rows,
            size=self.size,
            partition=self.target.partition,
            original=not events,
        )

    def _bytes(self, parts: Iterable[_Part], sizes: Iterator[int]) -> Iterator[bytes | memoryview]:
        joined, last_ids = JoinedFile(path=self.path), list[RowId]()
        pieces = (partial(_encoded, self.target, self.path, p) for p in _pieces(parts, sizes))
        for piece in _in_order(self.encoders, pieces):
            self.rows += piece.tail.row_count
            last_ids += piece.last_ids
            yield joined.add(memoryview(piece.data), piece.tail)
            crash_points.reached("piece written")
        if not self.rows:
            return
        data = joined.end()
        self.size = joined.size + len(data)
        tail = tail_of_bytes(data, self.size, self.path)
        if self.target.table.is_full_acid:
            keys, schema = footer_keys(last_ids, inserts=self.rows), self.target.event_schema
        else:
            keys, schema = {}, self.target.row_schema
        edit = edit_tail(tail, keys, schema, proleptic=True)
        self.size = edit.offset + len(edit.data)
        yield data[: edit.offset - joined.size] + edit.data


def _pieces(parts: Iterable[_Part], sizes: Iterator[int]) -> Iterator[Sequence[_Part]]:
    """The parts, as many at a time as one thread encodes."""
    piece: list[_Part] = []
    weight, enough = 0, next(sizes)
    for part in parts:
        piece.append(part)
        weight += part.weight
        if weight >= enough:
            yield piece
            piece, weight, enough = [], 0, next(sizes)
    if piece:
        yield piece


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


def _encoded(target: WriteTarget, path: str, piece: Sequence[_Part]) -> _Encoded:
    sink = pa.BufferOutputStream()
    with orc.ORCWriter(sink, **writer_options(target)) as writer:
        for part in piece:
            writer.write(part.table())
    data = sink.getvalue()
    tail = tail_of_bytes(data, data.size, path)
    ids = list(_last_ids(tail, piece)) if target.table.is_full_acid else []
    return _Encoded(data, tail, ids)


def _last_ids(tail: OrcTail, piece: Sequence[_Part]) -> Iterator[RowId]:
    rest = iter(piece)
    first, part = 0, next(rest)
    for row in last_rows(tail.stripes):
        while row >= first + part.count:
            first, part = first + part.count, next(rest)
        yield part.id_at(row - first)
