"""``%load_ext acidsql``: statements in the cells of IPython and Jupyter.

``%acidsql SELECT ..`` gives the Result of one statement, ``%%acidsql`` runs the statements of a
cell. ``:name`` in them is the value of the Python variable ``name``. Both run in one session,
which ``%acidsql`` alone gives; options come first: see ``USAGE``.

Rows are read when they are first asked for, so a query may take its time when it is shown: that is
under the bar and heeds Ctrl-C as the statement itself, also where Python alone has run it.
"""

from __future__ import annotations

import atexit
import html
import io
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from typing import Any

from acidsql.dbapi import Connection
from acidsql.errors import Error, ProgrammingError
from acidsql.interrupts import CARRIED_OUT
from acidsql.parser.parameters import find_markers
from acidsql.parser.script import split
from acidsql.rendering.progress import progress
from acidsql.result import Result
from acidsql.session import Session

NAME = "acidsql"
USAGE = """%acidsql [options] [statement]     %%acidsql [options]
  --warehouse DIRECTORY  opens a session there; what follows runs in it
  --metastore URL, --master MASTER, --database NAME, --set NAME=VALUE  of that session
  --session NAME         from now on the Session or Connection in this Python variable
  -o NAME                puts the last result into this Python variable and shows it not
%acidsql alone gives the session."""
PATIENCE_SECONDS = 1.0
"""A statement that is done by then shows no bar."""
_BEAT_SECONDS = 0.3
_OPTION = re.compile(r"--?[A-Za-z]")
_OF_A_SESSION = ("metastore", "master", "database")
_ONCE = ("warehouse", "session", "o", *_OF_A_SESSION)


class Magic:
    """The magics of one IPython: the session in use, and who is to close it."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._session: Session | None = None
        self._own: Session | None = None

    @property
    def session(self) -> Session:
        """The session in use; at first one in $ACIDSQL_WAREHOUSE, else ``./warehouse``."""
        if self._session is None:
            self._session = self._own = Session()
        return self._session

    def __call__(self, line: str, cell: str | None, variables: Mapping[str, Any]) -> object:
        options, rest = _options(line)
        self._choose(options, variables)
        target = options.get("o")
        if cell is not None and rest:
            raise _usage(f"the statements of %%{NAME} stand below its line: {rest}")
        text = rest if cell is None else cell
        statements = [statement.text for statement in split(text) if statement.text.strip()]
        if not statements:
            if target is not None:
                raise _usage("-o is for the result of a statement")
            return self.session if not options else None
        result = self._run(statements, variables)
        if target is None:
            return result
        self.shell.user_ns[target] = result
        return None

    def _run(self, statements: list[str], variables: Mapping[str, Any]) -> Result:
        from IPython.display import display

        result: Result | None = None
        for statement in statements:
            if result is not None:
                display(result)
            params = _params(statement, variables)
            with self.bar(), _interrupts_are_short():
                result = self.session.sql(statement, params)
        assert result is not None
        return result

    def _choose(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
        """The session that the options ask for."""
        if "session" in options:
            self._use(_shared(options["session"], variables), own=False)
        given = {name: options[name] for name in _OF_A_SESSION if name in options}
        if "warehouse" in options:
            self._use(Session(options["warehouse"], settings=options["set"], **given), own=True)
        elif given or options.get("set"):
            raise _usage("options of a session are for the one that --warehouse opens")

    def _use(self, session: Session, *, own: bool) -> None:
        self.close()
        self._session, self._own = session, session if own else None

    def close(self) -> None:
        """Closes the session if the magics have opened it; what is not committed is lost."""
        own, self._own, self._session = self._own, None, None
        if own is not None:
            own.close()

    def fetch(self, shown: object) -> None:
        """Reads the rows of what is about to be shown, if it is a result that has not done so."""
        if isinstance(shown, Result) and shown.columns and not shown.is_fetched:
            with self.bar(), _interrupts_are_short():
                shown.to_arrow()

    @contextmanager
    def bar(self) -> Iterator[None]:
        """A progress bar, or on IPython's terminal a line, once the statement has run for
        PATIENCE_SECONDS.
        """
        if not hasattr(self.shell, "kernel"):
            with self._line():
                yield
            return
        done = threading.Event()
        context = copy_context()  # which says the cell that the bar belongs to
        thread = threading.Thread(
            target=context.run,
            args=(_show_bar, self._tasks, done),
            daemon=True,
            name="acidsql-bar",
        )
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _line(self) -> AbstractContextManager[None]:
        if not sys.stderr.isatty():
            return nullcontext()
        return progress(sys.stderr, self._tasks, patience=PATIENCE_SECONDS)

    def _tasks(self) -> tuple[int, int] | None:
        return None if self._session is None else self._session.running_tasks()


# -- options and variables


def _options(line: str) -> tuple[dict[str, Any], str]:
    """The options at the head of a line, and the rest. UsageError for an unknown one."""
    options: dict[str, Any] = {}
    rest = line.strip()
    while _OPTION.match(rest):
        word, _, rest = rest.partition(" ")
        name, is_joined, value = word.lstrip("-").partition("=")
        if not is_joined:
            value, rest = _first_word(rest)
        elif value[:1] in ("'", '"'):
            value, rest = _first_word(f"{value} {rest}")
        if not value or (name not in _ONCE and name != "set"):
            raise _usage(f"{word} has no value" if name in (*_ONCE, "set") else f"what is {word}?")
        if name == "set":
            setting, _, text = value.partition("=")
            options.setdefault("set", {})[setting] = text
        elif name in options:
            raise _usage(f"{word} stands there twice")
        else:
            options[name] = value
        rest = rest.strip()
    if "warehouse" in options:
        options.setdefault("set", {})
    if (target := options.get("o")) is not None and not target.isidentifier():
        raise _usage(f"{target} is no name of a variable")
    return options, rest


def _first_word(text: str) -> tuple[str, str]:
    """The first word of a text, without its quotes, and what follows it as it is."""
    stream = io.StringIO(text)
    reader = shlex.shlex(stream, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        word = reader.get_token() or ""
    except ValueError as error:
        raise _usage(f"{error}: {text}") from None
    return word, stream.read()


def _usage(problem: str) -> Exception:
    """What IPython shows in one line, with how it is done."""
    from IPython.core.error import UsageError

    usage: Exception = UsageError(f"{problem}\n{USAGE}")
    return usage


def _shared(name: str, variables: Mapping[str, Any]) -> Session:
    match variables.get(name):
        case Session() as session:
            return session
        case Connection() as connection:
            return connection.session
        case other:
            kind = "there is none" if name not in variables else f"it is a {type(other).__name__}"
            raise _usage(f"--session names a variable with a Session or Connection, {name}: {kind}")


def _params(statement: str, variables: Mapping[str, Any]) -> dict[str, Any] | None:
    """The variables that the markers of a statement name, None without any."""
    markers = find_markers(statement, named=True)
    names = [marker.name for marker in markers]
    for marker, name in zip(markers, names, strict=True):
        if name is None or name not in variables:
            raise ProgrammingError(
                "a notebook has no values for ?" if name is None else f'no variable "{name}"',
                hint="Write :name for the value of the Python variable of that name.",
                span=marker.span,
                source=statement,
            )
    return {name: variables[name] for name in names if name is not None} or None


@contextmanager
def _interrupts_are_short() -> Iterator[None]:
    """An interrupt is shown by its name alone, without Python's traceback. One that came too late
    for the statement says so; IPython shows no notes of it.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        for note in getattr(interrupt, "__notes__", ()):
            print(f"{NAME}: {note}" if note == CARRIED_OUT else note, file=sys.stderr)
        interrupt._render_traceback_ = lambda: ["KeyboardInterrupt"]  # type: ignore[attr-defined]
        raise


