"""How many rows a snapshot has, told by the footers of its files and the ids of its delete events: no Spark, no data columns.

The files of a snapshot never change, so the answer is exact. Without deletes it is the sum of what the footers say. With deletes each
distinct event is looked up among the ids of the insert files, for an event may stand there twice (Hive's minor compaction copies them) and
may hit a row that is not there. Most files need no reading for that: a statement numbers its rows from 0, so the footer's least and
greatest values tell every id. Compacted files have gaps, there the three id columns are read. What is too much for the driver is left to Spark.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from acidsql.acid.write_ids import ValidWriteIdList
from acidsql.catalog.model import FileFormat, Table
from acidsql.planner.counting import RowCount
from acidsql.planner.pruning import prune
from acidsql.settings import Settings
from acidsql.spark.deletes import MAX_EVENTS, DeadIds, DeleteEvents, read_columns, valid_mask
from acidsql.spark.file_constants import bucket_property, first_rows
from acidsql.spark.fileio import FileIO
from acidsql.spark.footers import FileKey, RowIdRange, ScanFile
from acidsql.spark.known_files import KnownFiles
from acidsql.spark.scan_files import IDS

if TYPE_CHECKING:
    from acidsql.spark.reader import TableSnapshot
    from acidsql.spark.snapshots import Snapshots

MAX_ROWS_READ = 2_000_000
"""So many rows' ids are read here. A job of Spark's costs about as much before it begins."""

MAX_KEPT = 16
"""Answers that are kept for the next time the same files are counted."""

_Kept = tuple[tuple[FileKey, ...], tuple[FileKey, ...], str]


class RowCounter:
    """Of one session: shares what is known of files and delete events with the reader."""

    def __init__(self, known: KnownFiles) -> None:
        self._footers = known.footers
        self._events = known.events
        self._kept: OrderedDict[_Kept, Mapping[str, int]] = OrderedDict()

    def answer(self, count: RowCount, table: Table, snapshots: Snapshots, settings: Settings) -> int | None:
        """The rows a query counts; None if it takes Spark, or the user wants Spark to count them."""
        if not settings.flag("hive.compute.query.using.stats") or table.file_format is not FileFormat.ORC:
            return None
        partitions = snapshots.partitions(table)
        if count.condition is not None:
            pruning = prune(table.partition_columns, partitions, [count.condition], ansi=settings.flag("acidsql.ansi"))
            if pruning.undecided:
                return None
            partitions = pruning.kept
        if table.is_full_acid:
            told = snapshots.row_count(table, partitions if table.partition_columns else None)
            if told is not None:
                return told
        found = self.rows(snapshots.take(table, partitions), max_events=int(settings.number("acidsql.read.deletes.max.events")))
        return None if found is None else sum(found)

    def rows(self, snapshot: TableSnapshot, *, max_events: int) -> tuple[int, ...] | None:
        """The number of rows at each place of the snapshot; None if finding out takes Spark.

        ``max_events``: so many delete events may be held in memory. FormatError names a file that is not as it must be.
        """
        io = self._events.io
        places = snapshot.places
        inserts = self._footers.insert_files(io, [f for number, place in enumerate(places) for f in place.insert_files(number)])
        deletes = self._footers.delete_files(io, [f for number, place in enumerate(places) for f in place.delete_files(number)])
        counts = np.zeros(len(places), np.int64)
        for file in inserts:
            counts[file.place] += file.rows
        deletes = tuple(file for file in deletes if file.rows and counts[file.place])
        write_ids = snapshot.write_ids if any(file.file.needs_row_filter for file in (*inserts, *deletes)) else None
        if not deletes and write_ids is None:
            return tuple(counts.tolist())
        if sum(file.rows for file in deletes) > min(max_events, MAX_EVENTS):
            return None
        key = (tuple(file.key for file in inserts), tuple(file.key for file in deletes), "" if write_ids is None else str(write_ids))
        if key not in self._kept:
            hidden = self._hidden(inserts, self._events.parts(deletes, write_ids, keep=max_events), write_ids)
            if hidden is None:
                return None
            self._kept[key] = hidden
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        for file in inserts:
            counts[file.place] -= self._kept[key].get(file.path, 0)
        return tuple(counts.tolist())

    def _hidden(
        self, inserts: Sequence[ScanFile], events: Sequence[DeleteEvents], write_ids: ValidWriteIdList | None
    ) -> dict[str, int] | None:
        """How many rows of each file are dead or not visible, by its path; None if too many ids had to be read."""
        dead = DeadIds.of(events)
        concerned = [file for file in inserts if file.rows and (file.place in dead.places or file.file.needs_row_filter)]
        hidden: dict[str, int] = {}
        left = MAX_ROWS_READ
        for file, ids in zip(concerned, _told(concerned), strict=True):
            if ids is not None and not file.file.needs_row_filter:
                number = dead.within(file.place, ids)
            elif (left := left - file.rows) < 0:
                return None
            else:
                number = _hidden_in(self._events.io, file, dead, write_ids)
            hidden[file.path] = number
        return hidden


def _told(inserts: Sequence[ScanFile]) -> Iterator[RowIdRange | None]:
    """The ids of the rows of each file, where its footer or its place tells them all."""
    first_row = first_rows([file for file in inserts if file.file.raw])
    for file in inserts:
        if file.file.raw:
            first = first_row(file)
            yield RowIdRange(file.file.max_write_id, bucket_property(file), first, first + file.rows - 1)
        else:
            yield file.ids


def _hidden_in(io: FileIO, file: ScanFile, dead: DeadIds, write_ids: ValidWriteIdList | None) -> int:
    """The rows of a file that an event hits or whose write id is not valid."""
    *ids, written = read_columns(io, file.path, (*IDS, "currentTransaction"))
    visible = np.ones(file.rows, np.bool_)
    if write_ids is not None and file.file.needs_row_filter:
        visible = valid_mask(written, write_ids)
    alive = dead.alive(file.place, *(column[visible] for column in ids))
    return file.rows - int(alive.sum())
