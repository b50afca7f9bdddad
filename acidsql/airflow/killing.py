"""``on_kill`` of a task that is in the middle of a statement.

Airflow tells a task that it is to end by SIGTERM, whose handler calls the operator's ``on_kill`` in
the main thread, between two steps of whatever runs there, and then lets it go on. Here that becomes
a Ctrl-C, which statements know how to heed: Spark's jobs are cancelled, and KeyboardInterrupt comes
where nothing is spoiled (see ``interrupts``), never in the middle of a commit.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class KillSwitch:
    """What ``on_kill`` calls while statements run. ``cancel``: for other threads."""

    def __init__(self, cancel: Callable[[], object], before: Callable[[], object]) -> None:
        self.was_used = False
        self._cancel = cancel
        self._before = before

    def __call__(self) -> None:
        self.was_used = True
        self._before()
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        else:
            self._cancel()


@contextmanager
def kill_switch(task: Any | None, cancel: Callable[[], object]) -> Iterator[KillSwitch]:
    """The statements of a task: a KeyboardInterrupt leaves it if the task is killed. ``task``: the
    operator that runs; None outside of tasks.
    """
    switch = KillSwitch(cancel, task.on_kill if task is not None else lambda: None)
    if task is None:
        yield switch
        return
    in_main = threading.current_thread() is threading.main_thread()
    previous = signal.getsignal(signal.SIGINT) if in_main else None
    # Airflow leaves Ctrl-C to the system in its tasks, which would end the process there and then
    replaced = in_main and previous in (signal.SIG_DFL, signal.SIG_IGN)
    if replaced:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    own = task.__dict__.get("on_kill")
    task.__dict__["on_kill"] = switch
    try:
        yield switch
    finally:
        if own is None:
            del task.__dict__["on_kill"]
        else:
            task.__dict__["on_kill"] = own
        if replaced:
            signal.signal(signal.SIGINT, previous)
