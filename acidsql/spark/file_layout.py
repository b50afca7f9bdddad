"""How the columns of a table are found in files that were written under older columns. ORC: SchemaEvolution.

In an ACID file a column is found by its position, as in Hive 4 (``orc.force.positional.evolution``): columns are added at the end,
renamed and widened, never moved. A file of plain rows may come from anywhere: where it has all the names, they count, unless they are
numbers (``_col0``). A file's own type
is read and then cast, so that what Hive's conversions do is done by one kind of cast for all types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.catalog.model import Column
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import UnsupportedStatementError
from acidsql.planner.lowering import identifier, spark_type, store_cast
from acidsql.spark.schema import orc_type

_SPARK = {
    OrcKind.BYTE: "tinyint",
    OrcKind.SHORT: "smallint",
    OrcKind.LONG: "bigint",
    OrcKind.CHAR: "string",
    OrcKind.VARCHAR: "string",
}


_NUMBERED = re.compile(r"_col[0-9]+")
"""What files of old Hive call their columns: there Hive goes by position (SchemaEvolution.hasColumnNames)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """A column of the table in a file. ``name``: its name there.  ``stored``: its Spark type there.  ``same``: it is read as it is."""

    column: Column
    name: str
    stored: str
    same: bool

    def value(self, stored: str) -> str:
        """The column's value as SQL; ``stored``: what was read, as SQL."""
        return stored if self.same else "".join(map(str, store_cast((stored,), self.column.type)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """``found``: the table's columns a file has; the others are NULL. ``unread``: further columns that Spark must be told of, as DDL."""

    columns: tuple[Column, ...]
    found: tuple[FileColumn, ...]
    unread: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        """``name type, ..`` of what is read."""
        return ", ".join((*(f"{identifier(c.name)} {c.stored}" for c in self.found), *self.unread))

    @property
    def struct(self) -> str:
        """The same as a struct."""
        return "struct<" + ",".join(f"{identifier(c.name)}:{c.stored}" for c in self.found) + ">"

    @property
    def exact(self) -> bool:
        """Whether the file has the table's columns, by name and type."""
        return len(self.found) == len(self.columns) and all(c.same and c.name == c.column.name for c in self.found)

    def values(self, read: Callable[[str], str]) -> list[str]:
        """The table's columns in its order; ``read``: what was read of a name in the file, as SQL."""
        there = {c.column.name: f"{c.value(read(c.name))} AS {identifier(c.column.name)}" for c in self.found}
        return [there.get(c.name) or f"CAST(NULL AS {spark_type(c.type)}) AS {identifier(c.name)}" for c in self.columns]


@lru_cache(maxsize=256)
def layout(columns: tuple[Column, ...], stored: OrcType, *, raw: bool) -> Layout:
    """UnsupportedStatementError for a column of a type that Hive tables cannot have here."""
    all_stored = list(zip(stored.names, stored.children, strict=True))
    fields = {name.lower(): (name, kind) for name, kind in all_stored}
    in_place, further = all_stored[: len(columns)], all_stored[len(columns) :]
    of_columns = [fields[c.name] for c in columns] if raw and all(c.name in fields for c in columns) else in_place
    unread: tuple[str, ...] = ()
    if raw and all(name.startswith("_col") for name in stored.names):  # Spark goes by position, and wants to know of all columns
        if of_columns != in_place and not all(map(_NUMBERED.fullmatch, stored.names)):
            raise UnsupportedStatementError("a data file has its columns in another order, and all their names begin with _col")
        of_columns, unread = in_place, tuple(f"{identifier(name)} {stored_type(kind)}" for name, kind in further)
    pairs = ((column, name, kind) for column, (name, kind) in zip(columns, of_columns, strict=False))
    return Layout(columns=columns, found=tuple(_found(column, name, kind) for column, name, kind in pairs), unread=unread)


def _found(column: Column, name: str, kind: OrcType) -> FileColumn:
    if kind == orc_type(column.type) or (column.type == PrimitiveType("string") and kind.kind in (OrcKind.CHAR, OrcKind.VARCHAR)):
        return FileColumn(column=column, name=name, stored=spark_type(column.type), same=True)
    return FileColumn(column=column, name=name, stored=stored_type(kind), same=False)


def stored_type(kind: OrcType) -> str:
    """The Spark DDL type that reads it."""
    match kind.kind:
        case OrcKind.LIST | OrcKind.MAP:
            return f"{'array' if kind.kind is OrcKind.LIST else 'map'}<{','.join(map(stored_type, kind.children))}>"
        case OrcKind.STRUCT:
            return "struct<" + ",".join(_fields(kind.names, kind.children)) + ">"
        case OrcKind.DECIMAL:
            return f"decimal({kind.precision},{kind.scale})"
        case OrcKind.UNION | OrcKind.TIMESTAMP_INSTANT:
            raise UnsupportedStatementError(f"a data file has a column of type {kind}", hint="Hive 3.1 has no ACID table with one.")
        case _:
            return _SPARK.get(kind.kind, kind.kind.name.lower())


def _fields(names: Sequence[str], children: Sequence[OrcType]) -> list[str]:
    return [f"{identifier(n)}:{stored_type(c)}" for n, c in zip(names, children, strict=True)]
