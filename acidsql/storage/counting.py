"""How many rows a snapshot has, told by the footers of its files and the ids of its delete events:
no Spark, no data columns.

Statistics that hold spare the footers. The files are listed all the same: where their bytes are not
those of the statistics a file was lost or changed, and the answer must be what a scan would find,
with a warning. The files of a snapshot never change, so the answer is exact. Without deletes it is
the sum of what the footers say. With deletes each distinct event is looked up among the ids of the
insert files, for an event may stand there twice (Hive's minor compaction copies them) and may hit a
row that is not there. Most files need no reading for that: a statement numbers its rows from 0, so
the footer's least and greatest values tell every id. Compacted files have gaps, there the three id
columns are read. What is too much for the driver is left to Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.attached import is_attached
from acidsql.catalog.model import FileFormat, Table
from acidsql.errors import Warning
from acidsql.expressions.pruning import Wanted
from acidsql.expressions.tree import PartitionCondition
from acidsql.files.fileio import FileIO
from acidsql.settings import Settings
from acidsql.storage.events.delete_events import MAX_EVENTS, DeadIds, DeleteEvents, valid_mask
from acidsql.storage.file_layout import read_columns
from acidsql.storage.footers import FileKey, Kept, RowIdRange, ScanFile, bucket_property, first_rows
from acidsql.storage.known_files import KnownFiles

if TYPE_CHECKING:
    from acidsql.storage.snapshots import Counted, Snapshots, TableSnapshot

MAX_ROWS_READ = 2_000_000
"""The most rows whose ids are read here. A job of Spark's costs about as much before it begins."""

MAX_KEPT = 16
"""Answers that are kept for the next time the same files are counted."""

_Key = tuple[tuple[FileKey, ...], tuple[FileKey, ...], str]


