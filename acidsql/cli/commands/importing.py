"""The rows of CSV files into tables, quotes understood; and which files LOAD DATA takes with their
quotes, as Hive does. And where rows go.
"""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, FileFormat, Table, TableName
from acidsql.cli.commands.command import leave, needed, unquoted
from acidsql.cli.commands.csv_file import Counted, CsvFile
from acidsql.cli.console import counted
from acidsql.errors import Error, ProgrammingError
from acidsql.expressions.spark_words import text_literal
from acidsql.parser.parse import parse
from acidsql.parser.statements import LoadData
from acidsql.rendering.progress import progress
from acidsql.result import Result
from acidsql.session import Session

if TYPE_CHECKING:
    from acidsql.cli.runner import Runner


_MOST_WARNINGS = 5
_BEGINNING = 1 << 16
_QUOTED_CELL = re.compile(r'(?:^|[,;\t])"(?:[^"]|"")*"(?:[,;\t\r\n]|\Z)', re.MULTILINE)
_ARGUMENT = re.compile(r"""('[^']*'|"[^"]*"|\S+)\s+(\S+)""")
_OTHER_ENDINGS = re.compile(
    r"\.(arrow|feather|tsv|(json|jsonl|ndjson)(\.(gz|zst|bz2))?)$", re.IGNORECASE
)
_LOAD = re.compile(r"\s*load\b", re.IGNORECASE)


def import_file(runner: Runner, argument: str) -> bool:
    """Inserts the rows of a CSV file by one statement; where there is no such table it is made of
    the file.
    """
    usage = ".import FILE TABLE"
    match = _ARGUMENT.fullmatch(needed(argument, usage))
    if match is None:
        raise ProgrammingError(f"usage: {usage}")
    session = runner.session
    path, table = unquoted(match[1]), _find_table(session, match[2])
    if table is None:
        result = _made_of(session, path, match[2].rstrip(";"))
        return _tell(runner, result)
    columns, skipped = _columns(path, table)
    file = CsvFile(
        path=path,
        columns=columns,
        skipped=skipped,
        null=session.settings.text("acidsql.shell.null"),
        counted=Counted(),
    )
    target = session.table(str(table.name))
    with _progress(runner, file):
        result = target.append(file.reader(), columns=[c.name for c in columns])
    return _tell(runner, result)


def _made_of(session: Session, path: str, table: str) -> Result:
    """A new transactional table of the rows of a file, which is CSV unless its name says what else
    it is. ProgrammingError.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise ProgrammingError(f'cannot read "{path}"', detail="there is no such file")
    quoted = text_literal(str(file.absolute()))
    null = text_literal(session.settings.text("acidsql.shell.null"))
    other = _other_format(path)
    source = quoted if other is None else f"read_{other}({quoted})"
    if other is None and not _OTHER_ENDINGS.search(file.name):
        source = f"read_csv({quoted}, null => {null})"
    return session.sql(f"CREATE TRANSACTIONAL TABLE {table} AS SELECT * FROM {source}")


def _tell(runner: Runner, result: Result) -> bool:
    for warning in result.warnings[:_MOST_WARNINGS]:
        runner.console.say(f"warning: {warning.message}")
    runner.count(result.stats)
    runner.note(f"{counted(result.stats.rows_inserted, 'row')} inserted")
    return True


def _progress(runner: Runner, file: CsvFile) -> AbstractContextManager[None]:
    """Shows on a terminal how much of the file is read."""
    notes = runner.console.notes
    if runner.silent or not notes.isatty():
        return nullcontext()
    size = Path(file.path).expanduser().stat().st_size

    def read() -> tuple[int, int]:
        return file.counted.bytes // 1024, size // 1024

    return progress(notes, read, noun="kB of the file")


def _find_table(session: Session, text: str) -> Table | None:
    database, _, name = text.rstrip(";").replace("`", "").lower().rpartition(".")
    return session.store.find_table(TableName(database or session.database, name))


def _columns(path: str, table: Table) -> tuple[Sequence[Column], int]:
    """The columns of the file, and how many lines come before its rows: one, if that has names of
    columns and nothing else. ProgrammingError.
    """
    columns = {c.name: c for c in (*table.columns, *table.partition_columns)}
    known = list(columns)
    if _other_format(path) is not None:
        raise _no_text(path, table)
    try:
        with Path(path).expanduser().open(encoding="utf-8-sig", newline="") as file:
            first = [cell.strip().lower() for cell in next(csv.reader(file), [])]
    except OSError as error:
        raise ProgrammingError(f'cannot read "{path}"', detail=error.strerror) from error
    except UnicodeDecodeError as error:
        raise _no_text(path, table) from error
    if first and set(first) <= set(known) and len(set(first)) == len(first):
        return [columns[name] for name in first], 1
    if len(first) != len(known):
        hint = f"A first line with names says which of {', '.join(known)} it has."
        cells = counted(len(first), "cell")
        raise ProgrammingError(
            f'the first line of "{path}" has {cells}, the table {counted(len(known), "column")}',
            hint=hint,
        )
    return list(columns.values()), 0


_MAGIC = {b"PAR1": "parquet", b"ORC": "orc"}


def _other_format(path: str) -> str | None:
    """The format that a file has by its first bytes, if Spark's SQL can read it by its path."""
    try:
        with Path(path).expanduser().open("rb") as file:
            beginning = file.read(max(map(len, _MAGIC)))
    except OSError:
        return None  # it is told where the file is read
    return next((name for magic, name in _MAGIC.items() if beginning.startswith(magic)), None)


def _no_text(path: str, table: Table) -> ProgrammingError:
    """The error for a file that is no CSV."""
    other = _other_format(path)
    if other is None:
        return ProgrammingError(
            f'"{path}" is not UTF-8', hint="Write it anew as UTF-8: .import reads no other text."
        )
    whole = Path(path).expanduser().absolute()
    return ProgrammingError(
        f'"{path}" is no CSV: it is {"Parquet" if other == "parquet" else "ORC"}',
        hint=f"INSERT INTO {table.name} SELECT .. FROM {other}.`{whole}`.",
    )


def quotes_taken(session: Session, text: str) -> str | None:
    """What is to be said of a LOAD DATA of quoted CSV into a text table, which makes the quotes
    part of the values; None for any other statement.
    """
    if not _LOAD.match(text):
        return None
    try:
        statement = parse(text)
        if not isinstance(statement, LoadData):
            return None
        name = statement.target.span.cut(text)
        table = _find_table(session, name)
        beginning = Path(statement.path).read_bytes()[:_BEGINNING].decode(errors="replace")
    except (Error, OSError):
        return None  # the statement tells by itself what is wrong
    if table is None or table.file_format is not FileFormat.TEXTFILE:
        return None
    if not _QUOTED_CELL.search(beginning):
        return None
    return (
        f'"{statement.path}" has quoted cells: LOAD DATA makes the quotes part of the values, as in'
        f' Hive; ".import {statement.path} {name}" reads them as CSV'
    )


# ---- where rows go
#
# Commands that say where rows go, and those that read and run what lies elsewhere.


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
