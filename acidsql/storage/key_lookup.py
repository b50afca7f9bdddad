"""The join of a small MERGE without a job of Spark's: rows of the target are looked up by their
keys on the driver.

Only the key columns of the insert files are read, and the row numbers of those files that hold a
match: a hundred thousand keys are found among a million rows in the time Spark takes to plan the
join. Where anything but equal keys of one plain type counts, Spark joins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.acid.orc_types import ID_FIELDS, ROW_FIELD
from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.model import Column
from acidsql.catalog.types import PrimitiveType
from acidsql.errors import FormatError
from acidsql.expressions.spark_words import SOURCE_ROW
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.storage.events.delete_events import MAX_EVENTS, DeadIds, valid_mask
from acidsql.storage.file_layout import Longs, layout, read_columns, read_table
from acidsql.storage.footers import ScanFile, bucket_property, first_rows
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.partitions import canonical, key_names
from acidsql.storage.stored import orc_type

if TYPE_CHECKING:
    from acidsql.storage.snapshots import TableSnapshot

Keys = Sequence[tuple[Column, pa.ChunkedArray]]
"""Columns of a table with a source's values for them."""

KEY_TYPES = frozenset(map(PrimitiveType, ("tinyint", "smallint", "int", "bigint", "string")))
"""Types whose values are equal to Spark where they are equal to Arrow."""

MAX_ROWS = 16_000_000
"""The most rows whose keys are read here; Spark reads more of them on several machines at once."""

_ROWS_AT_ONCE = 2_000_000


class KeyLookup:
    """Looks keys up for one session. ``max_events``: so many delete events may be kept in
    memory."""

    def __init__(self, known: KnownFiles, max_events: int) -> None:
        self._known = known
        self._max_events = max_events

    @property
    def _io(self) -> FileIO:
        return self._known.events.io

    def pairs(self, snapshot: TableSnapshot, keys: Keys, limit: int) -> pa.Table | None:
        """Each row of the snapshot with each source row of equal keys: SOURCE_ROW, ID_FIELDS,
        ``key_names``.

        None if it takes Spark: for too many rows, events or pairs (more than ``limit``), or files
        of other types. FormatError names a file that is not as it must be.
        """
        table = snapshot.table
        footers = self._known.footers
        inserts = footers.insert_files(self._io, snapshot.insert_files)
        deletes = footers.delete_files(self._io, snapshot.delete_files)
        wanted = SourceKeys.of([values for _, values in keys])
        names = [
            _stored_names(file, [column for column, _ in keys], table.columns) for file in inserts
        ]
        if self._is_too_much(inserts, deletes) or wanted is None or None in names:
            return None
        first_row = first_rows([file for file in inserts if file.file.original])
        dead = DeadIds.of(
            self._known.events.parts(deletes, snapshot.write_ids, keep=self._max_events)
        )
        parts = [
            _table(
                _NOTHING,
                [_NOTHING] * len(ID_FIELDS),
                [""] * len(table.partition_columns),
                key_names(table),
            )
        ]
        count = 0
        read = partial(self._live_pairs, snapshot, first_row, dead)
        # A file that is older than a key column has NULLs there, which equal nothing.
        readable = [
            (file, of_file)
            for file, of_file in zip(inserts, names, strict=True)
            if of_file and file.rows
        ]
        for file, positions, source_rows in self._matches(readable, wanted):
            count += len(positions)
            if count > limit:
                return None
            parts.append(read(file, positions, source_rows))
        return pa.concat_tables(parts)

    def _is_too_much(self, inserts: Sequence[ScanFile], deletes: Sequence[ScanFile]) -> bool:
        rows = sum(file.rows for file in inserts)
        events = sum(file.rows for file in deletes)
        return rows > MAX_ROWS or events > min(self._max_events, MAX_EVENTS)

    def _live_pairs(
        self,
        snapshot: TableSnapshot,
        first_row: Callable[[ScanFile], int],
        dead: DeadIds,
        file: ScanFile,
        positions: Longs,
        source_rows: Longs,
    ) -> pa.Table:
        """The pairs of one file whose rows are visible and alive."""
        table = snapshot.table
        ids, visible = self._identities(
            file, positions, first_row(file) if file.file.original else 0, snapshot
        )
        visible &= dead.alive(file.partition_number, *ids)
        partition = snapshot.partitions[file.partition_number].partition
        values = canonical(table.partition_columns, partition.values) if partition else ()
        live_ids = [column[visible] for column in ids]
        return _table(source_rows[visible], live_ids, values, key_names(table))

    def _matches(
        self, files: Sequence[tuple[ScanFile, tuple[str, ...]]], wanted: SourceKeys
    ) -> Iterator[tuple[ScanFile, Longs, Longs]]:
        """The positions of matching rows in each file that has some, with the numbers of the
        source's rows.
        """
        for some in _batches(files):
            columns = in_parallel(lambda item: _read_keys(self._io, *item), some)
            together = [
                pa.chunked_array([chunk for of_file in columns for chunk in of_file[i].chunks])
                for i in range(len(columns[0]))
            ]
            positions, source_rows = wanted.matches(together)
            edges = np.cumsum([0, *(file.rows for file, _ in some)])
            bounds = np.searchsorted(positions, edges)
            for number, (file, _) in enumerate(some):
                within = slice(bounds[number], bounds[number + 1])
                if within.start < within.stop:
                    yield file, positions[within] - edges[number], source_rows[within]

    def _identities(
        self, file: ScanFile, positions: Longs, first_row: int, snapshot: TableSnapshot
    ) -> tuple[list[Longs], npt.NDArray[np.bool_]]:
        """The three ids of the rows at ``positions``, and which of them are visible."""
        visible = np.ones(len(positions), np.bool_)
        if file.file.original:
            write_id, bucket = (
                np.full(len(positions), file.file.max_write_id),
                np.full(len(positions), bucket_property(file)),
            )
            return [
                write_id.astype(np.int64),
                bucket.astype(np.int64),
                first_row + positions,
            ], visible
        filtered = file.file.needs_row_filter and snapshot.write_ids is not None
        id_range = file.ids
        if id_range is not None and not filtered:
            [rows] = read_columns(self._io, file.path, ID_FIELDS[2:])
            same = [
                np.full(len(positions), value, np.int64)
                for value in (id_range.write_id, id_range.bucket_property)
            ]
            return [*same, rows[positions]], visible
        *ids, written = read_columns(self._io, file.path, (*ID_FIELDS, "currentTransaction"))
        if filtered and snapshot.write_ids is not None:
            visible = valid_mask(written[positions], snapshot.write_ids)
        return [column[positions] for column in ids], visible


