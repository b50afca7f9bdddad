"""Rows on a screen that does not hold them: through a pager, or cut with a hint."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from typing import TextIO

from acidsql.errors import ProgrammingError

OFF = "off"
_KEPT_FREE = 3
"""Lines of the screen that are the statement's, the summary's and the next prompt's."""
_NO_SUCH_COMMAND = 127


def screen_of(stream: TextIO) -> os.terminal_size | None:
    """The size of the terminal that a stream goes to; None if it goes to none, or that one does not
    tell its width.
    """
    try:
        size = os.get_terminal_size(stream.fileno()) if stream.isatty() else None
    except (OSError, ValueError):
        return None
    return size if size is not None and size.columns else None


def pager_of(setting: str) -> str | None:
    """The command of the pager by ``acidsql.shell.pager``, else $PAGER; None where there is
    none.
    """
    if setting.lower() == OFF:
        return None
    return setting or os.environ.get("PAGER", "").strip() or None


def paged(out: TextIO, lines: Iterable[str], screen: os.terminal_size, command: str) -> None:
    """Writes lines to a terminal, by the pager if the screen does not hold them. ProgrammingError
    for a pager that cannot be run.
    """
    rest = iter(lines)
    height = max(screen.lines - _KEPT_FREE, 1)
    first = list(islice(rest, height + 1))
    if len(first) <= height:
        out.writelines(first)
        return
    out.flush()
    _through(command, chain(first, rest))


def _through(command: str, lines: Iterator[str]) -> None:
    """Gives lines to a pager until it has enough of them, and waits for its end."""
    import subprocess

    environment = {"LESS": "FRSX"} | os.environ
    pager = subprocess.Popen(
        command, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    )
    assert pager.stdin is not None
    try:
        with suppress(BrokenPipeError):
            pager.stdin.writelines(lines)
    finally:
        with _deaf_to_ctrl_c():
            with suppress(BrokenPipeError):
                pager.stdin.close()
            status = pager.wait()
    if status == _NO_SUCH_COMMAND:
        hint = "SET acidsql.shell.pager=off shows rows without one."
        raise ProgrammingError(f'cannot run the pager "{command}"', hint=hint)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """While this block runs, Ctrl-C is the pager's business."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
