"""The visible rows of a table snapshot as record batches: what ``spark.read.reader`` shows, without
Spark. Hive: VectorizedOrcAcidRowBatchReader.

    insert files  --only the columns asked for, stripe by stripe, in a few threads-->  rows
    delete files  --read and kept by file-->  dead ids  --a mask for each stripe-->  live rows
    raw files     --ids made of places-->  rows

Values are those that Spark gives, or the scan is Spark's: NotHere, mostly before the first
batch, by the files' footers; dates and timestamps of the first and the second calendar are told by
their values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby

import pyarrow as pa

from acidsql.acid.orc_types import ID_FIELDS, column_numbers
from acidsql.arrow_arrays import arrow_scalar
from acidsql.catalog.attached import is_attached
from acidsql.catalog.model import DEFAULT_PARTITION, Column, FileFormat
from acidsql.catalog.types import PrimitiveType, arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import Comparison, Predicate
from acidsql.expressions.stores import typed
from acidsql.files.fileio import FileIO, FileReader, split_url
from acidsql.lazy import dataclass
from acidsql.storage.events.delete_events import MAX_EVENTS, DeadIds
from acidsql.storage.file_layout import layout
from acidsql.storage.footers import FileKey, Kept, ScanFile, first_rows, read_footer
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.orc_file import (
    ID_TYPES,
    Columns,
    FileRead,
    plan_file,
    read_few,
    read_stripes,
)
from acidsql.storage.scan.stripe_reader import Mask
from acidsql.storage.snapshots import TableSnapshot

BATCH_ROWS = 131_072

PARTITION_NUMBER = "acidsql_partition_number"
"""The column that tells which of a snapshot's partitions a row is of."""


@dataclass(frozen=True, slots=True)
class Where:
    """What rows must meet. ``test`` gives a boolean for each row of a batch of ``columns``, NULL
    for no; it is called in several threads, before further columns are read.
    """

    columns: tuple[str, ...]
    test: Callable[[pa.RecordBatch], pa.Array]


