"""Delete sets compared by rows: what is common is what Python's sets say, however little fits in
memory.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.ids import WriteId
from acidsql.errors import FormatError
from acidsql.files.local_files import LocalFileIO
from acidsql.storage.events.common_rows import CommonRows, RowComparison
from acidsql.storage.footers import Footers
from tests.spark.naive_reader import Key
from tests.spark.written import id_table, make_table, target, write_delete

IO = LocalFileIO(durable=False)
BUCKET = 1 << 29
"""The bucket property of bucket 0, statement 0."""

ONE, OTHER = WriteId(8), WriteId(9)


OPENED: list[str] = []


class CountingIO(LocalFileIO):
    """Notes in OPENED the directories of files that are opened for their columns."""

    def open_input(self, path: str) -> pa.NativeFile:
        OPENED.append(Path(path).parent.name)
        return LocalFileIO.open_input(self, path)


def delete(root: Path, write_id: int, *statements: set[Key]) -> None:
    """The delete files of a transaction, by the writer of the product."""
    table = make_table(root, {"k": "bigint"})
    for number, keys in enumerate(statements):
        write_delete(IO, target(table, write_id, number), id_table(sorted(keys)))


def compared(root: Path, *, held: int = 1000, batch: int = 1000) -> CommonRows | None:
    comparison = RowComparison(IO, Footers(), held=held, batch=batch)
    return comparison.common_rows(str(root), ONE, OTHER)


def merged(root: Path, name: str, *sources: str, times: int = 1) -> None:
    """A compacted delete delta: events of several ones, each in every bucket file, as Hive's minor
    compaction may leave them.
    """
    tables = [orc.ORCFile(path).read() for s in sources for path in (root / s).glob("bucket_*")]
    (root / name).mkdir()
    for bucket in range(times):
        orc.write_table(pa.concat_tables(tables), root / name / f"bucket_{bucket:05d}")


KEYS = st.tuples(
    st.sampled_from([0, 1, 5]),
    st.sampled_from([BUCKET, BUCKET | 1, BUCKET | 1 << 16, BUCKET | 3 << 16]),
    st.integers(0, 30),
)
SETS = st.lists(st.sets(KEYS, min_size=1, max_size=40), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(ours=SETS, theirs=SETS, held=st.integers(1, 60), batch=st.integers(1, 60))
def test_common_rows_are_those_of_sets(
    ours: list[set[Key]], theirs: list[set[Key]], held: int, batch: int
) -> None:
    """Several statements, buckets and write ids of rows, originals' among them; pieces and batches
    that are smaller than the sets.
    """
    expected = set().union(*ours) & set().union(*theirs)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "t"
        delete(root, ONE, *ours)
        delete(root, OTHER, *theirs)
        common = compared(root, held=held, batch=batch)
    if common is None:
        assert not expected
        return
    assert tuple(common.example) in expected
    assert common.rows == len(expected) if common.all_counted else 0 < common.rows


def test_rows_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    """One that both deleted in two statements counts once."""
    keys = {(1, BUCKET, row) for row in range(10)}
    delete(tmp_path, ONE, keys, {(1, BUCKET, 3)})
    delete(tmp_path, OTHER, {(1, BUCKET, 3), (1, BUCKET, 7), (1, BUCKET, 99)})
    assert compared(tmp_path) == CommonRows(
        rows=2,
        all_counted=True,
        example=(WriteId(1), BUCKET, 3),  # type: ignore[arg-type]
    )


def test_more_rows_than_are_held(tmp_path: Path) -> None:
    """The number of rows is that of the first piece with any, and says so."""
    keys = {(1, BUCKET, row) for row in range(100)}
    delete(tmp_path, ONE, keys)
    delete(tmp_path, OTHER, keys)
    common = compared(tmp_path, held=10, batch=10)
    assert common is not None
    assert (common.rows, common.all_counted) == (10, False)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("common", [True, False])
def test_events_that_a_minor_compaction_took_in(tmp_path: Path, exact: bool, common: bool) -> None:
    """They are told by their write id, whether the directories they came from are still there or
    not; events of a third transaction beside them are nobody's conflict, and copies count once.
    """
    row = (1, BUCKET, 4)
    delete(tmp_path, ONE, {(1, BUCKET, 1), row})
    delete(tmp_path, OTHER, {(1, BUCKET, 2), *({row} if common else ())})
    delete(tmp_path, 10, {(1, BUCKET, 1), (1, BUCKET, 2)})
    name = "delete_delta_0000009_0000009_0000"
    merged(
        tmp_path,
        "delete_delta_0000009_0000010_v0000077",
        name,
        "delete_delta_0000010_0000010_0000",
        times=3,
    )
    if not exact:
        shutil.rmtree(tmp_path / name)
    answer = compared(tmp_path)
    assert answer == (
        CommonRows(rows=1, all_counted=True, example=row) if common else None  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("base", ["base_0000009", "base_0000012_v0000004"])
def test_a_base_may_have_taken_events_away(tmp_path: Path, base: str) -> None:
    """Nobody can tell any more whether all of them are still there."""
    delete(tmp_path, ONE, {(1, BUCKET, 1)})
    delete(tmp_path, OTHER, {(1, BUCKET, 2)})
    (tmp_path / "base_0000005").mkdir()
    assert compared(tmp_path) is None
    (tmp_path / base).mkdir()
    with pytest.raises(FormatError, match="no delete files of write id"):
        compared(tmp_path)


def test_events_that_are_not_there(tmp_path: Path) -> None:
    """Nothing is not the same as no common row."""
    delete(tmp_path, ONE, {(1, BUCKET, 1)})
    with pytest.raises(FormatError, match="no delete files of write id 9"):
        compared(tmp_path)


@pytest.mark.parametrize("batch", [2, 100])
def test_a_file_that_holds_something_else(tmp_path: Path, batch: int) -> None:
    """A file whose events cannot be read, or are not those of its footer, is an error that names
    it: whole or in batches.
    """
    delete(tmp_path, ONE, {(1, BUCKET, row) for row in range(5)})
    delete(tmp_path, OTHER, {(1, BUCKET, row) for row in range(5)})
    path = next((tmp_path / "delete_delta_0000009_0000009_0000").glob("bucket_*"))
    changed = orc.ORCFile(path).read()
    operations = pa.array([2, 2, 2, 2, 0], changed.schema.field("operation").type)
    orc.write_table(changed.set_column(0, "operation", operations), path)
    with pytest.raises(FormatError, match="bucket_00000"):
        compared(tmp_path, batch=batch)


def test_files_whose_ids_cannot_meet_are_not_read(tmp_path: Path) -> None:
    """Their footers are enough: other rows, other buckets, other write ids of rows."""
    OPENED.clear()
    delete(tmp_path, ONE, {(1, BUCKET, 1), (1, BUCKET, 9)}, {(7, BUCKET | 1 << 16, 5)})
    delete(tmp_path, OTHER, {(1, BUCKET, 10)}, {(7, BUCKET, 5)}, {(6, BUCKET | 1 << 16, 5)})
    comparison = RowComparison(CountingIO(durable=False), Footers())
    assert comparison.common_rows(str(tmp_path), ONE, OTHER) is None
    assert OPENED == []
    delete(tmp_path, WriteId(11), {(1, BUCKET, 5), (1, BUCKET, 6)})
    assert comparison.common_rows(str(tmp_path), ONE, WriteId(11)) is None
    assert set(OPENED) == {
        "delete_delta_0000008_0000008_0000",
        "delete_delta_0000011_0000011_0000",
    }


def test_many_events_in_one_stripe_come_in_batches(tmp_path: Path) -> None:
    """A stripe may hold any number of events: none is read as a whole."""
    delete(tmp_path, ONE, {(1, BUCKET, row) for row in range(0, 40_000, 2)})
    delete(tmp_path, OTHER, {(1, BUCKET, row) for row in range(1, 40_000, 2)} | {(1, BUCKET, 100)})
    common = compared(tmp_path, held=3_000, batch=1_000)
    assert common is not None
    assert (common.rows, common.example) == (1, (1, BUCKET, 100))
