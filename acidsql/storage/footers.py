"""What the footers of data files tell before a scan: whether they are ACID event files, their
columns, their rows.

Spark reads a column that a file does not have as null, and a filter on it then drops the row: a
foreign or damaged file would lose its rows without a word. So each file's footer is read once on
the driver (a tenth of a millisecond), and what is wrong is an error that names the file. Files
never change once they are visible, so the answers are kept by path, size and time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from acidsql.acid.ids import decode, encode
from acidsql.acid.listed import DataFile
from acidsql.acid.orc_tail import (
    FIRST_READ,
    STATS,
    ColumnStatistics,
    OrcTail,
    integer_range,
    load_tail,
)
from acidsql.acid.orc_types import (
    BUCKET_COLUMN,
    EVENT_FIELDS,
    ORIGINAL_TRANSACTION_COLUMN,
    ROW_COLUMN,
    ROW_FIELD,
    OrcKind,
    OrcType,
)
from acidsql.errors import ExecutionError, FormatError
from acidsql.files.fileio import FileIO, FileReader, split_url
from acidsql.files.parallel import look_at_all
from acidsql.lazy import dataclass

MAX_KEPT = 200_000
_FILES_AT_ONCE = 4096
"""The most files whose ends may be in memory; more are worth a job of Spark's."""
_FILES_OF_TASK = 512
_OPERATION_COLUMN = 1
_INSERT, _DELETE = 0, 2
ID_COLUMN_NUMBERS = (ORIGINAL_TRANSACTION_COLUMN, BUCKET_COLUMN, ROW_COLUMN)

FileKey = tuple[str, int, int]
"""Absolute path, size, modification time in nanoseconds."""


class FoundFile(NamedTuple):
    """A file of a snapshot before anybody looked into it. ``partition_number``: which of the
    snapshot's partitions it belongs to.
    """

    file: DataFile
    path: str
    partition_number: int = 0

    @property
    def key(self) -> FileKey:
        return self.path, self.file.size, self.file.mtime_ns


@dataclass(frozen=True, slots=True)
class RowIdRange:
    """The ids of rows that follow on each other: those of one write id and bucket property,
    numbered from ``first`` to ``last``.
    """

    write_id: int
    bucket_property: int
    first: int
    last: int


class ScanFile(NamedTuple):
    """A data file that was looked at.

    ``size``: in bytes, as it was found. ``columns``: the struct of its data columns. ``stripes``:
    where each stripe begins and how many rows it has. ``id_statistics``: what the footer of a file
    of events says of each of ID_COLUMN_NUMBERS. ``mixed``: it holds update or delete events beside
    inserts, as before Hive 3 (``old_events``).
    """

    file: DataFile
    path: str
    partition_number: int
    size: int
    rows: int
    columns: OrcType
    stripes: tuple[tuple[int, int], ...]
    id_statistics: tuple[ColumnStatistics, ...] = ()
    mixed: bool = False

    @property
    def key(self) -> FileKey:
        return self.path, self.file.size, self.file.mtime_ns

    @property
    def ranges(self) -> tuple[tuple[int, int] | None, ...]:
        """The least and the greatest of each of ID_COLUMN_NUMBERS, where the footer tells them."""
        return tuple(integer_range(statistics, self.path) for statistics in self.id_statistics)

    @property
    def ids(self) -> RowIdRange | None:
        """The range of the ids of its insert events, where the footer tells them all; a file that
        was compacted has others. Rows are numbered from 0: other numbers may be another column's,
        in a footer that is damaged, and are not believed.
        """
        if self.mixed:
            return None
        match self.ranges:
            case ((write_id, other), (bucket_property, another), (first, last)) if (
                write_id,
                bucket_property,
            ) == (other, another):
                believed = self._may_have(write_id, bucket_property)
                return (
                    RowIdRange(write_id, bucket_property, first, last)
                    if believed and first == 0 and last + 1 == self.rows
                    else None
                )
        return None

    def _may_have(self, write_id: int, bucket_property: int) -> bool:
        """Whether rows of the file may have these ids, by its name and its directory's: what a
        footer tells beyond that is not believed.
        """
        try:
            bucket = decode(bucket_property).bucket
        except FormatError:
            return False
        in_range = self.file.min_write_id <= write_id <= self.file.max_write_id
        return in_range and self.file.bucket in (None, bucket)


class _Facts(NamedTuple):
    size: int
    rows: int
    columns: OrcType
    stripes: tuple[tuple[int, int], ...] = ()
    id_statistics: tuple[ColumnStatistics, ...] = ()
    mixed: bool = False


