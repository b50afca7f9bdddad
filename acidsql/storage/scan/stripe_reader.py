"""Reads the columns of one ORC file: whole stripes of them, or the row groups that are wanted."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError
from pyarrow import orc

from acidsql.acid.orc_tail import (
    CHUNK_HEADER,
    Encoding,
    Extent,
    OrcCodec,
    OrcTail,
    StreamKind,
    StripeLayout,
    column_file,
    extents,
    positions,
    stripe_layout,
    unpack,
    unpack_until,
    writer_zone,
)
from acidsql.acid.orc_types import (
    EVENT_ROW_COLUMN,
    ROW_FIELD,
    OrcKind,
    OrcType,
    column_numbers,
    struct_type,
)
from acidsql.arrow_arrays import arrow_array
from acidsql.errors import FormatError
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.values import is_utc
from acidsql.files.fileio import FileReader
from acidsql.lazy import dataclass
from acidsql.storage.footers import ScanFile, by_arrow, holds_times, read_footer, timestamps_in
from acidsql.storage.known_files import KeptColumns
from acidsql.storage.stored import without_offset

# ---- writer zones
#
# Old timestamps of files whose writer was of another time zone than UTC.
#
# ORC stores what the clock of its writer's zone shows, as the seconds to a moment. Which offset the
# zone had at a moment before 1970, Java's and Arrow's readers often tell differently: Java knows
# none before 1900, and Arrow's zones are those of the machine. Files of Hive's servers are of their
# zone; those of our driver are of UTC.


_FIRST_SURE = 86_400 * 10**9
"""1970-01-02: Arrow takes fractions of seconds around 1970-01-01 by another clock than Java."""


def refuse_old_times(
    opened: pa.NativeFile, tail: OrcTail, stripe: int, arrays: Iterable[pa.Array]
) -> None:
    """Raises NotHere if columns of a stripe hold timestamps that only Java's readers tell."""
    if not any(_is_old(times) for array in arrays for times in timestamps_in(array)):
        return
    extent = extents(tail)[0][stripe]
    zone = writer_zone(bytes(opened.read_at(extent.footer_length, extent.footer)), tail.codec)
    if zone and not is_utc(zone):
        raise NotHere(f'a timestamp before 1970 of a file whose writer\'s time zone is "{zone}"')


def _is_old(times: pa.Array) -> bool:
    least = pc.min(times.cast(pa.timestamp("ns")).cast(pa.int64()))
    return bool(least.is_valid and least.as_py() < _FIRST_SURE)


# ---- row groups
#
# Few rows of a stripe without decoding all of it: the columns of the row groups that hold them.
#
# Arrow's reader gives whole stripes. But each stripe has an index that tells where in its streams a
# row group begins, so that what belongs to one is cut out and laid before the same reader as a
# small file. A run of values that began in the group before is cut out with it, and its first
# values are thrown away.


SHARE = 8
"""Row groups are read by themselves where they are at most one of so many."""

_RUNS = frozenset(
    (OrcKind.BYTE, OrcKind.SHORT, OrcKind.INT, OrcKind.LONG, OrcKind.DATE, OrcKind.BOOLEAN)
)
_TEXTS = {
    OrcKind.STRING: pa.string(),
    OrcKind.CHAR: pa.string(),
    OrcKind.VARCHAR: pa.string(),
    OrcKind.BINARY: pa.binary(),
}
_DIRECT = Encoding(0, 0)
_BOOLEAN = OrcType(kind=OrcKind.BOOLEAN)
_LENGTHS = OrcType(kind=OrcKind.LIST, children=(struct_type([], []),))
"""A column that has no other values than lengths."""

_RUN_BYTES = 1 << 13
"""More than any run of values takes."""

_BROKEN = (ValueError, IndexError, KeyError, OSError, DecodeError, zlib.error, pa.ArrowException)


class _Cut(NamedTuple):
    """The bytes of a stream from the chunk or byte on that holds the first value of a row group.
    ``skip``: how many values come before it.
    """

    data: bytes
    skip: int


