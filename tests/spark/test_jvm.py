"""Spark's inner classes still are what acidsql.spark.jvm takes them for: a change of Spark shows
here first.
"""

from __future__ import annotations

import datetime as dt
import gc
import importlib.util
import operator
import os
import subprocess
import sys
import threading
import time
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from acidsql.errors import ExecutionError
from acidsql.expressions.spark_words import SPARK_FUNCTIONS
from acidsql.spark import jvm
from acidsql.spark.jvm import arrow_rows, java, jobs, object_filters, placing
from acidsql.spark.read.scan_words import file_uri
from acidsql.spark.start.meanings import translate
from acidsql.spark_release import NEWEST, installed_release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@contextmanager
def conf(spark: SparkSession, **settings: str) -> Iterator[None]:
    """Settings of Spark's, dots written as two underscores, that hold inside."""
    from acidsql.spark.start.session import settings_during

    with settings_during(
        spark, {name.replace("__", "."): value for name, value in settings.items()}
    ):
        yield


def test_the_door_to_java(spark: SparkSession) -> None:
    """A classic session has one."""
    assert jvm.jvm(spark) is not None
    assert jvm.need_java(spark) is jvm.jvm(spark)


def test_a_spark_of_another_thread(spark: SparkSession) -> None:
    """It becomes this thread's, whose active session it had not been, and can be cancelled."""
    active = type(spark).getActiveSession()
    sessions = java.sql_class(jvm.need_java(spark), "SparkSession")
    sessions.clearActiveSession()
    try:
        cancel = jvm.take_over()
        assert type(spark).getActiveSession() is not None
        assert cancel is not None
        cancel()
    finally:
        if active is not None:
            sessions.setActiveSession(active._jsparkSession)


def test_objects_of_java_and_scala(spark: SparkSession) -> None:
    """Classes, Scala's objects and collections, arrays and literals are what Java takes them for;
    what was looked up is kept.
    """
    door = jvm.need_java(spark)
    text = java.class_object(door, "java.lang.String")
    assert text.getName() == "java.lang.String"
    assert java.class_object(door, "java.lang.String") is text
    assert java.remembered(door, "a key of this test", object) is java.remembered(
        door, "a key of this test", object
    )
    assert java.java_class(door, "java.lang.Integer").parseInt("12") == 12
    assert java.scala_object(door, f"{java.TYPES}.LongType").simpleString() == "bigint"
    assert java.none(door).isEmpty()
    assert java.seq(door, "a", "b").mkString("-") == "a-b"
    assert java.seq(door).isEmpty()
    assert java.scala_map(door, [("a", "b")]).apply("a") == "b"
    assert java.integer(door, 7).sql() == "7"
    for array, kind, items in (
        (java.array_of(spark, "java.lang.Integer", [1, 2]), "Integer[]", [1, 2]),
        (java.java_strings(spark, ["x"]), "String[]", ["x"]),
        (jvm.java_objects(spark, ["x", 1, None]), "Object[]", ["x", 1, None]),
        (jvm.longs(spark, np.array([-(2**63), 0, 2**63 - 1])), "long[]", [-(2**63), 0, 2**63 - 1]),
        (jvm.longs(spark, np.array([], np.int64)), "long[]", []),
    ):
        assert (array.getClass().getSimpleName(), list(array)) == (kind, items)
    assert jvm.java_date(spark, "2024-02-29").toString() == "2024-02-29"


def test_what_the_spark_that_runs_has(spark: SparkSession) -> None:
    """Classes and methods are looked for before they are used; one that is not there is named."""
    door = jvm.need_java(spark)
    assert java.has_class(door, "java.util.ArrayList")
    assert not java.has_class(door, "java.util.NoSuchList")
    with pytest.raises(ExecutionError, match=r"no class java\.util\.NoSuchList"):
        java.java_class(door, "java.util.NoSuchList")
    assert java.sql_class(door, "SparkSession").getActiveSession().isDefined()
    assert java.takes(door, "java.util.ArrayList", "add", 2)
    assert not java.takes(door, "java.util.ArrayList", "add", 3)
    assert java.constructed(door, "java.awt.Point", 1, later=[2, 3]).getY() == 2.0


def test_what_java_answers_is_no_end_of_it(spark: SparkSession) -> None:
    """A method, a class or a way to call that is not there is told as such, with Java's words."""
    lists = java.java_class(jvm.need_java(spark), "java.util.ArrayList")
    for call in (lambda: lists().noSuch(), lambda: lists(1, 2, 3), lambda: lists.noSuch):
        with pytest.raises(Py4JError) as caught:
            call()
        assert jvm.is_answer(caught.value)
        error = translate(caught.value)
        assert error.message == "Spark lacks what acidsql asks of it"
        assert "noSuch" in str(error.detail) or "java.util.ArrayList" in str(error.detail)
        assert "Spark 3.5 to 4.3" in str(error.hint)
    assert not jvm.is_answer(Py4JError("An error occurred while calling o1.x"))


def test_errors_name_their_condition_and_place(spark: SparkSession) -> None:
    """Those of a text of SQL and those of tasks, however deep they lie in Java's."""
    with pytest.raises(PySparkException) as caught:
        spark.sql("SELECT nothing FROM range(3)")
    assert (jvm.condition_of(caught.value) or "").startswith("UNRESOLVED_COLUMN")
    [context] = jvm.query_contexts(caught.value)
    assert (context.startIndex(), context.stopIndex(), context.fragment()) == (7, 13, "nothing")
    with conf(spark, spark__sql__ansi__enabled="true"), pytest.raises(Exception) as failed:
        spark.sql("SELECT 1 / (id - 1) FROM range(3)").collect()
    assert jvm.condition_of(jvm.spark_error(failed.value)) == "DIVIDE_BY_ZERO"
    assert jvm.condition_of(ValueError()) is None
    assert jvm.query_contexts(ValueError()) == ()
    other = ValueError()
    assert jvm.spark_error(other) is other


