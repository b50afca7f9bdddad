"""What ``.help`` says of the commands and of keys, and ``help select`` of statements: the same as
docs/statements.md.
"""

from __future__ import annotations

import re
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.cli.commands.command import NAME, Command
from acidsql.cli.output.showing import screen_of
from acidsql.errors import ProgrammingError
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_WIDEST = 100
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What docs/statements.md says of a statement."""

    title: str
    synopsis: str
    text: str

    def is_about(self, words: str) -> bool:
        """Whether a form of the statement, or its heading, begins with these words."""
        return any(
            f"{line} ".upper().startswith(f"{words} ")
            for line in (self.title, *self.synopsis.splitlines())
        )


def help_command(runner: Runner, argument: str) -> bool:
    """Shows the commands; what one of them does; how a statement is written."""
    words = " ".join(argument.rstrip(";").split())
    screen = screen_of(runner.console.notes)
    width = None if screen is None else min(screen.columns, _WIDEST)
    if not words:
        runner.console.say(help_text(width))
        return True
    from acidsql.cli.commands.table import find_command

    match = NAME.match(words)
    command = find_command(match[1]) if match and not words[0].isalpha() else None
    runner.console.say(help_of_command(command) if command else help_of_statement(words, width))
    return True


def help_text(width: int | None = None) -> str:
    """The commands, in lines of at most ``width`` characters."""
    from acidsql.cli.commands.table import COMMANDS

    longest = max(len(c.name) + len(c.argument) + 2 for c in COMMANDS)
    lines = [
        "SQL statements end with ; (or with \\G for one line a column).",
        "Commands are lines of their own, with . or ! or \\ in front:",
    ]
    for command in COMMANDS:
        name = f"  {f'.{command.name} {command.argument}'.rstrip().ljust(longest)}  "
        indent = " " * (len(name) if width is None or width >= 2 * len(name) else 6)
        docs = textwrap.wrap(command.doc, sys.maxsize if width is None else width - len(indent))
        if len(indent) == len(name):
            lines.append(name + docs.pop(0))
        else:
            lines.append(name.rstrip())
        lines += [indent + doc for doc in docs]
    lines.append(
        '"help select;" tells how a statement is written, ".help .mode" what a command does.'
    )
    lines.append("Ctrl-C cancels the running statement, Ctrl-D leaves.")
    return "\n".join(lines)


def help_of_command(command: Command) -> str:
    also = ", ".join(f"\\{name}" if len(name) < 3 else f".{name}" for name in command.aliases)
    first = f".{command.name} {command.argument}".rstrip()
    return f"{first}\n  {command.doc}" + (f"\n  also: {also}" if also else "")


def help_of_statement(words: str, width: int | None = None) -> str:
    """How statements that begin so are written, and of a single one what it does, in lines of at
    most ``width`` characters. ProgrammingError if there are none.
    """
    upper = words.upper()
    sections = [s for s in statement_sections() if s.title.upper() == upper]
    sections = sections or [s for s in statement_sections() if s.is_about(upper)]
    if not sections:
        hint = "help without a word lists the commands; the statements are in docs/statements.md."
        raise ProgrammingError(f'there is no help for "{words}"', hint=hint)
    if len(sections) == 1:
        text = sections[0].text if width is None else _broken(sections[0].text, width)
        return f"{sections[0].synopsis}\n\n{text}".rstrip()
    return "\n".join(s.synopsis for s in sections)


@cache
def statement_sections() -> tuple[Section, ...]:
    """The sections of docs/statements.md that have a synopsis."""
    sections = []
    for part in re.split(r"^(?=##)", _page("statements.md"), flags=re.MULTILINE):
        heading, _, body = part.partition("\n")
        title = heading.strip("# ").strip()
        synopses = [b for b in _BLOCK.finditer(body) if b[1] == "text" and not b[2].strip()]
        if heading.startswith("###") and synopses:
            sections.append(
                Section(
                    title=title,
                    synopsis="\n".join(b[3].rstrip() for b in synopses),
                    text=_plain(body[synopses[0].end() :]),
                )
            )
    return tuple(sections)


def _plain(markdown: str) -> str:
    """Text of a page for a terminal: links without where they lead, examples moved in."""

    def example(block: re.Match[str]) -> str:
        return "".join(f"    {line}\n" for line in block[3].splitlines())

    return _LINK.sub(r"\1", _BLOCK.sub(example, markdown)).replace("``", "`").strip()


def _broken(text: str, width: int) -> str:
    """The text with its paragraphs broken between words; examples, lists and tables keep their
    lines.
    """
    return "\n\n".join(
        part
        if part.startswith((" ", "*", "|"))
        else textwrap.fill(part, width, break_long_words=False, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def _page(name: str) -> str:
    """A file of ``docs/``: inside the package in a wheel, beside it in a source tree."""
    package = Path(__file__).parents[2]
    packaged = package / "docs" / name
    path = packaged if packaged.is_file() else package.parent / "docs" / name
    return path.read_text(encoding="utf-8")
