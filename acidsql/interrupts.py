"""Ctrl-C while a statement runs: when it becomes a KeyboardInterrupt.

Python raises one between any two of its steps. In the middle of a call to Java that breaks the
connection and Spark's tasks go on; in the middle of a commit nobody could say what came of it. So
the first Ctrl-C during a statement cancels its Spark jobs and then waits until the statement comes
to where it can stop. A second one is raised where it hits.

    with heeded(cancel):     a whole statement, its clean-up too
        with at_once():      parsing, waiting: there is nothing to spoil
        check()              before and after each use of Spark, between files
        too_late()           the commit: the statement is carried out to its end

A KeyboardInterrupt without a note means that nothing of the statement is visible.

Signals reach the main thread alone: in others all of this does nothing. Nor does it where a handler
of the user's own, or none, is there for Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from acidsql.errors import CommitStateUnknownError

CARRIED_OUT = "the statement had been carried out"
_CANCEL_AGAIN_SECONDS = 0.1
"""A job that the statement is about to start can be cancelled only when it runs."""

Handler = Callable[[int, FrameType | None], Any]


class OurHandler:
    """A handler of Ctrl-C that gives way while a statement runs, and has it back afterwards."""


class InTwoSteps(OurHandler):
    """A handler of Ctrl-C: the first one is a KeyboardInterrupt, the next one goes to ``again``."""

    def __init__(self, again: Handler) -> None:
        self.again = again

    def __call__(self, number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGINT, self.again)
        raise KeyboardInterrupt


class CancelsFirst(OurHandler):
    """A handler of Ctrl-C as PySpark has one: it cancels all of Spark's jobs."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel

    def __call__(self, number: int, frame: FrameType | None) -> NoReturn:
        self._cancel()
        raise KeyboardInterrupt


class _Watch(OurHandler):
    """Over one statement. ``previous``: who handles Ctrl-C before and after it."""

    def __init__(self, cancel: Callable[[], object], previous: Handler) -> None:
        self.previous = previous
        self.immediate = False
        self.committed = False
        self.waiting = False
        self._cancel = cancel
        self._came = False
        self._ended = threading.Event()

    def handle(self, number: int, frame: FrameType | None) -> None:
        came, self._came = self._came, True
        if came and isinstance(self.previous, InTwoSteps):
            self.previous.again(number, frame)
        if came or self.immediate:
            self.waiting = False
            raise KeyboardInterrupt
        self.waiting = True
        threading.Thread(target=self._cancel_jobs, name="acidsql cancel", daemon=True).start()

    def check(self) -> None:
        if self.waiting and not self.committed:
            self.waiting = False
            raise KeyboardInterrupt from None

    def finish(self, error: Exception | None) -> None:
        """KeyboardInterrupt if one is waiting, which also says what the statement came to."""
        interrupted = self.waiting or (error is not None and is_interrupt(error))
        if not interrupted:
            return
        self.waiting = False
        interrupt = KeyboardInterrupt()
        if error is None:
            interrupt.add_note(CARRIED_OUT)
        elif isinstance(error, CommitStateUnknownError):
            interrupt.add_note(str(error))
        raise interrupt from None

    def end(self) -> None:
        self._ended.set()

    def _cancel_jobs(self) -> None:
        while True:
            with suppress(Exception):  # the interrupt comes first, whatever Spark says of it
                self._cancel()
            if self._ended.wait(_CANCEL_AGAIN_SECONDS):
                return


_watch: _Watch | None = None


def _current() -> _Watch | None:
    return _watch if threading.current_thread() is threading.main_thread() else None


@contextmanager
def heeded(cancel: Callable[[], object]) -> Iterator[None]:
    """A statement. ``cancel`` is called by another thread, time and again until the end."""
    global _watch
    previous = None if _watch is not None else _replaceable_handler()
    if previous is None:
        yield
        return
    watch = _watch = _Watch(cancel, previous)
    signal.signal(signal.SIGINT, watch.handle)
    try:
        try:
            yield
        except Exception as error:
            watch.finish(error)
            raise
        watch.finish(None)
    finally:
        _watch = None
        watch.end()
        if signal.getsignal(signal.SIGINT) == watch.handle:
            signal.signal(signal.SIGINT, watch.previous)


@contextmanager
def at_once() -> Iterator[None]:
    """A block in which Ctrl-C need not wait."""
    watch = _current()
    if watch is None or watch.committed:
        yield
        return
    watch.check()
    before, watch.immediate = watch.immediate, True
    try:
        yield
    finally:
        watch.immediate = before


def are_heeded() -> bool:
    """Whether a statement runs in this thread whose Ctrl-C is ours."""
    return _current() is not None


def check() -> None:
    """KeyboardInterrupt if a Ctrl-C is waiting, unless it is too late for that."""
    watch = _current()
    if watch is not None:
        watch.check()


def too_late() -> None:
    """From here on the statement is carried out to its end."""
    watch = _current()
    if watch is not None:
        watch.check()
        watch.committed = True


def renew() -> None:
    """Takes Ctrl-C back, which PySpark takes when it starts; PySpark has it after the statement."""
    watch = _current()
    handler = None if watch is None else _replaceable_handler()
    if watch is not None and handler is not None and handler != watch.handle:
        watch.previous = handler
        signal.signal(signal.SIGINT, watch.handle)


def leave_behind(handler: Handler) -> None:
    """Has ``handler`` behind the statement, unless there was another than Python's before it."""
    watch = _current()
    if watch is not None and watch.previous is signal.default_int_handler:
        watch.previous = handler


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error grew out of an interrupt: a clean-up may raise its own over it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _replaceable_handler() -> Handler | None:
    """The handler of Ctrl-C, if it is Python's, PySpark's, the shell's or a statement's."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        return None
    owner = getattr(handler, "__self__", handler)
    known = handler is signal.default_int_handler or isinstance(owner, OurHandler)
    of_pyspark = getattr(handler, "__module__", None) in ("pyspark.core.context", "pyspark.context")
    return handler if known or of_pyspark else None
