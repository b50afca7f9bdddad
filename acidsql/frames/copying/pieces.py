"""The rows of files, a piece at a time, with the places at which they stand."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql import interrupts
from acidsql.catalog.model import Column
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.catalog.types import CharType, DecimalType, PrimitiveType, VarcharType
from acidsql.errors import UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.frames.file_sources import Dialect, dialect_of, find_records, names_of, opened_arrow
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    Texts = Callable[[Sequence[int]], Iterator[tuple[int, str]]]

_BLOCK_BYTES = 16 << 20
_BATCH_ROWS = 65_536
_LINES = 1 << 14
_TEXTS = (PrimitiveType("string"), PrimitiveType("date"), PrimitiveType("timestamp"))
"""What JSON is read as text for: Arrow would take some texts for moments of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some rows of a file: ``arrays``: a column for each that is wanted, None of one that the file
    has not. ``numbers``: of the rows in the file, which ``Source.lines`` takes. ``broken``: rows
    that could not be read at all, by their numbers, and why; they are none of the others.
    """

    arrays: Sequence[pa.Array | None]
    numbers: Sequence[int]
    broken: Mapping[int, str]


class Source(ABC):
    """A file of one format. ``word``: what its places are called."""

    word = "row"

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """All rows of the file."""

    @abstractmethod
    def lines(self, piece: Piece, rows: Mapping[int, int | None]) -> Iterator[tuple[int, str]]:
        """The line, or what counts as one, and the text of each of some rows. ``rows``: by their
        numbers, which rise, their indices in the piece; None of one that is broken.
        """


def source_of(files: CopiedFiles, stamp: FileStamp) -> Source:
    """A file that is read; what it raises is Arrow's, OSError, and errors of ours."""
    match files.source.kind:
        case "csv":
            dialect = dialect_of(stamp.path, dict(files.source.options))
            return CsvFile(stamp.path, dialect, files)
        case "json":
            return JsonFile(stamp.path, files)
        case kind:
            return BinaryFile(kind, stamp, files)


def file_columns(source: FileSource, stamp: FileStamp) -> list[str] | None:
    """The names of a file's columns in their order; None where it does not tell them."""
    match source.kind:
        case "csv":
            dialect = dialect_of(stamp.path, dict(source.options))
            return names_of(stamp.path, dialect) if dialect.header else None
        case "json":
            return None
        case "arrow":
            with opened_arrow(stamp.path) as reader:
                return list(reader.schema.names)
        case kind:
            return [column.name for column in _by_path(kind, stamp).columns()]


def _by_path(kind: str, stamp: FileStamp) -> Any:
    from acidsql.storage.by_path.relations import open_file

    try:
        return open_file(kind, stamp)
    except NotHere as reason:
        raise _only_spark(stamp, reason) from None


def _only_spark(stamp: FileStamp, reason: NotHere) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f'the file "{stamp.path}" is read by Spark alone: {reason.reason}',
        hint="Write INSERT INTO t SELECT * FROM 'file'.",
    )


# ---- CSV


class CsvFile(Source):
    """Cells come as bytes: what they say is found out column by column."""

    word = "line"

    def __init__(self, path: str, dialect: Dialect, files: CopiedFiles) -> None:
        self._path = path
        self._dialect = dialect
        self._width = len(files.columns)
        self._order = list(range(self._width))
        if files.by_name and (names := [name.lower() for name in names_of(path, dialect)]):
            self._width = len(names)
            self._order = [names.index(c.name) for c in files.columns]

    def pieces(self) -> Iterator[Piece]:
        from pyarrow import csv

        narrow: dict[int, str] = {}
        skip = self._dialect.skip

        def note(row: Any) -> str:
            has, wants = row.actual_columns, row.expected_columns
            values = "1 value" if has == 1 else f"{has} values"
            narrow[row.number - skip] = f"{values} for {wants} column{'s' * (wants != 1)}"
            return "skip"

        names = [f"c{number}" for number in range(self._width)]
        with pa.input_stream(self._path, compression="detect") as stream:
            if not stream.read(1):
                return
        with pa.input_stream(self._path, compression="detect") as stream:
            reader = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(
                    block_size=_BLOCK_BYTES,
                    column_names=names,
                    skip_rows=skip,
                    skip_rows_after_names=int(self._dialect.header),
                    use_threads=False,  # else rows have no numbers
                ),
                parse_options=csv.ParseOptions(
                    delimiter=self._dialect.delimiter,
                    quote_char=self._dialect.quote or False,
                    newlines_in_values=True,
                    invalid_row_handler=note,
                ),
                convert_options=csv.ConvertOptions(
                    null_values=self._dialect.nulls,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    column_types=dict.fromkeys(names, pa.binary()),
                ),
            )
            next_number = 1 + int(self._dialect.header)
            known: set[int] = set()
            for batch in reader:
                known |= narrow.keys()
                numbers: Sequence[int] = range(next_number, next_number + batch.num_rows)
                if known:  # those of narrow rows are none of the batch's
                    whole = (number for number in count(next_number) if number not in known)
                    numbers = list(islice(whole, batch.num_rows))
                next_number = numbers[-1] + 1 if numbers else next_number
                arrays = [batch.column(at) for at in self._order]
                yield Piece(arrays=arrays, numbers=numbers, broken=dict(narrow))
                narrow.clear()
            if narrow:
                yield Piece(arrays=[None] * len(self._order), numbers=[], broken=narrow)

    def lines(self, piece: Piece, rows: Mapping[int, int | None]) -> Iterator[tuple[int, str]]:
        for record in find_records(self._path, self._dialect, list(rows)):
            yield record.line, record.text


# ---- JSON