def test_hadoops_configuration(spark: SparkSession) -> None:
    """It has the settings of the session, and not those of others."""
    ours = jvm.clone_session(spark)
    ours.conf.set("acidsql.probe", "7")
    assert jvm.hadoop_configuration(ours).get("acidsql.probe") == "7"
    assert jvm.hadoop_configuration(spark).get("acidsql.probe") is None


def test_relative_paths_are_below_a_directory(spark: SparkSession) -> None:
    """It is the one in which Java was started, whatever this process does."""
    assert jvm.working_directory(spark) == os.getcwd()


def test_paths_are_of_a_file_system(spark: SparkSession) -> None:
    """Without a scheme they are this machine's, unless the session says others."""
    assert jvm.root_of_paths(spark) == "file:///"
    ours = jvm.clone_session(spark)
    ours.conf.set("fs.defaultFS", "hdfs://host")
    assert jvm.root_of_paths(ours) == "hdfs://host"


def test_a_running_session_is_found(spark: SparkSession) -> None:
    """It is of the Spark that runs; a Java process that runs is not launched again."""
    running = jvm.running_session()
    assert running is not None
    assert jvm.running_session_if_any() is running
    assert running.sparkContext is spark.sparkContext
    before = spark.sparkContext._gateway
    jvm.launch({"spark.driver.memory": "no memory"}, quiet=True)
    assert spark.sparkContext._gateway is before


@pytest.mark.processes
def test_launching() -> None:
    """Java's last words are the detail of a start that fails, the next one may succeed, and threads
    that start it have one process.
    """
    code = """
import threading
from pyspark import SparkContext
from acidsql.errors import ExecutionError
from acidsql.spark import jvm
from acidsql.spark.start.java import ensure_java
ensure_java()
assert jvm.running_session() is None
try:
    jvm.launch({"spark.driver.memory": "no memory"}, quiet=True)
    raise AssertionError("Java started")
except ExecutionError as error:
    assert error.message == "the Java process of Spark did not start" and "no memory" in error.detail, error
threads = [threading.Thread(target=jvm.launch, args=({},), kwargs={"quiet": True}) for _ in range(3)]
for each in threads: each.start()
for each in threads: each.join()
SparkContext._gateway.shutdown()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_work_in_tasks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results come in order; a job that fails is None, and no more are begun on that Spark."""
    monkeypatch.setattr(jobs, "_unfit", WeakSet())
    monkeypatch.setattr(jobs, "_LOCAL", jobs.re.compile("yarn"))
    assert jvm.has_executors(spark)
    assert jvm.map_in_tasks(spark, operator.neg, [3, 1, 2]) == [-3, -1, -2]
    assert jvm.has_executors(spark)
    assert jvm.map_in_tasks(spark, operator.neg, ["no number"]) is None
    assert not jvm.has_executors(spark)
    assert jobs.has_own_processes(spark)
    monkeypatch.undo()
    assert not jvm.has_executors(spark)  # its tasks are threads of the one Java process
    assert not jobs.has_own_processes(spark)


def test_a_session_knows_tables_by_quoted_names(spark: SparkSession) -> None:
    """Views among them; where no catalog is called so there is no table."""
    spark.range(1).createOrReplaceTempView("known_here")
    assert jvm.has_table(spark, "`known_here`")
    assert not jvm.has_table(spark, "`unknown_here`")
    assert not jvm.has_table(spark, "`no_catalog`.`d`.`t`")


def test_a_clone_keeps_to_itself(spark: SparkSession) -> None:
    """Settings and views of a clone are its own; a view can be carried over, and stays as it was
    then.
    """
    spark.range(3).createOrReplaceTempView("classic_theirs")
    clone = jvm.clone_session(spark)
    clone.conf.set("spark.sql.shuffle.partitions", "77")
    clone.range(1).createOrReplaceTempView("classic_ours")
    assert spark.conf.get("spark.sql.shuffle.partitions") != "77"
    assert not spark.catalog.tableExists("classic_ours")
    jvm.import_view(clone, spark, "classic_theirs")
    spark.range(5).createOrReplaceTempView("classic_theirs")
    assert clone.table("classic_theirs").count() == 3
    frame = spark.range(7)
    assert jvm.in_session(clone, frame).sparkSession is clone
    assert jvm.in_session(clone, frame).collect() == frame.collect()
    jvm.make_view(clone, frame, "classic_given")
    assert clone.table("classic_given").count() == 7
    assert not spark.catalog.tableExists("classic_given")
    for _ in range(2):  # the second time there is none
        jvm.drop_view(clone, "classic_given")
        assert not clone.catalog.tableExists("classic_given")
    jvm.release_clone(clone)  # nothing: it lives in this process
    assert clone.range(1).count() == 1
    jvm.drop_view(spark, "classic_theirs")


def test_settings_of_a_session(spark: SparkSession) -> None:
    """All that the session has, whatever signs their values hold."""
    ours = jvm.clone_session(spark)
    for name, value in {"a": "", "b": "x,y)(", "c": "two\nlines -> é\u2028"}.items():
        ours.conf.set(f"acidsql.test.{name}", value)
    settings = jvm.settings_of(ours)
    assert settings["acidsql.test.b"] == "x,y)("
    assert settings == {row.key: row.value for row in ours.sql("SET").collect()}


