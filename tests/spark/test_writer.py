"""INSERT, UPDATE and DELETE of DataFrames on both paths: the same rows, and files that keep every
rule.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.acid.bucketing import bucket_numbers
from acidsql.catalog.model import Table
from acidsql.errors import CardinalityError, DataError
from acidsql.expressions.spark_words import identifier, spark_type
from acidsql.files.local_files import LocalFileIO
from acidsql.spark import jvm
from acidsql.storage.write.target import Written
from tests.spark.naive_reader import Key, read_files, tail_of, visible_rows
from tests.spark.written import (
    EVERY_TYPE,
    arrow_rows,
    below,
    changed_rows,
    delete,
    id_table,
    insert,
    make_table,
    names_below,
    target,
    update,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

IO = LocalFileIO(durable=False)
PAIRS = {"k": "bigint", "v": "string"}
PATHS = ("small", "big")


def frame(spark: SparkSession, table: Table, rows: pa.Table, tasks: int = 3) -> DataFrame:
    """Arrow rows as a DataFrame of the table's Spark types (after ids, if there are some), in
    several tasks.
    """
    types = [spark_type(c.type) for c in table.columns]
    ids = ["bigint", "int", "bigint"] if rows.num_columns > len(types) else []
    placed = jvm.frame_of(
        spark, rows.rename_columns([f"_{i}" for i in range(rows.num_columns)])
    ).repartition(tasks)
    names = [*rows.column_names[: len(ids)], *(c.name for c in table.columns)]
    return placed.selectExpr(
        *[
            f"CAST(_{i} AS {t}) AS {identifier(n)}"
            for i, (n, t) in enumerate(zip(names, [*ids, *types], strict=True))
        ]
    )


def ids_frame(spark: SparkSession, keys: list[Key]) -> DataFrame:
    return jvm.frame_of(spark, id_table(keys)).repartition(3)


@contextmanager
def settings(spark: SparkSession, **conf: str) -> Iterator[None]:
    before = {k.replace("_", "."): spark.conf.get(k.replace("_", "."), None) for k in conf}
    try:
        for key, value in conf.items():
            spark.conf.set(key.replace("_", "."), value)
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


def by_key(table: Table, column: str = "k") -> list[dict[str, Any]]:
    return sorted(visible_rows(table).values(), key=lambda row: row[column])


def value(n: int) -> dict[str, object]:
    """A row of EVERY_TYPE; each third one is NULL all over but for its number."""
    if n % 3 == 0:
        return {name: n if name == "i" else None for name in EVERY_TYPE}
    return {
        "b": n % 2 == 0,
        "ti": n % 100 - 50,
        "si": -n,
        "i": n,
        "bi": -(2**63) + n,
        "f": n / 4,
        "d": -n / 8,
        "dec": Decimal(n).scaleb(-4),
        "s": "" if n % 5 == 0 else f"ü{n}",
        "c": f"c{n}"[:5].ljust(5),
        "vc": f"v{n}"[:6],
        "bin": bytes([n % 256, 0]),
        "dt": datetime.date(1960, 1, 1) + datetime.timedelta(n),
        "ts": datetime.datetime(1969, 1, 1, 0, 0, 0, 250_000)
        + datetime.timedelta(n, microseconds=n),
        "arr": [n, None] if n % 2 else [],
        "m": [("k", n)] if n % 2 else [("ß", None)],
        "st": {"x": None, "y": str(n)},
        "deep": [None, {"k": "abc", "v": [(n, [Decimal("1.25"), None])]}],
        "nest": {
            "a": None if n % 2 else {"x": n, "y": None if n % 4 else {"z": "z"}},
            "b": [("q", None if n % 2 else {"c": n})],
        },
        "bucket": n,
        "row": "r",
    }


@pytest.mark.parametrize("path", PATHS)
def test_every_type(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """Values of every type, also below columns with an event's own field names, come through INSERT
    and UPDATE unchanged.
    """
    table = make_table(tmp_path / "t", EVERY_TYPE)
    rows = {n: value(n) for n in range(60)}
    written = insert(
        spark,
        IO,
        target(table, 1, path=path),
        frame(spark, table, arrow_rows(table, list(rows.values()))),
    )
    assert written.inserted == 60
    assert by_key(table, "i") == list(rows.values())
    new = {
        key: value(row["i"] + 1000) | {"i": row["i"]}
        for key, row in visible_rows(table).items()
        if row["i"] % 2
    }
    written = update(
        spark, IO, target(table, 2, path=path), frame(spark, table, changed_rows(table, new))
    )
    assert written.updated == len(new)
    assert by_key(table, "i") == [
        value(n + 1000) | {"i": n} if n % 2 else value(n) for n in range(60)
    ]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("clustered", [("k",), ("v", "k")], ids=["bigint", "string"])
def test_buckets(
    spark: SparkSession, tmp_path: Path, path: str, clustered: tuple[str, ...]
) -> None:
    """One file for each bucket, the bucket of Hive's hash, whatever adaptive execution would like
    to do with so few rows.
    """
    table = make_table(tmp_path / "t", PAIRS, clustered=clustered, buckets=5)
    rows = arrow_rows(
        table, [{"k": k, "v": f"é{k}"} for k in range(300)] + [{"k": None, "v": None}]
    )
    with settings(spark, spark_sql_shuffle_partitions="3", spark_sql_adaptive_enabled="true"):
        insert(spark, IO, target(table, 1, 4, path=path), frame(spark, table, rows))
    types = {"k": "bigint", "v": "string"}
    numbers = bucket_numbers([(rows.column(c), types[c]) for c in clustered], 5)
    assert [f.bucket for f in read_files(tmp_path / "t")] == sorted(set(numbers.tolist()))
    found = {row["k"]: key[1] >> 16 & 4095 for key, row in visible_rows(table).items()}
    assert found == dict(zip(rows.column("k").to_pylist(), numbers.tolist(), strict=True))


@pytest.mark.parametrize("max_bytes", [64 << 20, 100], ids=["sorted-in-memory", "sorted-by-a-job"])
@pytest.mark.parametrize("clustered", [(), ("k",)], ids=["plain", "clustered"])
def test_big_update(
    spark: SparkSession, tmp_path: Path, clustered: tuple[str, ...], max_bytes: int
) -> None:
    """The big path's delete and insert events share one statement id; rows of a CLUSTERED BY table
    stay in their buckets.
    """
    table = make_table(tmp_path / "t", PAIRS, clustered=clustered, buckets=3)
    for write_id, start in ((1, 0), (2, 100)):
        rows = arrow_rows(table, [{"k": k, "v": "old"} for k in range(start, start + 100)])
        insert(spark, IO, target(table, write_id, path="big"), frame(spark, table, rows, tasks=4))
    old = visible_rows(table)
    new = {key: {"k": row["k"], "v": "new"} for key, row in old.items() if row["k"] % 3 == 0}
    big = target(table, 3, 2, path="big", max_bytes=max_bytes)
    written = update(spark, IO, big, frame(spark, table, changed_rows(table, new), tasks=5))
    assert written == Written(
        directories=below(table, "delete_delta_0000003_0000003_0002", "delta_0000003_0000003_0002"),
        updated=67,
        path="big",
    )
    assert by_key(table) == [{"k": k, "v": "new" if k % 3 == 0 else "old"} for k in range(200)]
    if clustered:
        bucket = {row["k"]: key[1] >> 16 & 4095 for key, row in old.items()}
        assert {row["k"]: key[1] >> 16 & 4095 for key, row in visible_rows(table).items()} == bucket


@pytest.mark.parametrize("path", PATHS)
def test_delete(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """Deletes lie sorted in the one file of each decoded bucket, more buckets than tasks, bucket
    properties unchanged.
    """
    table = make_table(tmp_path / "t", PAIRS)
    keys: list[Key] = [
        (w, 1 << 29 | b << 16 | s, r)
        for w in (9, 2)
        for s in (3, 0)
        for b in (0, 1, 2, 7, 4095)
        for r in range(20)
    ]
    written = delete(spark, IO, target(table, 10, 1, path=path), ids_frame(spark, keys))
    assert written == Written(
        directories=below(table, "delete_delta_0000010_0000010_0001"), deleted=400, path=path
    )
    files = read_files(tmp_path / "t")
    assert [f.bucket for f in files] == [0, 1, 2, 7, 4095]
    assert [key for f in files for key in f.keys] == sorted(
        keys, key=lambda k: (k[1] >> 16 & 4095, k)
    )


@pytest.mark.parametrize("path", PATHS)
def test_one_row_changed_twice(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """An id that comes twice fails UPDATE and DELETE on every path before anything has a name."""
    table = make_table(tmp_path / "t", PAIRS)
    keys: list[Key] = [(1, 1 << 29, r) for r in range(50)] + [(1, 1 << 29, 33)]
    values = arrow_rows(table, [{"k": 1, "v": "x"}] * 51)
    changed = pa.Table.from_arrays(
        [*id_table(keys).columns, *values.columns], names=[*id_table(keys).column_names, "k", "v"]
    )
    for max_bytes in (64 << 20, 100) if path == "big" else (64 << 20,):
        with pytest.raises(CardinalityError, match="more than one row of the source") as caught:
            update(
                spark,
                IO,
                target(table, 2, path=path, max_bytes=max_bytes),
                frame(spark, table, changed),
            )
        assert (
            caught.value.message == "Cardinality Violation in Merge statement: [1, 536870912, 33]"
        )
        words = "row of the target would be changed by more than one row of the source"
        assert words in str(caught.value.detail)
    with pytest.raises(CardinalityError):
        delete(spark, IO, target(table, 2, path=path), ids_frame(spark, keys))
    assert names_below(tmp_path) == []
    assert not (tmp_path / "t").exists() or not list((tmp_path / "t").iterdir())


@pytest.mark.parametrize("path", PATHS)
def test_no_rows_no_files(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """A statement that touches no row leaves nothing; INSERT OVERWRITE leaves an empty base."""
    table = make_table(tmp_path / "t", PAIRS, clustered=("k",))
    none = frame(spark, table, arrow_rows(table, []))
    assert insert(spark, IO, target(table, 1, path=path), none) == Written(path=path)
    assert update(
        spark, IO, target(table, 1, path=path), frame(spark, table, changed_rows(table, {}))
    ) == Written(path=path)
    assert delete(spark, IO, target(table, 1, path=path), ids_frame(spark, [])) == Written(
        path=path
    )
    assert names_below(tmp_path) == []
    written = insert(spark, IO, target(table, 1, path=path, overwrite=True), none)
    assert written == Written(directories=below(table, "base_0000001"), path=path)
    assert names_below(tmp_path / "t") == ["base_0000001/_orc_acid_version"]


def test_several_stripes(spark: SparkSession, tmp_path: Path) -> None:
    """The big path's files of several stripes have one entry in the key index for each."""
    table = make_table(tmp_path / "t", PAIRS, orc_stripe_size="1024")
    rows = spark.range(0, 40_000, 1, 2).selectExpr("id AS k", "sha1(CAST(id AS STRING)) AS v")
    insert(spark, IO, target(table, 1, path="big"), rows)
    delete(
        spark, IO, target(table, 2, path="big"), ids_frame(spark, list(visible_rows(table))[::2])
    )
    files = {f.directory: f.tail.stripes for f in read_files(tmp_path / "t")}
    assert all(len(stripes) > 1 for stripes in files.values()), files
    assert len(visible_rows(table)) == 20_000


