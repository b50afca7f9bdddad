"""A CSV file as rows of a table: read as a stream, each cell as a value of its column, and what is
wrong with it told by the line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled
from acidsql.catalog.model import Column
from acidsql.catalog.types import (
    CharType,
    DecimalType,
    HiveType,
    PrimitiveType,
    VarcharType,
    arrow_type,
)
from acidsql.cli.console import counted
from acidsql.errors import BindError, DataError
from acidsql.expressions.not_here import Lossy, NotHere
from acidsql.expressions.stores import store
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


# ---- cells as values
#
# The cells of CSV as values of a table's columns: what an INSERT of the same literals stores, but
# a cell that its column cannot hold is refused.


_DAY_AND_TIME = r"[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_FLOATING = r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_QUICK = {
    "tinyint": "-?[0-9]{1,2}",
    "smallint": "-?[0-9]{1,4}",
    "int": "-?[0-9]{1,9}",
    "bigint": "-?[0-9]{1,18}",
    "float": _FLOATING,
    "double": _FLOATING,
    "timestamp": f"(19[7-9]|[2-9][0-9]{{2}})[0-9]-{_DAY_AND_TIME}",
}
"""Texts that Arrow takes for the same value as Spark."""


def is_text(hive_type: HiveType) -> bool:
    """Whether a cell is the value as it stands."""
    return str(hive_type) in ("string", "binary") or isinstance(hive_type, CharType | VarcharType)


def has_cells(hive_type: HiveType) -> bool:
    """Whether a cell of CSV can be a value of the type at all; arrays, maps and structs have no
    text.
    """
    return isinstance(hive_type, CharType | VarcharType | DecimalType | PrimitiveType)


def values_of(cells: pa.Array, hive_type: HiveType) -> pa.Array:
    """The cells, text or NULL, in the Arrow type of ``hive_type``. MisfitError from
    ``frames.fitting`` for the first cell that it cannot hold.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from acidsql.frames.fitting import fitted

    if str(hive_type) == "binary":
        return cells.cast(pa.binary())
    if is_text(hive_type):
        return fitted(cells, hive_type)
    quick = _quick_form(hive_type)
    if quick is None:
        return _one_by_one(cells, hive_type)
    is_plain = filled(pc.match_substring_regex(cells, f"^{quick}$"), True)
    nothing = arrow_scalar(None, pa.string())
    try:
        values = pc.if_else(is_plain, cells, nothing).cast(arrow_type(hive_type))
    except pa.ArrowInvalid:  # a day that no month has
        return _one_by_one(cells, hive_type)
    if pc.all(is_plain).as_py() is not False:
        return values
    others = _one_by_one(pc.if_else(is_plain, nothing, cells), hive_type)
    return pc.if_else(is_plain, values, others)


def _quick_form(hive_type: HiveType) -> str | None:
    match hive_type:
        case DecimalType(precision, scale) if precision > scale:
            fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
            return f"-?[0-9]{{1,{precision - scale}}}{fraction}"
    return _QUICK.get(str(hive_type))


def _one_by_one(cells: pa.Array, hive_type: HiveType) -> pa.Array:
    """Each different text once."""
    from acidsql.frames.fitting import MisfitError

    encoded = cells.dictionary_encode()
    values = []
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        value = _value(text, hive_type)
        if isinstance(value, Lossy):
            index = encoded.indices.index(arrow_scalar(number, encoded.indices.type)).as_py()
            raise MisfitError(index, text)
        values.append(value)
    return arrow_array(values, arrow_type(hive_type)).take(encoded.indices)


def _value(text: str, hive_type: HiveType) -> Any:
    try:
        return store(text, hive_type)
    except NotHere:  # a form that only Spark reads, such as a time with a zone
        return Lossy(None)


# ---- csv file


_BLOCK_BYTES = 4 << 20
"""What is parsed at a time; no row may be longer."""


