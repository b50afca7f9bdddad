"""Which row of the target a MERGE would change twice: its values in the columns that ON asks for,
read on the driver, whichever engine met it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from acidsql.acid.bucket_codec import decode
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import numpy_array
from acidsql.errors import CardinalityError, Error
from acidsql.expressions.not_here import NotHere
from acidsql.plan.plans import MergePlan
from acidsql.storage.footers import FoundFile
from acidsql.storage.row_ids import hit_words
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import Snapshots, TableSnapshot

_LONGEST_VALUE = 60


def add_key_values(
    error: CardinalityError,
    plan: MergePlan,
    snapshots: Snapshots,
    scanner: Scanner,
    max_bytes: int,
) -> None:
    """Puts the values into the error's detail. It stays as it is where more than ``max_bytes``
    would be read for them, or they are not found.
    """
    columns = plan.merge.on_columns
    if error.row_id is None or not columns:
        return
    with contextlib.suppress(Error, NotHere, OSError):
        snapshot = _narrowed(snapshots.take(plan.table, snapshots.partitions(plan.table)), error)
        if scanner.weigh(snapshot, columns) > max_bytes:
            return
        batches = scanner.batches(snapshot, columns, ids=True)
        row = next(_hit(batches, error.row_id), None)
        if row is not None:
            values = " and ".join(f"{name} = {_shown(row[name])}" for name in columns)
            error.detail = hit_words(error.rows_hit, error.changes, f"the row with {values}")


def _narrowed(snapshot: TableSnapshot, error: CardinalityError) -> TableSnapshot:
    """The snapshot with the files that may hold the row. It is there: no delete event matters."""
    assert error.row_id is not None
    write_id, bucket_property, _ = error.row_id
    bucket = decode(bucket_property).bucket

    def may_hold(one: FoundFile) -> bool:
        file = one.file
        if file.original:  # rows are numbered through all of them
            return True
        return file.min_write_id <= write_id <= file.max_write_id and file.bucket in (None, bucket)

    partitions = []
    for number, part in enumerate(snapshot.partitions):
        values = part.partition.values if part.partition is not None else ()
        if not error.partition or values == error.partition:
            kept = tuple(file for file in part.insert_files(number) if may_hold(file))
            partitions.append(
                replace(part, directory=None, files=(), own_inserts=kept, own_deletes=())
            )
    return replace(snapshot, partitions=tuple(partitions))


def _hit(
    batches: Iterator[pa.RecordBatch], row_id: tuple[int, int, int]
) -> Iterator[dict[str, object]]:
    for batch in batches:
        # by their places: a column of the table may be called as an id field is
        columns = map(numpy_array, batch.columns[: len(ID_FIELDS)])
        same = np.logical_and.reduce(
            [column == wanted for column, wanted in zip(columns, row_id, strict=True)]
        )
        for position in np.flatnonzero(same):
            names = batch.schema.names[len(ID_FIELDS) :]
            values = batch.columns[len(ID_FIELDS) :]
            yield {
                name: column[int(position)].as_py()
                for name, column in zip(names, values, strict=True)
            }


def _shown(value: object) -> str:
    """A value as a user would write it, cut where it is long."""
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}.."
