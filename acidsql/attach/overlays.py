"""Overlays: tables of this warehouse over tables of others, and what they change (DESCRIBE
CHANGES). What others have written is read where it lies, as of the moment at which the overlay was
made; changes lie in the overlay's directory.

    attached    base_3  delta_4_4                        write ids up to 4, theirs
    overlay     delete_delta_5_5  delta_5_5  delta_6_6   write ids from 5 on, ours

So delete events tell rows of both apart, and nothing of theirs is ever written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from acidsql import crash_points
from acidsql.acid.ids import NO_STATEMENT, statement_ids
from acidsql.arrow_arrays import numpy_array
from acidsql.catalog.attached import (
    ATTACHED,
    FROM,
    OLD_EVENTS,
    OVERLAY,
    attached_write_ids,
    is_overlay,
    pinned_of,
    txns_below,
)
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table, TableKind, TableName
from acidsql.catalog.partitions import default_location, name_of
from acidsql.errors import (
    BindError,
    Error,
    ExecutionError,
    SnapshotTooOldError,
    UnsupportedStatementError,
)
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO, is_inside, path_of, real_path
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass
from acidsql.planner.bind.bound_catalog import BoundAttachTable, BoundDescribeChanges
from acidsql.result import Result, Stats
from acidsql.run.engine import Engine
from acidsql.storage.events.delete_events import MAX_EVENTS
from acidsql.storage.events.event_rows import COMPACT_FIRST
from acidsql.storage.overlays import pin, take_below
from acidsql.storage.scan.scanner import PARTITION_NUMBER
from acidsql.storage.snapshots import PartitionSnapshot, Snapshots, TableSnapshot
from acidsql.txn.reading import Reads


def create_overlay(
    store: Catalog,
    io: FileIO,
    action: BoundAttachTable,
    attached: Table,
    partitions: Sequence[Partition],
) -> None:
    """Makes an overlay. ``attached``: the table of others as it would be attached read only."""
    make_overlay(store, io, *overlay_of(store, io, action, attached, partitions))


def overlay_of(
    store: Catalog,
    io: FileIO,
    action: BoundAttachTable,
    attached: Table,
    partitions: Sequence[Partition],
) -> tuple[Table, tuple[Partition, ...]]:
    """The overlay as it would be made, and its partitions. BindError where it cannot be."""
    assert action.overlay is not None
    home = action.overlay
    if not attached.is_transactional:
        raise BindError(
            "only a transactional table can have an overlay",
            detail=f'"{attached.location}" has plain files, whose rows have no ids',
            hint="ATTACH TABLE .. READ ONLY reads it.",
            span=action.span,
        )
    if OLD_EVENTS in attached.properties:
        raise BindError(
            "a table from before Hive 3 (ACID version 1) can have no overlay",
            detail="its updates are events beside the rows",
            hint=f"ATTACH TABLE .. READ ONLY reads it. {COMPACT_FIRST}",
            span=action.span,
        )
    _check_home(store, action, attached.location, home)
    with _file_errors(home):
        overlay = _over(io, action, attached, partitions)
        _check_empty(io, action, home)
    return overlay


def make_overlay(store: Catalog, io: FileIO, table: Table, parts: Sequence[Partition]) -> None:
    """Makes what ``overlay_of`` has told."""
    home = table.location
    with _file_errors(home):
        was_there = io.exists(home)
        io.make_directory(home)  # before the catalog has a table that could not have one
        crash_points.reached("overlay directory made")
        try:
            with store.creating_table(table, parts):
                pass
        except BaseException:
            if not was_there and store.find_table(table.name) is None:
                io.remove_empty_directory(home)
            raise
        crash_points.reached("overlay attached")
        # somebody who failed to make the same table may have taken it away
        io.make_directory(home)


def _over(
    io: FileIO, action: BoundAttachTable, attached: Table, partitions: Sequence[Partition]
) -> tuple[Table, tuple[Partition, ...]]:
    """The overlay, with what it reads of each directory, and its partitions."""
    assert action.overlay is not None
    write_ids = attached_write_ids(attached)
    assert write_ids is not None
    properties = {key: text for key, text in attached.properties.items() if key != "EXTERNAL"}
    properties |= {ATTACHED: OVERLAY, FROM: attached.location}
    table = replace(
        attached, kind=TableKind.MANAGED, location=action.overlay, properties=properties
    )
    where = [one.location for one in partitions]
    if not table.partition_columns:
        where = [attached.location]
    try:
        pins = look_at_all(lambda at: pin(io, table, at, write_ids, txns_below(table)), where)
    except SnapshotTooOldError as error:
        raise BindError(
            f'"{attached.location}" does not have all that counts any more: {error.message}',
            hint="Attach it as of now: with a new dump, or with other write ids.",
            span=action.span,
        ) from error
    if not table.partition_columns:
        return replace(table, properties={**properties, **pins[0].properties()}), ()
    parts = (
        replace(one, location=default_location(table, one.values), properties=pinned.properties())
        for one, pinned in zip(partitions, pins, strict=True)
    )
    return table, tuple(parts)


def overlays_over(store: Catalog, location: str) -> Iterator[TableName]:
    """The overlays that read what lies in a directory."""
    path = real_path(path_of(location))
    for name, _ in store.list_locations():
        table = store.find_table(name)
        if table is None or not is_overlay(table):
            continue
        other = real_path(path_of(table.properties[FROM]))
        if is_inside(path, other) or is_inside(other, path):
            yield name


def _check_home(store: Catalog, action: BoundAttachTable, below: str, home: str) -> None:
    """Raises BindError if the overlay would write where others read or write."""
    path, location = real_path(path_of(home)), real_path(path_of(below))
    if is_inside(path, location) or is_inside(location, path):
        raise BindError(
            f'the changes would lie in "{home}", and that overlaps the location',
            hint="Attach it in another warehouse or database, or by another name.",
            span=action.span,
        )
    for name, other_location in store.list_locations():
        other = real_path(path_of(other_location))
        if is_inside(path, other) or is_inside(other, path):
            raise BindError(
                f'directory "{home}" overlaps that of table {name}',
                hint="Attach it by another name.",
                span=action.name_span,
            )


def _check_empty(io: FileIO, action: BoundAttachTable, home: str) -> None:
    """Raises BindError where there is something already, which would become rows."""
    listing = io.listing(home)
    if listing.files or listing.directories:
        raise BindError(
            f'directory "{home}" of the overlay is not empty',
            hint="Move the files away; they may belong to a table that was dropped.",
            span=action.name_span,
        )


@contextmanager
def _file_errors(home: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or home
        raise ExecutionError(
            f'ATTACH TABLE failed: cannot read or write "{where}"',
            detail=error.strerror or str(error),
        ) from error


# ---- what they change
#
# DESCRIBE CHANGES: what an overlay adds to the rows of others, and takes from them.
#
# Told is what is left in the end: a row that was inserted and deleted again is none. An update is
# a delete and an insert of one statement, which has its number in the names of directories and in
# the ids of rows::
#
#     delete_delta_7_7_0  3 rows of others        statement (7, 0): 3 updated     delta_7_7_0
# 3 rows
#
# So much can be told: a row that two statements have updated is one that the first has deleted and
# one that the second has inserted, and a minor compaction forgets the statements of delete events.


Statement = tuple[int, int]
"""A write id, and the number of the statement in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of a partition, or of a table without any. ``deleted``: None where it takes Spark
    to count what an INSERT OVERWRITE hides.
    """

    partition: Partition | None
    inserted: int
    updated: int
    deleted: int | None

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted != 0)

    def __str__(self) -> str:
        deleted = "an unknown number" if self.deleted is None else f"{self.deleted:,}"
        return f"{self.inserted:,} inserted, {self.updated:,} updated, {deleted} deleted"


@dataclass(frozen=True, slots=True)
class ChangeCounter:
    """Counts the changes of overlays of one warehouse, without Spark."""

    store: Catalog
    engine: Engine

    def count(self, table: Table, snapshots: Snapshots) -> list[Changes]:
        """Counts what a statement sees. UnsupportedStatementError where only Spark can count them;
        OperationalError where what others have written is gone.
        """
        snapshot = snapshots.take(table, snapshots.partitions(table))
        try:
            return list(self._counted(snapshot))
        except NotHere as signal:
            raise UnsupportedStatementError(
                f"the changes of {table.name} are counted by Spark only: {signal.reason}",
                hint="SELECT count(*) counts the rows.",
            ) from signal

    def _counted(self, snapshot: TableSnapshot) -> Iterator[Changes]:
        table = snapshot.table
        ours = replace(
            snapshot, partitions=tuple(replace(one, below=None) for one in snapshot.partitions)
        )
        if table.is_insert_only:
            yield from self._of_insert_only(ours)
            return
        added, hit = self._added(ours), self._hit(ours)
        for number, part in enumerate(ours.partitions):
            new, gone = added.get(number, Counter()), hit.get(number, Counter())
            updated = sum(min(count, gone[one]) for one, count in new.items())
            deleted = self._hidden(snapshot, part) if part.has_base else gone.total() - updated
            yield Changes(
                partition=part.partition,
                inserted=new.total() - updated,
                updated=updated,
                deleted=deleted,
            )

    def _of_insert_only(self, ours: TableSnapshot) -> Iterator[Changes]:
        counts = self.engine.resources.counter.rows(ours, max_events=MAX_EVENTS)
        for number, part in enumerate(ours.partitions):
            yield Changes(
                partition=part.partition,
                inserted=0 if counts is None else counts[number],
                updated=0,
                deleted=self._hidden(ours, part) if part.has_base else 0,
            )

    def _added(self, ours: TableSnapshot) -> Mapping[int, Counter[Statement]]:
        """The rows of each statement that are left, by the numbers of partitions."""
        added: dict[int, Counter[Statement]] = {}
        scanner = self.engine.driver.scanner
        for batch in scanner.batches(ours, (), ids=True, partition_numbers=True):
            write_ids = numpy_array(batch.column(0)).astype(np.int64)
            statements = statement_ids(numpy_array(batch.column(1)).astype(np.int32))
            numbers = numpy_array(batch.column(PARTITION_NUMBER)).astype(np.int64)
            keys = np.stack((numbers, write_ids, statements.astype(np.int64)))
            distinct, counts = np.unique(keys, axis=1, return_counts=True)
            for (number, write_id, statement), count in zip(
                distinct.T.tolist(), counts.tolist(), strict=True
            ):
                added.setdefault(number, Counter())[write_id, statement] += count
        return added

    def _hit(self, ours: TableSnapshot) -> Mapping[int, Counter[Statement]]:
        """The rows of others that each statement has deleted, by the numbers of partitions."""
        of_others = attached_write_ids(ours.table)
        assert of_others is not None
        known = self.engine.resources.known
        files = known.footers.delete_files(self.engine.files, ours.delete_files)
        hit: dict[int, Counter[Statement]] = {}
        for file in files:
            for events in known.events.parts([file], ours.write_ids, keep=MAX_EVENTS):
                of_theirs = events.write_ids <= of_others.high_watermark
                by = events.event_write_ids[of_theirs]
                statement = file.file.statement_id
                if file.file.min_write_id != file.file.max_write_id:
                    statement = NO_STATEMENT
                counts = hit.setdefault(file.partition_number, Counter())
                for write_id, count in zip(*np.unique(by, return_counts=True), strict=True):
                    counts[int(write_id), int(statement)] += int(count)
        return hit

    def _hidden(self, snapshot: TableSnapshot, part: PartitionSnapshot) -> int | None:
        """The rows of others that a base of the overlay hides."""
        table = snapshot.table
        pinned = pinned_of(table if part.partition is None else self._stored(table, part.partition))
        of_others = attached_write_ids(table)
        if pinned is None or of_others is None:
            return 0
        below = take_below(self.engine.files, table, pinned, of_others)
        of_theirs = replace(snapshot, write_ids=of_others, partitions=(below,))
        counts = self.engine.resources.counter.rows(of_theirs, max_events=MAX_EVENTS)
        return None if counts is None else sum(counts)

    def _stored(self, table: Table, partition: Partition) -> Partition:
        return self.store.find_partition(table, name_of(table, partition)) or partition


def together(counted: Sequence[Changes]) -> Changes:
    """The sums."""
    deleted = [one.deleted for one in counted if one.deleted is not None]
    return Changes(
        partition=None,
        inserted=sum(one.inserted for one in counted),
        updated=sum(one.updated for one in counted),
        deleted=sum(deleted) if len(deleted) == len(counted) else None,
    )


def count_changes(store: Catalog, engine: Engine, reads: Reads, table: Table) -> list[Changes]:
    """Counts what is committed now; errors as of ``ChangeCounter.count``."""
    with reads.reading([table.name], f"DESCRIBE CHANGES OF {table.name}") as (visible, _):
        return ChangeCounter(store, engine).count(table, engine.snapshots(visible))


def describe_changes(
    store: Catalog, engine: Engine, reads: Reads, action: BoundDescribeChanges
) -> Result:
    """A row for each partition with changes, or one of a table without partitions."""
    table = action.table
    counted = count_changes(store, engine, reads, table)
    names = ["inserted", "updated", "deleted"]
    rows = [[str(c.inserted), str(c.updated), _number(c.deleted)] for c in counted]
    if table.partition_columns:
        names = ["partition", *names]
        rows = [
            [name_of(table, c.partition), *row]
            for c, row in zip(counted, rows, strict=True)
            if c and c.partition is not None
        ]
    result = Result.of_text(Stats(), names, rows)
    result.notes = (f"rows: {together(counted)}",)
    return result


def going_words(store: Catalog, engine: Engine, reads: Reads, table: Table) -> str:
    """What goes with an overlay, also where that cannot be counted any more."""
    try:
        return f"changes that go: {together(count_changes(store, engine, reads, table))}"
    except (Error, OSError):
        return "the changes go; they could not be counted"


def _number(count: int | None) -> str | None:
    return None if count is None else str(count)
