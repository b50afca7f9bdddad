"""Files that no row of is wanted, by the minimum and maximum of whole numbers in their footers.

Only numbers that a file stores as the table's type are looked at: of no other type do statistics
and Spark agree without ifs (blanks of chars, NaN, calendars, cut strings).
"""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.acid.orc_types import column_numbers
from acidsql.catalog.model import Column
from acidsql.catalog.types import PrimitiveType
from acidsql.expressions.predicate import Comparison, Predicate
from acidsql.files.fileio import FileIO
from acidsql.storage.file_layout import layout
from acidsql.storage.footers import FileKey, ScanFile, read_footer
from acidsql.storage.kept import Kept

MAX_KEPT = 1024
"""Files whose ranges are kept for the next scan."""

_WHOLE_NUMBERS = frozenset(map(PrimitiveType, ("tinyint", "smallint", "int", "bigint")))
_Ranges = dict[str, tuple[int, int] | None]


class Skipping:
    """What one session knows of the numbers in files."""

    def __init__(self) -> None:
        self._kept: Kept[FileKey, _Ranges] = Kept(MAX_KEPT)

    def may_hold(
        self,
        io: FileIO,
        file: ScanFile,
        columns: tuple[Column, ...],
        predicates: Sequence[Predicate],
    ) -> bool:
        """Whether a row of the file may meet all predicates. ``columns``: of the table. FormatError
        for a file that cannot be read.
        """
        types = {column.name: column.type for column in columns}
        tests = [p for p in predicates if types.get(p.column) in _WHOLE_NUMBERS and p.values]
        if not tests:
            return True
        ranges = self._kept.find(file.key)
        if ranges is None:
            ranges = _ranges(io, file, columns)
            self._kept.keep(file.key, ranges, 1)
        return all(_may_meet(test, ranges.get(test.column)) for test in tests)


def _ranges(io: FileIO, file: ScanFile, columns: tuple[Column, ...]) -> _Ranges:
    """The least and the greatest of each column of whole numbers, where the footer tells them."""
    original = file.file.original
    tail = read_footer(io, file.path)
    numbers = dict(
        zip(file.columns.names, column_numbers(file.columns, in_events=not original), strict=True)
    )
    return {
        c.column.name: tail.integer_range(numbers[c.name])
        for c in layout(columns, file.columns, original=original).file_columns
        if c.same and c.column.type in _WHOLE_NUMBERS
    }


def _may_meet(test: Predicate, extent: tuple[int, int] | None) -> bool:
    values = [value for value in test.values if isinstance(value, int)]
    if extent is None or len(values) < len(test.values):
        return True
    low, high = extent
    match test.op:
        case Comparison.EQUAL | Comparison.IN:
            return any(low <= value <= high for value in values)
        case Comparison.LESS:
            return low < values[0]
        case Comparison.LESS_EQUAL:
            return low <= values[0]
        case Comparison.GREATER:
            return high > values[0]
        case Comparison.GREATER_EQUAL:
            return high >= values[0]
    return True
