"""A frame's rows in a file: how much of them lies in memory, and how long the file does."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from acidsql.catalog.model import Column
from acidsql.catalog.types import parse_type
from acidsql.errors import DataError
from acidsql.frames.spooling import Frame

MEGABYTE = 1 << 20


def test_a_stream_is_not_held_in_memory(tmp_path: Path) -> None:
    """Of 160 MB no more than a few stripes and batches."""
    schema = pa.schema({"n": pa.int64(), "b": pa.binary()})
    random = np.random.default_rng(7)
    before, seen = pa.total_allocated_bytes(), [0]

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(160):
            texts = random.integers(0, 256, MEGABYTE, np.uint8).tobytes()
            values = [texts[at : at + 1024] for at in range(0, MEGABYTE, 1024)]
            seen[0] = max(seen[0], pa.total_allocated_bytes() - before)
            yield pa.record_batch([[number] * 1024, values], schema=schema)

    frame = Frame.of("df", pa.RecordBatchReader.from_batches(schema, batches()), str(tmp_path))
    assert frame.rows == 160 * 1024
    [folder] = tmp_path.iterdir()
    assert sum(file.stat().st_size for file in folder.iterdir()) > 150 * MEGABYTE
    assert seen[0] < 64 * MEGABYTE


def test_rows_are_numbered_through_all_batches(tmp_path: Path) -> None:
    """The first value that does not fit is told by its row in the frame; no file is left."""
    parts = [pa.record_batch({"N": list(range(3))}), pa.record_batch({"N": [4, 2**31, 2**32]})]
    column = Column(name="n", type=parse_type("int"))
    with pytest.raises(DataError, match=r'^row 4 of the frame: column "n" of type int cannot hold'):
        Frame.of("df", pa.Table.from_batches(parts), str(tmp_path), [column])
    assert os.listdir(tmp_path) == []


def test_the_file_goes_with_the_frame(tmp_path: Path) -> None:
    """When it is closed, or nobody has it; not with the exit of a forked child."""
    closed = Frame.of("df", pa.table({"n": [1]}), str(tmp_path))
    closed.close()
    closed.close()
    kept = Frame.of("df", pa.table({"n": [1]}), str(tmp_path))
    child = os.fork()
    if not child:
        kept.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(os.listdir(tmp_path)) == 1
    del kept
    gc.collect()
    assert os.listdir(tmp_path) == []
