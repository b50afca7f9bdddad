"""The small path: changed rows in memory become final files without a Spark job. No pyspark here.

INSERT VALUES takes it without Spark at all. Rows are Arrow tables whose columns are the table's, in
order, and then the texts of its partition columns (partition_places); row ids are the columns
``originalTransaction``, ``bucket`` and ``rowId`` before them. Each file is built in memory with its
footer already edited and is written once, many new rows piece by piece (``streaming.py``); all are
complete in the staging directory before the first is published.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.ids import (
    ROW_ID_COLUMN,
    ROW_ID_PARTS,
    BucketId,
    StatementId,
    bucket_ids,
    encode,
    statement_ids,
)
from acidsql.acid.orc_tail import (
    OrcCodec,
    OrcTail,
    TailEdit,
    edit_tail,
    footer_keys,
    last_rows,
    load_tail,
)
from acidsql.acid.orc_types import EVENT_FIELDS, ID_FIELDS
from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import arrow_type
from acidsql.expressions.losses import MARKS, Counter, Lost, counted, lost_names, mark
from acidsql.expressions.stores import typed
from acidsql.files.fileio import FileIO, split_url
from acidsql.files.parallel import in_parallel
from acidsql.lazy import dataclass
from acidsql.storage.events.row_ids import RowIds, check_distinct, row_ids, sort_order
from acidsql.storage.partitions import by_values
from acidsql.storage.stored import arrow_schema, data_names, stored_array
from acidsql.storage.write.target import (
    StagedFile,
    WriteTarget,
    Written,
    partitions_of,
    staging,
    take_in,
)

# ---- returned
#
# The rows that a statement has written, for RETURNING: as they are stored, with the values of their
# partitions and their ids.


def returned(
    table: Table,
    values: Iterable[pa.Array],
    partition: Sequence[str],
    ids: RowIds | None,
    rows: int,
) -> pa.Table:
    """The columns of a table, those of the partition that the rows lie in, whose values are Hive's
    texts, and the ids, whole and in parts, where rows have some.
    """
    arrays = list(values)
    for column, text in zip(table.partition_columns, partition, strict=True):
        value = typed(text, column.type)
        arrays.append(pa.repeat(pa.scalar(value, arrow_type(column.type)), rows))
    names = [column.name for column in (*table.columns, *table.partition_columns)]
    if ids is not None:
        fields = (ids.write_ids, ids.bucket_properties, ids.rows)
        parts = [arrow_array(field) for field in fields]
        arrays += [pa.StructArray.from_arrays(parts, names=list(ROW_ID_PARTS)), *parts]
        names += [ROW_ID_COLUMN, *ROW_ID_PARTS]
    return pa.Table.from_arrays(arrays, names=names)


# ---- driver writer


MANY_BYTES = 8 << 20
"""New rows that weigh less are encoded at once: to begin threads for them is not worth it."""
_ENOUGH_FOR_MORE_FILES = 50_000
"""Fewer new rows of an UPDATE go to one file if the table has no buckets: each file costs every
scan as much as thousands of rows.
"""
_FEW_FILES, _FEW_ROWS = 4, 4_000
"""At most this is written by one thread, and synced when it is published."""


def write_rows(io: FileIO, target: WriteTarget, rows: pa.Table) -> Written:
    """Writes the rows of an INSERT, each to the file of its bucket; a table without buckets has all
    in bucket 0.
    """
    if target.table.is_insert_only:
        return write_plain_rows(io, target, rows)
    if not rows.num_rows and not target.overwrite:
        return Written(partitions=target.sure)
    files = [
        f for part_target, part in target.parts(rows) for f in inserted_files(part_target, part)
    ]
    return write_files(io, target, files, Written(inserted=rows.num_rows))


def write_update(io: FileIO, target: WriteTarget, changed: pa.Table) -> Written:
    """Writes an UPDATE: the id columns of the old rows beside the new values. CardinalityError if
    an id comes twice.
    """
    files = [
        f for part_target, part in target.parts(changed) for f in updated_files(part_target, part)
    ]
    return write_files(io, target, files, Written(updated=changed.num_rows))


def write_delete(io: FileIO, target: WriteTarget, dead_rows: pa.Table) -> Written:
    """Writes a DELETE, given the id columns of the rows. CardinalityError if an id comes twice."""
    files = [
        f for part_target, part in target.parts(dead_rows) for f in deleted_files(part_target, part)
    ]
    written = write_files(io, target, files, Written(deleted=dead_rows.num_rows))
    return replace(written, returned=old_rows(target, dead_rows)) if target.returns else written


def old_rows(target: WriteTarget, dead_rows: pa.Table) -> tuple[pa.Table, ...]:
    """Deleted rows, whose values are beside their ids, as they are given back."""
    names = data_names(target.table.columns)
    return tuple(
        returned(
            target.table,
            [part.column(name).combine_chunks() for name in names],
            values,
            row_ids(part),
            part.num_rows,
        )
        for values, part in by_values(target.table, dead_rows)
    )


def inserted_files(target: WriteTarget, rows: pa.Table) -> list[EventFile]:
    """The files of an INSERT's rows; these are of one partition, here and in the next functions."""
    values = row_values(rows, target.table.columns)
    return [_new_rows(target, bucket, part) for bucket, part in bucket_order(target.table, values)]


