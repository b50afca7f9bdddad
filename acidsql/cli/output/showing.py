"""Shows the rows of a query: where they go, how they fit there, and what is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from acidsql.cli.output.kept import Kept
from acidsql.cli.output.paging import paged, pager_of, screen_of
from acidsql.errors import ProgrammingError
from acidsql.lazy_dataclass import dataclass
from acidsql.rendering.formats import Counter, Layout, Row, row_lines
from acidsql.result import tuples_of
from acidsql.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

CUT_HINT = (
    '"SET acidsql.shell.rows=0;" shows all, ".pager less" a page at a time;'
    ' ".once FILE" and ".last csv" write them to a file'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How many rows there were; ``shown`` how many of them are on the screen. ``is_more``: there
    are more than were counted.
    """

    rows: int
    shown: int
    is_more: bool = False

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
    rows = Counter(chain.from_iterable(map(tuples_of, kept.passing(batches))))
    lines = partial(row_lines, kept.columns, layout=fitted_layout(layout, settings, screen))
    if screen is None or not at_prompt:
        out.writelines(lines(rows))
        return Shown(rows=rows.count, shown=rows.count)
    pager = pager_of(settings.text("acidsql.shell.pager"))
    if pager is not None:
        paged(out, lines(rows), screen, pager)
        return Shown(rows=rows.count, shown=rows.count)
    most = int(settings.number("acidsql.shell.rows")) or None
    source = iter(rows)
    out.writelines(lines(islice(source, most)))
    shown = rows.count
    is_more = most is not None and _goes_on(source, kept)
    return Shown(rows=rows.count, shown=shown, is_more=is_more)


def _goes_on(rest: Iterator[Row], kept: Kept) -> bool:
    """Counts the rows that are not shown, as long as they are few; whether there are more."""
    return any(kept.is_full for _ in rest)


def fitted_layout(layout: Layout, settings: Settings, screen: os.terminal_size | None) -> Layout:
    """The layout with what the settings say, fitted to a screen unless it has a width for cells."""
    return replace(
        layout,
        null=settings.text("acidsql.shell.null"),
        tabs=settings.flag("acidsql.shell.tsv.raw"),
        screen=None if screen is None or layout.widest_cell is not None else screen.columns,
        vertical_if_wide=screen is not None and settings.flag("acidsql.shell.vertical"),
        widest_cell=layout.widest_cell or None,
    )
