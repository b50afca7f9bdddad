"""The prompt: reads a statement over several lines, runs it, and starts Spark meanwhile.

prompt_toolkit gives editing, history and completion where it is installed (the extra ``repl``);
otherwise plain lines do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from acidsql.catalog.model import TableName
from acidsql.cli.commands import command_end
from acidsql.cli.complete import complete
from acidsql.cli.runner import Leave, Runner, Script, interruption
from acidsql.cli.starting import say_when_waiting, start_spark_behind
from acidsql.errors import Error
from acidsql.parser.script import is_complete, split
from acidsql.session import Session

CONTINUATION = "     ... "
VERTICAL_END = "\\G"


class Reader(Protocol):
    """Reads one input: EOFError at its end, KeyboardInterrupt when the user gives the input up."""

    def __call__(self, prompt: str) -> str: ...


def run_shell(runner: Runner, reader: Reader | None = None, *, start_spark: bool = True) -> None:
    """Reads and runs until the user leaves. ``start_spark``: at once, behind the prompt."""
    read = reader or best_reader(runner.session)
    say_when_waiting(runner.session, runner.console)
    if start_spark:
        start_spark_behind(runner.session)
    runner.note("acidsql: end a statement with ; and type .help for help")
    while True:
        try:
            handle(runner, read(prompt(runner.session)))
        except KeyboardInterrupt as interrupt:
            runner.console.say(interruption(interrupt))
        except (EOFError, Leave):
            break
    if runner.session.has_uncommitted_changes:
        runner.session.rollback()
        runner.console.say("the open transaction was rolled back")


def prompt(session: Session) -> str:
    """The prompt, ``acidsql (sales)> ``, with a star while a transaction is open."""
    return f"acidsql ({session.database}){'*' if session.in_transaction else ''}> "


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


def is_whole(text: str) -> bool:
    r"""Whether Enter ends the input: a command, nothing at all, or a statement closed by ``;`` or
    ``\G``.
    """
    body, vertical = without_vertical_end(text)
    return is_complete(body + ";" if vertical else body, command_end)


def without_vertical_end(text: str) -> tuple[str, bool]:
    r"""The text without the ``\G`` that ends its last statement, and whether there was one."""
    body = text.rstrip()
    if not body.endswith(VERTICAL_END) or is_complete(text, command_end):
        return text, False
    return body.removesuffix(VERTICAL_END), True


# -- reading lines


def best_reader(session: Session) -> Reader:
    try:
        return toolkit_reader(session)
    except ImportError:
        return lines_reader(input)


def lines_reader(read_line: Callable[[str], str]) -> Reader:
    """Reads line by line until the input is whole."""
    with suppress(ImportError):
        import readline  # noqa: F401  (its import gives input() editing and history)

    def line(prompt: str) -> str:
        try:
            return read_line(prompt)
        except (
            UnicodeDecodeError
        ) as error:  # the statement is refused where it stands, as any other
            return str(error.object, error.encoding, "surrogateescape")

    def read(prompt: str) -> str:
        text = line(prompt)
        while not is_whole(text):
            text += "\n" + line(CONTINUATION)
        return text

    return read


def toolkit_reader(session: Session) -> Reader:
    """The reader with history and completion. ImportError where prompt_toolkit is missing."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output.defaults import create_output

    prompts: PromptSession[str] = PromptSession(
        key_bindings=_enter_goes_on(),
        prompt_continuation=lambda _width, _line, _soft: CONTINUATION,
        history=_history(),
        completer=_completer(session),
        complete_while_typing=False,
        enable_history_search=True,
        lexer=_lexer(),
        output=create_output(always_prefer_tty=True),
    )
    return lambda text: prompts.prompt(text)


def _enter_goes_on() -> Any:
    """Binds Enter: it begins a new line of an input that is not whole; else it ends the input as
    always.

    The layout does not hang on it: where ``multiline`` changes while Ctrl-R searches,
    prompt_toolkit loses the search's own line.
    """
    from prompt_toolkit.application import get_app
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import Condition, has_focus
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()
    goes_on = Condition(lambda: not is_whole(get_app().current_buffer.text))

    @bindings.add("enter", filter=has_focus(DEFAULT_BUFFER) & goes_on)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    return bindings


def _history() -> Any:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def history_file() -> Path:
    """The file of the history, where the XDG base directories put what a program remembers."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(
        os.path.expanduser("~"), ".local", "state"
    )
    return Path(state) / "acidsql" / "history"


def _lexer() -> Any:
    try:
        from prompt_toolkit.lexers import PygmentsLexer
        from pygments.lexers.sql import SqlLexer
    except ImportError:
        return None
    return PygmentsLexer(SqlLexer)


def _completer(session: Session) -> Any:
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document

    names = SessionNames(session)

    class SqlCompleter(Completer):
        def get_completions(self, document: Document, _event: object) -> Iterator[Completion]:
            word, choices = complete(document.text_before_cursor, names)
            for text in choices:
                yield Completion(text, start_position=-len(word))

    return SqlCompleter()


class SessionNames:
    """The session's catalog for completion; a catalog that cannot be read offers nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def databases(self) -> Sequence[str]:
        with suppress(Error):
            return self._session.store.list_databases()
        return ()

    def tables(self, database: str | None) -> Sequence[str]:
        with suppress(Error):
            return self._session.store.list_tables(database or self._session.database)
        return ()

    def columns(self, table: str) -> Sequence[str]:
        with suppress(Error):
            stored = self._session.store.find_table(TableName(self._session.database, table))
            return [c.name for c in stored.columns] if stored else ()
        return ()
