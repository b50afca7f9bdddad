"""What a command of the shell is, and where one begins and ends in a script.

A command stands where a statement may begin and ends with its line, at the prompt and in every
script; a ``;`` is no end of it, but for the bare words, which Hive's scripts close so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from acidsql.errors import ProgrammingError, Span
from acidsql.lazy import dataclass, pattern

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the shell. ``run`` gets what follows the name; whether to go on is its
    result. ``values``: what its argument may be, for completion: a list of words, or ``"file"``,
    ``"table"``, ``"query"`` (a named one), ``"statement"`` (its first words), ``"sql"``.
    """

    name: str
    argument: str
    doc: str
    run: Callable[[Runner, str], bool]
    aliases: tuple[str, ...] = ()
    values: tuple[str, ...] | str = ()


PREFIXES = (".", "!", "\\")
NAME = pattern(r"[.!\\]?(\w+|[?!])(?:[ \t]+(.*))?\Z", re.DOTALL)
_LINE = pattern(r"[^\r\n]*")
_BARE = pattern(
    r"""(?:(?:quit|exit|help(?:[ \t]+[\w \t]+)?)"""
    r"""|source[ \t]+(?:'[^'\r\n]*'|"[^"\r\n]*"|[^;\r\n])+)"""
    r"""[ \t]*(?:;|(?=[\r\n])|\Z)""",
    re.IGNORECASE,
)


def command_end(text: str, start: int) -> int | None:
    """The position where the command ends that begins at ``start``, where a statement may begin
    too; None where none does. Behind a prefix it has the line to itself.
    """
    if text.startswith(PREFIXES, start):
        command = _LINE.match(text, start) if _begins_line(text, start) else None
    else:
        command = _BARE.match(text, start)
    return command.end() if command else None


def _begins_line(text: str, start: int) -> bool:
    """Whether there are only blanks before ``start`` in its line."""
    return text[:start].rstrip(" \t")[-1:] in ("", "\r", "\n")


def refuse_command(text: str) -> None:
    """Raises ProgrammingError for a statement that looks like a command but does not begin its
    line.
    """
    if text.startswith(PREFIXES):
        hint = "A command stands on a line of its own."
        raise refused(text, '"{}" does not begin its line', hint=hint)


def refused(text: str, message: str, *, hint: str) -> ProgrammingError:
    """The error of a command; ``message`` with its name for ``{}``."""
    word = text.split()[0]
    span = Span(0, len(word))
    return ProgrammingError(message.format(word), hint=hint, span=span, source=text)


def needed(argument: str, usage: str) -> str:
    """The argument. ProgrammingError where there is none."""
    if not argument:
        raise ProgrammingError(f"usage: {usage}")
    return argument


def on_or_off(argument: str, now: bool) -> bool:
    """What a switch is to be; without an argument the other way round. ProgrammingError."""
    if not argument:
        return not now
    if argument.lower() not in ("on", "off"):
        raise ProgrammingError("on or off is wanted")
    return argument.lower() == "on"


def unquoted(text: str) -> str:
    """The text without quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def literal(text: str) -> str:
    """The text as a literal of SQL."""
    return "'" + unquoted(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def leave() -> NoReturn:
    from acidsql.cli.runner import Leave

    raise Leave
