"""Runs a golden script and says what it printed; pure but for the session it is given.

There are four modes:

    run     each statement run: its rows or row counts, and with ``-- !acid show: files`` what it
            did to the files
    parse   each statement as the parser's tree
    plan    each query or DML statement as its EXPLAIN, the others run; Spark is never started
    error   each statement run; what fails shows its error; Spark is never started

Every statement is printed behind ``> ``, then its outcome. Values that differ from run to run have
no place in a golden file: the warehouse's own path is printed as ``$WAREHOUSE``, which is
its name in statements, too, and nothing here prints a time, a duration or a process id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.catalog.text import Printer, plain_text
from acidsql.errors import Error
from acidsql.parser.parse import parse
from acidsql.parser.show import show
from acidsql.parser.statements import Delete, Insert, Merge, MultiInsert, Query, Update
from acidsql.parser.tokens import tokenize
from acidsql.testing.listing import changes, take_listing
from acidsql.testing.script import FIRST_SESSION, ScriptError, Step, read_steps
from acidsql.testing.sessions import run_sessions, uses_sessions

if TYPE_CHECKING:
    from acidsql.result import Result
    from acidsql.session import Session

Outcome = Callable[[Step], str]


_HOLDER = re.compile(r"\(\S+@\S+\) (holds \S+ on \S+) since [0-9: +-]+")
"""Who holds a lock since when, in the errors of those who wait for it."""

_OF_THE_RUN = (
    "workerhost", "workerid", "enqueuetime", "starttime", "duration", "initiatorhost", "committime",
)  # fmt: skip
"""Columns of SHOW COMPACTIONS that say where and when it was."""

_NOTHING = (" --- ", "0")


def run_compiled(mode: str, text: str, session: Session) -> str:
    """Runs the modes ``parse``, ``plan`` and ``error``. ScriptError when a statement does what the
    script did not foretell.
    """
    match mode:
        case "parse":
            return _run(text, lambda step: show(parse(step.text), step.text))
        case "plan":
            return _run(text, lambda step: _explained(session, step))
        case "error":
            return _run(text, lambda step: _attempted(session, step))
        case _:
            raise ValueError(f"not a mode without Spark: {mode}")


def run_script(text: str, session: Session, warehouse: Path) -> str:
    """Runs the mode ``run``. ScriptError when a statement does what the script did not foretell.

    A script of several sessions begins on ``session`` as session ``a``; the others are opened
    beside it, on its Spark and with its settings.
    """
    if not uses_sessions(steps := read_steps(text)):
        return _run(text, lambda step: _executed(session, step, warehouse))
    with ExitStack() as beside:
        sessions = {FIRST_SESSION: session}
        for name in sorted({step.session or FIRST_SESSION for step in steps} - {FIRST_SESSION}):
            sessions[name] = beside.enter_context(session.open_beside())
        runs = {
            name: lambda step, own=own: _executed(own, step, warehouse)
            for name, own in sessions.items()
        }
        return run_sessions(steps, runs, session.store)


def _explained(session: Session, step: Step) -> str:
    _set(session, step)
    if isinstance(parse(step.text), Insert | MultiInsert | Update | Delete | Merge | Query):
        return session.explain(step.text)
    return outcome_text(session.sql(step.text), step)


def _attempted(session: Session, step: Step) -> str:
    """The outcome of a step. An error needs no directive here; a success shows in the text."""
    _set(session, step)
    try:
        return outcome_text(session.sql(step.text), step)
    except Error as error:
        return error_text(error)


def _executed(session: Session, step: Step, warehouse: Path) -> str:
    _set(session, step)
    before = take_listing(warehouse) if step.show_files else {}
    text = (
        outcome_text(session.sql(step.text.replace("$WAREHOUSE", str(warehouse))), step)
        if step.error is None
        else _foretold_error(session, step)
    )
    lines = [text, *changes(before, take_listing(warehouse))] if step.show_files else [text]
    printed = "\n".join(lines).replace(str(warehouse), "$WAREHOUSE")
    return _HOLDER.sub(r"($USER) \1 since $TIME", printed)


def outcome_text(result: Result, step: Step) -> str:
    """A header and rows for a statement that gives rows, else its counts, its notes, or ``ok``."""
    if result.columns:
        header = ", ".join(f"{c.name} {c.type}" for c in result.columns)
        printers = [plain_text(c.type) for c in result.columns]
        columns = [c.name for c in result.columns]
        masked = _OF_THE_RUN if result.stats.statement == "SHOW COMPACTIONS" else ()
        rows = [
            "\t".join(
                f"${name.upper()}" if name in masked and v not in _NOTHING else _cell(v, printer)
                for name, v, printer in zip(columns, row, printers, strict=True)
            )
            for row in result.rows()
        ]
        return "\n".join([f"[{header}]", *(sorted(rows) if _is_sorted(result, step) else rows)])
    stats = result.stats
    counts = {
        "inserted": stats.rows_inserted,
        "updated": stats.rows_updated,
        "deleted": stats.rows_deleted,
    }
    counted = ", ".join(f"{count} {verb}" for verb, count in counts.items() if count)
    return counted or "\n".join(result.notes) or "ok"


def _cell(value: object, printer: Printer) -> str:
    return "NULL" if value is None else printer(value)


def error_text(error: Error) -> str:
    return f"{type(error).__name__}: {error}"


def _run(text: str, outcome: Outcome) -> str:
    steps = read_steps(text)
    if uses_sessions(steps):
        raise ScriptError("several sessions need the mode run")
    return "\n".join(_block(step, outcome) for step in steps)


def _block(step: Step, outcome: Outcome) -> str:
    statement = "\n".join(f"> {line}".rstrip() for line in step.text.splitlines())
    try:
        return f"{statement}\n{outcome(step)}\n"
    except Error as error:
        raise ScriptError(f"line {step.line}: {error_text(error)}") from error


def _set(session: Session, step: Step) -> None:
    for name, value in step.settings:
        session.sql(f"SET {name}={value}")


def _foretold_error(session: Session, step: Step) -> str:
    try:
        outcome_text(session.sql(step.text), step)  # a query fails when its rows are fetched
    except Error as error:
        if step.error and type(error).__name__ != step.error:
            raise
        return error_text(error)
    raise ScriptError(
        f"line {step.line}: the statement was to fail with {step.error or 'an error'}, but did not"
    )


def _is_sorted(result: Result, step: Step) -> bool:
    """Whether to sort the rows: as the step says; else a query's rows are sorted unless it orders
    them itself (an ORDER BY outside parentheses).
    """
    if step.sort is not None or result.stats.statement != "SELECT":
        return bool(step.sort)
    depth = 0
    words: list[str] = []
    for token in tokenize(step.text):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0:
            words.append(token.word)
    return ("ORDER", "BY") not in pairwise(words)
