"""Commands that are statements about the catalog, or about the last statement."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.cli.commands.command import literal, needed
from acidsql.cli.output.showing import Kept
from acidsql.errors import ProgrammingError

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


def tables(runner: Runner, argument: str) -> bool:
    return run(runner, f"SHOW TABLES LIKE {literal(argument)}" if argument else "SHOW TABLES")


def schema(runner: Runner, argument: str) -> bool:
    return run(runner, f"SHOW CREATE TABLE {needed(argument, '.schema TABLE')}")


def describe(runner: Runner, argument: str) -> bool:
    return run(runner, f"DESCRIBE {argument}") if argument else tables(runner, "")


def locks(runner: Runner, argument: str) -> bool:
    return run(runner, f"SHOW LOCKS {argument}".rstrip())


def explain(runner: Runner, argument: str) -> bool:
    return run(runner, f"EXPLAIN {argument.rstrip(';') or last_statement(runner)}")


def last(runner: Runner, argument: str) -> bool:
    """Shows the rows of the last query again, without running it."""
    from acidsql.cli.commands.looks import format_named

    layout = runner.layout
    if argument:
        layout = replace(layout, format=format_named(argument))
    kept = kept_rows(runner)
    runner.show_rows(
        Kept(kept.columns, kept.statement), iter(kept.batches), layout, time.perf_counter()
    )
    return True


def kept_rows(runner: Runner) -> Kept:
    """The rows of the last query. ProgrammingError where they are not there."""
    kept = runner.kept
    if kept is None:
        raise ProgrammingError("there was no query yet")
    if not kept.is_whole:
        hint = 'Run it again: ".edit" and ".history" have it.'
        raise ProgrammingError("the rows of the last query were not all kept", hint=hint)
    return kept


def last_statement(runner: Runner) -> str:
    """The text of the last statement. ProgrammingError where there was none."""
    if runner.last is None:
        raise ProgrammingError("there was no statement yet")
    return runner.last


def run(runner: Runner, text: str) -> bool:
    """Runs a statement that a command stands for; the last statement stays what it was."""
    from acidsql.cli.runner import Script

    last = runner.last
    try:
        return runner.run(Script(text))
    finally:
        runner.last = last
