"""What statements need to know of a table they name: what can be done with it, and what its columns
take.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from acidsql.catalog.model import Column, FileFormat, Table, TableKind
from acidsql.catalog.text_format import text_format, text_problem
from acidsql.catalog.types import ArrayType, HiveType, MapType, StructType
from acidsql.errors import BindError, Span

_NAME = re.compile(r"[a-z0-9_]+")


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names most like it, best first."""
    return difflib.get_close_matches(name, list(known), n=1)


def check_name(name: str, span: Span) -> None:
    if not _NAME.fullmatch(name):
        raise BindError(
            f'"{name}" is not a valid name', hint="Use letters, digits and underscores.", span=span
        )


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the known one most like it."""
    near = close_names(name, known)
    return f'did you mean "{near[0]}"?' if near else None


def unreadable(table: Table) -> str | None:
    """What of the table the readers and writers cannot do yet; None if nothing."""
    if table.kind is TableKind.VIEW:
        return "a view"
    if table.file_format is FileFormat.OTHER:
        return "a table with classes of its own"
    if table.file_format not in (FileFormat.ORC, FileFormat.PARQUET, FileFormat.TEXTFILE):
        return f"a table stored as {table.file_format}"
    if table.skew is not None and table.skew.directories:
        return "a table stored as directories"
    if table.file_format is FileFormat.ORC and any("`" in column.name for column in table.columns):
        # Spark would find no such column in a file, and read NULLs
        return "an ORC table with a backquote in a column's name"
    return text_problem(table) if table.file_format is FileFormat.TEXTFILE else None


def unenforced(table: Table) -> str | None:
    """What the table promises of its rows that no writer sees to yet; None if nothing."""
    if table.bucketing is not None and table.bucketing.sorted_by:
        return "SORTED BY"
    if (
        table.file_format is FileFormat.TEXTFILE
        and text_problem(table) is None
        and text_format(table).header_lines
    ):
        return "skip.header.line.count"
    return None


def wrong_column_count(table: Table, wanted: int, given: int, span: Span) -> BindError:
    message = (
        "Cannot insert into target table because column number/types are different"
        f" '{table.name.table}': Table insclause-0 has {wanted} columns, but query has {given}"
        " columns."
    )
    return BindError(message, code=10044, span=span)


def check_storable(given: HiveType | None, column: Column, span: Span) -> None:
    """Hive casts any primitive to any other; a nested type takes only its like. ``given`` None: not
    known, Spark judges.
    """
    if (
        given is None
        or given == column.type
        or not {_shape(given), _shape(column.type)} - {"primitive"}
    ):
        return
    if _shape(given) != _shape(column.type):
        message = (
            "Cannot insert into target table because column number/types are different"
            f" '{column.name}': Cannot convert column from {given} to {column.type}."
        )
        raise BindError(message, code=10044, span=span)


def _shape(hive_type: HiveType) -> str:
    match hive_type:
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case StructType():
            return "struct"
        case _:
            return "primitive"
