"""Rows of ACID version 1, which Hive wrote before version 3: files of deltas hold insert, update
and delete events (0, 1, 2) beside one another, and there are no delete deltas. Hive 2:
OrcRawRecordMerger.

All events of a row have its ROW__ID. The newest one wins: that of the highest transaction, and of
the highest statement in one. Where it is a delete there is no row, else it holds the row's values.
A base may hold update events, too: a major compaction leaves them as they were. Buckets are plain
numbers, not packed ones, and so are the originals' among such events.

The ids of all events of a partition are merged in memory; values are then read of the winners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from acidsql.acid.ids import BucketId, ValidWriteIdList
from acidsql.acid.orc_tail import values_counted
from acidsql.acid.orc_types import EVENT_FIELDS, EVENT_ROW_COLUMN
from acidsql.errors import FormatError, UnsupportedStatementError
from acidsql.files.fileio import FileIO
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.columns import Longs, read_columns
from acidsql.storage.events.delete_events import valid_mask
from acidsql.storage.footers import FoundFile, ScanFile, first_rows, read_footer

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
