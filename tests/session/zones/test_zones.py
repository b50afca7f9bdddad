"""A TIMESTAMP is the wall clock that was written, in a session of any time zone and with a Java of
any zone.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.session import Session
from acidsql.spark import jvm
from acidsql.spark.start.session import derive
from tests.session.zones.trips import ACID, WAYS_IN, read_back
from tests.session.zones.wall_clocks import FAR, is_left_out, sample

pytestmark = [pytest.mark.spark, pytest.mark.classic]

NOON = datetime.datetime(2024, 7, 1, 12)
LEFT_OUT = datetime.datetime(2024, 3, 31, 2, 30)
BERLIN = "Europe/Berlin"


@contextmanager
def java_in(spark: SparkSession, zone: str) -> Iterator[None]:
    """Spark's Java, which has no executors beside it, in a time zone."""
    door = spark._jvm
    assert door is not None
    zones = door.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone(zone))
    try:
        yield
    finally:
        zones.setDefault(before)


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[SparkSession]:
    """A user's session of Spark, in Berlin, as its Java is."""
    with java_in(spark, BERLIN):
        user = jvm.clone_session(spark)
        user.conf.set("spark.sql.session.timeZone", BERLIN)
        yield user


@pytest.mark.parametrize(
    ("zone", "path"),
    [
        (BERLIN, "small"),
        ("Australia/Lord_Howe", "big"),
        pytest.param(BERLIN, "big", marks=pytest.mark.slow),
        pytest.param("Australia/Lord_Howe", "small", marks=pytest.mark.slow),
    ],
)
def test_what_is_read_is_what_was_written(
    spark: SparkSession, warehouse: Path, zone: str, path: str
) -> None:
    """By all ways in and out, times around the changes of clocks and the ends of time among them."""
    clocks = [clock for clock in sample(zone, seed=1) if not is_left_out(zone, clock)]
    with java_in(spark, zone):
        user = jvm.clone_session(spark)
        user.conf.set("spark.sql.session.timeZone", zone)
        with Session(warehouse, spark=user) as session:
            session.sql(f"SET acidsql.write.path={path}")
            for table, written in (("t", clocks), ("far", list(FAR))):
                session.sql(f"CREATE TABLE {table} (id INT, ts TIMESTAMP) {ACID}")
                WAYS_IN["query"](session, table, written)
                assert read_back(session, table, written) == []
        assert user.conf.get("spark.sql.session.timeZone") == zone


def test_times_that_a_zone_leaves_out(berlin: SparkSession, warehouse: Path) -> None:
    """The driver stores and reads them. Spark's Java knows no such times: it refuses to write them
    before there is a file, and to read what may be one; other rows of the file are read.
    """
    with Session(warehouse, spark=berlin) as session:
        session.sql(f"CREATE TABLE t (id INT, ts TIMESTAMP) {ACID}")
        session.sql("INSERT INTO t VALUES (1, ?), (2, ?)", [LEFT_OUT, NOON])
        assert session.sql("SELECT ts FROM t ORDER BY id").fetchall() == [(LEFT_OUT,), (NOON,)]
        session.sql("SET acidsql.engine=spark")
        with pytest.raises(
            acidsql.ExecutionError, match="cannot be told from another one by a Java"
        ):
            session.sql("SELECT ts FROM t").fetchall()
        assert session.sql("SELECT ts FROM t WHERE id = 2").fetchall() == [(NOON,)]
        assert session.sql("SELECT sum(id) FROM t").fetchall() == [(3,)]
        session.sql("SET acidsql.write.path=big")
        before = sorted(warehouse.rglob("*"))
        insert = "INSERT INTO t SELECT 3, CAST('2024-03-31 02:30:00' AS TIMESTAMP) FROM range(1)"
        with pytest.raises(acidsql.ExecutionError, match="02:30:00 cannot be written by a Java"):
            session.sql(insert)
        assert [p for p in sorted(warehouse.rglob("bucket*")) if p not in before] == []
        session.sql("SET acidsql.write.path=small")
        session.sql(insert)
        session.sql("SET acidsql.engine=local")
        answer = session.sql("SELECT ts FROM t ORDER BY id").fetchall()
        assert answer == [(LEFT_OUT,), (NOON,), (LEFT_OUT,)]


