"""COPY INTO's rows: those of files that fit the columns of a table, and those that do not, with
their places and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from acidsql import interrupts
from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.model import Column
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import DataError
from acidsql.frames.batches import Batches
from acidsql.frames.copying.pieces import Piece, Source, source_of
from acidsql.frames.copying.texts import can_be_text, from_texts, is_text
from acidsql.frames.csv_records import dialect_of, names_of
from acidsql.frames.file_sources import changed_error, named_in_errors, stamp_of
from acidsql.frames.fitting import MisfitError, fitted, may_fit
from acidsql.frames.frame_types import hive_type_of

_STRING = PrimitiveType("string")

REJECTED = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("reason", pa.string()),
    ]
)
"""The columns of what is known of rows that do not fit."""


class CopiedRows:
    """The rows of files, once. What does not fit is kept in ``rejected`` where that is wanted, else
    a DataError.
    """

    def __init__(self, files: CopiedFiles) -> None:
        self._files = files
        self._schema = pa.schema([(c.name, arrow_type(c.type)) for c in files.columns])
        self.rejected: list[pa.RecordBatch] = []

    def fitting(self) -> Batches:
        """The rows that fit."""
        return Batches(schema=self._schema, rows=self._rows())

    def misfits(self) -> Batches:
        """What is known of the others, once those have been read."""
        return Batches(schema=REJECTED, rows=self._rejected_rows())

    def _rejected_rows(self) -> Iterator[pa.RecordBatch]:
        yield from self.rejected

    def _rows(self) -> Iterator[pa.RecordBatch]:
        for stamp in self._files.files:
            if stamp_of(stamp.path) != stamp:
                raise changed_error(stamp.path)
            with named_in_errors(stamp.path):
                source = source_of(self._files, stamp)
                for piece in source.pieces():
                    interrupts.check()
                    yield self._sorted_out(stamp, source, piece)

    def _sorted_out(self, stamp: FileStamp, source: Source, piece: Piece) -> pa.RecordBatch:
        """The rows of a piece that fit."""
        arrays, misfits = [], dict[int, str]()
        for array, column in zip(piece.arrays, self._files.columns, strict=True):
            given = pa.nulls(len(piece.numbers)) if array is None else array
            values, bad = _values(given, column)
            for index, reason in bad.items():
                misfits.setdefault(index, reason)
            if column.name in self._files.not_null and values.null_count:
                for index in pc.indices_nonzero(pc.is_null(values)).to_pylist():
                    misfits.setdefault(index, f'column "{column.name}" is NULL, which it must not')
            arrays.append(values)
        if misfits or piece.broken:
            self._reject(stamp, source, piece, misfits)
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if not misfits:
            return batch
        kept = [index for index in range(len(batch)) if index not in misfits]
        return batch.take(pa.array(kept, pa.int64()))

    def _reject(
        self, stamp: FileStamp, source: Source, piece: Piece, misfits: Mapping[int, str]
    ) -> None:
        """Keeps what is known of rows, or raises the first of them."""
        rows: dict[int, int | None] = dict.fromkeys(piece.broken)
        rows |= {piece.numbers[index]: index for index in misfits}
        numbers = sorted(rows)
        reasons = [_reason(number, rows[number], piece, misfits) for number in numbers]
        if not self._files.keeps_rejected:
            numbers = numbers[:1]
        lines_and_texts = list(source.lines(piece, {number: rows[number] for number in numbers}))
        if not self._files.keeps_rejected:
            line, text = lines_and_texts[0]
            raise DataError(
                f'{source.word} {line} of "{stamp.path}": {reasons[0]}',
                detail=_shortened(text),
                hint="Nothing was written. REJECTS INTO r puts such rows into a table, and takes"
                " the others.",
                sqlstate="22000",
            )
        lines, texts = zip(*lines_and_texts, strict=True)
        columns = [[stamp.path] * len(lines), lines, texts, reasons]
        arrays = [pa.array(c, kind) for c, kind in zip(columns, REJECTED.types, strict=True)]
        self.rejected.append(pa.RecordBatch.from_arrays(arrays, schema=REJECTED))


_LONGEST = 200


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + ".."


def _reason(number: int, index: int | None, piece: Piece, misfits: Mapping[int, str]) -> str:
    return piece.broken[number] if index is None else misfits[index]


# ---- columns


def _values(array: pa.Array, column: Column) -> tuple[pa.Array, Mapping[int, str]]:
    """The values of a column as the table has them, NULL for those that do not fit, and why these
    do not, by their indices.
    """
    try:
        return _converted(array, column.type), {}
    except MisfitError:
        misfits = dict(_misfits(array, column.type, 0))
    kept = pa.array([None if n in misfits else n for n in range(len(array))], pa.int64())
    values = _converted(array.take(kept), column.type)
    name, kind = column.name, column.type
    return values, {
        index: f'column "{name}" of type {kind} cannot hold "{shown}"'
        for index, shown in misfits.items()
    }


def _misfits(array: pa.Array, hive_type: HiveType, first: int) -> Iterator[tuple[int, str]]:
    try:
        _converted(array, hive_type)
    except MisfitError as misfit:
        if len(array) == 1:
            yield first, misfit.shown
            return
        middle = len(array) // 2
        yield from _misfits(array.slice(0, middle), hive_type, first)
        yield from _misfits(array.slice(middle), hive_type, first + middle)


def _converted(array: pa.Array, hive_type: HiveType) -> pa.Array:
    """The values in the Arrow type of ``hive_type``. MisfitError."""
    kind = array.type
    if pa.types.is_binary(kind) and can_be_text(hive_type) and str(hive_type) != "binary":
        array = _texts(array)
        kind = array.type
    if is_text(kind) and can_be_text(hive_type):
        return from_texts(array, hive_type)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        array = array.cast(pa.timestamp("us"))
    if not may_fit(array.type, hive_type):
        valid = pc.indices_nonzero(pc.is_valid(array))
        if len(valid):
            index = valid[0].as_py()
            raise MisfitError(index, array[index])
        return pa.nulls(len(array), arrow_type(hive_type))
    return fitted(array, hive_type)


def _texts(array: pa.Array) -> pa.Array:
    """Bytes as text. MisfitError for what is no UTF-8."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        for index, value in enumerate(array.to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                raise MisfitError(index, value.decode(errors="replace")) from None
        raise


# ---- CSV that others have failed to read


def check_lines(source: FileSource, stamp: FileStamp, schema: pa.Schema | None) -> None:
    """Raises the DataError of the first line of a CSV file that is none of ``schema``, or not as
    wide as the first; nothing where each line seems to be.
    """
    if schema is None:
        first = names_of(stamp.path, dialect_of(stamp.path, dict(source.options)))
        columns = tuple(Column(name=name, type=_STRING) for name in first)
    else:
        columns = tuple(Column(name=field.name, type=_sure_type(field.type)) for field in schema)
    files = CopiedFiles(source=source, files=(stamp,), columns=columns)
    try:
        for _ in CopiedRows(files).fitting().rows:
            pass
    except DataError as error:
        error.hint = "read_csv('..', all_text => true) reads every column as text."
        raise


def _sure_type(kind: pa.DataType) -> HiveType:
    """A type whose texts are read here as pyarrow's reader reads them, else text."""
    sure = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind)
    return hive_type_of(kind) if sure or pa.types.is_boolean(kind) else _STRING
