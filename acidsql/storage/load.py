"""LOAD DATA: the files of a directory are looked at, held against the table, and become its own."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.acid.ids import MAX_BUCKET_ID, NO_STATEMENT, BucketId, WriteId, is_hidden
from acidsql.acid.listed import DataFile
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
from acidsql.errors import BindError, ExecutionError, FormatError, Span
from acidsql.files.fileio import FileIO, check_name, path_of, split_url
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.storage.file_layout import layout
from acidsql.storage.footers import FoundFile, is_event_file, read_footer
from acidsql.storage.parquet_metadata import read_metadata
from acidsql.storage.stored import orc_type
from acidsql.storage.write.target import StagedFile, WriteTarget, Written, staging, take_in

if TYPE_CHECKING:
    import pyarrow.parquet as pq


# ---- sources
#
# Which files LOAD DATA means by a path: a file, a directory or a pattern. Hive:
# LoadSemanticAnalyzer.matchFilesOrDir, Hadoop's globs.
#
#     *  any characters    ?  one    [a-z] [^a-z]  one of these, or not    {x,y}  either    \*  the
#        character itself
#
# Names that begin with ``_`` or ``.`` are passed over.


_STORE = "_acidsql"
"""Directory of an embedded metastore: to load its files would take them away from it."""
_WILD = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to load; ``size`` in bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def find_sources(io: FileIO, path: str) -> tuple[Source, ...]:
    """The files by name; those of the directory, if the path means one. BindError in Hive's words
    if there is none, or a directory among them.

    OSError for a directory that cannot be read, and for a name that is not UTF-8.
    """
    folder = _Folder(io)
    whole = path_of(path)
    if split_url(path) is None and not whole.startswith("/"):
        whole = f"{os.getcwd()}/{whole}"
    entries = sorted({entry for pattern in _choices(whole) for entry in _matching(folder, pattern)})
    if len(entries) == 1 and folder.is_directory(entries[0]):
        entries = [f"{entries[0]}/{name}" for name in folder.names(entries[0])]
    for entry in entries:
        if _STORE in os.path.realpath(entry).split("/"):
            raise _invalid(path, f"source is a file of a metastore: {entry}")
        check_name(entry)
        if folder.is_directory(entry):
            raise _invalid(path, f"source contains directory: {entry}")
    if not entries:
        raise _invalid(path, f"No files matching path {whole}")
    return tuple(Source(path=entry, size=folder.size(entry)) for entry in entries)


def _invalid(path: str, reason: str) -> BindError:
    return BindError(f"Invalid path ''{path}'': {reason}")


class _Folder:
    """Looks into directories, each once, without their hidden names."""

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._seen: dict[str, dict[str, int | None]] = {}

    def names(self, directory: str) -> list[str]:
        return sorted(self._entries(directory))

    def is_directory(self, path: str) -> bool:
        if split_url(path) is None:
            return os.path.isdir(path)
        return bool(self._entries(path))

    def exists(self, path: str) -> bool:
        return self._io.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size if split_url(path) is None else self._io.read_tail(path, 0)[1]

    def _entries(self, directory: str) -> dict[str, int | None]:
        if directory not in self._seen:
            self._seen[directory] = dict(self._listed(directory))
        return self._seen[directory]

    def _listed(self, directory: str) -> Iterator[tuple[str, int | None]]:
        if split_url(directory) is None:  # not all that is below, which may be much
            yield from ((name, None) for name in os.listdir(directory) if not is_hidden(name))
            return
        listing = self._io.listing(directory)
        yield from ((path, None) for path in listing.directories if "/" not in path)
        yield from ((file.path, file.size) for file in listing.files if "/" not in file.path)


def _matching(folder: _Folder, pattern: str) -> list[str]:
    """The paths that match, parts of the pattern one after the other."""
    url = split_url(pattern)
    root, rest = ("", pattern) if url is None else (url.root, url.path)
    paths = [root]
    for part in [part for part in rest.split("/") if part]:
        if _WILD.search(part) is None:
            paths = [path for above in paths if folder.exists(path := f"{above}/{part}")]
            continue
        wanted = re.compile(_regex(part), re.DOTALL)
        inside = [above for above in paths if folder.is_directory(above or "/")]
        paths = [
            f"{above}/{name}"
            for above in inside
            for name in folder.names(above or "/")
            if wanted.fullmatch(name)
        ]
    return [path for path in paths if path != root and not is_hidden(path.rpartition("/")[2])]


def _choices(pattern: str) -> Iterator[str]:
    """The pattern with each choice in its outermost braces made."""
    depth, start, commas = 0, -1, [0]
    at = 0
    while at < len(pattern):
        mark = pattern[at]
        if mark == "\\":
            at += 1
        elif mark == "{":
            depth += 1
            if depth == 1:
                start, commas = at, [at]
        elif mark == "," and depth == 1:
            commas.append(at)
        elif mark == "}" and depth:
            depth -= 1
            if not depth:
                for begin, end in zip(commas, [*commas[1:], at], strict=True):
                    yield from _choices(
                        pattern[:start] + pattern[begin + 1 : end] + pattern[at + 1 :]
                    )
                return
        at += 1
    yield pattern


def _regex(part: str) -> str:
    regex, at = "", 0
    while at < len(part):
        mark = part[at]
        end = part.find("]", at + 2) if mark == "[" else -1
        if mark == "\\" and at + 1 < len(part):
            at += 1
            regex += re.escape(part[at])
        elif end > 0:
            inside = part[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            regex += (
                f"[{'^' if inside[0] in '^!' else ''}{inside[1:] if inside[0] in '^!' else inside}]"
            )
            at = end
        else:
            regex += {"*": ".*", "?": "."}.get(mark) or re.escape(mark)
        at += 1
    return regex


# ---- checks
#
# Whether a file can be loaded: it has the table's format, holds no ACID events, and its columns can
# be read as the table's.


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


# ---- loading
#
# LOAD DATA: files become files of a table as they are, beside what is there or instead of it. Hive:
# LoadTask, Hive.copyFiles.
#
#     full ACID          delta_w_w_s/000000_0, 000001_0 ..   original files, whose rows have the ids
#                                                            of their positions
#     insert-only        delta_w_w_s/name                    names stay
#     not transactional  name, name_copy_1 ..
#
# Every file is in the staging directory before the first gets a name readers look at. What is to be
# moved is deleted at its old path by the caller, when the rows are there for good: whatever fails
# before, no file is lost.


def sources_of(io: FileIO, table: Table, path: str, span: Span) -> tuple[Source, ...]:
    """The files to load, each looked into. BindError at the statement's span for one that cannot
    be, or if there is none.
    """
    try:
        sources = find_sources(io, path)
        for source in sources:
            rows_of(io, table, source)
    except BindError as error:
        error.span = span
        raise
    return sources


def write_load(
    io: FileIO, target: WriteTarget, sources: Sequence[Source], span: Span, *, moving: bool
) -> Written:
    """Makes the sources files of a table. ``target``: of the table, or of the partition the
    statement names. ``moving``: the sources will not stay where they are.
    """
    if target.table.is_full_acid and len(sources) > MAX_BUCKET_ID + 1:
        raise BindError(
            f"one LOAD DATA takes at most {MAX_BUCKET_ID + 1} files, here are {len(sources)}",
            span=span,
        )
    of_partition = replace(target, partition=target.sure[0]) if target.sure else target
    with staging(io, target) as directory:
        numbered = list(
            enumerate(source for source in sources if source.size or not target.table.is_full_acid)
        )
        files = in_parallel(
            lambda pair: _stage(io, of_partition, directory, *pair, moving=moving), numbered
        )
        directories = take_in(target, files)
    return Written(
        directories=directories,
        partitions=target.sure,
        inserted=sum(file.rows for file in files),
    )


def delete_moved(io: FileIO, paths: Iterable[str]) -> None:
    """Deletes files whose rows are in a table for good. ExecutionError for one that stays."""
    for path in paths:
        try:
            io.delete_file(path)
        except OSError as error:
            message = f'the rows of "{path}" are loaded, but the file could not be deleted'
            raise ExecutionError(
                message, detail=str(error), hint="Delete it before it is loaded again."
            ) from error


def found_files(sources: Sequence[Source]) -> tuple[FoundFile, ...]:
    """The files as original ones for a scan, which is to look into them anew."""
    return tuple(
        FoundFile(path=source.path, file=_data_file(source)) for source in sources if source.size
    )


def _data_file(source: Source) -> DataFile:
    return DataFile(
        path=source.path,
        size=source.size,
        mtime_ns=time.time_ns(),
        min_write_id=WriteId(0),
        max_write_id=WriteId(0),
        statement_id=NO_STATEMENT,
        bucket=None,
        original=True,
        needs_row_filter=False,
    )


def _stage(
    io: FileIO, target: WriteTarget, directory: str, number: int, source: Source, *, moving: bool
) -> StagedFile:
    staged = f"{directory}/{uuid.uuid4().hex}"
    io.copy_file(source.path, staged, as_link=moving)
    full_acid = target.table.is_full_acid
    return StagedFile(
        path=staged,
        directory=target.insert_directory if full_acid else target.plain_directory,
        bucket=BucketId(number if full_acid else 0),
        rows=rows_of(io, target.table, source),
        size=source.size,
        partition=target.partition,
        original=True,
        name=None if full_acid else source.name,
        counted=target.table.file_format is not FileFormat.TEXTFILE,
    )
