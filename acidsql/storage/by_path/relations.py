"""Relations by path: files of one format and of the same columns, and their rows.

All files are open before the first row is read. So one that gets a new file under its name goes on
as the old one, and one that is written to meanwhile is found out: no answer is of two states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.path_relation import FileStamp, PathColumn, PathRelation
from acidsql.expressions.not_here import NotHere
from acidsql.files.urls import absolute
from acidsql.storage.by_path.stamps import is_written_to, stamp_of, stamps_of

if TYPE_CHECKING:
    Open = Callable[[pa.NativeFile, str], "OpenFile"]

BATCH_ROWS = 131_072
_CHANGED = "a file that was changed while the statement began"


class OpenFile(Protocol):
    """A file of one of the formats. NotHere, and whatever Arrow raises, from both."""

    def columns(self) -> tuple[PathColumn, ...]:
        """The columns that Spark tells from it."""

    def batches(self, columns: Sequence[PathColumn]) -> Iterator[list[pa.Array]]:
        """Values of some of these, as Spark reads them, in Arrow's types of Hive's."""


def relation_at(format: str, path: str) -> PathRelation:
    """The files of a format at a path, a relative one below the working directory. NotHere;
    OSError, and what Arrow raises.
    """
    path = absolute(path)
    open_file, files = _opener(format), stamps_of(path)
    columns = _opened(open_file, files[0]).columns()
    if any(_opened(open_file, file).columns() != columns for file in files[1:]):
        raise NotHere("files of different columns")
    return PathRelation(format=format, path=path, files=files, columns=columns)


def batches_of(relation: PathRelation, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows, of columns that are named in lower case. The files are opened now, and read when
    rows are asked for. NotHere where they are not those of ``relation`` any more; later for
    values that are Spark's. Else as ``relation_at``.
    """
    by_name = {column.name.lower(): column for column in relation.columns}
    wanted = [by_name[name] for name in names]
    if stamps_of(relation.path) != relation.files:
        raise NotHere(_CHANGED)
    open_file = _opener(relation.format)
    return _rows([(stamp, _opened(open_file, stamp)) for stamp in relation.files], wanted)


def open_file(format: str, stamp: FileStamp) -> OpenFile:
    """One file, as it was when it was looked at. As ``relation_at``."""
    return _opened(_opener(format), stamp)


def _opener(format: str) -> Open:
    match format:
        case "parquet":
            from acidsql.storage.by_path.parquet_file import ParquetFile

            return ParquetFile
        case "orc":
            from acidsql.storage.by_path.orc_file import OrcFile

            return OrcFile
    raise NotHere(f"{format} files by their path")


def _opened(open_file: Open, stamp: FileStamp) -> OpenFile:
    source = pa.OSFile(stamp.path)
    if stamp_of(stamp.path) != stamp:
        raise NotHere(_CHANGED)
    return open_file(source, stamp.path)


def _rows(
    files: Sequence[tuple[FileStamp, OpenFile]], columns: Sequence[PathColumn]
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(column.name.lower(), arrow_type(column.type)) for column in columns])
    for stamp, file in files:
        for arrays in file.batches(columns):
            if is_written_to(stamp):
                raise NotHere("a file that is written to while it is read")
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            for start in range(0, len(batch), BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)