# -- the bar


def _show_bar(tasks: Callable[[], tuple[int, int] | None], done: threading.Event) -> None:
    from IPython.display import HTML, DisplayHandle

    began = time.monotonic()
    handle: DisplayHandle | None = None
    while not done.wait(PATIENCE_SECONDS if handle is None else _BEAT_SECONDS):
        counts = None
        with suppress(Exception):  # Spark may be starting or gone; the statement itself will tell
            counts = tasks()
        bar = HTML(bar_html(counts, time.monotonic() - began))
        if handle is None:
            handle = DisplayHandle()
            handle.display(bar)
        else:
            handle.update(bar)
    if handle is not None:
        handle.update(HTML(""))


def bar_html(tasks: tuple[int, int] | None, seconds: float) -> str:
    """``tasks``: (done, known) of Spark's jobs, None while none runs."""
    if tasks is None:
        return f"<progress></progress> running, {seconds:.0f} s"
    done, known = tasks
    text = html.escape(f"{done:,} of {known:,} tasks, {seconds:.0f} s")
    return f'<progress value="{done}" max="{max(known, 1)}"></progress> {text}'


# -- the extension


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext acidsql`` calls: the magics, and errors of acidsql without the Python
    traceback, which ``%tb`` shows.
    """
    from IPython.core.magic import needs_local_scope, no_var_expand

    magic = Magic(shell)
    atexit.register(magic.close)

    def run(line: str, cell: str | None = None, local_ns: Any = None) -> object:
        return magic(line, cell, {**shell.user_ns, **(local_ns or {})})

    run.__doc__ = USAGE
    shell.register_magic_function(needs_local_scope(no_var_expand(run)), "line_cell", NAME)
    shell._acidsql = magic, shell.custom_exceptions, shell.CustomTB, shell.display_trap.hook
    _fetch_before_showing(shell, magic)
    others, previous = shell.custom_exceptions, shell.CustomTB

    def show(shell: Any, kind: type, error: Any, traceback: Any, tb_offset: Any = None) -> Any:
        if not isinstance(error, Error):
            return previous(kind, error, traceback, tb_offset)
        sys.last_type, sys.last_value, sys.last_traceback = kind, error, traceback  # for %tb
        lines = f"{kind.__name__}: {error}".splitlines()
        shell._showtraceback(kind, error, lines)
        return lines

    shell.set_custom_exc((*others, Error), show)


def _fetch_before_showing(shell: Any, magic: Magic) -> None:
    """Has the rows of a result read before IPython writes ``Out[..]``, and before it asks for their
    pictures: it would print what goes wrong then, and go on.
    """
    shown, pictures = shell.display_trap.hook, shell.display_formatter.format

    def show(value: object) -> None:
        if not shell.displayhook.quiet():
            magic.fetch(value)
        shown(value)

    def pictures_of(value: object, *args: Any, **options: Any) -> Any:
        magic.fetch(value)
        return pictures(value, *args, **options)

    shell.display_trap.hook, shell.display_formatter.format = show, pictures_of


def unload_ipython_extension(shell: Any) -> None:
    """What ``%unload_ext acidsql`` calls: the session closes if the magics have opened it."""
    magic, shell.custom_exceptions, shell.CustomTB, shell.display_trap.hook = shell._acidsql
    del shell._acidsql, shell.display_formatter.format
    atexit.unregister(magic.close)
    magic.close()
    for kind in shell.magics_manager.magics.values():
        kind.pop(NAME, None)
