"""Compactions whose user waits for them, carried out here and now.

Those of many partitions are mostly of few rows each, and take most of their time to wait for disks.
So several are worked on at once, without Spark, each with its own transaction, its lease and its
failure, as by workers of a daemon; what needs Spark follows one by one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from acidsql.compaction.cleaner import Cleaner
from acidsql.compaction.housekeeper import HouseStore
from acidsql.compaction.initiator import name_of_role
from acidsql.compaction.worker import Worker
from acidsql.errors import Error, SparkNotStartedError
from acidsql.files.parallel import in_parallel
from acidsql.lazy_dataclass import dataclass
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState
from acidsql.txn.daemons import CompactorDaemon

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