def test_a_time_in_the_hour_behind_is_read_from_files_without_such(
    berlin: SparkSession, warehouse: Path
) -> None:
    """It could only be taken for one that was left out where there is one in its file."""
    behind = LEFT_OUT + datetime.timedelta(hours=1)
    with Session(warehouse, spark=berlin) as session:
        session.sql(f"CREATE TABLE t (id INT, ts TIMESTAMP) {ACID}")
        session.sql("INSERT INTO t VALUES (1, ?)", [behind])
        session.sql("SET acidsql.engine=spark")
        assert session.sql("SELECT ts FROM t").fetchall() == [(behind,)]
        session.sql("INSERT INTO t VALUES (2, ?)", [LEFT_OUT])
        assert session.sql("SELECT ts FROM t WHERE id = 1").fetchall() == [(behind,)]


def test_partitions_nested_values_and_changes(berlin: SparkSession, warehouse: Path) -> None:
    """A partition's value may be any time; names of fields are what they are."""
    kinds = "id INT, a ARRAY<STRUCT<timestamp:TIMESTAMP>>, m MAP<TIMESTAMP,TIMESTAMP>, ts TIMESTAMP"
    for path in ("small", "big"):
        with Session(warehouse / path, spark=berlin) as session:
            session.sql(f"SET acidsql.write.path={path}")
            session.sql("SET acidsql.engine=spark")
            session.sql(f"CREATE TABLE t ({kinds}) PARTITIONED BY (p TIMESTAMP) {ACID}")
            noon = f"CAST('{NOON}' AS TIMESTAMP)"
            session.sql(
                f"INSERT INTO t SELECT CAST(id AS INT), array(named_struct('timestamp', {noon})),"
                f" map({noon}, {noon}), {noon}, CAST('{LEFT_OUT}' AS TIMESTAMP) FROM range(2)"
            )
            later = NOON + datetime.timedelta(hours=1)
            session.sql("UPDATE t SET ts = ts + INTERVAL 1 HOUR WHERE id = 1 AND ts = ?", [NOON])
            assert session.sql("SELECT * FROM t ORDER BY id").fetchall() == [
                (0, [{"timestamp": NOON}], [(NOON, NOON)], NOON, LEFT_OUT),
                (1, [{"timestamp": NOON}], [(NOON, NOON)], later, LEFT_OUT),
            ]
            session.sql(f"ALTER TABLE t PARTITION (p='{LEFT_OUT}') COMPACT 'major' AND WAIT")
            answer = session.sql("SELECT ts FROM t WHERE p = ? ORDER BY id", [LEFT_OUT])
            assert answer.fetchall() == [(NOON,), (later,)]


def test_views_and_frames_have_the_clocks_of_their_session(
    berlin: SparkSession, warehouse: Path
) -> None:
    """A moment of a user's DataFrame is the wall clock that his session shows; ``df`` gives it back
    without a zone, and joins with his own frames.
    """
    moments = berlin.sql(
        f"SELECT 1 AS id, TIMESTAMP '{NOON}' AS ts, array(TIMESTAMP '{NOON}') AS a"
    )
    moments.createOrReplaceTempView("moments")
    with Session(warehouse, spark=berlin) as session:
        assert session.sql("SELECT * FROM moments").fetchall() == [(1, NOON, [NOON])]
        session.sql(f"CREATE TABLE t (id INT, ts TIMESTAMP, a ARRAY<TIMESTAMP>) {ACID}")
        session.sql("INSERT INTO t SELECT * FROM moments")
        session.table("t").append(moments)
        session.sql("SET acidsql.engine=spark")
        assert session.sql("SELECT * FROM t").fetchall() == [(1, NOON, [NOON])] * 2
        df = session.sql("SELECT ts FROM t").df
        assert df.dtypes == [("ts", "timestamp_ntz")]
        assert df.join(moments, "ts").count() == moments.join(df, "ts").count() == 2
        assert df.selectExpr(
            "CAST(ts AS timestamp) = TIMESTAMP '2024-07-01 12:00:00' AS same"
        ).first()[0]
    berlin.catalog.dropTempView("moments")