def updated_files(target: WriteTarget, changed: pa.Table) -> list[EventFile]:
    ids = row_ids(changed)
    order = sort_order(ids)
    ordered = ids.taken(order)
    check_distinct(ordered)
    values = row_values(
        changed.select(list(range(len(ID_FIELDS), changed.num_columns))), target.table.columns
    )
    return [*delete_files(target, ordered), *_update_files(target, ordered, order, values)]


def deleted_files(target: WriteTarget, dead_rows: pa.Table) -> list[EventFile]:
    ids = row_ids(dead_rows)
    ordered = ids.taken(sort_order(ids))
    check_distinct(ordered)
    return list(delete_files(target, ordered))


def kept_files(target: WriteTarget, rows: pa.Table, *, one_base: bool) -> list[EventFile]:
    """Rows (ID_FIELDS, then the table's) of one partition, with the ids they have, in the files
    these ids belong to.

    ``one_base``: all statements' rows share the files of a ``base_N``.
    """
    ids = row_ids(rows)
    order = sort_order(ids)
    ordered = ids.taken(order)
    check_distinct(ordered)
    values = row_values(
        rows.select(list(range(len(ID_FIELDS), rows.num_columns))), target.table.columns
    )
    buckets = bucket_ids(ordered.bucket_properties)
    statements = (
        np.zeros(len(ordered), np.int32) if one_base else statement_ids(ordered.bucket_properties)
    )
    files = []
    for bucket, of_bucket in runs(buckets):
        for statement in np.unique(statements[of_bucket]):
            positions = np.flatnonzero((buckets == bucket) & (statements == statement))
            of_statement = replace(
                target, statement_id=StatementId(int(statement)), overwrite=one_base
            )
            part = values.take(arrow_array(order[positions]))
            files.append(
                EventFile(
                    target=of_statement, bucket=bucket, ids=ordered.taken(positions), values=part
                )
            )
    return files


