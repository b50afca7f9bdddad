"""The daemon that compacts: initiator, workers, cleaner and housekeeper, each in a thread, each as
often as Hive runs it. Hive: MetaStoreThread, HiveMetaStore.startCompactorInitiator and its like.

A role that fails says so and goes on. An idle worker sleeps longer each time; whoever makes work
for another wakes it. When the daemon is told to stop, what runs in Spark is cancelled; a merge that
does not end within seconds is given up: its entry goes back into the queue, and what it has written
lies below a hidden name, as if the process had been killed. The next worker takes both up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.compaction.housekeeper import HouseStore
from acidsql.compaction.journal import Journal
from acidsql.errors import Error
from acidsql.settings import Settings
from acidsql.txn.compactions import CompactionState

GRACE_SECONDS = 3.0
"""What a role may take to end once it is told to."""
LOOK_SECONDS = 1.0
"""How often the journal is brought up to date."""
MOST_ROUNDS = 1000
"""The most of ``run_until_done``: what makes work for itself for ever must not keep it."""

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
    thread: threading.Thread | None = None


class Daemon:
    """``beyond``: called about once a second by the thread that runs the daemon, for what is to be
    kept up to date. ``clock``: seconds that do not jump.
    """

    def __init__(
        self,
        store: HouseStore,
        settings: Settings,
        roles: Roles,
        journal: Journal,
        *,
        beyond: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._settings = settings
        self._roles = roles
        self._journal = journal
        self._beyond = beyond
        self._clock = clock
        self._stopping = threading.Event()
        self.errors = 0

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
            loop.thread = threading.Thread(
                target=self._run_loop, args=(loop,), name=f"acidsql {loop.name}", daemon=True
            )
            loop.thread.start()
        try:
            self._attend(number)
        finally:
            ended = self._end(loops)
            self._guarded("daemon", self._journal.look)
            self._guarded("daemon", lambda: self._store.end_daemon(number))
            self._journal.say("daemon", "stopped")
        return ended

    def run_until_done(self) -> None:
        """Does a round of everything until nothing is left to do, or it is told to stop."""
        number = self._store.register_daemon(self._roles.names, self._roles.pools)
        try:
            self._guarded("housekeeper", self._roles.housekeeper)
            for _ in range(MOST_ROUNDS):
                if not self._round():
                    break
                self._store.heartbeat_daemon(number)
        finally:
            self._guarded("daemon", lambda: self._store.end_daemon(number))

    # ---- one after the other

    def _round(self) -> bool:
        """Lets each role do all it can; returns whether there was anything."""
        busy = False
        if self._roles.initiator is not None:
            busy |= self._guarded("initiator", self._roles.initiator)
            self._guarded("daemon", self._journal.look)
        threads = [
            threading.Thread(target=self._exhaust, args=("worker", turn), daemon=True)
            for turn in self._roles.workers.values()
        ]
        before = self._journal.steps
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and not self._stopping.is_set():
                thread.join(LOOK_SECONDS)
                self._guarded("daemon", self._journal.look)
        self._guarded("daemon", self._journal.look)
        busy |= self._journal.steps > before
        if self._roles.cleaner is not None:
            busy |= self._exhaust("cleaner", self._roles.cleaner)
        self._beyond()
        return busy and not self._stopping.is_set()

    def _exhaust(self, role: str, turn: Turn) -> bool:
        """Takes turns until one has nothing to do."""
        busy = False
        while not self._stopping.is_set() and self._guarded(role, turn):
            busy = True
            self._guarded("daemon", self._journal.look)
        return busy

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
        every = self._settings.number("hive.txn.timeout") / 2
        beaten = self._clock()
        while not self._stopping.wait(LOOK_SECONDS):
            self._guarded("daemon", self._journal.look)
            self._beyond()
            if self._clock() - beaten >= min(every, 30.0):
                beaten = self._clock()
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
            if loop.thread is not None:
                loop.thread.join(max(0.0, until - self._clock()))
        alive = [loop.name for loop in loops if loop.thread is not None and loop.thread.is_alive()]
        if any(name.startswith("worker ") for name in alive):
            self._guarded("worker", self._give_back)
        return not alive

    def _give_back(self) -> bool:
        working = [c for c in self._store.compactions() if c.state is CompactionState.WORKING]
        for entry in working:
            if entry.worker in self._roles.workers:
                self._store.return_compaction(entry.compaction_id)
        return bool(working)

    def _guarded(self, role: str, turn: Callable[[], object]) -> bool:
        """Takes a turn; what fails is written down and tried again later."""
        try:
            return bool(turn())
        except Exception as error:  # it is to outlive what nobody has thought of, too
            if not self._stopping.is_set():
                self.errors += 1
                kind = "" if isinstance(error, Error) else f"{type(error).__name__}: "
                self._journal.say(role, f"failed: {kind}{error}")
        return False


def _idle(least: float, most: float) -> Callable[[int], float]:
    """No pause after work; else ``least``, and twice as long each time, up to ``most``."""

    def pause(idle: int) -> float:
        return 0.0 if idle == 0 else min(most, least * 2.0 ** min(idle - 1, 30))

    return pause
