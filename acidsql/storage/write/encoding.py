"""Rows in memory as the bytes of ORC files, the events of ACID files among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from acidsql.acid.ids import BucketId
from acidsql.acid.orc_tail import (
    OrcCodec,
    OrcTail,
    TailEdit,
    edit_tail,
    footer_keys,
    last_rows,
    load_tail,
)
from acidsql.acid.orc_types import EVENT_FIELDS
from acidsql.arrow_arrays import arrow_array
from acidsql.lazy_dataclass import dataclass
from acidsql.storage.row_ids import RowIds
from acidsql.storage.stored import arrow_schema
from acidsql.storage.write.target import WriteTarget

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
