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
from functools import partial
from typing import Protocol

from acidsql import crash_points
from acidsql.acid.ids import NO_VISIBILITY, Base, WriteId
from acidsql.acid.listed import AcidDirectory
from acidsql.catalog.attached import seen_txns
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.statistics import StatisticsChange
from acidsql.commit.recovery import remove_staging
from acidsql.commit.unit_of_work import Store
from acidsql.compaction.merging.carrying_out import Merged, carry_out, remove_left_halves
from acidsql.compaction.merging.choosing import (
    Inputs,
    choose_inputs,
    refusal,
    under_own_write_id,
)
from acidsql.compaction.merging.merge import Merge, overridden_settings, overridden_table
from acidsql.errors import Error, SparkNotStartedError
from acidsql.files.fileio import FileIO, path_of
from acidsql.lazy import dataclass
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.storage.snapshots import acid_directory, directory_of_table
from acidsql.storage.undeclared import find_lost, lost_error
from acidsql.txn.compactions import (
    NOT_ENOUGH,
    Compaction,
    CompactionBlockedError,
    CompactionQueue,
    CompactionState,
    CompactionType,
    OpenedCompaction,
)
from acidsql.txn.leftovers import OF_COMPACTION
from acidsql.txn.locks import Heartbeat
from acidsql.txn.manager import OperationType, TxnComponent


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


