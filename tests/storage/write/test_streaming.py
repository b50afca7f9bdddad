"""A file that is written batch by batch is the one that is written at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.ids import NO_STATEMENT, BucketId, encode
from acidsql.acid.orc_tail import KEY_INDEX, STATS, VERSION
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Table
from acidsql.expressions.not_here import NotHere
from acidsql.files.local_files import LocalFileIO
from acidsql.storage.events.event_rows import CURRENT, values_of
from acidsql.storage.events.row_ids import row_ids
from acidsql.storage.footers import read_footer
from acidsql.storage.write import driver_writer, streaming
from acidsql.storage.write.driver_writer import EventFile, row_values, stage_file
from acidsql.storage.write.streaming import Encoders, insert_batches, stage_stream
from acidsql.storage.write.target import StagedFile, WriteTarget
from tests.spark.naive_reader import visible_rows
from tests.spark.written import (
    EVERY_TYPE,
    arrow_rows,
    committed,
    make_table,
    names_below,
    target,
    write_rows,
)

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


def stream(of: WriteTarget, folder: str, batches: Iterable[pa.Table]) -> StagedFile | None:
    with Encoders(2) as encoders:
        return stage_stream(IO, encoders, of, folder, BUCKET, batches)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=5), st.sampled_from([1, 800_000]))
def test_writes_what_is_written_at_once(sizes: list[int], piece: int) -> None:
    """The same rows in the same order, however many pieces they are encoded in, and a key index
    that names the last row of each of the file's own stripes.
    """
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "PIECE_BYTES", piece)
        of = small_stripes(Path(folder))
        ends = np.cumsum([0, *sizes])
        batches = [events(size, first=int(end)) for size, end in zip(sizes, ends, strict=False)]
        streamed = stream(of, folder, iter(batches))
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
    batches = [events(60_000), events(90, first=60_000)]
    staged = stream(small_stripes(tmp_path), str(tmp_path), batches)
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
    with pytest.raises(NotHere):
        stream(small_stripes(tmp_path), str(tmp_path), batches)


def test_statistics_are_those_of_one_writer(tmp_path: Path) -> None:
    """What a scan leaves out by them is the same, however many pieces there were."""
    of = target(make_table(tmp_path, {"k": "bigint", "v": "double"}), 7)
    batches = [events(300, first=300 * number) for number in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "piece_bytes", lambda _: 1)
        staged = stream(of, str(tmp_path), batches)
    assert staged is not None
    tail = read_footer(IO, staged.path)
    other = read_footer(IO, at_once(of, str(tmp_path), pa.concat_tables(batches)).path)
    assert tail.stripes == (300,) * 5
    for number in range(7):
        assert tail.integer_range(number) == other.integer_range(number)


def test_larger_stripes_are_larger_pieces(tmp_path: Path) -> None:
    """What a table says of its stripes counts, up to what should lie in memory."""
    sizes = {"65536": 32, "67108864": 32, "134217728": 64, "10000000000": 256}
    for stripe, mebibytes in sizes.items():
        of = target(make_table(tmp_path, {"k": "bigint"}, orc_stripe_size=stripe), 7)
        assert streaming.piece_bytes(of) == mebibytes << 20


def test_an_error_of_the_source_comes_out(tmp_path: Path) -> None:
    """Whatever ends a source in its midst ends the file, with pieces of it in hand."""

    def broken() -> Iterator[pa.Table]:
        yield events(20_000)
        yield events(20_000, first=20_000)
        raise OSError("the disk is gone")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "PIECE_BYTES", 1)
        with pytest.raises(OSError, match="the disk is gone"):
            stream(small_stripes(tmp_path), str(tmp_path), broken())


# ---- new rows

SMALL = {"k": "bigint", "v": "double"}


def new_rows(rows: int, first: int = 0) -> pa.Table:
    return events(rows, first=first).select(["c0", "c1"]).rename_columns(list(SMALL))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=5), st.sampled_from([1, 800_000]))
def test_new_rows_are_those_that_are_written_at_once(sizes: list[int], piece: int) -> None:
    """The same ids and values in the same order, however many pieces there are, whose key index
    names the last row of each stripe.
    """
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MANY_BYTES", piece)
        patch.setattr(streaming, "piece_bytes", lambda _: 4 * piece)
        once, streamed = (
            small_stripes(Path(folder, "once")),
            small_stripes(Path(folder, "streamed")),
        )
        ends = np.cumsum([0, *sizes])
        batches = [new_rows(size, int(end)) for size, end in zip(sizes, ends, strict=False)]
        written = committed(insert_batches)(IO, streamed, iter(batches))
        whole = pa.concat_tables(batches)
        assert written.inserted == whole.num_rows
        at_once = write_rows(IO, once, whole)
        if not whole.num_rows:
            assert written.directories == at_once.directories == ()
            return
        [path] = Path(folder, "streamed").glob("delta_0000007_0000007_0000/bucket_00000")
        [other] = Path(folder, "once").glob("delta_0000007_0000007_0000/bucket_00000")
        assert orc.read_table(path) == orc.read_table(other)
        tail, of_other = read_footer(IO, str(path)), read_footer(IO, str(other))
        assert tail.schema == of_other.schema
        assert tail.user_metadata[STATS] == of_other.user_metadata[STATS]
        wanted = "".join(f"7,{536870912},{row};" for row in np.cumsum(tail.stripes) - 1)
        assert tail.user_metadata[KEY_INDEX] == wanted


@pytest.mark.parametrize("properties", [{}, {"transactional": "false"}])
def test_new_rows_of_every_type(tmp_path: Path, properties: dict[str, str]) -> None:
    """In slices of whatever came, with NULLs everywhere, with ids and without."""
    from tests.spark.test_writer import value

    rows = [value(n) for n in range(90)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MANY_BYTES", 1)
        patch.setattr(streaming, "piece_bytes", lambda _: 1)
        patch.setattr(streaming, "_SLICE_BYTES", 1000)
        table = make_table(tmp_path / "t", EVERY_TYPE, **properties)
        batches = [arrow_rows(table, rows[:7]), arrow_rows(table, rows[7:]).slice(3)]
        committed(insert_batches)(IO, target(table, 7), batches)
    if not properties:
        kept = [*rows[:7], *rows[10:]]
        assert [row for _, row in sorted(visible_rows(table).items())] == [
            row for _, row in sorted(visible_rows(_at_once(tmp_path / "o", kept)).items())
        ]
        return
    [name] = names_below(tmp_path / "t")
    assert name == "000000_0"
    other = make_table(tmp_path / "o", EVERY_TYPE, **properties)
    committed(driver_writer.write_plain_rows)(
        IO, target(other, 7), arrow_rows(other, [*rows[:7], *rows[10:]])
    )
    assert orc.read_table(tmp_path / "t" / name) == orc.read_table(tmp_path / "o" / name)


def _at_once(folder: Path, rows: list[dict[str, object]]) -> Table:
    table = make_table(folder, EVERY_TYPE)
    write_rows(IO, target(table, 7), arrow_rows(table, rows))
    return table


def test_many_rows_in_memory_are_streamed(tmp_path: Path) -> None:
    """Those of a table without buckets and partitions, which are not given back."""
    of = target(make_table(tmp_path / "t", SMALL), 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver_writer, "MANY_BYTES", 100_000)
        patch.setattr(streaming, "MANY_BYTES", 100_000)
        committed(driver_writer.insert_rows)(IO, of, new_rows(200_000))
        [path] = (tmp_path / "t").glob("delta_*/bucket_00000")
        assert len(read_footer(IO, str(path)).stripes) > 1
        bucketed = target(make_table(tmp_path / "b", SMALL, clustered=("k",)), 7)
        assert (
            committed(driver_writer.insert_rows)(IO, bucketed, new_rows(40_000)).inserted == 40_000
        )
        assert len(list((tmp_path / "b").glob("delta_*/bucket_*"))) == 4


def test_nothing_is_left_where_spark_takes_over(tmp_path: Path) -> None:
    """A value that is Spark's comes after pieces were written: they are gone when it says so."""
    of = target(make_table(tmp_path, SMALL), 7)

    def rows() -> Iterator[pa.Table]:
        yield new_rows(40_000)
        raise NotHere("a value of Spark's")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MANY_BYTES", 1)
        patch.setattr(streaming, "piece_bytes", lambda _: 1)
        with pytest.raises(NotHere):
            insert_batches(IO, of, rows())
    assert names_below(tmp_path) == []


def test_memory_does_not_grow_with_the_rows() -> None:
    """Of 400 MB some pieces lie in memory at a time."""
    before, seen = pa.total_allocated_bytes(), [0]

    def rows() -> Iterator[pa.Table]:
        for number in range(200):
            seen[0] = max(seen[0], pa.total_allocated_bytes() - before)
            yield new_rows(131_072, number * 131_072)

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "PIECE_BYTES", 8 << 20)
        patch.setattr(streaming, "piece_bytes", lambda _: 8 << 20)
        of = target(make_table(Path(folder), SMALL, orc_compress="NONE"), 7)
        written = committed(insert_batches)(IO, of, rows())
    assert written.inserted == 200 * 131_072
    assert seen[0] < 120 << 20
