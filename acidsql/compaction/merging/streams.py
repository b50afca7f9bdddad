"""The merge of rows that lie in the order of their ids: file behind file, a stream for each bucket.

Every file holds its rows in that order, and those of later write ids in later files: what a sort of
all rows would give is there already, whether a table has a thousand rows or a hundred million.
"""

from __future__ import annotations

from collections import defaultdict

from acidsql.acid.ids import BucketId, decode
from acidsql.expressions.not_here import NotHere
from acidsql.files.parallel import THREADS, in_parallel
from acidsql.storage.events.event_rows import EventRows
from acidsql.storage.footers import ID_COLUMN_NUMBERS, ScanFile, bucket_property
from acidsql.storage.write.streaming import Encoders, stage_stream
from acidsql.storage.write.target import StagedFile, WriteTarget


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
