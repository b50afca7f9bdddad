"""The command line of ``acidsql``: its options and sub-commands. Hive's and Beeline's option names
where they have one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

FORMATS = ("table", "vertical", "csv", "tsv", "json", "csv2", "tsv2", "jsonl")

# Sub-commands: the module with ``run(args) -> int``, and perhaps ``add_arguments(parser)``;
# imported only when called for.
COMMANDS = {
    "compactor": ("acidsql.cli.compactor", "compact and clean up, as a daemon or once"),
    "demo": ("acidsql.cli.demo", "load and change real data, and check the result"),
    "attach": ("acidsql.cli.attach", "tell another warehouse of a table: attach --dump TABLE"),
    "store": ("acidsql.cli.store", "move the metastore of a warehouse: store copy FROM TO"),
    "migrate": ("acidsql.cli.migrate", "move tables between a warehouse and Hive's metastore"),
    "inspect": ("acidsql.cli.inspect", "show the health of tables: inspect [TABLE | DIRECTORY]"),
    "test": ("acidsql.cli.example", "lay out an example project of golden tests: test init [DIR]"),
    "doctor": ("acidsql.cli.doctor", "find files that readers pass over or fail on, and mend them"),
}
SESSIONLESS = frozenset(("store", "test", "migrate"))
"""Sub-commands that open no session, and so have none of its options."""

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


_UNRECOGNIZED = "unrecognized arguments: "


class _Parser(argparse.ArgumentParser):
    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        if message.startswith("argument COMMAND: invalid choice"):
            if (unknown := self._unknown(self.given)) is None:
                message += "; -f FILE runs a script, -e SQL a statement"
            else:  # what stands behind it is its value
                message = f"{_UNRECOGNIZED}{unknown}"
        if message.startswith(_UNRECOGNIZED):
            unknown = self._unknown(message.split())
            near = get_close_matches(unknown or "", self._known(), n=1, cutoff=0.7)
            message += f"; did you mean {near[0]}?" if near else ""
        super().error(message)

    def _known(self) -> list[str]:
        """The options, those of a sub-command that was given too."""
        parsers: list[argparse.ArgumentParser] = [self]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += [action.choices[word] for word in self.given if word in action.choices]
        return [
            text for one in parsers for action in one._actions for text in action.option_strings
        ]

    def _unknown(self, words: Sequence[str]) -> str | None:
        """The first of these that looks like an option and is none."""
        options = (word.partition("=")[0] for word in words if word.startswith("--"))
        return next((option for option in options if option not in self._known()), None)


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
    parser = _Parser(
        prog="acidsql",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.given = arguments
    _add_session_options(parser)
    _add_run_options(parser)
    _add_output_options(parser)
    parser.add_argument(
        "--version", action="store_true", help="print the versions of acidsql, Spark and Python"
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, (module, doc) in COMMANDS.items():
        command = commands.add_parser(name, help=doc, description=doc, allow_abbrev=False)
        if name not in SESSIONLESS:
            _add_session_options(command, default=argparse.SUPPRESS)
        if name in arguments:
            getattr(import_module(module), "add_arguments", lambda _: None)(command)
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds what is run, and how."""
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
        "--metastore",
        metavar="URL",
        help=(
            "a PostgreSQL database, postgresql+psycopg://user@host/database, as its metastore, or"
            " Hive's, thrift://host:9083, whose tables are then worked on (else $ACIDSQL_METASTORE,"
            " else a file in the warehouse)"
        ),
        type=_utf8,
        **one,
    )
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


def add_output_format(parser: argparse._ActionsContainer, without: str) -> None:
    """Adds the option --outputformat. ``without``: what output is without it."""
    parser.add_argument(
        "--outputformat",
        choices=FORMATS,
        type=str.lower,
        metavar="FORMAT",
        help=(
            "table, vertical, csv, tsv or json (one object a line), of which csv2, tsv2 and jsonl"
            f" are other names; default: {without}"
        ),
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    add_output_format(group, "table on a terminal, else tsv")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="column names above csv and tsv rows",
    )
    group.add_argument("-S", "--silent", action="store_true", help="no row counts and times")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show each statement before it runs"
    )