class SourceKeys:
    """The source's keys, each combination as one number."""

    def __init__(self, values: Sequence[pa.Array], columns: Sequence[pa.ChunkedArray]) -> None:
        self._values = values
        self._columns = columns

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> SourceKeys | None:
        """The keys in these columns; None if the combinations are too many to be numbered."""
        values = [pc.drop_null(pc.unique(column)) for column in columns]
        return cls(values, columns) if math.prod(map(len, values)) < 1 << 62 else None

    @cached_property
    def _sorted(self) -> tuple[Longs, Longs]:
        """The numbers of the source's rows in their order, and the rows."""
        numbers = self._numbers(self._columns)
        rows = np.flatnonzero(numbers >= 0)
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        return numbers[rows], rows

    def matches(self, columns: Sequence[pa.ChunkedArray]) -> tuple[Longs, Longs]:
        """Positions of rows, ascending, and the source's row that each of them equals; a row that
        equals several comes as often.
        """
        known, rows = self._sorted
        numbers = self._numbers(columns)
        positions = np.flatnonzero(numbers >= 0)
        first, last = (
            np.searchsorted(known, numbers[positions], side) for side in ("left", "right")
        )
        counts = last - first
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return np.repeat(positions, counts), rows[starts + np.arange(len(starts))]

    def mask(self, columns: Sequence[pa.ChunkedArray]) -> npt.NDArray[np.bool_]:
        """Which rows equal any of the source's."""
        numbers = self._numbers(columns)
        mask: npt.NDArray[np.bool_] = numbers >= 0
        if len(columns) > 1:  # a combination may be in no row of the source
            known, _ = self._sorted
            nearest = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            mask = mask & (known[nearest] == numbers) if len(known) else np.zeros_like(mask)
        return mask

    def _numbers(self, columns: Sequence[pa.ChunkedArray]) -> Longs:
        """The number of each row's combination; -1 for a value that is NULL or not the source's."""
        count = len(columns[0])
        numbers, unknown = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        for column, values in zip(columns, self._values, strict=True):
            positions = filled(pc.index_in(column, value_set=values), -1)
            indexes = numpy_array(positions).astype(np.int64)
            unknown |= indexes < 0
            numbers = numbers * len(values) + indexes
        numbers[unknown] = -1
        return numbers


_NOTHING = np.array([], np.int64)


def _table(
    source_rows: Longs, ids: Sequence[Longs], values: Sequence[str], names: Sequence[str]
) -> pa.Table:
    kinds = (pa.int64(), pa.int32(), pa.int64())
    columns = {SOURCE_ROW: arrow_array(source_rows, pa.int64())}
    columns |= {
        name: arrow_array(column, kind)
        for name, column, kind in zip(ID_FIELDS, ids, kinds, strict=True)
    }
    return pa.table(
        columns
        | {
            name: pa.repeat(arrow_scalar(text), len(source_rows))
            for name, text in zip(names, values, strict=True)
        }
    )


def _stored_names(
    file: ScanFile, keys: Sequence[Column], columns: tuple[Column, ...]
) -> tuple[str, ...] | None:
    """How the file names the keys; () if it has not all of them, None if it has one under another
    type or a name Arrow cannot say.
    """
    names_by_key = {
        stored.column.name: stored.name
        for stored in layout(columns, file.columns, original=file.file.original).file_columns
    }
    kinds = dict(zip(file.columns.names, file.columns.children, strict=True))
    names = [names_by_key[column.name] for column in keys if column.name in names_by_key]
    if len(names) < len(keys):
        return ()
    if len(kinds) < len(file.columns.names) or any(
        kinds[name] != orc_type(column.type) or "." in name
        for name, column in zip(names, keys, strict=True)
    ):
        return None
    return tuple(names if file.file.original else [f"{ROW_FIELD}.{name}" for name in names])


def _read_keys(io: FileIO, file: ScanFile, names: tuple[str, ...]) -> list[pa.ChunkedArray]:
    table = read_table(io, file.path, names)
    if not file.file.original:
        table = table.flatten()
    columns = [table.column(name) for name in names]
    if any(len(column) != file.rows for column in columns):
        raise FormatError(
            f'file "{file.path}" holds {len(columns[0])} rows, by its footer {file.rows}'
        )
    return columns


def _batches(
    files: Sequence[tuple[ScanFile, tuple[str, ...]]],
) -> Iterator[list[tuple[ScanFile, tuple[str, ...]]]]:
    """Files that are looked at together."""
    batch: list[tuple[ScanFile, tuple[str, ...]]] = []
    rows = 0
    for file, names in files:
        if batch and rows + file.rows > _ROWS_AT_ONCE:
            yield batch
            batch, rows = [], 0
        batch.append((file, names))
        rows += file.rows
    if batch:
        yield batch
