"""A file that is written batch by batch is the one that is written at once."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.bucket_codec import encode
from acidsql.acid.footer_keys import KEY_INDEX, STATS, VERSION
from acidsql.acid.ids import NO_STATEMENT, BucketId
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.files.local_files import LocalFileIO
from acidsql.storage.event_rows import CURRENT, values_of
from acidsql.storage.footers import read_footer
from acidsql.storage.row_ids import row_ids
from acidsql.storage.write.driver_writer import row_values, stage_file
from acidsql.storage.write.encoding import EventFile
from acidsql.storage.write.streaming import OutOfOrderError, stage_stream
from acidsql.storage.write.target import StagedFile, WriteTarget
from tests.spark.written import make_table, target

IO = LocalFileIO(durable=False)
BUCKET = BucketId(3)
PROPERTY = encode(BUCKET, NO_STATEMENT)


def events(rows: int, *, first: int = 0, write_id: int = 7) -> pa.Table:
    """Insert events that follow on each other, with a number that does not compress."""
    numbers = np.arange(first, first + rows)
    values = np.random.default_rng(first).random(rows)
    arrays = [
        pa.array(np.full(rows, write_id, np.int64)),
        pa.array(np.full(rows, PROPERTY, np.int32)),
        pa.array(numbers, pa.int64()),
        pa.array(np.full(rows, write_id, np.int64)),
        pa.array(numbers, pa.int64()),
        pa.array(values),
    ]
    return pa.Table.from_arrays(arrays, names=[*ID_FIELDS, CURRENT, "c0", "c1"])


def small_stripes(folder: Path) -> WriteTarget:
    table = make_table(folder, {"k": "bigint", "v": "double"}, orc_stripe_size="65536")
    return target(table, 7)


def at_once(of: WriteTarget, directory: str, rows: pa.Table) -> StagedFile:
    file = EventFile(
        target=of,
        bucket=BUCKET,
        ids=row_ids(rows),
        values=row_values(values_of(rows).combine_chunks(), of.table.columns),
        event_write_ids=rows.column(CURRENT).to_numpy(),
    )
    return stage_file(IO, directory, file)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=5))
def test_writes_what_is_written_at_once(sizes: list[int]) -> None:
    """The same rows in the same order, and a key index that names the last row of each of the
    file's own stripes.
    """
    with TemporaryDirectory() as folder:
        of = small_stripes(Path(folder))
        ends = np.cumsum([0, *sizes])
        batches = [events(size, first=int(end)) for size, end in zip(sizes, ends, strict=False)]
        streamed = stage_stream(IO, of, folder, BUCKET, iter(batches))
        whole = pa.concat_tables(batches)
        if not whole.num_rows:
            assert streamed is None
            return
        assert streamed is not None
        other = at_once(of, folder, whole)
        assert orc.read_table(streamed.path) == orc.read_table(other.path)
        assert (streamed.rows, streamed.size) == (
            whole.num_rows,
            Path(streamed.path).stat().st_size,
        )
        tail, of_other = read_footer(IO, streamed.path), read_footer(IO, other.path)
        assert tail.schema == of_other.schema
        for key in (STATS, VERSION):
            assert tail.user_metadata[key] == of_other.user_metadata[key]
        lasts = np.cumsum(tail.stripes) - 1
        wanted = "".join(f"7,{PROPERTY},{last};" for last in lasts)
        assert tail.user_metadata[KEY_INDEX] == wanted


def test_has_several_stripes(tmp_path: Path) -> None:
    """The rows above are enough for more stripes than one, or the key index would prove nothing."""
    staged = stage_stream(
        IO,
        small_stripes(tmp_path),
        str(tmp_path),
        BUCKET,
        [events(60_000), events(90, first=60_000)],
    )
    assert staged is not None
    assert len(read_footer(IO, staged.path).stripes) > 1


@pytest.mark.parametrize(
    "batches",
    [
        [events(3), events(2, first=2)],
        [events(3), events(3)],
        [events(3, write_id=8), events(3, write_id=7)],
        [events(3).take([0, 2, 1])],
        [
            events(3).set_column(
                1, ID_FIELDS[1], pa.array([PROPERTY, PROPERTY, PROPERTY + (1 << 16)])
            )
        ],
    ],
    ids=["an id twice", "the same batch", "an older write id", "within a batch", "another bucket"],
)
def test_refuses_other_orders(tmp_path: Path, batches: list[pa.Table]) -> None:
    """Rows that are not in the order of their ids, or of another bucket, are no file."""
    with pytest.raises(OutOfOrderError):
        stage_stream(IO, small_stripes(tmp_path), str(tmp_path), BUCKET, batches)
