"""The line that shows how far a long statement is: there while it runs, gone behind it."""

from __future__ import annotations

import io
import threading

from acidsql.rendering.progress import progress, progress_line


class Terminal(io.StringIO):
    """Tells when so many lines were written."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.seen = threading.Event()
        self.left = lines

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left <= 0:
            self.seen.set()
        return super().write(text)


def test_the_line() -> None:
    """A bar, the tasks and the time; no bar while there is no job."""
    assert progress_line((3, 12), 4.4) == "[######------------------] 3 of 12 tasks, 4 s"
    assert progress_line((0, 0), 1) == "[------------------------] 0 of 0 tasks, 1 s"
    assert progress_line(None, 2) == "running, 2 s"
    assert progress_line(None, 2, idle="Spark is starting") == "Spark is starting, 2 s"


def test_a_quick_statement_shows_nothing() -> None:
    """Who is done before the line appears never sees it."""
    terminal = Terminal(1)
    with progress(terminal, lambda: (1, 2), patience=60):
        pass
    assert terminal.getvalue() == ""


def test_a_long_statement_shows_and_clears_the_line() -> None:
    """The line is written over and erased in the end; what goes wrong in asking is not the
    statement's trouble.
    """
    answers = iter([(1, 4), RuntimeError(), (3, 4)])

    def tasks() -> tuple[int, int] | None:
        answer = next(answers, None)
        if isinstance(answer, Exception):
            raise answer
        return answer

    terminal = Terminal(4)
    with progress(terminal, tasks, patience=0.001, beat=0.001):
        assert terminal.seen.wait(30)
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[1].endswith("1 of 4 tasks, 0 s")
    assert shown[2] == "running, 0 s"
    assert shown[3].endswith("3 of 4 tasks, 0 s")
    assert shown[-1] == ""


def test_lines_that_stay() -> None:
    """Where nothing can be erased each line ends, and the last one is not taken away."""
    log = Terminal(2)
    with progress(log, lambda: None, patience=0.001, beat=0.001, idle="starting", stays=True):
        assert log.seen.wait(30)
    assert set(log.getvalue().splitlines()) == {"starting, 0 s"}
    assert log.getvalue().endswith("\n")
