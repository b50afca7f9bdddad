"""How the columns of a table are found in files that were written under older columns. ORC:
SchemaEvolution.

In an ACID file a column is found by its position, as in Hive 4
(``orc.force.positional.evolution``): columns are added at the end, renamed and widened, never
moved. An original file may come from anywhere: where it has all the names, they count, unless
they are numbers (``_col0``). A file's own type is read and then cast, so that what Hive's
conversions do is done by one kind of cast for all types.
"""

from __future__ import annotations

import re
from functools import lru_cache

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.catalog.model import Column
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import UnsupportedStatementError
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.stored import orc_type

_NUMBERED = re.compile(r"_col[0-9]+")
"""What files of old Hive call their columns: there Hive goes by position
(SchemaEvolution.hasColumnNames).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """A column of the table in a file. ``name``, ``kind``: what it is called and of what type
    there. ``same``: it is read as it is.
    """

    column: Column
    name: str
    kind: OrcType
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the columns of a table lie in a file. ``file_columns``: those it has; the others are
    NULL. ``unread``: further columns that a reader must be told of.
    """

    columns: tuple[Column, ...]
    file_columns: tuple[FileColumn, ...]
    unread: tuple[tuple[str, OrcType], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the file has the table's columns, by name and type."""
        return len(self.file_columns) == len(self.columns) and all(
            c.same and c.name == c.column.name for c in self.file_columns
        )


@lru_cache(maxsize=256)
def layout(columns: tuple[Column, ...], stored: OrcType, *, original: bool) -> Layout:
    """The layout of a file whose data columns are ``stored``. ``original``: it is an original file.
    UnsupportedStatementError for a column of a type that Hive tables cannot have here."""
    all_stored = list(zip(stored.names, stored.children, strict=True))
    fields = {name.lower(): (name, kind) for name, kind in all_stored}
    in_place, further = all_stored[: len(columns)], all_stored[len(columns) :]
    of_columns = (
        [fields[c.name] for c in columns]
        if original and all(c.name in fields for c in columns)
        else in_place
    )
    unread: tuple[tuple[str, OrcType], ...] = ()
    # Spark goes by position, and wants to know of all columns
    if original and all(name.startswith("_col") for name in stored.names):
        if of_columns != in_place and not all(map(_NUMBERED.fullmatch, stored.names)):
            raise UnsupportedStatementError(
                "a data file has its columns in another order, and all their names begin with _col"
            )
        of_columns, unread = in_place, tuple(further)
    pairs = (
        (column, name, kind) for column, (name, kind) in zip(columns, of_columns, strict=False)
    )
    return Layout(
        columns=columns,
        file_columns=tuple(_file_column(column, name, kind) for column, name, kind in pairs),
        unread=unread,
    )


def _file_column(column: Column, name: str, kind: OrcType) -> FileColumn:
    if kind == orc_type(column.type) or (
        column.type == PrimitiveType("string") and kind.kind in (OrcKind.CHAR, OrcKind.VARCHAR)
    ):
        return FileColumn(column=column, name=name, kind=kind, same=True)
    _check_kind(kind)
    return FileColumn(column=column, name=name, kind=kind, same=False)


def _check_kind(kind: OrcType) -> None:
    if kind.kind in (OrcKind.UNION, OrcKind.TIMESTAMP_INSTANT):
        raise UnsupportedStatementError(
            f"a data file has a column of type {kind}", hint="Hive 3.1 has no ACID table with one."
        )
    for child in kind.children:
        _check_kind(child)
