"""Commands that say how rows are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.cli.commands.command import on_or_off, unquoted
from acidsql.errors import ProgrammingError
from acidsql.rendering.formats import FORMAT_NAMES, Format, parse_format

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner

AUTO = "auto"
PAGER = "acidsql.shell.pager"
VERTICAL = "acidsql.shell.vertical"


def mode(runner: Runner, argument: str) -> bool:
    if not argument:
        runner.console.say(runner.layout.format)
    else:
        runner.layout = replace(runner.layout, format=format_named(argument))
    return True


def format_named(argument: str) -> Format:
    """The format of this name. ProgrammingError."""
    try:
        return parse_format(argument)
    except ValueError:
        raise ProgrammingError(
            f'unknown output format "{argument}"', hint=f"One of {', '.join(FORMAT_NAMES)}."
        ) from None


def header(runner: Runner, argument: str) -> bool:
    name = "hive.cli.print.header"
    shown = on_or_off(argument, runner.session.settings.flag(name))
    runner.session.settings.set(name, str(shown).lower())
    return True


def timer(runner: Runner, argument: str) -> bool:
    runner.timer = on_or_off(argument, runner.timer)
    if not argument:
        runner.note(f"timing is {'on' if runner.timer else 'off'}")
    return True


def width(runner: Runner, argument: str) -> bool:
    if argument.lower() == AUTO:
        runner.layout = replace(runner.layout, widest_cell=None)
    elif argument.isascii() and argument.isdigit():
        runner.layout = replace(runner.layout, widest_cell=int(argument))
    else:
        raise ProgrammingError(
            ".width wants a number of characters, 0 for no limit, auto for the screen's"
        )
    return True


def vertical(runner: Runner, argument: str) -> bool:
    """Shows every result a line a column, none, or those that are too wide."""
    now = runner.layout.format is Format.VERTICAL
    if argument.lower() == AUTO:
        runner.session.settings.set(VERTICAL, "true")
        turned = Format.TABLE
    else:
        turned = Format.VERTICAL if on_or_off(argument, now) else Format.TABLE
        runner.session.settings.set(VERTICAL, "false")
    runner.layout = replace(runner.layout, format=turned)
    return True


def pager(runner: Runner, argument: str) -> bool:
    settings = runner.session.settings
    if not argument:
        runner.console.say(settings.text(PAGER) or "that of $PAGER")
    else:
        settings.set(PAGER, "" if argument.lower() in ("on", AUTO) else argument)
    return True


def null(runner: Runner, argument: str) -> bool:
    settings = runner.session.settings
    if argument:
        settings.set("acidsql.shell.null", unquoted(argument))
    else:
        runner.console.say(settings.text("acidsql.shell.null") or "''")
    return True


def keys(runner: Runner, argument: str) -> bool:
    settings = runner.session.settings
    if not argument:
        runner.console.say(settings.text("acidsql.shell.keys"))
    else:
        settings.set("acidsql.shell.keys", argument)
    return True
