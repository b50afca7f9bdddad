"""Processes that tests start by the dozen. Each is a fork of one that has imported acidsql and run a
few statements, and has nothing open: a new interpreter takes a second of processor time for that.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.forks_begin"])
LONG = 300
"""Seconds after which a process that does not end has failed."""


def side_by_side(work: Callable[..., None], of_each: Sequence[Sequence[object]]) -> list[Any]:
    """What processes answer that begin together, in their order. Each runs ``work`` with a
    connection and its arguments: says "ready", waits for a word, and sends a list at its end.
    """
    started: list[tuple[Connection, ForkServerProcess]] = []
    try:
        for arguments in of_each:
            ours, theirs = PROCESSES.Pipe()
            process = PROCESSES.Process(
                target=_tell, args=(work, theirs, dict(os.environ), *arguments), daemon=True
            )
            started.append((ours, process))
            process.start()
            theirs.close()
        for talk, _ in started:
            assert _heard(talk) == "ready"
        for talk, _ in started:
            talk.send("go")
        answers = [answer for talk, _ in started for answer in _heard(talk)]
        for _, process in started:
            process.join(LONG)
        assert [process.exitcode for _, process in started] == [0] * len(started)
        return answers
    finally:
        for talk, process in started:
            talk.close()
            if process.pid is not None:
                process.kill()
                process.join()


def _take_over(environment: dict[str, str]) -> None:
    """The environment of the test: that of the forked process is of when it began."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()


@dataclass(frozen=True)
class Failure:
    """What ended the work of a process, instead of what was to be sent."""

    trace: str


def _tell(
    work: Callable[..., None], test: Connection, environment: dict[str, str], *arguments: object
) -> None:
    try:
        _take_over(environment)
        work(test, *arguments)
    except BaseException:
        test.send(Failure(traceback.format_exc()))
        raise


def _heard(talk: Connection) -> Any:
    answer = talk.recv()
    if isinstance(answer, Failure):
        raise AssertionError(f"a process failed: {answer.trace}")
    return answer


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it had said; a signal is a negative code, as in subprocess."""

    returncode: int | None
    stdout: str
    stderr: str


@contextmanager
def program(main: Callable[..., Any], *arguments: object, folder: Path) -> Iterator[Program]:
    """A process whose exit code is what ``main`` returns; it is killed if it has not ended."""
    started = Program(main, arguments, Path(tempfile.mkdtemp(dir=folder)))
    try:
        yield started
    finally:
        started.process.kill()
        started.process.join()


class Program:
    def __init__(self, main: Callable[..., Any], arguments: Sequence[object], folder: Path) -> None:
        self._out, self._err = folder / "out", folder / "err"
        self.process = PROCESSES.Process(
            target=_run,
            args=(main, arguments, dict(os.environ), str(self._out), str(self._err)),
            daemon=False,
        )
        self.process.start()

    def wait(self, seconds: float = LONG) -> Ended:
        self.process.join(seconds)
        return Ended(self.process.exitcode, self._out.read_text(), self._err.read_text())


def ended(main: Callable[..., Any], *arguments: object, folder: Path) -> Ended:
    """Runs a process to its end; what it prints goes to files in ``folder``."""
    with program(main, *arguments, folder=folder) as started:
        return started.wait()


def _run(
    main: Callable[..., Any],
    arguments: Sequence[object],
    environment: dict[str, str],
    *paths: str,
) -> None:
    _take_over(environment)
    for number, path in enumerate(paths, start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.exit(main(*arguments))
