"""Takes entries of the queue and carries them out. Hive: Worker.

    take it -> still there? may it be? -> begin: transaction and write ids -> choose -> merge
    -> publish -> statistics -> finish: ready for cleaning

The entry and the transaction are kept alive meanwhile; when they are lost nothing gets a name any
more. Whatever goes wrong is noted with the entry, and no error comes out. A worker that dies leaves
hidden directories, half a pair that nobody reads, or a whole result: the next one removes the
first two, and finds of the last that there is nothing to merge any more, but to clean.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from acidsql import crash_points
from acidsql.acid.acid_directory import AcidDirectory
from acidsql.acid.ids import TxnId
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of
from acidsql.catalog.statistics import StatisticsChange
from acidsql.changes.recovery import remove_staging
from acidsql.changes.unit_of_work import Store
from acidsql.compaction.merging.carrying_out import Merged, carry_out, remove_left_halves
from acidsql.compaction.merging.choosing import Inputs, choose_inputs, refusal
from acidsql.compaction.merging.merge import Merge
from acidsql.compaction.merging.overrides import overridden_settings, overridden_table
from acidsql.errors import Error
from acidsql.files.fileio import FileIO
from acidsql.files.urls import path_of
from acidsql.lazy_dataclass import dataclass
from acidsql.settings import Settings
from acidsql.spark.engine import Engine
from acidsql.spark.start.running import SparkNotStartedError
from acidsql.storage.snapshots import acid_directory
from acidsql.txn.compactions import (
    Compaction,
    CompactionBlockedError,
    CompactionQueue,
    CompactionState,
    CompactionType,
    OpenedCompaction,
)
from acidsql.txn.heartbeat import Heartbeat

NOT_ENOUGH = "None of the compaction thresholds met, compaction request is refused!"
"""Hive's words."""


class WorkerStore(Store, CompactionQueue, Protocol):
    """What a worker needs of a metastore."""


class _RefusedError(Exception):
    """The compaction is not made; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What an entry asks to be compacted, as it is now."""

    table: Table
    partition: Partition | None

    @property
    def root(self) -> str:
        of = self.table if self.partition is None else self.partition
        return path_of(of.location)


@dataclass(slots=True, kw_only=True)
class _Hold:
    """What a worker has of an entry. ``txn_id``: from its beginning on; with it a worker whose
    entry was taken away is told apart from the one of the same process that has it now.
    """

    entry: Compaction
    txn_id: TxnId | None = None


