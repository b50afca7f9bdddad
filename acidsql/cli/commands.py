"""What the shell understands besides SQL: ``.tables`` and friends, Beeline's ``!`` spellings, and
bare quit, exit, help, source.

A command stands where a statement may begin and ends with its line, at the prompt and in every
script; a ``;`` is no end of it, but for the bare words, which Hive's scripts close so. The help
text is made from the table, so a command is documented or it does not exist.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.cli.render import FORMAT_NAMES, parse_format
from acidsql.errors import ProgrammingError, Span
from acidsql.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the shell. ``run`` gets what follows the name; whether to go on is its
    result.
    """

    name: str
    argument: str
    doc: str
    run: Callable[[Runner, str], bool]
    aliases: tuple[str, ...] = ()


PREFIXES = (".", "!")
_COMMAND = re.compile(r"[.!]?(\w+)(?:[ \t]+(.*))?\Z")
_LINE = re.compile(r"[^\r\n]*")
_BARE = re.compile(
    r"""(?:(?:quit|exit|help)|source[ \t]+(?:'[^'\r\n]*'|"[^"\r\n]*"|[^;\r\n])+)"""
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


def read_command(text: str) -> tuple[Command, str]:
    """The command and its argument. ProgrammingError for a command there is not."""
    parts = _COMMAND.match(text.rstrip().rstrip(";").rstrip())
    command = _BY_NAME.get(parts[1].lower()) if parts else None
    if parts is None or command is None:
        raise _refused(text, 'unknown command "{}"', hint="Type .help for a list.")
    return command, (parts[2] or "").strip()


def refuse_command(text: str) -> None:
    """Raises ProgrammingError for a statement that looks like a command but does not begin its
    line.
    """
    if text.startswith(PREFIXES):
        hint = "A command stands on a line of its own."
        raise _refused(text, '"{}" does not begin its line', hint=hint)


def _refused(text: str, message: str, *, hint: str) -> ProgrammingError:
    word = text.split()[0]
    span = Span(0, len(word))
    return ProgrammingError(message.format(word), hint=hint, span=span, source=text)


def _help(runner: Runner, _: str) -> bool:
    runner.console.say(help_text())
    return True


def help_text() -> str:
    width = max(len(c.name) + len(c.argument) + 2 for c in COMMANDS)
    lines = [
        "SQL statements end with ; (or with \\G for one line a column).",
        "Commands are lines of their own, with . or ! in front:",
    ]
    lines += [f"  {f'.{c.name} {c.argument}'.rstrip().ljust(width)}  {c.doc}" for c in COMMANDS]
    lines.append("Ctrl-C cancels the running statement, Ctrl-D leaves.")
    return "\n".join(lines)


def _quit(_: Runner, __: str) -> bool:
    from acidsql.cli.runner import Leave

    raise Leave


def _read(runner: Runner, argument: str) -> bool:
    return runner.run_file(_unquoted(_needed(argument, ".read FILE")))


def _shell(runner: Runner, argument: str) -> bool:
    """Runs a command of the system. Its output counts as rows: it goes where they go. On a terminal
    it has the terminal to itself.
    """
    rows = runner.console.rows
    rows.flush()
    stdout = None if rows.isatty() else subprocess.PIPE
    done = subprocess.run(
        _needed(argument, ".sh COMMAND"),
        shell=True,
        stdout=stdout,
        text=True,
        errors="replace",
        check=False,
    )
    rows.write(done.stdout or "")
    if done.returncode:
        raise ProgrammingError(f"the command ended with exit code {done.returncode}")
    return True


def _tables(runner: Runner, argument: str) -> bool:
    return _statement(
        runner, f"SHOW TABLES LIKE {_literal(argument)}" if argument else "SHOW TABLES"
    )


def _schema(runner: Runner, argument: str) -> bool:
    return _statement(runner, f"SHOW CREATE TABLE {_needed(argument, '.schema TABLE')}")


def _statement(runner: Runner, text: str) -> bool:
    from acidsql.cli.runner import Script

    return runner.run(Script(text))


def _mode(runner: Runner, argument: str) -> bool:
    if not argument:
        runner.console.say(runner.layout.format)
        return True
    try:
        runner.layout = replace(runner.layout, format=parse_format(argument))
    except ValueError:
        raise ProgrammingError(
            f'unknown output format "{argument}"', hint=f"One of {', '.join(FORMAT_NAMES)}."
        ) from None
    return True


def _header(runner: Runner, argument: str) -> bool:
    runner.session.settings.set("hive.cli.print.header", "true" if _on(argument) else "false")
    return True


def _timer(runner: Runner, argument: str) -> bool:
    runner.timer = _on(argument)
    return True


def _width(runner: Runner, argument: str) -> bool:
    if not (argument.isascii() and argument.isdigit()):
        raise ProgrammingError(".width wants a number of characters, 0 for no limit")
    runner.layout = replace(runner.layout, widest_cell=int(argument) or None)
    return True


def _on(argument: str) -> bool:
    if argument.lower() not in ("on", "off"):
        raise ProgrammingError("on or off is wanted")
    return argument.lower() == "on"


def _needed(argument: str, usage: str) -> str:
    if not argument:
        raise ProgrammingError(f"usage: {usage}")
    return argument


def _literal(text: str) -> str:
    return "'" + _unquoted(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


COMMANDS: tuple[Command, ...] = (
    Command(name="help", argument="", doc="show this", run=_help),
    Command(
        name="tables",
        argument="[PATTERN]",
        doc="list the tables of the current database",
        run=_tables,
    ),
    Command(
        name="schema",
        argument="TABLE",
        doc="show the CREATE TABLE statement of a table",
        run=_schema,
    ),
    Command(
        name="mode",
        argument="[FORMAT]",
        doc=f"output format: {', '.join(FORMAT_NAMES)}",
        run=_mode,
        aliases=("outputformat",),
    ),
    Command(
        name="header",
        argument="on|off",
        doc="column names above csv and tsv rows",
        run=_header,
        aliases=("headers",),
    ),
    Command(
        name="width",
        argument="N",
        doc="cut table cells to N characters; 0 cuts nothing",
        run=_width,
    ),
    Command(name="timer", argument="on|off", doc="say how long each statement took", run=_timer),
    Command(
        name="read",
        argument="FILE",
        doc="run a script; also: source FILE;",
        run=_read,
        aliases=("source", "run"),
    ),
    Command(name="sh", argument="COMMAND", doc="run a shell command", run=_shell),
    Command(
        name="quit", argument="", doc="leave; also: quit, exit", run=_quit, aliases=("exit", "q")
    ),
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
