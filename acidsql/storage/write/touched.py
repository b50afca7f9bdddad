"""What a statement would write of rows in memory, counted and not written: rows by clause,
partition and bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from acidsql.acid.ids import bucket_ids
from acidsql.catalog.model import Partition
from acidsql.errors import Warning
from acidsql.expressions.losses import Lost
from acidsql.lazy import dataclass
from acidsql.storage.events.row_ids import row_ids
from acidsql.storage.write.driver_writer import bucket_order, row_values
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Rows of one clause (0 for a statement that has none) in one partition and bucket; ``bucket``
    None: any may be chosen.
    """

    clause: int
    partition: Partition | None
    bucket: int | None
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Touching:
    """All that a statement would touch. ``lost``, ``warnings``: see ``Written``."""

    parts: list[Touched]
    lost: tuple[Lost, ...] = ()
    warnings: tuple[Warning, ...] = ()


def by_new_rows(target: WriteTarget, rows: pa.Table, clause: int = 0) -> Iterator[Touched]:
    """What an INSERT touches; its rows are those that ``driver_writer.write_rows`` takes."""
    for part_target, part in target.parts(rows):
        partition = part_target.partition
        for bucket, of_bucket in bucket_order(target.table, row_values(part, target.table.columns)):
            known = int(bucket) if target.table.bucketing is not None else None
            yield Touched(clause=clause, partition=partition, bucket=known, rows=len(of_bucket))


def by_changes(target: WriteTarget, rows: pa.Table, clause: int = 0) -> Iterator[Touched]:
    """What an UPDATE or DELETE touches; its rows are those that ``driver_writer.write_update``
    takes.
    """
    for part_target, part in target.parts(rows) if rows.num_rows else ():
        partition = part_target.partition
        buckets = bucket_ids(row_ids(part).bucket_properties)
        for bucket, count in zip(*np.unique(buckets, return_counts=True), strict=True):
            yield Touched(clause=clause, partition=partition, bucket=int(bucket), rows=int(count))
