"""A line on the terminal while a statement runs long: how many tasks are done, for how long. It is
gone when the statement ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

PATIENCE_SECONDS = 1.0
"""A statement that is done by then shows nothing."""

BEAT_SECONDS = 0.2
_BAR = 24
_ERASE = "\r\x1b[K"

Tasks = Callable[[], tuple[int, int] | None]


@contextmanager
def progress(
    stream: TextIO,
    tasks: Tasks,
    *,
    patience: float = PATIENCE_SECONDS,
    beat: float = BEAT_SECONDS,
    noun: str = "tasks",
) -> Iterator[None]:
    """Shows the line on ``stream`` while the block runs. ``tasks``: (done, known) of the jobs that
    run, None while none does; ``noun``: what is counted.
    """
    done = threading.Event()
    line = threading.Thread(
        target=_show,
        args=(stream, tasks, done, patience, beat, noun),
        daemon=True,
        name="acidsql-progress",
    )
    line.start()
    try:
        yield
    finally:
        done.set()
        line.join()


def _show(
    stream: TextIO, tasks: Tasks, done: threading.Event, patience: float, beat: float, noun: str
) -> None:
    began = time.monotonic()
    shown = False
    wait = patience
    while not done.wait(wait):
        counts = None
        with suppress(Exception):  # Spark may be starting or gone; the statement itself will tell
            counts = tasks()
        stream.write(_ERASE + progress_line(counts, time.monotonic() - began, noun))
        stream.flush()
        shown, wait = True, beat
    if shown:
        stream.write(_ERASE)
        stream.flush()


def progress_line(tasks: tuple[int, int] | None, seconds: float, noun: str = "tasks") -> str:
    """The line: ``[########----------------] 4 of 12 tasks, 3 s``; ``running, 3 s`` while Spark
    runs no job.
    """
    if tasks is None:
        return f"running, {seconds:.0f} s"
    done, known = tasks
    filled = _BAR * done // max(known, 1)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}] {done:,} of {known:,} {noun}, {seconds:.0f} s"