Tasks = Callable[[FileIO, str, Callable[[FileIO, Any], Any], Sequence[Any]], list[Any] | None]
"""``tasks(io, root, work, items)``: what ``work(io, item)`` gives for each item, found out by
Spark's tasks on other machines. ``root``: below it lie the files. None if there are no such tasks,
or they cannot.
"""


def no_tasks(
    io: FileIO, root: str, work: Callable[[FileIO, Any], Any], items: Sequence[Any]
) -> None:
    """The ``Tasks`` of a session without Spark: all work is done on the driver."""


class Footers:
    """Reads and remembers footers; of one session. ``tasks``: where very many files may be looked
    at.
    """

    def __init__(self, tasks: Tasks = no_tasks) -> None:
        self._tasks = tasks
        self._kept: OrderedDict[FileKey, _Facts] = OrderedDict()
        self._schemas: dict[OrcType, OrcType] = {}

    def insert_files(
        self, io: FileIO, files: Iterable[FoundFile], *, mixed: bool = False
    ) -> tuple[ScanFile, ...]:
        """The files of insert events, and originals. FormatError for a file that is not what its
        ``original`` says, and for one that is ``mixed`` unless such are asked for.
        """
        seen = self._look_at_all(io, files, _INSERT)
        for file in seen if not mixed else ():
            if file.mixed:
                raise _mixed_error(file.path)
        return seen

    def delete_files(self, io: FileIO, files: Iterable[FoundFile]) -> tuple[ScanFile, ...]:
        """The files of delete events. FormatError for a file that is not one."""
        return self._look_at_all(io, files, _DELETE)

    def _look_at_all(
        self, io: FileIO, files: Iterable[FoundFile], operation: int
    ) -> tuple[ScanFile, ...]:
        listed = tuple(files)
        keys = [file.key for file in listed]
        missing = [file for file, key in zip(listed, keys, strict=True) if key not in self._kept]
        if not self._looked_at_elsewhere(io, missing, operation):
            for some in _batches(missing, _FILES_AT_ONCE):
                self._keep(some, _look_at_some(io, (operation, some)))
        seen = tuple(
            [_scan_file(file, self._kept[key]) for file, key in zip(listed, keys, strict=True)]
        )
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return seen

    def _looked_at_elsewhere(self, io: FileIO, files: Sequence[FoundFile], operation: int) -> bool:
        """Very many files of a distant file system are looked at by Spark's tasks."""
        if len(files) <= _FILES_AT_ONCE or len({_root(file.path) for file in files}) > 1:
            return False
        batches = [(operation, some) for some in _batches(files, _FILES_OF_TASK)]
        done = self._tasks(io, files[0].path, _look_at_some, batches)
        if done is None:
            return False
        for (_, some), facts in zip(batches, done, strict=True):
            self._keep(some, facts)
        return True

    def _keep(self, files: Sequence[FoundFile], facts: Sequence[_Facts]) -> None:
        """Keeps the facts, with one object for all files of a schema, wherever they were looked
        at.
        """
        same: dict[int, OrcType] = {}
        for file, fact in zip(files, facts, strict=True):
            columns = same.get(id(fact.columns))
            if columns is None:
                columns = same[id(fact.columns)] = self._schemas.setdefault(
                    fact.columns, fact.columns
                )
            self._kept[file.key] = (
                fact if columns is fact.columns else fact._replace(columns=columns)
            )


def _scan_file(file: FoundFile, facts: _Facts) -> ScanFile:
    return ScanFile(
        file=file.file,
        path=file.path,
        partition_number=file.partition_number,
        size=facts.size,
        rows=facts.rows,
        columns=facts.columns,
        stripes=facts.stripes,
        id_statistics=facts.id_statistics,
        mixed=facts.mixed,
    )


def _root(path: str) -> str:
    """The scheme and host of a path's file system; empty for a local one."""
    url = split_url(path)
    return "" if url is None else url.root


def read_footer(io: FileReader, path: str) -> OrcTail:
    """The tail of a file. FormatError naming it if it cannot be read as ORC or is gone."""
    return _tail(io, path, _read_end(io, path, FIRST_READ))


def _tail(io: FileReader, path: str, end: tuple[bytes, int]) -> OrcTail:
    """The tail of a file. ``end``: the first answer of ``_read_end``."""
    return load_tail(lambda count: end if count == FIRST_READ else _read_end(io, path, count), path)


def _read_end(io: FileReader, path: str, count: int) -> tuple[bytes, int]:
    try:
        return io.read_tail(path, count)
    except OSError as error:
        raise FormatError(
            f'cannot read file "{path}"', detail=error.strerror or str(error)
        ) from error


def _batches(files: Sequence[FoundFile], size: int) -> Iterator[Sequence[FoundFile]]:
    return (files[at : at + size] for at in range(0, len(files), size))