def row_values(rows: pa.Table, columns: Sequence[Column]) -> pa.StructArray:
    """The rows as one struct array of the table's types. DataError for a value that cannot be
    stored.
    """
    arrays = [
        stored_array(values, c.type)
        for values, c in zip(_typed_columns(rows, columns), columns, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(arrow_schema(columns)))


def delete_files(target: WriteTarget, ordered: RowIds) -> Iterator[EventFile]:
    """One file for each bucket number, which is the old rows' own: readers look for deletes of a
    bucket only there.
    """
    for bucket, part in runs(bucket_ids(ordered.bucket_properties)):
        yield EventFile(target=target, bucket=bucket, ids=ordered[part], values=None)


def stage_file(
    io: FileIO, staged_directory: str, file: EventFile, *, sync: bool = True
) -> StagedFile:
    """Builds the file in memory and writes it once, below ``staged_directory``. ``sync``: it
    outlives a crash of the machine from now on, and not only once it is published.
    """
    path = f"{staged_directory}/{uuid.uuid4().hex}"
    data, edit = encode_events(file, path)
    (io.write if sync else io.stage)(path, memoryview(data)[: edit.offset], edit.data)
    return StagedFile(
        path=path,
        directory=file.directory,
        bucket=file.bucket,
        rows=len(file.ids),
        size=edit.offset + len(edit.data),
        partition=file.target.partition,
        deletes=file.values is None,
        synced=sync,
    )


def insert_rows(io: FileIO, target: WriteTarget, rows: pa.Table) -> Written:
    """Writes new rows of any table stored as ORC, as events where they are to have ids."""
    if rows.nbytes >= MANY_BYTES and takes_streams(target):
        # most statements write little, and need none of it
        from acidsql.storage.write.streaming import insert_batches

        return insert_batches(io, target, [rows])
    return (write_rows if target.table.is_full_acid else write_plain_rows)(io, target, rows)


def takes_streams(target: WriteTarget) -> bool:
    """Whether all new rows go to one file, in their order, and nobody asks for them again."""
    table = target.table
    return table.bucketing is None and not table.partition_columns and not target.returns


def write_plain_rows(io: FileIO, target: WriteTarget, rows: pa.Table) -> Written:
    """Writes an INSERT into a table without row ids: one ORC file without ACID columns, or one for
    each bucket, in each partition.
    """
    with staging(io, target) as directory:
        files = [
            stage_plain_file(io, part_target, directory, bucket, values)
            for part_target, part in target.parts(rows)
            for bucket, values in bucket_order(target.table, row_values(part, target.table.columns))
        ]
        directories = take_in(target, files)
    partitions = partitions_of(files) or target.sure
    written = Written(directories=directories, partitions=partitions, inserted=rows.num_rows)
    return replace(written, returned=_plain_rows(target, rows)) if target.returns else written


def _plain_rows(target: WriteTarget, rows: pa.Table) -> tuple[pa.Table, ...]:
    """New rows without ids as they are given back."""
    return tuple(
        returned(
            target.table,
            row_values(part, target.table.columns).flatten(),
            values,
            None,
            part.num_rows,
        )
        for values, part in by_values(target.table, rows)
    )


def stage_plain_file(
    io: FileIO, target: WriteTarget, staged_directory: str, bucket: BucketId, values: pa.StructArray
) -> StagedFile:
    path = f"{staged_directory}/{uuid.uuid4().hex}"
    data = orc_bytes(target, plain_table(values))
    edit = edit_tail(tail_of_bytes(data, data.size, path), {}, target.row_schema, proleptic=True)
    io.write(path, memoryview(data)[: edit.offset], edit.data)
    size = edit.offset + len(edit.data)
    return StagedFile(
        path=path,
        directory=target.plain_directory,
        bucket=bucket,
        rows=len(values),
        size=size,
        partition=target.partition,
        original=True,
    )


def bucket_order(table: Table, values: pa.StructArray) -> Iterator[tuple[BucketId, pa.StructArray]]:
    """The rows of each bucket of a table: one bucket 0 for a table without."""
    bucketing = table.bucketing
    if bucketing is None:
        if len(values):
            yield BucketId(0), values
        return
    from acidsql.acid.bucketing import bucket_numbers

    types = {c.name: str(c.type) for c in table.columns}
    keys = [(values.field(name), types[name]) for name in bucketing.columns]
    numbers = bucket_numbers(keys, bucketing.count, 1 if bucketing.version == 1 else 2)
    order = np.argsort(numbers, kind="stable")
    for bucket, part in runs(numbers[order]):
        # not a slice: pyarrow's writer trips over offsets
        yield (
            bucket,
            values.take(arrow_array(order[part])),
        )


def _typed_columns(rows: pa.Table, columns: Sequence[Column]) -> Iterator[pa.Array]:
    for field, values in zip(arrow_schema(columns), rows.columns, strict=True):
        array = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        yield array if array.type == field.type else array.cast(field.type)


def write_files(
    io: FileIO,
    target: WriteTarget,
    files: Sequence[EventFile],
    counts: Written,
) -> Written:
    """Writes all files; returns ``counts`` with the directories and partitions of the files."""
    if not files and not target.sure_directories:
        return counts
    with staging(io, target) as directory:
        staged = _staged(io, directory, sorted(files, key=lambda f: -len(f.ids)))
        directories = take_in(target, staged)
    new_rows = tuple(map(_new_row_values, files)) if target.returns else ()
    return replace(
        counts,
        directories=directories,
        partitions=partitions_of(staged) or target.sure,
        returned=tuple(rows for rows in new_rows if rows is not None),
    )


def _new_row_values(file: EventFile) -> pa.Table | None:
    """The rows of a file as they are given back; None of delete events."""
    if file.values is None:
        return None
    target = file.target
    values = () if target.partition is None else target.partition.values
    return returned(target.table, file.values.flatten(), values, file.ids, len(file.ids))


def _staged(io: FileIO, directory: str, files: Sequence[EventFile]) -> list[StagedFile]:
    """Stages all files. For little on a local disk threads, each with memory of its own, and a wait
    for the disk at every file take longer than the work: it is synced when it is published.
    """
    rows = sum(len(file.ids) for file in files)
    if split_url(directory) is None and len(files) <= _FEW_FILES and rows <= _FEW_ROWS:
        return [stage_file(io, directory, file, sync=False) for file in files]
    return in_parallel(lambda file: stage_file(io, directory, file), files)


def _update_files(
    target: WriteTarget, ordered: RowIds, order: npt.NDArray[np.int64], values: pa.StructArray
) -> Iterator[EventFile]:
    buckets = bucket_ids(ordered.bucket_properties)
    if target.table.bucketing is None and 0 < len(order) < _ENOUGH_FOR_MORE_FILES:
        yield _new_rows(target, BucketId(int(buckets[0])), values.take(arrow_array(order)))
        return
    for bucket, part in runs(buckets):
        yield _new_rows(target, bucket, values.take(arrow_array(order[part])))


def _new_rows(target: WriteTarget, bucket: BucketId, values: pa.StructArray) -> EventFile:
    ids = new_row_ids(target, bucket, range(len(values)))
    return EventFile(target=target, bucket=bucket, ids=ids, values=values)


def new_row_ids(target: WriteTarget, bucket: BucketId, numbers: range) -> RowIds:
    """The ids of new rows, which are numbered in the order of their file."""
    count = len(numbers)
    return RowIds(
        write_ids=np.full(count, target.write_id, np.int64),
        bucket_properties=np.full(count, encode(bucket, target.statement_id), np.int32),
        rows=np.arange(numbers.start, numbers.stop, dtype=np.int64),
        partition_numbers=np.zeros(count, np.int64),
    )


def runs(sorted_values: npt.NDArray[np.int32]) -> Iterator[tuple[BucketId, slice]]:
    """Each value of a sorted array with the slice that holds it."""
    ends = [*(np.flatnonzero(np.diff(sorted_values)) + 1), len(sorted_values)]
    start = 0
    for end in ends:
        if end > start:
            yield BucketId(int(sorted_values[start])), slice(start, int(end))
        start = int(end)


# ---- rows in memory as the bytes of ORC files, the events of ACID files among them


INSERT_OPERATION, DELETE_OPERATION = 0, 2
COMPRESSION_BLOCK = 256 * 1024
DICTIONARY_SHARE = 0.8
"""A string column is stored as a dictionary if at most this share of its values differ, as in Hive.
"""

_ARROW_CODECS = {
    OrcCodec.NONE: "uncompressed",
    OrcCodec.ZLIB: "zlib",
    OrcCodec.SNAPPY: "snappy",
    OrcCodec.LZ4: "lz4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """The contents of one bucket file: insert events if there are ``values``, delete events if
    there are none.

    ``target``: of the rows of one partition. ``event_write_ids``: the write id of each event; None:
    they are all the target's.
    """

    target: WriteTarget
    bucket: BucketId
    ids: RowIds
    values: pa.StructArray | None
    event_write_ids: npt.NDArray[np.int64] | None = None

    @property
    def directory(self) -> str:
        return self.target.delete_directory if self.values is None else self.target.insert_directory


def encode_events(file: EventFile, path: str) -> tuple[pa.Buffer, TailEdit]:
    """The file as Arrow writes it, and what makes it one of Hive's."""
    data = orc_bytes(file.target, event_table(file))
    tail = tail_of_bytes(data, data.size, path)
    inserts, deletes = (len(file.ids), 0) if file.values is not None else (0, len(file.ids))
    keys = footer_keys(
        [file.ids.at(i) for i in last_rows(tail.stripes)], inserts=inserts, deletes=deletes
    )
    return data, edit_tail(tail, keys, file.target.event_schema, proleptic=True)


def plain_table(values: pa.StructArray) -> pa.Table:
    """The rows of a file without ACID columns."""
    return pa.Table.from_arrays(values.flatten(), names=[field.name for field in values.type])


def event_table(file: EventFile) -> pa.Table:
    """The events with the six columns that an ACID file has."""
    count, ids, target = len(file.ids), file.ids, file.target
    operation = DELETE_OPERATION if file.values is None else INSERT_OPERATION
    values = (
        pa.nulls(count, pa.struct(list(arrow_schema(target.table.columns))))
        if file.values is None
        else file.values
    )
    current = (
        np.full(count, target.write_id, np.int64)
        if file.event_write_ids is None
        else file.event_write_ids
    )
    columns: list[npt.NDArray[Any]] = [
        np.full(count, operation, np.int32),
        ids.write_ids,
        ids.bucket_properties,
        ids.rows,
        current,
    ]
    return pa.Table.from_arrays(
        [*(arrow_array(column) for column in columns), values], names=list(EVENT_FIELDS)
    )


def orc_bytes(target: WriteTarget, table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink, **writer_options(target))
    return sink.getvalue()


def writer_options(target: WriteTarget) -> dict[str, Any]:
    """What Arrow's writer is told for files of the target's table."""
    return {
        "compression": _ARROW_CODECS[target.orc_codec],
        "compression_block_size": COMPRESSION_BLOCK,
        "stripe_size": target.stripe_size,
        "dictionary_key_size_threshold": DICTIONARY_SHARE,
    }


def tail_of_bytes(end: pa.Buffer | bytes, size: int, path: str) -> OrcTail:
    """The tail of a file of ``size`` bytes, of which ``end`` are the last."""
    view = memoryview(end)
    return load_tail(lambda count: (bytes(view[max(0, len(view) - count) :]), size), path)


# ---- marks of lost values beside rows, see expressions.losses


Marks = npt.NDArray[np.bool_]


def marked(marks: Sequence[Marks | None], count: int) -> list[pa.Array]:
    """The columns of marks of ``count`` rows. ``marks``: for each counter whose values have lost
    something; None: none has.
    """
    columns = []
    for at in range(0, len(marks), MARKS):
        bits = np.zeros(count, np.int64)
        for number, one in enumerate(marks[at : at + MARKS]):
            if one is not None:
                bits |= np.where(one, np.int64(mark(number)), np.int64(0))
        columns.append(arrow_array(bits, pa.int64()))
    return columns


def lost_of(rows: pa.Table, counters: Sequence[Counter]) -> tuple[Lost, ...]:
    """What the rows have lost, by their marks; nothing where they have none."""
    return counted(counters, counts_of(rows, counters))


def counts_of(rows: pa.Table, counters: Sequence[Counter]) -> list[int]:
    """For each counter how many rows have its mark."""
    columns = [
        numpy_array(rows.column(name).combine_chunks()) for name in lost_names(rows.column_names)
    ]
    if not columns:
        return [0] * len(counters)
    counts = [0] * len(counters)
    for number in range(min(len(counters), len(columns) * MARKS)):
        counts[number] = int(np.count_nonzero(columns[number // MARKS] & mark(number)))
    return counts


def without_marks(rows: pa.Table) -> pa.Table:
    """The rows as they are stored."""
    return rows.drop_columns(lost_names(rows.column_names))
