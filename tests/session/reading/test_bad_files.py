"""Files that are broken, foreign or misnamed: an error of ours that names the file, never fewer or
other rows.

ORC keeps no checksum. What a changed byte makes of a *value* nobody can tell, but how many rows
there are and under which ROW__IDs is written down twice.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from acidsql.acid.orc_tail import load_tail
from acidsql.errors import Error, FormatError
from acidsql.session import Session
from tests.lengths import times

pytestmark = pytest.mark.spark

INSERTS, DELETES, ORIGINAL = (
    "delta_10000001_10000001_0000/bucket_00000",
    "delete_delta_10000002_10000002_0000/bucket_00000",
    "000000_0",
)
KINDS = {"insert": INSERTS, "delete": DELETES, "original": ORIGINAL}
ROWS = 90


@dataclass
class Damaged:
    """A converted table of 50 rows, 50 more and 10 delete events, kept in good order beside it."""

    session: Session
    folder: Path
    good: Path
    clock: int = 0
    ids: list[tuple[object, ...]] = field(default_factory=list)

    def put(self, name: str, content: bytes) -> None:
        """A file changed in place, at another time than before: files that were looked at are
        remembered by it.
        """
        self.clock += 1
        (self.folder / name).write_bytes(content)
        os.utime(self.folder / name, ns=(0, 10**18 + self.clock * 10**6))

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.good, self.folder)

    def answer(self, deletes: str) -> list[tuple[object, ...]] | Error:
        try:
            return self.read(deletes)
        except Error as error:
            return error

    def read(self, deletes: str = "filter") -> list[tuple[object, ...]]:
        """The ids of all rows, in order; their values are read, too."""
        self.session.sql(f"SET acidsql.read.deletes={deletes}")
        return sorted(
            tuple(row_id.values())
            for row_id, *_ in self.session.sql("SELECT ROW__ID, * FROM t").rows()
        )


@pytest.fixture(scope="module")
def shared_table(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Iterator[Damaged]:
    warehouse = tmp_path_factory.mktemp("damaged") / "warehouse"
    with Session(warehouse, spark=spark) as session:
        session.sql("CREATE TABLE t (id INT, v STRING, d DECIMAL(8,2)) STORED AS ORC")
        session.sql("INSERT INTO t SELECT id, concat('v', id), id + 0.5 FROM range(50)")
        session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
        session.sql("INSERT INTO t SELECT id + 100, concat('w', id), id + 0.25 FROM range(50)")
        session.sql("DELETE FROM t WHERE id % 10 = 3")
        shutil.copytree(warehouse / "t", warehouse.parent / "good")
        made = Damaged(session, warehouse / "t", warehouse.parent / "good")
        made.ids = made.read()
        assert len(made.ids) == ROWS
        yield made


@pytest.fixture
def table(shared_table: Damaged) -> Iterator[Damaged]:
    yield shared_table
    shared_table.restore()


def parquet_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"id": [1]}), sink)
    return sink.getvalue().to_pybytes()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "one byte": lambda data: data[:1],
    "cut in half": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "without its footer": lambda data: data[
        : load_tail(lambda count: (data[-count:], len(data)), "f").offset
    ],
    "only its footer": lambda data: data[
        load_tail(lambda count: (data[-count:], len(data)), "f").offset :
    ],
    "zeros": lambda data: bytes(len(data)),
    "text": lambda data: b"id,v,d\n1,a,0.5\n" * 40,
    "parquet": lambda data: parquet_bytes(),
    "a byte more": lambda data: data + b"\n",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_no_orc_file_is_named(table: Damaged, kind: str, damage: str) -> None:
    """Whatever a file holds in place of what it should, reading the table and writing to it fail
    and name it; nothing is left behind.
    """
    good = (table.good / KINDS[kind]).read_bytes()
    table.put(KINDS[kind], DAMAGE[damage](good))
    before = sorted(table.folder.rglob("*"))
    for sql in (
        "SELECT * FROM t",
        "SELECT count(*) FROM t",
        "INSERT OVERWRITE TABLE t SELECT * FROM t",
    ):
        with pytest.raises(FormatError, match=f'"{table.folder}/{KINDS[kind]}"'):
            table.session.sql(sql).to_arrow()
    assert sorted(table.folder.rglob("*")) == before


def test_a_file_without_a_byte(table: Damaged) -> None:
    """Is named if it is on record that a statement has filled it; one of others' that should hold
    rows holds none, as in Hive.
    """
    for name in (DELETES, INSERTS):
        table.put(name, b"")
        with pytest.raises(FormatError, match=f'"{table.folder}/{name}" is empty'):
            table.read()
        table.restore()
    table.put(ORIGINAL, b"")
    assert {row_id[0] for row_id in table.read()} == {10000001}


def flipped(
    good: bytes, places: range, count: int, chance: random.Random
) -> Iterator[tuple[int, bytes]]:
    """The bytes with one bit changed, at ``count`` of the places, or at all if there are fewer."""
    for at in sorted(chance.sample(places, min(count, len(places)))):
        changed = bytearray(good)
        changed[at] ^= 1 << chance.randrange(8)
        yield at, bytes(changed)


def check_footers(table: Damaged, kind: str, count: int, seed: int) -> None:
    good, chance = (table.good / KINDS[kind]).read_bytes(), random.Random(seed)
    tail = load_tail(lambda wanted: (good[-wanted:], len(good)), "f")
    for at, changed in flipped(good, range(tail.offset, len(good)), count, chance):
        table.put(KINDS[kind], changed)
        deletes = chance.choice(["filter", "join"])
        found, note = table.answer(deletes), f"seed {seed}: byte {at} of the {kind} file, {deletes}"
        if isinstance(found, Error):
            assert f'"{table.folder}/{KINDS[kind]}"' in str(found), note
        else:
            assert found == table.ids, note


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_bit_in_a_footer(table: Damaged, kind: str) -> None:
    """The same rows, where nothing depends on it, or an error that names the file."""
    check_footers(table, kind, 12, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kind", KINDS)
def test_changed_bits_all_over_a_footer(table: Damaged, kind: str) -> None:
    """The same of more than a hundred bytes of it."""
    check_footers(table, kind, times(150), seed=2)


@pytest.mark.parametrize("deletes", ["filter", "join"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_bit_in_the_data(table: Damaged, kind: str, deletes: str) -> None:
    """Whatever fails below is an error of ours that names the file."""
    good, chance = (table.good / KINDS[kind]).read_bytes(), random.Random(7)
    tail = load_tail(lambda wanted: (good[-wanted:], len(good)), "f")
    failed = 0
    for at, changed in flipped(good, range(tail.offset), 12, chance):
        table.put(KINDS[kind], changed)
        found = table.answer(deletes)
        if isinstance(found, Error):
            failed += 1
            assert f'"{table.folder}/{KINDS[kind]}"' in str(found), f"byte {at}"
    assert failed


MISNAMED = {
    ORIGINAL: (
        "part-00000-abc-c000.snappy.orc",
        "bucket_00000",
        "data.orc",
        "DELTA_1_1/bucket_00000",
    ),
    INSERTS: tuple(
        f"{INSERTS.partition('/')[0]}/{name}"
        for name in ("part-00000", "bucket_00000.orc", "000000_0", "copy of bucket_00000")
    ),
    DELETES: tuple(
        f"{DELETES.partition('/')[0]}/{name}"
        for name in ("part-00000", "bucket_00000.orc", "000000_0")
    ),
}


@pytest.mark.parametrize(
    ("old", "new"), [(old, new) for old, names in MISNAMED.items() for new in names]
)
def test_a_file_of_another_name_is_named(table: Damaged, old: str, new: str) -> None:
    """Hive passes over most of these without a word; here nobody misses rows or sees deleted ones
    again.
    """
    (table.folder / new).parent.mkdir(exist_ok=True)
    (table.folder / old).rename(table.folder / new)
    with pytest.raises(FormatError, match=f'file "({table.folder}/)?{new}"'):
        table.read()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ORIGINAL, DELETES),
        (ORIGINAL, INSERTS),
        (INSERTS, DELETES),
        (DELETES, INSERTS),
        (INSERTS, ORIGINAL),
    ],
)
def test_a_file_in_the_wrong_place_is_named(table: Damaged, old: str, new: str) -> None:
    """Rows where events should be, events where rows should be, inserts among deletes."""
    place = table.folder / new.replace("bucket_00000", "bucket_00001").replace(
        "000000_0", "000001_0"
    )
    place.parent.mkdir(exist_ok=True)
    (table.folder / old).rename(place)
    with pytest.raises(FormatError, match=f'file "{place}"'):
        table.read()


NONSENSE = (
    *(
        "delta_x",
        "delta_5",
        "delta_0000005_0000004_0000",
        "delta_1_1_abc",
        "delta_99999999999999999999_99999999999999999999",
    ),
    *("base_x", "base_1_1", "base_", "delete_delta_", "delete_delta_1_2_3_4"),
)


@pytest.mark.parametrize("name", NONSENSE)
def test_a_directory_with_a_nonsense_name_is_named(table: Damaged, name: str) -> None:
    """What looks like an ACID directory and is none holds rows of nobody knows which
    transaction.
    """
    (table.folder / INSERTS).parent.rename(table.folder / name)
    with pytest.raises(FormatError, match=f'"{name}" is not a valid name of an ACID directory'):
        table.read()


def test_a_file_that_vanishes_is_named(table: Damaged) -> None:
    """Between the listing and the reading, by a session that has not read it before."""
    with table.session.open_beside() as session:
        result = session.sql("SELECT * FROM t")
        (table.folder / INSERTS).unlink()
        with pytest.raises(Error, match=INSERTS):
            result.to_arrow()
