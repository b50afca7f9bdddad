"""COPY INTO's rows: those of files that fit the columns of a table, and those that do not, with
their places and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from acidsql import interrupts
from acidsql.catalog.model import Column
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.catalog.types import (
    CharType,
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
    arrow_type,
)
from acidsql.errors import DataError
from acidsql.expressions.values import bits_of
from acidsql.frames.copying.pieces import Piece, Source, source_of
from acidsql.frames.file_sources import (
    changed_error,
    dialect_of,
    named_in_errors,
    names_of,
    stamp_of,
)
from acidsql.frames.fitting import MisfitError, fitted, may_fit
from acidsql.frames.frame_types import Batches, hive_type_of

# ---- texts as values
#
# Texts as values of a column's type: what COPY INTO makes of the cells of a CSV file. Each value
# is what the text says, whole, or there is none: nothing is rounded, cut or taken for another.


_TRUE = pa.array(["true", "t", "yes", "y", "1"])
_FALSE = pa.array(["false", "f", "no", "n", "0"])
_HEXADECIMAL = "^[+-]?0[xX]"
_PLUS = r"^\+([0-9.])"


def is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def can_be_text(hive_type: HiveType) -> bool:
    """Whether a text can say a value of the type: of all but nested ones."""
    return isinstance(hive_type, PrimitiveType | DecimalType | CharType | VarcharType)


def from_texts(texts: pa.Array, hive_type: HiveType) -> pa.Array:
    """The values, in the Arrow type of a type that ``can_be_text``. MisfitError for the first text
    that says none.
    """
    if isinstance(hive_type, CharType | VarcharType) or hive_type == PrimitiveType("string"):
        return fitted(texts, hive_type)
    if hive_type == PrimitiveType("binary"):
        return texts.cast(pa.binary())
    trimmed = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    if hive_type == PrimitiveType("boolean"):
        return _truths(trimmed, texts)
    if bits_of(hive_type) or _is_number(hive_type):
        trimmed = _number_texts(trimmed, texts)
    values = _cast(trimmed, arrow_type(hive_type), texts)
    if pa.types.is_floating(values.type):
        _refuse_infinite(values, texts)
    return fitted(values, hive_type)


def _is_number(hive_type: HiveType) -> bool:
    return isinstance(hive_type, DecimalType) or hive_type in (
        PrimitiveType("float"),
        PrimitiveType("double"),
    )


def _truths(words: pa.Array, texts: pa.Array) -> pa.Array:
    lower = pc.utf8_lower(words)
    true = pc.is_in(lower, _TRUE)
    _refuse_first(pc.and_(pc.is_valid(lower), pc.invert(_either(true, lower))), texts)
    return pc.if_else(pc.is_null(lower), pa.scalar(None, pa.bool_()), true)


def _either(true: pa.Array, words: pa.Array) -> pa.Array:
    return pc.or_(true, pc.is_in(words, _FALSE))


def _number_texts(trimmed: pa.Array, texts: pa.Array) -> pa.Array:
    """Without a leading plus, which Arrow does not know; hexadecimal digits, which it knows, are
    none of SQL's.
    """
    _refuse_first(pc.match_substring_regex(trimmed, _HEXADECIMAL), texts)
    if not pc.any(pc.starts_with(trimmed, "+")).as_py():
        return trimmed
    return pc.replace_substring_regex(trimmed, _PLUS, r"\1")


def _refuse_infinite(values: pa.Array, texts: pa.Array) -> None:
    """A number that is too large is not infinite."""
    infinite = pc.is_inf(values)
    if pc.any(infinite).as_py():
        named = pc.match_substring(texts, "inf", ignore_case=True)
        _refuse_first(pc.and_(infinite, pc.invert(named)), texts)


def _cast(texts: pa.Array, kind: pa.DataType, given: pa.Array) -> pa.Array:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        good, bad = 0, len(texts)
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                texts.slice(good, middle - good).cast(kind)
            except pa.ArrowInvalid:
                bad = middle
            else:
                good = middle
        raise MisfitError(good, given[good]) from None


def _refuse_first(misfits: pa.Array, texts: pa.Array) -> None:
    index = pc.index(misfits, True).as_py()
    if index >= 0:
        raise MisfitError(index, texts[index])


# ---- copied


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
