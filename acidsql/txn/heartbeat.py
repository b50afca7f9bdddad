"""Keeps a transaction or a lock alive: a daemon thread that does nothing until that is older than
one interval.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from acidsql.errors import MetastoreError, TransactionAbortedError


class Heartbeat:
    """Calls ``beat`` every ``seconds`` until stopped. ``name``: of what it keeps alive. ``lost``
    says why the transaction is no longer open, once that is known.

    A store that cannot be reached for a moment is no loss: the next beat tries again, and a commit
    asks the store anyway.
    """

    def __init__(self, beat: Callable[[], None], name: str, seconds: float) -> None:
        self._beat = beat
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"acidsql heartbeat of {name}", daemon=True
        )
        self.lost: TransactionAbortedError | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the beating; returns when no beat is under way any more."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._beat()
            except TransactionAbortedError as error:
                self.lost = error
                return
            except MetastoreError:
                continue
