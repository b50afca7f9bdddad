"""What Hive's own readers and footer checks say to the writers' files, on every path and codec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.catalog.model import Table
from tests.interop.judge import Judge
from tests.interop.judged import judged_value
from tests.spark.naive_reader import visible_rows
from tests.spark.test_writer import IO, frame, ids_frame, value
from tests.spark.written import (
    EVERY_TYPE,
    arrow_rows,
    changed_rows,
    delete,
    insert,
    make_table,
    target,
    update,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.spark]

WRITE_IDS = "default.t:9:9223372036854775807::"


def judge_files(judge: Judge, table: Table) -> int:
    """Hive's footer check passes, all of Hive's readers agree, and they see the rows the naive
    reader sees.
    """
    root = Path(table.location)
    assert len(judge.check_footers(root)) == len(list(root.glob("*/bucket_*")))
    schema = "struct<" + ",".join(f"{c.name}:{c.type}" for c in table.columns) + ">"
    seen = judge.compare(
        root, WRITE_IDS, schema, table.bucketing.count if table.bucketing else None
    )
    types = {c.name: c.type for c in table.columns}
    ours = [
        (*key, {n: judged_value(v, types[n]) for n, v in row.items()})
        for key, row in sorted(visible_rows(table).items())
    ]
    assert seen == ours
    return len(seen)


@pytest.mark.parametrize("path", ["small", "big"])
@pytest.mark.parametrize("codec", ["NONE", "ZLIB", "SNAPPY", "LZ4"])
def test_every_type_and_codec(
    spark: SparkSession, judge: Judge, tmp_path: Path, codec: str, path: str
) -> None:
    """INSERT, UPDATE and DELETE of values of every type, several buckets, under each codec."""
    table = make_table(tmp_path / "t", EVERY_TYPE, clustered=("i",), buckets=3, orc_compress=codec)
    insert(
        spark,
        IO,
        target(table, 1, path=path),
        frame(spark, table, arrow_rows(table, [value(n) for n in range(90)])),
    )
    rows = visible_rows(table)
    new = {
        key: value(row["i"] + 1000) | {"i": row["i"]} for key, row in rows.items() if row["i"] % 2
    }
    update(spark, IO, target(table, 2, path=path), frame(spark, table, changed_rows(table, new)))
    delete(spark, IO, target(table, 3, path=path), ids_frame(spark, list(visible_rows(table))[::4]))
    assert judge_files(judge, table) == 67


@pytest.mark.parametrize("path", ["small", "big"])
def test_several_stripes(spark: SparkSession, judge: Judge, tmp_path: Path, path: str) -> None:
    """Insert and delete files of several stripes: read whole and split by stripe, the same rows are
    there.
    """
    table = make_table(
        tmp_path / "t",
        {"k": "bigint", "v": "string"},
        orc_stripe_size="65536" if path == "small" else "1024",
    )
    rows = spark.range(0, 60_000, 1, 2).selectExpr("id AS k", "sha1(CAST(id AS STRING)) AS v")
    insert(spark, IO, target(table, 1, path=path), rows)
    doomed = list(visible_rows(table))
    delete(
        spark,
        IO,
        target(table, 2, path=path),
        ids_frame(spark, [k for k in doomed if k[2] % 7 < 3 or k[2] % 11 == 5]),
    )
    small_update = {
        key: row | {"v": None} for key, row in visible_rows(table).items() if row["k"] % 50 == 0
    }
    update(
        spark,
        IO,
        target(table, 3, path=path, max_bytes=1000),
        frame(spark, table, changed_rows(table, small_update)),
    )
    assert judge_files(judge, table) > 20_000


def test_new_rows_of_several_files_in_one(
    spark: SparkSession, judge: Judge, tmp_path: Path
) -> None:
    """Without buckets an UPDATE of rows from two files makes one new file; old and new rows are
    then deleted, and changed once more.
    """
    table = make_table(tmp_path / "t", {"k": "bigint", "v": "string"})
    rows = spark.range(0, 100, 1, 2).selectExpr("id AS k", "CAST(id AS STRING) AS v")
    insert(spark, IO, target(table, 1, path="big"), rows)
    new = {key: row | {"v": "u"} for key, row in visible_rows(table).items() if row["k"] % 5 == 0}
    assert len({bucket for _, bucket, _ in new}) == 2
    update(spark, IO, target(table, 2, path="small"), frame(spark, table, changed_rows(table, new)))
    assert [p.name for p in Path(table.location).glob("delta_0000002*/bucket_*")] == [
        "bucket_00000"
    ]
    delete(
        spark,
        IO,
        target(table, 3, path="small"),
        ids_frame(spark, [k for k, r in visible_rows(table).items() if r["k"] % 3 == 0]),
    )
    again = {key: row | {"v": "w"} for key, row in visible_rows(table).items() if row["k"] % 2}
    update(
        spark, IO, target(table, 4, path="small"), frame(spark, table, changed_rows(table, again))
    )
    assert judge_files(judge, table) == 66