def test_a_spark_that_was_stopped_is_lost(spark: SparkSession) -> None:
    """One that runs is not; its session is asked for nothing."""
    stopped: Any = SimpleNamespace(_sc=SimpleNamespace(_jsc=None))
    assert not jvm.is_lost(spark)
    assert jvm.is_lost(stopped)


def test_settings_of_the_java_process(spark: SparkSession) -> None:
    """What Spark was launched with is there, as is what spark-defaults.conf says."""
    settings = jvm.java_settings()
    assert settings["spark.app.name"] == "acidsql"
    assert all(name.startswith("spark.") for name in settings)
    # tests/spark/cluster/test_submitted.py has programs that are
    assert not jvm.is_submitted()
    assert jvm.submitted_settings() is None


def test_time_zones(spark: SparkSession) -> None:
    """Zones are compared by their rules and not by their names."""
    assert jvm.zones_of_tasks(spark) == ("UTC",)
    assert jvm.same_time_zone(spark, "UTC", "Etc/UTC")
    assert jvm.same_time_zone(spark, "Europe/Vaduz", "Europe/Zurich")
    assert not jvm.same_time_zone(spark, "UTC", "Europe/Paris")


def test_wall_clocks(spark: SparkSession) -> None:
    """Moments at any depth become what the session's clock shows, and back; names and the order of
    the columns stay, also where two have one name."""
    moment = "timestamp'2024-07-01 12:00:00 UTC'"
    with conf(spark, spark__sql__session__timeZone="Asia/Tokyo"):
        frame = spark.sql(
            f"SELECT 1 AS a, {moment} AS a, array({moment}) AS l, map('k', {moment}) AS m,"
            f" struct({moment} AS t, 2 AS n) AS s"
        )
        clocks = jvm.wall_clocks(frame)
        shown = dt.datetime(2024, 7, 1, 21)
        assert clocks.collect() == [(1, shown, [shown], {"k": shown}, (shown, 2))]
        assert clocks.columns == frame.columns
        assert "timestamp," not in clocks.schema.simpleString().replace(">", ",")
        back = jvm.wall_clocks(clocks, to="timestamp")
        assert back.schema.simpleString() == frame.schema.simpleString()
        assert back.collect() == frame.collect()
        plain = spark.range(1)
        assert jvm.wall_clocks(plain) is plain


def test_what_java_knows_of_zones(spark: SparkSession) -> None:
    """Gaps are wall clocks; where Java's ways to tell the time differ, that shows."""
    berlin = jvm.zone_facts(spark, "Europe/Berlin")
    assert berlin is not None
    first = int(np.datetime64("1916-04-30T23:00:00", "s").astype(int))
    assert (first, first + 3600) in berlin.gaps
    assert berlin.sure_past
    assert berlin.sure_future
    assert 3600 in berlin.lengths
    half = jvm.zone_facts(spark, "Australia/Lord_Howe")
    assert half is not None
    assert 1800 in half.lengths
    casablanca, manila = (
        jvm.zone_facts(spark, zone) for zone in ("Africa/Casablanca", "Asia/Manila")
    )
    assert casablanca is not None
    assert not casablanca.sure_future, "from 2038 on, or with newer Javas from 2100"
    assert manila is not None
    assert not manila.sure_past
    gaza = jvm.zone_facts(spark, "Asia/Gaza")
    assert gaza is not None
    assert not gaza.sure_future, "in few weeks of few years"
    assert jvm.zone_facts(spark, "GMT+05:30") == jvm.ZoneFacts((), frozenset(), True, True)


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_objects_in_a_filter(spark: SparkSession, count: int) -> None:
    """A sorted array and a bitmap find just their members, negative ones and the largest too."""
    values = np.unique(
        np.concatenate([np.arange(count) * 7, [-(2**63), -1, 2**63 - 1][: min(count, 3)]])
    ).astype(np.int64)
    probe = sorted({*values.tolist(), 3, 5, -2, 2**62})
    frame = spark.createDataFrame([(v,) for v in probe], "v bigint")
    found = jvm.position_in(spark, jvm.longs(spark, values), F.col("v"))
    assert {r.v for r in frame.where(found >= 0).collect()} == set(values.tolist())
    natural = values[values >= 0]
    # far apart, and close together
    for members in (
        natural,
        natural[natural < 2**31],
        natural[:1],
        np.append(natural[:1], 2**31 - 1),
    ):
        for how in jvm.NumberSet:
            if how is jvm.NumberSet.BITS and not (len(members) and members[-1] < 2**20):
                continue
            test = jvm.with_objects(
                spark,
                f"test {how}",
                lambda how=how: jvm.is_member(
                    spark, how, jvm.expression(spark, "m"), jvm.expression(spark, "v")
                ),
                {"m": jvm.held(spark, members, how)},
            )
            assert {r.v for r in frame.where(test).collect()} == {*members.tolist()} & {*probe}, how


