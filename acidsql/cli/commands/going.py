"""Commands that say where rows go, and those that read and run what lies elsewhere."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from acidsql.cli.commands.command import leave, needed, unquoted
from acidsql.errors import ProgrammingError

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


def quit_shell(_: Runner, __: str) -> bool:
    leave()


def read(runner: Runner, argument: str) -> bool:
    return runner.run_file(unquoted(needed(argument, ".read FILE")))


def output(runner: Runner, argument: str) -> bool:
    if not argument or argument == "stdout":
        runner.destination.close()
    else:
        runner.destination.open(unquoted(argument))
    return True


def once(runner: Runner, argument: str) -> bool:
    runner.destination.open(unquoted(needed(argument, ".once FILE")), once=True)
    return True


def sh(runner: Runner, argument: str) -> bool:
    """Runs a command of the system. Its output counts as rows: it goes where they go. On a terminal
    it has the terminal to itself.
    """
    rows = runner.destination.file or runner.console.rows
    rows.flush()
    stdout = None if rows.isatty() else subprocess.PIPE
    done = subprocess.run(
        needed(argument, ".sh COMMAND"),
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
