"""A golden script: its statements, and the directives that stand before them.

A directive is a comment line of its own::

    -- session b                  from here on the statements are those of session ``b``; those
                                  before the first such line are session ``a``'s
    -- expect error NAME          the next statement must fail with that error class (no NAME: with
                                  any); ``-- !acid error: NAME`` says the same
    -- !acid conf: NAME=VALUE     a setting, from here on
    -- !acid show: files          list the files each statement made and removed, from here on
    -- !acid show: plan           print the plan of each query and DML statement, from here on
    (``show: plan, files`` does both, ``show: rows`` ends it)
    -- !acid sort: none           print rows as they come, from here on; ``sort: rows`` sorts them.
                                  Unless told, rows are sorted when the query has no ORDER BY of its
                                  own.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from acidsql import errors
from acidsql.lazy import dataclass
from acidsql.parser.script import split

MARK = "-- !acid"
SESSION = re.compile(r"-- session (\w+)")
FIRST_SESSION = "a"
EXPECTED = re.compile(r"-- expect error(?:\s+(\w+))?")
ROWS, FILES, PLAN = "rows", "files", "plan"
KEYS = {"conf": None, "error": None, "show": (ROWS, FILES, PLAN), "sort": (ROWS, "none")}
"""What may stand behind ``-- !acid``, and the values it may have; None is any."""


class ScriptError(Exception):
    """A directive is not understood, or a statement did what the script did not foretell; the
    message names the line.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement and how to run and show it.

    settings: set before it runs.  error: None if it must succeed, else the class it must fail with
    ("" = any).  shown: FILES, PLAN, both or nothing besides what came of it. sort: None leaves the
    choice to the query.  session: None where the script has not named one yet.
    """

    text: str
    line: int
    settings: tuple[tuple[str, str], ...] = ()
    error: str | None = None
    shown: frozenset[str] = frozenset()
    sort: bool | None = None
    session: str | None = None

    def shows(self, what: str) -> bool:
        return what in self.shown


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps of a script in order. ScriptError, or the ParseError of a text that cannot be
    split.
    """
    return tuple(_steps(text))


def _steps(text: str) -> Iterator[Step]:
    before = 0
    current = Step(text="", line=0)
    for statement in split(text):
        lead = text[before : statement.span.start]
        first_line = text.count("\n", 0, before) + 1
        for number, line in enumerate(lead.splitlines(), start=first_line):
            current = _directed(current, line.strip(), number)
        yield replace(
            current, text=statement.text, line=text.count("\n", 0, statement.span.start) + 1
        )
        current = replace(current, settings=(), error=None)
        before = statement.span.end


def _directed(step: Step, line: str, number: int) -> Step:
    """The step as a line before its statement has it."""
    if line.startswith(MARK):
        return _apply(step, line[len(MARK) :], number)
    if (session := SESSION.fullmatch(line)) is not None:
        return replace(step, session=session[1])
    if (expected := EXPECTED.fullmatch(line)) is not None:
        return replace(step, error=_known_error(expected[1] or "", number))
    return step


def _known_error(name: str, line: int) -> str:
    """The name of an error class, or nothing. ScriptError for any other."""
    known = [error for error in vars(errors) if error.endswith("Error")]
    if name and name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f', did you mean "{near[0]}"?' if near else ""
        raise ScriptError(f'line {line}: there is no error "{name}"{hint}')
    return name


def _apply(step: Step, directive: str, line: int) -> Step:
    key, colon, value = (part.strip() for part in directive.partition(":"))
    allowed = KEYS.get(key, ())
    values = [part.strip() for part in value.split(",")] if key == "show" else [value]
    if not colon or (allowed is not None and not set(values) <= set(allowed)):
        raise ScriptError(f"line {line}: unknown directive: {MARK}{directive}")
    match key:
        case "conf":
            name, _, setting = value.partition("=")
            return replace(step, settings=(*step.settings, (name.strip(), setting.strip())))
        case "error":
            return replace(step, error=_known_error(value, line))
        case "show":
            return replace(step, shown=frozenset(values) - {ROWS})
        case _:
            return replace(step, sort=value == ROWS)
