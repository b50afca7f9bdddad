"""The rows of insert events as Arrow tables on the driver, with all their ids: what a compaction
merges where it needs no Spark.

They come piece by piece, so that no more than was asked for ever lies in memory. What only
Java reads or writes rightly is left to Spark: columns of other types than the table's, times that
Arrow cannot hold or that lie before the calendars parted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.ids import BucketId, ValidWriteIdList
from acidsql.acid.orc_tail import values_counted
from acidsql.acid.orc_types import EVENT_FIELDS, EVENT_ROW_COLUMN, ID_FIELDS, ROW_FIELD, OrcKind
from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.catalog.model import Column
from acidsql.catalog.types import CharType, arrow_type, holds, is_timestamp
from acidsql.errors import ExecutionError, FormatError, UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass
from acidsql.storage.events.delete_events import DeadIds, valid_mask
from acidsql.storage.file_layout import FileColumn, Layout, Longs, layout, orc_batches, read_columns
from acidsql.storage.footers import FoundFile, ScanFile, bucket_property, first_rows, read_footer
from acidsql.storage.scan.orc_file import sees_far_times
from acidsql.storage.stored import data_names, needs_java

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
    nothing = _nothing(columns).select(data_names(columns))
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
    return pa.Table.from_arrays(arrays, names=data_names(of_file.columns))


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
    return [*_LEADING, *data_names(columns)]


# ---- ACID version 1
#
# Rows of ACID version 1, which Hive wrote before version 3: files of deltas hold insert, update
# and delete events (0, 1, 2) beside one another, and there are no delete deltas. Hive 2:
# OrcRawRecordMerger.
#
# All events of a row have its ROW__ID. The newest one wins: that of the highest transaction, and
# of the highest statement in one. Where it is a delete there is no row, else it holds the row's
# values. A base may hold update events, too: a major compaction leaves them as they were. Buckets
# are plain numbers, not packed ones, and so are the originals' among such events.
#
# The ids of all events of a partition are merged in memory; values are then read of the winners.


MAX_EVENTS = 5_000_000
"""The most events of a statement that are merged: of each 50 bytes lie in memory."""

COMPACT_FIRST = (
    "Run ALTER TABLE .. COMPACT 'major' on the table, or on each of its partitions, with the Hive"
    " that wrote it."
)
_INSERT, _UPDATE, _DELETE = 0, 1, 2
_PLAIN_BUCKETS = 1 << 28
"""Bucket numbers from here on are packed ones, which Hive 3 writes."""

Mask = npt.NDArray[np.bool_]


def old_partitions(files: Iterable[ScanFile]) -> frozenset[int]:
    """The numbers of the partitions with files that mix events."""
    return frozenset(file.partition_number for file in files if file.mixed)


def winners(
    io: FileIO,
    inserts: Sequence[ScanFile],
    deletes: Iterable[FoundFile],
    write_ids: ValidWriteIdList | None,
) -> Mapping[str, Mask]:
    """Which rows of each file of ``old_partitions`` are visible, by its path. ``inserts``,
    ``deletes``: all files of a snapshot. FormatError where that cannot be told;
    UnsupportedStatementError where there are too many events.
    """
    old = old_partitions(inserts)
    for delete in deletes:
        if delete.partition_number in old:
            raise FormatError(
                f'"{delete.path}" deletes rows of a partition with events from before Hive 3',
                detail="Hive 3 reads no such mixture (ACID versions 1 and 2)",
            )
    of_old = [file for file in inserts if file.partition_number in old and file.rows]
    count = sum(file.rows for file in of_old)
    if count > MAX_EVENTS:
        raise UnsupportedStatementError(
            f"{count:,} events of ACID version 1 are too many: {MAX_EVENTS:,} are merged here",
            hint=COMPACT_FIRST,
        )
    first = first_rows([file for file in of_old if file.file.original])
    visible: dict[str, Mask] = {}
    for number in sorted(old):
        part = [file for file in of_old if file.partition_number == number]
        events = [
            _originals(file, first(file)) if file.file.original else _events(io, file, write_ids)
            for file in part
        ]
        won = _won(part, events)
        for file, of_file in zip(part, events, strict=True):
            visible[file.path], won = won[: len(of_file.rows)], won[len(of_file.rows) :]
    return visible


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """The events of a file as parallel columns, in its order. ``valid``: of a valid write id."""

    operations: Longs
    write_ids: Longs
    buckets: Longs
    rows: Longs
    event_write_ids: Longs
    valid: Mask


def _originals(file: ScanFile, first_row: int) -> _Events:
    """The events that the rows of an original file stand for."""
    if file.file.bucket is None:
        raise FormatError(
            f'file "{file.path}" has no bucket number in its name',
            detail="so its rows have no ROW__ID",
        )

    def same(value: int) -> Longs:
        return np.full(file.rows, value, np.int64)

    write_id = int(file.file.max_write_id)
    return _Events(
        operations=same(_INSERT),
        write_ids=same(write_id),
        buckets=same(int(BucketId(file.file.bucket))),
        rows=np.arange(first_row, first_row + file.rows, dtype=np.int64),
        event_write_ids=same(write_id),
        valid=np.ones(file.rows, np.bool_),
    )


def _events(io: FileIO, file: ScanFile, write_ids: ValidWriteIdList | None) -> _Events:
    operations, *ids, current = read_columns(io, file.path, EVENT_FIELDS[:-1])
    events = _Events(
        operations=operations,
        write_ids=ids[0],
        buckets=ids[1],
        rows=ids[2],
        event_write_ids=current,
        valid=_valid(file, current, write_ids),
    )
    _check(io, file, events)
    return events


def _valid(file: ScanFile, current: Longs, write_ids: ValidWriteIdList | None) -> Mask:
    if write_ids is None or not file.file.needs_row_filter:
        return np.ones(len(current), np.bool_)
    return valid_mask(current, write_ids)


def _check(io: FileIO, file: ScanFile, events: _Events) -> None:
    """Raises FormatError for events that no Hive before version 3 wrote."""
    if len(events.rows) != file.rows:
        raise FormatError(f'file "{file.path}" does not hold the events its footer tells of')
    if ((events.operations < _INSERT) | (events.operations > _DELETE)).any():
        raise FormatError(f'file "{file.path}" holds events of an unknown kind')
    if ((events.buckets < 0) | (events.buckets >= _PLAIN_BUCKETS)).any():
        raise FormatError(
            f'file "{file.path}" has the buckets of ACID version 2 beside events of version 1',
            detail="no Hive reads such a mixture",
        )
    deletes = int(np.count_nonzero(events.operations == _DELETE))
    statistics = read_footer(io, file.path).statistics
    if deletes and len(statistics) > EVENT_ROW_COLUMN:
        with_values = values_counted(statistics[EVENT_ROW_COLUMN], file.path)
        if with_values != file.rows - deletes:
            raise FormatError(
                f'file "{file.path}" has {with_values} rows with values for'
                f" {file.rows - deletes} insert and update events"
            )


def _won(files: Sequence[ScanFile], parts: Sequence[_Events]) -> Mask:
    """Which events, of all files of a partition one behind the other, are rows that are seen."""

    def joined(name: str) -> Longs:
        columns: Longs = np.concatenate([getattr(part, name) for part in parts])
        return columns

    keys = [joined(name) for name in ("write_ids", "buckets", "rows")]
    current = joined("event_write_ids")
    statements = np.repeat(
        np.array([file.file.statement_id for file in files], np.int64),
        [len(part.rows) for part in parts],
    )
    valid = np.flatnonzero(joined("valid"))
    newest_last = (statements, current, *reversed(keys))
    order = valid[np.lexsort([column[valid] for column in newest_last])]
    same_row = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in keys])
    ties = same_row & np.logical_and.reduce(
        [column[order][1:] == column[order][:-1] for column in (current, statements)]
    )
    if ties.any():
        one = order[int(ties.argmax())]
        write_id, bucket, row = (int(column[one]) for column in keys)
        raise FormatError(
            f"two events of transaction {int(current[one])} are of one row: write id {write_id},"
            f" bucket {bucket}, row {row}",
            detail="it cannot be told which of them is the newer one",
        )
    last = order[np.append(~same_row, np.ones(min(1, len(order)), np.bool_))]
    won = np.zeros(len(current), np.bool_)
    won[last] = joined("operations")[last] != _DELETE
    return won
