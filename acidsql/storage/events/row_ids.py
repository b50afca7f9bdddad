"""Identities of many rows as arrays: read from files, put in the files' order, looked through for
those that come twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.ids import RowId, WriteId, bucket_ids
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.arrow_arrays import numpy_array
from acidsql.errors import CardinalityError
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIds:
    """Row ids as parallel arrays. ``partition_numbers``: the partitions the rows lie in, where
    they are several.
    """

    write_ids: npt.NDArray[np.int64]
    bucket_properties: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]
    partition_numbers: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> RowIds:
        return self._map(lambda array: array[part])

    def taken(self, order: npt.NDArray[np.int64]) -> RowIds:
        """The row ids at these positions, in this order."""
        return self._map(lambda array: array[order])

    def _map(self, change: Callable[[Any], Any]) -> RowIds:
        return RowIds(
            write_ids=change(self.write_ids),
            bucket_properties=change(self.bucket_properties),
            rows=change(self.rows),
            partition_numbers=change(self.partition_numbers),
        )

    def at(self, position: int) -> RowId:
        return RowId(
            WriteId(int(self.write_ids[position])),
            int(self.bucket_properties[position]),
            int(self.rows[position]),
        )


def row_ids(table: pa.Table, partition_numbers: npt.NDArray[np.int64] | None = None) -> RowIds:
    write_ids, bucket_properties, rows = (numpy_array(table.column(name)) for name in ID_FIELDS)
    if partition_numbers is None:
        partition_numbers = np.zeros(len(rows), np.int64)
    return RowIds(
        write_ids=write_ids,
        bucket_properties=bucket_properties,
        rows=rows,
        partition_numbers=partition_numbers,
    )


def sort_order(ids: RowIds) -> npt.NDArray[np.int64]:
    """Positions in the order of the files: by partition, then by bucket number, then by id."""
    return np.lexsort(
        (
            ids.rows,
            ids.bucket_properties,
            ids.write_ids,
            bucket_ids(ids.bucket_properties),
            ids.partition_numbers,
        )
    )


def check_distinct(
    ordered: RowIds, partitions: Sequence[tuple[str | None, ...]] | None = None
) -> None:
    """Raises CardinalityError naming the least id that comes twice, whichever its partition, as a
    job of Spark's would; equal ids are neighbours in the files' order. ``partitions``: the values
    of each, by its number.
    """
    again = repeats(ordered)
    if again.any():
        rows_hit = int((again & ~np.concatenate([[False], again[:-1]])).sum())
        hit = ordered.taken(np.flatnonzero(again))
        least = int(np.lexsort((hit.rows, hit.bucket_properties, hit.write_ids))[0])
        row_id, number = hit.at(least), int(hit.partition_numbers[least])
        of_row = [hit.at(int(n)) == row_id for n in np.flatnonzero(hit.partition_numbers == number)]
        error = cardinality_error(row_id, rows_hit, sum(of_row) + 1)
        error.partition = None if partitions is None else partitions[number]
        raise error


def repeats(ordered: RowIds) -> npt.NDArray[np.bool_]:
    """For each id of a sorted list whether it is that of the row before it."""
    columns = (
        ordered.rows,
        ordered.write_ids,
        ordered.bucket_properties,
        ordered.partition_numbers,
    )
    same = np.logical_and.reduce([np.diff(column) == 0 for column in columns])
    return np.concatenate([[False], same]) if len(ordered) else np.zeros(0, np.bool_)


def cardinality_error(
    row_id: RowId, rows_hit: int | None = None, changes: int | None = None
) -> CardinalityError:
    """The error that names the first row that is hit twice; how many there are, and by how many
    rows of the source it is hit, if that is known. Hive: GenericUDFCardinalityViolation.
    """
    error = CardinalityError(
        f"Cardinality Violation in Merge statement: [{row_id.write_id}, {row_id.bucket_property},"
        f" {row_id.row}]",
        detail=hit_words(rows_hit, changes, "this one"),
        hint="Make the source rows unique for each row of the target.",
    )
    error.row_id = (row_id.write_id, row_id.bucket_property, row_id.row)
    error.rows_hit, error.changes = rows_hit, changes
    return error


def hit_words(rows_hit: int | None, changes: int | None, row: str) -> str:
    """The detail of such an error, in which the first row is called ``row``."""
    match rows_hit:
        case None:
            hit = "a row of the target"
        case 1:
            hit = "1 row of the target"
        case _:
            hit = f"{rows_hit} rows of the target, this one first,"
    by = "" if changes is None else f": {row} by {changes} of them"
    return f"{hit} would be changed by more than one row of the source{by}"


def read_ids(io: FileIO, paths: Sequence[str]) -> pa.Table:
    """The id columns of several files, one after the other."""
    tables = []
    for path in paths:
        with io.open_input(path) as opened:
            tables.append(orc.ORCFile(opened).read(columns=list(ID_FIELDS)))
    return pa.concat_tables(tables)