def _look_at_some(io: FileIO, batch: tuple[int, Sequence[FoundFile]]) -> list[_Facts]:
    operation, files = batch
    # Should they wait for files, threads would wait for each other if they parsed too.
    ends = look_at_all(lambda file: _read_end(io, file.path, FIRST_READ), files)
    return [
        _look(_tail(io, file.path, end), operation, original=file.file.original)
        for file, end in zip(files, ends, strict=True)
    ]


def is_event_file(tail: OrcTail) -> bool:
    """Whether the file has the six columns of an ACID file. Hive: OrcInputFormat.isOriginal, the
    other way round.
    """
    return tail.schema is not None and _are_event_fields(tail.schema.names)


@lru_cache(maxsize=256)
def _are_event_fields(names: tuple[str, ...]) -> bool:
    return [name.lower() for name in names] == [name.lower() for name in EVENT_FIELDS]


def _look(tail: OrcTail, operation: int, *, original: bool) -> _Facts:
    if original:
        return _look_at_original(tail)
    if not is_event_file(tail) or tail.schema is None:
        raise FormatError(
            f'file "{tail.path}" has no ACID columns', detail=f"its columns are {tail.schema}"
        )
    row = tail.schema.children[EVENT_FIELDS.index(ROW_FIELD)]
    if row.kind is not OrcKind.STRUCT:
        raise FormatError(
            f'file "{tail.path}" has no struct of data columns',
            detail=f"its columns are {tail.schema}",
        )
    mixed = bool(tail.row_count) and _holds_other_operations(tail, operation)
    if mixed and operation == _DELETE:
        raise _mixed_error(tail.path)
    return _Facts(
        tail.size,
        tail.row_count,
        row,
        _stripes(tail),
        id_statistics=tuple(
            tail.statistics[i] for i in ID_COLUMN_NUMBERS if i < len(tail.statistics)
        ),
        mixed=mixed,
    )


def mixes_events(tail: OrcTail) -> bool:
    """Whether a file of insert events holds update or delete events, too."""
    return is_event_file(tail) and bool(tail.row_count) and _holds_other_operations(tail, _INSERT)


def _mixed_error(path: str) -> FormatError:
    return FormatError(
        f'file "{path}" mixes insert, update and delete events',
        detail="such files were written before Hive 3 (ACID version 1)",
        hint="Run a major compaction with the Hive that wrote them.",
    )


def _look_at_original(tail: OrcTail) -> _Facts:
    if tail.schema is None or tail.schema.kind is not OrcKind.STRUCT:
        raise FormatError(f'file "{tail.path}" has no columns', detail=f"it holds {tail.schema}")
    if is_event_file(tail):
        raise FormatError(f'file "{tail.path}" holds ACID events where an original file should be')
    return _Facts(
        tail.size,
        tail.row_count,
        tail.schema,
        _stripes(tail),
    )


def _stripes(tail: OrcTail) -> tuple[tuple[int, int], ...]:
    return tuple(zip(tail.stripe_offsets, tail.stripes, strict=True))


def _holds_other_operations(tail: OrcTail, operation: int) -> bool:
    operations = tail.integer_range(_OPERATION_COLUMN)
    if operations is not None:
        return operations != (operation, operation)
    stats = tail.user_metadata.get(STATS, "").split(",")
    if len(stats) != 3:
        return False  # a file that keeps neither: Hive reads it for what its directory says
    inserts, updates, deletes = stats
    return updates != "0" or (deletes if operation == _INSERT else inserts) != "0"


# ---- what a session keeps of what it has read, up to a weight, for all its threads


Key = TypeVar("Key")
Thing = TypeVar("Thing")


class Kept(Generic[Key, Thing]):
    """Things that weigh ``most`` together at most: those that were asked for last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Key, tuple[Thing, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def find(self, key: Key) -> Thing | None:
        """What is kept under the key."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def keep(self, key: Key, thing: Thing, weight: int) -> None:
        """Keeps it, unless something is kept under the key, or it alone weighs too much."""
        with self._lock:
            if key in self._kept or weight > self._most:
                return
            self._kept[key] = thing, weight
            self._total += weight
            while self._total > self._most:
                _, (_, gone) = self._kept.popitem(last=False)
                self._total -= gone

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._total = 0


# ---- the ROW__IDs of rows in original files, which hold none


def first_rows(files: Sequence[ScanFile]) -> Callable[[ScanFile], int]:
    """The row number each original file begins with: rows are counted through the files of a bucket
    in the order of their paths.
    """
    first: dict[str, int] = {}
    counts: dict[tuple[object, ...], int] = {}
    for file in sorted(files, key=lambda f: f.path):
        key = (
            file.partition_number,
            file.file.min_write_id,
            file.file.max_write_id,
            file.file.statement_id,
            file.file.bucket,
        )
        first[file.path] = counts.get(key, 0)
        counts[key] = first[file.path] + file.rows
    return lambda file: first[file.path]


