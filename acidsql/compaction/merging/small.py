"""The merge of rows and events that fit the driver, without Spark: Arrow tables in, files out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.acid.bucket_codec import bucket_ids, encode
from acidsql.acid.ids import NO_STATEMENT, BucketId
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import FileFormat
from acidsql.compaction.merging.merge import Merge, bytes_of
from acidsql.errors import FormatError
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.storage.delete_events import MAX_EVENTS, DeadIds, DeleteEvents
from acidsql.storage.event_rows import CURRENT, read_events, read_plain
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.row_ids import RowIds, repeats, row_ids, sort_order
from acidsql.storage.write.driver_writer import (
    EventFile,
    bucket_order,
    row_values,
    runs,
    stage_file,
    stage_plain_file,
)
from acidsql.storage.write.target import ID_BYTES, StagedFile, WriteTarget
from acidsql.txn.compactions import CompactionType

_EVENT_BYTES = 2 * ID_BYTES
"""What a delete event weighs in memory."""


def merge_small(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget, directory: str
) -> list[StagedFile] | None:
    """The finished files of a compaction of a full ACID table, below ``directory``; None if its
    events weigh more than the target's ``max_bytes``, or only Java can carry them over.
    """
    if target.force_path == "big" or bytes_of(merge) > target.max_bytes:
        return None
    rows = _insert_rows(io, known, merge, target)
    if rows is None:
        return None
    if merge.inputs.type is CompactionType.REBALANCE:
        if merge.order_by is not None:
            return None
        rows = _renumbered(rows, merge.bucket_count)
    files = list(insert_files(target, rows))
    if merge.inputs.is_minor:
        deletes = small_deletes(io, known, merge, target)
        if deletes is None:
            return None
        files += deletes
    io.make_directory(directory)
    return in_parallel(lambda file: stage_file(io, directory, file), files)


def merge_plain(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget, directory: str
) -> list[StagedFile] | None:
    """The finished files of a compaction of an insert-only table, without events, one for each
    bucket; None as above.
    """
    is_orc = merge.table.file_format is FileFormat.ORC
    if not is_orc or target.force_path == "big" or bytes_of(merge) > target.max_bytes:
        return None
    files = known.footers.insert_files(io, merge.plain_snapshot.insert_files)
    rows = read_plain(io, files, merge.table.columns, target.max_bytes)
    if rows is None:
        return None
    io.make_directory(directory)
    values = row_values(rows, target.table.columns)
    return [
        stage_plain_file(io, target, directory, bucket, part)
        for bucket, part in bucket_order(target.table, values)
    ]


def _renumbered(rows: pa.Table, buckets: int) -> pa.Table:
    """The rows in the order of their ids, numbered through, in buckets of one size. Hive:
    CompactionQueryBuilderForRebalance.
    """
    ids = row_ids(rows)
    order = np.lexsort((ids.rows, ids.bucket_properties, ids.write_ids))
    numbers = np.arange(len(order), dtype=np.int64)
    of_bucket = max(1, -(-len(order) // buckets))
    properties = (encode(BucketId(0), NO_STATEMENT) + (numbers // of_bucket << 16)).astype(np.int32)
    write_ids = ids.write_ids[order]
    leading = [pa.array(column) for column in (write_ids, properties, numbers, write_ids)]
    values = rows.take(pa.array(order)).columns[len(leading) :]
    return pa.Table.from_arrays([*leading, *values], names=rows.column_names)


def _insert_rows(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget
) -> pa.Table | None:
    snapshot = merge.snapshot()
    inserts = known.footers.insert_files(io, snapshot.insert_files)
    dead = None
    if not merge.inputs.is_minor:
        events = _delete_events(io, known, merge, target)
        if events is None:
            return None
        dead = DeadIds.of(events)
    return read_events(io, inserts, merge.table.columns, snapshot.write_ids, dead, target.max_bytes)


def _delete_events(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget
) -> list[DeleteEvents] | None:
    """The delete events of each input; None if they weigh too much."""
    files = known.footers.delete_files(io, merge.snapshot().delete_files)
    if sum(file.rows for file in files) * _EVENT_BYTES > target.max_bytes:
        return None
    return known.events.parts(files, merge.write_ids, keep=MAX_EVENTS)


def insert_files(target: WriteTarget, rows: pa.Table) -> Iterator[EventFile]:
    """A file for each bucket number of ``rows`` (``read_events``). FormatError if two rows have one
    id.
    """
    ids = row_ids(rows)
    order = sort_order(ids)
    ordered = ids.taken(order)
    again = repeats(ordered)
    if again.any():
        raise FormatError(
            f"two rows of {target.table.name} have the ROW__ID {ordered.at(int(again.argmax()))}"
        )
    current = rows.column(CURRENT).to_numpy()[order]
    values = row_values(
        rows.select(list(range(len(ID_FIELDS) + 1, rows.num_columns))), target.table.columns
    )
    for bucket, part in runs(bucket_ids(ordered.bucket_properties)):
        yield EventFile(
            target=target,
            bucket=bucket,
            ids=ordered[part],
            values=values.take(pa.array(order[part])),
            event_write_ids=current[part],
        )


def small_deletes(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget
) -> list[EventFile] | None:
    """A file of delete events for each bucket number that they hit, whichever files they come from;
    None if they weigh too much. Of several that hit one row the first stays.
    """
    parts = _delete_events(io, known, merge, target)
    if parts is None:
        return None
    ids, current = _joined(parts)
    order = np.lexsort((current, sort_rank(ids)))
    ordered, current = ids.taken(order), current[order]
    kept = np.flatnonzero(~repeats(ordered))
    ordered, current = ordered.taken(kept), current[kept]
    return [
        EventFile(
            target=target,
            bucket=bucket,
            ids=ordered[part],
            values=None,
            event_write_ids=current[part],
        )
        for bucket, part in runs(bucket_ids(ordered.bucket_properties))
    ]


def sort_rank(ids: RowIds) -> npt.NDArray[np.int64]:
    """For each id its rank in the files' order; equal ids have equal ranks."""
    order = sort_order(ids)
    ranks = np.zeros(len(ids), np.int64)
    ranks[order] = np.cumsum(~repeats(ids.taken(order)))
    return ranks


def _joined(parts: list[DeleteEvents]) -> tuple[RowIds, npt.NDArray[np.int64]]:
    def column(name: str) -> npt.NDArray[np.int64]:
        return np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in parts)])

    ids = RowIds(
        write_ids=column("write_ids"),
        bucket_properties=column("bucket_properties").astype(np.int32),
        rows=column("rows"),
        partition_numbers=column("partition_numbers"),
    )
    return ids, column("event_write_ids")
