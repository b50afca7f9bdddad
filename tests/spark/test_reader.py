"""The reader against a plain one, on tables as hard as Hive's rules allow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from acidsql.acid.listed import FileEntry
from acidsql.catalog.model import Table, TableName
from acidsql.errors import FormatError
from acidsql.expressions.pruning import Comparison, Predicate
from acidsql.settings import Settings
from acidsql.spark.jvm import object_filters
from acidsql.spark.read import dead_rows
from acidsql.spark.read.reader import SnapshotReader
from acidsql.spark.read.scan_words import HIVE_TYPE
from acidsql.spark.start.meanings import translate
from acidsql.storage.events.delete_events import DeadRows, DeleteEventReader
from acidsql.storage.snapshots import TableSnapshot
from tests.spark.event_tables import EventTable, bucket_property, columns, rows, valid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KS = columns("k bigint, s string")


@pytest.fixture(params=["array", "folded", "bitmap", "join"])
def reader(
    request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SnapshotReader]:
    """A reader for each way to apply delete events."""
    if request.param == "bitmap":
        monkeypatch.setattr(object_filters, "MAX_ARRAY", 0)
    if request.param == "folded":
        monkeypatch.setattr(dead_rows, "MOST_FOLDED_BITS", 3)
    made = SnapshotReader(
        spark, Settings({"acidsql.read.deletes": "join" if request.param == "join" else "filter"})
    )
    yield made
    made.close()


@pytest.fixture
def plain_reader(spark: SparkSession) -> Iterator[SnapshotReader]:
    made = SnapshotReader(spark, Settings())
    yield made
    made.close()


def row(k: int | None, s: str | None = "x") -> dict[str, Any]:
    return {"k": k, "s": s}


@pytest.fixture
def hard_table(tmp_path: Path) -> EventTable:
    """Statement ids, write ids near 2**40, gaps between buckets, nulls, deletes aimed at deltas,
    the same event in two files.
    """
    chance = random.Random(7)
    far = (1 << 40) + 5
    table = EventTable(root=tmp_path / "hard {1}", columns=KS)
    for write_id in (3, 4, far, far + (1 << 21)):
        for bucket in (0, 1, 5, 11, 4095):
            for statement in (0, 1, 2, 4095):
                ids = [(write_id, bucket_property(bucket, statement), n) for n in range(20)]
                path = f"delta_{write_id:07d}_{write_id:07d}_{statement:04d}/bucket_{bucket:05d}"
                table.insert(
                    path,
                    [
                        (i, row(None if i[2] % 9 == 0 else i[2], None if i[2] % 7 == 0 else str(i)))
                        for i in ids
                    ],
                )
    everything = [i for i, _, _ in table.inserts]
    for step in (1, 2, 3):
        killer = far + (1 << 21) + step
        doomed = sorted(i for i in chance.sample(everything, 250) if i[0] != 4 and i[1] & 4095 != 2)
        directory = f"delete_delta_{killer:07d}_{killer:07d}_0000"
        table.delete(f"{directory}/bucket_00000", doomed, killer)
        # again, and in a file of another bucket
        table.delete(f"{directory}/bucket_00001_3", doomed[::2], killer)
    return table


def test_hard_table_reads_as_the_plain_reader_says(
    spark: SparkSession, reader: SnapshotReader, hard_table: EventTable
) -> None:
    """Every live row with its whole id, and no other, for each way to apply deletes."""
    write_ids = valid(1 << 41)
    assert rows(spark, reader, hard_table.snapshot(write_ids)) == hard_table.live(write_ids)


def test_ids_that_differ_in_one_part_only_are_different_rows(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path
) -> None:
    """A delete event hits the row of its whole id: not its neighbours in write id, bucket,
    statement, row, nor above 32 bits.
    """
    table = EventTable(root=tmp_path, columns=KS)
    target = (7, bucket_property(3, 2), 5)
    near = [
        target, (7, bucket_property(3, 2), 4), (7, bucket_property(3, 1), 5), (7, bucket_property(2, 2), 5), (8, bucket_property(3, 2), 5),
        (7 + (1 << 32), bucket_property(3, 2), 5), (7, bucket_property(3, 2), 5 + (1 << 32)), (7, 3, 5), (7 + (1 << 20), bucket_property(3, 2), 5),
    ]  # fmt: skip
    for number, i in enumerate(near):
        table.insert(f"delta_{i[0]:07d}_{i[0]:07d}_{number:04d}/bucket_00003", [(i, row(number))])
    killer = 1 << 40
    table.delete(f"delete_delta_{killer}_{killer}_0000/bucket_00003", [target], killer)
    write_ids = valid(killer)
    assert rows(spark, reader, table.snapshot(write_ids)) == table.live(write_ids)
    assert len(table.live(write_ids)) == len(near) - 1


@pytest.mark.parametrize(
    "write_ids",
    [
        valid(9),
        valid(9, aborted=[3, 6]),
        valid(9, still_open=[4], aborted=[7]),
        valid(5),
        valid(7, aborted=[2]),
    ],
)
def test_directories_of_several_write_ids(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path, write_ids: Any
) -> None:
    """Rows and delete events of write ids that are not valid are as if not there, though their
    directory is chosen.
    """
    table = EventTable(root=tmp_path, columns=KS)
    bucket = bucket_property(0)
    table.insert("base_0000001/bucket_00000", [((1, bucket, n), row(n)) for n in range(10)])
    table.insert(
        "delta_0000002_0000004/bucket_00000",
        [((w, bucket, n), row(10 * w + n)) for w in (2, 3, 4) for n in range(3)],
    )
    table.insert(
        "delta_0000005_0000009/bucket_00000",
        [((w, bucket, n), row(10 * w + n)) for w in (5, 6, 7, 8, 9) for n in range(3)],
    )
    directory = table.root / "delete_delta_0000005_0000009"
    for w in (5, 6, 7, 8, 9):  # one file in life; one for each killer is as good here
        table.delete(
            f"delete_delta_0000005_0000009/bucket_0000{w}",
            [(1, bucket, w), (2, bucket, w - 7)][: 2 if w >= 7 else 1],
            w,
        )
    assert directory.is_dir()
    assert rows(spark, reader, table.snapshot(write_ids)) == table.live(write_ids)


def test_a_partition_whose_number_does_not_fit_the_key(spark: SparkSession) -> None:
    """Its row is alive, though its number, moved out of 64 bits, leaves the key of a dead row in
    another partition.
    """
    one = np.array([7], np.int64)
    widths = {"partition_bits": 4, "write_id_bits": 16, "bucket_bits": 8, "row_bits": 32}
    dead = DeadRows(write_ids=one, bucket_properties=one, keys=one, **widths)  # row 7 of place 0
    alive = dead_rows.DeadRowFilters(spark, Settings(), DeleteEventReader())._test(
        dead, by_partition=True
    )
    frame = spark.createDataFrame(
        [(0, 7, 7, 7), (256, 7, 7, 7)],
        f"{dead_rows.PARTITION_NUMBER} int, originalTransaction bigint, bucket int, rowId bigint",
    )
    assert [row[0] for row in frame.where(alive).collect()] == [256]


def test_delete_events_that_hit_nothing(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path
) -> None:
    """An event for a row that is not there takes nothing else away."""
    table = EventTable(root=tmp_path, columns=KS)
    table.insert(
        "delta_0000001_0000001_0000/bucket_00000",
        [((1, bucket_property(0), n), row(n)) for n in range(5)],
    )
    table.delete(
        "delete_delta_0000002_0000002_0000/bucket_00000",
        [(1, bucket_property(0), 99), (1, bucket_property(9), 1)],
        2,
    )
    assert len(rows(spark, reader, table.snapshot(valid(2)))) == 5


def test_all_rows_deleted(spark: SparkSession, reader: SnapshotReader, tmp_path: Path) -> None:
    """A table without live rows is empty, and so is its count."""
    table = EventTable(root=tmp_path, columns=KS)
    ids = [(1, bucket_property(0), n) for n in range(5)]
    table.insert("delta_0000001_0000001_0000/bucket_00000", [(i, row(1)) for i in ids])
    table.delete("delete_delta_0000002_0000002_0000/bucket_00000", ids, 2)
    seen = table.snapshot(valid(2))
    assert rows(spark, reader, seen) == []
    assert spark.sql(
        f"SELECT count(*) FROM {reader.view(seen, columns_used=frozenset())}"
    ).first() == (0,)


@pytest.mark.parametrize(
    "first",
    [
        "k bigint, s string",
        "s string, n int",
        "l array<int>, m map<string,int>",
        "d date, b boolean, s string",
    ],
)
def test_count_reads_one_cheap_column(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path, first: str
) -> None:
    """count(*) counts every live row, also those of nothing but nulls."""
    table = EventTable(root=tmp_path, columns=columns(first))
    nothing = dict.fromkeys(c.name for c in table.columns)
    ids = [(1, bucket_property(0), n) for n in range(5)]
    table.insert("delta_0000001_0000001_0000/bucket_00000", [(i, dict(nothing)) for i in ids])
    table.delete("delete_delta_0000002_0000002_0000/bucket_00000", ids[:2], 2)
    name = reader.view(table.snapshot(valid(2)), columns_used=frozenset())
    assert spark.sql(f"SELECT count(*) FROM {name}").first() == (3,)


def test_delete_events_above_the_limit_are_joined(
    spark: SparkSession, hard_table: EventTable
) -> None:
    """Past acidsql.read.deletes.max.events the driver holds no events, and the answer
    is the same.
    """
    reader = SnapshotReader(spark, Settings({"acidsql.read.deletes.max.events": "10"}))
    write_ids = valid(1 << 41)
    seen = hard_table.snapshot(write_ids)
    plan = spark.sql(f"EXPLAIN SELECT * FROM {reader.view(seen)}").first()
    assert plan is not None
    assert "LeftAnti" in plan[0]
    assert rows(spark, reader, seen) == hard_table.live(write_ids)
    reader.close()


def test_ids_too_wide_for_a_key_are_joined(
    spark: SparkSession, plain_reader: SnapshotReader, tmp_path: Path
) -> None:
    """Row numbers of 60 bits leave no room in a key; the rows are right all the same."""
    table = EventTable(root=tmp_path, columns=KS)
    ids = [(w, bucket_property(0), n << 60) for w in (1, 2, 3) for n in range(4)]
    for w in (1, 2, 3):
        table.insert(
            f"delta_{w:07d}_{w:07d}_0000/bucket_00000", [(i, row(1)) for i in ids if i[0] == w]
        )
    table.delete("delete_delta_0000004_0000004_0000/bucket_00000", ids[::3], 4)
    assert rows(spark, plain_reader, table.snapshot(valid(4))) == table.live(valid(4))


def test_empty_tables(spark: SparkSession, plain_reader: SnapshotReader, tmp_path: Path) -> None:
    """Tables without files have their columns and no rows, with and without ROW__ID,
    ACID or not.
    """
    table = EventTable(root=tmp_path / "none", columns=columns("k bigint, c char(3), a array<int>"))
    seen = table.snapshot(valid(0))
    assert rows(spark, plain_reader, seen) == []
    frame = spark.table(plain_reader.view(seen, row_id=True))
    expected = "struct<k:bigint,c:string,a:array<int>,ROW__ID:struct<writeid:bigint,bucketid:int,rowid:bigint>>"
    assert frame.schema.simpleString() == expected
    assert spark.table(plain_reader.view(TableSnapshot.plain(table.table, ()))).collect() == []


def test_view_has_the_schema_of_the_table(
    spark: SparkSession, plain_reader: SnapshotReader, tmp_path: Path
) -> None:
    """Columns in order with their types; char and varchar tell their Hive type, also through a
    query; ROW__ID is the last one.
    """
    table = EventTable(root=tmp_path, columns=columns("k bigint, c char(3), v varchar(4)"))
    table.insert(
        "delta_0000001_0000001_0000/bucket_00000",
        [((1, bucket_property(0), 0), {"k": 1, "c": "ab", "v": "xy"})],
    )
    name = plain_reader.view(table.snapshot(valid(1)), row_id=True)
    assert spark.table(name).columns == ["k", "c", "v", "ROW__ID"]
    shown = spark.sql(f"SELECT c AS d, v, upper(c) AS u, k FROM {name}").schema
    assert [field.metadata.get(HIVE_TYPE) for field in shown.fields] == [
        "char(3)",
        "varchar(4)",
        None,
        None,
    ]


def test_views_are_kept_and_bounded(
    spark: SparkSession, plain_reader: SnapshotReader, hard_table: EventTable
) -> None:
    """The same question gives the same view; old views go; none is left after close."""
    seen = hard_table.snapshot(valid(1 << 41))
    first = plain_reader.view(seen)
    assert plain_reader.view(seen) == first
    assert plain_reader.view(hard_table.snapshot(valid(1 << 41))) == first
    frame = spark.table(first)
    names = {plain_reader.view(seen, predicates=[equal("k", n)]) for n in range(40)}
    left = [name for name in names if spark.catalog.tableExists(name)]
    assert 0 < len(left) < 40
    assert not spark.catalog.tableExists(first)
    assert frame.count() == len(hard_table.live(valid(1 << 41)))
    plain_reader.close()
    assert not any(spark.catalog.tableExists(name) for name in left)


def equal(column: str, value: Any) -> Predicate:
    return Predicate(column=column, op=Comparison.EQUAL, values=(value,))


def test_columns_without_names_are_matched_by_position(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path
) -> None:
    """Files of old Hives name their columns _col0, _col1; such a file may lie beside one with
    names, and lack new columns.
    """
    table = EventTable(
        root=tmp_path,
        columns=columns("k bigint, s string, n int"),
        names_in_files=("_col0", "_col1"),
    )
    bucket = bucket_property(0)
    table.insert(
        "delta_0000001_0000001_0000/bucket_00000",
        [((1, bucket, n), row(n, str(n))) for n in range(5)],
    )
    table.names_in_files = ()
    table.insert(
        "delta_0000002_0000002_0000/bucket_00000",
        [((2, bucket, n), {**row(10 + n), "n": n}) for n in range(5)],
    )
    table.delete(
        "delete_delta_0000003_0000003_0000/bucket_00000", [(1, bucket, 1), (2, bucket, 2)], 3
    )
    wanted = [(i, {"n": None, **values}) for i, values in table.live(valid(3))]
    seen = table.snapshot(valid(3))
    assert rows(spark, reader, seen) == [
        (i, {"k": v["k"], "s": v["s"], "n": v["n"]}) for i, v in wanted
    ]
    assert [i for i, _ in rows(spark, reader, seen, [equal("k", 3)], "k = 3")] == [(1, bucket, 3)]


def test_added_columns_are_null_in_old_files(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path
) -> None:
    """A column that a file does not have is null there, and a predicate on it loses no row."""
    table = EventTable(root=tmp_path, columns=KS)
    table.insert(
        "delta_0000001_0000001_0000/bucket_00000",
        [((1, bucket_property(0), n), row(n)) for n in range(5)],
    )
    table.columns = columns("k bigint, s string, n int")
    table.insert(
        "delta_0000002_0000002_0000/bucket_00000",
        [((2, bucket_property(0), n), {**row(n), "n": n}) for n in range(5)],
    )
    seen = table.snapshot(valid(2))
    none = Predicate(column="n", op=Comparison.IS_NULL)
    assert len(rows(spark, reader, seen, [none], "n IS NULL")) == 5
    assert len(rows(spark, reader, seen, [equal("n", 3)], "n = 3")) == 1


# ---- what is wrong on disk


def delta(
    table: EventTable, name: str = "delta_0000001_0000001_0000/bucket_00000", count: int = 5
) -> Path:
    table.insert(name, [((1, bucket_property(0), n), row(n)) for n in range(count)])
    return table.root / name


def test_truncated_file_is_an_error_that_names_it(reader: SnapshotReader, tmp_path: Path) -> None:
    """A file cut short never reads as fewer rows."""
    table = EventTable(root=tmp_path, columns=KS)
    path = delta(table)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="delta_0000001_0000001_0000/bucket_00000"):
        reader.view(table.snapshot(valid(1)))


@pytest.mark.parametrize("content", [b"x", b"ORC", b"PAR1" * 100, bytes(5000)])
def test_foreign_bytes_are_an_error_that_names_the_file(
    reader: SnapshotReader, tmp_path: Path, content: bytes
) -> None:
    """A file that is no ORC file at all is an error, among inserts and among deletes."""
    table = EventTable(root=tmp_path, columns=KS)
    delta(table)
    bad = tmp_path / "delete_delta_0000002_0000002_0000" / "bucket_00000"
    bad.parent.mkdir()
    bad.write_bytes(content)
    with pytest.raises(FormatError, match="delete_delta_0000002_0000002_0000/bucket_00000"):
        reader.view(table.snapshot(valid(2)))


def test_file_without_acid_columns_is_an_error_that_names_it(
    spark: SparkSession, reader: SnapshotReader, tmp_path: Path
) -> None:
    """A plain ORC file under a bucket's name would read as nothing; it is refused."""
    table = EventTable(root=tmp_path, columns=KS)
    delta(table)
    spark.range(3).selectExpr("id AS k", "'x' AS s").coalesce(1).write.orc(
        str(tmp_path / "_staged")
    )
    plain = next((tmp_path / "_staged").glob("*.orc"))
    target = tmp_path / "delta_0000002_0000002_0000" / "bucket_00000"
    target.parent.mkdir()
    plain.rename(target)
    with pytest.raises(FormatError, match=r"bucket_00000. has no ACID columns"):
        reader.view(table.snapshot(valid(2)))


