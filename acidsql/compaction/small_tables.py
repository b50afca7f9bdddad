"""What a session does by the way: small tables, without Spark, on settings and file systems of its
own, so that it shares nothing with the statements that run meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast

from acidsql.catalog.model import Partition, Table
from acidsql.compaction.background import GivenUp
from acidsql.compaction.decision import Facts, directory_of, facts_of
from acidsql.compaction.housekeeper import HouseStore, kept_of
from acidsql.compaction.initiator import Initiator, find_object, name_of_role
from acidsql.errors import SparkNotStartedError
from acidsql.files.file_systems import FileSystems
from acidsql.files.fileio import FileIO, Url
from acidsql.run.engine import Engine
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState, CompactionType

if TYPE_CHECKING:
    from acidsql.compaction.cleaner import Cleaner
    from acidsql.compaction.worker import Worker

MOST_BYTES = "acidsql.compactor.auto.max.bytes"
_MANY_ENTRIES = 20
"""The number from which on a history is worth looking through."""


class SmallTables:
    """``since``: epoch seconds, what was written before is not looked at. When ``stop`` is set the
    next look at a file raises GivenUp.
    """

    def __init__(
        self,
        store: HouseStore,
        settings: Settings,
        clock: Callable[[], float],
        stop: threading.Event,
        *,
        since: float,
    ) -> None:
        self._store = store
        self._settings = Settings({name: settings.text(name) for name in settings.changed()})
        self._stop = stop
        self._files = cast(FileIO, _WatchedFiles(FileSystems(self._settings, _no_hadoop), stop))
        self._engine = Engine(self._settings, store, files=self._files, may_start=False)
        self._initiator = Initiator(
            store=store,
            files=self._files,
            settings=self._settings,
            clock=clock,
            name=name_of_role(),
            since=int(since * 1000),
            leave=self._leave,
        )
        self._clock = clock
        self._left: set[int] = set()

    def round(self) -> bool:
        """Looks once, then compacts and cleans up what there is. Returns whether there are
        compactions behind which nobody may clean up yet.
        """
        self._tidy()
        self._initiator.run_once()
        for entry in self._store.compactions():
            if not self._stop.is_set() and self._is_ours(entry):
                self._carry_out(entry)
        while not self._stop.is_set() and self._store.ready_for_cleaning():
            if not self._cleaner.run_through():
                break
        return bool(self._store.ready_for_cleaning())

    # what a session imports by the way while its statements run is what there is to do

    @cached_property
    def _worker(self) -> Worker:
        from acidsql.compaction.worker import Worker

        return Worker(self._store, self._files, self._engine, self._settings, name_of_role())

    @cached_property
    def _cleaner(self) -> Cleaner:
        from acidsql.compaction.cleaner import Cleaner

        return Cleaner(
            store=self._store, files=self._files, settings=self._settings, clock=self._clock
        )

    def close(self) -> None:
        self._engine.close()

    def _tidy(self) -> None:
        """Takes up what dead workers have left, and keeps the history short."""
        entries = self._store.compactions()
        if any(entry.state is CompactionState.WORKING for entry in entries):
            self._store.revoke_compactions()
        if len(entries) > _MANY_ENTRIES:
            timeout = self._settings.number("metastore.compactor.history.retention.timeout")
            self._store.purge_compactions(kept_of(self._settings), timeout_seconds=timeout)

    def _carry_out(self, entry: Compaction) -> None:
        taken = self._store.next_compaction(name_of_role(), only=entry.compaction_id)
        if taken is not None:
            try:
                self._worker.carry_out(taken)
            except SparkNotStartedError:  # its rows are many though its files are small
                self._left.add(entry.compaction_id)

    def _is_ours(self, entry: Compaction) -> bool:
        request = entry.request
        if (
            entry.state is not CompactionState.INITIATED
            or request.pool is not None
            or request.type not in (CompactionType.MAJOR, CompactionType.MINOR)
            or entry.compaction_id in self._left
        ):
            return False
        target = find_object(self._store, (request.table, request.partition))
        return target is None or self._is_small(*target)  # what is gone is refused at once

    def _is_small(self, table: Table, partition: Partition | None) -> bool:
        seen = directory_of(self._store, self._files, table, partition)
        return self._leave(table, facts_of(table, seen)) is None

    def _leave(self, table: Table, facts: Facts) -> str | None:
        if table.is_insert_only:
            return "an insert-only table is left to acidsql compactor"
        most = self._settings.number(MOST_BYTES)
        if facts.base_bytes + facts.delta_bytes <= most:
            return None
        return f"larger than {MOST_BYTES} ({most:,.0f}), it is left to acidsql compactor"


class _WatchedFiles:
    """A file system that is asked nothing any more once it is to stop."""

    def __init__(self, files: FileIO, stop: threading.Event) -> None:
        self._files = files
        self._stop = stop

    def __getattr__(self, name: str) -> Any:
        if self._stop.is_set():
            raise GivenUp
        return getattr(self._files, name)


def _no_hadoop(url: Url) -> NoReturn:
    raise SparkNotStartedError(f'"{url}" is opened by Spark, which is not started for it')
