"""Compaction for those who start nothing: a thread of the session that writes.

After a commit it is only counted whether a threshold may have been crossed; the thread does the
rest, with a store connection of its own: it looks at what was written to since the session began,
compacts what is small and cleans up. It works where no daemon does. It ends when there is nothing
to do, between two files when the session is closed, and is left behind if that takes long: what it
leaves is harmless and taken up later. Where files wait for a reader it comes back, without a
commit, each time later, and some times at most. Its failures are told by SHOW COMPACTIONS alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from acidsql.compaction import DELTAS
from acidsql.errors import Error
from acidsql.lazy import dataclass
from acidsql.settings import Settings

if TYPE_CHECKING:
    from acidsql.compaction.housekeeper import HouseStore

    class ClosingStore(HouseStore, Protocol):
        def close(self) -> None: ...


AUTO = "acidsql.compactor.auto"
CLOSING_SECONDS = 0.05
"""What closing a session may wait for the thread."""
MOST_RETURNS = 10
"""How often it comes back, at most, between two commits that it hears of."""


class Timer(Protocol):
    def cancel(self) -> None: ...


def call_later(seconds: float, action: Callable[[], None]) -> Timer:
    """Calls ``action`` in a thread of its own, unless it is cancelled before; no process waits for
    it.
    """
    timer = threading.Timer(seconds, action)
    timer.name, timer.daemon = "acidsql compactor's return", True
    timer.start()
    return timer


class GivenUp(BaseException):
    """The session is being closed: whatever the thread was at is left to others."""


@dataclass(slots=True, kw_only=True)
class Background:
    """``open_store``: opens a connection for the thread. ``clock``: epoch seconds."""

    settings: Settings
    clock: Callable[[], float]
    open_store: Callable[[], ClosingStore]
    call_later: Callable[[float, Callable[[], None]], Timer] = call_later
    _pid: int = field(default_factory=os.getpid)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _commits: int | None = None
    _asked: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _timer: Timer | None = None
    _returns: int = 0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def committed(self, *, requested: bool = False) -> None:
        """Hears of a commit of the session. ``requested``: the user has asked for a compaction.
        Returns at once.
        """
        if not self.settings.flag(AUTO) or self._stop.is_set() or self._pid != os.getpid():
            return
        first, self._commits = self._commits is None, (self._commits or 0) + 1
        if not first and not requested and self._commits < self._often():
            return
        self._commits = self._returns = 0
        self._ask()

    def _ask(self) -> None:
        """Has the thread look, which begins if there is none."""
        with self._lock:
            self._cancel_return()
            self._asked = not self._stop.is_set()
            if self._asked and self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="acidsql compactor", daemon=True
                )
                self._thread.start()

    def _return_later(self) -> None:
        """Has the thread look once more, after as long as a cleaner waits, or twice as long each
        time.
        """
        if self._returns < MOST_RETURNS:
            seconds = self.settings.number("hive.compactor.cleaner.run.interval")
            self._timer = self.call_later(seconds * 2**self._returns, self._ask)
            self._returns += 1

    def _cancel_return(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def stop(self) -> None:
        """Ends the thread, or leaves it behind to end by itself. In a forked child nothing
        happens.
        """
        if self._pid != os.getpid():
            return
        self._stop.set()
        with self._lock:
            self._cancel_return()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSING_SECONDS)

    def wait(self) -> None:
        """Returns when the thread has nothing to do, but to come back."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _often(self) -> int:
        """A commit makes a delta and a delete delta: after so many there may be too many."""
        return max(1, int(self.settings.number(DELTAS)) // 2)

    def _run(self) -> None:
        # nobody is there to be told, not even of what nobody has thought of
        with suppress(Exception, GivenUp), closing(self.open_store()) as store:
            self._work(store)
        with self._lock:
            if self._thread is threading.current_thread():
                self._thread = None

    def _work(self, store: ClosingStore) -> None:
        # only who writes needs what compacts
        from acidsql.compaction.small_tables import SmallTables

        began, self._began = self._began, self.clock()
        tables = SmallTables(store, self.settings, self.clock, self._stop, since=began)
        is_left = False
        with closing(tables):
            while self._is_asked(is_left=is_left):
                is_left = False
                with suppress(Error, OSError):
                    if not store.compactor_daemons():
                        is_left = tables.round()

    def _is_asked(self, *, is_left: bool) -> bool:
        """Whether there is to be another round; else nobody need start one for what comes.
        ``is_left``: files wait for a reader.
        """
        with self._lock:
            asked, self._asked = self._asked and not self._stop.is_set(), False
            if not asked:
                self._thread = None
                if is_left and not self._stop.is_set():
                    self._return_later()
            return asked
