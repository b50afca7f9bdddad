"""Commands that say how rows are shown, and that walk through their columns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from acidsql.cli.commands.asking import kept_rows
from acidsql.cli.commands.command import on_or_off, unquoted
from acidsql.cli.output.showing import Kept, fitted_layout, screen_of
from acidsql.errors import ProgrammingError
from acidsql.rendering.formats import (
    FORMAT_NAMES,
    SAMPLE_ROWS,
    Format,
    Layout,
    frame_width,
    needs_of,
    parse_format,
)
from acidsql.result import tuples_of

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


AUTO = "auto"
PAGER = "acidsql.shell.pager"
VERTICAL = "acidsql.shell.vertical"


def mode(runner: Runner, argument: str) -> bool:
    if not argument:
        runner.console.say(runner.layout.format)
    else:
        runner.layout = replace(runner.layout, format=format_named(argument))
    return True


def format_named(argument: str) -> Format:
    """The format of this name. ProgrammingError."""
    try:
        return parse_format(argument)
    except ValueError:
        raise ProgrammingError(
            f'unknown output format "{argument}"', hint=f"One of {', '.join(FORMAT_NAMES)}."
        ) from None


def header(runner: Runner, argument: str) -> bool:
    name = "hive.cli.print.header"
    shown = on_or_off(argument, runner.session.settings.flag(name))
    runner.session.settings.set(name, str(shown).lower())
    return True


def timer(runner: Runner, argument: str) -> bool:
    runner.timer = on_or_off(argument, runner.timer)
    if not argument:
        runner.note(f"timing is {'on' if runner.timer else 'off'}")
    return True


def width(runner: Runner, argument: str) -> bool:
    if argument.lower() == AUTO:
        runner.layout = replace(runner.layout, widest_cell=None)
    elif argument.isascii() and argument.isdigit():
        runner.layout = replace(runner.layout, widest_cell=int(argument))
    else:
        raise ProgrammingError(
            ".width wants a number of characters, 0 for no limit, auto for the screen's"
        )
    return True


def vertical(runner: Runner, argument: str) -> bool:
    """Shows every result a line a column, none, or those that are too wide."""
    now = runner.layout.format is Format.VERTICAL
    if argument.lower() == AUTO:
        runner.session.settings.set(VERTICAL, "true")
        turned = Format.TABLE
    else:
        turned = Format.VERTICAL if on_or_off(argument, now) else Format.TABLE
        runner.session.settings.set(VERTICAL, "false")
    runner.layout = replace(runner.layout, format=turned)
    return True


def pager(runner: Runner, argument: str) -> bool:
    settings = runner.session.settings
    if not argument:
        runner.console.say(settings.text(PAGER) or "that of $PAGER")
    else:
        settings.set(PAGER, "" if argument.lower() in ("on", AUTO) else argument)
    return True


def null(runner: Runner, argument: str) -> bool:
    settings = runner.session.settings
    if argument:
        settings.set("acidsql.shell.null", unquoted(argument))
    else:
        runner.console.say(settings.text("acidsql.shell.null") or "''")
    return True


def keys(runner: Runner, argument: str) -> bool:
    settings = runner.session.settings
    if not argument:
        runner.console.say(settings.text("acidsql.shell.keys"))
    else:
        settings.set("acidsql.shell.keys", argument)
    return True


# ---- columns to the right and the left
#
# Commands that walk through the columns of the last query's rows, as many at a time as the screen
# holds without cutting any.


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
