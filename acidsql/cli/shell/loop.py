"""The prompt: reads a statement over several lines, runs it, and starts Spark meanwhile.

prompt_toolkit gives editing, history and completion where it is installed (the extra ``repl``);
otherwise plain lines do.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from acidsql.cli.commands.command import command_end
from acidsql.cli.console import Console
from acidsql.cli.ctrl_c import PromptGuard, prompt_given_back
from acidsql.cli.runner import Leave, Runner, Script, interruption, read_script
from acidsql.cli.shell.files import config_file
from acidsql.cli.shell.reading import LinesReader, Reader, without_vertical_end
from acidsql.errors import Error
from acidsql.parser.script import split
from acidsql.session import Session

# ---- Spark's start behind the prompt
#
# Spark's start behind the prompt: statements are taken at once, and one that has to wait for Spark
# says so, and why.


def start_spark_behind(session: Session) -> None:
    """Starts Spark while the user types. If that fails, the statement that needs Spark says so."""

    def start() -> None:
        with suppress(Exception):
            session.start_spark()

    threading.Thread(target=start, name="acidsql-spark-start", daemon=True).start()


def say_when_waiting(session: Session, console: Console) -> None:
    """Has every statement that must wait until Spark has started say so, once, with the reason."""

    def say(reason: str | None) -> None:
        console.say(": ".join(["waiting for Spark to start", *([reason] if reason else [])]))

    session.when_waiting_for_spark(say)


# ---- loop


def run_shell(runner: Runner, reader: Reader | None = None, *, start_spark: bool = True) -> None:
    """Reads and runs until the user leaves. ``start_spark``: at once, behind the prompt."""
    runner.prompter = reader or best_reader(runner.session)
    say_when_waiting(runner.session, runner.console)
    if start_spark:
        start_spark_behind(runner.session)
    runner.note("acidsql: end a statement with ; and type .help for help")
    with prompt_given_back() as guard:
        while True:
            try:
                if not _turn(runner, runner.prompter, guard):
                    break
            except KeyboardInterrupt:  # it came while an earlier one was told
                continue
    runner.destination.close()
    if runner.session.has_uncommitted_changes:
        runner.session.rollback()
        runner.console.say("the open transaction was rolled back")


def _turn(runner: Runner, reader: Reader, guard: PromptGuard) -> bool:
    """One prompt and what is typed there; whether there is to be another one."""
    guard.arm()
    try:
        text = reader(prompt(runner.session))
        guard.arm()  # an editor of lines has a handler of its own, and leaves Python's
        handle(runner, text)
    except KeyboardInterrupt as interrupt:
        runner.console.say(interruption(interrupt))
    except (EOFError, Leave):
        return False
    finally:
        guard.disarm()
    return True


def prompt(session: Session) -> str:
    """The prompt, ``acidsql (sales)> ``: with a star while a transaction is open, with an
    exclamation mark where others have ended it, so that only ROLLBACK is left.
    """
    mark = "*" if session.in_transaction else ""
    if mark and session.transaction_is_lost:
        mark = "!"
    return f"acidsql ({session.database}){mark}> "


def handle(runner: Runner, text: str) -> None:
    """Runs one input: commands and statements. The first failure drops the rest of it."""
    body, vertical = without_vertical_end(text)
    script = Script(body)
    statements = split(body, command_end)
    for number, statement in enumerate(statements, 1):
        if not runner.run_statement(
            statement, script, vertical=vertical and number == len(statements)
        ):
            return


def configure(runner: Runner) -> None:
    """Runs the statements and commands of the configuration file, where there is one. A failure is
    told, and the others still run.
    """
    path = config_file()
    if not path.is_file():
        return
    try:
        script = read_script(str(path))
    except OSError as error:
        runner.console.say(f"acidsql: {path}: {error.strerror}")
        return
    except Error as error:
        runner.console.complain(error, "acidsql: ")
        return
    for statement in split(script.text, command_end):
        runner.run_statement(statement, script)


def best_reader(session: Session) -> Reader:
    """The reader with history and completion, of plain lines where prompt_toolkit is missing."""
    try:
        from acidsql.cli.shell.editing import ToolkitReader

        return ToolkitReader(session)
    except ImportError:
        return LinesReader(input)
