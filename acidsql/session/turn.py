"""Whose turn it is to use a session: that of the process that opened it, and of one thread at a
time.

A forked child has a copy of its parent's session, with its open transaction and its connections to
the store and to Java. Nothing may be done with it there: both would speak for one transaction.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acidsql import interrupts
from acidsql.errors import InterfaceError


class Turn:
    """Whose turn it is to use one session. ``cancel`` stops what its statement does in Spark."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._cancel = cancel

    @property
    def is_elsewhere(self) -> bool:
        """Whether the session is that of another process, which this one was forked from."""
        return self._pid != os.getpid()

    def check_process(self) -> None:
        """InterfaceError in a forked child."""
        if self.is_elsewhere:
            hint = "Open a session in each process."
            raise InterfaceError("the session belongs to another process", hint=hint)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A statement. InterfaceError in a forked child, and while another thread has its turn.

        The same thread may take another one inside.
        """
        self.check_process()
        if not self._lock.acquire(blocking=False):
            hint = "Open a session for each thread."
            raise InterfaceError("the session is in use by another thread", hint=hint)
        try:
            with interrupts.heeded(self._cancel):
                yield
        finally:
            self._lock.release()
