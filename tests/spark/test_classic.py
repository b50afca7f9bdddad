"""Spark's inner classes still are what acidsql.spark.classic takes them for: a change of Spark shows here first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from pyspark.sql import functions as F

from acidsql.spark import classic
from acidsql.spark.classic import object_filters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_no_java_handle_on_spark_connect(spark: SparkSession) -> None:
    """There is a door to Java in Spark itself, and none in a session of Spark Connect."""
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    assert classic.jvm(spark) is not None
    assert classic.jvm(remote()) is None


def test_a_clone_keeps_to_itself(spark: SparkSession) -> None:
    """Settings and views of a clone are its own; a view can be carried over, and stays as it was then."""
    spark.range(3).createOrReplaceTempView("classic_theirs")
    clone = classic.clone_session(spark)
    clone.conf.set("spark.sql.shuffle.partitions", "77")
    clone.range(1).createOrReplaceTempView("classic_ours")
    assert spark.conf.get("spark.sql.shuffle.partitions") != "77"
    assert not spark.catalog.tableExists("classic_ours")
    classic.import_view(clone, spark, "classic_theirs")
    spark.range(5).createOrReplaceTempView("classic_theirs")
    assert clone.table("classic_theirs").count() == 3
    spark.catalog.dropTempView("classic_theirs")


def test_time_zones(spark: SparkSession) -> None:
    """Zones are compared by their rules and not by their names."""
    assert classic.time_zone_of_jvm(spark) == "UTC"
    assert classic.same_time_zone(spark, "UTC", "Etc/UTC")
    assert not classic.same_time_zone(spark, "UTC", "Europe/Paris")


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_objects_in_a_filter(spark: SparkSession, count: int) -> None:
    """A sorted array and a bitmap find just their members, negative ones and the largest too."""
    values = np.unique(np.concatenate([np.arange(count) * 7, [-(2**63), -1, 2**63 - 1][: min(count, 3)]])).astype(np.int64)
    probe = sorted({*values.tolist(), 3, 5, -2, 2**62})
    frame = spark.createDataFrame([(v,) for v in probe], "v bigint")
    found = classic.position_in(spark, classic.longs(spark, values), F.col("v"))
    assert {r.v for r in frame.where(found >= 0).collect()} == set(values.tolist())
    natural = values[values >= 0]
    for members in (natural, natural[natural < 2**31], natural[:1], np.append(natural[:1], 2**31 - 1)):  # far apart, and close together
        for how in classic.NumberSet:
            if how is classic.NumberSet.BITS and not (len(members) and members[-1] < 2**20):
                continue
            test = classic.with_objects(
                spark,
                f"test {how}",
                lambda how=how: classic.is_member(spark, how, classic.expression(spark, "m"), classic.expression(spark, "v")),
                {"m": classic.held(spark, members, how)},
            )
            assert {r.v for r in frame.where(test).collect()} == {*members.tolist()} & {*probe}, how


def test_how_a_set_of_numbers_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are an array; many are a bitmap, compressed where they lie far apart."""
    monkeypatch.setattr(object_filters, "MAX_ARRAY", 4)
    assert classic.NumberSet.of(np.arange(4) << 40) is classic.NumberSet.ARRAY
    assert classic.NumberSet.of(np.arange(5)) is classic.NumberSet.BITS
    assert classic.NumberSet.of(np.arange(5) * 400) is classic.NumberSet.COMPRESSED


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT sum(id), 1 + max(id) FROM r WHERE id > 3", True),
        ("SELECT count(*) FROM (SELECT id + 1 AS n FROM r UNION ALL SELECT id FROM r)", True),
        ("SELECT sum(id) FROM r GROUP BY id % 3", False),
        ("SELECT count(DISTINCT id) FROM r", False),
        ("SELECT sum(id) FROM r HAVING sum(id) > 1", False),
        ("SELECT sum(a.id) FROM r a JOIN r b ON a.id = b.id", False),
        ("SELECT sum(id) + (SELECT max(id) FROM r) FROM r", False),
        ("SELECT sum(id) FROM r WHERE id IN (SELECT id FROM r)", False),
        ("SELECT sum(n) FROM (SELECT count(*) AS n FROM r GROUP BY id % 3)", False),
        ("SELECT sum(n) FROM (SELECT rank() OVER (ORDER BY id) AS n FROM r)", False),
        ("SELECT sum(id) FROM (SELECT id FROM r LIMIT 5)", False),
        ("SELECT sum(id) FROM (SELECT DISTINCT id FROM r)", False),
        ("SELECT sum(id) FROM (SELECT /*+ REPARTITION(3) */ id FROM r)", False),
        ("SELECT id FROM r", False),
    ],
)
def test_one_aggregate(spark: SparkSession, query: str, expected: bool) -> None:
    """Adaptive execution is only left out where one exchange to one task is all there is."""
    spark.range(10).createOrReplaceTempView("r")
    assert classic.is_one_aggregate(spark.sql(query)) is expected


def test_a_sum_of_each_task(spark: SparkSession) -> None:
    """A row sees the sum of the rows before it in its task, and each run begins anew."""
    rows = spark.range(0, 8, 1, 2)
    summed = rows.select("id", classic.sum_before(spark, F.col("id")).alias("before"))
    for _ in range(2):
        assert [r.before for r in summed.orderBy("id").collect()] == [0, 0, 1, 3, 0, 4, 9, 15]


