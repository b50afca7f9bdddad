"""Runs scripts statement by statement: variables, client commands, output, errors with their line,
the exit code.

The exit code says what a scheduler needs to know. 75 (EX_TEMPFAIL) promises that running the whole
thing again is safe: every failure was a retryable one, and no statement before or after it had
changed a row; a second run cannot do anything twice. What a transaction has changed counts when it
is committed.
"""

from __future__ import annotations

import io
import sys
import time
import traceback
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import field, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.cli.commands.command import command_end, refuse_command
from acidsql.cli.console import Console, OutputError, change_summary, rows_summary
from acidsql.cli.ctrl_c import left_by_ctrl_c
from acidsql.cli.output.showing import COLUMNS_HINT, CUT_HINT, Destination, Kept, show_rows
from acidsql.errors import Error, ExecutionError, InternalError, ProgrammingError
from acidsql.lazy import dataclass
from acidsql.parser.script import ScriptStatement, split, substitute
from acidsql.passwords import without_passwords
from acidsql.rendering.formats import Format, Layout
from acidsql.result import Result, Stats
from acidsql.session import Session
from acidsql.settings import Variables
from acidsql.utf8 import decoded

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.cli.shell.reading import Reader

DEEPEST_SOURCE = 16
HEADER_SETTING = "hive.cli.print.header"
SUBSTITUTE_SETTING = "hive.variable.substitute"


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    RETRY = 75
    INTERRUPTED = 130


class Leave(BaseException):
    """The user asked to leave (quit, exit). No more of an error than KeyboardInterrupt is."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script to run; ``name`` is the file's for messages, None for text from the command line or
    the prompt.
    """

    text: str
    name: str | None = None


@dataclass(slots=True)
class Tally:
    """The outcome of a run. ``uncommitted``: the open transaction has changed rows."""

    failed: int = 0
    failed_for_good: int = 0
    changed: bool = False
    uncommitted: bool = False

    @property
    def exit_code(self) -> ExitCode:
        if not self.failed:
            return ExitCode.OK
        return ExitCode.FAILED if self.failed_for_good or self.changed else ExitCode.RETRY


