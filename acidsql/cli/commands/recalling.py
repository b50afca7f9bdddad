"""Commands about statements of before: the history, the editor, and named queries."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.cli.commands.asking import last_statement
from acidsql.cli.commands.command import needed
from acidsql.cli.shell.files import query_file, query_files
from acidsql.errors import ProgrammingError

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner
    from acidsql.cli.shell.reading import Reader

SHOWN = 20
_NAME = re.compile(r"[\w-]+")


def _prompter(runner: Runner, command: str) -> Reader:
    if runner.prompter is None:
        raise ProgrammingError(f'"{command}" works at a prompt only')
    return runner.prompter


def history(runner: Runner, argument: str) -> bool:
    inputs = _prompter(runner, ".history").history()
    count = SHOWN
    if argument:
        count = _number(argument, ".history wants a number of inputs")
    out = runner.destination.file or runner.console.rows
    first = max(len(inputs) - count, 0)
    for number, text in enumerate(inputs[first:], first + 1):
        head, *rest = text.strip().split("\n")
        out.write("\n".join([f"{number:5}  {head}", *(f"       {line}" for line in rest)]) + "\n")
    out.flush()
    runner.destination.used()
    return True


def edit(runner: Runner, argument: str) -> bool:
    """Opens the editor on a statement, and runs what was made of it."""
    from acidsql.cli.shell.loop import handle

    prompter = _prompter(runner, ".edit")
    before = _edited(runner, prompter.history(), argument)
    after = _in_editor(before)
    if not after.strip() or after.strip() == before.strip():
        runner.note("nothing was changed, nothing runs")
        return True
    runner.console.say(after.rstrip())
    prompter.remember(after.rstrip())
    handle(runner, after)
    return True


def _edited(runner: Runner, inputs: Sequence[str], argument: str) -> str:
    if not argument:
        return "" if runner.last is None else runner.last + ";\n"
    number = _number(argument, ".edit wants the number of an input in the history")
    if not 1 <= number <= len(inputs):
        raise ProgrammingError(f"the history has no input {number}")
    return inputs[number - 1].rstrip() + "\n"


def _in_editor(text: str) -> str:
    """The text as the user's editor leaves it. ProgrammingError if that fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="acidsql-") as folder:
        path = Path(folder) / "statement.sql"
        path.write_text(text, encoding="utf-8")
        status = subprocess.run(f"{editor} {shlex.quote(str(path))}", shell=True, check=False)
        if status.returncode:
            raise ProgrammingError(
                f'the editor "{editor}" ended with exit code {status.returncode}',
                hint="$VISUAL and $EDITOR name another one.",
            )
        from acidsql.utf8 import decoded

        return decoded(path.read_bytes(), of="the edited text")


def _number(text: str, wanted: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ProgrammingError(wanted)
    return int(text)


# ---- named queries


def query(runner: Runner, argument: str) -> bool:
    """Lists the named queries, or runs one, in which variables have the values given."""
    if not argument:
        for path in query_files():
            text = " ".join(path.read_text(encoding="utf-8", errors="replace").split())
            runner.console.say(f"{path.stem}: {text}")
        return True
    name, *values = _words(argument)
    variables = runner.session.hive_variables
    before = dict(variables)
    try:
        variables.update(_assignment(word) for word in values)
        return runner.run_file(str(_known_query(name)))
    finally:
        variables.clear()
        variables.update(before)


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError as error:
        raise ProgrammingError(f"the arguments cannot be read: {error}".lower()) from None


def _assignment(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise ProgrammingError(f'"{word}" is not of the form name=value')
    return name, value


def _known_query(name: str) -> Path:
    path = query_file(_checked(name))
    if not path.is_file():
        known = ", ".join(one.stem for one in query_files())
        hint = f"There are {known}." if known else ".save NAME keeps the last statement."
        raise ProgrammingError(f'there is no query "{name}"', hint=hint)
    return path


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ProgrammingError(f'"{name}" is no name: letters, digits, _ and - make one')
    return name


def save(runner: Runner, argument: str) -> bool:
    name, _, text = needed(argument, ".save NAME [STATEMENT]").partition(" ")
    path = query_file(_checked(name))
    text = text.strip() or last_statement(runner)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text.rstrip().rstrip(";") + ";\n", encoding="utf-8")
    except OSError as error:
        raise ProgrammingError(f'cannot write "{path}"', detail=error.strerror) from error
    runner.note(f'saved: ".query {name}" runs it')
    return True


def forget(_: Runner, argument: str) -> bool:
    path = _known_query(needed(argument, ".forget NAME"))
    try:
        path.unlink()
    except OSError as error:
        raise ProgrammingError(f'cannot remove "{path}"', detail=error.strerror) from error
    return True
