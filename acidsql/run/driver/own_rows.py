"""Rows that a transaction has written and not taken back: what its commit writes anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.plan.engines import engines
from acidsql.run.driver.operators import Driver, reading_files
from acidsql.storage.scan.orc_file import ID_TYPES
from acidsql.storage.snapshots import TableSnapshot
from acidsql.storage.stored import data_names, needs_java_writer
from acidsql.storage.write import driver_writer
from acidsql.storage.write.pending import PendingRoot
from acidsql.storage.write.target import StagedFile

if TYPE_CHECKING:
    import pyarrow as pa


def live_rows(driver: Driver, snapshot: TableSnapshot) -> pa.Table | None:
    """ID_FIELDS and ``data_names`` of the rows of a snapshot without partition columns; None where
    they are Spark's to read or to write.
    """
    allowed = engines(driver.settings)
    if not allowed.changes_by_driver:
        return None
    try:
        with reading_files():
            rows = _read(driver, snapshot, allowed.read_bytes, allowed.row_bytes)
    except NotHere:
        return None
    return None if rows is None or needs_java_writer(rows) else rows


def _read(
    driver: Driver, snapshot: TableSnapshot, files: int | None, most: int | None
) -> pa.Table | None:
    """The rows; None if the files weigh more than ``files`` bytes, or they themselves more than
    ``most``. NotHere.
    """
    import pyarrow as pa

    names = [column.name for column in snapshot.table.columns]
    if files is not None and driver.scanner.weigh(snapshot, names) > files:
        return None
    parts, weight = [], 0
    for batch in driver.scanner.batches(snapshot, names, ids=True):
        parts.append(batch)
        weight += batch.nbytes
        if most is not None and weight > most:
            return None
    schema = driver.scanner.schema(snapshot, names)
    kinds = [pa.field(name, kind) for name, kind in zip(ID_FIELDS, ID_TYPES, strict=True)]
    table = pa.Table.from_batches(parts, pa.schema([*kinds, *schema]))
    return table.rename_columns([*ID_FIELDS, *data_names(snapshot.table.columns)])


def stage_rows(
    files: FileIO, root: PendingRoot, rows: pa.Table, directory: str
) -> list[StagedFile]:
    """The rows in new files of a directory."""
    kept = driver_writer.kept_files(root.target, rows, one_base=root.overwritten)
    return in_parallel(lambda file: driver_writer.stage_file(files, directory, file), kept)
