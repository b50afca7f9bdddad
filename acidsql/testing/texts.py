"""What goldens and snapshots say of results, errors, plans and files that changed: text that is the
same in every run.

Values that differ from run to run have no place in it: the warehouse's own path is ``$WAREHOUSE``,
and nothing here prints a time, a duration or a process id.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow import orc

from acidsql.catalog.text import Printer, plain_text
from acidsql.errors import Error, Warning
from acidsql.parser.tokens import tokenize
from acidsql.result_html import count_of

if TYPE_CHECKING:
    from acidsql.result import Result


_HOLDER = re.compile(r"\(\S+@\S+\) (holds \S+ on \S+) since [0-9: +-]+")
"""Who holds a lock since when, in the errors of those who wait for it."""

_SIZE = re.compile(r"\([\d,]+ bytes?\)")
"""What files come to in a dry run: libraries that write them differ by some bytes."""

_OF_THE_RUN = (
    "workerhost", "workerid", "enqueuetime", "starttime", "duration", "initiatorhost", "committime",
)  # fmt: skip
"""Columns of SHOW COMPACTIONS that say where and when it was."""

_NOTHING = (" --- ", "0")


def result_text(result: Result, *, sort: bool | None = None) -> str:
    """A header and rows for a statement that gives rows, else its counts, its notes, or ``ok``;
    then its warnings.

    sort: whether the rows are sorted as text; None sorts those of a query that has no ORDER BY of
    its own.
    """
    warnings = [f"warning: {warning}" for warning in result.warnings]
    return "\n".join([_outcome(result, sort), *warnings])


def _outcome(result: Result, sort: bool | None) -> str:
    if result.columns:
        header = ", ".join(f"{c.name} {c.type}" for c in result.columns)
        rows = _rows(result)
        if sort if sort is not None else _may_come_in_any_order(result):
            rows.sort()
        return "\n".join([f"[{header}]", *rows])
    counts = [(number, what, became) for number, what, became in result.stats.counts if number]
    counted = ", ".join(
        f"{number} {became}" if what == "row" else f"{count_of(number, what)} {became}"
        for number, what, became in counts
    )
    return counted or "\n".join(result.notes) or "ok"


def _rows(result: Result) -> list[str]:
    printers = [plain_text(c.type) for c in result.columns]
    columns = [c.name for c in result.columns]
    masked_columns = _OF_THE_RUN if result.stats.statement == "SHOW COMPACTIONS" else ()
    return [
        "\t".join(
            f"${name.upper()}" if name in masked_columns and v not in _NOTHING else _cell(v, print_)
            for name, v, print_ in zip(columns, row, printers, strict=True)
        )
        for row in result.rows()
    ]


def _cell(value: object, printer: Printer) -> str:
    return "NULL" if value is None else printer(value)


def _may_come_in_any_order(result: Result) -> bool:
    """Whether it is a query's that does not order its rows (an ORDER BY outside parentheses)."""
    if result.stats.statement != "SELECT":
        return False
    depth = 0
    words: list[str] = []
    for token in tokenize(result.text):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0:
            words.append(token.word)
    return ("ORDER", "BY") not in pairwise(words)


def error_text(error: Error | Warning) -> str:
    """The class of an error and its whole rendering, caret and hint included."""
    return f"{type(error).__name__}: {error}"


def masked(text: str, warehouse: Path) -> str:
    """The text with ``$WAREHOUSE`` for the warehouse's path, ``$USER`` and ``$TIME`` for who
    holds a lock since when, and ``$SIZE`` for bytes in brackets.
    """
    held = _HOLDER.sub(r"($USER) \1 since $TIME", text.replace(str(warehouse), "$WAREHOUSE"))
    return _SIZE.sub("($SIZE)", held)


# ---- changes of files
#
# The changes of the warehouse's files by a statement, by name: no sizes, no times, no absolute
# paths.


STORE = "_acidsql"
"""The embedded metastore's folder: not data."""
STAGING = ".acidsql_"
"""What the names of directories begin with that a transaction has not committed yet: they differ
from run to run.
"""
ORC_MAGIC = b"ORC"

Listing = dict[str, str]


def take_listing(warehouse: Path) -> Listing:
    """Every file below the warehouse, by its relative path, with what is worth saying of it (``
    rows=3`` for an ORC file).

    What an open transaction has staged is not among them.

    An empty directory is listed too, with a trailing slash: nothing should leave one.
    """
    listing: Listing = {}
    for folder, folders, files in os.walk(warehouse):
        folders[:] = sorted(
            f
            for f in folders
            if not ((f == STORE and Path(folder) == warehouse) or f.startswith(STAGING))
        )
        here = Path(folder).relative_to(warehouse)
        for name in files:
            listing[(here / name).as_posix()] = _facts(Path(folder, name))
        if not files and not folders and here != Path():
            listing[f"{here.as_posix()}/"] = ""
    return listing


def changes(before: Listing, after: Listing) -> list[str]:
    """The lines ``+ path facts`` and ``- path``, by path. An empty directory that was filled is not
    gone.
    """
    gone = [
        path
        for path in before.keys() - after.keys()
        if not (path.endswith("/") and any(p.startswith(path) for p in after))
    ]
    lines = [(path, f"- {path}") for path in gone]
    lines += [
        (path, f"+ {path}{facts}") for path, facts in after.items() if before.get(path) != facts
    ]
    return [line for _, line in sorted(lines)]


def _facts(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(len(ORC_MAGIC)) != ORC_MAGIC:
            return ""
    return f" rows={orc.ORCFile(path).nrows}"


class FileChanges:
    """What happened to a warehouse's files while a ``file_changes`` was open: ``lines``."""

    def __init__(self) -> None:
        self.lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines) or "no changes"

    def __repr__(self) -> str:
        return f"FileChanges({self.lines})"


@contextmanager
def file_changes(warehouse: Path) -> Iterator[FileChanges]:
    """Tells, once it is left, which files came (``+ path rows=3``) and went (``- path``)."""
    files = FileChanges()
    before = take_listing(warehouse)
    yield files
    files.lines = tuple(changes(before, take_listing(warehouse)))