def test_search_arguments(spark: SparkSession) -> None:
    """Tests become ORC's two options; a column of a type that ORC cannot test makes none."""
    options = classic.search_argument_options(spark, "a bigint", ["a", "b"], [("EqualTo", "a", (7,))])
    assert set(options) == {"orc.kryo.sarg", "orc.sarg.column.names"}
    assert options["orc.sarg.column.names"] == "a,b"
    assert classic.search_argument_options(spark, "a binary", ["a"], [("IsNotNull", "missing", ())]) == {}


def test_what_a_plan_does(spark: SparkSession) -> None:
    """Only plans that scan, filter and compute are known to keep rows or tasks; sub-queries do not run for the asking."""
    rows = spark.range(0, 100, 1, 3)
    assert classic.estimated_bytes(rows) == 800
    assert classic.row_bytes(rows.selectExpr("id", "CAST(id AS STRING) AS text", "array(id) AS many")) == 36
    assert classic.keeps_all_rows(rows.selectExpr("id + 1"))
    assert not classic.keeps_all_rows(rows.where("id > 3"))
    assert classic.task_count(rows.where("id > 3").selectExpr("id * 2")) == 3
    assert classic.task_count(rows.union(rows)) == 6
    assert classic.task_count(rows.repartition(5)) is None
    assert classic.task_count(rows.groupBy("id").count()) is None
    rows.createOrReplaceTempView("classic_rows")
    assert classic.task_count(spark.sql("SELECT * FROM classic_rows WHERE id > (SELECT max(id) FROM classic_rows)")) is None
    spark.catalog.dropTempView("classic_rows")


def test_plans_that_read_the_same_again(spark: SparkSession, tmp_path: Path) -> None:
    """Files and constants, filtered and computed on; nothing that chance, an order or a cache decides."""
    spark.range(10).write.orc(str(tmp_path / "rows"))
    files = spark.read.orc(str(tmp_path / "rows"))
    assert classic.reads_the_same(files.where("id > 3").selectExpr("id + 1 AS id").union(spark.range(3)))
    assert classic.reads_the_same(spark.sql("SELECT * FROM VALUES (1), (2)"))
    for other in (
        files.where("rand() > 0.5"),
        files.selectExpr("uuid()"),
        files.limit(3),
        files.distinct(),
        files.join(files, "id"),
        files.where("id > (SELECT max(id) FROM range(3))"),
        spark.createDataFrame(spark.sparkContext.parallelize([(1,)]), "id INT"),
    ):
        assert not classic.reads_the_same(other)


def test_a_limit_for_each_task(spark: SparkSession) -> None:
    """Each task gives at most so many rows: none is lost below the limit."""
    rows = spark.range(0, 100, 1, 4)
    assert classic.limit_each_task(rows, 10).count() == 40
    assert sorted(r.id for r in classic.limit_each_task(rows.where("id % 2 = 0"), 25).collect()) == list(range(0, 100, 2))
    assert classic.task_count(classic.limit_each_task(rows, 10)) == 4


def test_running_tasks(spark: SparkSession) -> None:
    """Another thread sees how far a session's own jobs are, and nothing of other sessions' jobs."""
    other = classic.clone_session(spark)
    assert classic.running_tasks(spark) is None
    job = threading.Thread(target=lambda: spark.sql("SELECT sum(hash(id, CAST(id AS STRING))) FROM range(0, 40000000, 1, 8)").collect())
    job.start()
    seen = []
    while job.is_alive():
        seen.append(classic.running_tasks(spark))
        assert classic.running_tasks(other) is None
    job.join()
    known = [tasks for tasks in seen if tasks is not None]
    assert known
    assert all(0 <= done <= all_tasks for done, all_tasks in known)
    assert max(all_tasks for _, all_tasks in known) >= 8


def test_causes(spark: SparkSession) -> None:
    """What Java says of an error, from the outermost to its root; nothing for Python's own."""
    with pytest.raises(Exception, match="boom") as failed:
        spark.sql("SELECT raise_error('boom')").collect()
    assert any("boom" in message for _, message in classic.java_causes(failed.value))
    assert list(classic.java_causes(ValueError("boom"))) == []


def test_a_scan_without_listing(spark: SparkSession, tmp_path: Path) -> None:
    """Files are read by their names and sizes, whatever stands in the names; nothing beside them is."""
    names = ["plain", "a b", "ümläut", "per%20cent", "x=1", "hash#"]
    for number, name in enumerate(names):
        pa_orc.write_table(pa.table({"v": [number, number + 100]}), tmp_path / name)
    pa_orc.write_table(pa.table({"v": [-1]}), tmp_path / "beside")
    files = [tmp_path / name for name in names]
    frame = classic.read_listed_orc(spark, [f"file:{file}" for file in files], [file.stat().st_size for file in files], "v bigint", {})
    assert frame is not None
    assert sorted(row.v for row in frame.collect()) == sorted([*range(len(names)), *range(100, 100 + len(names))])
    assert [row.v for row in frame.where("v = 103").collect()] == [103]
    assert classic.estimated_bytes(frame) == sum(file.stat().st_size for file in files)
    assert classic.keeps_all_rows(frame)


def test_a_scan_without_listing_is_not_refreshed(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's REFRESH would list anew: that fails, and the rows are still there."""
    pa_orc.write_table(pa.table({"v": [1]}), tmp_path / "file")
    frame = classic.read_listed_orc(spark, [(tmp_path / "file").as_uri()], [(tmp_path / "file").stat().st_size], "v bigint", {})
    assert frame is not None
    frame.createOrReplaceTempView("classic_listed")
    with pytest.raises(Exception, match="UNSUPPORTED_FILE_SYSTEM"):
        spark.catalog.refreshTable("classic_listed")
    assert spark.table("classic_listed").count() == 1
    spark.catalog.dropTempView("classic_listed")
