"""Rows counted by footers and ids: the same number as reading gives, or none. No Spark here."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.acid.ids import ValidWriteIdList
from acidsql.catalog.model import Column, Table, TableName
from acidsql.catalog.types import StructType, parse_type
from acidsql.errors import FormatError
from acidsql.files.local_files import LOCAL
from acidsql.storage import counting
from acidsql.storage.counting import RowCounter
from acidsql.storage.known_files import KnownFiles
from acidsql.storage.snapshots import PartitionSnapshot, TableSnapshot
from tests.spark.event_tables import EventTable, Id, bucket_property, columns, snapshot, valid
from tests.spark.test_reader_vectors import FIXTURES

KS = columns("k bigint, s string")
MANY = 1 << 40
BUCKET = bucket_property(0)


@pytest.fixture
def counter() -> Iterator[RowCounter]:
    """With nothing known yet."""
    known = KnownFiles.of(LOCAL)
    yield RowCounter(known)
    known.close()


@pytest.fixture
def table(tmp_path: Path) -> EventTable:
    """Empty."""
    return EventTable(root=tmp_path / "t", columns=KS)


def insert(table: EventTable, path: str, ids: list[Id], killer: int | None = None) -> None:
    table.insert(path, [(i, {"k": n, "s": "x"}) for n, i in enumerate(ids)], killer)


def ids(write_id: int, count: int, bucket: int = BUCKET, first: int = 0) -> list[Id]:
    return [(write_id, bucket, n) for n in range(first, first + count)]


def rows(counter: RowCounter, seen: TableSnapshot) -> int | None:
    found = counter.rows(seen, max_events=MANY)
    return None if found is None else sum(found)


@pytest.fixture
def no_ids_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads the ids of a file of rows."""
    monkeypatch.setattr(counting, "MAX_ROWS_READ", 0)


def test_an_empty_table_has_no_rows(counter: RowCounter, table: EventTable) -> None:
    """Without a directory there is nothing to look at."""
    assert rows(counter, table.snapshot(valid(9))) == 0


@pytest.mark.usefixtures("no_ids_read")
def test_deletes_are_looked_up_in_footers(counter: RowCounter, table: EventTable) -> None:
    """An event that stands there twice counts once, one that hits no row not at all; nothing but
    footers and deletes is read.
    """
    insert(table, "delta_0000001_0000001_0000/bucket_00000", ids(1, 10))
    insert(table, "delta_0000001_0000001_0000/bucket_00001", ids(1, 10, bucket_property(1)))
    insert(table, "delta_0000002_0000002_0003/bucket_00000", ids(2, 10, bucket_property(0, 3)))
    dead = [(1, BUCKET, 0), (1, BUCKET, 9), (2, bucket_property(0, 3), 4)]
    nowhere = [(1, BUCKET, 10), (2, BUCKET, 4), (3, BUCKET, 1), (1, bucket_property(2), 0)]
    table.delete("delete_delta_0000003_0000003_0000/bucket_00000", sorted([*dead, *nowhere]), 3)
    table.delete("delete_delta_0000004_0000004_0000/bucket_00001", dead, 4)
    assert rows(counter, table.snapshot(valid(2))) == 30
    assert rows(counter, table.snapshot(valid(9))) == len(table.live(valid(9))) == 27


