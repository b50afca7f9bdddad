"""Files of rows in each format, as pyarrow writes them; JSON and Hive's text, which it does not
write, line by line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from acidsql.acid.orc_tail import edit_tail, load_tail
from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.model import Column
from acidsql.catalog.text import Printer, plain_text, strict_json
from acidsql.catalog.types import (
    ArrayType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
)
from acidsql.errors import DataError, UnsupportedStatementError
from acidsql.storage.stored import arrow_schema, needs_java_writer, orc_row_type, stored_array
from acidsql.storage.unload.destination import Destination, FileKind

# ---- ORC
#
# An ORC file of whole rows, without event columns, which says of itself what Arrow's writer does
# not: its calendar, and Hive's types.


_STRIPE_BYTES = 16 << 20


def check_writable(rows: pa.Table, *, whose: str, hint: str) -> None:
    """UnsupportedStatementError for times that Arrow's writer cannot write. ``whose``, ``hint``: as
    for OrcRows.
    """
    if needs_java_writer(rows):
        raise UnsupportedStatementError(
            f"{whose} holds a date of the days that the calendar skips (1582-10-05 to"
            " 1582-10-14), or a timestamp before 1970 with a fraction of a second",
            hint=hint,
        )


class OrcRows:
    """The file while it is written. ``whose``: what its rows are called where some cannot be
    written, and the ``hint`` for it.
    """

    def __init__(
        self, path: str, columns: Sequence[Column], compression: str, *, whose: str, hint: str
    ) -> None:
        self._path = path
        self._columns = columns
        self._schema = arrow_schema(columns)
        self._whose, self._hint = whose, hint
        self._sink = pa.OSFile(path, "wb")
        self._writer = orc.ORCWriter(self._sink, compression=compression, stripe_size=_STRIPE_BYTES)
        self._writer.write(self._schema.empty_table())

    def write(self, rows: pa.Table) -> None:
        """Adds rows, in Arrow's types of Hive's. DataError; UnsupportedStatementError for times
        that Arrow's writer cannot write.
        """
        check_writable(rows, whose=self._whose, hint=self._hint)
        pairs = zip(rows.columns, self._columns, strict=True)
        stored = [stored_array(array.combine_chunks(), c.type) for array, c in pairs]
        self._writer.write(pa.Table.from_arrays(stored, schema=self._schema))

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()
        self._sink.close()
        with open(self._path, "r+b") as file:
            size = file.seek(0, os.SEEK_END)

            def read_tail(count: int) -> tuple[bytes, int]:
                file.seek(max(0, size - count))
                return file.read(), size

            tail = load_tail(read_tail, self._path)
            edit = edit_tail(tail, {}, orc_row_type(self._columns), proleptic=True)
            file.seek(edit.offset)
            file.write(edit.data)
            file.truncate()


# ---- formats


# ---- json lines
#
# Rows as lines of JSON, a column at a time. What Arrow writes as ``strict_json`` does is left to
# it, which is much faster; all else is written value by value.


_ESCAPED = '["\\\\\\x00-\\x1f]'
_PLAIN = frozenset(("boolean", "tinyint", "smallint", "int", "bigint"))
_NO_EXPONENT = 6
"""The most digits behind the point of a decimal that Arrow never writes with an exponent."""

Texts = Callable[[pa.Array], pa.Array]


def json_lines(columns: Sequence[Column]) -> Callable[[pa.RecordBatch], bytes]:
    """What makes the lines of a batch of these columns."""
    name = strict_json(PrimitiveType("string"))
    heads = [f"{',' if n else '{'}{name(column.name)}:" for n, column in enumerate(columns)]
    texts = [_texts(column.type) for column in columns]

    def lines(batch: pa.RecordBatch) -> bytes:
        parts: list[object] = []
        for head, text, array in zip(heads, texts, batch.columns, strict=True):
            parts += [head, pc.fill_null(text(array), "null")]
        joined = pc.binary_join_element_wise(*parts, "}\n", "")
        return "".join(joined.to_pylist()).encode()

    return lines


def _texts(hive_type: HiveType) -> Texts:
    """What makes the texts of a column's values; NULL stays."""
    print_ = strict_json(hive_type)

    def by_value(array: pa.Array) -> pa.Array:
        return arrow_array([print_(value) for value in array.to_pylist()], pa.string())

    def plain(array: pa.Array) -> pa.Array:
        return array.cast(pa.string())

    def quoted(array: pa.Array) -> pa.Array:
        if pc.any(pc.match_substring_regex(array, _ESCAPED)).as_py():
            return by_value(array)
        return pc.binary_join_element_wise('"', array, '"', "")

    match hive_type:
        case PrimitiveType("string"):
            return quoted
        case PrimitiveType(name) if name in _PLAIN:
            return plain
        case DecimalType(_, scale) if scale <= _NO_EXPONENT:
            return plain
    return by_value


# ---- formats


