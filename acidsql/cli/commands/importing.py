"""The rows of CSV files into tables, quotes understood; and which files LOAD DATA takes with their
quotes, as Hive does.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from acidsql.catalog.model import FileFormat, Table, TableName
from acidsql.cli.commands.command import needed, unquoted
from acidsql.cli.console import counted
from acidsql.errors import Error, ProgrammingError, Warning
from acidsql.expressions.spark_words import identifier
from acidsql.parser.parameters import literal
from acidsql.parser.parse import parse
from acidsql.parser.statements import LoadData
from acidsql.session import Session

if TYPE_CHECKING:
    import pyarrow as pa

    from acidsql.cli.runner import Runner

ROWS = 5000
"""Rows of one INSERT."""

_MOST_WARNINGS = 5
_BEGINNING = 1 << 16
_QUOTED_CELL = re.compile(r'(?:^|[,;\t])"(?:[^"]|"")*"(?:[,;\t\r\n]|\Z)', re.MULTILINE)
_ARGUMENT = re.compile(r"""('[^']*'|"[^"]*"|\S+)\s+(\S+)""")
_LOAD = re.compile(r"\s*load\b", re.IGNORECASE)


def import_file(runner: Runner, argument: str) -> bool:
    """Inserts the rows of a CSV file: in one statement, or in a transaction of several."""
    usage = ".import FILE TABLE"
    match = _ARGUMENT.fullmatch(needed(argument, usage))
    if match is None:
        raise ProgrammingError(f"usage: {usage}")
    session = runner.session
    path, table = unquoted(match[1]), _table(session, match[2])
    columns, skipped = _columns(path, table)
    null = session.settings.text("acidsql.shell.null")
    batches = _batches(path, columns, skipped, null)
    target = f"{identifier(table.name.database)}.{identifier(table.name.table)}"
    insert = f"INSERT INTO {target} ({', '.join(map(identifier, columns))})"
    rows, warnings = _inserted(session, insert, batches)
    for warning in warnings[:_MOST_WARNINGS]:
        runner.console.say(f"warning: {warning.message}")
    if len(warnings) > _MOST_WARNINGS:
        runner.console.say(f"warning: {len(warnings) - _MOST_WARNINGS:,} more values do not fit")
    runner.tally.changed |= bool(rows) and not session.in_transaction
    runner.tally.uncommitted |= bool(rows) and session.in_transaction
    runner.note(f"{counted(rows, 'row')} inserted")
    return True


def _table(session: Session, text: str) -> Table:
    database, _, name = text.rstrip(";").replace("`", "").lower().rpartition(".")
    table = session.store.find_table(TableName(database or session.database, name))
    if table is None:
        raise ProgrammingError(f'there is no table "{text}"')
    return table


def _columns(path: str, table: Table) -> tuple[Sequence[str], int]:
    """The columns of the file, and how many lines come before its rows: one, if that has names of
    columns and nothing else. ProgrammingError.
    """
    known = [c.name for c in (*table.columns, *table.partition_columns)]
    try:
        with Path(path).expanduser().open(encoding="utf-8-sig", newline="") as file:
            first = [cell.strip().lower() for cell in next(csv.reader(file), [])]
    except OSError as error:
        raise ProgrammingError(f'cannot read "{path}"', detail=error.strerror) from error
    except UnicodeDecodeError as error:
        raise ProgrammingError(f'"{path}" is not UTF-8') from error
    if first and set(first) <= set(known) and len(set(first)) == len(first):
        return first, 1
    if len(first) != len(known):
        hint = f"A first line with names says which of {', '.join(known)} it has."
        cells = counted(len(first), "cell")
        raise ProgrammingError(
            f'the first line of "{path}" has {cells}, the table {counted(len(known), "column")}',
            hint=hint,
        )
    return known, 0


def _batches(
    path: str, columns: Sequence[str], skipped: int, null: str
) -> Iterator[pa.RecordBatch]:
    """The rows as text. A cell that reads like NULL is NULL unless it is quoted."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    convert = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in columns},
        null_values=[null],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        with arrow_csv.open_csv(
            Path(path).expanduser(),
            arrow_csv.ReadOptions(column_names=list(columns), skip_rows=skipped),
            arrow_csv.ParseOptions(newlines_in_values=True),
            convert,
        ) as reader:
            yield from reader
    except pa.ArrowInvalid as error:
        if "Empty CSV file" not in str(error):
            raise ProgrammingError(f'"{path}" cannot be read as CSV', detail=str(error)) from error


def _inserted(
    session: Session, insert: str, batches: Iterator[pa.RecordBatch]
) -> tuple[int, list[Warning]]:
    """Inserts all rows or none; how many, and what did not fit its column."""
    parts = _parts(batches)
    begun = list(islice(parts, 2))
    is_own = len(begun) > 1 and session.autocommit and not session.in_transaction
    with session.transaction() if is_own else nullcontext():
        return _run(session, insert, chain(begun, parts))


def _run(session: Session, insert: str, parts: Iterable[str]) -> tuple[int, list[Warning]]:
    rows, warnings = 0, list[Warning]()
    for values in parts:
        result = session.sql(f"{insert} VALUES {values}")
        rows += result.stats.rows_inserted
        warnings += result.warnings
    return rows, warnings


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    """Rows as the values of an INSERT."""
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            columns = batch.slice(start, ROWS).columns
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            yield ", ".join(f"({', '.join(map(literal, row))})" for row in rows)


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
        table = _table(session, name)
        beginning = Path(statement.path).read_bytes()[:_BEGINNING].decode(errors="replace")
    except (Error, OSError):
        return None  # the statement tells by itself what is wrong
    if table.file_format is not FileFormat.TEXTFILE or not _QUOTED_CELL.search(beginning):
        return None
    return (
        f'"{statement.path}" has quoted cells: LOAD DATA makes the quotes part of the values, as in'
        f' Hive; ".import {statement.path} {name}" reads them as CSV'
    )
