"""Scripts: statements separated by ``;``, lines for the shell, and Hive's ``${variables}``.

A script is tokenised once; a ``;`` inside quotes, backticks or comments is no separator. Comments
before and after a statement do not belong to it, except behind SET, whose value is the text up to
the ``;`` (see variables). The caller says which lines are commands of his own: their
text is no SQL, so a quote in them opens nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from acidsql.errors import ProgrammingError, Span
from acidsql.parser.tokens import Scan, scan, skip_blank
from acidsql.parser.variables import assignment_end

# hive.variable.substitute.depth
SUBSTITUTION_DEPTH = 40
_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")

CommandEnd = Callable[[str, int], int | None]
"""The offset at which a command ends that begins at an offset of a script, where a statement may
begin too; None where no command begins.
"""


class ScriptStatement(NamedTuple):
    """One statement without its ``;``, or one command; ``span`` is its place in the script.

    is_closed: whether a ``;`` or the end of its line ends it, so that no more of it may follow.
    """

    text: str
    span: Span
    is_closed: bool = True
    is_command: bool = False


def split(text: str, command_end: CommandEnd | None = None) -> tuple[ScriptStatement, ...]:
    """The statements of a script, and the commands that ``command_end`` finds between them.

    Never raises: a quote or comment that is never closed belongs to the last statement.
    """
    return tuple(_statements(text, command_end or _no_command))


def is_complete(text: str, command_end: CommandEnd | None = None) -> bool:
    """Whether a shell should run what was typed: nothing is left open, and the last statement is
    closed by ``;`` (or there is none)."""
    return all(statement.is_closed for statement in split(text, command_end))


def _no_command(_text: str, _start: int) -> None:
    return None


def _statements(text: str, command_end: CommandEnd) -> Iterator[ScriptStatement]:
    rest, index = scan(text), 0
    while index < len(rest.tokens):
        start = rest.tokens[index].start
        if (stop := command_end(text, start)) is not None:
            yield _statement(text, start, stop, is_command=True)
            rest, index = _resumed(text, rest, stop)
        elif rest.tokens[index].word == "SET" and (stop := assignment_end(text, start)) is not None:
            yield _statement(text, start, stop)
            rest, index = _resumed(text, rest, stop + 1)
        else:
            after = _semicolon(rest, index)
            if after > index:
                yield _up_to_semicolon(text, rest, index, after)
            index = after + 1
    if rest.unclosed is not None and index == len(rest.tokens):
        yield _statement(text, rest.unclosed.start, len(text), is_closed=False)


def _resumed(text: str, rest: Scan, offset: int) -> tuple[Scan, int]:
    """A scan and its first token at or behind ``offset``, before which the text was no SQL.

    The text is tokenised again only where a quote or comment mark has led the tokens astray.
    """
    index = bisect_left(rest.tokens, offset, key=lambda token: token.start)
    start = skip_blank(text, offset)
    if index < len(rest.tokens) and rest.tokens[index].start == start:
        return rest, index
    return scan(text, start), 0


def _semicolon(rest: Scan, index: int) -> int:
    """The index of the ``;`` at or behind a token; the number of tokens where there is none."""
    tokens = rest.tokens
    return next((i for i in range(index, len(tokens)) if tokens[i].is_mark(";")), len(tokens))


def _up_to_semicolon(text: str, rest: Scan, first: int, after: int) -> ScriptStatement:
    """The statement that begins at the token ``first``. It ends with its last token; behind SET,
    and where something is never closed, with the ``;`` or the end of the text, which may lie behind
    what looks like a comment.
    """
    start, is_closed = rest.tokens[first].start, after < len(rest.tokens)
    if rest.tokens[first].word == "SET" or (rest.unclosed is not None and not is_closed):
        stop = rest.tokens[after].start if is_closed else len(text)
    else:
        stop = rest.tokens[after - 1].end
    return _statement(text, start, stop, is_closed=is_closed)


def _statement(
    text: str,
    start: int,
    stop: int,
    *,
    is_closed: bool = True,
    is_command: bool = False,
) -> ScriptStatement:
    words = text[start:stop].rstrip()
    return ScriptStatement(words, Span(start, start + len(words)), is_closed, is_command)


def substitute(
    text: str,
    *,
    hivevar: Mapping[str, str] | None = None,
    hiveconf: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    system: Mapping[str, str] | None = None,
) -> str:
    """Replaces ``${hivevar:x}``, ``${hiveconf:x}``, ``${env:x}``, ``${system:x}`` and ``${x}`` (a
    hivevar), everywhere, also in quotes.

    Values may hold variables, 40 levels deep (Hive: SystemVariables.substitute). ProgrammingError
    for one that is not defined, unless it stands in a comment; Hive leaves it in the text, so that
    a string compares with the variable's name.
    """
    spaces = {
        "hivevar": hivevar or {},
        "hiveconf": hiveconf or {},
        "env": env or {},
        "system": system or {},
    }
    for _ in range(SUBSTITUTION_DEPTH):
        replaced = _replaced(text, spaces)
        if replaced == text:
            return text
        text = replaced
    raise ProgrammingError(
        f"variables refer to each other more than {SUBSTITUTION_DEPTH} levels deep"
    )


def _replaced(text: str, spaces: Mapping[str, Mapping[str, str]]) -> str:
    """One level of substitution."""

    def value(variable: re.Match[str]) -> str:
        space, name = _space_and_name(variable[1])
        replacement = spaces[space].get(name)
        if replacement is None and not _in_comment(text, variable.start()):
            raise _undefined(text, variable, space, name)
        return variable[0] if replacement is None else replacement

    return _VARIABLE.sub(value, text)


def _space_and_name(key: str) -> tuple[str, str]:
    space, colon, name = key.partition(":")
    return (space, name) if colon and space in _DEFINED_BY else ("hivevar", key)


_DEFINED_BY = {
    "hivevar": "Define it with --hivevar {name}=.. or SET hivevar:{name}=..",
    "hiveconf": "Define it with --hiveconf {name}=.. or SET {name}=..",
    "env": "It is not in the environment",
    "system": "Define it with SET system:{name}=..",
}


def _undefined(text: str, variable: re.Match[str], space: str, name: str) -> ProgrammingError:
    advice = _DEFINED_BY[space].format(name=name)
    return ProgrammingError(
        f'variable "{variable[1]}" is undefined',
        hint=f"{advice}; with SET hive.variable.substitute=false it is text like any other.",
        span=Span(*variable.span()),
        source=text,
    )


def _in_comment(text: str, offset: int) -> bool:
    """Whether an offset of a statement lies between its tokens; a value of SET has no comments."""
    tokens, unclosed = scan(text)
    if (tokens and tokens[0].word == "SET") or (unclosed is not None and offset >= unclosed.start):
        return False
    index = bisect_left(tokens, offset, key=lambda token: token.end)
    return index == len(tokens) or tokens[index].start > offset
