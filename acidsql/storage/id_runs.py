"""The ids of the rows of a file, as runs that count up by one.

Rows keep the ids they were inserted with, and lie in files in their order: a file that was
compacted holds mostly long runs of them, with gaps where rows were updated or deleted. Files never
change, so the runs are kept: who reads the file again need not read three columns of ids, nor look
at each row to tell who is dead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from acidsql.lazy_dataclass import dataclass
from acidsql.storage.columns import Longs
from acidsql.storage.delete_events import DeadIds

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
