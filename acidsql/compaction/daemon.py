"""The daemon that compacts: initiator, workers, cleaner and housekeeper, each in a thread, each as
often as Hive runs it. Hive: MetaStoreThread, HiveMetaStore.startCompactorInitiator and its like.

A role that fails says so and goes on. An idle worker sleeps longer each time; who makes work
for another wakes it. When the daemon is told to stop, what runs in Spark is cancelled; a merge that
does not end within seconds is given up: its entry goes back into the queue, and what it has written
lies below a hidden name, as if the process had been killed. The next worker takes both up.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field

from acidsql.compaction.decision import Store, directory_of
from acidsql.compaction.housekeeper import HouseStore
from acidsql.compaction.initiator import Where, find_object
from acidsql.errors import Error
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass
from acidsql.settings import Settings
from acidsql.txn.compactions import Compaction, CompactionState

# ---- the journal
#
# What a daemon writes down: a line for each step of each compaction, by whatever worker, with the
# time it took and the bytes before and after it.
#
#     2026-11-23 19:52:01Z  worker     default.t  minor compaction 12 done in 0.4 s: 1.2 MiB in 14
# directories -> 0.9 MiB in 3 directories


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


# ---- daemon


GRACE_SECONDS = 3.0
"""What a role may take to end once it is told to."""
LOOK_SECONDS = 1.0
"""How often the journal is brought up to date."""
BEAT_SECONDS = 30.0
"""How often it says that it is alive, at least."""
MOST_ROUNDS = 1000
"""The most of ``run_until_done``: what makes work for itself for ever must not keep it."""

_CYCLE, _FAILURE = "_cycle", "_failure_counter"

Turn = Callable[[], bool]
"""Does one piece of work, if there is any; returns whether it has done some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What a daemon does; ``workers`` by their names, which the entries they take have. ``cancel``
    stops what they do in Spark. ``pools``: those they serve.
    """

    initiator: Turn | None
    workers: Mapping[str, Turn]
    cleaner: Turn | None
    housekeeper: Turn
    cancel: Callable[[], None]
    pools: Sequence[str]

    @property
    def names(self) -> tuple[str, ...]:
        present = {
            "initiator": self.initiator is not None,
            "worker": bool(self.workers),
            "cleaner": self.cleaner is not None,
        }
        return (*(name for name, is_there in present.items() if is_there), "housekeeper")


@dataclass(slots=True, kw_only=True)
class _Loop:
    """A role in a thread. ``pause``: seconds before its next turn, by how many turns in a row had
    nothing to do; ``then``: woken when it has done something.
    """

    name: str
    turn: Turn
    pause: Callable[[int], float]
    then: list[_Loop] = field(default_factory=list)
    wake: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, run: Callable[[_Loop], None]) -> None:
        self._thread = threading.Thread(
            target=run, args=(self,), name=f"acidsql {self.name}", daemon=True
        )
        self._thread.start()

    def join(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))


class Daemon:
    """``beyond``: called about once a second by the thread that runs the daemon, for what is to be
    kept up to date. ``clock``: seconds that do not jump. ``counters``: the turns that each role has
    taken and those that failed, by Hive's names of metrics.
    """

    def __init__(
        self,
        store: HouseStore,
        settings: Settings,
        roles: Roles,
        journal: Journal,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._settings = settings
        self._roles = roles
        self._journal = journal
        self._clock = clock
        self.beyond: Callable[[], None] = lambda: None
        self._stopping = threading.Event()
        self._timeout = settings.number("hive.txn.timeout")
        self._beaten = clock()
        self.counters: Counter[str] = Counter()

    @property
    def errors(self) -> int:
        """How often a role has failed."""
        return sum(count for name, count in self.counters.items() if name.endswith(_FAILURE))

    def stop(self) -> None:
        """Has ``run`` return soon. May be called by a handler of signals."""
        self._stopping.set()

    def run(self) -> bool:
        """Runs until it is told to stop; returns whether all roles have ended by then: if not,
        the process should be left at once. MetastoreError if the store cannot be used at the start.
        """
        number = self._store.register_daemon(self._roles.names, self._roles.pools)
        self._journal.say("daemon", f"started: {', '.join(self._roles.names)}")
        loops = self._loops()
        for loop in loops:
            loop.start(self._run_loop)
        try:
            self._attend(number)
        finally:
            ended = self._end(loops)
            self._guarded("daemon", self._journal.look)
            self._guarded("daemon", lambda: self._store.end_daemon(number))
            self._journal.say("daemon", "stopped")
        return ended

    def run_until_done(self) -> bool:
        """Does a round of everything until nothing is left to do, or it is told to stop; returns as
        ``run``.
        """
        number = self._store.register_daemon(self._roles.names, self._roles.pools)
        ended = True
        try:
            self._guarded("housekeeper", self._roles.housekeeper)
            for _ in range(MOST_ROUNDS):
                busy, ended = self._round(number)
                if not busy:
                    break
        finally:
            self._guarded("daemon", lambda: self._store.end_daemon(number))
        return ended

    # ---- one after the other

    def _round(self, number: int) -> tuple[bool, bool]:
        """Lets each role do all it can; returns whether there was anything, and whether all have
        ended.
        """
        before = self._journal.steps
        if self._roles.initiator is not None:
            self._guarded("initiator", self._roles.initiator)
        self._guarded("daemon", self._journal.look)  # sees what is to be merged before it is
        loops = [
            _Loop(name=f"worker {name}", turn=turn, pause=lambda _: 0.0)
            for name, turn in self._roles.workers.items()
        ]
        for loop in loops:
            loop.start(lambda loop: self._exhaust("worker", loop.turn))
        while any(loop.is_alive for loop in loops) and not self._stopping.is_set():
            self._stopping.wait(LOOK_SECONDS / 10)
            self._look_after(number)
        ended = not self._stopping.is_set() or self._end(loops)
        if self._roles.cleaner is not None:
            self._exhaust("cleaner", self._roles.cleaner)
        self._guarded("daemon", self._journal.look)
        self._guarded("daemon", self.beyond)
        return self._journal.steps > before and not self._stopping.is_set(), ended

    def _exhaust(self, role: str, turn: Turn) -> None:
        """Takes turns until one has nothing to do."""
        while not self._stopping.is_set() and self._guarded(role, turn):
            self._guarded("daemon", self._journal.look)

    # ---- side by side

    def _loops(self) -> list[_Loop]:
        roles, settings = self._roles, self._settings
        often = settings.number("metastore.acid.housekeeper.interval")
        loops = [_Loop(name="housekeeper", turn=roles.housekeeper, pause=lambda _: often)]
        cleaner = None
        if roles.cleaner is not None:
            seconds = settings.number("hive.compactor.cleaner.run.interval")
            cleaner = _Loop(name="cleaner", turn=roles.cleaner, pause=_idle(seconds, seconds))
            loops.append(cleaner)
        least = settings.number("hive.compactor.worker.sleep.time")
        most = settings.number("hive.compactor.worker.max.sleep.time")
        workers = [
            _Loop(
                name=f"worker {name}",
                turn=turn,
                pause=_idle(least, most),
                then=[] if cleaner is None else [cleaner],
            )
            for name, turn in roles.workers.items()
        ]
        loops += workers
        if roles.initiator is not None:
            every = settings.number("hive.compactor.check.interval")
            loops.append(
                _Loop(name="initiator", turn=roles.initiator, pause=lambda _: every, then=workers)
            )
        return loops

    def _run_loop(self, loop: _Loop) -> None:
        idle = 0
        while not self._stopping.is_set():
            began = self._clock()
            busy = self._guarded(loop.name.partition(" ")[0], loop.turn)
            idle = 0 if busy else idle + 1
            if busy:
                for other in loop.then:
                    other.wake.set()
            pause = loop.pause(idle) - (self._clock() - began if loop.name == "initiator" else 0)
            if loop.wake.wait(max(0.0, pause)):
                idle = 0
            loop.wake.clear()

    def _attend(self, number: int) -> None:
        """Keeps the daemon known and the journal up to date, until it is to stop."""
        while not self._stopping.wait(LOOK_SECONDS):
            self._look_after(number)
            self._guarded("daemon", self.beyond)

    def _look_after(self, number: int) -> None:
        self._guarded("daemon", self._journal.look)
        if self._clock() - self._beaten >= min(BEAT_SECONDS, self._timeout / 2):
            self._beaten = self._clock()
            self._guarded("daemon", lambda: self._store.heartbeat_daemon(number))

    def _end(self, loops: Sequence[_Loop]) -> bool:
        """Ends the roles; gives back the entries of workers that do not. Returns whether all have
        ended.
        """
        self._stopping.set()
        self._guarded("worker", self._roles.cancel)
        for loop in loops:
            loop.wake.set()
        until = self._clock() + GRACE_SECONDS
        for loop in loops:
            loop.join(until - self._clock())
        alive = [loop.name for loop in loops if loop.is_alive]
        if any(name.startswith("worker ") for name in alive):
            self._guarded("worker", self._give_back)
        return not alive

    def _give_back(self) -> bool:
        working = [c for c in self._store.compactions() if c.state is CompactionState.WORKING]
        for entry in working:
            if entry.worker in self._roles.workers:
                self._store.return_compaction(entry.compaction_id, lease=entry.lease, at_once=True)
        return bool(working)

    def _guarded(self, role: str, turn: Callable[[], object]) -> bool:
        """Takes a turn; what fails is written down and tried again later."""
        self.counters[f"compaction_{role}{_CYCLE}"] += 1
        try:
            return bool(turn())
        except Exception as error:  # it is to outlive what nobody has thought of, too
            if not self._stopping.is_set():
                self.counters[f"compaction_{role}{_FAILURE}"] += 1
                kind = "" if isinstance(error, Error) else f"{type(error).__name__}: "
                self._journal.say(role, f"failed: {kind}{error}")
        return False


def _idle(least: float, most: float) -> Callable[[int], float]:
    """No pause after work; else ``least``, and twice as long each time, up to ``most``."""

    def pause(idle: int) -> float:
        return 0.0 if idle == 0 else min(most, least * 2.0 ** min(idle - 1, 30))

    return pause