@dataclass(slots=True, kw_only=True)
class Runner:
    """One session and how its results are shown. ``force`` goes on behind a failed statement.
    ``prompter``: the person at the prompt, None where there is none.
    """

    session: Session
    console: Console
    layout: Layout = field(default_factory=Layout)
    destination: Destination = field(default_factory=Destination)
    prompter: Reader | None = None
    silent: bool = False
    verbose: bool = False
    force: bool = False
    timer: bool = True
    tally: Tally = field(default_factory=Tally)
    depth: int = 0
    last: str | None = None
    kept: Kept | None = None

    def run_all(self, scripts: Iterable[Script]) -> bool:
        """Runs them in turn; False if one ended the run, by a failure or by ``quit``."""
        try:
            return all(self.run(script) for script in scripts)
        except Leave:
            return False

    def run(self, script: Script) -> bool:
        """Runs every statement; whether to go on with the next script."""
        statements = split(script.text, command_end)
        return all(self.run_statement(statement, script) for statement in statements)

    def run_file(self, path: str) -> bool:
        """Runs a script file named by a statement or a command."""
        if self.depth >= DEEPEST_SOURCE:
            return self.failed(
                ProgrammingError(f'"{path}" is sourced more than {DEEPEST_SOURCE} files deep')
            )
        try:
            script = read_script(path)
        except OSError as error:
            return self.failed(ProgrammingError(f'cannot read "{path}"', detail=error.strerror))
        self.depth += 1
        try:
            return self.run(script)
        finally:
            self.depth -= 1

    def run_statement(
        self, statement: ScriptStatement, script: Script, *, vertical: bool = False
    ) -> bool:
        """Runs one statement; whether to go on with the next one."""
        if self.verbose:
            ending = "" if statement.is_command else ";"
            self.console.say(without_passwords(statement.text) + ending)
        text = statement.text
        try:
            if statement.is_command:
                from acidsql.cli.commands.table import read_command

                command, argument = read_command(text)
                return command.run(self, argument)
            refuse_command(text)
            self.last = text
            if self.session.settings.flag(SUBSTITUTE_SETTING):
                text = substitute(text, **self.variables())
            if self.is_agreed(text):
                self.carry_out(text, vertical=vertical)
            else:
                return False
        except Error as error:
            return self.failed(error, script, line=locate(error, text, statement, script))
        except (BrokenPipeError, OutputError):
            raise
        except Exception as error:
            return self.failed(self.bug(error), script, line=first_line(statement, script))
        return True

    def is_agreed(self, text: str) -> bool:
        """Whether the person at the prompt, if there is one, lets the statement run."""
        if self.prompter is None:
            return True
        from acidsql.cli.shell.careful import agrees

        return agrees(self, self.prompter, text)

    def carry_out(self, text: str, *, vertical: bool = False) -> None:
        """Runs the text of one statement and shows what comes of it. Error."""
        if text[:4].upper() == "LOAD":
            self.tell_of_quotes(text)
        started = time.perf_counter()
        with left_by_ctrl_c() if self.prompter is None else nullcontext():
            with self.progress():
                result = self.session.sql(text)
                batches = begun(result.batches()) if result.columns else None
            if batches is None:
                self.show(result, started)
                return
            with closing(batches):
                self.show(result, started, batches, vertical=vertical)

    def variables(self) -> Mapping[str, Mapping[str, str]]:
        """The four name spaces of ``${space:name}``."""
        return Variables(self.session.settings, self.session.hive_variables).spaces()

    def tell_of_quotes(self, text: str) -> None:
        """Warns of a LOAD DATA that makes the quotes of CSV part of the values."""
        from acidsql.cli.commands.importing import quotes_taken

        warning = quotes_taken(self.session, text)
        if warning is not None:
            self.console.say(f"warning: {warning}")

    def show(
        self,
        result: Result,
        started: float,
        batches: Iterator[pa.RecordBatch] | None = None,
        *,
        vertical: bool = False,
    ) -> None:
        """Prints rows to one stream, the summary to the other; times include fetching and
        printing.
        """
        for warning in result.warnings:
            # also where notes are silent: something is lost
            self.console.warn(warning)
        for line in result.notes:
            self.note(line)
        if batches is None or result.stats.rows_changed:  # EXPLAIN ANALYZE has both
            self.count(result.stats)
        if batches is None:
            self.note(change_summary(result.stats, self.seconds(started)))
            return
        self.kept = Kept(result.columns, result.stats.statement)
        layout = replace(self.layout, format=Format.VERTICAL) if vertical else self.layout
        self.show_rows(self.kept, batches, layout, started)

    def show_rows(
        self, kept: Kept, batches: Iterator[pa.RecordBatch], layout: Layout, started: float
    ) -> None:
        """Prints rows where rows go, and the line that counts them."""
        settings = self.session.settings
        out = self.destination.file or self.console.rows
        laid_out = replace(layout, header=settings.flag(HEADER_SETTING))
        at_prompt = self.prompter is not None
        try:
            shown = show_rows(kept, batches, laid_out, settings, out, at_prompt=at_prompt)
            out.flush()
            self.destination.used()
        except BrokenPipeError:
            raise
        except OSError as error:
            if self.destination.file is None:
                raise OutputError(error.errno, error.strerror) from error
            raise ExecutionError("cannot write the rows", detail=error.strerror) from error
        self.note(rows_summary(shown, self.seconds(started)))
        if shown.is_cut:
            self.note(CUT_HINT)
        if shown.columns is not None and at_prompt:
            self.note(COLUMNS_HINT)

    def count(self, stats: Stats) -> None:
        """Notes what a statement has changed for good."""
        open_still = self.session.in_transaction
        at_once = bool(stats.rows_changed) and stats.txn_id is None  # rows of a plain table
        pending = self.tally.uncommitted and stats.statement != "ROLLBACK"
        changed = bool(stats.rows_changed or stats.directories or pending)
        self.tally.uncommitted = open_still and (pending or (changed and not at_once))
        self.tally.changed |= changed and (at_once or not open_still)

    def finish(self) -> None:
        """Ends the file that rows went to, and rolls back a transaction that was left open. Where
        that loses changes it says so; it is an error unless there was one before.
        """
        self.destination.close()
        if not self.session.has_uncommitted_changes:
            return
        self.session.rollback()
        if self.tally.failed:
            self.console.say("the open transaction was rolled back")
        else:
            hint = "End the transaction with COMMIT."
            self.failed(
                ProgrammingError(
                    "the input ended in an open transaction, which was rolled back", hint=hint
                )
            )

    def progress(self) -> AbstractContextManager[None]:
        """Shows on a terminal how far a long statement is."""
        notes = self.console.notes
        if self.silent or not notes.isatty():
            return nullcontext()
        from acidsql.rendering.progress import progress

        return progress(notes, self.session.running_tasks)

    def seconds(self, started: float) -> float | None:
        return time.perf_counter() - started if self.timer else None

    def note(self, text: str) -> None:
        if not self.silent:
            self.console.say(text, dim=True)

    def failed(
        self, error: Error, script: Script | None = None, *, line: int | None = None
    ) -> bool:
        """Reports and counts; whether to go on all the same."""
        self.tally.failed += 1
        self.tally.failed_for_good += not error.retryable
        self.tally.uncommitted &= self.session.in_transaction  # a COMMIT that fails has ended it
        self.console.complain(error, prefix(script, line))
        return self.force

    def bug(self, error: Exception) -> Error:
        if self.verbose:
            self.console.say("".join(traceback.format_exception(error)).rstrip())
        hint = "This is a bug of acidsql; please report it" + (
            "." if self.verbose else " with what --verbose shows."
        )
        return InternalError(f"{type(error).__name__}: {error}", hint=hint)


