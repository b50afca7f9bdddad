"""What differs over Spark Connect: the derived session, views handed over, and the statements that
are refused.

Skipped where the run's Spark is in this process; tests/session/test_connect.py runs them on a
server.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import TableNotFoundError, UnsupportedStatementError
from acidsql.session import Session
from acidsql.spark import jvm
from acidsql.spark.start.session import derive
from tests.conftest import REMOTE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(REMOTE not in os.environ, reason="no Spark Connect server"),
]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
COUNT = "SELECT count(*), sum(id) FROM t WHERE id >= 0"


def test_a_server_is_named_by_its_url(warehouse: Path) -> None:
    """``master`` is all it takes; one that does not answer is an error."""
    with Session(warehouse, master=os.environ[REMOTE]) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        assert (
            session.sql("INSERT INTO t SELECT CAST(id AS INT) FROM range(3)").stats.rows_inserted
            == 3
        )
        assert list(session.sql(COUNT).rows()) == [(3, 3)]


def test_a_derived_session_keeps_to_itself(spark: SparkSession) -> None:
    """Settings and views of ours are not seen in the user's session, and the server forgets ours
    when it is released.
    """
    ours = derive(spark, {"spark.sql.shuffle.partitions": "77"})
    ours.range(1).createOrReplaceTempView("remote_ours")
    assert ours.conf.get("spark.sql.ansi.enabled") == "false"
    assert spark.conf.get("spark.sql.shuffle.partitions") != "77"
    assert not spark.catalog.tableExists("remote_ours")
    jvm.release_clone(ours)
    assert spark.range(2).count() == 2
    with pytest.raises(Exception, match=r"NO_ACTIVE_SESSION|[Cc]hannel"):
        ours.range(1).count()


def test_views_are_handed_over(spark: SparkSession, warehouse: Path) -> None:
    """A temporary view of the user's session is read as it stands at each statement; nothing of it
    stays behind.
    """
    with Session(warehouse, spark=spark) as session:
        session.sql("SELECT 1")
        for count in (3, 5):
            spark.range(count).createOrReplaceTempView("numbers")
            assert list(session.sql("SELECT count(*), max(id) FROM numbers").rows()) == [
                (count, count - 1)
            ]
        assert {t.name for t in spark.catalog.listTables()} == {"numbers"}
        assert spark.catalog.listTables("global_temp") == spark.catalog.listTables()
        spark.catalog.dropTempView("numbers")
        with pytest.raises(TableNotFoundError):
            session.sql("SELECT * FROM numbers")


def test_the_servers_time_zone_is_asked(session: Session) -> None:
    """Timestamps are wall clocks, whatever the zone of the session."""
    session.sql(f"CREATE TABLE t (id INT, at TIMESTAMP) {ACID}")
    session.sql("INSERT INTO t VALUES (1, '2024-01-01 10:00:00')")
    session.sql("SET acidsql.engine=spark")
    assert jvm.zones_of_tasks(session.spark) == ("UTC",)
    session.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
    assert list(session.sql("SELECT at FROM t").rows()) == [(datetime.datetime(2024, 1, 1, 10),)]


MANY_ROWS = "many rows of a MERGE or of several partitions cannot be written over Spark Connect"
MERGE = "MERGE INTO t USING (SELECT CAST(id AS INT) AS k FROM range(2, 7)) s ON id = k"


@pytest.mark.parametrize(
    ("table", "statement", "rows"),
    [
        (
            "PARTITIONED BY (p INT)",
            "INSERT INTO t SELECT CAST(id AS INT), 9 FROM range(2)",
            (7, 11),
        ),
        ("PARTITIONED BY (p INT)", "UPDATE t SET id = 0 WHERE id = 4", (5, 6)),
        ("", f"{MERGE} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (k)", (4, 12)),
    ],
)
def test_the_big_path_to_several_places_is_refused(
    session: Session, table: str, statement: str, rows: tuple[int, int]
) -> None:
    """It changes nothing then; the small path, which the hint names, does it."""
    session.sql(f"CREATE TABLE t (id INT) {table} {ACID}")
    session.sql(
        f"INSERT INTO t SELECT CAST(id AS INT){', CAST(id % 2 AS INT)' if table else ''} FROM range(5)"
    )
    session.sql("SET acidsql.write.path=big")
    with pytest.raises(UnsupportedStatementError, match=MANY_ROWS):
        session.sql(statement)
    assert list(session.sql(COUNT).rows()) == [(5, 10)]
    session.sql("SET acidsql.write.path=small")
    session.sql(statement)
    assert list(session.sql(COUNT).rows()) == [rows]


def test_rows_without_ids_are_read_but_not_changed(session: Session) -> None:
    """A converted table's own files have no ACID columns: Spark makes their row ids in its Java
    process, the driver without one.
    """
    session.sql("CREATE TABLE t (id INT) STORED AS ORC")
    session.sql("INSERT INTO t VALUES (1), (2)")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO t VALUES (3)")
    assert list(session.sql(COUNT).rows()) == [(3, 6)]
    session.sql("SET acidsql.engine=local")
    by_driver = session.sql("SELECT id, ROW__ID.rowid FROM t ORDER BY id")
    assert list(by_driver.rows()) == [(1, 0), (2, 1), (3, 0)]
    session.sql("SET acidsql.engine=spark")
    for statement in (
        "SELECT ROW__ID FROM t",
        "UPDATE t SET id = 9 WHERE id = 1",
        "DELETE FROM t WHERE id = 1",
    ):
        with pytest.raises(
            UnsupportedStatementError,
            match="row ids of files without ACID columns cannot be made over Spark Connect",
        ):
            session.sql(statement)
    assert list(session.sql(COUNT).rows()) == [(3, 6)]


def test_header_lines_are_not_skipped(session: Session, tmp_path: Path) -> None:
    """Which row of a file is its first takes Spark's Java process."""
    (tmp_path / "data.txt").write_text("header\n1\n")
    session.sql(
        "CREATE TABLE t (id INT) STORED AS TEXTFILE TBLPROPERTIES ('skip.header.line.count'='1')"
    )
    session.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/data.txt' INTO TABLE t")
    with pytest.raises(
        UnsupportedStatementError, match="files with header lines cannot be read over Spark Connect"
    ):
        session.sql("SELECT * FROM t")


def test_hadoops_file_systems_are_refused(session: Session) -> None:
    """They are opened through Spark's Java process."""
    with pytest.raises(
        UnsupportedStatementError, match="cannot be opened by Hadoop over Spark Connect"
    ):
        session.engine.files.exists("viewfs://c/t")
