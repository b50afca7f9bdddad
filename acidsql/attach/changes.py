"""DESCRIBE CHANGES: what an overlay adds to the rows of others, and takes from them.

Told is what is left in the end: a row that was inserted and deleted again is none. An update is a
delete and an insert of one statement, which has its number in the names of directories and in the
ids of rows::

    delete_delta_7_7_0  3 rows of others        statement (7, 0): 3 updated
    delta_7_7_0         3 rows

So much can be told: a row that two statements have updated is one that the first has deleted and
one that the second has inserted, and a minor compaction forgets the statements of delete events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from acidsql.acid.ids import NO_STATEMENT, statement_ids
from acidsql.arrow_arrays import numpy_array
from acidsql.catalog.attached import attached_write_ids, pinned_of
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.errors import Error, UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.bound_catalog import BoundDescribeChanges
from acidsql.result import Result, Stats
from acidsql.run.engine import Engine
from acidsql.storage.events.delete_events import MAX_EVENTS
from acidsql.storage.overlays import take_below
from acidsql.storage.scan.scanner import PARTITION_NUMBER
from acidsql.storage.snapshots import PartitionSnapshot, Snapshots, TableSnapshot
from acidsql.txn.reading import Reads

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