@pytest.mark.parametrize("path", PATHS)
def test_any_location(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """Blanks, percent signs, brackets and braces in a location are parts of its name; a file: URL
    is as good as a path.
    """
    root = tmp_path / "a b%20[c]{d,e}*x"
    table = make_table(root, PAIRS)
    insert(spark, IO, target(table, 1, path=path), spark.range(3).selectExpr("id AS k", "'v' AS v"))
    new = {key: row | {"v": "new"} for key, row in visible_rows(table).items()}
    update(
        spark,
        IO,
        target(table, 2, path=path, max_bytes=10),
        frame(spark, table, changed_rows(table, new)),
    )
    assert [row["v"] for row in by_key(table)] == ["new"] * 3
    url = make_table(Path("u"), PAIRS)
    object.__setattr__(url, "location", f"file:{tmp_path}/u")
    insert(spark, IO, target(url, 1, path=path), spark.range(3).selectExpr("id AS k", "'v' AS v"))
    assert len(read_files(tmp_path / "u")) > 0


@pytest.mark.parametrize("path", PATHS)
def test_char_is_stored_padded(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """char(n) values are padded on both paths alike, nested ones too."""
    table = make_table(
        tmp_path / "t", {"k": "int", "c": "char(3)", "n": "map<char(2),struct<l:array<char(4)>>>"}
    )
    rows = [
        {"k": 1, "c": "é", "n": [("k", {"l": ["x", None]}), ("q", None)]},
        {"k": 2, "c": None, "n": None},
    ]
    insert(spark, IO, target(table, 1, path=path), frame(spark, table, arrow_rows(table, rows)))
    stored = [
        {"k": 1, "c": "é  ", "n": [("k ", {"l": ["x   ", None]}), ("q ", None)]},
        {"k": 2, "c": None, "n": None},
    ]
    assert by_key(table) == stored


@pytest.mark.parametrize("path", PATHS)
def test_timestamps_orc_cannot_hold_are_refused(
    spark: SparkSession, tmp_path: Path, path: str
) -> None:
    """The last 999 milliseconds before 1970 are an error on both paths, nested or not; a
    microsecond earlier is stored.
    """
    table = make_table(tmp_path / "t", {"k": "int", "a": "array<timestamp>"})
    for micros in (-1, -999_000):
        rows = spark.sql(f"SELECT 1 AS k, array(timestamp_micros({micros})) AS a")
        with pytest.raises(DataError, match="cannot be stored in ORC"):
            insert(spark, IO, target(table, 1, path=path), rows)
    assert names_below(tmp_path) == []
    insert(
        spark,
        IO,
        target(table, 1, path=path),
        spark.sql("SELECT 1 AS k, array(timestamp_micros(-999001)) AS a"),
    )
    assert by_key(table) == [{"k": 1, "a": [datetime.datetime(1969, 12, 31, 23, 59, 59, 999)]}]


@pytest.mark.parametrize("path", PATHS)
def test_plain_tables(spark: SparkSession, tmp_path: Path, path: str) -> None:
    """A table without transactions gets files with Hive's names and its declared types; an
    overwrite leaves only the new ones.
    """
    table = make_table(
        tmp_path / "t",
        {"k": "bigint", "c": "char(3)"},
        clustered=("k",),
        buckets=2,
        transactional="false",
    )
    rows = frame(spark, table, arrow_rows(table, [{"k": k, "c": "x"} for k in range(10)]))
    for _ in range(2):
        written = insert(spark, IO, target(table, 0, path=path), rows)
        assert (written.inserted, written.path) == (10, path)
    assert names_below(tmp_path / "t") == [
        "000000_0",
        "000000_0_copy_1",
        "000001_0",
        "000001_0_copy_1",
    ]
    assert str(tail_of(tmp_path / "t/000001_0").schema) == "struct<k:bigint,c:char(3)>"
    assert orc.ORCFile(tmp_path / "t/000001_0").read().column("c").unique().to_pylist() == ["x  "]
    insert(spark, IO, target(table, 0, path=path, overwrite=True), rows)
    assert names_below(tmp_path / "t") == ["000000_0_copy_2", "000001_0_copy_2"]


def test_the_path_follows_the_size(spark: SparkSession, tmp_path: Path) -> None:
    """Left to itself, a statement takes the small path if its rows fit and the big one if not."""
    table = make_table(tmp_path / "t", PAIRS)
    source = spark.range(0, 2000, 1, 2).selectExpr("id AS k", "'v' AS v")
    few, many = source.where("k < 10"), source
    assert [
        insert(spark, IO, target(table, w, max_bytes=10_000), df).path
        for w, df in ((1, few), (2, many))
    ] == ["small", "big"]
    keys = list(visible_rows(table))
    assert (
        delete(spark, IO, target(table, 3, max_bytes=10_000), ids_frame(spark, keys[:480])).path
        == "small"
    )
    assert (
        delete(spark, IO, target(table, 4, max_bytes=10_000), ids_frame(spark, keys[480:981])).path
        == "big"
    )
    assert len(visible_rows(table)) == 1029


def test_a_failing_job_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """When Spark fails in the middle of a write, staging goes and the table is as it was."""
    table = make_table(tmp_path / "t", PAIRS)
    rows = spark.range(0, 10_000, 1, 2).selectExpr(
        "id AS k", "IF(id = 9999, raise_error('stop'), 'v') AS v"
    )
    with pytest.raises(Exception, match="stop"):
        insert(spark, IO, target(table, 1, path="big"), rows)
    assert names_below(tmp_path) == []
    assert list((tmp_path / "t").iterdir()) == []