def bucket_property(file: ScanFile) -> int:
    """The bucket property of an original file's rows. FormatError if its name tells no bucket."""
    if file.file.bucket is None:
        raise FormatError(
            f'file "{file.path}" has no bucket number in its name',
            detail="so its rows have no ROW__ID",
        )
    return encode(file.file.bucket, file.file.statement_id)


# ---- timestamps
#
# The timestamps that an ORC file holds, also inside lists, maps and structs, as Arrow reads them:
# wall clocks in nanoseconds.
#
# Finer ones than a microsecond, which Hive writes, Spark would cut: who rewrites rows by way of
# Spark refuses their files before anything is written.


_SPARK_KEY = "org.apache.spark.version"
_NANOSECONDS = 1_000


def holds_times(kind: OrcType) -> bool:
    """Whether a column of the type holds timestamps."""
    return kind.kind is OrcKind.TIMESTAMP or any(map(holds_times, kind.children))


def by_arrow(reader: orc.ORCFile) -> bool:
    """Whether Arrow's writer made the file, which stores wall clocks as those of UTC."""
    try:
        return bool(reader.writer == "ORC_CPP")
    except ValueError:  # a writer that Arrow has no name for
        return False


def times_of_stripe(reader: orc.ORCFile, file: ScanFile, stripe: int) -> Iterator[pa.Array]:
    """The timestamps of one stripe, those of each column by themselves. pa.ArrowException where
    Arrow cannot hold or read one.
    """
    names = [
        name
        for name, kind in zip(file.columns.names, file.columns.children, strict=True)
        if holds_times(kind)
    ]
    prefix = "" if file.file.original else f"{reader.schema.names[-1]}."
    wanted = None if any("." in name for name in names) else [prefix + n for n in names]
    batch = reader.read_stripe(stripe, columns=wanted)
    for column in batch.columns:
        yield from timestamps_in(column)


def timestamps(io: FileIO, file: ScanFile) -> Iterator[pa.Array]:
    """The timestamps of a whole file, of which one stripe lies in memory."""
    if not file.rows:
        return
    with io.open_input(file.path) as opened:
        reader = orc.ORCFile(opened)
        for stripe in range(reader.nstripes):
            yield from times_of_stripe(reader, file, stripe)


def timestamps_in(array: pa.Array) -> Iterator[pa.Array]:
    """The timestamps of a column, wherever they are inside its values."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        yield array
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from timestamps_in(child)
    elif pa.types.is_map(kind):
        yield from timestamps_in(array.keys)
        yield from timestamps_in(array.items)
    elif pa.types.is_list(kind):
        yield from timestamps_in(array.flatten())


def refuse_fine_times(io: FileIO, files: Sequence[ScanFile]) -> None:
    """Raises ExecutionError if a file holds a timestamp finer than a microsecond, also inside
    lists, maps and structs, or one in years for which that cannot be told.

    Files that Spark wrote are not looked at, nor events of the C++ writer: they are ours.
    """
    for file in files:
        if file.rows and any(map(holds_times, file.columns.children)):
            _refuse(io, file)


def _refuse(io: FileIO, file: ScanFile) -> None:
    with io.open_input(file.path) as opened:
        reader = orc.ORCFile(opened)
        if _SPARK_KEY in _keys(reader) or (not file.file.original and by_arrow(reader)):
            return
        for stripe in range(reader.nstripes):
            try:
                times = list(times_of_stripe(reader, file, stripe))
            except pa.ArrowInvalid as error:
                if by_arrow(reader):
                    continue  # rows without ids of ours: far, and in microseconds
                raise _refused(file, str(error)) from error
            if any(map(_is_fine, times)):
                raise _refused(file, "values finer than a microsecond")


def _keys(reader: orc.ORCFile) -> set[str]:
    return {k.decode() if isinstance(k, bytes) else k for k in reader.metadata or {}}


def _refused(file: ScanFile, detail: str) -> ExecutionError:
    return ExecutionError(
        f'timestamps of file "{file.path}" are finer than can be carried over',
        detail=detail,
        hint="Timestamps are kept in microseconds; compact this table with Hive.",
    )


def _is_fine(array: pa.Array) -> bool:
    if array.type.unit != "ns":
        return False
    values = array.cast(pa.int64())
    whole = pc.multiply(pc.divide(values, _NANOSECONDS), _NANOSECONDS)
    return bool(pc.any(pc.not_equal(values, whole)).as_py())
