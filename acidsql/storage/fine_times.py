"""Timestamps finer than a microsecond, which Hive writes and Spark would cut: whoever rewrites rows
by way of Spark refuses their files before anything is written.
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


def refuse_fine_times(io: FileIO, files: Sequence[ScanFile]) -> None:
    """Raises ExecutionError if a file holds a timestamp finer than a microsecond, also inside
    lists, maps and structs, or one in years for which that cannot be told.

    Files that Spark wrote are not looked at, nor events of the C++ writer: they are ours.
    """
    for file in files:
        names = [
            name
            for name, kind in zip(file.columns.names, file.columns.children, strict=True)
            if _holds_times(kind)
        ]
        if names and file.rows:
            _refuse(io, file, names)


def _refuse(io: FileIO, file: ScanFile, names: Sequence[str]) -> None:
    with io.open_input(file.path) as opened:
        reader = orc.ORCFile(opened)
        if _SPARK_KEY in _keys(reader) or (not file.file.original and reader.writer == "ORC_CPP"):
            return
        prefix = "" if file.file.original else f"{reader.schema.names[-1]}."
        wanted = None if any("." in name for name in names) else [prefix + n for n in names]
        for stripe in range(reader.nstripes):
            try:
                batch = reader.read_stripe(stripe, columns=wanted)
            except pa.ArrowInvalid as error:
                if reader.writer == "ORC_CPP":
                    continue  # rows without ids of ours: far, and in microseconds
                raise _refused(file, str(error)) from error
            if any(_is_fine(values) for column in batch.columns for values in _times(column)):
                raise _refused(file, "values finer than a microsecond")


def _keys(reader: orc.ORCFile) -> set[str]:
    return {k.decode() if isinstance(k, bytes) else k for k in reader.metadata or {}}


def _refused(file: ScanFile, detail: str) -> ExecutionError:
    return ExecutionError(
        f'timestamps of file "{file.path}" are finer than can be carried over',
        detail=detail,
        hint="Timestamps are kept in microseconds; compact this table with Hive.",
    )


def _holds_times(kind: OrcType) -> bool:
    return kind.kind is OrcKind.TIMESTAMP or any(map(_holds_times, kind.children))


def _times(array: pa.Array) -> Iterator[pa.Array]:
    kind = array.type
    if pa.types.is_timestamp(kind):
        yield array
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from _times(child)
    elif pa.types.is_map(kind):
        yield from _times(array.keys)
        yield from _times(array.items)
    elif pa.types.is_list(kind):
        yield from _times(array.flatten())


def _is_fine(array: pa.Array) -> bool:
    if array.type.unit != "ns":
        return False
    values = array.cast(pa.int64())
    whole = pc.multiply(pc.divide(values, _NANOSECONDS), _NANOSECONDS)
    return bool(pc.any(pc.not_equal(values, whole)).as_py())
