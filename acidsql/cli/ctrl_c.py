"""What Ctrl-C does while a statement of a script runs, and that it always gives the prompt back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from acidsql.interrupts import InTwoSteps, OurHandler

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C has ended."""


@contextmanager
def left_by_ctrl_c() -> Iterator[None]:
    """While this block runs, Ctrl-C raises KeyboardInterrupt, and a second one leaves the program.

    Elsewhere than in the main thread, and where interrupts are ignored (nohup), nothing is changed.
    """
    previous = (
        signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread()
        else signal.SIG_IGN
    )
    if previous in (signal.SIG_IGN, None):
        yield
        return

    def leave(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(INTERRUPTED)

    signal.signal(signal.SIGINT, InTwoSteps(leave))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class PromptGuard(OurHandler):
    """The handler of Ctrl-C at a prompt: while it is armed the first one is a KeyboardInterrupt,
    and those behind it are as good as that one. Between two prompts there is nothing to interrupt.
    """

    def __init__(self) -> None:
        self._is_armed = False

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        armed, self._is_armed = self._is_armed, False
        if armed:
            raise KeyboardInterrupt

    def arm(self) -> None:
        """From here on Ctrl-C interrupts; also where Spark or a statement has taken the signal."""
        self._is_armed = True
        self._listen()

    def disarm(self) -> None:
        self._is_armed = False
        self._listen()

    def _listen(self) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self)


@contextmanager
def prompt_given_back() -> Iterator[PromptGuard]:
    """A shell, which Ctrl-C does not end. Its guard is armed for each prompt."""
    if threading.current_thread() is not threading.main_thread():
        yield PromptGuard()
        return
    previous = signal.getsignal(signal.SIGINT)
    try:
        yield PromptGuard()
    finally:
        signal.signal(signal.SIGINT, previous)