def test_update_events_of_old_files_are_refused(reader: SnapshotReader, tmp_path: Path) -> None:
    """Delete events in an insert delta (ACID version 1) are refused, not read as rows; and the
    other way round.
    """
    table = EventTable(root=tmp_path, columns=KS)
    delta(table)
    table.delete("delta_0000002_0000002_0000/bucket_00000", [(1, bucket_property(0), 1)], 2)
    with pytest.raises(FormatError, match="mixes"):
        reader.view(table.snapshot(valid(2)))
    other = EventTable(root=tmp_path / "other", columns=KS)
    delta(other)
    other.insert(
        "delete_delta_0000002_0000002_0000/bucket_00000", [((2, bucket_property(0), 0), row(1))]
    )
    with pytest.raises(FormatError, match="mixes"):
        reader.view(other.snapshot(valid(2)))


def test_bytes_broken_inside_a_stripe_are_an_error_that_names_the_file(
    spark: SparkSession, plain_reader: SnapshotReader, tmp_path: Path
) -> None:
    """Damage that shows only while rows are decoded: Spark's failure becomes a FormatError with the
    file's name.
    """
    table = EventTable(root=tmp_path, columns=KS)
    path = tmp_path / "delta_0000001_0000001_0000/bucket_00000"
    chance = random.Random(1)
    events = [((1, bucket_property(0), n), row(n, chance.randbytes(20).hex())) for n in range(5000)]
    table.insert("delta_0000001_0000001_0000/bucket_00000", events)
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:3] + bytes(half) + content[3 + half :])
    name = plain_reader.view(table.snapshot(valid(1)))
    with pytest.raises(Exception) as caught:
        spark.sql(f"SELECT sum(k), max(s) FROM {name}").collect()
    error = translate(caught.value)
    assert isinstance(error, FormatError)
    assert str(path) in error.message


