"""DESCRIBE and SHOW CREATE TABLE as Hive 4 prints them (ShowCreateTableOperation, DescTableOperation): pure text from a Table."""

from __future__ import annotations

import time
from collections.abc import Iterator

from acidsql.catalog.model import Column, FileFormat, Table, TableKind
from acidsql.catalog.types import ArrayType, HiveType, MapType, StructType

Row = tuple[str | None, ...]

SERDES: dict[FileFormat, tuple[str, str, str]] = {
    FileFormat.ORC: (
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    ),
    FileFormat.PARQUET: (
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    ),
    FileFormat.TEXTFILE: (
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    ),
}
"""SerDe, InputFormat and OutputFormat classes by file format: the table's storage in Hive's own terms."""


def describe(table: Table) -> list[Row]:
    """Rows (col_name, data_type, comment)."""
    rows: list[Row] = [(c.name, str(c.type), c.comment or "") for c in (*table.columns, *table.partition_columns)]
    if table.partition_columns:
        rows += [("", None, None), ("# Partition Information", None, None), ("# col_name", "data_type", "comment")]
        rows += [(c.name, str(c.type), c.comment or "") for c in table.partition_columns]
    return rows


def describe_formatted(table: Table) -> list[Row]:
    """Rows (col_name, data_type, comment), cells padded to 20 as Hive does."""
    rows = list(_column_block(table.columns))
    if table.partition_columns:
        rows += [("# Partition Information", None, None), *_column_block(table.partition_columns)]
    return rows + list(_detail_block(table)) + list(_storage_block(table))


def show_create(table: Table, *, qualified: bool) -> list[str]:
    """The lines of SHOW CREATE TABLE; ``qualified``: the user named the database."""
    external = "EXTERNAL " if table.kind is TableKind.EXTERNAL else ""
    name = f"`{table.name.database}`.`{table.name.table}`" if qualified else f"`{table.name.table}`"
    lines = [f"CREATE {external}TABLE {name}(", *_column_lines(table.columns)]
    if table.comment:
        lines.append(f"COMMENT {literal(table.comment)}")
    if table.partition_columns:
        lines += ["PARTITIONED BY ( ", *_column_lines(table.partition_columns)]
    if table.bucketing:
        *first, last = table.bucketing.columns
        lines += ["CLUSTERED BY (", *(f"  `{c}`," for c in first), f"  `{last}`)", f"INTO {table.bucketing.count} BUCKETS"]
    serde, reader, writer = SERDES[table.file_format]
    lines += ["ROW FORMAT SERDE ", f"  '{serde}' ", "STORED AS INPUTFORMAT ", f"  '{reader}' ", "OUTPUTFORMAT ", f"  '{writer}'"]
    lines += ["LOCATION", f"  {literal(table.location)}", "TBLPROPERTIES ("]
    properties = [f"  {literal(k)}={literal(v)}" for k, v in sorted(_shown_properties(table).items())]
    return lines + [f"{p}, " for p in properties[:-1]] + [f"{properties[-1]})"]


def literal(text: str) -> str:
    """A Hive string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _column_lines(columns: tuple[Column, ...]) -> list[str]:
    entries = [f"  `{c.name}` {quoted_type(c.type)}" + (f" COMMENT {literal(c.comment)}" if c.comment else "") for c in columns]
    return [f"{e}, " for e in entries[:-1]] + [f"{entries[-1]})"]


def quoted_type(hive_type: HiveType) -> str:
    """A type with back-quoted field names, as SHOW CREATE TABLE prints it."""
    match hive_type:
        case ArrayType(element):
            return f"array<{quoted_type(element)}>"
        case MapType(key, value):
            return f"map<{quoted_type(key)},{quoted_type(value)}>"
        case StructType(fields):
            return "struct<" + ",".join(f"`{f.name}`:{quoted_type(f.type)}" for f in fields) + ">"
        case _:
            return str(hive_type)


def _shown_properties(table: Table) -> dict[str, str]:
    return {"transient_lastDdlTime": str(table.created_at)} | dict(table.properties)


def _pad(text: str) -> str:
    return text.ljust(20)


def _row(name: str, value: str = "", comment: str = "") -> Row:
    return (_pad(name), _pad(value), _pad(comment))


def _fact(name: str, value: str) -> Row:
    return (_pad(name), _pad(value), None)


def _column_block(columns: tuple[Column, ...]) -> Iterator[Row]:
    yield _row("# col_name", "data_type", "comment")
    for column in columns:
        yield _row(column.name, str(column.type), column.comment or "")
    yield ("", None, None)


def _detail_block(table: Table) -> Iterator[Row]:
    yield ("# Detailed Table Information", None, None)
    yield _fact("Database:", table.name.database)
    yield _fact("OwnerType:", "USER")
    yield _fact("Owner:", table.owner)
    yield _fact("CreateTime:", time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(table.created_at)))
    yield _fact("LastAccessTime:", "UNKNOWN")
    yield _fact("Retention:", "0")
    yield _fact("Location:", table.location)
    yield _fact("Table Type:", table.kind.value)
    if table.comment:
        yield _fact("Comment:", table.comment)
    yield ("Table Parameters:", None, None)
    for key, value in sorted(_shown_properties(table).items()):
        yield ("", _pad(key), _pad(value))
    yield ("", None, None)


def _storage_block(table: Table) -> Iterator[Row]:
    serde, reader, writer = SERDES[table.file_format]
    buckets = table.bucketing
    yield ("# Storage Information", None, None)
    yield _fact("SerDe Library:", serde)
    yield _fact("InputFormat:", reader)
    yield _fact("OutputFormat:", writer)
    yield _fact("Compressed:", "No")
    yield _fact("Num Buckets:", str(buckets.count if buckets else -1))
    yield _fact("Bucket Columns:", "[" + ", ".join(buckets.columns if buckets else ()) + "]")
    yield _fact("Sort Columns:", "[]")