class Scanner:
    """Reads tables for one session. ``max_events`` tells how many delete events may be kept in
    memory; never more than MAX_EVENTS are.
    """

    def __init__(
        self, known: KnownFiles, max_events: Callable[[], int] = lambda: MAX_EVENTS
    ) -> None:
        self._known = known
        self._max_events = max_events
        self._skipping = Skipping()
        self._last_dead: tuple[object, DeadIds] = None, DeadIds.of([])

    @property
    def _io(self) -> FileIO:
        return self._known.events.io

    def weigh(self, snapshot: TableSnapshot, columns: Sequence[str]) -> int:
        """The most compressed bytes that a scan of these columns reads: the sizes of its files, of
        which those with rows count for nothing where no data column is asked for.
        """
        stored = {column.name for column in snapshot.table.columns}
        files = snapshot.delete_files
        if not stored.isdisjoint(name.lower() for name in columns):
            files = [*files, *snapshot.insert_files]
        return sum(file.file.size for file in files)

    def batches(
        self,
        snapshot: TableSnapshot,
        columns: Sequence[str],
        *,
        predicates: Iterable[Predicate] = (),
        where: Where | None = None,
        ids: bool = False,
        partition_numbers: bool = False,
        batch_rows: int = BATCH_ROWS,
        files: FileReader | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The visible rows, in the order of partitions, files and rows: ID_FIELDS if ``ids`` are
        asked for, the columns by their names, PARTITION_NUMBER if it is asked for. No batch is
        empty or has more than ``batch_rows`` rows.

        ``predicates``: conjuncts of ``where``, or of what the caller tests himself; they only help
        to skip data. ``files``: what opens those with rows, when these are asked for. NotHere
        where Spark may read other values, at once or, by the values, from any batch. FormatError
        names a file that is not as it must be.
        """
        shape = _Shape.of(snapshot, columns, ids=ids, partition_numbers=partition_numbers)
        tested = None if where is None else _Shape.of(snapshot, where.columns)
        given = tuple(predicates)
        scan = _Scan(shape=shape, reads=tuple(self._reads(snapshot, shape, tested, where, given)))
        return _bounded(self._read(files or self._io, scan), batch_rows)

    def schema(self, snapshot: TableSnapshot, columns: Sequence[str]) -> pa.Schema:
        """The schema of the batches of these columns. NotHere, too, for a partition's value."""
        return _Shape.of(snapshot, columns).schema

    def _reads(
        self,
        snapshot: TableSnapshot,
        shape: _Shape,
        tested: _Shape | None,
        where: Where | None,
        predicates: Sequence[Predicate],
    ) -> Iterator[FileRead]:
        table = snapshot.table
        if table.file_format is not FileFormat.ORC:
            raise NotHere(f"the table is stored as {table.file_format}")
        footers, may_mix = self._known.footers, is_attached(table)
        files = footers.insert_files(self._io, snapshot.insert_files, mixed=may_mix)
        inserts = [file for file in files if file.rows]
        visible = self._visible(snapshot, inserts)
        first = first_rows([file for file in inserts if file.file.original])
        dead = self._dead(snapshot, inserts)
        columns = Columns(table.columns, shape.stored, tested.stored if tested else ())
        for file in inserts:
            if not self._skipping.may_hold(self._io, file, table.columns, predicates):
                continue
            rows = visible.get(file.path)
            filtered = file.file.needs_row_filter and not file.file.original and rows is None
            keep = None
            if where is not None and tested is not None:
                keep = partial(_kept, where, tested, file.partition_number)
            read = plan_file(
                file,
                columns,
                ids=shape.ids,
                keep=keep,
                dead=dead if file.partition_number in dead.partition_numbers else None,
                write_ids=snapshot.write_ids if filtered else None,
                first_row=first(file) if file.file.original else 0,
                known=self._known,
                visible=rows,
            )
            if read is not None:
                yield read

    def _visible(self, snapshot: TableSnapshot, inserts: Sequence[ScanFile]) -> Mapping[str, Mask]:
        """Which rows are visible of the files of partitions with ``old_events``, by path."""
        if not any(file.mixed for file in inserts):
            return {}
        from acidsql.storage.events.event_rows import winners

        return winners(self._io, inserts, snapshot.delete_files, snapshot.write_ids)

    def _dead(self, snapshot: TableSnapshot, inserts: Sequence[ScanFile]) -> DeadIds:
        files = snapshot.delete_files if inserts else ()
        deletes = self._known.footers.delete_files(self._io, files)
        deletes = tuple(file for file in deletes if file.rows)
        if not deletes:
            return DeadIds.of([])
        most = min(self._max_events(), MAX_EVENTS)
        if (count := sum(file.rows for file in deletes)) > most:
            raise NotHere(f"there are {count} delete events")
        filtered = any(file.file.needs_row_filter for file in deletes)
        key = deletes, snapshot.write_ids if filtered else None
        last_key, dead = self._last_dead  # another thread may set both
        if key != last_key:
            dead = DeadIds.of(self._known.events.parts(deletes, snapshot.write_ids, keep=most))
            self._last_dead = key, dead
        return dead

    def _read(self, io: FileReader, scan: _Scan) -> Iterator[pa.RecordBatch]:
        work = partial(_work, io, scan.shape)
        return chain.from_iterable(self._known.workers.ahead(work, scan.tasks()))


Piece = tuple[FileRead, range]
"""A file, and stripes of it that follow on each other."""


def _work(io: FileReader, shape: _Shape, task: Sequence[Piece]) -> list[pa.RecordBatch]:
    parts = []
    for few_of, pieces in groupby(task, key=_few_of):
        if few_of is not None:
            few = read_few(io, [read for read, _ in pieces])
            parts += [] if few is None else [shape.batch(few, few_of)]
            continue
        for read, stripes in pieces:
            rows = read_stripes(io, read, stripes)
            parts += [] if rows is None else [shape.batch(rows, read.file.partition_number)]
    return parts


def _few_of(piece: Piece) -> int | None:
    """The partition whose files of few rows are read together, if the piece is one of these."""
    read, stripes = piece
    whole = len(stripes) == len(read.file.stripes)
    return read.file.partition_number if whole and read.few_rows else None


def _kept(where: Where, shape: _Shape, partition_number: int, rows: pa.RecordBatch) -> pa.Array:
    return where.test(shape.batch(rows, partition_number))


@dataclass(frozen=True, slots=True)
class _Shape:
    """What batches look like. ``order``: for each column asked for, whether it is read of files,
    and its ordinal among those that are (``stored``), or among the partition columns. ``keys``:
    the values of each partition.
    """

    schema: pa.Schema
    stored: tuple[Column, ...]
    keys: tuple[tuple[pa.Scalar, ...], ...]
    order: tuple[tuple[bool, int], ...]
    ids: bool
    partition_numbers: bool

    @classmethod
    def of(
        cls,
        snapshot: TableSnapshot,
        names: Sequence[str],
        *,
        ids: bool = False,
        partition_numbers: bool = False,
    ) -> _Shape:
        table = snapshot.table
        data = {column.name: column for column in table.columns}
        keys = {column.name: number for number, column in enumerate(table.partition_columns)}
        wanted = [name.lower() for name in names]
        stored = list(dict.fromkeys(name for name in wanted if name in data))
        order = tuple(
            (True, stored.index(name)) if name in data else (False, keys[name]) for name in wanted
        )
        fields = [
            pa.field(
                name,
                arrow_type(
                    (data[name] if name in data else table.partition_columns[keys[name]]).type
                ),
            )
            for name in wanted
        ]
        if ids:
            fields = [*map(pa.field, ID_FIELDS, ID_TYPES), *fields]
        if partition_numbers:
            fields.append(pa.field(PARTITION_NUMBER, pa.int32()))
        used = {number for is_stored, number in order if not is_stored}
        return cls(
            schema=pa.schema(fields),
            stored=tuple(data[name] for name in stored),
            keys=_keys(snapshot, used),
            order=order,
            ids=ids,
            partition_numbers=partition_numbers,
        )

    def batch(self, rows: pa.RecordBatch, partition_number: int) -> pa.RecordBatch:
        """A batch of what was read of a file of this partition."""
        if not len(self.schema):
            return rows
        count = len(rows)
        leading = len(ID_FIELDS) if self.ids else 0
        values = rows.columns[leading:]
        arrays = rows.columns[:leading]
        for is_stored, ordinal in self.order:
            arrays.append(
                values[ordinal]
                if is_stored
                else pa.repeat(self.keys[partition_number][ordinal], count)
            )
        if self.partition_numbers:
            arrays.append(pa.repeat(arrow_scalar(partition_number, pa.int32()), count))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _keys(snapshot: TableSnapshot, used: set[int]) -> tuple[tuple[pa.Scalar, ...], ...]:
    """The values of each partition; of columns that are not ``used`` NULLs. NotHere."""
    columns = snapshot.table.partition_columns
    return tuple(
        tuple(
            _key(
                column, part.partition.values[number] if part.partition and number in used else None
            )
            for number, column in enumerate(columns)
        )
        for part in snapshot.partitions
    )


def _key(column: Column, text: str | None) -> pa.Scalar:
    return arrow_scalar(key_value(column, text), arrow_type(column.type))


def key_value(column: Column, text: str | None) -> object:
    """The value of a partition column that stands as ``text`` in the catalog, as Arrow takes it.
    NotHere for a text that is none.
    """
    if text is None or text == DEFAULT_PARTITION:
        return None
    value = typed(text, column.type)
    if value is None:
        raise NotHere(f'a partition has "{text}" as its value of column "{column.name}"')
    return value


@dataclass(frozen=True, slots=True)
class _Scan:
    shape: _Shape
    reads: tuple[FileRead, ...]

    def tasks(self) -> Iterator[Sequence[Piece]]:
        """What is read at once: pieces that have ``BATCH_ROWS`` rows together. Files of a distant
        file system are not read one behind the other.
        """
        task: list[Piece] = []
        rows = 0
        for piece in self._pieces():
            read, stripes = piece
            if task and split_url(read.file.path) is not None:
                yield task
                task, rows = [], 0
            task.append(piece)
            rows += sum(read.file.stripes[number][1] for number in stripes)
            if rows >= BATCH_ROWS:
                yield task
                task, rows = [], 0
        if task:
            yield task

    def _pieces(self) -> Iterator[Piece]:
        for read in self.reads:
            start = rows = 0
            for number, (_, count) in enumerate(read.file.stripes):
                rows += count
                if rows >= BATCH_ROWS:
                    yield read, range(start, number + 1)
                    start, rows = number + 1, 0
            if rows:
                yield read, range(start, len(read.file.stripes))


def _bounded(parts: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """All rows in batches of ``most`` rows or fewer; small ones are put together."""
    small: list[pa.RecordBatch] = []
    rows = 0
    for part in parts:
        if small and (rows + len(part) > most or len(part) >= most // 8):
            yield _together(small)
            small, rows = [], 0
        if len(part) >= most // 8:
            yield from (part.slice(at, most) for at in range(0, len(part), most))
        else:
            small.append(part)
            rows += len(part)
    if small:
        yield _together(small)


def _together(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


# ---- stripes that are skipped


MAX_KEPT = 1024
"""Files whose ranges are kept for the next scan."""

_WHOLE_NUMBERS = frozenset(map(PrimitiveType, ("tinyint", "smallint", "int", "bigint")))
_Ranges = dict[str, tuple[int, int] | None]


class Skipping:
    """What one session knows of the numbers in files."""

    def __init__(self) -> None:
        self._kept: Kept[FileKey, _Ranges] = Kept(MAX_KEPT)

    def may_hold(
        self,
        io: FileIO,
        file: ScanFile,
        columns: tuple[Column, ...],
        predicates: Sequence[Predicate],
    ) -> bool:
        """Whether a row of the file may meet all predicates. ``columns``: of the table. FormatError
        for a file that cannot be read.
        """
        types = {column.name: column.type for column in columns}
        tests = [p for p in predicates if types.get(p.column) in _WHOLE_NUMBERS and p.values]
        if not tests:
            return True
        ranges = self._kept.find(file.key)
        if ranges is None:
            ranges = _ranges(io, file, columns)
            self._kept.keep(file.key, ranges, 1)
        return all(_may_meet(test, ranges.get(test.column)) for test in tests)


def _ranges(io: FileIO, file: ScanFile, columns: tuple[Column, ...]) -> _Ranges:
    """The least and the greatest of each column of whole numbers, where the footer tells them."""
    original = file.file.original
    tail = read_footer(io, file.path)
    numbers = dict(
        zip(file.columns.names, column_numbers(file.columns, in_events=not original), strict=True)
    )
    return {
        c.column.name: tail.integer_range(numbers[c.name])
        for c in layout(columns, file.columns, original=original).file_columns
        if c.same and c.column.type in _WHOLE_NUMBERS
    }


def _may_meet(test: Predicate, extent: tuple[int, int] | None) -> bool:
    values = [value for value in test.values if isinstance(value, int)]
    if extent is None or len(values) < len(test.values):
        return True
    low, high = extent
    match test.op:
        case Comparison.EQUAL | Comparison.IN:
            return any(low <= value <= high for value in values)
        case Comparison.LESS:
            return low < values[0]
        case Comparison.LESS_EQUAL:
            return low <= values[0]
        case Comparison.GREATER:
            return high > values[0]
        case Comparison.GREATER_EQUAL:
            return high >= values[0]
    return True