class JsonFile(Source):
    """One object a line. Columns are found by their names."""

    word = "line"

    def __init__(self, path: str, files: CopiedFiles) -> None:
        self._path = path
        self._columns = files.columns
        self._takes_others = files.some_columns
        self._schema = pa.schema([(c.name, k) for c in files.columns if (k := _json_type(c))])
        self._lines: dict[int, bytes] = {}

    def pieces(self) -> Iterator[Piece]:
        with pa.input_stream(self._path, compression="detect") as stream:
            numbered = enumerate(io.BufferedReader(stream), 1)
            filled = ((number, line) for number, line in numbered if line.strip())
            while lines := list(islice(filled, _LINES)):
                interrupts.check()
                self._lines = dict(lines)
                yield from self._parsed(lines)

    def lines(self, piece: Piece, rows: Mapping[int, int | None]) -> Iterator[tuple[int, str]]:
        for number in rows:
            yield number, self._lines[number].decode(errors="replace").rstrip("\r\n")

    def _parsed(self, lines: list[tuple[int, bytes]]) -> Iterator[Piece]:
        """The lines as they are of one shape: else their halves."""
        try:
            piece = self._piece(self._table(lines), [number for number, _ in lines])
        except (pa.ArrowException, UnicodeDecodeError, _NotOneError) as error:
            if len(lines) == 1:
                reason = str(error).removeprefix("JSON parse error: ").removesuffix(" in row 0")
                broken = {lines[0][0]: f"no JSON of the table's columns: {reason}"}
                yield Piece(arrays=[None] * len(self._columns), numbers=[], broken=broken)
                return
            middle = len(lines) // 2
            yield from self._parsed(lines[:middle])
            yield from self._parsed(lines[middle:])
            return
        yield piece

    def _table(self, lines: list[tuple[int, bytes]]) -> pa.Table:
        from pyarrow import json

        text = b"".join(line if line.endswith(b"\n") else line + b"\n" for _, line in lines)
        text.decode()
        table = json.read_json(
            io.BytesIO(text),
            json.ReadOptions(block_size=len(text) + 1, use_threads=False),
            json.ParseOptions(explicit_schema=self._schema, unexpected_field_behavior="infer"),
        )
        if table.num_rows != len(lines):
            raise _NotOneError("several objects on one line")
        return table.combine_chunks()

    def _piece(self, table: pa.Table, numbers: list[int]) -> Piece:
        given: dict[str, int] = {}
        for at, name in enumerate(table.column_names):
            if given.setdefault(name.lower(), at) != at:
                raise _NotOneError(f'the name "{name}" in two cases of its letters')
        wanted = {column.name for column in self._columns}
        broken: dict[int, str] = {}
        for name in given.keys() - wanted if not self._takes_others else ():
            column = table.column(given[name])
            for at in range(len(numbers)):
                if column[at].is_valid:
                    broken.setdefault(numbers[at], f'the table has no column "{name}"')
        arrays = [
            _chunk(table.column(given[c.name])) if c.name in given else None for c in self._columns
        ]
        if broken:
            kept = [at for at, number in enumerate(numbers) if number not in broken]
            arrays = [None if a is None else a.take(pa.array(kept, pa.int64())) for a in arrays]
            numbers = [numbers[at] for at in kept]
        return Piece(arrays=arrays, numbers=numbers, broken=broken)


class _NotOneError(Exception):
    """A line of JSON is not one object."""


def _json_type(column: Column) -> pa.DataType | None:
    """What is asked for where Arrow would find a type of its own."""
    if column.type in _TEXTS or isinstance(column.type, CharType | VarcharType):
        return pa.string()
    if isinstance(column.type, DecimalType):
        return pa.decimal128(column.type.precision, column.type.scale)
    return None


def _chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


# ---- files that tell their types


class BinaryFile(Source):
    """Parquet and ORC as this house reads them, and files of Arrow's. A row's text is its JSON."""

    def __init__(self, kind: str, stamp: FileStamp, files: CopiedFiles) -> None:
        self._kind = kind
        self._stamp = stamp
        self._files = files

    def pieces(self) -> Iterator[Piece]:
        first = 1
        for arrays in self._arrays():
            rows = len(arrays[0]) if arrays else 0
            for start in range(0, rows, _BATCH_ROWS):
                some = [array.slice(start, _BATCH_ROWS) for array in arrays]
                numbers = range(first, first + len(some[0]))
                yield Piece(arrays=some, numbers=numbers, broken={})
                first += len(some[0])

    def _arrays(self) -> Iterator[list[pa.Array]]:
        wanted = self._files.columns
        if self._kind == "arrow":
            with opened_arrow(self._stamp.path) as reader:
                order = self._order(reader.schema.names)
                for batch in reader:
                    yield [batch.column(at) for at in order]
            return
        file = _by_path(self._kind, self._stamp)
        columns = file.columns()
        order = self._order([column.name for column in columns])
        try:
            yield from file.batches([columns[at] for at in order[: len(wanted)]])
        except NotHere as reason:
            raise _only_spark(self._stamp, reason) from None

    def _order(self, names: Sequence[str]) -> list[int]:
        if not self._files.by_name:
            return list(range(len(self._files.columns)))
        lower = [name.lower() for name in names]
        return [lower.index(column.name) for column in self._files.columns]

    def lines(self, piece: Piece, rows: Mapping[int, int | None]) -> Iterator[tuple[int, str]]:
        import json

        names = [column.name for column in self._files.columns]
        for number, at in rows.items():
            assert at is not None
            values = [None if array is None else array[at].as_py() for array in piece.arrays]
            pairs = dict(zip(names, values, strict=True))
            yield number, json.dumps(pairs, ensure_ascii=False, default=str)