ENDINGS = {
    FileKind.PARQUET: ".parquet",
    FileKind.CSV: ".csv",
    FileKind.JSON: ".json",
    FileKind.ARROW: ".arrow",
    FileKind.ORC: ".orc",
    FileKind.TEXT: "",
}
_TEXT = {"none": "", "gzip": ".gz", "zstd": ".zst"}
COMPRESSIONS = {
    FileKind.PARQUET: ("snappy", "zstd", "gzip", "lz4", "none"),
    FileKind.CSV: tuple(_TEXT),
    FileKind.JSON: tuple(_TEXT),
    FileKind.ARROW: ("none", "lz4", "zstd"),
    FileKind.ORC: ("zlib", "snappy", "zstd", "lz4", "none"),
    FileKind.TEXT: ("none",),
}
"""What each format may be compressed by, first what it is by itself."""


class RowsFile(Protocol):
    """A file while rows are written to it."""

    def write(self, rows: pa.Table) -> None: ...
    def close(self) -> None: ...


def problem_of(kind: FileKind, hive_type: HiveType) -> str | None:
    """Why a format cannot hold values of a type; None where it can."""
    if kind is FileKind.CSV and (
        isinstance(hive_type, ArrayType | MapType | StructType)
        or hive_type == PrimitiveType("binary")
    ):
        return "CSV has no way to write them"
    if kind is FileKind.TEXT and isinstance(hive_type, ArrayType | MapType | StructType):
        return "lines of text are written without values inside of others"
    return None


def compression_of(destination: Destination) -> str:
    """The word for how the files are compressed."""
    return destination.compression or COMPRESSIONS[destination.kind][0]


def ending_of(destination: Destination) -> str:
    """What the names of files end with, where the destination is a directory of them."""
    kind = destination.kind
    behind = _TEXT[compression_of(destination)] if kind in (FileKind.CSV, FileKind.JSON) else ""
    return ENDINGS[kind] + behind


def open_file(destination: Destination, path: str, columns: Sequence[Column]) -> RowsFile:
    """A new file for rows in Arrow's types of the columns' types."""
    compression, schema = compression_of(destination), arrow_schema(columns)
    match destination.kind:
        case FileKind.PARQUET:
            import pyarrow.parquet as pq

            return _Stream(pq.ParquetWriter(path, schema, compression=compression))
        case FileKind.ARROW:
            options = pa.ipc.IpcWriteOptions(
                compression=None if compression == "none" else compression
            )
            return _Stream(pa.ipc.new_file(path, schema, options=options))
        case FileKind.ORC:
            codec = "uncompressed" if compression == "none" else compression
            hint = "Write them as Parquet: FORMAT parquet."
            return OrcRows(path, columns, codec, whose="a row", hint=hint)
        case FileKind.CSV:
            from pyarrow import csv

            options = csv.WriteOptions(
                include_header=destination.header, delimiter=destination.delimiter
            )
            sink = _sink(path, compression)
            return _Stream(csv.CSVWriter(sink, schema, write_options=options), sink)
        case FileKind.JSON:
            return _Lines(_sink(path, compression), json_lines(columns))
        case FileKind.TEXT:
            return _Lines(_sink(path, compression), _text_lines(destination, columns))
        case _:
            assert_never(destination.kind)


def _sink(path: str, compression: str) -> pa.NativeFile:
    return pa.output_stream(path, compression=None if compression == "none" else compression)


class _Stream:
    """A writer of pyarrow's. ``sink``: the file below it, where it leaves it open."""

    def __init__(self, writer: object, sink: pa.NativeFile | None = None) -> None:
        self._writer: RowsFile = writer  # type: ignore[assignment]
        self._sink = sink

    def write(self, rows: pa.Table) -> None:
        self._writer.write(rows)

    def close(self) -> None:
        self._writer.close()
        if self._sink is not None:
            self._sink.close()


Lines = Callable[[pa.RecordBatch], bytes]


class _Lines:
    """A file of a line for each row."""

    def __init__(self, sink: pa.NativeFile, lines: Lines) -> None:
        self._sink = sink
        self._lines = lines

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._sink.write(self._lines(batch))

    def close(self) -> None:
        self._sink.close()


def _text_lines(destination: Destination, columns: Sequence[Column]) -> Lines:
    """Lines as Hive writes them, who escapes nothing. DataError for a text that would be taken for
    more than one value.
    """
    printers = [plain_text(column.type) for column in columns]
    ending = {destination.delimiter, "\n"}

    def cell(column: Column, printer: Printer, value: object) -> str:
        text = destination.null if value is None else printer(value)
        if not ending.isdisjoint(text):
            raise DataError(
                f'a value of column "{column.name}" holds the end of a line or of a column',
                hint="Choose another delimiter, or STORED AS another format.",
            )
        return text

    def lines(batch: pa.RecordBatch) -> bytes:
        values = (column.to_pylist() for column in batch.columns)
        return "".join(
            destination.delimiter.join(map(cell, columns, printers, row)) + "\n"
            for row in zip(*values, strict=True)
        ).encode()

    return lines
