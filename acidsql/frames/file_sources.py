"""Files that a query names and pyarrow reads: which they are, what their columns are, and their
rows. Types are those that pyarrow's readers tell: from the first FIRST_BYTES of each file of text,
from what the others say of themselves.

A column whose type is another one in each of several files has the one that holds the values of
all; moments with a zone come as the clock of UTC, times of day and what else SQL has no type for as
text.
"""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import pyarrow as pa

from acidsql.catalog.path_relation import FileSource, FileStamp
from acidsql.errors import BindError, DataError
from acidsql.files.fileio import absolute, path_of, split_url
from acidsql.frames.frame_types import Batches, NoHiveTypeError, hive_type_of
from acidsql.lazy import dataclass

# ---- records of CSV files
#
# The records of CSV files, told apart as pyarrow's reader does it, with the lines that they begin
# at, which it does not tell. A file is read so where a record of it cannot be, and for its header.


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How the records of a file are written. ``quote``: "" for none; ``skip``: so many lines at its
    beginning are none.
    """

    header: bool
    delimiter: str
    quote: str
    null: str
    skip: int

    @property
    def nulls(self) -> list[str]:
        """The texts without quotes that stand for NULL."""
        return ["", self.null]


def dialect_of(path: str, options: Mapping[str, Any]) -> Dialect:
    """What the options of ``read_csv`` say of a file, and its name where they do not."""
    return Dialect(
        header=options.get("header", True),
        delimiter=options.get("delimiter") or ("\t" if ".tsv" in path.lower() else ","),
        quote=options.get("quote", '"'),
        null=options.get("null", ""),
        skip=options.get("skip", 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """``line``: that it begins at, counted from 1. ``text``: without the end of its last line."""

    line: int
    text: str


def records(path: str, dialect: Dialect) -> Iterator[Record]:
    """The records of a file, its header among them; blank lines are none."""
    with pa.input_stream(path, compression="detect") as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        parts: list[str] = []
        first, inside = 0, False
        for number, line in enumerate(text, 1):
            if number <= dialect.skip or (not inside and not line.rstrip("\r\n")):
                continue
            first = first if inside else number
            parts.append(line)
            inside = _ends_inside(line, inside, dialect)
            if not inside:
                yield _record(first, parts)
                parts = []
        if parts:
            yield _record(first, parts)


def _record(line: int, parts: Sequence[str]) -> Record:
    text = "".join(parts).rstrip("\r\n")
    return Record(line=line, text=text.encode(errors="surrogateescape").decode(errors="replace"))


def _ends_inside(line: str, inside: bool, dialect: Dialect) -> bool:
    """Whether a line ends between quotes; ``inside``: it begins there. A quote opens at the
    beginning of a field alone, and two of them between quotes are one.
    """
    quote = dialect.quote
    if not quote or quote not in line:
        return inside
    at = 0
    if not inside and line.startswith(quote):
        inside, at = True, 1
    while True:
        if inside:
            at = line.find(quote, at) + 1
            if not at:
                return True
            if line.startswith(quote, at):
                at += 1
            else:
                inside = False
        else:
            at = line.find(dialect.delimiter + quote, at) + 2
            if at < 2:
                return False
            inside = True


def names_of(path: str, dialect: Dialect) -> list[str]:
    """The names in the header of a file; none of an empty one."""
    import csv

    for record in records(path, dialect):
        reader = csv.reader(
            record.text.splitlines(keepends=True),
            delimiter=dialect.delimiter,
            quotechar=dialect.quote or None,
            quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        )
        return next(reader)
    return []


def find_records(path: str, dialect: Dialect, numbers: Sequence[int]) -> Iterator[Record]:
    """The records of these numbers, which rise, counted from 1, the header's."""
    wanted = iter(numbers)
    number = next(wanted, None)
    for count, record in enumerate(records(path, dialect), 1):
        if number is None:
            return
        if count == number:
            yield record
            number = next(wanted, None)


# ---- file sources


FIRST_BYTES = 16 << 20
_ARROW_MAGIC = b"ARROW1"
PATTERN = "*?["
"""What makes a path mean several files."""


class _Reader(Protocol):
    @property
    def schema(self) -> pa.Schema: ...
    def __iter__(self) -> Iterator[pa.RecordBatch]: ...


def stamps_of(source: FileSource) -> tuple[FileStamp, ...]:
    """The files of a source as they are now, sorted. BindError if there is none."""
    if split_url(source.path) is not None:
        raise BindError(
            "files on other file systems are not read by their path here",
            hint="Copy the file to a local path.",
        )
    path = absolute(path_of(source.path))
    paths = [path]
    if not os.path.exists(path) and any(mark in path for mark in PATTERN):
        paths = sorted(one for one in glob.glob(path) if os.path.isfile(one))
    if not paths:
        raise BindError(f'no file is named like "{source.path}"')
    return tuple(map(stamp_of, paths))


def stamp_of(path: str) -> FileStamp:
    """A file as it is now. BindError if it is none."""
    try:
        status = os.stat(path)
        if not os.path.isfile(path):
            raise BindError(
                f'"{path}" is no file', hint=f"Write '{path}/*.csv' for the files in a directory."
            )
    except OSError as error:
        raise BindError(
            f'the file "{path}" cannot be read', detail=error.strerror or str(error)
        ) from error
    return FileStamp(
        path=path,
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )


