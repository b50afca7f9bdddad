"""A line on the terminal while a statement runs long: how many tasks are done, for how long. It is
gone when the statement ends. Where no terminal is, such a line now and then, which stays.

What is typed meanwhile is not shown, as the line would be written over it: the terminal keeps it,
and the next prompt shows it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

PATIENCE_SECONDS = 1.0
"""A statement that is done by then shows nothing."""

BEAT_SECONDS = 0.2
LINE_SECONDS = 5.0
"""Between two lines that stay."""
IDLE = "running"
_BAR = 24
_ERASE = "\r\x1b[K"
_LOCAL_MODES = 3
"""Where they stand among the attributes of a terminal."""

Tasks = Callable[[], tuple[int, int] | None]


@contextmanager
def progress(
    stream: TextIO,
    tasks: Tasks,
    *,
    patience: float = PATIENCE_SECONDS,
    beat: float = BEAT_SECONDS,
    noun: str = "tasks",
    idle: str = IDLE,
    stays: bool = False,
) -> Iterator[None]:
    """Shows the line on ``stream`` while the block runs. ``tasks``: (done, known) of the jobs that
    run, None while none does; ``noun``: what is counted; ``idle``: what is done meanwhile.
    ``stays``: each is a line of its own, for a stream that cannot erase.
    """
    done = threading.Event()
    terminal = None if stays else _Terminal.of(stream)

    def show() -> None:
        began = time.monotonic()
        shown = False
        wait = patience
        before, behind = ("", "\n") if stays else (_ERASE, "")
        while not done.wait(wait):
            if terminal is not None and not shown:
                terminal.keep_quiet()
            counts = None
            with suppress(Exception):  # Spark may be starting or gone; the statement itself tells
                counts = tasks()
            text = progress_line(counts, time.monotonic() - began, noun, idle)
            stream.write(before + text + behind)
            stream.flush()
            shown, wait = True, beat
        if shown and not stays:
            stream.write(_ERASE)
            stream.flush()

    line = threading.Thread(target=show, daemon=True, name="acidsql-progress")
    line.start()
    try:
        yield
    finally:
        done.set()
        line.join()
        if terminal is not None:
            terminal.speak()


class _Terminal:
    """The terminal that is typed on, which shows that or does not."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._before: list[Any] | None = None

    @staticmethod
    def of(stream: TextIO) -> _Terminal | None:
        """The one that a stream goes to, if it is typed on there, and for this process: one in the
        background would be stopped for a change of it.
        """
        try:
            number = sys.stdin.fileno()
            is_ours = (
                os.isatty(number)
                and os.ttyname(number) == os.ttyname(stream.fileno())
                and os.tcgetpgrp(number) == os.getpgrp()
            )
        except (AttributeError, OSError, ValueError):
            return None
        return _Terminal(number) if is_ours else None

    def keep_quiet(self) -> None:
        import termios

        with suppress(termios.error):
            before = termios.tcgetattr(self._number)
            if before[_LOCAL_MODES] & termios.ECHO:
                now = list(before)
                now[_LOCAL_MODES] &= ~termios.ECHO
                termios.tcsetattr(self._number, termios.TCSANOW, now)
                self._before = before

    def speak(self) -> None:
        import termios

        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._number, termios.TCSANOW, self._before)


def progress_line(
    tasks: tuple[int, int] | None, seconds: float, noun: str = "tasks", idle: str = IDLE
) -> str:
    """The line: ``[########----------------] 4 of 12 tasks, 3 s``; ``running, 3 s`` while Spark
    runs no job.
    """
    if tasks is None:
        return f"{idle}, {seconds:.0f} s"
    done, known = tasks
    filled = _BAR * done // max(known, 1)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}] {done:,} of {known:,} {noun}, {seconds:.0f} s"