def test_file_that_vanished_is_an_execution_error(
    spark: SparkSession, plain_reader: SnapshotReader, tmp_path: Path
) -> None:
    """A file removed after the view was made is an error that says so; never fewer rows."""
    table = EventTable(root=tmp_path, columns=KS)
    path = delta(table)
    name = plain_reader.view(table.snapshot(valid(1)))
    path.unlink()
    with pytest.raises(Exception) as caught:
        spark.sql(f"SELECT sum(k) FROM {name}").collect()
    assert "is gone" in translate(caught.value).message


# ---- tables without transactions


def test_plain_table(spark: SparkSession, plain_reader: SnapshotReader, tmp_path: Path) -> None:
    """The files of a table that is not transactional are read as they are, with push-down, whatever
    its directory is called.
    """
    root = tmp_path / "odd [name] {a,b} *"
    spark.range(1000).selectExpr("id AS k", "cast(id AS string) AS s").repartition(3).write.orc(
        str(root / "in")
    )
    table = Table(name=TableName("default", "p"), columns=KS, location=str(root / "in"))
    files = [
        FileEntry(path=path.name, size=path.stat().st_size, mtime_ns=path.stat().st_mtime_ns)
        for path in sorted((root / "in").glob("part-*"))
    ]
    seen = TableSnapshot.plain(table, files)
    assert spark.sql(f"SELECT count(*), sum(k) FROM {plain_reader.view(seen)}").first() == (
        1000,
        499500,
    )
    name = plain_reader.view(seen, predicates=[equal("k", 77)])
    assert [tuple(r) for r in spark.sql(f"SELECT * FROM {name} WHERE k = 77").collect()] == [
        (77, "77")
    ]
