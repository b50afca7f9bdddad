"""The rows of insert events as Arrow tables on the driver, with all their ids: what a compaction
merges where it needs no Spark.

They come piece by piece, so that no more than was asked for ever lies in memory. What only
Java reads or writes rightly is left to Spark: columns of other types than the table's, times that
Arrow cannot hold or that lie before the calendars parted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS, ROW_FIELD, OrcKind
from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.catalog.model import Column
from acidsql.catalog.types import CharType, holds, is_timestamp
from acidsql.errors import ExecutionError, FormatError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.columns import orc_batches
from acidsql.storage.events.delete_events import DeadIds, valid_mask
from acidsql.storage.file_layout import FileColumn, Layout, layout
from acidsql.storage.footers import ScanFile, bucket_property, first_rows
from acidsql.storage.scan.orc_file import sees_far_times
from acidsql.storage.stored import arrow_type, needs_java

CURRENT = EVENT_FIELDS[4]
_LEADING = (*ID_FIELDS, CURRENT)

BATCH_ROWS = 1 << 17
"""The most rows of a large file that are in memory at once."""
ONLY_JAVA = "values that only Java carries over"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRows:
    """The rows of ``files``, without those of write ids that are not valid and the ``dead``.

    ``write_ids``: None where no file needs a filter.
    """

    io: FileIO
    files: Sequence[ScanFile]
    columns: tuple[Column, ...]
    write_ids: ValidWriteIdList | None
    dead: DeadIds | None

    def batches(self, files: Sequence[ScanFile]) -> Iterator[pa.Table]:
        """The rows of some of the files, no more than BATCH_ROWS or a small file's at a time:
        ID_FIELDS, currentTransaction, then the table's columns by their ordinals.

        NotHere where only Java can carry them over; FormatError names a file that is not as it
        must be.
        """
        layouts = [layout(self.columns, f.columns, original=f.file.original) for f in files]
        _check_readable(layouts, self.columns)
        first = first_rows([file for file in self.files if file.file.original])
        for file, of_file in zip(files, layouts, strict=True):
            for batch in _batches(self.io, file, of_file, first):
                live = _live(batch, file, self.write_ids, self.dead)
                if needs_java(live):
                    raise NotHere(ONLY_JAVA)
                yield live

    def table(self, max_bytes: int) -> pa.Table | None:
        """All rows; None if they weigh more than ``max_bytes``, or only Java can carry them
        over.
        """
        return _gathered(_nothing(self.columns), self.batches(self.files), max_bytes)


def _gathered(nothing: pa.Table, batches: Iterator[pa.Table], max_bytes: int) -> pa.Table | None:
    parts, weight = [nothing], 0
    try:
        for batch in batches:
            parts.append(batch)
            weight += batch.nbytes
            if weight > max_bytes:
                return None
    except NotHere:
        return None
    return pa.concat_tables(parts)


def _check_readable(layouts: Sequence[Layout], columns: Sequence[Column]) -> None:
    """Raises NotHere unless Arrow gives the values of all files as Spark does."""
    as_stored = all(_is_as_stored(column) for one in layouts for column in one.file_columns)
    if not as_stored or (
        any(holds(c.type, is_timestamp) for c in columns) and not sees_far_times()
    ):
        raise NotHere(ONLY_JAVA)


def _is_as_stored(column: FileColumn) -> bool:
    is_padded = column.kind.kind is OrcKind.CHAR and not isinstance(column.column.type, CharType)
    return column.same and not is_padded


def read_plain(
    io: FileIO, files: Sequence[ScanFile], columns: tuple[Column, ...], max_bytes: int
) -> pa.Table | None:
    """All rows of files without events: the table's columns by their ordinals. None as above."""
    nothing = _nothing(columns).select(_value_names(columns))
    return _gathered(nothing, _plain_batches(io, files, columns), max_bytes)


def _plain_batches(
    io: FileIO, files: Sequence[ScanFile], columns: tuple[Column, ...]
) -> Iterator[pa.Table]:
    layouts = [layout(columns, file.columns, original=True) for file in files]
    _check_readable(layouts, columns)
    for file, of_file in zip(files, layouts, strict=True):
        for batch in _read(io, file):
            values = _values(batch.columns, len(batch), of_file, file)
            if needs_java(values):
                raise NotHere(ONLY_JAVA)
            yield values


def values_of(events: pa.Table) -> pa.Table:
    """The table's columns alone."""
    return events.select(list(range(len(_LEADING), events.num_columns)))


