"""The command ``acidsql``: arguments in, one session, an exit code out."""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from acidsql.cli.options import COMMANDS, parser_for

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner, Script
    from acidsql.session import Session

_OBJECTS_BEFORE_COLLECTION = 500_000
"""Importing what a statement needs makes 180,000."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; wrong usage leaves by SystemExit(2), as
    argparse does.
    """
    if argv is None:
        _collect_garbage_seldom()
    if sys.stdout is None:
        print("acidsql: standard output is closed: rows have nowhere to go", file=sys.stderr)
        return 2
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = parser_for(arguments).parse_args(arguments)
    if args.version:
        print(version_text())
        return 0
    with terminated_politely():
        try:
            return run_command(args) if args.command else run(args)
        except OSError as error:
            if error.filename is not None:  # of a file, not of standard output
                raise
            # point stdout elsewhere, or the interpreter complains when it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):  # the reader of the rows has gone
                print(f"acidsql: cannot write the rows: {error.strerror}", file=sys.stderr)
            return 1
        except KeyboardInterrupt as interrupt:
            from acidsql.cli.runner import interruption

            print(interruption(interrupt), file=sys.stderr)
            return 130


def version_text() -> str:
    from importlib.metadata import PackageNotFoundError, version

    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package} (not installed)"

    return f"{of('acidsql')}, {of('pyspark')}, python {sys.version.split()[0]}"


def run_command(args: argparse.Namespace) -> int:
    """Runs a sub-command; its failures are shown as a statement's are."""
    from acidsql.cli.console import Console, wants_colour
    from acidsql.errors import Error

    try:
        return int(import_module(COMMANDS[args.command][0]).run(args))
    except Error as error:
        Console(sys.stdout, sys.stderr, colour=wants_colour(sys.stderr)).complain(
            error, f"acidsql {args.command}: "
        )
        return 75 if error.retryable else 1


def run(args: argparse.Namespace) -> int:
    """Opens the session and runs what was asked for."""
    interactive = not args.scripts and sys.stdin.isatty()
    with stdout_for_rows(sys.stdout, keep=interactive) as rows:
        return _run(args, rows, interactive=interactive)


def _run(args: argparse.Namespace, rows: TextIO, *, interactive: bool) -> int:
    from acidsql.cli.console import Console, wants_colour
    from acidsql.errors import Error

    console = Console(rows, sys.stderr, colour=wants_colour(sys.stderr))
    try:
        scripts = _scripts(args, interactive=interactive)
    except OSError as error:
        console.say(f"acidsql: {error.filename or 'script'}: {error.strerror}")
        return 2
    except Error as error:
        console.complain(error, "acidsql: ")
        return 2
    try:
        session = open_session(args)
    except Error as error:
        console.complain(error, "acidsql: ")
        return 75 if error.retryable else 1
    with session:
        runner = _runner(args, session, console)
        if interactive:
            from acidsql.cli.shell.loop import configure

            configure(runner)
            _prefer_options(args, runner)
        if runner.run_all(scripts) and interactive:
            from acidsql.cli.shell.loop import run_shell

            run_shell(runner, start_spark=not args.lazy_spark)
            return 0
        runner.finish()
        return runner.tally.exit_code


def _scripts(args: argparse.Namespace, *, interactive: bool) -> list[Script]:
    """The scripts to run, all read before the first runs: a missing file must not leave half the
    work done. OSError names the file.

    ProgrammingError for one that is not UTF-8.
    """
    from acidsql.cli.runner import Script, read_script, read_stdin

    named = [("file", args.init)] if args.init else []
    named += args.scripts or []
    if not args.scripts and not interactive:
        named.append(("file", "-"))
    return [
        Script(value) if kind == "text" else read_stdin() if value == "-" else read_script(value)
        for kind, value in named
    ]


def open_session(args: argparse.Namespace) -> Session:
    """The session that the options ask for."""
    from acidsql.session import Session

    settings = {"acidsql.retries": "3"} | dict(args.hiveconf)
    settings |= {"acidsql.dry.run": "true"} if args.dry_run else {}
    if args.header is not None:
        settings["hive.cli.print.header"] = "true" if args.header else "false"
    session = Session(
        args.warehouse,
        metastore=args.metastore,
        database=args.database or "default",
        master=args.master,
        conf=dict(args.conf),
        settings=settings,
    )
    session.hive_variables.update(args.hivevar)
    return session


def open_existing(args: argparse.Namespace) -> Session:
    """The session that the options ask for, to look at a warehouse or after it; makes
    none. ProgrammingError if there is none.
    """
    from acidsql.errors import ProgrammingError
    from acidsql.metastore.locations import warehouse_path
    from acidsql.metastore.stores.database_file import is_warehouse
    from acidsql.session.opening import default_metastore, default_warehouse

    warehouse = warehouse_path(args.warehouse or default_warehouse())
    if not (args.metastore or default_metastore() or is_warehouse(warehouse)):
        raise ProgrammingError(
            f'there is no warehouse in "{warehouse}"',
            hint="Name it by --warehouse or $ACIDSQL_WAREHOUSE.",
        )
    return open_session(args)


def _runner(args: argparse.Namespace, session: Session, console: Any) -> Runner:
    from acidsql.cli.runner import Runner
    from acidsql.rendering.formats import Layout, parse_format

    layout = Layout(
        format=parse_format(args.outputformat or ("table" if sys.stdout.isatty() else "tsv"))
    )
    return Runner(
        session=session,
        console=console,
        layout=layout,
        silent=args.silent,
        verbose=args.verbose,
        force=args.force,
    )


def _prefer_options(args: argparse.Namespace, runner: Runner) -> None:
    """Has what the command line says come before what the configuration file says."""
    from acidsql.rendering.formats import parse_format

    settings = runner.session.settings
    for name, value in args.hiveconf:
        settings.set(name, value)
    if args.header is not None:
        settings.set("hive.cli.print.header", "true" if args.header else "false")
    if args.outputformat:
        runner.layout = replace(runner.layout, format=parse_format(args.outputformat))


# -- the process


def _collect_garbage_seldom() -> None:
    """In a process of our own: as it ends nothing is collected any more, and before that not after
    every 700 new objects, as Python does, which took a third of the time of a short statement: what
    is imported is no garbage.
    """
    import gc

    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION, 10, 10)
    atexit.register(gc.freeze)


@contextmanager
def stdout_for_rows(stdout: TextIO, *, keep: bool) -> Iterator[TextIO]:
    """A stream for rows alone: while it is open, whatever else writes to file descriptor 1 (the
    JVM, a library) lands on stderr.

    ``keep`` leaves the descriptors as they are (a prompt draws on stdout); so does a stdout that is
    not descriptor 1.
    """
    try:
        ours = not keep and stdout.fileno() == 1
    except (OSError, ValueError):
        ours = False
    if not ours:
        yield stdout
        return
    stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    try:
        with open(private, "w", encoding="utf-8", newline="\n", closefd=False) as rows:
            yield rows
    finally:
        os.dup2(private, 1)
        os.close(private)


@contextmanager
def terminated_politely() -> Iterator[None]:
    """Has SIGTERM unwind the stack, so that an open transaction is rolled back at once and not when
    its heartbeat runs out.
    """

    def leave(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + signal.SIGTERM)

    try:
        previous = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