class RowCounter:
    """Counts rows for one session: it shares what is known of files and delete events with the
    reader."""

    def __init__(self, known: KnownFiles) -> None:
        self._footers = known.footers
        self._events = known.events
        self._kept: Kept[_Key, Mapping[str, int]] = Kept(MAX_KEPT)

    def answer(
        self,
        table: Table,
        condition: PartitionCondition | None,
        snapshots: Snapshots,
        settings: Settings,
    ) -> int | None:
        """The rows of the partitions that meet ``condition``; None if it takes Spark, or the user
        wants Spark to count them.
        """
        if (
            not settings.flag("hive.compute.query.using.stats")
            or table.file_format is not FileFormat.ORC
        ):
            return None
        wanted = Wanted(
            columns=table.partition_columns,
            conditions=() if condition is None else (condition,),
            ansi=settings.flag("acidsql.ansi"),
        )
        pruning = wanted.prune(snapshots.partitions(table, wanted.among))
        if pruning.undecided:
            return None
        partitions = pruning.kept
        counted = None
        if table.is_full_acid:
            counted = snapshots.counted(table, partitions if table.partition_columns else None)
        snapshot = snapshots.take(table, partitions)
        if counted is not None:
            size = sum(partition.size for partition in snapshot.partitions)
            if size == counted.bytes:
                return counted.rows
            snapshots.warnings.append(_disagreement(table, size, counted))
        most = int(settings.number("acidsql.read.deletes.max.events"))
        counts = self.rows(snapshot, max_events=most)
        return None if counts is None else sum(counts)

    def rows(self, snapshot: TableSnapshot, *, max_events: int) -> tuple[int, ...] | None:
        """The number of rows in each partition of the snapshot; None if finding out takes Spark.

        ``max_events``: so many delete events may be held in memory. FormatError names a file that
        is not as it must be.
        """
        io = self._events.io
        may_mix = is_attached(snapshot.table)
        inserts = self._footers.insert_files(io, snapshot.insert_files, mixed=may_mix)
        if any(file.mixed for file in inserts):
            return self._with_old_events(snapshot, inserts, max_events)
        deletes = self._footers.delete_files(io, snapshot.delete_files)
        counts = np.zeros(len(snapshot.partitions), np.int64)
        for file in inserts:
            counts[file.partition_number] += file.rows
        deletes = tuple(file for file in deletes if file.rows and counts[file.partition_number])
        write_ids = (
            snapshot.write_ids
            if any(file.file.needs_row_filter for file in (*inserts, *deletes))
            else None
        )
        if not deletes and write_ids is None:
            return tuple(counts.tolist())
        if sum(file.rows for file in deletes) > min(max_events, MAX_EVENTS):
            return None
        key = (
            tuple(file.key for file in inserts),
            tuple(file.key for file in deletes),
            "" if write_ids is None else str(write_ids),
        )
        hidden = self._kept.find(key)
        if hidden is None:
            events = self._events.parts(deletes, write_ids, keep=max_events)
            hidden = self._hidden(inserts, events, write_ids)
            if hidden is None:
                return None
            self._kept.keep(key, hidden, 1)
        for file in inserts:
            counts[file.partition_number] -= hidden.get(file.path, 0)
        return tuple(counts.tolist())

    def _with_old_events(
        self, snapshot: TableSnapshot, inserts: Sequence[ScanFile], max_events: int
    ) -> tuple[int, ...] | None:
        """``rows`` of a snapshot some of whose partitions have ``old_events``."""
        from acidsql.storage.events.event_rows import old_partitions, winners

        old = old_partitions(inserts)
        new = [
            replace(part, directory=None, files=()) if number in old else part
            for number, part in enumerate(snapshot.partitions)
        ]
        counts = self.rows(replace(snapshot, partitions=tuple(new)), max_events=max_events)
        if counts is None:
            return None
        visible = winners(self._events.io, inserts, snapshot.delete_files, snapshot.write_ids)
        totals = list(counts)
        for file in inserts:
            if file.partition_number in old and file.rows:
                totals[file.partition_number] += int(visible[file.path].sum())
        return tuple(totals)

    def _hidden(
        self,
        inserts: Sequence[ScanFile],
        events: Sequence[DeleteEvents],
        write_ids: ValidWriteIdList | None,
    ) -> dict[str, int] | None:
        """How many rows of each file are dead or not visible, by its path; None if too many ids had
        to be read.
        """
        dead = DeadIds.of(events)
        concerned = [
            file
            for file in inserts
            if file.rows
            and (file.partition_number in dead.partition_numbers or file.file.needs_row_filter)
        ]
        hidden: dict[str, int] = {}
        left = MAX_ROWS_READ
        for file, ids in zip(concerned, _id_ranges(concerned), strict=True):
            if ids is not None and not file.file.needs_row_filter:
                number = dead.within(file.partition_number, ids)
            elif (left := left - file.rows) < 0:
                return None
            else:
                number = _hidden_in(self._events.io, file, dead, write_ids)
            hidden[file.path] = number
        return hidden


def _disagreement(table: Table, size: int, counted: Counted) -> Warning:
    say = (
        f"the files of table {table.name} have {size} bytes where its statistics say"
        f" {counted.bytes}"
    )
    return Warning(f"{say}: files were changed or lost; the rows that are there were counted")


def _id_ranges(inserts: Sequence[ScanFile]) -> Iterator[RowIdRange | None]:
    """The ids of the rows of each file, where its footer, or its position, tells them all."""
    first_row = first_rows([file for file in inserts if file.file.original])
    for file in inserts:
        if file.file.original:
            first = first_row(file)
            yield RowIdRange(
                file.file.max_write_id, bucket_property(file), first, first + file.rows - 1
            )
        else:
            yield file.ids


def _hidden_in(
    io: FileIO, file: ScanFile, dead: DeadIds, write_ids: ValidWriteIdList | None
) -> int:
    """The rows of a file that an event hits or whose write id is not valid."""
    *ids, written = read_columns(io, file.path, (*ID_FIELDS, "currentTransaction"))
    visible = np.ones(file.rows, np.bool_)
    if write_ids is not None and file.file.needs_row_filter:
        visible = valid_mask(written, write_ids)
    alive = dead.alive(file.partition_number, *(column[visible] for column in ids))
    return file.rows - int(alive.sum())
