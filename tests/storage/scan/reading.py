"""What tests of the scan ask of it: all rows of a snapshot, by the driver and by Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acidsql.acid.ids import ROW_ID_COLUMN
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.expressions.pruning import Predicate
from acidsql.files.local_files import LOCAL
from acidsql.spark import jvm
from acidsql.spark.read.answers import wall_clock
from acidsql.spark.read.reader import SnapshotReader
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import TableSnapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]


def names(snapshot: TableSnapshot) -> list[str]:
    return [c.name for c in (*snapshot.table.columns, *snapshot.table.partition_columns)]


def scanned(
    snapshot: TableSnapshot,
    columns: Sequence[str] | None = None,
    *,
    ids: bool = False,
    predicates: Iterable[Predicate] = (),
    batch_rows: int = 1000,
) -> pa.Table:
    """The rows of a snapshot as the driver reads them, with the ids first if they are asked for."""
    known = KnownFiles.of(LOCAL)
    try:
        found = list(
            Scanner(known).batches(
                snapshot,
                names(snapshot) if columns is None else columns,
                ids=ids,
                predicates=predicates,
                batch_rows=batch_rows,
            )
        )
    finally:
        known.close()
    assert all(0 < len(batch) <= batch_rows for batch in found)
    return pa.Table.from_batches(found) if found else pa.table({})


def by_spark(
    spark: SparkSession, reader: SnapshotReader, snapshot: TableSnapshot, *, ids: bool = False
) -> pa.Table:
    """The same rows as Spark's reader shows them."""
    view = reader.view(snapshot, row_id=ids)
    rows = wall_clock(jvm.arrow_table(spark.sql(f"SELECT * FROM {view}")))
    if not ids:
        return rows
    parts = rows.column(ROW_ID_COLUMN).combine_chunks().flatten()
    kept = rows.drop_columns([ROW_ID_COLUMN])
    return pa.Table.from_arrays([*parts, *kept.columns], names=[*ID_FIELDS, *kept.column_names])


def rows_of(table: pa.Table) -> list[Row]:
    """All rows in an order of their own; floating point numbers by their digits, so that NaN is
    NaN.
    """
    return sorted((tuple(map(_shown, row.values())) for row in table.to_pylist()), key=repr)


def _shown(value: Any) -> Any:
    match value:
        case float():
            return repr(value)
        case list():
            return [_shown(item) for item in value]
        case tuple():
            return tuple(map(_shown, value))
        case dict():
            return {name: _shown(item) for name, item in value.items()}
    return value