def _batches(
    io: FileIO, file: ScanFile, of_file: Layout, first: Callable[[ScanFile], int]
) -> Iterator[pa.Table]:
    """The rows of a file, as ``EventRows`` calls their columns."""
    row = first(file) if file.file.original else 0
    for stripe in _read(io, file):
        if file.file.original:
            ids = _original_ids(file, row, len(stripe))
            values: Sequence[pa.Array] = stripe.columns
            row += len(stripe)
        else:
            ids = [stripe.column(_position(stripe, name)) for name in _LEADING]
            if any(column.null_count for column in ids):
                raise FormatError(f'file "{file.path}" holds events without ids')
            values = stripe.column(_position(stripe, ROW_FIELD)).flatten()
        data = _values(values, len(stripe), of_file, file)
        yield pa.Table.from_arrays([*ids, *data.columns], names=_names(of_file.columns))


def _read(io: FileIO, file: ScanFile) -> Iterator[pa.RecordBatch]:
    rows = 0
    try:
        with io.open_input(file.path) as opened:
            is_large = file.rows > BATCH_ROWS
            for batch in orc_batches(opened, BATCH_ROWS, ahead=1) if is_large else _stripes(opened):
                rows += len(batch)
                yield batch
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if "out of range" in str(error):
            raise NotHere(ONLY_JAVA) from error
        raise FormatError(f'cannot read file "{file.path}"', detail=str(error)) from error
    if rows != file.rows:
        raise FormatError(
            f'file "{file.path}" does not hold the rows its footer tells of',
            detail=f"{rows} instead of {file.rows}",
        )


def _stripes(opened: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    reader = orc.ORCFile(opened)
    for stripe in range(reader.nstripes):
        yield reader.read_stripe(stripe)


def _position(stripe: pa.RecordBatch, name: str) -> int:
    names = [field.name.lower() for field in stripe.schema]
    return names.index(name.lower())


def _original_ids(file: ScanFile, first: int, count: int) -> list[pa.Array]:
    """The ids that Hive gives rows without any; they were written when they appeared."""
    write_ids = np.full(count, file.file.max_write_id, np.int64)
    bucket = np.full(count, bucket_property(file), np.int32)
    rows = np.arange(first, first + count, dtype=np.int64)
    return [arrow_array(column) for column in (write_ids, bucket, rows, write_ids)]


def _values(values: Sequence[pa.Array], count: int, of_file: Layout, file: ScanFile) -> pa.Table:
    """The table's columns; NULL where a file is older than one."""
    positions = {name: number for number, name in enumerate(file.columns.names)}
    stored = {c.column.name: values[positions[c.name]] for c in of_file.file_columns}
    arrays = [
        _typed(stored[c.name], c) if c.name in stored else pa.nulls(count, arrow_type(c.type))
        for c in of_file.columns
    ]
    return pa.Table.from_arrays(arrays, names=_value_names(of_file.columns))


def _typed(array: pa.Array, column: Column) -> pa.Array:
    """The values in the type that is written. ExecutionError where something would be lost."""
    wanted = arrow_type(column.type)
    if array.type == wanted:
        return array
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ExecutionError(
            f'column "{column.name}" holds values finer than can be carried over',
            detail=str(error),
            hint="Timestamps are kept in microseconds.",
        ) from error


def _live(
    rows: pa.Table, file: ScanFile, write_ids: ValidWriteIdList | None, dead: DeadIds | None
) -> pa.Table:
    alive = np.ones(rows.num_rows, np.bool_)
    if write_ids is not None and file.file.needs_row_filter:
        alive &= valid_mask(numpy_array(rows.column(CURRENT)), write_ids)
    if dead is not None and dead.rows:
        ids = [numpy_array(rows.column(name)).astype(np.int64) for name in ID_FIELDS]
        alive &= dead.alive(file.partition_number, *ids)
    return rows if alive.all() else rows.filter(arrow_array(alive))


def _nothing(columns: Sequence[Column]) -> pa.Table:
    types = [pa.int64(), pa.int32(), pa.int64(), pa.int64(), *(arrow_type(c.type) for c in columns)]
    return pa.Table.from_arrays([pa.nulls(0, kind) for kind in types], names=_names(columns))


def _names(columns: Sequence[Column]) -> list[str]:
    return [*_LEADING, *_value_names(columns)]


def _value_names(columns: Sequence[Column]) -> list[str]:
    return [f"c{ordinal}" for ordinal in range(len(columns))]
