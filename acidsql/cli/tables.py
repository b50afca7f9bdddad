"""What ``inspect`` and ``doctor`` share: which table or directory is meant, the rows they print,
and the line on the terminal while footers are read.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from acidsql.catalog.model import Table, TableName
from acidsql.catalog.types import PrimitiveType
from acidsql.commit.recovery import list_kept
from acidsql.errors import TableNotFoundError
from acidsql.rendering.formats import Layout, parse_format, write_rows
from acidsql.rendering.progress import progress
from acidsql.result import ResultColumn
from acidsql.session import Session
from acidsql.width import visible

_WIDEST_CELL = 48
"""On a terminal, so that lines can be read; elsewhere nothing is cut."""

Report = Callable[[int, int], None]


def is_path(text: str) -> bool:
    """Whether a directory is meant and not a table."""
    return "/" in text or os.sep in text or text in (".", "..")


def absolute(path: str) -> str:
    """A directory as the file systems take it: a URL as it is, or an absolute path."""
    return path if "://" in path else os.path.abspath(path)


def find_table(session: Session, text: str) -> Table:
    """The table of a name as a statement would have it: ``t``, ``db.t``, perhaps in backticks.
    TableNotFoundError.
    """
    session.explain(f"DESCRIBE HEALTH {text}")  # whatever is wrong with it is an error from here
    parts = text.replace("`", "").lower().split(".")
    name = TableName(parts[0] if len(parts) > 1 else session.database, parts[-1].strip())
    table = session.store.find_table(name)
    if table is None:
        raise TableNotFoundError(f'there is no table "{name}"')
    return table


def print_rows(
    args: Namespace, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]
) -> None:
    """Prints rows in the format asked for, a table where none is. ``columns``: names and types."""
    widest = _WIDEST_CELL if sys.stdout.isatty() else None
    layout = Layout(
        format=parse_format(args.outputformat or "table"), header=True, widest_cell=widest
    )
    typed = [ResultColumn(name=name, type=PrimitiveType(kind)) for name, kind in columns]
    write_rows(sys.stdout, typed, rows, layout)


def tell_kept(session: Session) -> None:
    """Names on standard error what dropped tables have left for who reads them still."""
    for path in list_kept(session.store, session.files):
        text = f"{path}: kept of a dropped table or partition for who reads it still"
        print(visible(text), file=sys.stderr)


def terminal_width() -> int:
    """The columns of the terminal, 80 to 100 of which a picture uses."""
    try:
        return min(max(os.get_terminal_size(sys.stdout.fileno()).columns, 80), 100)
    except (OSError, ValueError):
        return 80


def speaks_blocks() -> bool:
    """Whether block characters can be written to standard output."""
    try:
        "█▓░·…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@contextmanager
def footers_shown() -> Iterator[Report]:
    """A line on a terminal's standard error while footers are read for long."""
    counts: list[tuple[int, int]] = []

    def report(done: int, known: int) -> None:
        counts[:] = [(done, known)]

    if not sys.stderr.isatty():
        yield report
        return
    with progress(sys.stderr, lambda: counts[0] if counts else None, noun="footers"):
        yield report
