"""The rows of a Parquet file that is named by its path: the values that Spark reads, or NotHere.

Which calendar the times of a file are in is said in it, or is not; those for which it makes no
difference are read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.path_relation import PathColumn
from acidsql.catalog.types import TIMESTAMP_NTZ, HiveType, PrimitiveType
from acidsql.expressions.not_here import NotHere
from acidsql.storage.by_path.parquet_columns import columns_of

BATCH_ROWS = 131_072

_DATE, _TIMESTAMPS = PrimitiveType("date"), (PrimitiveType("timestamp"), TIMESTAMP_NTZ)
_NUMBERS = tuple(map(PrimitiveType, "boolean tinyint smallint int bigint float double".split()))
_FIRST_DAY, _LAST_DAY = -141_427, 2_932_896
"""1582-10-15, before which there are two calendars, and 9999-12-31."""
_DAY = 86_400_000_000
_FIRST_MOMENT, _LAST_MOMENT = -25_567 * _DAY, (_LAST_DAY + 1) * _DAY - 1
"""1900-01-01, before which the two calendars' clocks differ in some zone, and the last moment of
9999, in microseconds since 1970.
"""
_LAST_INT96 = 106_752 * _DAY
"""In 2262. A moment as INT96 that Arrow and Spark may tell differently is later to Arrow."""


class ParquetFile:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")

    def columns(self) -> tuple[PathColumn, ...]:
        return columns_of(self._file)

    def batches(self, columns: Sequence[PathColumn]) -> Iterator[list[pa.Array]]:
        """ArrowInvalid for text that is no UTF-8, and for what a type cannot hold."""
        schema = self._file.metadata.schema
        leaves = [schema.column(number) for number in range(len(schema))]
        old = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
        names = [column.name for column in columns]
        for groups in self._groups():
            for batch in self._file.iter_batches(BATCH_ROWS, groups, names):
                yield [
                    _values(batch.column(column.name), column.type, int96=column.name in old)
                    for column in columns
                ]

    def _groups(self) -> Iterator[list[int]]:
        """The numbers of the row groups, of as many as are a batch: Arrow keeps what it has read
        of groups until it has read all that it was asked for.
        """
        groups, rows = list[int](), 0
        for number in range(self._file.num_row_groups):
            groups.append(number)
            rows += self._file.metadata.row_group(number).num_rows
            if rows >= BATCH_ROWS:
                yield groups
                groups, rows = [], 0
        if groups:
            yield groups


def _values(array: pa.Array, hive_type: HiveType, *, int96: bool) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if hive_type in _TIMESTAMPS:
        array = _moments(array, _LAST_INT96 if int96 else _LAST_MOMENT)
    wanted = arrow_type(hive_type)
    if array.type != wanted:
        array = array.cast(wanted)
    if hive_type == _DATE:
        _check_between(array.cast(pa.int32()), _FIRST_DAY, _LAST_DAY)
    elif hive_type not in _NUMBERS:
        array.validate(full=True)
    return array


def _moments(array: pa.Array, last: int) -> pa.Array:
    """Moments of time as the clock of UTC shows them, and clocks as they are, in microseconds."""
    fine = array.cast(pa.timestamp("us", array.type.tz)).view(pa.int64())
    _check_between(fine, _FIRST_MOMENT, last)
    return fine.view(pa.timestamp("us"))


def _check_between(numbers: pa.Array, first: int, last: int) -> None:
    least, most = pc.min_max(numbers).values()
    if least.is_valid and (least.as_py() < first or most.as_py() > last):
        raise NotHere("a date before 1582-10-15, a timestamp before 1900, or one of a far year")
