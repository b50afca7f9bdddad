"""Expressions we add to the user's text for Spark: Hive's store casts and the three parts of a
row's identity.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.acid.row_id import ROW_ID_PARTS
from acidsql.catalog.model import Column
from acidsql.catalog.types import ArrayType, CharType, HiveType, MapType, StructType, VarcharType
from acidsql.expressions.query_text import Piece

SOURCE_ROW = "acidsql_source_row"
"""Column of a MERGE's pairs: the number of the source's row."""


def identifier(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def spark_type(hive_type: HiveType) -> str:
    """The Spark DDL type that holds it: char and varchar are strings there, cut to length by
    ``store_cast``.
    """
    match hive_type:
        case CharType() | VarcharType():
            return "string"
        case ArrayType(element):
            return f"array<{spark_type(element)}>"
        case MapType(key, value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case StructType(fields):
            return (
                "struct<"
                + ",".join(f"{identifier(f.name)}:{spark_type(f.type)}" for f in fields)
                + ">"
            )
        case _:
            return str(hive_type)


def store_cast(value: tuple[Piece, ...], hive_type: HiveType) -> tuple[Piece, ...]:
    """``value`` as INSERT and UPDATE store it: a cast, and the length of char and varchar applied
    wherever they are nested.
    """
    cast: tuple[Piece, ...] = ("CAST((", *value, f") AS {spark_type(hive_type)})")
    match hive_type:
        case VarcharType(length):
            return ("substring(", *cast, f", 1, {length})")
        case CharType(length):
            return ("rtrim(substring(", *cast, f", 1, {length}))")
        case ArrayType() | MapType() | StructType() if is_limited(hive_type):
            # A lambda gives the value a name: it stands in the text once however often its parts
            # are needed.
            return ("transform(array(", *cast, f"), v -> {_limited('v', hive_type, 0)})[0]")
        case _:
            return cast


def is_limited(hive_type: HiveType) -> bool:
    """Whether a value may have to be cut to be stored as this type: char and varchar, also nested
    ones.
    """
    match hive_type:
        case CharType() | VarcharType():
            return True
        case ArrayType(element):
            return is_limited(element)
        case MapType(key, value):
            return is_limited(key) or is_limited(value)
        case StructType(fields):
            return any(is_limited(f.type) for f in fields)
        case _:
            return False


def _limited(value: str, hive_type: HiveType, depth: int) -> str:
    """The Spark expression ``value`` with too long char and varchar values inside it cut."""
    inner = f"v{depth}"
    match hive_type:
        case VarcharType(length):
            return f"substring({value}, 1, {length})"
        case CharType(length):
            return f"rtrim(substring({value}, 1, {length}))"
        case ArrayType(element) if is_limited(element):
            return f"transform({value}, {inner} -> {_limited(inner, element, depth + 1)})"
        case MapType(key, item) if is_limited(hive_type):
            keys = f"transform(map_keys({value}), {inner} -> {_limited(inner, key, depth + 1)})"
            items = f"transform(map_values({value}), {inner} -> {_limited(inner, item, depth + 1)})"
            return f"map_from_arrays({keys}, {items})"
        case StructType(fields) if is_limited(hive_type):
            parts = (
                f"{text_literal(f.name)},"
                f" {_limited(f'{value}.{identifier(f.name)}', f.type, depth)}"
                for f in fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case _:
            return value


def text_literal(text: str) -> str:
    """A Spark string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def row_id_columns(alias: str) -> tuple[Piece, ...]:
    """The identity of a row as three plain columns."""
    parts = zip(ROW_ID_PARTS, ID_FIELDS, strict=True)
    return (", ".join(f"{identifier(alias)}.ROW__ID.{part} AS {name}" for part, name in parts),)


def spark_ddl(columns: Sequence[Column]) -> str:
    """``name type, ..`` for ``spark.read.schema``."""
    return ", ".join(f"{identifier(c.name)} {spark_type(c.type)}" for c in columns)