def test_how_a_set_of_numbers_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are an array; many are a bitmap, compressed where they lie far apart."""
    monkeypatch.setattr(object_filters, "MAX_ARRAY", 4)
    assert jvm.NumberSet.of(np.arange(4) << 40) is jvm.NumberSet.ARRAY
    assert jvm.NumberSet.of(np.arange(5)) is jvm.NumberSet.BITS
    assert jvm.NumberSet.of(np.arange(5) * 400) is jvm.NumberSet.COMPRESSED


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
    answer = jvm.is_one_aggregate(spark.sql(query))
    spark.catalog.dropTempView("r")
    assert answer is expected


def test_a_sum_of_each_task(spark: SparkSession) -> None:
    """A row sees the sum of the rows before it in its task, and each run begins anew."""
    rows = spark.range(0, 8, 1, 2)
    summed = rows.select("id", jvm.sum_before(spark, F.col("id")).alias("before"))
    for _ in range(2):
        assert [r.before for r in summed.orderBy("id").collect()] == [0, 0, 1, 3, 0, 4, 9, 15]


CODE = [
    {},
    {"spark__sql__codegen__wholeStage": "false", "spark__sql__codegen__factoryMode": "NO_CODEGEN"},
]


@pytest.mark.parametrize("how", CODE, ids=["compiled", "interpreted"])
def test_the_first_of_each_task(spark: SparkSession, how: dict[str, str]) -> None:
    """A row sees the value that came with the first row of its key in its task; each task, run and
    column has a map of its own.
    """
    with conf(spark, **how):
        rows = spark.range(0, 12, 1, 2).selectExpr("id", "id % 2 AS k", "id DIV 3 AS piece")
        firsts = rows.select(
            "*",
            jvm.first_in_task(spark, F.col("k"), F.col("id")).alias("of_k"),
            jvm.first_in_task(spark, F.col("piece"), F.col("id")).alias("of_piece"),
        )
        for _ in range(2):
            answer = [(r.of_k, r.of_piece) for r in firsts.orderBy("id").collect()]
            of_k = [None, None, 0, 1, 0, 1, None, None, 6, 7, 6, 7]
            assert answer == list(
                zip(of_k, [None, 0, 0, None, 3, 3, None, 6, 6, None, 9, 9], strict=True)
            )
        twice = firsts.select("id", "of_k").union(firsts.select("id", "of_k"))
        assert (
            twice.groupBy("id").agg(F.count_distinct("of_k").alias("n")).where("n > 1").count() == 0
        )


def test_the_first_of_each_task_is_asked_for_every_row(spark: SparkSession) -> None:
    """Spark neither computes it twice for a row, where it stands in a filter and in the answer, nor
    moves it below a filter.
    """
    rows = spark.range(0, 10, 1, 1).selectExpr("id", "id % 3 AS k")
    first = jvm.first_in_task(spark, F.col("k"), F.col("id")).alias("first")
    assert [
        r.id for r in rows.select("*", first).where("first IS NULL").orderBy("id").collect()
    ] == [0, 1, 2]
    late = rows.select("*", first).where("id > 4").selectExpr("first", "first + 1 AS next")
    assert [(r.first, r.next) for r in late.collect()] == [(2, 3), (0, 1), (1, 2), (2, 3), (0, 1)]


def test_bits(spark: SparkSession) -> None:
    """A bit is set for each number given, in any order and more than once; none is set beyond the
    last.
    """
    numbers = np.array([70, 3, 64, 3, 0])
    test = jvm.with_objects(
        spark,
        "a bit of this test",
        lambda: jvm.bit(
            spark, jvm.expression(spark, "bitmap"), jvm.expression(spark, "CAST(id AS int)")
        ),
        {"bitmap": jvm.bits(spark, numbers)},
    )
    assert [r.id for r in spark.range(200).where(test).orderBy("id").collect()] == [0, 3, 64, 70]


def test_a_column_that_is_let_go(spark: SparkSession) -> None:
    """It may be used further on; and Java keeps it no longer than Python does, before Python's
    collector has come by.
    """
    gc.collect()
    gc.disable()
    try:
        test = jvm.with_objects(
            spark,
            "a bit of the column that is let go",
            lambda: jvm.bit(
                spark, jvm.expression(spark, "bitmap"), jvm.expression(spark, "CAST(id AS int)")
            ),
            {"bitmap": jvm.bits(spark, np.array([1]))},
        )
        assert [r.id for r in spark.range(3).where(test).collect()] == [1]
        jvm.let_go(test)
        assert [r.id for r in spark.range(3).where(test).collect()] == [1]
        of_java = weakref.ref(test._jc)
        jvm.let_go(test)
        del test
        assert of_java() is None
    finally:
        gc.enable()


def test_positions(spark: SparkSession) -> None:
    """Where a number stands in an array; of one that does not, the place it would have, as Java
    tells it.
    """
    array = jvm.longs(spark, np.array([10, 20, 30]))
    place = jvm.with_objects(
        spark,
        "a position of this test",
        lambda: jvm.position(
            spark, jvm.expression(spark, "numbers"), jvm.expression(spark, "id * 5")
        ),
        {"numbers": array},
    )
    assert [r.p for r in spark.range(1, 8, 1, 1).select(place.alias("p")).collect()] == [
        -1,
        0,
        -2,
        1,
        -3,
        2,
        -4,
    ]


def test_rows_that_are_part_of_the_plan(spark: SparkSession) -> None:
    """Spark numbers the rows of VALUES while it plans, as if there were one task; others it does
    not.
    """
    values = spark.sql("SELECT * FROM VALUES (1), (2) AS v (id)")
    assert jvm.is_literal(values)
    assert jvm.is_literal(values.where("id > 1").selectExpr("id + 1"))
    assert jvm.is_literal(spark.createDataFrame([(1,)], "id INT")) is False
    assert not jvm.is_literal(values.repartition(2))
    assert not jvm.is_literal(spark.range(3))


def test_files_are_read_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    """All paths go over in one call, whatever stands in them but Hadoop's wildcards."""
    names = ["a b", "c,d", "x=1"]
    for name in names:
        (tmp_path / name).write_text(f"{name}\n")
    lines = jvm.read_files(
        spark,
        "text",
        [file_uri(f"{tmp_path}/{name}") for name in names],
        "v string",
        {"wholetext": "false"},
        identity="names",
    )
    assert sorted(r.v for r in lines.collect()) == names


