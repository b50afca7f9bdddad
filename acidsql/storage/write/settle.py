"""Puts right, before a transaction commits, what its statements left behind for each other: see
``pending``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from acidsql.acid.bucket_codec import bucket_ids
from acidsql.acid.ids import BucketId
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.storage.row_ids import RowIds, read_ids, row_ids
from acidsql.storage.write import driver_writer
from acidsql.storage.write.encoding import EventFile
from acidsql.storage.write.pending import PendingRoot
from acidsql.storage.write.publish import new_directory
from acidsql.storage.write.target import StagedFile, WriteTarget

Rewrite = Callable[[PendingRoot, Sequence[StagedFile], str, int], list[StagedFile]]
"""``rewrite(root, files, directory, buckets)``: the live rows of some insert files of a root in new
files below ``directory``, with their ids. ``buckets``: one more than the highest bucket number
among them.
"""


def needs_settling(root: PendingRoot) -> bool:
    """Whether statements may have left something for each other: one alone cannot, nor can rows
    without ids.
    """
    return (
        root.table.is_full_acid
        and root.statements > 1
        and bool(root.inserts)
        and (root.overwritten or bool(root.deletes))
    )


def settle(io: FileIO, root: PendingRoot, rewrite: Rewrite) -> PendingRoot:
    """The root with no delete event of an own row, no own row that is deleted, and all rows of an
    overwriting in one base.
    """
    dead, deletes = _without_own(io, root)
    buckets = set(np.unique(bucket_ids(dead.bucket_properties)).tolist()) if len(dead) else set()
    groups: dict[tuple[str, BucketId], list[StagedFile]] = {}
    for file in root.inserts:
        moved = replace(file, directory=root.base) if root.overwritten else file
        groups.setdefault((moved.directory, file.bucket), []).append(moved)
    stale = [
        file
        for (_, bucket), files in groups.items()
        if len(files) > 1 or bucket in buckets
        for file in files
    ]
    kept = [file for files in groups.values() for file in files if file not in stale]
    if stale:
        directory = new_directory(io, root.target)
        kept += rewrite(root, stale, directory, 1 + max(file.bucket for file in stale))
    return replace(root, inserts=tuple(kept), deletes=tuple(deletes))


def _without_own(io: FileIO, root: PendingRoot) -> tuple[RowIds, list[StagedFile]]:
    """The ids of own rows that delete events hit, and the delete files without these events."""
    dead: list[RowIds] = []
    files: list[StagedFile] = []
    for file in root.deletes:
        ids = row_ids(read_ids(io, [file.path]))
        own = ids.write_ids == root.write_id
        if not own.any():
            files.append(file)
            continue
        dead.append(ids.taken(np.flatnonzero(own)))
        files += _rest(io, root.target, file, ids.taken(np.flatnonzero(~own)))
    return _joined(dead), files


def _rest(io: FileIO, target: WriteTarget, file: StagedFile, ids: RowIds) -> Iterable[StagedFile]:
    if not len(ids):
        return []
    events = EventFile(target=target, bucket=file.bucket, ids=ids, values=None)
    staged = in_parallel(
        lambda item: driver_writer.stage_file(io, new_directory(io, target), item), [events]
    )
    return [replace(s, directory=file.directory) for s in staged]


def _joined(parts: Sequence[RowIds]) -> RowIds:
    def column(name: str, kind: type) -> Any:
        return (
            np.concatenate([getattr(part, name) for part in parts]) if parts else np.zeros(0, kind)
        )

    return RowIds(
        write_ids=column("write_ids", np.int64),
        bucket_properties=column("bucket_properties", np.int32),
        rows=column("rows", np.int64),
        partition_numbers=column("partition_numbers", np.int64),
    )
