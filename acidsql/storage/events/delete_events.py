"""The delete events of a snapshot, on the driver: read by file, kept by file, and packed into one
sorted key for each dead row.

Files hold three id columns that matter and nothing else, so reading them here takes milliseconds
where a Spark job takes a fifth of a second. Hive's files may repeat an event (its minor compaction
copies events into every bucket file) and hold events of any bucket.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.files.local_files import LOCAL
from acidsql.lazy import dataclass
from acidsql.storage.file_layout import Longs, column_batches, read_columns
from acidsql.storage.footers import FileKey, RowIdRange, ScanFile

MAX_EVENTS = 5_000_000
"""The most delete events that are sorted here; Spark's filter takes more of them in its stride."""

_FEW_RUNS = 64
"""Runs of equal values that are taken one by one, unsorted: this many, and one for each as many
values.
"""

_DELETE = 2
_KEY_BITS = 62
"""Sign and one spare: a key is never negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEvents:
    """The ids of dead rows as parallel columns, in no order. ``event_write_ids``: the write ids
    that deleted them. ``partition_numbers``: the partitions of the snapshot that they lie in.

    Partitions number their rows each for itself: the same id may be that of another row elsewhere.
    The columns are only read: one of one value may be that value alone in memory.
    """

    write_ids: Longs
    bucket_properties: Longs
    rows: Longs
    event_write_ids: Longs
    partition_numbers: Longs

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, mask: npt.NDArray[np.bool_]) -> DeleteEvents:
        return DeleteEvents(
            write_ids=self.write_ids[mask],
            bucket_properties=self.bucket_properties[mask],
            rows=self.rows[mask],
            event_write_ids=self.event_write_ids[mask],
            partition_numbers=self.partition_numbers[mask],
        )


@dataclass(frozen=True, slots=True)
class DeadIds:
    """The distinct delete events: row numbers in ascending order, by partition, write id and bucket
    property.
    """

    rows: Mapping[tuple[int, ...], Longs]
    partition_numbers: frozenset[int]

    @classmethod
    def of(cls, files: Iterable[DeleteEvents]) -> DeadIds:
        """The dead ids of these files. Most files hold ids of one write id and bucket in ascending
        order: then nothing is sorted.
        """
        parts: dict[tuple[int, ...], list[Longs]] = {}
        for events in files:
            for key, positions in _grouped(
                (events.partition_numbers, events.write_ids, events.bucket_properties)
            ):
                parts.setdefault(key, []).append(events.rows[positions])
        return cls(
            {key: _ascending(rows) for key, rows in parts.items()},
            frozenset(number for number, *_ in parts),
        )

    @classmethod
    def joined(cls, parts: Sequence[DeadIds]) -> DeadIds:
        """The ids that are in any part."""
        rows: dict[tuple[int, ...], list[Longs]] = {}
        for part in parts:
            for key, ascending in part.rows.items():
                rows.setdefault(key, []).append(ascending)
        return cls(
            {key: _ascending(of_key) for key, of_key in rows.items()},
            frozenset().union(*(part.partition_numbers for part in parts)),
        )

    def within(self, partition_number: int, ids: RowIdRange) -> int:
        """How many of the ids are dead."""
        rows = self.rows.get((partition_number, ids.write_id, ids.bucket_property))
        return (
            0
            if rows is None
            else int(
                np.searchsorted(rows, ids.last, "right") - np.searchsorted(rows, ids.first, "left")
            )
        )

    def alive(
        self, partition_number: int, write_ids: Longs, bucket_properties: Longs, rows: Longs
    ) -> npt.NDArray[np.bool_]:
        """Which of these rows of a partition no event hits."""
        alive = np.ones(len(rows), np.bool_)
        for (write_id, bucket), positions in _grouped((write_ids, bucket_properties)):
            alive[positions] = self.alive_of(partition_number, write_id, bucket, rows[positions])
        return alive

    def alive_of(
        self, partition_number: int, write_id: int, bucket_property: int, rows: Longs
    ) -> npt.NDArray[np.bool_]:
        """Which of these rows of one write id and bucket property no event hits."""
        dead = self.rows.get((partition_number, write_id, bucket_property))
        return np.ones(len(rows), np.bool_) if dead is None else ~_are_in(rows, dead)


def _ascending(parts: Sequence[Longs]) -> Longs:
    """The distinct values of all parts, ascending."""
    rows = np.concatenate(parts)
    return rows if (rows[1:] > rows[:-1]).all() else _distinct(rows)


def _distinct(values: Longs) -> Longs:
    """The values once each, ascending; the array is used up. (``np.unique`` hashes first, which
    takes ten times as long.)
    """
    values.sort()
    is_new = np.append(True, values[1:] != values[:-1])
    return values if not len(values) or is_new.all() else values[is_new]


def _grouped(columns: Sequence[Longs]) -> Iterator[tuple[tuple[int, ...], Longs | slice]]:
    """Each combination of values and the positions where it stands, which may come in parts."""
    count = len(columns[0])
    if not count:
        return
    # Rows of a file are sorted by these columns: mostly they are a few runs.
    changed = columns[0][1:] != columns[0][:-1]
    for column in columns[1:]:
        changed |= column[1:] != column[:-1]
    ends = np.flatnonzero(changed)
    if len(ends) <= _FEW_RUNS + count // _FEW_RUNS:
        for start, end in pairwise([0, *(ends + 1).tolist(), count]):
            yield tuple(int(column[start]) for column in columns), slice(start, end)
        return
    order = np.lexsort(columns[::-1])
    changes = (
        np.flatnonzero(np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns]))
        + 1
    )
    for start, end in pairwise([0, *changes.tolist(), count]):
        yield tuple(int(column[order[start]]) for column in columns), order[start:end]


def _are_in(values: Longs, ascending: Longs) -> npt.NDArray[np.bool_]:
    """Which values are among the ascending ones, which are distinct and not empty."""
    if len(values) > len(ascending) and (values[1:] > values[:-1]).all():
        # Rows of a file ascend: then the few are looked up among the many.
        are_in = np.zeros(len(values), np.bool_)
        indexes = np.minimum(np.searchsorted(values, ascending), len(values) - 1)
        are_in[indexes[values[indexes] == ascending]] = True
        return are_in
    indexes = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.equal(ascending[indexes], values)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRows:
    """The ids of dead rows, each as one number: exact for every write id and all 32 bits of a
    bucket property.

    A row (w, b, r) of partition p is dead if p < 2**partition_bits, w is in ``write_ids`` at
    position i, b in ``bucket_properties`` at position j, 0 <= r < 2**row_bits, and (((p <<
    write_id_bits | i) << bucket_bits | j) << row_bits) | r is in ``keys``. All three arrays ascend
    strictly. All p are below 2**partition_bits. The widths are rounded up, so that they (the only
    part of it that is text in generated code) seldom change.
    """

    write_ids: Longs
    bucket_properties: Longs
    keys: Longs
    partition_bits: int
    write_id_bits: int
    bucket_bits: int
    row_bits: int


def pack(parts: Sequence[DeleteEvents]) -> DeadRows | None:
    """The events as one key for each dead row; None if the ids are too wide to fit one number.
    There must be at least one event.
    """
    parts = [part for part in parts if len(part)]
    write_ids = _values([part.write_ids for part in parts])
    buckets = _values([part.bucket_properties for part in parts])
    row_bits, partition_bits = (
        _round_up(max(int(numbers.max()) for numbers in columns))
        for columns in ([p.rows for p in parts], [p.partition_numbers for p in parts])
    )
    bucket_bits, write_id_bits = (_round_up(len(values) - 1) for values in (buckets, write_ids))
    if partition_bits + write_id_bits + bucket_bits + row_bits > _KEY_BITS:
        return None
    keys = np.empty(sum(map(len, parts)), np.int64)
    end = 0
    for part in parts:
        begin, end = end, end + len(part)
        key = keys[begin:end]
        key[:] = part.partition_numbers
        for bits, number in (
            (write_id_bits, _positions(write_ids, part.write_ids)),
            (bucket_bits, _positions(buckets, part.bucket_properties)),
            (row_bits, part.rows),
        ):
            key <<= bits
            key |= number
    return DeadRows(
        write_ids=write_ids,
        bucket_properties=buckets,
        keys=_distinct(keys),
        partition_bits=partition_bits,
        write_id_bits=write_id_bits,
        bucket_bits=bucket_bits,
        row_bits=row_bits,
    )


def _values(columns: Sequence[Longs]) -> Longs:
    """The distinct values of columns, ascending."""
    return _distinct(
        np.concatenate([c[:1] if _is_one_value(c) else _distinct(c.copy()) for c in columns])
    )


def _positions(values: Longs, column: Longs) -> Longs | np.int64:
    """Where each value of a column is among the ascending ``values``, which hold it."""
    positions: Longs | np.int64 = np.searchsorted(
        values, column[0] if _is_one_value(column) else column
    )
    return positions


def _round_up(most: int) -> int:
    """How many bits hold ``most``: 4, 8, 12 .."""
    return max(4, -(-most.bit_length() // 4) * 4)


class DeleteEventReader:
    """Reads files of delete events and keeps them, up to a number of events in all; of
    one session.
    """

    def __init__(self, io: FileIO = LOCAL) -> None:
        self.io = io
        self._kept: OrderedDict[FileKey, DeleteEvents] = OrderedDict()
        self._pool = ThreadPoolExecutor(
            max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="acidsql-deletes"
        )

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._kept.clear()

    def parts(
        self, files: Sequence[ScanFile], write_ids: ValidWriteIdList | None, keep: int
    ) -> list[DeleteEvents]:
        """The events of each of the ``files`` by valid write ids (None: no file needs a filter).
        ``keep``: how many events may be held for the next time.
        """
        missing = [file for file in files if file.key not in self._kept]
        self._kept.update(
            zip(
                (file.key for file in missing),
                self._pool.map(lambda file: read_events(self.io, file), missing),
                strict=True,
            )
        )
        parts = [
            _numbered(_visible(self._kept[file.key], file, write_ids), file.partition_number)
            for file in files
        ]
        for file in files:
            self._kept.move_to_end(file.key)
        self._shrink(keep)
        return parts

    def _shrink(self, keep: int) -> None:
        total = sum(map(len, self._kept.values()))
        while total > keep:
            _, gone = self._kept.popitem(last=False)
            total -= len(gone)


def _visible(
    events: DeleteEvents, file: ScanFile, write_ids: ValidWriteIdList | None
) -> DeleteEvents:
    if write_ids is None or not file.file.needs_row_filter:
        return events
    return events.where(valid_mask(events.event_write_ids, write_ids))


def _numbered(events: DeleteEvents, number: int) -> DeleteEvents:
    return replace(events, partition_numbers=_repeated(number, len(events))) if number else events


def valid_mask(ids: Longs, write_ids: ValidWriteIdList) -> npt.NDArray[np.bool_]:
    """Which of ``ids`` are valid write ids."""
    exceptions = np.array(write_ids.exceptions, dtype=np.int64)
    return (ids <= write_ids.high_watermark) & ~np.isin(ids, exceptions)


_EVENT_COLUMNS = ("operation", *ID_FIELDS, "currentTransaction")


def read_events(io: FileIO, file: ScanFile) -> DeleteEvents:
    """The delete events of one file. FormatError if it does not hold what its footer tells of, or
    other events.
    """
    events = _events(file.path, read_columns(io, file.path, _EVENT_COLUMNS))
    _check_ranges(file, len(events), _extents(events))
    return events


def event_batches(io: FileIO, file: ScanFile, size: int) -> Iterator[DeleteEvents]:
    """What ``read_events`` gives, at most ``size`` events at a time: however many there are."""
    count, extents = 0, _NO_EXTENTS
    for columns in column_batches(io, file.path, _EVENT_COLUMNS, size):
        events = _events(file.path, columns)
        count += len(events)
        extents = tuple(map(_joined, extents, _extents(events)))
        yield events
    _check_ranges(file, count, extents)


def _events(path: str, columns: Sequence[Longs]) -> DeleteEvents:
    operation, write_ids, buckets, rows, event_write_ids = columns
    if (operation != _DELETE).any():
        raise FormatError(f'file "{path}" holds other events than deletes')
    if len(rows) and int(rows.min()) < 0:
        raise FormatError(f'file "{path}" holds a negative row number')
    return DeleteEvents(
        write_ids=_slim(write_ids),
        bucket_properties=_slim(buckets),
        rows=rows,
        event_write_ids=_slim(event_write_ids),
        partition_numbers=_repeated(0, len(rows)),
    )


def _slim(column: Longs) -> Longs:
    """The column; of one value, as those of most files are, in the memory of that value."""
    return _repeated(int(column[0]), len(column)) if _holds_one(column) else column


def _holds_one(column: Longs) -> bool:
    return len(column) > 0 and bool((column == column[0]).all())


def _repeated(value: int, count: int) -> Longs:
    return np.broadcast_to(np.int64(value), count)


def _is_one_value(column: Longs) -> bool:
    """Whether it is one of ``_repeated``."""
    return column.strides == (0,)


_Extent = tuple[int, int] | None
_NO_EXTENTS: tuple[_Extent, ...] = (None,) * len(ID_FIELDS)


def _extents(events: DeleteEvents) -> tuple[_Extent, ...]:
    """The least and the greatest of each of the ids; None of no events."""
    if not len(events):
        return _NO_EXTENTS
    columns = (events.write_ids, events.bucket_properties, events.rows)
    return tuple((int(values.min()), int(values.max())) for values in columns)


def _joined(one: _Extent, other: _Extent) -> _Extent:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def _check_ranges(file: ScanFile, count: int, extents: Sequence[_Extent]) -> None:
    """A changed bit would let deleted rows come back: what was read must be what the footer tells
    of. FormatError if it is not.
    """
    for name, extent, known in zip(ID_FIELDS, extents, file.ranges, strict=False):
        if count != file.rows or (known is not None and extent != known):
            detail = (
                f"{name}: {count} values within {extent}, by the footer {file.rows} within {known}"
            )
            raise FormatError(
                f'file "{file.path}" does not hold the delete events its footer tells of',
                detail=detail,
            )


# ---- the ids of the rows of a file, as runs that count up by one


Mask = npt.NDArray[np.bool_]

MAX_RUNS = 500_000
"""The most runs that are kept, of all files of a session: 16 MB."""

_ROWS_OF_RUN = 16
"""Rows that a run has on average, where keeping runs is worth it."""

_FEW_IDS = 16
"""The most pairs of write id and bucket with dead rows that are looked for one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRuns:
    """The ids of ``count`` rows that follow on each other. Run i begins at the row of number
    ``starts[i]``, which has the row id ``first_rows[i]``; its rows share a write id and a bucket
    property, and their row ids count up by one. ``starts`` ascends from 0.
    """

    count: int
    starts: Longs
    write_ids: Longs
    bucket_properties: Longs
    first_rows: Longs

    @classmethod
    def of(cls, write_ids: Longs, bucket_properties: Longs, rows: Longs) -> IdRuns | None:
        """The runs of these rows; None where they are not few."""
        count = len(rows)
        if not count:
            return None
        breaks = rows[1:] - rows[:-1] != 1
        for same in (write_ids, bucket_properties):
            breaks |= same[1:] != same[:-1]
        starts = np.append(0, np.flatnonzero(breaks) + 1)
        if len(starts) > 1 and len(starts) * _ROWS_OF_RUN > count:
            return None
        return cls(
            count=count,
            starts=starts,
            write_ids=write_ids[starts],
            bucket_properties=bucket_properties[starts],
            first_rows=rows[starts],
        )

    @property
    def _lengths(self) -> Longs:
        return np.diff(self.starts, append=self.count)

    def alive(self, partition_number: int, dead: DeadIds) -> Mask | None:
        """Which of the rows no event hits; None: all."""
        alive = None
        for hits, runs in self._hit(partition_number, dead):
            positions = self._positions(runs, hits)
            if len(positions):
                alive = np.ones(self.count, np.bool_) if alive is None else alive
                alive[positions] = False
        return alive

    def _hit(self, partition_number: int, dead: DeadIds) -> Iterator[tuple[Longs, Longs]]:
        """The dead row ids of each write id and bucket property that the rows have, and the runs
        that have them, by their numbers.
        """
        if len(dead.rows) <= _FEW_IDS:
            for (number, write_id, bucket), hits in dead.rows.items():
                if number == partition_number:
                    same = (self.write_ids == write_id) & (self.bucket_properties == bucket)
                    yield hits, np.flatnonzero(same)
            return
        order = np.lexsort((self.bucket_properties, self.write_ids))
        write_ids, buckets = self.write_ids[order], self.bucket_properties[order]
        changes = (write_ids[1:] != write_ids[:-1]) | (buckets[1:] != buckets[:-1])
        bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(order)]
        for first, end in pairwise(bounds):
            ids = partition_number, int(write_ids[first]), int(buckets[first])
            if ids in dead.rows:
                yield dead.rows[ids], order[first:end]

    def _positions(self, runs: Longs, hits: Longs) -> Longs:
        """The numbers of the rows of these runs whose row ids are among ``hits``, which ascend."""
        firsts, lengths = self.first_rows[runs], self._lengths[runs]
        begins = np.searchsorted(hits, firsts)
        counts = np.searchsorted(hits, firsts + lengths) - begins
        # the hits of all runs, one run after the other
        indexes = np.arange(counts.sum()) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        positions: Longs = hits[indexes] + np.repeat(self.starts[runs] - firsts, counts)
        return positions

    def ids(self, wanted: Mask | None) -> tuple[Longs, Longs, Longs]:
        """The write ids, bucket properties and row ids of the rows wanted (None: of all)."""
        if wanted is None:
            positions, counts = np.arange(self.count), self._lengths
        else:
            positions = np.flatnonzero(wanted)
            counts = np.diff(np.searchsorted(positions, self.starts), append=len(positions))
        return (
            np.repeat(self.write_ids, counts),
            np.repeat(self.bucket_properties, counts),
            positions + np.repeat(self.first_rows - self.starts, counts),
        )


@dataclass(frozen=True, slots=True)
class IdColumns:
    """The ids of rows that follow on each other, one by one; asked like IdRuns."""

    write_ids: Longs
    bucket_properties: Longs
    rows: Longs

    def alive(self, partition_number: int, dead: DeadIds) -> Mask | None:
        return dead.alive(partition_number, self.write_ids, self.bucket_properties, self.rows)

    def ids(self, wanted: Mask | None) -> tuple[Longs, Longs, Longs]:
        columns = self.write_ids, self.bucket_properties, self.rows
        if wanted is None:
            return columns
        write_ids, bucket_properties, rows = (column[wanted] for column in columns)
        return write_ids, bucket_properties, rows
