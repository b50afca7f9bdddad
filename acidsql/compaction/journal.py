"""What a daemon writes down: a line for each step of each compaction, by whatever worker, with the
time it took and the bytes before and after it.

    2026-11-23 19:52:01Z  worker     default.t  minor compaction 12 done in 0.4 s: 1.2 MiB in 14
                                                directories -> 0.9 MiB in 3 directories
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from contextlib import suppress

from acidsql.compaction.decision import Store, directory_of
from acidsql.compaction.initiator import Where, find_object
from acidsql.errors import Error
from acidsql.files.fileio import FileIO
from acidsql.txn.compactions import Compaction, CompactionState

_STEP = 1024.0
Size = tuple[int, int]
"""Bytes of data that is read, and the number of directories they are in."""


class Journal:
    """``write`` takes a line; ``clock``: epoch seconds. Threads may share it. ``steps``: how many
    of compactions it has seen; ``failures``: how many of these were failures.
    """

    def __init__(
        self, store: Store, files: FileIO, write: Callable[[str], None], clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._files = files
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._states = {c.compaction_id: c.state for c in store.compactions()}
        self._before: dict[int, Size] = {}
        self.failures = 0
        self.steps = 0

    def say(self, role: str, what: str, where: Where | None = None) -> None:
        """Writes one line."""
        now = datetime.datetime.fromtimestamp(self._clock(), datetime.UTC)
        parts = [now.strftime("%Y-%m-%d %H:%M:%SZ"), f"{role:11}"]
        parts += [] if where is None else [named(where)]
        self._write("  ".join([*parts, what]))

    def look(self) -> None:
        """Writes down what has become of compactions since the last look. MetastoreError if the
        store cannot be read.
        """
        with self._lock:
            compactions = self._store.compactions()
            for entry in compactions:
                if self._states.get(entry.compaction_id) is not entry.state:
                    self.steps += 1
                    self._note(entry)
            self._states = {c.compaction_id: c.state for c in compactions}
            self._before = {i: size for i, size in self._before.items() if i in self._states}

    def _note(self, entry: Compaction) -> None:
        what = f"{entry.request.type.name.lower()} compaction {entry.compaction_id}"
        where = entry.request.table, entry.request.partition
        match entry.state:
            case CompactionState.INITIATED if entry.compaction_id in self._states:
                self.say("worker", f"{what} was given back", where)
            case CompactionState.INITIATED:
                self._measure(entry)
            case CompactionState.WORKING:
                self._measure(entry)
                self.say("worker", f"{what} begun by {entry.worker}", where)
            case CompactionState.READY_FOR_CLEANING:
                self.say("worker", f"{what} done{self._came_to(entry)}", where)
            case CompactionState.SUCCEEDED:
                after = _seconds(entry.enqueued, entry.ended)
                self.say("cleaner", f"{what} succeeded, {after} after it was asked for", where)
            case CompactionState.DID_NOT_INITIATE:
                pass  # the Initiator has said so itself
            case _:
                self.failures += entry.state is CompactionState.FAILED
                self.say("worker", f"{what} {entry.state.words}: {entry.message or ''}", where)

    def _measure(self, entry: Compaction) -> None:
        if entry.compaction_id not in self._before:
            with suppress(Error, OSError):
                self._before[entry.compaction_id] = self._size(entry)

    def _came_to(self, entry: Compaction) -> str:
        took = f" in {_seconds(entry.started, entry.committed)}" if entry.committed else ""
        before = self._before.pop(entry.compaction_id, None)
        with suppress(Error, OSError):
            after = _words(self._size(entry))
            return f"{took}: {after if before is None else f'{_words(before)} -> {after}'}"
        return took

    def _size(self, entry: Compaction) -> Size:
        target = find_object(self._store, (entry.request.table, entry.request.partition))
        if target is None:
            return 0, 0
        seen = directory_of(self._store, self._files, *target)
        directories = (*seen.current, *((seen.base,) if seen.base is not None else ()))
        files = [*seen.originals, *(f for directory in directories for f in directory.files)]
        return sum(f.size for f in files), len(directories)


def named(where: Where) -> str:
    """A table, or a partition behind its table: ``default.t/p=1``."""
    table, partition = where
    return str(table) if partition is None else f"{table}/{partition}"


def in_bytes(size: int) -> str:
    """A size in words: ``12 B``, ``3.4 MiB``."""
    if size < _STEP:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        value /= _STEP
        if value < _STEP:
            return f"{value:.1f} {unit}"
    return f"{value / _STEP:.1f} TiB"


def _words(size: Size) -> str:
    number = f"{size[1]:,} director{'y' if size[1] == 1 else 'ies'}"
    return f"{in_bytes(size[0])} in {number}"


def _seconds(began: int | None, ended: int | None) -> str:
    return "unknown time" if began is None or ended is None else f"{(ended - began) / 1000:.1f} s"
