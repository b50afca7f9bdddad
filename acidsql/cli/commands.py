"""What the shell understands besides SQL: ``.tables`` and friends, Beeline's ``!`` spellings, and bare quit, exit, source.

The help text is made from the table, so a command is documented or it does not exist.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acidsql.cli.render import FORMAT_NAMES, parse_format
from acidsql.errors import ProgrammingError, Span

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """``run`` gets what follows the name; whether to go on is its result."""

    name: str
    argument: str
    doc: str
    run: Callable[[Runner, str], bool]
    aliases: tuple[str, ...] = ()


BARE_WORDS = ("quit", "exit", "help", "source")
_PREFIXED = re.compile(r"[.!](\w+)(?:\s+(.*))?\Z", re.DOTALL)
_BARE = re.compile(r"(quit|exit|help)\Z|(source)\s+(\S.*)\Z", re.IGNORECASE)


def is_command_line(line: str) -> bool:
    """Whether the line is a command by its look: it needs no ``;``. Bare words are commands only when they are all there is."""
    text = line.strip().rstrip(";").rstrip()
    return text.startswith((".", "!")) or _BARE.match(text) is not None


def find_command(text: str) -> tuple[Command, str] | None:
    """The command and its argument; None for SQL. ProgrammingError for a command there is not."""
    text = text.strip().rstrip(";").rstrip()
    if bare := _BARE.match(text):
        return _BY_NAME[(bare[1] or bare[2]).lower()], bare[3] or ""
    if not text.startswith((".", "!")):
        return None
    found = _PREFIXED.match(text)
    command = _BY_NAME.get(found[1].lower()) if found else None
    if found is None or command is None:
        word = text.split()[0]
        raise ProgrammingError(f'unknown command "{word}"', hint="Type .help for a list.", span=Span(0, len(word)))
    return command, (found[2] or "").strip()


def _help(runner: Runner, _: str) -> bool:
    runner.console.say(help_text())
    return True


def help_text() -> str:
    width = max(len(c.name) + len(c.argument) + 2 for c in COMMANDS)
    lines = ["SQL statements end with ; (or with \\G for one line a column).  Commands, with . or ! in front:"]
    lines += [f"  {f'.{c.name} {c.argument}'.rstrip().ljust(width)}  {c.doc}" for c in COMMANDS]
    lines.append("Ctrl-C cancels the running statement, Ctrl-D leaves.")
    return "\n".join(lines)


def _quit(_: Runner, __: str) -> bool:
    from acidsql.cli.runner import Leave

    raise Leave


def _read(runner: Runner, argument: str) -> bool:
    return runner.run_file(_unquoted(_needed(argument, ".read FILE")))


def _shell(runner: Runner, argument: str) -> bool:
    """The command's own output counts as rows: it goes where they go. On a terminal it has the terminal to itself."""
    rows = runner.console.rows
    rows.flush()
    stdout = None if rows.isatty() else subprocess.PIPE
    done = subprocess.run(_needed(argument, ".sh COMMAND"), shell=True, stdout=stdout, text=True, errors="replace", check=False)
    rows.write(done.stdout or "")
    if done.returncode:
        raise ProgrammingError(f"the command ended with exit code {done.returncode}")
    return True


def _tables(runner: Runner, argument: str) -> bool:
    return _statement(runner, f"SHOW TABLES LIKE {_literal(argument)}" if argument else "SHOW TABLES")


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
        raise ProgrammingError(f'unknown output format "{argument}"', hint=f"One of {', '.join(FORMAT_NAMES)}.") from None
    return True


def _header(runner: Runner, argument: str) -> bool:
    runner.session.settings.set("hive.cli.print.header", "true" if _on(argument) else "false")
    return True


def _timer(runner: Runner, argument: str) -> bool:
    runner.timer = _on(argument)
    return True


def _width(runner: Runner, argument: str) -> bool:
    if not argument.isdigit():
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
    Command(name="tables", argument="[PATTERN]", doc="list the tables of the current database", run=_tables),
    Command(name="schema", argument="TABLE", doc="show the CREATE TABLE statement of a table", run=_schema),
    Command(name="mode", argument="[FORMAT]", doc=f"output format: {', '.join(FORMAT_NAMES)}", run=_mode, aliases=("outputformat",)),
    Command(name="header", argument="on|off", doc="column names above csv and tsv rows", run=_header, aliases=("headers",)),
    Command(name="width", argument="N", doc="cut table cells to N characters; 0 cuts nothing", run=_width),
    Command(name="timer", argument="on|off", doc="say how long each statement took", run=_timer),
    Command(name="read", argument="FILE", doc="run a script; also: source FILE;", run=_read, aliases=("source", "run")),
    Command(name="sh", argument="COMMAND", doc="run a shell command", run=_shell),
    Command(name="quit", argument="", doc="leave; also: quit, exit", run=_quit, aliases=("exit", "q")),
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
