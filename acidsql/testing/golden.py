"""Runs a golden script and says what it printed; pure but for the session it is given.

There are four modes:

    run     each statement run: its rows or row counts; with ``-- !acid show: files`` what it did
            to the files, with ``show: plan`` its plan before them
    parse   each statement as the parser's tree
    plan    each query or DML statement as its EXPLAIN, the others run; Spark is never started
    error   each statement run; what fails shows its error; Spark is never started

Every statement is printed behind ``> ``, then its outcome, as ``texts`` says it. ``$WAREHOUSE`` is
the warehouse's name in statements, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.errors import Error
from acidsql.parser.parse import parse
from acidsql.parser.show import show
from acidsql.parser.statements import (
    Copy,
    CopyInto,
    Delete,
    Insert,
    InsertDirectory,
    Merge,
    MultiInsert,
    Query,
    Update,
)
from acidsql.testing.script import FILES, FIRST_SESSION, PLAN, ScriptError, Step, read_steps
from acidsql.testing.sessions import run_sessions, uses_sessions
from acidsql.testing.texts import changes, error_text, masked, result_text, take_listing

if TYPE_CHECKING:
    from acidsql.session import Session

Outcome = Callable[[Step], str]

PLANNED = Insert | MultiInsert | CopyInto | Update | Delete | Merge | Query | Copy | InsertDirectory
"""Statements that have a plan to show."""


def run_compiled(mode: str, text: str, session: Session) -> str:
    """Runs the modes ``parse``, ``plan`` and ``error``. ScriptError when a statement does what the
    script did not foretell.
    """
    match mode:
        case "parse":
            return _run(text, lambda step: _expected(step, lambda: _parsed(step)))
        case "plan":
            return _run(text, lambda step: _expected(step, lambda: _explained(session, step)))
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


def _parsed(step: Step) -> str:
    return show(parse(step.text), step.text)


def _explained(session: Session, step: Step) -> str:
    _set(session, step)
    if isinstance(parse(step.text), PLANNED):
        return session.explain(step.text)
    return _ran(session, step, step.text)


def _attempted(session: Session, step: Step) -> str:
    """The outcome of a step. An error needs no directive here; a success shows in the text."""
    _set(session, step)
    if step.error is not None:
        return _expected(step, lambda: _ran(session, step, step.text))
    try:
        return _ran(session, step, step.text)
    except Error as error:
        return error_text(error)


def _ran(session: Session, step: Step, statement: str) -> str:
    """What came of a statement; a query may fail when its rows are fetched."""
    return result_text(session.sql(statement), sort=step.sort)


def _executed(session: Session, step: Step, warehouse: Path) -> str:
    _set(session, step)
    before = take_listing(warehouse) if step.shows(FILES) else {}
    lines = [_plan_text(session, step)] if step.shows(PLAN) else []
    statement = step.text if step.error is not None else _located(step, warehouse)
    lines.append(_expected(step, lambda: _ran(session, step, statement)))
    if step.shows(FILES):
        lines += changes(before, take_listing(warehouse))
    return masked("\n".join(filter(None, lines)), warehouse)


def _located(step: Step, warehouse: Path) -> str:
    return step.text.replace("$WAREHOUSE", str(warehouse))


def _plan_text(session: Session, step: Step) -> str:
    """The plan of a statement that has one; of one that is to fail the error is all."""
    if step.error is None and isinstance(parse(step.text), PLANNED):
        return session.explain(step.text)
    return ""


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


def _expected(step: Step, run: Callable[[], str]) -> str:
    """What a step gives, or its error where the script expects one. ScriptError if it does not
    come, or another one does.
    """
    if step.error is None:
        return run()
    try:
        run()
    except Error as error:
        if step.error and type(error).__name__ != step.error:
            raise ScriptError(
                f"line {step.line}: the statement was to fail with {step.error}, but failed with"
                f" {error_text(error)}"
            ) from error
        return error_text(error)
    raise ScriptError(
        f"line {step.line}: the statement was to fail with {step.error or 'an error'}, but did not"
    )
