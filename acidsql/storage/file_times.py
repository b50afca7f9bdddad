"""The timestamps that an ORC file holds, also inside lists, maps and structs, as Arrow reads them:
wall clocks in nanoseconds.

Finer ones than a microsecond, which Hive writes, Spark would cut: who rewrites rows by way of
Spark refuses their files before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from acidsql.acid.orc_types import OrcKind, OrcType
from acidsql.errors import ExecutionError
from acidsql.files.fileio import FileIO
from acidsql.storage.footers import ScanFile

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
