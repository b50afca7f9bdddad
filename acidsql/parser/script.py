"""Scripts: statements separated by ``;``, and Hive's ``${variables}``.

A script is tokenised once; a ``;`` inside quotes, backticks or comments is no separator. Comments before and after a statement do not
belong to it, except behind SET, whose value is the text up to the ``;`` (see variables).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping
from typing import NamedTuple

from acidsql.errors import ProgrammingError, Span
from acidsql.parser.tokens import Scan, scan
from acidsql.parser.variables import assignment_end

# hive.variable.substitute.depth
SUBSTITUTION_DEPTH = 40
_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")


class ScriptStatement(NamedTuple):
    """One statement without its ``;``; ``span`` is its place in the script."""

    text: str
    span: Span


def split(text: str) -> tuple[ScriptStatement, ...]:
    """The statements of a script. Never raises: a quote or comment that is never closed belongs to the last statement."""
    return tuple(ScriptStatement(span.cut(text), span) for span, _ in _statements(text))


def is_complete(text: str) -> bool:
    """Whether a shell should run what was typed: nothing is left open, and the last statement is closed by ``;`` (or there is none)."""
    return all(closed for _, closed in _statements(text))


def _statements(text: str) -> Iterator[tuple[Span, bool]]:
    """Each statement's place, and whether a ``;`` closes it. The script is tokenised again only behind an odd SET."""
    base: int | None = 0
    while base is not None:
        found = scan(text[base:])
        base = yield from _statements_of(text, found, base)


def _statements_of(text: str, found: Scan, base: int) -> Generator[tuple[Span, bool], None, int | None]:
    """The statements of a scan that began at ``base``; where to begin the next one, if the tokens went astray in a SET."""
    first = 0
    for index, token in enumerate(found.tokens):
        start = base + found.tokens[first].start
        stop = assignment_end(text, start) if index == first and token.word == "SET" else None
        if stop is not None and not _is_semicolon_at(found, stop - base):
            yield _stripped(text, start, stop), True
            return stop + 1
        if token.is_mark(";"):
            if index > first:
                yield _span(text, found, first, index, base), True
            first = index + 1
    if found.unclosed is not None:
        opened = found.tokens[first].start if first < len(found.tokens) else found.unclosed.start
        yield _stripped(text, base + opened, len(text)), False
    elif first < len(found.tokens):
        yield _span(text, found, first, len(found.tokens), base), False
    return None


def _span(text: str, found: Scan, first: int, after: int, base: int) -> Span:
    """From the first token to the last one; behind SET to the ``;``, which may lie behind what looks like a comment."""
    tokens = found.tokens
    if tokens[first].word == "SET":
        stop = tokens[after].start if after < len(tokens) else len(text) - base
        return _stripped(text, base + tokens[first].start, base + stop)
    return Span(base + tokens[first].start, base + tokens[after - 1].end)


def _is_semicolon_at(found: Scan, offset: int) -> bool:
    at = bisect_left(found.tokens, offset, key=lambda token: token.start)
    return at < len(found.tokens) and found.tokens[at].start == offset


def _stripped(text: str, start: int, end: int) -> Span:
    return Span(start, start + len(text[start:end].rstrip()))


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