def few_groups(
    opened: pa.NativeFile, tail: OrcTail, stripe: int, wanted: npt.NDArray[np.bool_]
) -> RowGroups | None:
    """The row groups of a stripe that hold the rows that are ``wanted`` of it; None if they are not
    few, or the file has none.
    """
    stripes, stride = extents(tail)
    if not stride:
        return None
    counts = np.add.reduceat(wanted, np.arange(0, len(wanted), stride), dtype=np.int64)
    groups = np.flatnonzero(counts).tolist()
    if len(groups) * SHARE > len(counts):
        return None
    return RowGroups(opened, tail, stripe, stripes[stripe], stride, groups)


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a stripe, of ``stride`` rows each but for the stripe's last."""

    opened: pa.NativeFile
    tail: OrcTail
    stripe: int
    extent: Extent
    stride: int
    groups: Sequence[int]

    @property
    def spans(self) -> list[slice]:
        """The rows of each group in the stripe."""
        ends = [min((g + 1) * self.stride, self.extent.rows) for g in self.groups]
        return [slice(g * self.stride, end) for g, end in zip(self.groups, ends, strict=True)]

    def cut(self, array: pa.Array) -> pa.Array:
        """The values of the groups, from those of the stripe."""
        return _joined([array[span] for span in self.spans])

    def cut_mask(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.concatenate([mask[span] for span in self.spans])

    def columns(
        self, numbers: Sequence[tuple[int, OrcType]], *, in_events: bool
    ) -> list[pa.Array | None]:
        """The values of columns, each told by its type number and its type. None where one is of a
        type, or stored in a way, that is not known here: then the whole stripe must be read.
        """
        extent, tail = self.extent, self.tail
        try:
            section = bytes(self.opened.read_at(extent.footer_length, extent.footer))
            layout = stripe_layout(section, tail.codec, extent)
        except _BROKEN:
            return [None] * len(numbers)
        if in_events and (EVENT_ROW_COLUMN, StreamKind.PRESENT) in layout.streams:
            return [None] * len(numbers)
        return [self._column(layout, number, kind) for number, kind in numbers]

    def _column(self, layout: StripeLayout, number: int, kind: OrcType) -> pa.Array | None:
        try:
            column = _Column(self.opened, self.tail, kind, layout, number)
            parts = [
                column.values(group, span.stop - span.start)
                for group, span in zip(self.groups, self.spans, strict=True)
            ]
            return _joined(parts)
        except _BROKEN:
            return None


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    return without_offset(parts[0] if len(parts) == 1 else pa.concat_arrays(parts))


class _Column:
    """One column of a stripe. ValueError and what else is broken, here and below."""

    def __init__(
        self,
        opened: pa.NativeFile,
        tail: OrcTail,
        kind: OrcType,
        layout: StripeLayout,
        number: int,
    ) -> None:
        self._opened = opened
        self._codec = tail.codec
        self._of_chunk = 1 if tail.codec is OrcCodec.NONE else 2
        self._block = tail.block_size
        self._kind = kind
        self._encoding = layout.encodings[number]
        self._streams = {of: at for (column, of), at in layout.streams.items() if column == number}
        self._positions = positions(self._whole(StreamKind.ROW_INDEX), tail.codec)
        self._where = dict(self._order())

    def values(self, group: int, rows: int) -> pa.Array:
        """The values of a row group of so many rows."""
        if StreamKind.PRESENT not in self._streams:
            return self._present(group, rows)
        cut = self._cut(StreamKind.PRESENT, group)
        is_there = _decoded(_BOOLEAN, _DIRECT, cut.skip, rows, {StreamKind.DATA: cut.data})
        mask = is_there.to_numpy(zero_copy_only=False)
        present = self._present(group, int(mask.sum()))
        numbers = pc.if_else(
            is_there, arrow_array(np.cumsum(mask) - 1), pa.scalar(None, pa.int64())
        )
        return present.take(numbers)

    def _present(self, group: int, rows: int) -> pa.Array:
        """The values of a row group of which so many are not NULL."""
        if self._kind.kind in _TEXTS and not self._encoding.is_dictionary:
            return self._texts(group, rows)
        cut = self._cut(StreamKind.DATA, group)
        streams = {StreamKind.DATA: cut.data}
        skip = cut.skip
        if self._kind.kind in _TEXTS:
            for kind in (StreamKind.DICTIONARY_DATA, StreamKind.LENGTH):
                streams[kind] = unpack(self._whole(kind), self._codec)
        elif self._kind.kind is OrcKind.DECIMAL:
            scales = self._cut(StreamKind.SECONDARY, group)
            # A value for each scale that is thrown away: zeros, a byte each.
            streams = {
                StreamKind.DATA: bytes(scales.skip) + cut.data,
                StreamKind.SECONDARY: scales.data,
            }
            skip = scales.skip
        return _decoded(self._kind, self._encoding, skip, rows, streams)

    def _texts(self, group: int, rows: int) -> pa.Array:
        lengths = self._cut(StreamKind.LENGTH, group)
        lists = _decoded(
            _LENGTHS, self._encoding, lengths.skip, rows, {StreamKind.LENGTH: lengths.data}
        )
        offsets = lists.offsets.to_numpy()
        offsets = (offsets - offsets[0]).astype(np.int32)
        data = self._cut(StreamKind.DATA, group).data
        if len(data) < offsets[-1]:
            raise ValueError("a stream of texts is too short")
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(_TEXTS[self._kind.kind], rows, buffers)

    def _order(self) -> Iterator[tuple[StreamKind, slice]]:
        """Which of the numbers of a position are of which stream."""
        at = 0
        for kind, of_run in self._runs():
            yield kind, slice(at, at + self._of_chunk + of_run)
            at += self._of_chunk + of_run
        if any(len(numbers) != at for numbers in self._positions):
            raise ValueError("a position has other numbers than its streams")

    def _runs(self) -> Iterator[tuple[StreamKind, int]]:
        """The streams that positions tell of, in their order, with how many numbers tell where in a
        run a value is.
        """
        if StreamKind.PRESENT in self._streams:
            yield StreamKind.PRESENT, 2
        match self._kind.kind:
            case OrcKind.BOOLEAN:
                yield StreamKind.DATA, 2
            case kind if kind in _RUNS or (kind in _TEXTS and self._encoding.is_dictionary):
                yield StreamKind.DATA, 1
            case OrcKind.FLOAT | OrcKind.DOUBLE:
                yield StreamKind.DATA, 0
            case OrcKind.DECIMAL:
                yield from ((StreamKind.DATA, 0), (StreamKind.SECONDARY, 1))
            case kind if kind in _TEXTS:
                yield from ((StreamKind.DATA, 0), (StreamKind.LENGTH, 1))
            case other:
                raise ValueError(f"row groups of {other.name} are not read by themselves")

    def _cut(self, kind: StreamKind, group: int) -> _Cut:
        """A stream from the beginning of a row group on, at least to its end, without
        compression.
        """
        stream, where = self._streams[kind], self._where[kind]
        chunk, *rest = self._positions[group][where]
        run = rest[self._of_chunk - 1 :]
        until: tuple[int, int] | None = None
        end = len(stream)
        if group + 1 < len(self._positions):
            last, *behind = self._positions[group + 1][where]
            # The last run may reach into the chunk behind the one that it begins in.
            until = last - chunk, sum(behind[: self._of_chunk - 1]) + (_RUN_BYTES if run else 0)
            end = min(last + max(2 * (self._block + CHUNK_HEADER), _RUN_BYTES), end)
        data = bytes(self._opened.read_at(end - chunk, stream.start + chunk))
        skip = run[0] if len(run) == 1 else 8 * run[0] + run[1] if run else 0
        if self._codec is OrcCodec.NONE:
            return _Cut(data, skip)
        return _Cut(unpack_until(data, self._codec, until)[rest[0] :], skip)

    def _whole(self, kind: StreamKind) -> bytes:
        stream = self._streams[kind]
        return bytes(self._opened.read_at(len(stream), stream.start))


def _decoded(
    kind: OrcType, encoding: Encoding, skip: int, rows: int, streams: dict[StreamKind, bytes]
) -> pa.Array:
    """The values of a column behind the first ``skip``."""
    data = column_file(kind, encoding, skip + rows, streams)
    column = orc.ORCFile(pa.BufferReader(data)).read().column(0).combine_chunks()
    if len(column) != skip + rows:
        raise ValueError("a row group has other rows than its stripe says")
    return column[skip:]


# ---- stripe reader


Mask = npt.NDArray[np.bool_]

_ENTRY_BYTES = 1024
"""What keeping columns takes beside their values."""


class StripeReader:
    """One file, opened when columns are first asked for. ``kept``: where what is read is kept."""

    def __init__(self, io: FileReader, file: ScanFile, kept: KeptColumns) -> None:
        self._io = io
        self._file = file
        self._kept = kept
        self._opened: pa.NativeFile | None = None
        self._orc: orc.ORCFile | None = None
        self._tail: OrcTail | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> pa.NativeFile:
        if self._opened is None:
            self._opened = self._io.open_input(self._file.path)
        return self._opened

    def read(
        self, stripe: int, id_columns: Sequence[str], ordinals: Iterable[int]
    ) -> tuple[dict[str, pa.Array], dict[int, pa.Array]]:
        """The id columns of a stripe by their names, and data columns by their ordinals."""
        names: list[str | int] = [*id_columns, *sorted(set(ordinals))]
        columns = {name: self._kept.find((self._file.key, stripe, name)) for name in names}
        missing = [name for name, column in columns.items() if column is None]
        if missing:
            read = self._read(stripe, missing)
            columns |= read
            for name, column in read.items():
                weight = _ENTRY_BYTES + column.nbytes
                self._kept.keep((self._file.key, stripe, name), column, weight)
        return (
            {name: column for name, column in columns.items() if isinstance(name, str)},
            {name: column for name, column in columns.items() if isinstance(name, int)},
        )

    def _read(self, stripe: int, columns: Sequence[str | int]) -> dict[str | int, pa.Array]:
        id_columns = [name for name in columns if isinstance(name, str)]
        wanted = [ordinal for ordinal in columns if isinstance(ordinal, int)]
        batch = self._batch(stripe, id_columns, wanted)
        if len(batch) != self._file.stripes[stripe][1]:
            raise FormatError(
                f'file "{self._file.path}" does not hold the rows its footer tells of',
                detail=f"{len(batch)} instead of {self._file.stripes[stripe][1]}",
            )
        read: dict[str | int, pa.Array] = {name: batch.column(name) for name in id_columns}
        if any(column.null_count for column in read.values()):
            raise FormatError(f'file "{self._file.path}" holds events without ids')
        if not wanted:
            return read
        arrays = batch.columns
        if not self._file.file.original:
            row = batch.column(ROW_FIELD)
            if row.null_count and not self._file.mixed:
                raise FormatError(f'file "{self._file.path}" holds insert events without rows')
            arrays = row.flatten()
        self._refuse_old_times(stripe, arrays)
        if len(arrays) > len(wanted):
            return read | {ordinal: arrays[ordinal] for ordinal in wanted}
        return read | dict(zip(wanted, arrays, strict=True))

    def _refuse_old_times(self, stripe: int, arrays: Sequence[pa.Array]) -> None:
        """Raises NotHere for timestamps of files that Java wrote, if Java alone tells them."""
        assert self._orc is not None
        if by_arrow(self._orc) or not any(map(holds_times, self._file.columns.children)):
            return
        if self._tail is None:
            self._tail = read_footer(self._io, self._file.path)
        refuse_old_times(self._open(), self._tail, stripe, arrays)

    def groups(self, stripe: int, wanted: Mask) -> RowGroups | None:
        """The row groups of a stripe that hold the rows wanted; None where they are not few."""
        if self._file.mixed or int(np.count_nonzero(wanted)) * SHARE > len(wanted):
            return None
        if self._tail is None:
            self._tail = read_footer(self._io, self._file.path)
        return few_groups(self._open(), self._tail, stripe, wanted)

    def read_groups(self, groups: RowGroups, ordinals: set[int]) -> dict[int, pa.Array]:
        """Data columns of some row groups of a stripe by their ordinals."""
        wanted = sorted(ordinals)
        in_events = not self._file.file.original
        numbers = column_numbers(self._file.columns, in_events=in_events)
        kinds = self._file.columns.children
        arrays = dict(
            zip(
                wanted,
                groups.columns([(numbers[at], kinds[at]) for at in wanted], in_events=in_events),
                strict=True,
            )
        )
        left = [ordinal for ordinal, array in arrays.items() if array is None]
        whole = self.read(groups.stripe, (), left)[1]
        return arrays | {ordinal: groups.cut(whole[ordinal]) for ordinal in left}

    def _batch(
        self, stripe: int, id_columns: Sequence[str], ordinals: Sequence[int]
    ) -> pa.RecordBatch:
        try:
            if self._orc is None:
                self._orc = orc.ORCFile(self._open())
            return self._orc.read_stripe(stripe, columns=self._names(id_columns, ordinals))
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            if "out of range" in str(error):
                raise NotHere("a timestamp lies outside of the years 1677 to 2262") from error
            if "ime zone" in str(error):
                raise NotHere("timestamps of a time zone that only Java knows") from error
            detail = str(error).splitlines()[0] if str(error) else None
            raise FormatError(f'cannot read file "{self._file.path}"', detail=detail) from error

    def _names(self, id_columns: Sequence[str], ordinals: Sequence[int]) -> list[str] | None:
        """The columns as Arrow is told of them; None, all of them, where it could not be told."""
        names = [self._file.columns.names[ordinal] for ordinal in ordinals]
        if any("." in name or "`" in name for name in names):
            return None
        if self._file.file.original:
            return names
        return [*id_columns, *(f"{ROW_FIELD}.{name}" for name in names)]
