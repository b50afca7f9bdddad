"""The columns of a file (``storage.file_layout``) in Spark's words: what is read of it, and what
becomes of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.expressions.spark_words import identifier, spark_type, store_cast
from acidsql.storage.file_layout import FileColumn, Layout

_SPARK = {
    OrcKind.BYTE: "tinyint",
    OrcKind.SHORT: "smallint",
    OrcKind.LONG: "bigint",
    OrcKind.CHAR: "string",
    OrcKind.VARCHAR: "string",
}


def layout_ddl(layout: Layout) -> str:
    """``name type, ..`` of what is read."""
    unread = (f"{identifier(name)} {stored_type(kind)}" for name, kind in layout.unread)
    return ", ".join(
        (*(f"{identifier(c.name)} {_read_type(c)}" for c in layout.file_columns), *unread)
    )


def layout_struct(layout: Layout) -> str:
    """What is read, as the type of one struct."""
    return (
        "struct<"
        + ",".join(f"{identifier(c.name)}:{_read_type(c)}" for c in layout.file_columns)
        + ">"
    )


def layout_values(layout: Layout, read: Callable[[str], str]) -> list[str]:
    """The table's columns in its order; ``read``: what was read of a name in the file, as SQL."""
    read_values = {
        c.column.name: f"{_value(c, read(c.name))} AS {identifier(c.column.name)}"
        for c in layout.file_columns
    }
    return [
        read_values.get(c.name) or f"CAST(NULL AS {spark_type(c.type)}) AS {identifier(c.name)}"
        for c in layout.columns
    ]


def _value(column: FileColumn, stored: str) -> str:
    return stored if column.same else "".join(map(str, store_cast((stored,), column.column.type)))


def _read_type(column: FileColumn) -> str:
    return spark_type(column.column.type) if column.same else stored_type(column.kind)


def stored_type(kind: OrcType) -> str:
    """The Spark DDL type that reads it."""
    match kind.kind:
        case OrcKind.LIST | OrcKind.MAP:
            word = "array" if kind.kind is OrcKind.LIST else "map"
            return f"{word}<{','.join(map(stored_type, kind.children))}>"
        case OrcKind.STRUCT:
            return "struct<" + ",".join(_fields(kind.names, kind.children)) + ">"
        case OrcKind.DECIMAL:
            return f"decimal({kind.precision},{kind.scale})"
        case _:
            return _SPARK.get(kind.kind, kind.kind.name.lower())


def _fields(names: Sequence[str], children: Sequence[OrcType]) -> list[str]:
    return [f"{identifier(n)}:{stored_type(c)}" for n, c in zip(names, children, strict=True)]