def test_search_arguments(spark: SparkSession) -> None:
    """Tests become ORC's two options; a column of a type that ORC cannot test makes none."""
    options = jvm.search_argument_options(spark, "a bigint", ["a", "b"], [("EqualTo", "a", (7,))])
    assert set(options) == {"orc.kryo.sarg", "orc.sarg.column.names"}
    assert options["orc.sarg.column.names"] == "a,b"
    assert (
        jvm.search_argument_options(spark, "a binary", ["a"], [("IsNotNull", "missing", ())]) == {}
    )


def test_what_a_plan_does(spark: SparkSession) -> None:
    """Only plans that scan, filter and compute are known to keep rows or tasks; sub-queries do not
    run for the asking.
    """
    rows = spark.range(0, 100, 1, 3)
    assert jvm.estimated_bytes(rows) == 800
    assert (
        jvm.row_bytes(rows.selectExpr("id", "CAST(id AS STRING) AS text", "array(id) AS many"))
        == 36
    )
    assert jvm.keeps_all_rows(rows.selectExpr("id + 1"))
    assert not jvm.keeps_all_rows(rows.where("id > 3"))
    assert jvm.task_count(rows.where("id > 3").selectExpr("id * 2")) == 3
    assert jvm.task_count(rows.union(rows)) == 6
    assert jvm.task_count(rows.repartition(5)) is None
    assert jvm.task_count(rows.groupBy("id").count()) is None
    rows.createOrReplaceTempView("classic_rows")
    assert (
        jvm.task_count(
            spark.sql("SELECT * FROM classic_rows WHERE id > (SELECT max(id) FROM classic_rows)")
        )
        is None
    )
    spark.catalog.dropTempView("classic_rows")


def test_plans_that_read_the_same_again(spark: SparkSession, tmp_path: Path) -> None:
    """Files and constants, filtered and computed on; nothing that chance, an order or a cache
    decides.
    """
    spark.range(10).write.orc(str(tmp_path / "rows"))
    files = spark.read.orc(str(tmp_path / "rows"))
    assert jvm.reads_the_same(
        files.where("id > 3").selectExpr("id + 1 AS id").union(spark.range(3))
    )
    assert jvm.reads_the_same(spark.sql("SELECT * FROM VALUES (1), (2)"))
    for other in (
        files.where("rand() > 0.5"),
        files.selectExpr("uuid()"),
        files.limit(3),
        files.distinct(),
        files.join(files, "id"),
        files.where("id > (SELECT max(id) FROM range(3))"),
        spark.createDataFrame(spark.sparkContext.parallelize([(1,)]), "id INT"),
    ):
        assert not jvm.reads_the_same(other)


def test_a_limit_for_each_task(spark: SparkSession) -> None:
    """Each task gives at most so many rows: none is lost below the limit."""
    rows = spark.range(0, 100, 1, 4)
    assert jvm.limit_each_task(rows, 10).count() == 40
    assert sorted(
        r.id for r in jvm.limit_each_task(rows.where("id % 2 = 0"), 25).collect()
    ) == list(range(0, 100, 2))
    assert jvm.task_count(jvm.limit_each_task(rows, 10)) == 4


def test_mixed_marks(spark: SparkSession) -> None:
    """Of what metadata say: what not all branches of a UNION say, and what structs take along."""
    rows = spark.range(1).selectExpr("'a' AS a", "'b' AS b", "'c' AS c")
    for name in ("a", "b"):
        rows = rows.withMetadata(name, {"mark": name})
    assert jvm.mixed_marks(rows, "mark") == frozenset()
    assert jvm.mixed_marks(rows.union(rows), "mark") == frozenset()
    assert jvm.mixed_marks(rows.select("a", "b").union(rows.select("c", "b")), "mark") == {"a"}
    assert jvm.mixed_marks(rows.select("a").union(rows.select("b")), "mark") == {"a", "b"}
    assert jvm.mixed_marks(rows.selectExpr("a", "struct(b, c) AS s"), "mark") == {"b"}
    assert jvm.mixed_marks(rows.union(rows).union(rows), "other") == frozenset()


def test_tasks_at_once(spark: SparkSession) -> None:
    """As many as Spark takes for its own jobs."""
    assert jvm.tasks_at_once(spark) == spark.range(0, 100).rdd.getNumPartitions()


def test_running_tasks(spark: SparkSession) -> None:
    """Another thread sees how far the jobs of a tag are, and nothing of other jobs."""
    tag = "acidsql-running"
    assert jvm.running_tasks(spark, tag) is None

    def work() -> None:
        jvm.add_job_tag(spark, tag)
        sleep = "java_method('java.lang.Thread', 'sleep', 100L)"
        spark.sql(f"SELECT id, {sleep} FROM range(0, 24, 1, 8)").collect()
        jvm.remove_job_tag(spark, tag)

    job = threading.Thread(target=work)
    job.start()
    seen = []
    while job.is_alive():
        seen.append(jvm.running_tasks(spark, tag))
        assert jvm.running_tasks(spark, "another") is None
        time.sleep(0.01)
    job.join()
    known = [tasks for tasks in seen if tasks is not None]
    assert known
    assert all(0 <= done <= all_tasks for done, all_tasks in known)
    assert max(all_tasks for _, all_tasks in known) >= 8


