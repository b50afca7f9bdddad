"""The reader on prompt_toolkit: keys, history, completion, colours."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.output.defaults import create_output

from acidsql.cli.completion.complete import complete
from acidsql.cli.completion.scope import SessionNames
from acidsql.cli.shell.files import history_file
from acidsql.cli.shell.reading import CONTINUATION, is_whole
from acidsql.passwords import without_passwords
from acidsql.session import Session

_GLANCE_SECONDS = 0.2
_MODES = {"emacs": EditingMode.EMACS, "vi": EditingMode.VI}


class ToolkitReader:
    """Reads inputs in an editor of several lines."""

    def __init__(self, session: Session) -> None:
        self._settings = session.settings
        self._history = _history()
        self._prompts: PromptSession[str] = PromptSession(
            key_bindings=_enter_goes_on(),
            prompt_continuation=lambda _width, _line, _soft: CONTINUATION,
            history=self._history,
            completer=_completer(session),
            complete_while_typing=False,
            enable_history_search=True,
            enable_open_in_editor=True,
            tempfile_suffix=".sql",
            lexer=_lexer(),
            output=create_output(always_prefer_tty=True),
        )

    def __call__(self, prompt: str) -> str:
        self._prompts.editing_mode = _MODES[self._settings.text("acidsql.shell.keys")]
        return self._prompts.prompt(prompt)

    def ask(self, question: str) -> str:
        """One line. ``input`` loses a Ctrl-C that comes before it waits and behind the question."""
        sys.stdout.write(question)
        sys.stdout.flush()
        while not select.select([sys.stdin], [], [], _GLANCE_SECONDS)[0]:
            pass
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def history(self) -> Sequence[str]:
        return tuple(reversed(list(self._history.load_history_strings())))

    def remember(self, text: str) -> None:
        self._history.append_string(text)


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

    class History(FileHistory):
        """What was typed; the file has no passwords of URLs."""

        def store_string(self, string: str) -> None:
            super().store_string(without_passwords(string))

    return History(str(path))


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
            word, choices = complete(document.text_before_cursor, names, document.text_after_cursor)
            for text in choices:
                yield Completion(text, start_position=-len(word))

    return SqlCompleter()
