"""A frame's rows in memory and in a file: how much of them lies where, and for how long."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.catalog.model import Column
from acidsql.catalog.types import parse_type
from acidsql.errors import DataError
from acidsql.frames.frame_types import batches_of
from acidsql.frames.spooling import Frame
from acidsql.storage.waiting_rows import to_file, waiting_rows

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


def test_rows_of_one_statement_wait_in_memory(tmp_path: Path) -> None:
    """Those of a table of Arrow's, whatever they weigh, as long as no file is asked for."""
    rows = pa.table({"n": np.arange(300_000), "s": pa.array(["x" * 300] * 300_000)})
    assert rows.nbytes > 64 * MEGABYTE
    frame = Frame.of_batches("df", batches_of(rows), str(tmp_path))
    [folder] = tmp_path.iterdir()
    assert list(folder.iterdir()) == []
    waiting = waiting_rows(frame.table)
    assert waiting is not None
    assert pa.Table.from_batches(waiting) == rows
    assert [a.address for a in waiting[0].column(0).buffers() if a] == [
        a.address for a in rows.column(0).chunk(0).buffers() if a
    ]
    to_file(frame.table)
    assert waiting_rows(frame.table) is None
    [file] = folder.iterdir()
    assert orc.read_table(file) == rows
    frame.close()
    assert list(tmp_path.iterdir()) == []


def test_a_stream_waits_in_memory_while_it_is_short(tmp_path: Path) -> None:
    """What weighs more goes into the file, with the rows that came before."""
    rows = pa.table({"n": np.arange(1000)})

    def frame(held_bytes: int) -> Frame:
        batches = batches_of(rows.to_reader(max_chunksize=100))
        return Frame.of_batches("df", batches, str(tmp_path), held_bytes=held_bytes)

    short, long = frame(8000), frame(7999)
    assert short.rows == long.rows == 1000
    assert waiting_rows(short.table) is not None
    assert waiting_rows(long.table) is None
    [file] = Path(long.table.location).iterdir()
    assert orc.read_table(file) == rows


def test_rows_with_a_name_are_what_they_were(tmp_path: Path) -> None:
    """They lie in a file at once: what their owner does with his memory does not change them."""
    numbers = np.arange(10)
    frame = Frame.of("df", pa.table({"n": numbers}), str(tmp_path))
    numbers[:] = 0
    assert waiting_rows(frame.table) is None
    [file] = Path(frame.table.location).iterdir()
    assert orc.read_table(file).column("n").to_pylist() == list(range(10))