def test_causes(spark: SparkSession) -> None:
    """What Java says of an error, from the outermost to its root; nothing for Python's own."""
    with pytest.raises(Exception, match="boom") as failed:
        spark.sql("SELECT raise_error('boom')").collect()
    assert any("boom" in message for _, message in jvm.java_causes(failed.value))
    assert list(jvm.java_causes(ValueError("boom"))) == []


def test_a_scan_without_listing(spark: SparkSession, tmp_path: Path) -> None:
    """Files are read by their names and sizes, whatever stands in the names; nothing beside them
    is.
    """
    names = ["plain", "a b", "ümläut", "per%20cent", "x=1", "hash#"]
    for number, name in enumerate(names):
        pa_orc.write_table(pa.table({"v": [number, number + 100]}), tmp_path / name)
    pa_orc.write_table(pa.table({"v": [-1]}), tmp_path / "beside")
    files = [tmp_path / name for name in names]
    frame = jvm.read_listed_orc(
        spark,
        [f"file:{file}" for file in files],
        [file.stat().st_size for file in files],
        "v bigint",
        {},
        identity="names",
    )
    assert frame is not None
    assert sorted(row.v for row in frame.collect()) == sorted(
        [*range(len(names)), *range(100, 100 + len(names))]
    )
    assert [row.v for row in frame.where("v = 103").collect()] == [103]
    assert jvm.estimated_bytes(frame) == sum(file.stat().st_size for file in files)
    assert jvm.keeps_all_rows(frame)


def test_a_scan_without_listing_is_not_refreshed(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's REFRESH would list anew: that fails, and the rows are still there."""
    pa_orc.write_table(pa.table({"v": [1]}), tmp_path / "file")
    frame = jvm.read_listed_orc(
        spark,
        [(tmp_path / "file").as_uri()],
        [(tmp_path / "file").stat().st_size],
        "v bigint",
        {},
        identity="file",
    )
    assert frame is not None
    frame.createOrReplaceTempView("classic_listed")
    with pytest.raises(Exception, match=r"UNSUPPORTED_FILE_SYSTEM|None"):
        spark.catalog.refreshTable("classic_listed")
    assert spark.table("classic_listed").count() == 1
    spark.catalog.dropTempView("classic_listed")


@pytest.mark.parametrize("kind", ["orc", "parquet", "text", "listed"])
def test_scans_are_the_same_by_their_identity(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """What is cached of one answers another of its identity, and no other: not even one of the
    same paths.
    """
    (tmp_path / "text").write_text("1\n")
    pa_orc.write_table(pa.table({"v": ["1"]}), tmp_path / "orc")
    pq.write_table(pa.table({"v": ["1"]}), tmp_path / "parquet")
    file = tmp_path / ("orc" if kind == "listed" else kind)

    def scan(identity: str) -> DataFrame:
        if kind != "listed":
            return jvm.read_files(spark, kind, [str(file)], "v string", {}, identity=identity)
        sizes = [file.stat().st_size]
        listed = jvm.read_listed_orc(
            spark, [f"file:{file}"], sizes, "v string", {}, identity=identity
        )
        assert listed is not None
        return listed

    cached = scan("a").cache()
    try:
        assert [row.v for row in cached.collect()] == ["1"]
        assert "InMemoryRelation" not in jvm_plan(scan("b"))
        one, same, other = (scan(identity).selectExpr("max(v)") for identity in "aab")
        assert not one.sameSemantics(other)
        if kind != "text" or texts_compare(spark):
            assert "InMemoryRelation" in jvm_plan(scan("a"))
            assert one.sameSemantics(same)
    finally:
        cached.unpersist()


def texts_compare(spark: SparkSession) -> bool:
    """Whether this Spark takes two scans of text for the same at all."""
    name = "org.apache.spark.sql.execution.datasources.text.TextFileFormat"
    kind = java.java_class(jvm.need_java(spark), name)
    return bool(kind().equals(kind()))


def jvm_plan(frame: Any) -> str:
    """What Spark makes of a DataFrame, with the answers that are cached in it."""
    return str(frame._jdf.queryExecution().withCachedData())


def test_jobs_are_ended(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another thread, by their tag: no task of theirs runs afterwards, and jobs of other tags
    go on.
    """
    # tasks of others run on, so that each call waits until the news cannot be old
    monkeypatch.setattr(jobs, "_NEWS_SECONDS", 0.5)
    errors: dict[str, list[Exception]] = {"one": [], "other": []}

    def run(tag: str, milliseconds: int) -> None:
        jvm.add_job_tag(spark, tag)
        try:
            sleep = f"java_method('java.lang.Thread', 'sleep', {milliseconds}L)"
            spark.sql(f"SELECT id, {sleep} FROM range(0, 100, 1, 1)").collect()
        except Exception as error:
            errors[tag].append(error)

    threads = [threading.Thread(target=run, args=args) for args in (("one", 600), ("other", 600))]
    for thread in threads:
        thread.start()
    for tag in errors:
        while not errors[tag] and not jobs._active_tasks(spark, tag):
            time.sleep(0.01)
    jvm.end_jobs(spark, "one")
    threads[0].join()
    assert jobs._active_tasks(spark, "one") == 0
    assert jobs._active_tasks(spark, "other") == 1
    assert [len(found) for found in errors.values()] == [1, 0]
    jvm.end_jobs(spark, "other")
    threads[1].join()
    assert [len(found) for found in errors.values()] == [1, 1]


def test_jobs_of_a_tag_are_cancelled(spark: SparkSession) -> None:
    """From another thread than theirs, which then fails and can go on; without the tag its jobs are
    nobody's.
    """
    tag, failures = "acidsql-probe", []

    def work() -> None:
        jvm.add_job_tag(spark, tag)
        try:
            spark.range(0, 10**13, 1, 2).selectExpr("sum(id % 7)").collect()
        except Exception as error:
            failures.append(error)
        finally:
            jvm.remove_job_tag(spark, tag)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive() and jvm.running_tasks(spark, tag) is None:
        pass
    jvm.cancel_jobs(spark, tag)
    thread.join()
    assert len(failures) == 1
    assert jvm.running_tasks(spark, tag) is None


def test_a_frame_of_rows(spark: SparkSession) -> None:
    """It holds them, and the thread's active session is the one it was, in Python and in Java."""
    clone = jvm.clone_session(spark)
    before = type(spark).getActiveSession()
    assert [row.v for row in jvm.frame_of(clone, pa.table({"v": [1, 2]})).collect()] == [1, 2]
    assert type(spark).getActiveSession() is before


def test_spark_is_of_this_process(spark: SparkSession) -> None:
    """A process that was forked from it is refused: see test_turn."""
    jvm.check_own_process()


@settings(max_examples=8)
@given(
    numbers=st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 9), max_size=40),
    tasks=st.sampled_from([1, 2, 3, 7, 64]),
    constant=st.booleans(),
)
def test_rows_in_the_tasks_of_their_numbers(
    spark: SparkSession, numbers: list[int], tasks: int, constant: bool
) -> None:
    """Each row is in the task of its number and in no other, by each way that there is."""
    frame = jvm.frame_of(spark, pa.table({"v": pa.array(numbers, pa.int32())})).repartition(3)
    number = F.lit(5) if constant else F.col("v")
    for place in (jvm.in_numbered_tasks, placing.hashed_to_tasks):
        placed = place(frame, tasks, number)
        assert placed.columns == ["v"]
        rows = placed.select("v", F.spark_partition_id().alias("task")).collect()
        assert sorted(row.v for row in rows) == sorted(numbers)
        assert all(row.task == (5 if constant else row.v) % tasks for row in rows)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=50, max_size=200))
