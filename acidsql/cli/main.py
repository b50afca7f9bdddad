"""The command ``acidsql``: arguments in, one session, an exit code out. Hive's and Beeline's option
names where they have one.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner, Script
    from acidsql.session import Session

FORMATS = ("table", "vertical", "csv", "tsv", "json", "csv2", "tsv2", "jsonl")

# Sub-commands: the module with ``run(args) -> int``, and perhaps ``add_arguments(parser)``;
# imported only when called for.
COMMANDS = {"demo": ("acidsql.cli.demo", "load and change real data, and check the result")}

_DESCRIPTION = (
    "Hive ACID tables from the command line. Without -e and -f: a prompt on a terminal, else the"
    " statements of stdin."
)
_EPILOG = """\
Rows go to stdout, everything else to stderr.

Exit codes: 0 all went well; 1 a statement failed; 2 wrong usage; 75 a statement failed in
a way that may pass (a conflict, an abort) and no statement changed a row, so that running the same
command again is safe; 130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; wrong usage leaves by SystemExit(2), as
    argparse does.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = parser_for(arguments).parse_args(arguments)
    if args.version:
        print(version_text())
        return 0
    with terminated_politely():
        try:
            return run_command(args) if args.command else run(args)
        except BrokenPipeError:
            # whoever read the rows has gone; point stdout elsewhere, or the interpreter complains
            # when it flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except KeyboardInterrupt as interrupt:
            from acidsql.cli.runner import interruption

            print(interruption(interrupt), file=sys.stderr)
            return 130


# -- arguments


class _Ordered(argparse.Action):
    """Collects -e and -f into one list, in the order given."""

    def __call__(
        self, _parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        kind = "file" if option in ("-f", "--file") else "text"
        if kind == "text":
            try:
                values = _utf8(values)
            except argparse.ArgumentTypeError as error:
                raise argparse.ArgumentError(self, str(error)) from error
        namespace.scripts = [*(namespace.scripts or []), (kind, values)]


def _utf8(text: str) -> str:
    from acidsql.errors import Error
    from acidsql.utf8 import argument_text

    try:
        return argument_text(text)
    except Error as error:
        raise argparse.ArgumentTypeError(error.message) from error


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = _utf8(text).partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name, value


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; a sub-command named in ``arguments`` is imported to tell its own options."""
    parser = argparse.ArgumentParser(
        prog="acidsql",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_session_options(parser)
    run = parser.add_argument_group("what to run")
    run.add_argument(
        "-e",
        "--execute",
        action=_Ordered,
        dest="scripts",
        metavar="SQL",
        help="run these statements (may be repeated)",
    )
    run.add_argument(
        "-f",
        "--file",
        action=_Ordered,
        dest="scripts",
        metavar="FILE",
        help="run this script, - for stdin (may be repeated)",
    )
    run.add_argument("-i", "--init", metavar="FILE", help="run this script first")
    run.add_argument(
        "-d",
        "--hivevar",
        "--define",
        action="append",
        type=_assignment,
        default=[],
        metavar="NAME=VALUE",
        help="define ${hivevar:NAME}",
    )
    run.add_argument(
        "--lazy-spark",
        action="store_true",
        help="at the prompt: start Spark when it is needed, not at once",
    )
    run.add_argument(
        "--dry-run",
        action="store_true",
        help="change nothing: tell how many rows each statement would touch, and where",
    )
    run.add_argument(
        "--force",
        action="store_true",
        help="go on behind a failed statement; the exit code still tells",
    )
    _add_output_options(parser)
    parser.add_argument(
        "--version", action="store_true", help="print the versions of acidsql, Spark and Python"
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", dest="command", metavar="")
    for name, (module, doc) in COMMANDS.items():
        command = commands.add_parser(name, help=doc, description=doc)
        _add_session_options(command, default=argparse.SUPPRESS)
        if name in arguments:
            getattr(import_module(module), "add_arguments", lambda _: None)(command)
    return parser


def _add_session_options(parser: argparse.ArgumentParser, **given: Any) -> None:
    """Adds the options of a session. ``default=SUPPRESS`` keeps a sub-command from overwriting what
    stood before its name.
    """
    group = parser.add_argument_group("session")
    one = given or {"default": None}
    many: dict[str, Any] = {
        "action": "append",
        "type": _assignment,
        "metavar": "NAME=VALUE",
        **(given or {"default": []}),
    }
    where = "where the tables live (else $ACIDSQL_WAREHOUSE, else ./warehouse)"
    group.add_argument("--warehouse", metavar="DIR", help=where, **one)
    group.add_argument(
        "--database",
        metavar="DB",
        help="the database to start in (default: default)",
        type=_utf8,
        **one,
    )
    group.add_argument(
        "--master", metavar="URL", help="Spark's master (default: local[*])", type=_utf8, **one
    )
    group.add_argument("--conf", help="a setting of Spark", **many)
    group.add_argument("--hiveconf", help="a setting, as SET NAME=VALUE", **many)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--outputformat",
        choices=FORMATS,
        type=str.lower,
        metavar="FORMAT",
        help=(
            "table, vertical, csv, tsv or json (one object a line), of which csv2, tsv2 and jsonl"
            " are other names; default: table on a terminal, else tsv"
        ),
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="column names above csv and tsv rows",
    )
    group.add_argument("-S", "--silent", action="store_true", help="no row counts and times")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show each statement before it runs"
    )


def version_text() -> str:
    from importlib.metadata import PackageNotFoundError, version

    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package} (not installed)"

    return f"{of('acidsql')}, {of('pyspark')}, python {sys.version.split()[0]}"


# -- running


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
        if runner.run_all(scripts) and interactive:
            from acidsql.cli.shell import run_shell

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
        database=args.database or "default",
        master=args.master,
        conf=dict(args.conf),
        settings=settings,
    )
    session.hive_variables.update(args.hivevar)
    return session


def _runner(args: argparse.Namespace, session: Session, console: Any) -> Runner:
    from acidsql.cli.render import Layout, parse_format
    from acidsql.cli.runner import Runner

    on_terminal = sys.stdout.isatty()
    layout = Layout(
        format=parse_format(args.outputformat or ("table" if on_terminal else "tsv")),
        widest_cell=_widest_cell() if on_terminal else None,
    )
    return Runner(
        session=session,
        console=console,
        layout=layout,
        silent=args.silent,
        verbose=args.verbose,
        force=args.force,
    )


def _widest_cell() -> int | None:
    """The width that fits into a table of one column. None where the terminal does not tell its
    width.
    """
    columns = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(columns - len("|  |"), 1) if columns else None


# -- the process


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
