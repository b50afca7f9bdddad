"""Scripts: statements separated by ``;``, and Hive's ``${variables}``.

A script is tokenised once; a ``;`` inside quotes, backticks or comments is no separator. Comments before and after a statement do not
belong to it, except behind SET, whose value is the rest of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from acidsql.errors import ProgrammingError, Span
from acidsql.parser.tokens import Scan, scan

# hive.variable.substitute.depth
SUBSTITUTION_DEPTH = 40
_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")


class ScriptStatement(NamedTuple):
    """One statement without its ``;``; ``span`` is its place in the script."""

    text: str
    span: Span


def split(text: str) -> tuple[ScriptStatement, ...]:
    """The statements of a script. Never raises: a quote or comment that is never closed belongs to the last statement."""
    found = scan(text)
    statements = []
    for first, after, stop in _runs(text, found):
        if after > first:
            span = _statement_span(text, found, first, after, stop)
            statements.append(ScriptStatement(span.cut(text), span))
    return tuple(statements)


def is_complete(text: str) -> bool:
    """Whether a shell should run what was typed: nothing is left open, and the last statement is closed by ``;`` (or there is none)."""
    found = scan(text)
    return found.unclosed is None and (not found.tokens or found.tokens[-1].is_mark(";"))


def _runs(text: str, found: Scan) -> list[tuple[int, int, int]]:
    """Per statement: the index of its first token, the index after its last one, the offset of its ``;`` or of the end."""
    runs = []
    first = 0
    for index, token in enumerate(found.tokens):
        if token.is_mark(";"):
            runs.append((first, index, token.start))
            first = index + 1
    count = len(found.tokens)
    runs.append((first, count + (found.unclosed is not None), len(text)))
    return runs


def _statement_span(text: str, found: Scan, first: int, after: int, stop: int) -> Span:
    if after > len(found.tokens):  # something is never closed: the rest of the script
        assert found.unclosed is not None
        start = found.tokens[first].start if first < len(found.tokens) else found.unclosed.start
        return Span(start, _stripped_end(text, stop))
    start = found.tokens[first].start
    if found.tokens[first].word == "SET":
        return Span(start, _stripped_end(text, stop))
    return Span(start, found.tokens[after - 1].end)


def _stripped_end(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def substitute(
    text: str,
    *,
    hivevar: Mapping[str, str] | None = None,
    hiveconf: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    system: Mapping[str, str] | None = None,
) -> str:
    """Replaces ``${hivevar:x}``, ``${hiveconf:x}``, ``${env:x}``, ``${system:x}`` and ``${x}`` (a hivevar), everywhere, also in quotes.

    What is not defined stays as it is. Values may hold variables, 40 levels deep (Hive: SystemVariables.substitute).
    """
    spaces = {"hivevar": hivevar or {}, "hiveconf": hiveconf or {}, "env": env or {}, "system": system or {}}

    def value(found: re.Match[str]) -> str:
        space, colon, name = found[1].partition(":")
        if not colon:
            space, name = "hivevar", found[1]
        replacement = spaces.get(space, {}).get(name)
        return found[0] if replacement is None else replacement

    for _ in range(SUBSTITUTION_DEPTH):
        replaced = _VARIABLE.sub(value, text)
        if replaced == text:
            return text
        text = replaced
    raise ProgrammingError(f"variables refer to each other more than {SUBSTITUTION_DEPTH} levels deep")