def test_other_formats(berlin: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    """ORC without transactions, Parquet and text, and files by their path."""
    rows = berlin.sql(f"SELECT 1 AS id, TIMESTAMP '{NOON}' AS ts")
    with Session(warehouse, spark=berlin) as session:
        session.sql("SET acidsql.engine=spark")
        for kind in ("ORC", "PARQUET", "TEXTFILE"):
            session.sql(f"CREATE TABLE {kind}_t (id INT, ts TIMESTAMP) STORED AS {kind}")
            session.sql(f"INSERT INTO {kind}_t SELECT 1, CAST('{NOON}' AS TIMESTAMP)")
            assert session.sql(f"SELECT ts FROM {kind}_t").fetchall() == [(NOON,)], kind
        for kind in ("orc", "parquet"):
            rows.write.format(kind).save(str(tmp_path / kind))
            file = f"{kind}.`{tmp_path / kind}`"
            assert session.sql(f"SELECT ts FROM {file}").fetchall() == [(NOON,)], kind
            assert session.sql(f"SELECT f.id FROM {file} f WHERE hour(ts) = 12").fetchall() == [
                (1,)
            ]
        with pytest.raises(acidsql.ExecutionError, match="02:30:00 cannot be written"):
            session.sql(f"INSERT INTO parquet_t SELECT 2, CAST('{LEFT_OUT}' AS TIMESTAMP)")


def test_a_spark_that_runs_gives_its_views(spark: SparkSession) -> None:
    """Those that a derived session has from the start show the clocks of their own session, also
    where it compiles no code; global ones are not among them.
    """
    user = jvm.clone_session(spark)
    user.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    user.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    user.sql(f"SELECT TIMESTAMP '{NOON}' AS ts").createOrReplaceTempView("seen")
    user.sql("SELECT 1 AS id").createOrReplaceTempView("`a ``view```")
    user.sql("SELECT 1 AS id").createOrReplaceGlobalTempView("of_all")
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    sessions.setActiveSession(user._jsparkSession)
    try:
        ours = derive(user)
    finally:
        sessions.setActiveSession(spark._jsparkSession)
    assert ours.sql("SELECT CAST(ts AS string) FROM seen").first()[0] == str(NOON)
    assert ours.sql("SELECT id FROM `a ``view```").first()[0] == 1
    assert not ours.catalog.tableExists("of_all")
    user.catalog.dropGlobalTempView("of_all")


def test_executors_of_different_zones_are_refused(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a byte is written, and only for tables with timestamps."""
    session.sql(f"CREATE TABLE t (id INT, ts TIMESTAMP) {ACID}")
    session.sql(f"CREATE TABLE u (id INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1, '2024-07-01 12:00:00')")
    monkeypatch.setattr(jvm, "zones_of_tasks", lambda spark: ("Asia/Tokyo", "UTC"))
    session.sql("SET acidsql.engine=spark")
    session.sql("SET acidsql.write.path=big")
    for text in (
        "SELECT ts FROM t",
        "INSERT INTO t SELECT CAST(id AS INT), current_timestamp() FROM range(2)",
    ):
        with pytest.raises(
            acidsql.ExecutionError, match='different time zones: "Asia/Tokyo", "UTC"'
        ):
            session.sql(text).fetchall()
    session.sql("INSERT INTO u SELECT CAST(id AS INT) FROM range(2)")
    assert len(session.sql("SELECT * FROM u").fetchall()) == 2


def test_old_times_of_files_of_another_zone_are_javas(spark: SparkSession, warehouse: Path) -> None:
    """Arrow's readers would tell another time of Amsterdam's clocks before the war, and a second
    more at the beginning of 1970.
    """
    old = [datetime.datetime(1930, 1, 1), datetime.datetime(1970, 1, 1, 0, 10, 0, 250_000)]
    for number, clock in enumerate(old):
        table = f"t{number}"
        with java_in(spark, "Europe/Amsterdam"), Session(warehouse, spark=spark) as session:
            session.sql(f"CREATE TABLE {table} (ts TIMESTAMP) {ACID}")
            session.sql("SET acidsql.write.path=big")
            session.sql(f"INSERT INTO {table} SELECT CAST('{clock}' AS TIMESTAMP) FROM range(1)")
        with Session(warehouse, spark=spark) as session:
            assert session.sql(f"SELECT ts FROM {table}").fetchall() == [(clock,)]
            [file] = (warehouse / table).rglob("bucket*")
            session.sql("SET acidsql.engine=local")
            for source in (table, f"orc.`{file}`"):
                with pytest.raises(acidsql.UnsupportedStatementError, match="Europe/Amsterdam"):
                    session.sql(f"SELECT * FROM {source}").fetchall()
            session.sql("SET acidsql.engine=spark")
            assert session.sql(f"SELECT ts FROM {table}").fetchall() == [(clock,)]
