"""A file that some task has written becomes one of Hive's: its ORC tail is edited where it lies.

``finish_*`` are plain functions of one file: they run wherever the file can be read and written, so
Spark's workers import this module and little else. They trust nothing: ids, order, bucket and
duplicates are checked against what the file itself holds before it may get a name readers look at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyarrow import orc

from acidsql.acid.ids import BucketId, RowId, bucket_ids, encode
from acidsql.acid.orc_tail import (
    OrcTail,
    TailEdit,
    edit_tail,
    footer_keys,
    is_strictly_ascending,
    last_rows,
    load_tail,
)
from acidsql.acid.orc_types import BUCKET_COLUMN, ID_FIELDS, ORIGINAL_TRANSACTION_COLUMN, ROW_COLUMN
from acidsql.catalog.model import FileFormat
from acidsql.errors import InternalError
from acidsql.files.fileio import FileIO
from acidsql.lazy import dataclass
from acidsql.storage.events.row_ids import RowIds, cardinality_error, repeats, row_ids
from acidsql.storage.parquet_metadata import read_metadata
from acidsql.storage.write.target import StagedFile, WriteTarget

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFile:
    """A file some task has committed. ``values``: of its partition's columns. ``size``: in bytes,
    once it is finished.
    """

    path: str
    bucket: BucketId
    values: tuple[str, ...] = ()
    size: int = 0


Finish = Callable[[FileIO, WriteTarget, PartFile], StagedFile | None]


def finish_one(finish: Finish, io: FileIO, item: tuple[WriteTarget, PartFile]) -> StagedFile | None:
    """Finishes one of many files, as work for a task."""
    return finish(io, *item)


def tail_of(io: FileIO, path: str) -> OrcTail:
    return load_tail(lambda count: io.read_tail(path, count), path)


def finish_inserts(io: FileIO, target: WriteTarget, part: PartFile) -> StagedFile | None:
    """Makes a flat file of insert events one of Hive's; None if it holds no row. It reads nothing
    but the tail. ``target``: of the part's partition, here and below.
    """
    tail = tail_of(io, part.path)
    rows = tail.row_count
    if not rows:
        return None
    bucket_property = encode(part.bucket, target.statement_id)
    wanted = {
        ORIGINAL_TRANSACTION_COLUMN: (target.write_id, target.write_id),
        BUCKET_COLUMN: (bucket_property, bucket_property),
        ROW_COLUMN: (0, rows - 1),
    }
    ranges = {column: tail.integer_range(column) for column in wanted}
    if ranges != wanted:
        raise InternalError(
            f'"{part.path}" holds other row ids than it should',
            detail=f"{ranges} instead of {wanted}",
        )
    last = [RowId(target.write_id, bucket_property, row) for row in last_rows(tail.stripes)]
    edited = _edited(io, target, part, tail, footer_keys(last, inserts=rows))
    return _staged(target, edited, target.insert_directory, rows)


def finish_deletes(io: FileIO, target: WriteTarget, part: PartFile) -> StagedFile | None:
    """Makes a file of delete events one of Hive's; None if it holds no row. CardinalityError if an
    id comes twice.
    """
    tail = tail_of(io, part.path)
    if not tail.row_count:
        return None
    edited = _edited(
        io, target, part, tail, footer_keys(_last_ids(io, part, tail), deletes=tail.row_count)
    )
    return replace(_staged(target, edited, target.delete_directory, tail.row_count), deletes=True)


def finish_kept(io: FileIO, target: WriteTarget, part: PartFile) -> StagedFile | None:
    """Makes a flat file of insert events that keep the ids they had one of Hive's; None if it holds
    no row.
    """
    tail = tail_of(io, part.path)
    if not tail.row_count:
        return None
    edited = _edited(
        io, target, part, tail, footer_keys(_last_ids(io, part, tail), inserts=tail.row_count)
    )
    return _staged(target, edited, target.insert_directory, tail.row_count)


def _last_ids(io: FileIO, part: PartFile, tail: OrcTail) -> list[RowId]:
    """The last id of each stripe; all are looked at."""
    last: list[RowId] = []
    with io.open_input(part.path) as opened:
        file = orc.ORCFile(opened)
        for stripe in range(len(tail.stripes)):
            ids = _stripe_ids(file, stripe)
            _check_ids(part, ids, last[-1] if last else None)
            last.append(ids.at(-1))
    return last


def _staged(target: WriteTarget, part: PartFile, directory: str, rows: int) -> StagedFile:
    return StagedFile(
        path=part.path,
        directory=directory,
        bucket=part.bucket,
        rows=rows,
        size=part.size,
        partition=target.partition,
    )


def _stripe_ids(file: orc.ORCFile, stripe: int) -> RowIds:
    batch = file.read_stripe(stripe, columns=list(ID_FIELDS))
    return row_ids(batch)


def _check_ids(part: PartFile, ids: RowIds, before: RowId | None) -> None:
    if not (bucket_ids(ids.bucket_properties) == part.bucket).all():
        raise InternalError(f'"{part.path}" holds rows of other buckets')
    if before is not None and ids.at(0) <= before:
        raise cardinality_error(before) if ids.at(0) == before else _unsorted(part)
    if not is_strictly_ascending(ids.write_ids, ids.bucket_properties, ids.rows):
        again = repeats(ids)
        raise cardinality_error(ids.at(int(again.argmax()))) if again.any() else _unsorted(part)


def _unsorted(part: PartFile) -> InternalError:
    return InternalError(f'the rows of "{part.path}" are not sorted')


def _edited(
    io: FileIO, target: WriteTarget, part: PartFile, tail: OrcTail, keys: dict[str, str]
) -> PartFile:
    return _with_tail(io, part, edit_tail(tail, keys, target.event_schema))


def _with_tail(io: FileIO, part: PartFile, edit: TailEdit) -> PartFile:
    return replace(
        part,
        path=io.replace_tail(part.path, edit.offset, edit.data),
        size=edit.offset + len(edit.data),
    )


def finish_plain(io: FileIO, target: WriteTarget, part: PartFile) -> StagedFile | None:
    """Makes a file some task has written one of Hive's; None if it holds no row. ``target``: of the
    part's partition.
    """
    match target.table.file_format:
        case FileFormat.PARQUET:
            rows, size = read_metadata(io, part.path).num_rows, io.read_tail(part.path, 0)[1]
        case FileFormat.TEXTFILE:
            rows, size = _lines(io, part.path)
        case _:
            tail = tail_of(io, part.path)
            rows, size = tail.row_count, 0
            if rows:
                edit = edit_tail(tail, {}, target.row_schema)
                part = replace(part, path=io.replace_tail(part.path, edit.offset, edit.data))
                size = edit.offset + len(edit.data)
    if not rows:
        return None
    return StagedFile(
        path=part.path,
        directory=target.plain_directory,
        bucket=part.bucket,
        rows=rows,
        size=size,
        partition=target.partition,
        original=True,
    )


def _lines(io: FileIO, path: str) -> tuple[int, int]:
    """How many lines a text file has, each of which is a row to its readers, and how many bytes."""
    lines = size = 0
    with io.open_input(path) as file:
        while chunk := file.read(_CHUNK):
            lines += chunk.count(b"\n")
            size += len(chunk)
    return lines, size
