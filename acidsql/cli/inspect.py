"""``acidsql inspect``: the health of all tables as lines, of one table as a picture, or the metrics
of the store.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from acidsql.cli.main import open_existing
from acidsql.cli.options import add_output_format
from acidsql.cli.tables import (
    absolute,
    footers_shown,
    is_path,
    print_rows,
    speaks_blocks,
    tell_kept,
    terminal_width,
)
from acidsql.compaction.doctor.rounds import tables_of
from acidsql.compaction.examination import path_health, table_health
from acidsql.compaction.health import TableHealth
from acidsql.compaction.metrics import openmetrics
from acidsql.compaction.picture import ASCII, BLOCKS, picture, size_words
from acidsql.errors import Error, ExecutionError, ProgrammingError
from acidsql.files.local_files import LOCAL
from acidsql.session import Session

_FACTS = (("section", "string"), ("item", "string"), ("value", "string"))
_LINES = (
    ("table", "string"),
    ("kind", "string"),
    ("files", "bigint"),
    ("bytes", "string"),
    ("small", "bigint"),
    ("deltas", "bigint"),
    ("deletes", "bigint"),
    ("obsolete", "string"),
    ("garbage", "string"),
    ("open", "bigint"),
    ("initiator", "string"),
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Without a table: a line for each table of the warehouse. A DIRECTORY (what has a slash in"
        " it) need not be known to any catalog: its layout is shown by names and footers. Nothing"
        " is changed."
    )
    doc = "a table (t, db.t, \"t PARTITION (day='x')\") or a directory"
    parser.add_argument("table", metavar="TABLE", nargs="?", help=doc)
    metrics = "print the metrics of the store as OpenMetrics text"
    parser.add_argument("--metrics", action="store_true", help=metrics)
    marks = "draw with ASCII characters alone"
    parser.add_argument("--ascii", action="store_true", help=marks)
    add_output_format(parser, "a picture of one table, a table of all")


def run(args: Namespace) -> int:
    """Prints what was asked for; 0. Error if it cannot be looked at."""
    if args.metrics and args.table:
        raise ProgrammingError("--metrics is of all tables")
    try:
        if args.table and is_path(args.table) and "://" not in args.table:
            _show(args, _of_directory(args, LOCAL))
            return 0
        with open_existing(args) as session:
            _inspect(args, session)
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise ExecutionError(f"cannot read{where}", detail=error.strerror or str(error)) from error
    return 0


def _of_directory(args: Namespace, io: Any) -> TableHealth:
    path = absolute(args.table)
    if not io.exists(path):
        raise ProgrammingError(f'there is no directory "{path}"')
    with footers_shown() as report:
        return path_health(io, path, now=time.time(), report=report)


def _inspect(args: Namespace, session: Session) -> None:
    if args.metrics:
        text = openmetrics(session.store, session.files, session.settings, now=time.time())
        sys.stdout.write(text)
    elif args.table and is_path(args.table):
        _show(args, _of_directory(args, session.files))
    elif args.table:
        with footers_shown() as report:
            health = session.health(args.table, report)
        _show(args, health)
    else:
        print_rows(args, _LINES, _lines(session))
        tell_kept(session)


def _show(args: Namespace, health: TableHealth) -> None:
    if args.outputformat:
        print_rows(args, _FACTS, health.facts)
        return
    marks = BLOCKS if speaks_blocks() and not args.ascii else ASCII
    print(picture(health, width=terminal_width(), marks=marks))


def _lines(session: Session) -> Iterator[tuple[Any, ...]]:
    """A line for each table; footers are not read."""
    for table in tables_of(session.store):
        try:
            health = table_health(
                session.store,
                session.files,
                session.settings,
                table,
                now=time.time(),
                footers=False,
            )
        except (Error, OSError) as error:
            nothing = [None] * (len(_LINES) - 3)
            yield str(table.name), "?", *nothing, str(error).splitlines()[0]
        else:
            yield _line(health)


def _line(health: TableHealth) -> tuple[Any, ...]:
    total = health.total
    wanted = [p for p in health.partitions if p.decision and p.decision.type]
    plan = "-"
    if health.problems:
        plan = f"cannot: {health.problems[0]}"
    elif wanted:
        first = wanted[0].decision
        assert first is not None
        assert first.type is not None
        plan = f"{first.type.name.lower()} of {len(wanted)}: {first.why}"
    elif health.partitions and health.partitions[0].decision is not None:
        plan = f"nothing: {health.partitions[0].decision.why}"
    return (
        health.name,
        health.kind,
        total.files,
        size_words(total.bytes),
        total.small_files,
        total.deltas,
        total.delete_deltas,
        size_words(total.obsolete_bytes + total.aborted_bytes),
        size_words(total.garbage_bytes),
        len(health.open_writes),
        plan,
    )