def test_ids_of_compacted_files_are_read(
    counter: RowCounter, table: EventTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows of several transactions lie together, or some are missing, the footer does not
    tell; too many are left to Spark.
    """
    gone = {3, 5}
    insert(
        table,
        "base_0000004/bucket_00000",
        [i for i in [*ids(1, 8), *ids(2, 8), *ids(4, 8)] if i[2] not in gone],
    )
    table.delete(
        "delete_delta_0000006_0000006_0000/bucket_00000",
        [*ids(1, 8), (4, BUCKET, 3), (4, BUCKET, 4)],
        6,
    )
    monkeypatch.setattr(counting, "MAX_ROWS_READ", 17)
    assert rows(counter, table.snapshot(valid(9))) is None
    monkeypatch.setattr(counting, "MAX_ROWS_READ", 18)
    assert rows(counter, table.snapshot(valid(9))) == len(table.live(valid(9))) == 11


def test_rows_of_open_and_aborted_transactions_do_not_count(
    counter: RowCounter, table: EventTable
) -> None:
    """Also within a compacted delta, and neither do their deletes."""
    events = [*ids(1, 5), *ids(2, 5), *ids(3, 5)]
    table.insert("delta_0000001_0000003/bucket_00000", [(i, {"k": 1, "s": "x"}) for i in events])
    for killer, dead in ((2, (1, BUCKET, 0)), (3, (1, BUCKET, 1))):
        table.delete(f"delete_delta_0000001_0000003/bucket_{killer:05d}", [dead], killer)
    for write_ids in (valid(3), valid(3, aborted=[2]), valid(3, still_open=[2, 3]), valid(2)):
        assert rows(counter, table.snapshot(write_ids)) == len(table.live(write_ids))


def test_more_events_than_allowed_are_left_to_spark(counter: RowCounter, table: EventTable) -> None:
    """The driver holds no more of them than the setting says."""
    insert(table, "delta_0000001_0000001_0000/bucket_00000", ids(1, 10))
    table.delete("delete_delta_0000002_0000002_0000/bucket_00000", ids(1, 3), 2)
    assert counter.rows(table.snapshot(valid(9)), max_events=2) is None
    assert counter.rows(table.snapshot(valid(9)), max_events=3) == (7,)


@pytest.mark.parametrize("seed", range(12))
def test_any_table_counts_as_it_reads(counter: RowCounter, table: EventTable, seed: int) -> None:
    """Random deltas, compacted ones among them, with random deletes, for readers of every age."""
    chance = random.Random(seed)
    write_id = 0
    while write_id < 12:
        span = chance.choice([1, 1, 1, 3])
        low, high = write_id + 1, write_id + span
        for bucket in chance.sample(range(4), 2):
            of_bucket = [
                i
                for w in range(low, high + 1)
                for i in ids(
                    w, chance.randint(1, 6), bucket_property(bucket), chance.choice([0, 0, 2])
                )
            ]
            kept = [i for i in of_bucket if span == 1 or chance.random() < 0.8]
            name = f"delta_{low:07d}_{high:07d}" + ("_0000" if span == 1 else "")
            if kept:
                insert(table, f"{name}/bucket_{bucket:05d}", kept)
        earlier = [i for i, _, _ in table.inserts if i[0] < low]
        if earlier:
            dead = sorted(
                {*chance.sample(earlier, min(4, len(earlier))), (low, bucket_property(1), 99)}
                - {(0, 0, 0)}
            )
            killer = chance.randint(low, high)
            table.delete(
                f"delete_{name}/bucket_{chance.randint(0, 3):05d}",
                [i for i in dead if i[0] < killer],
                killer,
            )
        write_id = high
    for _ in range(6):
        top = chance.randint(1, 12)
        out = chance.sample(range(1, top + 1), min(top, chance.randint(0, 3)))
        write_ids = valid(top, still_open=sorted(out[:1]), aborted=sorted(out[1:]))
        assert rows(counter, table.snapshot(write_ids)) == len(table.live(write_ids))


def write_plain(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    orc.write_table(
        pa.table({"k": pa.array(range(count), pa.int64()), "s": ["x"] * count}), str(path)
    )


@pytest.mark.usefixtures("no_ids_read")
def test_rows_from_before_a_conversion_have_the_ids_of_their_places(
    counter: RowCounter, table: EventTable
) -> None:
    """They are numbered through the files of a bucket, in the order of their names."""
    write_plain(table.root / "000000_0", 5)
    write_plain(table.root / "000000_0_copy_1", 5)
    write_plain(table.root / "000001_0", 5)
    dead = [
        (0, BUCKET, 0),
        (0, BUCKET, 7),
        (0, BUCKET, 9),
        (0, BUCKET, 10),
        (0, bucket_property(1), 4),
        (0, bucket_property(1), 5),
    ]
    table.delete("delete_delta_10000001_10000001_0000/bucket_00000", dead, 10000001)
    assert rows(counter, table.snapshot(valid(10000001))) == 15 - 4


def test_partitions_number_their_rows_each_for_itself(counter: RowCounter, tmp_path: Path) -> None:
    """The same id in two of them is two rows, and the answer tells them apart."""
    partitions = []
    for number, dead in enumerate(([0, 1], [1], [])):
        part = EventTable(root=tmp_path / f"ds={number}", columns=KS)
        insert(part, "delta_0000001_0000001_0000/bucket_00000", ids(1, 4))
        if dead:
            part.delete(
                "delete_delta_0000002_0000002_0000/bucket_00000",
                [(1, BUCKET, n) for n in dead],
                2,
            )
        (partition,) = snapshot(part.table, valid(2)).partitions
        partitions.append(partition)
    seen = TableSnapshot(table=part.table, write_ids=valid(2), partitions=tuple(partitions))
    assert counter.rows(seen, max_events=MANY) == (2, 3, 4)
    new = PartitionSnapshot(
        root=str(tmp_path / "ds=9"),
        directory=snapshot(EventTable(root=tmp_path / "ds=9", columns=KS).table, valid(2))
        .partitions[0]
        .directory,
    )
    again = TableSnapshot(
        table=part.table, write_ids=valid(2), partitions=(partitions[2], new, *partitions[:2])
    )
    assert counter.rows(again, max_events=MANY) == (4, 0, 2, 3)  # the same files in other positions
    assert (
        counter.rows(
            TableSnapshot(table=part.table, write_ids=valid(2), partitions=()), max_events=MANY
        )
        == ()
    )


def test_files_of_a_plain_table_are_counted(counter: RowCounter, tmp_path: Path) -> None:
    """Those without a byte hold nothing; one that is no ORC file is named."""
    root = tmp_path / "t"
    write_plain(root / "000000_0", 5)
    write_plain(root / "000001_0", 7)
    (root / "000002_0").touch()
    plain = EventTable(root=root, columns=KS).table
    assert rows(counter, TableSnapshot.plain(plain, LOCAL.list_files(str(root)))) == 12
    (root / "000003_0").write_text("no ORC file, but long enough to look like one")
    with pytest.raises(FormatError, match="000003_0"):
        rows(counter, TableSnapshot.plain(plain, LOCAL.list_files(str(root))))


def test_an_answer_is_kept_for_the_same_files(
    counter: RowCounter, table: EventTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again nothing is looked up again; another snapshot has an answer of its own."""
    insert(table, "delta_0000001_0000001_0000/bucket_00000", ids(1, 10))
    table.delete("delete_delta_0000002_0000002_0000/bucket_00000", ids(1, 3), 2)
    assert rows(counter, table.snapshot(valid(2))) == 7
    monkeypatch.setattr(RowCounter, "_hidden", None)
    assert rows(counter, table.snapshot(valid(2))) == 7
    assert rows(counter, table.snapshot(valid(1))) == 10


def test_what_a_transaction_has_written_itself_counts(
    counter: RowCounter, table: EventTable, tmp_path: Path
) -> None:
    """Its files lie elsewhere until it commits."""
    insert(table, "delta_0000001_0000001_0000/bucket_00000", ids(1, 10))
    own = EventTable(root=tmp_path / "own", columns=KS)
    insert(own, "delta_0000002_0000002_0000/bucket_00000", ids(2, 5))
    own.delete(
        "delete_delta_0000002_0000002_0000/bucket_00000", [(1, BUCKET, 3), (2, BUCKET, 0)], 2
    )
    (partition,) = table.snapshot(valid(1)).partitions
    (written,) = own.snapshot(valid(2)).partitions
    both = PartitionSnapshot(
        root=partition.root,
        directory=partition.directory,
        own_inserts=tuple(written.insert_files(0)),
        own_deletes=tuple(written.delete_files(0)),
    )
    assert (
        rows(counter, TableSnapshot(table=table.table, write_ids=valid(1), partitions=(both,)))
        == 13
    )


@pytest.mark.parametrize("fixture", FIXTURES)
def test_counts_what_hive_reads(counter: RowCounter, shared: Path, fixture: str) -> None:
    """Tables written by Hive 3 and 4, for every list of valid write ids."""
    folder = shared / "vectors" / "fixtures" / fixture
    expected = json.loads((folder / "expected.json").read_text())
    struct = parse_type(expected["schema"])
    assert isinstance(struct, StructType)
    found = tuple(Column(name=f.name, type=f.type) for f in struct.fields)
    table = Table(name=TableName("default", "t"), columns=found, location=str(folder / "table"))
    for read in expected["reads"]:
        wanted = len(read.get("rows") or read.get("hive4_rows", []))
        assert rows(counter, snapshot(table, ValidWriteIdList.parse(read["writeids"]))) == wanted, (
            read["writeids"]
        )
