"""Where output goes: rows to one stream, everything else to the other; and the words of the
everything else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from acidsql.cli.output.showing import Shown, screen_of
from acidsql.errors import Error, Warning
from acidsql.lazy import dataclass
from acidsql.result import Stats

_RED, _DIM, _PLAIN = "\x1b[31m", "\x1b[2m", "\x1b[0m"
_CHANGES = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}


class OutputError(OSError):
    """Standard output takes no rows: nothing more can be said there."""


@dataclass(frozen=True, slots=True)
class Console:
    """``rows`` carries result rows only; ``notes`` errors, counts and times. ``colour`` is for
    notes on a terminal.
    """

    rows: TextIO
    notes: TextIO
    colour: bool = False

    def say(self, text: str, *, dim: bool = False) -> None:
        """Prints a note. Rows written before it are pushed out first, so that both streams read in
        order on one screen.
        """
        self.rows.flush()
        self.notes.write((f"{_DIM}{text}{_PLAIN}" if dim and self.colour else text) + "\n")
        self.notes.flush()

    @property
    def screen(self) -> int | None:
        """The columns of the terminal that notes go to; None where they go to none."""
        size = screen_of(self.notes)
        return None if size is None else size.columns

    def warn(self, warning: Warning) -> None:
        self.say(f"warning: {warning.rendered(self.screen)}")

    def complain(self, error: Error, prefix: str = "") -> None:
        first, *rest = error.rendered(self.screen).split("\n")
        if self.colour:
            first = f"{_RED}{first}{_PLAIN}"
        self.say("\n".join([prefix + first, *rest]))


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR is set or the terminal is a dumb one."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def rows_summary(shown: Shown, seconds: float | None) -> str:
    """The line after rows: ``3 rows (0.12 s)``, ``1,000 of 4,203 rows shown (0.12 s)``."""
    words = counted(shown.rows, "row")
    if shown.is_cut:
        of = f"more than {shown.shown:,}" if shown.is_more else words
        words = f"{shown.shown:,} of {of} {'rows ' if shown.is_more else ''}shown"
    if shown.columns is not None:
        words += f", {shown.columns[0]} of {shown.columns[1]} columns"
    return words + ("" if seconds is None else f" ({seconds:.2f} s)")


def change_summary(stats: Stats, seconds: float | None) -> str:
    """The line after a change: ``3 rows inserted; txn 42, write id 7; 0.05 s``; ``done; 0.01 s``
    for what changes no rows.
    """
    parts = [", ".join(_counts(stats)) or "done"]
    if stats.txn_id is not None:
        parts.append(", ".join([f"txn {stats.txn_id}", *_write_ids(stats)]))
    if seconds is not None:
        parts.append(f"{seconds:.2f} s")
    return "\n".join(
        ["; ".join(parts), *(f"  {words}: {counted(rows, 'row')}" for words, rows in stats.clauses)]
    )


def _counts(stats: Stats) -> Sequence[str]:
    always = _CHANGES.get(stats.statement)
    return [
        f"{counted(number, what)} {became}"
        for number, what, became in stats.counts
        if number or became == always
    ]


def _write_ids(stats: Stats) -> Sequence[str]:
    if len(stats.write_ids) == 1:
        return [f"write id {write_id}" for write_id in stats.write_ids.values()]
    return [f"{table} write id {write_id}" for table, write_id in stats.write_ids.items()]
