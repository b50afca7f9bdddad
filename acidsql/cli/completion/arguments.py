"""What arguments of commands, names and values of settings, and names of files may be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from acidsql.cli.commands.command import NAME, PREFIXES
from acidsql.settings import SETTINGS, Setting, find_setting

_SET = re.compile(r"\s*SET\s+(?:(?P<name>[\w.:]*)|(?P<known>[\w.]+)\s*=\s*(?P<value>\w*))\Z", re.I)
_RESET = re.compile(r"\s*RESET\s+(?P<name>[\w.]*)\Z", re.I)
_SPACES = ("hivevar:", "hiveconf:", "env:", "system:")
_LIMIT = 200
"""The most files of a directory that are offered."""


def complete_setting(before: str) -> tuple[str, Sequence[str]] | None:
    """The word behind SET or RESET and what it may become; None where none of them is typed."""
    if match := _RESET.match(before):
        return match["name"], [s.name for s in SETTINGS]
    match = _SET.match(before)
    if match is None:
        return None
    if match["name"] is None:
        return match["value"], _values(find_setting(match["known"]))
    return match["name"], [*(s.name for s in SETTINGS), *_SPACES, "AUTOCOMMIT"]


def _values(setting: Setting | None) -> Sequence[str]:
    match setting:
        case Setting(kind="bool"):
            return ("true", "false")
        case Setting(kind=tuple(words)):
            return words
        case Setting(default=str(default)) if default:
            return (default,)
        case _:
            return ()


def complete_file(typed: str) -> Sequence[str]:
    """The files whose paths begin as typed, directories with a slash; hidden ones if asked for."""
    folder, _, beginning = typed.rpartition("/")
    shown = f"{folder}/" if "/" in typed else ""
    paths = []
    try:
        with os.scandir(os.path.expanduser(shown) or ".") as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") and not beginning.startswith(".")
                if entry.name.startswith(beginning) and not hidden:
                    paths.append(f"{shown}{entry.name}{'/' if entry.is_dir() else ''}")
    except OSError:
        return ()
    return sorted(paths)[:_LIMIT]


def complete_command(text: str, tables: Iterable[str]) -> tuple[str, Sequence[str]] | None:
    """The word of a command that is typed, and what it may become; None where that is SQL, whose
    beginning is the command.
    """
    from acidsql.cli.commands.table import COMMANDS, find_command

    match = NAME.match(text)
    if match is None or match[2] is None:
        if " " in text or "\t" in text:
            return _argument(text.split()[0], "", tables)
        prefix = text[0] if text.startswith(PREFIXES) else ""
        return text, [prefix + c.name for c in COMMANDS]
    command = find_command(match[1])
    return (match[2], ()) if command is None else _argument(match[1], match[2], tables)


def _argument(name: str, typed: str, tables: Iterable[str]) -> tuple[str, Sequence[str]] | None:
    from acidsql.cli.commands.help import statement_sections
    from acidsql.cli.commands.table import COMMANDS, find_command
    from acidsql.cli.shell.files import query_files

    command = find_command(name.lstrip("".join(PREFIXES)) or name)
    match None if command is None else command.values:
        case "sql":
            return None
        case "file":
            word = typed.split()[-1] if typed.split() and typed[-1:] != " " else ""
            return word, complete_file(word)
        case "table":
            return typed, list(tables)
        case "query":
            return typed, [path.stem for path in query_files()]
        case "statement":
            titles = [
                section.title for section in statement_sections() if " .." not in section.title
            ]
            return typed, [*titles, *(c.name for c in COMMANDS)]
        case tuple(words):
            return typed, words
        case _:
            return typed, ()
