"""The rows that two transactions both deleted (an UPDATE deletes, too) in one table or partition,
told by their delete files without Spark.

Memory is bounded: of the smaller set a piece is held, as sorted row numbers by write id and bucket,
and the other one passes by in batches; then the next piece. Nothing relies on the order of events
in a file (Hive's minor compaction copies them into every bucket file). Files whose ids cannot meet,
by their footers, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidsql.acid.ids import RowId, WriteId
from acidsql.acid.snapshot import deletes_of
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO, Listing
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.storage.events.delete_events import DeadIds, DeleteEvents, event_batches, read_events
from acidsql.storage.footers import Footers, FoundFile, ScanFile

HELD_EVENTS = 4_000_000
"""About so many events are held at once, at 8 bytes each."""

BATCH_EVENTS = 500_000
"""The most events that are read at once, at some 100 bytes each."""

Ranges = tuple[tuple[int, int] | None, ...]
"""Least and greatest of each id field, None where nobody knows; () if nothing is known at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonRows:
    """Rows that both deleted: ``rows`` of them, or more if not ``all_counted``."""

    rows: int
    all_counted: bool
    example: RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeleteSet:
    """The delete files of one write id."""

    write_id: WriteId
    files: tuple[ScanFile, ...]

    @property
    def count(self) -> int:
        return sum(file.rows for file in self.files)


class RowComparison:
    """Compares delete sets by write id. ``held``, ``batch``: how many events are in memory."""

    def __init__(
        self,
        io: FileIO,
        footers: Footers,
        *,
        held: int = HELD_EVENTS,
        batch: int = BATCH_EVENTS,
    ) -> None:
        self._io = io
        self._footers = footers
        self._held = held
        self._batch = batch

    def common_rows(
        self, root: str, one: WriteId, other: WriteId, *, kept: bool = False
    ) -> CommonRows | None:
        """The rows of the table or partition at ``root`` that both write ids deleted; None for no
        such row. FormatError, OSError if what one of them deleted cannot be read, or is not there.

        ``kept``: nothing of ``other`` has been removed that was ever there: see ``deletes_of``.
        """
        listing = self._io.listing(root)
        sets = [
            self._delete_set(root, listing, one),
            self._delete_set(root, listing, other, kept=kept),
        ]
        small, big = sorted(sets, key=lambda of: of.count)
        small, big = _meeting(small, big), _meeting(big, small)
        pieces = self._pieces(small)
        for piece in pieces:
            common = self._common(piece, big)
            if common is not None:
                rows, example = common
                return CommonRows(
                    rows=rows, all_counted=next(pieces, None) is None, example=example
                )
        return None

    def _delete_set(
        self, root: str, listing: Listing, write_id: WriteId, *, kept: bool = False
    ) -> _DeleteSet:
        deletes = deletes_of(write_id, listing.files, listing.directories, kept=kept)
        files = deletes.delete_files
        if not files:
            raise FormatError(f'"{root}" has no delete files of write id {write_id} of its own')
        files_in_root = [FoundFile(file=file, path=f"{root}/{file.path}") for file in files]
        return _DeleteSet(
            write_id=write_id, files=self._footers.delete_files(self._io, files_in_root)
        )

    def _pieces(self, of: _DeleteSet) -> Iterator[DeadIds]:
        parts: list[DeadIds] = []
        count = 0
        for events in self._batches(of, ()):
            parts.append(DeadIds.of([events]))
            count += len(events)
            if count >= self._held:
                yield DeadIds.joined(parts)
                parts, count = [], 0
        if count:
            yield DeadIds.joined(parts)

    def _common(self, piece: DeadIds, of: _DeleteSet) -> tuple[int, RowId] | None:
        """The number of rows of the piece that are among the events, and the least of them."""
        hits = DeadIds.of(())
        for events in self._batches(of, _ranges(piece)):
            alive = piece.alive(0, events.write_ids, events.bucket_properties, events.rows)
            if not alive.all():
                # an event may come several times: what is kept is never more than the piece
                hits = DeadIds.joined([hits, DeadIds.of([events.where(~alive)])])
        if not hits.rows:
            return None
        (_, write_id, bucket_property), rows = min(hits.rows.items())
        example = RowId(WriteId(write_id), bucket_property, int(rows[0]))
        return sum(map(len, hits.rows.values())), example

    def _batches(self, of: _DeleteSet, ranges: Ranges) -> Iterator[DeleteEvents]:
        """The events by the write id in files that may meet the ranges."""
        for files in _together([f for f in of.files if meet(f.ranges, ranges)], self._batch):
            if len(files) == 1 and files[0].rows > self._batch:
                parts: Iterator[DeleteEvents] = event_batches(self._io, files[0], self._batch)
            else:
                parts = iter(in_parallel(lambda file: read_events(self._io, file), files))
            filtered = any(file.file.needs_row_filter for file in files)
            for events in parts:
                yield events.where(events.event_write_ids == of.write_id) if filtered else events


def _meeting(of: _DeleteSet, other: _DeleteSet) -> _DeleteSet:
    """The set without files that meet none of the other's."""
    others = {file.ranges for file in other.files}
    files = tuple(f for f in of.files if any(meet(f.ranges, ranges) for ranges in others))
    return _DeleteSet(write_id=of.write_id, files=files)


def meet(one: Ranges, other: Ranges) -> bool:
    """Whether an id may be in both; what is not known may be anything."""
    return all(
        a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])
        for a, b in zip(one, other, strict=False)
    )


def _ranges(piece: DeadIds) -> Ranges:
    _, write_ids, buckets = zip(*piece.rows, strict=True)
    first = min(int(rows[0]) for rows in piece.rows.values())
    last = max(int(rows[-1]) for rows in piece.rows.values())
    return (min(write_ids), max(write_ids)), (min(buckets), max(buckets)), (first, last)


def _together(files: Sequence[ScanFile], most: int) -> Iterator[list[ScanFile]]:
    """Files that are read side by side: with at most so many events, or one that has more."""
    some: list[ScanFile] = []
    for file in files:
        if some and sum(f.rows for f in some) + file.rows > most:
            yield some
            some = []
        some.append(file)
    if some:
        yield some
