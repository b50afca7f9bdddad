"""Commands that walk through the columns of the last query's rows, as many at a time as the screen
holds without cutting any.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from acidsql.cli.commands.asking import kept_rows
from acidsql.cli.output.kept import Kept
from acidsql.cli.output.paging import screen_of
from acidsql.cli.output.showing import fitted_layout
from acidsql.rendering.formats import SAMPLE_ROWS, Format, Layout, frame_width, needs_of
from acidsql.result import tuples_of

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


def right(runner: Runner, argument: str) -> bool:
    """Shows the columns behind those of before, the first ones at first."""
    return _walk(runner, 1)


def left(runner: Runner, argument: str) -> bool:
    """Shows the columns in front of those of before."""
    return _walk(runner, -1)


def _walk(runner: Runner, step: int) -> bool:
    kept = kept_rows(runner)
    screen = screen_of(runner.destination.file or runner.console.rows)
    layout = replace(runner.layout, format=Format.TABLE)
    pages = list(_pages(kept, fitted_layout(layout, runner.session.settings, screen)))
    page = (-1 if kept.page is None else kept.page) + step
    if not 0 <= page < len(pages):
        runner.note(f"there are no columns to the {'right' if step > 0 else 'left'}")
        return True
    kept.page = page
    first, behind = pages[page]
    some = Kept(kept.columns[first:behind], kept.statement)
    batches = (batch.select(list(range(first, behind))) for batch in kept.batches)
    runner.show_rows(some, batches, layout, time.perf_counter())
    runner.note(f"columns {first + 1} to {behind} of {len(kept.columns)}: .left and .right go on")
    return True


def _pages(kept: Kept, layout: Layout) -> Iterator[tuple[int, int]]:
    """The columns that are shown together: from one, and up to another; all where no screen is
    looked at.
    """
    rows = islice(chain.from_iterable(map(tuples_of, kept.batches)), SAMPLE_ROWS)
    widths = [one.natural for one in needs_of(kept.columns, rows, layout)]
    first = 0
    for behind in range(1, len(widths) + 1):
        if behind == len(widths) or _is_full(widths[first : behind + 1], layout.screen):
            yield first, behind
            first = behind


def _is_full(widths: Sequence[int], screen: int | None) -> bool:
    return screen is not None and frame_width(widths) > screen