class Worker:
    """Carries out one compaction after the other. ``name``: ``<host>-<thread>``. ``pool``: the one
    it serves; None: requests of no pool, and those that nobody serves. ``gives_back_at_once``: what
    needs Spark is free at once for who has it, else behind a pause.
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
        gives_back_at_once: bool = False,
    ) -> None:
        self._store = store
        self._files = files
        self._engine = engine
        self._settings = settings
        self._name = name
        self._pool = pool
        self._gives_back_at_once = gives_back_at_once

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
        try:
            self._work_on(entry)
        except CompactionBlockedError:
            pass  # it was given back
        except _RefusedError as refused:
            self._end(entry, CompactionState.REFUSED, str(refused))
        except SparkNotStartedError:
            self._give_back(entry, at_once=self._gives_back_at_once)
            raise
        except Exception as error:
            self._end(entry, CompactionState.FAILED, _text(error))
        except BaseException:
            self._give_back(entry, at_once=True)
            raise

    def _give_back(self, entry: Compaction, *, at_once: bool) -> None:
        with suppress(Error, OSError):
            self._store.return_compaction(entry.compaction_id, lease=entry.lease, at_once=at_once)

    def _end(self, entry: Compaction, state: CompactionState, message: str) -> None:
        """Notes how an entry ended, unless it is another's by now."""
        with suppress(Error, OSError):
            self._store.end_compaction(entry.compaction_id, state, message, lease=entry.lease)

    def _work_on(self, entry: Compaction) -> None:
        subject = self._find(entry)
        if subject is None:
            self._store.finish_compaction(entry.compaction_id, lease=entry.lease)
            return
        self._check(entry, subject)
        opened = self._store.begin_compaction(entry.compaction_id, lease=entry.lease)
        beat = Heartbeat(
            self._lease(entry),
            f"compaction {entry.compaction_id}",
            self._settings.number("hive.txn.timeout") / 2,
        )
        beat.start()
        unseen: list[tuple[Settings, Merged]] = []
        try:
            crash_points.reached("compaction opened")
            highest = self._compact(entry, opened, unseen)
        finally:
            beat.stop()
        crash_points.reached("compaction done")
        self._store.finish_compaction(entry.compaction_id, highest, lease=entry.lease)
        crash_points.reached("compaction finished")
        for settings, merged in unseen:
            self._count(settings, subject, merged)

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
        partition = self._store.find_partition(table, request.partition)
        if partition is None:
            raise _RefusedError(
                f"Unable to find partition {request.table}.{request.partition}, assuming it was"
                " dropped and moving on."
            )
        return _Subject(table=table, partition=partition)

    def _check(self, entry: Compaction, subject: _Subject) -> None:
        table = subject.table
        if not table.is_transactional:
            raise _RefusedError(f"Compaction is not allowed on non-ACID table {table.name}")
        reason = refusal(table, entry.request.type)
        if reason is not None:
            raise _RefusedError(reason)

    # ---- carrying out

    def _compact(
        self,
        entry: Compaction,
        opened: OpenedCompaction,
        unseen: list[tuple[Settings, Merged]],
    ) -> WriteId | None:
        """Merges until nothing is left to merge: a minor compaction takes many deltas in steps.
        Returns the write id of its own that it took, if it did. ``unseen``: takes what is to be
        counted once it is committed.
        """
        # Behind the write ids: columns that committed rows have are the table's by now.
        subject = self._find(entry)
        if subject is None:
            return None
        renames = self._files.renames(subject.root)
        if not renames and opened.visibility != NO_VISIBILITY:
            raise _RefusedError(
                f"directories of {subject.root} cannot be renamed, and what comes late of a worker"
                " that has died would be seen once Hive forgets its transaction"
            )
        self._prepare(entry, subject, opened, renames=renames)
        settings = overridden_settings(self._settings, subject.table, entry.request.properties)
        seen = self._look(subject, opened)
        self._check_whole(subject, opened)
        inputs = self._choose(entry, subject, seen, opened, settings, renames=renames)
        if inputs is None and _type(entry, subject.table) is CompactionType.REBALANCE:
            inputs = self._under_own_write_id(entry, subject, seen, opened)
        if inputs is None and not (seen.obsolete or seen.aborted):
            raise _RefusedError(NOT_ENOUGH)
        if inputs is not None and not renames:
            self._announce(entry, opened)
        while inputs is not None:
            merge = _merge(entry, subject, opened, inputs, renames=renames)
            merged = self._merge(entry, settings, merge)
            if not self._is_overwritten(subject, inputs):
                if renames:
                    self._count(settings, subject, merged)
                else:
                    unseen.append((settings, merged))
            crash_points.reached("compaction counted")
            if not inputs.is_minor:
                return inputs.max_write_id if inputs.has_own_write_id else None
            now = self._look(subject, opened)
            inputs = self._choose(entry, subject, now, opened, settings, renames=renames)
        return None

    def _prepare(
        self, entry: Compaction, subject: _Subject, opened: OpenedCompaction, *, renames: bool
    ) -> None:
        """Takes away what earlier ones have left."""
        if entry.request.type is not CompactionType.MINOR:
            with suppress(Error):  # what they tell of may be gone with the rows that were deleted
                self._store.forget_doubted_columns(subject.table, subject.partition)
        with suppress(Error, OSError):
            remove_staging(self._store, self._files, subject.table)
        if renames:
            remove_left_halves(self._files, subject.table, subject.root, opened.txn_id)

    def _announce(self, entry: Compaction, opened: OpenedCompaction) -> None:
        """Puts on record that there may be directories with the transaction in their names, until
        it is committed, or somebody has removed them.
        """
        component = TxnComponent(
            table=entry.request.table,
            partition=entry.request.partition,
            operation=OperationType.COMPACT,
            write_id=OF_COMPACTION,
        )
        self._store.add_components(opened.txn_id, [component])

    def _under_own_write_id(
        self, entry: Compaction, subject: _Subject, seen: AcidDirectory, opened: OpenedCompaction
    ) -> Inputs | None:
        """A rebalance of a base alone. It must be decided what became of all lower write ids: their
        rows are not in the base that hides them.
        """
        top = opened.write_ids.high_watermark
        if under_own_write_id(seen, WriteId(top + 1)) is None:
            return None
        name = subject.table.name
        own = self._store.allocate_write_id(opened.txn_id, name)
        if own != top + 1:
            raise _RefusedError(f"{name} is being written to, so that no name for a base is free")
        component = TxnComponent(
            table=name,
            partition=entry.request.partition,
            operation=OperationType.INSERT,
            write_id=own,
        )
        self._store.add_components(opened.txn_id, [component])
        return under_own_write_id(seen, own)

    def _look(self, subject: _Subject, opened: OpenedCompaction) -> AcidDirectory:
        return acid_directory(
            self._files,
            subject.root,
            opened.write_ids,
            seen_txns(subject.table, opened.txns),
            events=subject.table.is_full_acid,
            own=lambda: opened.txns,  # and what it has written itself
        )

    def _check_whole(self, subject: _Subject, opened: OpenedCompaction) -> None:
        """Raises FormatError if files are lost: the rows that are left would be all there ever
        were.
        """
        lost = find_lost(
            self._store, self._files, subject.table, subject.partition, opened.write_ids
        )
        if lost:
            raise lost_error(subject.table, lost)

    def _choose(
        self,
        entry: Compaction,
        subject: _Subject,
        seen: AcidDirectory,
        opened: OpenedCompaction,
        settings: Settings,
        *,
        renames: bool,
    ) -> Inputs | None:
        """What is merged next. Files come one by one where a directory gets its name in several
        steps: so its name says from which transaction's commit on it is seen.
        """
        as_hive = opened.visibility != NO_VISIBILITY
        by_name = as_hive or not renames
        return choose_inputs(
            seen,
            _type(entry, subject.table),
            opened.write_ids.high_watermark,
            max_deltas=int(settings.number("hive.compactor.max.num.delta")),
            visibility=(opened.visibility if as_hive else opened.txn_id)
            if by_name
            else NO_VISIBILITY,
            as_hive=as_hive,
        )

    def _lease(self, entry: Compaction) -> Callable[[], None]:
        """Raises MetastoreError if the entry is another's by now, even one of this process."""
        return lambda: self._store.heartbeat_compaction(entry.compaction_id, lease=entry.lease)

    def _merge(self, entry: Compaction, settings: Settings, merge: Merge) -> Merged:
        """Carries a merge out. What it stages is on record, and goes with the next statement of
        anybody if the process dies.
        """
        target = merge.target(settings)
        path = target.staging_path
        self._store.note_directory(path)
        try:
            claim = partial(self._store.publishing, entry.compaction_id, lease=entry.lease)
            return carry_out(self._engine, settings, merge, target, claim)
        finally:
            with suppress(Error, OSError):
                if not self._files.exists(path):
                    self._store.forget_directories([path])

    def _is_overwritten(self, subject: _Subject, inputs: Inputs) -> bool:
        """Whether a newer base hides by now what was merged: its statement has begun the numbers
        anew. Nobody reads the result then, and a cleaner removes it with what it was made from.
        """
        store, table = self._store, subject.table
        txns = store.valid_txns()
        write_ids = store.valid_write_ids(table.name, txns)
        compactions = store.seen_compactions(txns)
        now = directory_of_table(
            self._files, subject.root, table, write_ids, compactions, store.valid_txns
        )
        base = None if now.base is None else now.base.name
        return isinstance(base, Base) and base.write_id > inputs.max_write_id

    def _count(self, settings: Settings, subject: _Subject, merged: Merged) -> None:
        """Puts the numbers of files and bytes right, and the outputs on record; the numbers of rows
        are what they were.
        """
        counted = settings.flag("hive.stats.autogather")
        change = StatisticsChange(
            table=subject.table,
            partition=subject.partition,
            rows=0,
            files=merged.files - merged.files_before if counted else 0,
            bytes=merged.bytes - merged.bytes_before if counted else 0,
            raw_bytes=0,
            directories=merged.directories,
        )
        with suppress(Error):  # the rows are where they should be
            self._store.change_statistics([change])


def _type(entry: Compaction, table: Table) -> CompactionType:
    """A rebalance of rows without ids is a major compaction. Hive: MmMajorQueryCompactor."""
    asked = entry.request.type
    without_ids = asked is CompactionType.REBALANCE and table.is_insert_only
    return CompactionType.MAJOR if without_ids else asked


def _merge(
    entry: Compaction,
    subject: _Subject,
    opened: OpenedCompaction,
    inputs: Inputs,
    *,
    renames: bool,
) -> Merge:
    request = entry.request
    return Merge(
        table=overridden_table(subject.table, request.properties),
        partition=subject.partition,
        inputs=inputs,
        write_ids=opened.write_ids,
        txn_id=opened.txn_id,
        buckets=request.buckets,
        order_by=request.order_by,
        renames=renames,
    )


def _text(error: Exception) -> str:
    """What became of a compaction, in one line."""
    if isinstance(error, Error):
        return error.message if error.detail is None else f"{error.message}: {error.detail}"
    return f"{type(error).__name__}: {error}"