def batches_of(source: FileSource, stamps: Sequence[FileStamp]) -> Batches:
    """The columns of files; their rows are read when they are asked for. BindError, DataError."""
    schemas: list[pa.Schema] = []
    for stamp in stamps:
        with _placed_in_errors(source, stamp), _opened(source, stamp.path, None) as reader:
            schemas.append(reader.schema)
        if source.kind != "json" and sorted(schemas[-1].names) != sorted(schemas[0].names):
            raise BindError(
                f'the columns of "{stamp.path}" are not those of "{stamps[0].path}"',
                detail=f"{', '.join(schemas[-1].names)} beside {', '.join(schemas[0].names)}",
            )
    stored = _of_all(schemas, all_text=bool(dict(source.options).get("all_text")))
    schema = pa.schema([(field.name, _shown_type(field.type)) for field in stored])
    return Batches(schema=schema, rows=_rows(source, stamps, stored, schema))


def _of_all(schemas: Sequence[pa.Schema], *, all_text: bool) -> pa.Schema:
    """The types that hold the values of all files; text where none is told."""
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BindError("the files have columns of different types", detail=str(error)) from error
    return pa.schema(
        [(f.name, pa.string() if all_text or pa.types.is_null(f.type) else f.type) for f in schema]
    )


def _rows(
    source: FileSource, stamps: Sequence[FileStamp], stored: pa.Schema, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for stamp in stamps:
        if stamp_of(stamp.path) != stamp:
            raise changed_error(stamp.path)
        reading = _placed_in_errors(source, stamp, stored)
        with reading, _opened(source, stamp.path, stored) as reader:
            for batch in reader:
                columns = (batch.column(name) for name in schema.names)
                pairs = zip(columns, schema.types, strict=True)
                arrays = [array.cast(kind) for array, kind in pairs]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


@contextmanager
def named_in_errors(path: str) -> Iterator[None]:
    """Turns what pyarrow says of a file into a DataError that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f'the file "{path}" cannot be read', detail=str(error).split(". Detail:")[0]
        ) from error


@contextmanager
def _placed_in_errors(
    source: FileSource, stamp: FileStamp, schema: pa.Schema | None = None
) -> Iterator[None]:
    """Does what ``named_in_errors`` does; of CSV the error has the line, which pyarrow does not
    know.
    """
    with named_in_errors(stamp.path):
        try:
            yield
        except pa.ArrowInvalid:
            if source.kind == "csv":
                from acidsql.frames.copying.copied import check_lines

                check_lines(source, stamp, schema)
            raise


def changed_error(path: str) -> DataError:
    return DataError(
        f'the file "{path}" was changed while the statement began', hint="Run the statement again."
    )


def _shown_type(kind: pa.DataType) -> pa.DataType:
    """What becomes of a type that SQL has not."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp("us")
    try:
        hive_type_of(kind)
    except NoHiveTypeError:
        return pa.string()
    return kind


# ---- readers


@contextmanager
def _opened(source: FileSource, path: str, schema: pa.Schema | None) -> Iterator[_Reader]:
    """A file; its columns have these types where they are known."""
    with ExitStack() as stack:
        match source.kind:
            case "csv":
                stream = stack.enter_context(pa.input_stream(path, compression="detect"))
                yield _csv(stream, dialect_of(path, dict(source.options)), schema)
            case "json":
                stream = stack.enter_context(pa.input_stream(path, compression="detect"))
                yield _json(stream, schema)
            case _:
                yield stack.enter_context(opened_arrow(path))


@contextmanager
def opened_arrow(path: str) -> Iterator[_Reader]:
    """A file or a stream of Arrow's."""
    with open(path, "rb") as file:
        is_file = file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
    with pa.memory_map(path) as mapped:
        opened = pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        yield _ArrowReader(opened) if is_file else opened


class _ArrowReader:
    """The batches of a file of Arrow's, in their order."""

    def __init__(self, file: pa.ipc.RecordBatchFileReader) -> None:
        self._file = file
        self.schema = file.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for number in range(self._file.num_record_batches):
            yield self._file.get_batch(number)


def _csv(stream: pa.NativeFile, dialect: Dialect, schema: pa.Schema | None) -> _Reader:
    from pyarrow import csv

    reader: _Reader = csv.open_csv(
        stream,
        read_options=csv.ReadOptions(
            block_size=FIRST_BYTES,
            autogenerate_column_names=not dialect.header,
            skip_rows=dialect.skip,
        ),
        parse_options=csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=True,
        ),
        convert_options=csv.ConvertOptions(
            null_values=dialect.nulls,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            column_types=schema,
        ),
    )
    return reader


def _json(stream: pa.NativeFile, schema: pa.Schema | None) -> _Reader:
    from pyarrow import json

    unexpected = "infer" if schema is None else "error"
    parse = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
    read = json.ReadOptions(block_size=FIRST_BYTES)
    opened = getattr(json, "open_json", None)  # since version 20 of pyarrow
    if opened is None:
        return json.read_json(stream, read, parse).to_reader()  # type: ignore[no-any-return]
    return opened(stream, read, parse)  # type: ignore[no-any-return]
