"""Rows that lie in a file in order and out of order, read again and again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acidsql.files.local_files import LOCAL
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.scanner import Scanner
from acidsql.storage.snapshots import TableSnapshot
from tests.spark.event_tables import EventTable, Id, bucket_property, columns, valid

FILE = "delta_0000001_0000001_0000/bucket_00000"


@pytest.fixture
def scanner() -> Iterator[Scanner]:
    """The scanner of one session: what it has seen of a file holds for its next scan."""
    known = KnownFiles.of(LOCAL)
    yield Scanner(known)
    known.close()


def table_of(root: Path, numbers: Sequence[int], dead: Sequence[int]) -> TableSnapshot:
    """A file whose rows have these numbers, also as their values; some of them are dead."""
    table = EventTable(root=root, columns=columns("k bigint, s string"))
    table.insert(FILE, [(id_of(n), {"k": n, "s": f"row {n}"}) for n in numbers])
    if dead:
        table.delete("delete_delta_0000002_0000002_0000/bucket_00000", map(id_of, dead), 2)
    return table.snapshot(valid(2))


def id_of(number: int) -> Id:
    return 1, bucket_property(0), number


def scan(scanner: Scanner, seen: TableSnapshot, *, ids: bool) -> list[tuple[int, ...]]:
    """The numbers of the rows, by their values and, if they are asked for, by their ids."""
    batches = list(scanner.batches(seen, ["k", "s"], ids=ids))
    if not batches:
        return []
    rows = pa.Table.from_batches(batches)
    assert rows.column("s").to_pylist() == [f"row {k}" for k in rows.column("k").to_pylist()]
    names = ["k", "rowId"] if ids else ["k"]
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))


@given(data=st.data(), ids=st.booleans(), seed=st.integers(0, 1 << 16))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_each_scan_of_a_session_shows_the_rows_alive(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, ids: bool, seed: int
) -> None:
    """Of files in order and out of order, with gaps and without, however often they are read."""
    first = data.draw(st.sampled_from((0, 5, 1 << 40)))
    numbers = list(range(first, first + data.draw(st.integers(1, 40))))
    if data.draw(st.booleans()):
        numbers = [n for n in numbers if n % 7]
    if data.draw(st.booleans()):
        random.Random(seed).shuffle(numbers)
    dead = sorted(random.Random(seed + 1).sample(numbers, data.draw(st.integers(0, len(numbers)))))
    seen = table_of(tmp_path_factory.mktemp("t") / "t", numbers, dead)
    alive = [(n, n) if ids else (n,) for n in numbers if n not in dead]
    known = KnownFiles.of(LOCAL)
    try:
        scanner = Scanner(known)
        assert [scan(scanner, seen, ids=ids) for _ in range(3)] == [alive] * 3
    finally:
        known.close()


def test_a_file_that_is_replaced_is_read_anew(tmp_path: Path, scanner: Scanner) -> None:
    """What was seen of a file holds for no other of its path."""
    seen = table_of(tmp_path / "t", range(20), [3])
    for _ in range(2):
        assert (3,) not in scan(scanner, seen, ids=False)
    numbers = [1, 0, *range(2, 21)]
    (tmp_path / "t" / FILE).unlink()
    replaced = table_of(tmp_path / "t", numbers, [0])
    alive = [(n, n) for n in numbers if n != 0]
    assert [scan(scanner, replaced, ids=True) for _ in range(2)] == [alive] * 2
