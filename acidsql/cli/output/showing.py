"""Shows the rows of a query: where they go, how they fit there, and what is left out."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from acidsql.errors import ProgrammingError
from acidsql.lazy import dataclass
from acidsql.rendering.formats import Column, Counter, Format, Layout, Row, row_lines
from acidsql.result import tuples_of
from acidsql.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa


# ---- rows that are kept
#
# The rows of the last query, kept as long as they are few, so that they can be shown again.


MOST_BYTES = 16 << 20


@dataclass(slots=True)
class Kept:
    """The rows of a query that have come so far. ``statement``: its name; ``is_whole``: all have
    come, and all are here; ``page``: which of their columns were shown last, of those that are
    shown together.
    """

    columns: Sequence[Column]
    statement: str = ""
    batches: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0
    is_whole: bool = False
    page: int | None = None

    @property
    def is_full(self) -> bool:
        return self.size > MOST_BYTES

    def passing(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches as they come, which are remembered meanwhile."""
        for batch in batches:
            if not self.is_full:
                self.size += batch.nbytes
                self.batches.append(batch)
            if self.is_full:
                self.batches.clear()
            yield batch
        self.is_whole = not self.is_full


# ---- showing


# ---- pages
#
# Rows on a screen that does not hold them: through a pager, or cut with a hint.


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


# ---- showing


CUT_HINT = (
    '"SET acidsql.shell.rows=0;" shows all, ".pager less" a page at a time;'
    ' ".once FILE" and ".last csv" write them to a file'
)
COLUMNS_HINT = "end the statement with \\G to see every column"
_FOR_PEOPLE = (Format.TABLE, Format.VERTICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How many rows there were; ``shown`` how many of them are on the screen. ``is_more``: there
    are more than were counted. ``columns``: how many of ``of`` columns are there, where not all.
    """

    rows: int
    shown: int
    is_more: bool = False
    columns: tuple[int, int] | None = None

    @property
    def is_cut(self) -> bool:
        return self.is_more or self.shown < self.rows


@dataclass(slots=True, kw_only=True)
class Destination:
    """Where rows go instead of to standard output: a file, or nowhere else. ``once``: for one
    statement.
    """

    file: TextIO | None = None
    once: bool = False

    def open(self, path: str, *, once: bool = False) -> None:
        """Begins a file. ProgrammingError if it cannot be written."""
        self.close()
        try:
            self.file = Path(path).expanduser().open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise ProgrammingError(f'cannot write "{path}"', detail=error.strerror) from error
        self.once = once

    def close(self) -> None:
        """Ends the file; without one there is nothing to do."""
        file, self.file, self.once = self.file, None, False
        if file is not None:
            file.close()

    def used(self) -> None:
        """A statement has written its rows: they can be read now."""
        if self.once:
            self.close()
        elif self.file is not None:
            self.file.flush()


def show_rows(
    kept: Kept,
    batches: Iterator[pa.RecordBatch],
    layout: Layout,
    settings: Settings,
    out: TextIO,
    *,
    at_prompt: bool,
) -> Shown:
    """Writes rows to ``out``, fitted to its screen if it has one. What that does not hold goes
    ``at_prompt`` through the pager, or is cut where there is none.
    """
    screen = screen_of(out)
    laid_out = fitted_layout(layout, settings, screen)
    columns: Sequence[Column] = kept.columns
    source: Iterable[Row] = chain.from_iterable(map(tuples_of, kept.passing(batches)))
    some = None
    if screen is not None and layout.format in _FOR_PEOPLE:
        from acidsql.cli.output.people import has_picture, pictured

        if has_picture(kept.statement):
            is_table = layout.format is Format.TABLE
            fit = laid_out if is_table else replace(laid_out, screen=None)
            picture = pictured(kept.statement, columns, list(source), fit)
            columns, source = picture.columns, picture.rows
            some = (len(columns), picture.of) if picture.is_cut else None
    rows = Counter(source)
    lines = partial(row_lines, columns, layout=laid_out)
    if screen is None or not at_prompt:
        out.writelines(lines(rows))
        return Shown(rows=rows.count, shown=rows.count, columns=some)
    pager = pager_of(settings.text("acidsql.shell.pager"))
    if pager is not None:
        paged(out, lines(rows), screen, pager)
        return Shown(rows=rows.count, shown=rows.count, columns=some)
    most = int(settings.number("acidsql.shell.rows")) or None
    rest = iter(rows)
    out.writelines(lines(islice(rest, most)))
    shown = rows.count
    is_more = most is not None and _goes_on(rest, kept)
    return Shown(rows=rows.count, shown=shown, is_more=is_more, columns=some)


def _goes_on(rest: Iterator[Row], kept: Kept) -> bool:
    """Counts the rows that are not shown, as long as they are few; whether there are more."""
    return any(kept.is_full for _ in rest)


def fitted_layout(layout: Layout, settings: Settings, screen: os.terminal_size | None) -> Layout:
    """The layout with what the settings say, fitted to a screen unless it has a width for cells."""
    return replace(
        layout,
        null=settings.text("acidsql.shell.null"),
        tabs=settings.flag("acidsql.shell.tsv.raw"),
        types=settings.flag("acidsql.shell.types"),
        screen=None if screen is None or layout.widest_cell is not None else screen.columns,
        vertical_if_wide=screen is not None and settings.flag("acidsql.shell.vertical"),
        widest_cell=layout.widest_cell or None,
    )