class Worker:
    """Carries out one compaction after the other. ``name``: ``<host>-<thread>``. ``pool``: the one
    it serves; None: requests of no pool, and those that nobody serves.
    """

    def __init__(
        self,
        store: WorkerStore,
        files: FileIO,
        engine: Engine,
        settings: Settings,
        name: str,
        *,
        pool: str | None = None,
    ) -> None:
        self._store = store
        self._files = files
        self._engine = engine
        self._settings = settings
        self._name = name
        self._pool = pool

    def run_once(self) -> bool:
        """Takes and carries out one entry of the queue; whether there was one. MetastoreError if
        the store cannot be reached for taking one: nothing else comes out.
        """
        entry = self._store.next_compaction(self._name, pool=self._pool)
        if entry is None:
            return False
        self.carry_out(entry)
        return True

    def carry_out(self, entry: Compaction) -> None:
        """Carries out an entry that this process has taken. SparkNotStartedError if it needs Spark,
        which the engine may not start: it was given back.
        """
        crash_points.reached("compaction taken")
        hold = _Hold(entry=entry)
        try:
            self._work_on(hold)
        except CompactionBlockedError:
            pass  # it was given back
        except _RefusedError as refused:
            self._end(hold, CompactionState.REFUSED, str(refused))
        except SparkNotStartedError:
            self._give_back(hold, at_once=False)
            raise
        except Exception as error:
            self._end(hold, CompactionState.FAILED, _text(error))
        except BaseException:
            self._give_back(hold, at_once=True)
            raise

    def _give_back(self, hold: _Hold, *, at_once: bool) -> None:
        with suppress(Error, OSError):
            self._store.return_compaction(
                hold.entry.compaction_id, txn_id=hold.txn_id, at_once=at_once
            )

    def _end(self, hold: _Hold, state: CompactionState, message: str) -> None:
        """Notes how an entry ended, unless it is another's by now."""
        with suppress(Error, OSError):
            self._store.end_compaction(hold.entry.compaction_id, state, message, txn_id=hold.txn_id)

    def _work_on(self, hold: _Hold) -> None:
        entry = hold.entry
        subject = self._find(entry)
        if subject is None:
            self._store.finish_compaction(entry.compaction_id)
            return
        self._check(entry, subject)
        opened = self._store.begin_compaction(entry.compaction_id)
        hold.txn_id = opened.txn_id
        beat = Heartbeat(
            self._lease(entry, opened),
            f"compaction {entry.compaction_id}",
            self._settings.number("hive.txn.timeout") / 2,
        )
        beat.start()
        try:
            crash_points.reached("compaction opened")
            self._compact(entry, opened)
        finally:
            beat.stop()
        crash_points.reached("compaction done")
        self._store.finish_compaction(entry.compaction_id, txn_id=opened.txn_id)
        crash_points.reached("compaction finished")

    # ---- what is asked for

    def _find(self, entry: Compaction) -> _Subject | None:
        """The table or partition; None for what concerns no partition in particular and is the
        cleaner's alone.
        """
        request = entry.request
        table = self._store.find_table(request.table)
        if table is None:
            raise _RefusedError(
                f"Unable to find table {request.table}, assuming it was dropped and moving on."
            )
        if request.partition is None:
            return None if table.partition_columns else _Subject(table=table, partition=None)
        for partition in self._store.list_partitions(table):
            if name_of(table, partition) == request.partition:
                return _Subject(table=table, partition=partition)
        raise _RefusedError(
            f"Unable to find partition {request.table}.{request.partition}, assuming it was"
            " dropped and moving on."
        )

    def _check(self, entry: Compaction, subject: _Subject) -> None:
        table = subject.table
        if not table.is_transactional:
            raise _RefusedError(f"Compaction is not allowed on non-ACID table {table.name}")
        reason = refusal(table, entry.request.type)
        if reason is not None:
            raise _RefusedError(reason)
        if not self._files.renames(subject.root):
            raise _RefusedError(
                f"directories of {subject.root} cannot be renamed, so that a reader could see half"
                " of the result"
            )

    # ---- carrying out

    def _compact(self, entry: Compaction, opened: OpenedCompaction) -> None:
        """Merges until nothing is left to merge: a minor compaction takes many deltas in steps."""
        # Behind the write ids: columns that committed rows have are the table's by now.
        subject = self._find(entry)
        if subject is None:
            return
        with suppress(Error, OSError):
            remove_staging(self._store, self._files, subject.table)
        remove_left_halves(self._files, subject.table, subject.root, opened.txn_id)
        settings = overridden_settings(self._settings, subject.table, entry.request.properties)
        seen = self._look(subject, opened)
        inputs = self._choose(entry, subject, seen, opened, settings)
        if inputs is None and not (seen.obsolete or seen.aborted):
            raise _RefusedError(NOT_ENOUGH)
        while inputs is not None:
            merge = _merge(entry, subject, opened, inputs)
            merged = carry_out(self._engine, settings, merge, self._lease(entry, opened))
            self._count(settings, subject, merged)
            crash_points.reached("compaction counted")
            if not inputs.is_minor:
                return
            inputs = self._choose(entry, subject, self._look(subject, opened), opened, settings)

    def _look(self, subject: _Subject, opened: OpenedCompaction) -> AcidDirectory:
        return acid_directory(
            self._files,
            subject.root,
            opened.write_ids,
            opened.txns,
            events=subject.table.is_full_acid,
        )

    def _choose(
        self,
        entry: Compaction,
        subject: _Subject,
        seen: AcidDirectory,
        opened: OpenedCompaction,
        settings: Settings,
    ) -> Inputs | None:
        return choose_inputs(
            seen,
            _type(entry, subject.table),
            opened.write_ids.high_watermark,
            max_deltas=int(settings.number("hive.compactor.max.num.delta")),
        )

    def _lease(self, entry: Compaction, opened: OpenedCompaction) -> Callable[[], None]:
        """Raises MetastoreError if the entry is another's by now, even one of this process."""
        return lambda: self._store.heartbeat_compaction(entry.compaction_id, txn_id=opened.txn_id)

    def _count(self, settings: Settings, subject: _Subject, merged: Merged) -> None:
        """Puts the numbers of files and bytes right; those of rows are what they were."""
        if not settings.flag("hive.stats.autogather"):
            return
        change = StatisticsChange(
            table=subject.table,
            partition=subject.partition,
            rows=0,
            files=merged.files - merged.files_before,
            bytes=merged.bytes - merged.bytes_before,
            raw_bytes=0,
        )
        with suppress(Error):  # the rows are where they should be
            self._store.change_statistics([change])


def _type(entry: Compaction, table: Table) -> CompactionType:
    """A rebalance of rows without ids is a major compaction. Hive: MmMajorQueryCompactor."""
    asked = entry.request.type
    without_ids = asked is CompactionType.REBALANCE and table.is_insert_only
    return CompactionType.MAJOR if without_ids else asked


def _merge(entry: Compaction, subject: _Subject, opened: OpenedCompaction, inputs: Inputs) -> Merge:
    request = entry.request
    return Merge(
        table=overridden_table(subject.table, request.properties),
        partition=subject.partition,
        inputs=inputs,
        write_ids=opened.write_ids,
        txn_id=opened.txn_id,
        buckets=request.buckets,
        order_by=request.order_by,
    )


def _text(error: Exception) -> str:
    """What became of a compaction, in one line."""
    if isinstance(error, Error):
        return error.message if error.detail is None else f"{error.message}: {error.detail}"
    return f"{type(error).__name__}: {error}"
