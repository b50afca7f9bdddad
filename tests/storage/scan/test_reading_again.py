"""What a session that has read a table before does not read again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.files.local_files import LocalFileIO
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.scan.scanner import Scanner, Where
from acidsql.storage.snapshots import TableSnapshot
from tests.spark.event_tables import EventTable, bucket_property, columns, valid

BUCKET = bucket_property(0)
ROWS = 6000


@pytest.fixture
def scanner() -> Iterator[Scanner]:
    known = KnownFiles.of(LocalFileIO())
    yield Scanner(known)
    known.close()


@pytest.fixture
def table(tmp_path: Path) -> EventTable:
    """A base with rows of five transactions and gaps between them, and updates of it: some
    compacted, each other by itself.
    """
    table = EventTable(root=tmp_path / "t", columns=columns("k bigint, v string"))
    old = [(1, BUCKET, i) for i in range(ROWS) if i % 1000 > 3]
    new = [(w, BUCKET, i) for w in range(2, 6) for i in range(40)]
    table.insert(
        "base_0000005/bucket_00000", [(i, {"k": i[2], "v": f"old {i}"}) for i in old + new]
    )
    for low, high in ((6, 8), (9, 9), (10, 10)):
        name = f"delta_{low:07d}_{high:07d}" + ("_0000" if low == high else "")
        ids = [(w, BUCKET, i) for w in range(low, high + 1) for i in range(20)]
        table.insert(f"{name}/bucket_00000", [(i, {"k": i[2], "v": f"new {i}"}) for i in ids])
        hit = [(1, BUCKET, 100 * low + i) for i in range(20)] + [(high - 4, BUCKET, 7)]
        table.delete(f"delete_{name}/bucket_00000", sorted(set(hit)), high)
    return table


def read(scanner: Scanner, seen: TableSnapshot, where: Where | None = None) -> list[object]:
    batches = list(scanner.batches(seen, ["k", "v"], ids=True, where=where))
    return [
        (tuple(row[name] for name in ID_FIELDS), row["v"])
        for row in pa.Table.from_batches(batches).to_pylist()
    ]


def expected(table: EventTable, most: int = ROWS) -> list[object]:
    return [(i, row["v"]) for i, row in model(table) if row["k"] < most]


def model(table: EventTable) -> list[tuple[tuple[int, int, int], dict[str, object]]]:
    dead = {i for i, _ in table.deletes}
    return sorted((i, row) for i, _, row in table.inserts if i not in dead)


def test_rows_and_ids_are_the_same_each_time(scanner: Scanner, table: EventTable) -> None:
    """Of whole tables, of rows that meet a condition, and behind further deletes."""
    where = Where(("k",), lambda rows: pc.less(rows.column("k"), 900))
    for killer in (11, 12):
        seen = table.snapshot(valid(killer - 1))
        for _ in range(2):
            assert sorted(read(scanner, seen)) == expected(table)
            assert sorted(read(scanner, seen, where)) == expected(table, most=900)
        hit = [(1, BUCKET, 50 + killer), (4, BUCKET, 9), (7, BUCKET, 0)]
        table.delete(f"delete_delta_{killer:07d}_{killer:07d}_0000/bucket_00000", hit, killer)
    assert sorted(read(scanner, table.snapshot(valid(12)))) == expected(table)


def test_known_ids_and_small_files_are_not_read_again(scanner: Scanner, table: EventTable) -> None:
    """Not even to tell which rows later deletes have hit."""
    seen = table.snapshot(valid(10))
    first = sum(map(len, scanner.batches(seen, [])))
    hit = [(1, BUCKET, 77), (8, BUCKET, 3)]
    table.delete("delete_delta_0000011_0000011_0000/bucket_00000", hit, 11)
    later = table.snapshot(valid(11))
    with opened_files() as opened:
        assert sum(map(len, scanner.batches(later, []))) == first - 2
        assert [path for path in opened if "/delete_delta_" not in path] == []
        assert len(read(scanner, later)) == first - 2
        opened.clear()
        assert len(read(scanner, later)) == first - 2
    assert opened == []


def test_columns_that_weigh_too_much_are_read_again(table: EventTable) -> None:
    """They put nothing out of its place that is kept already."""
    with patch("acidsql.storage.known_files.MAX_STRIPE_BYTES", ROWS * 9):
        known = KnownFiles.of(LocalFileIO())
    scanner, seen = Scanner(known), table.snapshot(valid(10))
    numbers = [sum(map(len, scanner.batches(seen, ["k"]))), len(read(scanner, seen))]
    with opened_files() as opened:
        assert [sum(map(len, scanner.batches(seen, ["k"]))), len(read(scanner, seen))] == numbers
    assert opened == [str(table.root / "base_0000005/bucket_00000")]
    with opened_files() as opened:
        assert sum(map(len, scanner.batches(seen, ["k"]))) == numbers[0]
    assert opened == []
    known.close()


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The files that are opened for their columns meanwhile."""
    opened: list[str] = []
    real = LocalFileIO.open_input

    def watched(self: LocalFileIO, path: str) -> pa.NativeFile:
        opened.append(path)
        return real(self, path)

    with patch.object(LocalFileIO, "open_input", watched):
        yield opened
