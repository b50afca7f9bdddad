"""Compactions that a user asks for: whether they have anything to do, what they have left to lie,
and how they are waited for.

Asked for by hand, one takes whatever there is: the initiator's thresholds spare work that nobody
has asked for. Hive 4 asks them of each partition where a statement names none, which
``acidsql.strict.hive`` keeps to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.listed import AcidDirectory
from acidsql.catalog.model import Partition, Table
from acidsql.catalog.partitions import name_of, names_words
from acidsql.compaction.cleaner import Cleaner, kept_until
from acidsql.compaction.decision import Thresholds, decide, directory_of, facts_of
from acidsql.compaction.housekeeper import HouseStore
from acidsql.compaction.initiator import name_of_role
from acidsql.compaction.merging.choosing import choose_inputs
from acidsql.compaction.worker import Worker
from acidsql.errors import Error, SparkNotStartedError, Warning
from acidsql.files.fileio import FileIO, path_of
from acidsql.files.parallel import in_parallel, look_at_all
from acidsql.lazy import dataclass
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.storage.snapshots import directory_of_table
from acidsql.txn.compactions import Compaction, CompactionState, CompactionType
from acidsql.txn.manager import TxnManager
from acidsql.txn.store import CompactorDaemon


def need_compaction(
    store: TxnManager,
    io: FileIO,
    settings: Settings,
    table: Table,
    partitions: Sequence[Partition],
    type: CompactionType,
) -> list[bool]:
    """Whether a compaction of each of these partitions has anything to merge or to clean; under
    ``acidsql.strict.hive`` whether the initiator would have it made. OSError; FormatError for a
    layout that is not Hive's; ProgrammingError for a threshold of the table's that is no number.
    """
    txns = store.valid_txns()
    write_ids = store.valid_write_ids(table.name, txns)
    by_thresholds = settings.flag("acidsql.strict.hive")
    thresholds = Thresholds.of(settings, table) if by_thresholds else None

    def is_needed(partition: Partition) -> bool:
        seen = directory_of(store, io, table, partition, write_ids, txns)
        if thresholds is not None:
            return decide(facts_of(table, seen), thresholds).type is not None
        return _has_work(table, seen, type, write_ids)

    return look_at_all(is_needed, partitions)


def _has_work(
    table: Table, seen: AcidDirectory, type: CompactionType, write_ids: ValidWriteIdList
) -> bool:
    """Whether the worker would find anything; a rebalance of a base alone takes a name of its
    own.
    """
    if seen.obsolete or seen.aborted:
        return True
    if type is CompactionType.REBALANCE and table.is_full_acid:
        return bool(seen.base or seen.current or seen.originals)
    return choose_inputs(seen, type, write_ids.high_watermark) is not None


# What is left

Ended = tuple[Partition | None, Compaction | None]
"""A partition, and how its compaction has ended; None for one that had nothing to do."""


def what_is_left(
    store: TxnManager,
    io: FileIO,
    settings: Settings,
    table: Table,
    entries: Sequence[Ended],
    *,
    now: float,
) -> list[Warning]:
    """What a major compaction that has ended has not taken away, and that may hold rows that were
    deleted: what lies behind an open transaction, and what is kept for others. ``now``: epoch
    seconds.
    """
    txns = store.valid_txns()
    write_ids = store.valid_write_ids(table.name, txns)
    partitions = [partition for partition, _ in entries]

    def look(partition: Partition | None) -> tuple[AcidDirectory, int]:
        seen = directory_of(store, io, table, partition, write_ids, txns)
        if write_ids.min_open is None:
            return seen, 0
        root = path_of(table.location if partition is None else partition.location)
        compactions = store.seen_compactions(txns)
        whole = directory_of_table(io, root, table, write_ids, compactions, store.valid_txns)
        taken = {directory.path for directory in seen.current}
        return seen, sum(directory.path not in taken for directory in whole.current)

    looked = look_at_all(look, partitions)
    behind = [p for p, (_, later) in zip(partitions, looked, strict=True) if later]
    kept = [
        entry
        for entry, (seen, _) in zip(entries, looked, strict=True)
        if seen.obsolete or seen.aborted
    ]
    return [
        *_behind_open(table, behind, write_ids),
        *_kept(settings, table, kept, now),
    ]


def _behind_open(
    table: Table, partitions: Sequence[Partition | None], write_ids: ValidWriteIdList
) -> Iterable[Warning]:
    if partitions:
        yield Warning(
            f"what was written to {_named(table, partitions)} behind an open transaction is not"
            " compacted",
            detail=(
                f"write id {write_ids.min_open} of table {table.name} is open; rows that were"
                " deleted since lie in the files"
            ),
            hint="SHOW TRANSACTIONS lists who it is; compact again when it has ended.",
        )


def _kept(
    settings: Settings,
    table: Table,
    entries: Sequence[Ended],
    now: float,
) -> Iterable[Warning]:
    if not entries:
        return
    ended = [entry for _, entry in entries if entry is not None]
    is_history = any(kept_until(entry, table, settings) > now * 1000 for entry in ended)
    where = _named(table, [partition for partition, _ in entries])
    yield Warning(
        f"files that were replaced in {where} are still there, with the rows that were deleted",
        detail=(
            "acidsql.history.retention keeps them"
            if is_history
            else "somebody who reads or writes since before needs them, or no cleaner has come yet"
        ),
        hint=(
            f"DESCRIBE HEALTH {table.name} says who; then the next cleaning takes them away:"
            " acidsql compactor --once --cleaner."
        ),
    )


def _named(table: Table, partitions: Sequence[Partition | None]) -> str:
    names = [name_of(table, partition) for partition in partitions if partition is not None]
    return f"{table.name} {names_words(names)}" if names else str(table.name)


# ---- waited for
#
# Compactions whose user waits for them, carried out here and now.
#
# Those of many partitions are mostly of few rows each, and take most of their time to wait for
# disks. So several are worked on at once, without Spark, each with its own transaction, its lease
# and its failure, as by workers of a daemon; what needs Spark follows one by one.


WORKERS = 2 * min(4, os.cpu_count() or 1)
"""Half of what one does is waiting for disks and for the store."""


def compact_unless_served(
    store: HouseStore, engine: Engine, settings: Settings, compaction_ids: Collection[int]
) -> None:
    """Carries entries out here and now, with Spark if need be, if they are initiated and no daemon
    has workers for them; what they made obsolete is removed if nobody reads it. An entry whose
    worker has died is initiated again.

    Ctrl-C raises KeyboardInterrupt; what was begun is back in the queue then, or carried out.
    """
    entries = _entries(store, compaction_ids)
    if any(entry.state is CompactionState.WORKING for entry in entries):
        store.revoke_compactions()
    daemons = store.compactor_daemons()
    here = _Here(store=store, engine=engine, settings=settings)
    unserved = [entry for entry in entries if not _is_served(entry, daemons)]
    taken = here.carry_out([entry.compaction_id for entry in unserved])
    if taken:
        of_objects = {_object(entry) for entry in unserved if entry.compaction_id in taken}
        cleaner = Cleaner(store=store, files=engine.files, settings=settings, clock=time.time)
        with suppress(Error, OSError):  # the next cleaner does it
            # behind each compaction that others had to leave, too: they are taken one by one
            while cleaner.run_through(lambda ready: _object(ready) in of_objects, threads=WORKERS):
                pass


def _entries(store: HouseStore, compaction_ids: Collection[int]) -> list[Compaction]:
    if len(compaction_ids) > 1:
        return [entry for entry in store.compactions() if entry.compaction_id in compaction_ids]
    entries = map(store.find_compaction, compaction_ids)
    return [entry for entry in entries if entry is not None]


def _object(entry: Compaction) -> tuple[object, str | None]:
    return entry.request.table, entry.request.partition


def _is_served(entry: Compaction, daemons: Iterable[CompactorDaemon]) -> bool:
    """Whether a daemon has workers for the entry's pool."""
    pool = entry.request.pool or ""
    return any("worker" in daemon.roles and pool in daemon.pools for daemon in daemons)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """Takes entries of ``store`` for the session of ``engine``."""

    store: HouseStore
    engine: Engine
    settings: Settings

    def carry_out(self, compaction_ids: Collection[int]) -> set[int]:
        """Returns which of the entries were free."""
        left, taken = list(compaction_ids), set[int]()
        if len(left) > 1:
            with self._engines() as engines:
                outcomes = in_parallel(
                    lambda one: self._without_spark(engines, one), left, threads=WORKERS
                )
            outcome_of = dict(zip(left, outcomes, strict=True))
            taken = {one for one, outcome in outcome_of.items() if outcome is True}
            left = [one for one, outcome in outcome_of.items() if outcome is None]
        return taken | {one for one in left if self._take(self.engine, one, number=0)}

    @contextmanager
    def _engines(self) -> Iterator[SimpleQueue[tuple[int, Engine]]]:
        """Engines that start no Spark, one for each worker: each keeps to one thread at a time."""
        engines = [
            Engine(self.settings, self.store, files=self.engine.files, may_start=False)
            for _ in range(WORKERS)
        ]
        free: SimpleQueue[tuple[int, Engine]] = SimpleQueue()
        for numbered in enumerate(engines):
            free.put(numbered)
        try:
            yield free
        finally:
            for engine in engines:
                engine.close()

    def _without_spark(
        self, engines: SimpleQueue[tuple[int, Engine]], compaction_id: int
    ) -> bool | None:
        """What ``_take`` returns; None for an entry that needs Spark and was given back."""
        number, engine = engines.get()
        try:
            return self._take(engine, compaction_id, number=number)
        except SparkNotStartedError:
            return None
        finally:
            engines.put((number, engine))

    def _take(self, engine: Engine, compaction_id: int, *, number: int) -> bool:
        """Carries an entry out if it is free, which is returned."""
        name = name_of_role(number)
        taken = self.store.next_compaction(name, only=compaction_id)
        if taken is None:
            return False
        worker = Worker(
            self.store, engine.files, engine, self.settings, name, gives_back_at_once=True
        )
        worker.carry_out(taken)
        return True