def begun(
    batches: Generator[pa.RecordBatch, None, None],
) -> Generator[pa.RecordBatch, None, None]:
    """Batches of which the first was asked for already; closing ends them."""
    first = next(batches, None)

    def all_of_them() -> Generator[pa.RecordBatch, None, None]:
        with closing(batches):
            if first is not None:
                yield first
                yield from batches

    return all_of_them()


def read_script(path: str) -> Script:
    """A script file. OSError if it cannot be read, ProgrammingError if it is not UTF-8."""
    return Script(decoded(Path(path).expanduser().read_bytes(), of=path), path)


def read_stdin() -> Script:
    """The text on standard input, UTF-8 whatever the locale. ProgrammingError if it is not."""
    if isinstance(sys.stdin, io.StringIO):  # a caller's own, which is text
        return Script(sys.stdin.read(), "stdin")
    return Script(decoded(sys.stdin.buffer.read(), of="stdin"), "stdin")


def locate(error: Error, text: str, statement: ScriptStatement, script: Script) -> int | None:
    """Moves the error to its line of the whole script, and gives that line; near enough where
    variables changed the text.
    """
    if error.source != text or error.span is None:
        return first_line(statement, script)
    if text != statement.text:
        return first_line(statement, script) + (error.line or 1) - 1
    return error.at(script.text, statement.span.start).line


def first_line(statement: ScriptStatement, script: Script) -> int:
    return script.text.count("\n", 0, statement.span.start) + 1


def prefix(script: Script | None, line: int | None) -> str:
    """The beginning of a message, ``file.sql:3: ``, as compilers and editors have it."""
    if script is None or script.name is None:
        return "error: "
    return f"{script.name}: " if line is None else f"{script.name}:{line}: "


def interruption(interrupt: KeyboardInterrupt) -> str:
    """The word ``interrupted``, and whether the statement had its effect all the same."""
    return "; ".join(["interrupted", *getattr(interrupt, "__notes__", ())])
