"""Whether a file can be loaded: it has the table's format, holds no ACID events, and its columns
can be read as the table's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
)
from acidsql.errors import BindError, FormatError
from acidsql.files.fileio import FileIO
from acidsql.storage.file_layout import layout
from acidsql.storage.footers import is_event_file, read_footer
from acidsql.storage.load.sources import Source
from acidsql.storage.parquet_metadata import read_metadata
from acidsql.storage.stored import orc_type

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_OTHER_FORMATS = {
    b"ORC": "ORC",
    b"PAR1": "Parquet",
    b"SEQ": "a SequenceFile",
    b"RCF": "an RCFile",
    b"Obj\x01": "Avro",
}
"""How files begin that are no text, and what they are."""
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}

_CSV_HINT = (
    "The rows of CSV are inserted: .import FILE TABLE in the shell, or INSERT .. SELECT .. FROM"
    " 'file.csv'."
)

_WIDTHS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def rows_of(io: FileIO, table: Table, source: Source) -> int:
    """How many rows the file has, 0 where it does not tell. BindError if it cannot be loaded into
    the table.
    """
    if not source.size:
        return 0
    try:
        match table.file_format:
            case FileFormat.ORC:
                return _rows_of_orc(io, table, source)
            case FileFormat.PARQUET:
                metadata = read_metadata(io, source.path)
                _check_parquet(table, source, metadata)
                return int(metadata.num_rows)
            case _:
                _check_text(io, table, source)
                return 0
    except FormatError as error:
        raise _other_format(io, table, source) from error


def _other_format(io: FileIO, table: Table, source: Source) -> BindError:
    """The error that says what the file is, and how its rows come into the table."""
    with io.open_input(source.path) as file:
        beginning = bytes(file.read(max(map(len, _OTHER_FORMATS))))
    of_file, hint = _told_by(beginning, source, table)
    return BindError(
        "Unable to load data to destination table. Error: The file that you are trying to load does"
        " not match the file format of the destination table.",
        detail=f'the file "{source.path}" is {of_file}, table {table.name} is stored as'
        f" {table.file_format}",
        hint=hint,
    )


def _told_by(beginning: bytes, source: Source, table: Table) -> tuple[str, str | None]:
    """What a file is that begins so, and what helps."""
    for magic, name in _OTHER_FORMATS.items():
        if beginning.startswith(magic):
            if name not in ("ORC", "Parquet"):
                return name, None
            path = f"{name.lower()}.`{source.path}`"
            damaged = str(table.file_format).upper() == name.upper()
            said = f"{name}, but damaged or of another kind" if damaged else name
            return said, None if damaged else f"INSERT INTO {table.name} SELECT .. FROM {path}."
    packed = next((n for magic, n in _COMPRESSED.items() if beginning.startswith(magic)), None)
    said = f"packed by {packed}" if packed else "text"
    if source.name.lower().partition(".gz")[0].endswith((".json", ".jsonl")):
        return said, f"INSERT INTO {table.name} SELECT .. FROM json.`{source.path}`."
    return said, _CSV_HINT


def _rows_of_orc(io: FileIO, table: Table, source: Source) -> int:
    tail = read_footer(io, source.path)
    if is_event_file(tail):
        hint = "Load its rows with INSERT .. SELECT."
        raise BindError(
            f'"{source.path}" was created by Acid write - it cannot be loaded into anther Acid'
            " table",
            code=10413,
            hint=hint,
        )
    if tail.schema is None or tail.schema.kind is not OrcKind.STRUCT:
        raise _other_format(io, table, source)
    kinds = dict(zip(tail.schema.names, tail.schema.children, strict=True))
    for held in layout(table.columns, tail.schema, original=True).file_columns:
        if not held.same and not _orc_fits(orc_type(held.column.type), kinds[held.name]):
            raise _other_column(source, held.column, str(kinds[held.name]))
    return tail.row_count


def _orc_fits(wanted: OrcType, stored: OrcType) -> bool:
    """Whether a value of the one kind can be cast to the other: any primitive to any, nested ones
    part by part.
    """
    nested = (OrcKind.LIST, OrcKind.MAP, OrcKind.STRUCT)
    if wanted.kind not in nested and stored.kind not in nested:
        return True
    if wanted.kind is not stored.kind or len(wanted.children) != len(stored.children):
        return False
    return all(map(_orc_fits, wanted.children, stored.children))


def _check_text(io: FileIO, table: Table, source: Source) -> None:
    with io.open_input(source.path) as file:
        beginning = bytes(file.read(max(map(len, _OTHER_FORMATS))))
    if beginning.startswith(tuple(_OTHER_FORMATS)):
        raise _other_format(io, table, source)


def _check_parquet(table: Table, source: Source, metadata: pq.FileMetaData) -> None:
    stored = {field.name.lower(): field.type for field in metadata.schema.to_arrow_schema()}
    _check_fields(source, table.columns, stored)


def _check_fields(
    source: Source, columns: Sequence[Column], stored: dict[str, pa.DataType]
) -> None:
    for column in columns:
        if column.name in stored and not _parquet_fits(column.type, stored[column.name]):
            raise _other_column(source, column, str(stored[column.name]))


def _is_text(stored: pa.DataType) -> bool:
    return bool(pa.types.is_string(stored) or pa.types.is_binary(stored))


_PARQUET_TYPES: dict[str, Callable[[pa.DataType], bool]] = {
    "string": _is_text,
    "binary": pa.types.is_binary,
    "boolean": pa.types.is_boolean,
    "float": pa.types.is_float32,
    "double": pa.types.is_floating,
    "date": pa.types.is_date,
    "timestamp": pa.types.is_timestamp,
}


def _parquet_fits(wanted: HiveType, stored: pa.DataType) -> bool:
    """Whether Spark's reader takes the stored type for the wanted one: these pairs and no other."""
    match wanted:
        case PrimitiveType(name) if name in _WIDTHS:
            return bool(pa.types.is_signed_integer(stored)) and stored.bit_width <= _WIDTHS[name]
        case CharType() | VarcharType():
            return _is_text(stored)
        case PrimitiveType(name) if name in _PARQUET_TYPES:
            return bool(_PARQUET_TYPES[name](stored))
        case DecimalType(precision, scale):
            return (
                bool(pa.types.is_decimal(stored))
                and stored.scale == scale
                and stored.precision <= precision
            )
        case ArrayType(element):
            return bool(pa.types.is_list(stored)) and _parquet_fits(element, stored.value_type)
        case MapType(key, value):
            is_map = bool(pa.types.is_map(stored))
            return (
                is_map
                and _parquet_fits(key, stored.key_type)
                and _parquet_fits(value, stored.item_type)
            )
        case StructType():
            return bool(pa.types.is_struct(stored)) and _parquet_struct_fits(wanted, stored)
        case _:
            return False


def _parquet_struct_fits(wanted: StructType, stored: pa.DataType) -> bool:
    """A field that the file does not have fits: it is NULL."""
    inside = {field.name.lower(): field.type for field in stored}
    return all(
        field.name not in inside or _parquet_fits(field.type, inside[field.name])
        for field in wanted.fields
    )


def _other_column(source: Source, column: Column, stored: str) -> BindError:
    message = (
        f'column "{column.name}" of the table is {column.type}, that of the file to load is'
        f" {stored}"
    )
    return BindError(
        message,
        detail=f'the file is "{source.path}"',
        hint="Load it into a table of its columns, then INSERT .. SELECT.",
    )