@settings(max_examples=3)
def test_ints_with_a_hash(spark: SparkSession, numbers: list[int]) -> None:
    """Spark's hash of each is the number that was asked for."""
    ints = [placing.hashed_as(number) for number in numbers]
    hashes = jvm.frame_of(spark, pa.table({"v": pa.array(ints, pa.int32())})).selectExpr("hash(v)")
    assert sorted(row[0] % 2**32 for row in hashes.collect()) == sorted(numbers)


def test_a_row_that_goes_astray(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes the job fail, where Spark's hash is another one than we know."""
    monkeypatch.setattr(placing, "hashed_as", lambda task: 17)
    placed = placing.hashed_to_tasks(spark.range(9), 4, F.col("id").cast("int"))
    with pytest.raises(Exception, match="into another task"):
        placed.collect()


def test_arrow_in_and_out(spark: SparkSession) -> None:
    """Rows of every kind come to Spark and back as they were, also none."""
    rows = pa.table(
        {
            "t": pa.array([dt.datetime(2024, 7, 1, 12), None], pa.timestamp("us", "UTC")),
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
            "s": pa.array([{"a": [1, None]}, None], pa.struct([("a", pa.list_(pa.int64()))])),
        }
    )
    for part in (rows, rows.slice(0, 0), pa.Table.from_batches([], rows.schema)):
        back = jvm.arrow_table(arrow_rows.frame_of_table(spark, part))
        assert back.to_pylist() == part.to_pylist()
        assert back.column_names == part.column_names
        assert back.schema == jvm.arrow_schema(arrow_rows.frame_of_table(spark, part))
    naive = pa.table({"t": pa.array([dt.datetime(2024, 7, 1, 12)])})
    [row] = arrow_rows.frame_of_table(spark, naive).selectExpr("CAST(t AS string) AS t").collect()
    assert row.t == "2024-07-01 12:00:00"


def test_a_function_of_arrays(spark: SparkSession) -> None:
    """It sees the values of its rows, which keep theirs, also where two columns have one name."""

    def lengths(texts: pa.Array, numbers: pa.Array) -> pa.Array:
        import pyarrow
        import pyarrow.compute

        return pyarrow.compute.add(pyarrow.compute.binary_length(texts), numbers)

    frame = spark.sql("SELECT * FROM VALUES ('a', 1, 'x'), (NULL, 2, 'y') AS (x, n, x)")
    rows, column = jvm.with_arrow_function(
        frame, "computed", "int", lengths, ["coalesce(CAST(n AS string), '')", "n"]
    )
    computed = rows.select("n", column.alias("c")).collect()
    assert sorted(map(tuple, computed)) == [(1, 2), (2, 3)]
    kept = rows.drop("computed").toDF("a", "n", "b").collect()
    assert sorted(map(tuple, kept), key=lambda row: row[1]) == [("a", 1, "x"), (None, 2, "y")]


def test_texts_that_are_utf_8(spark: SparkSession) -> None:
    """Bytes that are none are told from a replacement character."""
    values = "X'61', X'', X'C3A9', X'EFBFBD', X'FF', X'61C3', X'EDA080'"
    texts = spark.sql(f"SELECT CAST(v AS string) AS v FROM (SELECT explode(array({values})) AS v)")
    answers = texts.selectExpr(f"{jvm.is_utf8('v')} AS is_utf8").collect()
    assert [row.is_utf8 for row in answers] == [True] * 4 + [False] * 3


def test_structs_without_fields(spark: SparkSession) -> None:
    """A DataFrame can have them where it is said to."""
    assert jvm.has_empty_structs(spark) == (installed_release() >= (4, 0))


def test_types_as_they_are_written(spark: SparkSession) -> None:
    """The columns of CREATE TABLE are a type."""
    assert jvm.struct_of("a int, `b c` array<string>").simpleString() == (
        "struct<a:int,b c:array<string>>"
    )


def test_batches_are_handed_over_as_they_arrive(spark: SparkSession) -> None:
    """Each batch of each task, with the order that makes them the rows, as toArrow has them; an error
    of a task is Spark's own."""
    df = spark.range(0, 40_000, 1, 4).orderBy(F.col("id").desc())
    taken: list[pa.RecordBatch] = []
    order = jvm.collect_arriving(df, taken.append)
    assert order is not None
    assert sorted(order) == list(range(len(taken)))
    assert pa.Table.from_batches([taken[i] for i in order]) == jvm.arrow_table(df)
    with pytest.raises((PySparkException, Py4JJavaError), match="no such luck"):
        jvm.collect_arriving(df.select(F.raise_error(F.lit("no such luck"))), taken.append)


def test_the_schema_of_batches_is_that_of_arrow(spark: SparkSession) -> None:
    """Names, types and zones are those of PySpark's toArrow."""
    df = spark.sql("SELECT 1 AS a, 'x' AS b, current_timestamp() AS c, array(struct(1 AS d)) AS e")
    assert jvm.arrow_schema(df) == jvm.arrow_table(df).schema


def test_spark_has_the_functions_that_it_is_said_to_have(spark: SparkSession) -> None:
    """No function of Spark's is refused as unknown, and none is offered that the newest has not."""
    listed = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    names = {name for name in listed if name.isidentifier()}
    assert names - SPARK_FUNCTIONS == set()
    assert installed_release() < NEWEST or names == SPARK_FUNCTIONS


def test_rows_are_observed_on_their_way(spark: SparkSession, tmp_path: Path) -> None:
    """Aggregates of what a job takes come with it, also of no rows, behind an exchange."""
    frame = spark.range(0, 1000, 1, 4).selectExpr("id", "id % 10 = 3 AS hit")
    rows, numbers = jvm.observed(frame.repartition(3), ["count_if(hit)", "count(1)"])
    rows.select("id").write.orc(str(tmp_path / "rows"))
    assert numbers() == [100, 1000]
    nothing, none = jvm.observed(frame.where("id < 0"), ["count_if(hit)"])
    nothing.select("id").write.orc(str(tmp_path / "nothing"))
    assert none() == [0]


def test_an_observation_that_never_comes(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Spark that has lost its event is not waited for forever: nobody knows the numbers."""
    if jvm.jvm(spark) is None:
        pytest.skip("they come with the answer")
    monkeypatch.setattr("acidsql.spark.jvm.observing._PATIENCE_SECONDS", 0.05)
    _, numbers = jvm.observed(spark.range(3).toDF("id"), ["count(1)"])
    assert numbers() is None


def test_tasks_are_asked_by_what_is_carried_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each task answers, reads a file by Java, and imports what was shipped; who is left alone is
    asked for nothing any more.
    """
    assert jvm.key_of_executors(spark) is spark.sparkContext
    assert not jvm.executors(spark), "tasks run in the driver's process"
    assert jvm.hosts_of_executors(spark).keys() == {"driver"}
    source = tmp_path / "look_at_it.py"
    source.write_text("import os\ndef look(number): return number * 2\n")
    spec = importlib.util.spec_from_file_location("look_at_it", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "look_at_it", module)
    assert jvm.asked_in_tasks(spark, module, module.look, 3) == [0, 2, 4]
    assert jvm.read_in_tasks(spark, str(source), 2)
    assert not jvm.read_in_tasks(spark, str(tmp_path / "missing"), 2)
    with zipfile.ZipFile(tmp_path / "shipped.zip", "w") as archive:
        archive.writestr("shipped_here.py", "VALUE = 7\n")
    jvm.ship_python(spark, str(tmp_path / "shipped.zip"))
    assert "shipped.zip" in " ".join(spark.sparkContext._python_includes)


def test_what_somebody_has_set_for_hadoop(spark: SparkSession) -> None:
    """What Hadoop's own files of defaults say is set by nobody."""
    assert not jvm.is_set_for_hadoop(spark, "io.seqfile.compress.blocksize")
    assert not jvm.is_set_for_hadoop(spark, "acidsql.nobody.sets.this")
    assert jvm.is_set_for_hadoop(spark, "io.file.buffer.size"), "Spark sets it"


def test_executors_that_lack_something_are_left_alone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count as none from then on."""
    monkeypatch.setattr(jobs, "has_own_processes", lambda spark: True)
    monkeypatch.setattr(jobs, "_unfit", WeakSet())
    assert jvm.has_executors(spark)
    jvm.leave_tasks_alone(spark)
    assert not jvm.has_executors(spark)


def test_servers_that_were_not_there_are_known_by_words(spark: SparkSession) -> None:
    """Those that Hadoop's client gives a refused connection, and those of a name node in standby; a
    file that is not there is something else.
    """
    java: Any = spark.sparkContext._jvm
    refused = java.java.net.ConnectException("Connection refused")
    told = java.org.apache.hadoop.net.NetUtils.wrapException("h", 8020, "here", 0, refused)
    assert jvm.is_unreached(str(told.getMessage()))
    assert jvm.is_unreached("Operation category READ is not supported in state standby.")
    assert not jvm.is_unreached("File does not exist: /t/bucket_00000")
    assert not jvm.is_unreached("")