class Counted:
    """How many bytes of a file were read, for another thread to see."""

    def __init__(self) -> None:
        self.bytes = 0

    def open(self, path: Path) -> io.FileIO:
        counted = self

        class File(io.FileIO):
            def read(self, size: int | None = -1) -> bytes:
                data = super().read(-1 if size is None else size) or b""
                counted.bytes += len(data)
                return data

        return File(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFile:
    """Rows of a file, whose cells are values of ``columns``. ``skipped``: lines before them;
    ``null``: what NULL looks like where it is not quoted.
    """

    path: str
    columns: Sequence[Column]
    skipped: int
    null: str
    counted: Counted

    def reader(self) -> pa.RecordBatchReader:
        """The rows in the types of their columns, read as they are asked for. BindError for a
        column that no cell can be in; DataError at the line that cannot be read, or has a value
        that its column cannot hold.
        """
        import pyarrow as pa

        for column in self.columns:
            if not has_cells(column.type):
                raise BindError(f'column "{column.name}" of type {column.type} has no text in CSV')
        fields = [(c.name, arrow_type(c.type)) for c in self.columns]
        return pa.RecordBatchReader.from_batches(pa.schema(fields), self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from acidsql.frames.fitting import MisfitError

        first = 0
        for texts in self._texts():
            arrays = []
            for cells, column in zip(texts.columns, self.columns, strict=True):
                try:
                    arrays.append(values_of(cells, column.type))
                except MisfitError as misfit:
                    raise self._misfit(first + misfit.index, misfit.shown, column) from None
            yield pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self.columns])
            first += len(texts)

    def _texts(self) -> Iterator[pa.RecordBatch]:
        """The cells as text. One that reads like NULL is NULL unless it is quoted."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        names = [c.name for c in self.columns]
        convert = arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            null_values=[self.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        options = arrow_csv.ReadOptions(
            column_names=names, skip_rows=self.skipped, block_size=_BLOCK_BYTES
        )
        parse_options = arrow_csv.ParseOptions(newlines_in_values=True)
        try:
            with (
                self.counted.open(Path(self.path).expanduser()) as file,
                arrow_csv.open_csv(file, options, parse_options, convert) as reader,
            ):
                yield from reader
        except pa.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):
                raise self._unreadable(str(error)) from error

    def _misfit(self, row: int, shown: str, column: Column) -> DataError:
        line = self._line_where(lambda number, _: number == row)
        is_empty = "An empty cell is NULL after \".null ''\". " if not shown else ""
        return DataError(
            f'{self._at(line)}: column "{column.name}" of type {column.type} cannot hold "{shown}"',
            hint=f"{is_empty}Nothing was inserted.",
            sqlstate="22018",
        )

    def _unreadable(self, reason: str) -> DataError:
        wanted = len(self.columns)
        wrong: list[int] = []

        def is_wrong(_: int, cells: Sequence[str]) -> bool:
            wrong[:] = [len(cells)]
            return len(cells) != wanted

        try:
            line = self._line_where(is_wrong)
        except UnicodeDecodeError:
            return DataError(f"{self._at(self._line_not_utf8())} is not UTF-8")
        if line is None:
            return DataError(f'"{self.path}" cannot be read as CSV', detail=reason)
        return DataError(
            f"{self._at(line)} has {counted(wrong[0], 'cell')} instead of {wanted}",
            hint="Nothing was inserted.",
        )

    def _at(self, line: int | None) -> str:
        return f'"{self.path}"' if line is None else f'line {line} of "{self.path}"'

    def _line_where(self, is_wanted: Callable[[int, Sequence[str]], bool]) -> int | None:
        """The line in which the first row begins of which ``is_wanted`` (its number, its cells);
        lines and not rows count from 1. None if there is none, or if Python reads the file
        otherwise than Arrow.
        """
        with Path(self.path).expanduser().open(encoding="utf-8-sig", newline="") as file:
            for _ in range(self.skipped):
                next(file)
            rows = csv.reader(file)
            number, line = 0, 1 + self.skipped
            try:
                for cells in rows:
                    if cells and is_wanted(number, cells):
                        return line
                    number += bool(cells)
                    line = rows.line_num + 1 + self.skipped
            except csv.Error:
                return None
        return None

    def _line_not_utf8(self) -> int | None:
        with Path(self.path).expanduser().open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return None
