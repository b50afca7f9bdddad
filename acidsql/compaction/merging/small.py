"""The merge on the driver, without Spark: Arrow tables in, files out.

rows that lie in the order of their ids   a stream for each bucket, however many there are
other rows, and delete events             sorted in memory, if they fit
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.acid.ids import NO_STATEMENT, BucketId, bucket_ids, decode, encode
from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.catalog.model import FileFormat
from acidsql.compaction.merging.merge import Merge, bytes_of
from acidsql.errors import FormatError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import THREADS, in_parallel
from acidsql.storage.events.delete_events import MAX_EVENTS, DeadIds, DeleteEvents
from acidsql.storage.events.event_rows import CURRENT, EventRows, read_plain, values_of
from acidsql.storage.events.row_ids import RowIds, repeats, row_ids, sort_order
from acidsql.storage.footers import ID_COLUMN_NUMBERS, ScanFile, bucket_property
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.write.driver_writer import (
    EventFile,
    bucket_order,
    row_values,
    runs,
    stage_file,
    stage_plain_file,
)
from acidsql.storage.write.streaming import Encoders, stage_stream
from acidsql.storage.write.target import ID_BYTES, StagedFile, WriteTarget
from acidsql.txn.compactions import CompactionType

# ---- streams of rows
#
# The merge of rows that lie in the order of their ids: file behind file, a stream for each bucket.
#
# Every file holds its rows in that order, and those of later write ids in later files: what a sort
# of all rows would give is there already, whether a table has a thousand rows or a hundred
# million.


def stage_streams(
    events: EventRows, target: WriteTarget, directory: str
) -> list[StagedFile] | None:
    """The finished files of all rows, below ``directory``; None if they do not lie in the order of
    their ids, or only Java can carry them over.
    """
    buckets: defaultdict[BucketId, list[tuple[_LeastKey, ScanFile]]] = defaultdict(list)
    for file in events.files:
        if not file.rows:
            continue
        key = _least_key(file)
        if key is None:
            return None
        buckets[decode(key[1]).bucket].append((key, file))

    def stage(bucket: BucketId) -> StagedFile | None:
        files = [file for _, file in sorted(buckets[bucket], key=lambda keyed: keyed[0])]
        return stage_stream(events.io, encoders, target, directory, bucket, events.batches(files))

    largest_first = sorted(buckets, key=lambda bucket: -sum(f.rows for _, f in buckets[bucket]))
    try:
        with Encoders() as encoders:
            staged = in_parallel(stage, largest_first, threads=THREADS)
        return [file for file in staged if file is not None]
    except NotHere:
        return None


_LeastKey = tuple[int, int, str]
"""The least write id and bucket property of a file, and its path: original files of one bucket are
numbered in the order of these.
"""


def _least_key(file: ScanFile) -> _LeastKey | None:
    """None if its footer does not tell, or it holds rows of several buckets."""
    if file.file.original:
        return file.file.max_write_id, bucket_property(file), file.path
    if len(file.id_statistics) != len(ID_COLUMN_NUMBERS):
        return None
    write_ids, properties, _ = file.ranges
    if write_ids is None or properties is None:
        return None
    if len({decode(value).bucket for value in properties}) > 1:
        return None
    return write_ids[0], properties[0], file.path


# ---- small


_EVENT_BYTES = 2 * ID_BYTES
"""What a delete event weighs in memory."""


def merge_small(
    io: FileIO,
    known: KnownFiles,
    merge: Merge,
    target: WriteTarget,
    directory: str,
    max_bytes: int,
) -> list[StagedFile] | None:
    """The finished files of a compaction of a full ACID table, below ``directory``; None if the
    inputs are larger than ``max_bytes``, or only Spark can merge them.
    """
    if target.force_path == "big" or bytes_of(merge) > max_bytes:
        return None
    events = _event_rows(io, known, merge, target)
    deletes = small_deletes(io, known, merge, target) if merge.inputs.is_minor else []
    if events is None or deletes is None:
        return None
    io.make_directory(directory)
    inserts = _staged_inserts(events, merge, target, directory)
    if inserts is None:
        return None
    return inserts + in_parallel(lambda file: stage_file(io, directory, file), deletes)


def _staged_inserts(
    events: EventRows, merge: Merge, target: WriteTarget, directory: str
) -> list[StagedFile] | None:
    is_rebalance = merge.inputs.type is CompactionType.REBALANCE
    if not is_rebalance and (staged := stage_streams(events, target, directory)) is not None:
        return staged
    if merge.order_by is not None or bytes_of(merge) > target.max_bytes:
        return None
    rows = events.table(target.max_bytes)
    if rows is None:
        return None
    if is_rebalance:
        rows = _renumbered(rows, merge.bucket_count)
    files = list(insert_files(target, rows))
    return in_parallel(lambda file: stage_file(events.io, directory, file), files)


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
    leading = [arrow_array(column) for column in (write_ids, properties, numbers, write_ids)]
    values = rows.take(arrow_array(order)).columns[len(leading) :]
    return pa.Table.from_arrays([*leading, *values], names=rows.column_names)


def _event_rows(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget
) -> EventRows | None:
    """The rows of the inputs; None if the delete events that hit them weigh too much."""
    snapshot = merge.snapshot()
    dead = None
    if not merge.inputs.is_minor:
        events = _delete_events(io, known, merge, target)
        if events is None:
            return None
        dead = DeadIds.of(events)
    return EventRows(
        io=io,
        files=known.footers.insert_files(io, snapshot.insert_files),
        columns=merge.table.columns,
        write_ids=snapshot.write_ids,
        dead=dead,
    )


def _delete_events(
    io: FileIO, known: KnownFiles, merge: Merge, target: WriteTarget
) -> list[DeleteEvents] | None:
    """The delete events of each input; None if they weigh too much."""
    files = known.footers.delete_files(io, merge.snapshot().delete_files)
    if sum(file.rows for file in files) * _EVENT_BYTES > target.max_bytes:
        return None
    return known.events.parts(files, merge.write_ids, keep=MAX_EVENTS)


def insert_files(target: WriteTarget, rows: pa.Table) -> Iterator[EventFile]:
    """A file for each bucket number of ``rows`` (``EventRows``). FormatError if two rows have one
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
    current = numpy_array(rows.column(CURRENT))[order]
    values = row_values(values_of(rows), target.table.columns)
    for bucket, part in runs(bucket_ids(ordered.bucket_properties)):
        yield EventFile(
            target=target,
            bucket=bucket,
            ids=ordered[part],
            values=values.take(arrow_array(order[part])),
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
