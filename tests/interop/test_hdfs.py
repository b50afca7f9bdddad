"""Tables on a real HDFS with two name nodes under a logical name: what is done there is what is done on
a local disk, also while the name nodes change.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acidsql import crash_points
from acidsql.catalog.model import TableName
from acidsql.errors import FileSystemUnreachableError
from acidsql.session import Session
from acidsql.spark.start.session import derive
from tests.interop.judge import Judge
from tests.interop.judged import judge_directory, our_rows
from tests.interop.mini_hadoop import missing
from tests.interop.mini_hdfs import MiniHdfs, mini_hdfs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.interop]
ROOT = Path(__file__).parents[2]
ACID = "STORED AS ORC {} TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniHdfs]:
    """The one cluster of this module."""
    if reason := missing():
        pytest.skip(reason)
    with mini_hdfs(tmp_path_factory.mktemp("hdfs") / "cluster") as started:
        yield started


@pytest.fixture
def hdfs(cluster: MiniHdfs) -> Iterator[MiniHdfs]:
    """The cluster, whose first name node is the active one."""
    yield cluster
    cluster.tell("reset")


@pytest.fixture
def far(hdfs: MiniHdfs, spark: SparkSession, warehouse: Path) -> Iterator[Session]:
    """A session whose Spark knows the logical name."""
    with Session(str(warehouse), spark=derive(spark, hdfs.settings)) as opened:
        yield opened


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in session.sql(query).rows()), key=repr)


def names(session: Session, directory: str) -> list[str]:
    return sorted(session.files.names(directory))


def work(table: str) -> tuple[str, ...]:
    """Statements of all kinds."""
    return (
        f"INSERT INTO {table} VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, NULL, 'ü %')",
        f"INSERT INTO {table} SELECT id + 10, upper(name), ds FROM {table}",
        f"UPDATE {table} SET name = 'changed' WHERE id IN (2, 11)",
        f"DELETE FROM {table} WHERE id = 13",
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1, 'm'), (77, 'n') AS s(id, name)) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, 'x')",
    )


@pytest.mark.parametrize("path", ["small", "big"])
def test_statements_do_what_they_do_on_a_disk(far: Session, hdfs: MiniHdfs, path: str) -> None:
    """A table at the logical name, one at the name node's address, and a local one, with partitions: the same rows, also after compactions; cleaning, RENAME and DROP take the directories."""
    places = {"local_one": "", "ha": f"{hdfs.url}/{path}/ha", "one": f"hdfs://localhost:{hdfs.ports[0]}/{path}/one"}  # fmt: skip
    for table, place in places.items():
        far.sql(
            f"CREATE TABLE {table} (id INT, name STRING) PARTITIONED BY (ds STRING) "
            + ACID.format(f"LOCATION '{place}'" if place else "")
        )
    far.sql(f"SET acidsql.write.path={path}")
    expected = []
    for table in places:
        for statement in work(table):
            far.sql(statement)
        expected.append(rows(far, f"SELECT * FROM {table}"))
    assert expected[0] == expected[1] == expected[2]
    assert len(expected[0]) == 6

    for kind in ("minor", "major"):
        far.sql(f"ALTER TABLE ha PARTITION (ds = 'x') COMPACT '{kind}' AND WAIT")
        for engine in ("local", "spark"):
            far.sql(f"SET acidsql.engine={engine}")
            assert rows(far, "SELECT * FROM ha") == expected[0]
        far.sql("SET acidsql.engine=auto")
    left = names(far, f"{hdfs.url}/{path}/ha/ds=x")
    assert len(left) == 1
    assert left[0].startswith("base_")

    far.sql("ALTER TABLE ha PARTITION (ds = 'x') RENAME TO PARTITION (ds = 'z')")
    assert rows(far, "SELECT count(*) FROM ha WHERE ds = 'z'") == [(3,)]
    far.sql("DROP TABLE ha")
    far.sql("DROP TABLE one")
    assert not far.files.exists(f"{hdfs.url}/{path}/ha")


def test_plain_tables_and_databases(far: Session, hdfs: MiniHdfs) -> None:
    """A database's tables lie below it; those of an external table stay when it is dropped."""
    far.sql(f"CREATE DATABASE d LOCATION '{hdfs.url}/d.db'")
    far.sql("CREATE TABLE d.t (id INT, name STRING, ds STRING) " + ACID.format(""))
    far.sql("INSERT INTO d.t VALUES (1, 'a', 'x')")
    far.sql(
        f"CREATE EXTERNAL TABLE e (id INT) STORED AS PARQUET LOCATION 'hdfs://localhost:{hdfs.ports[0]}/e'"
    )
    far.sql("INSERT INTO e SELECT id FROM d.t")
    far.sql("INSERT INTO e VALUES (2)")
    assert rows(far, "SELECT * FROM e") == [(1,), (2,)]
    far.sql("ALTER TABLE d.t RENAME TO d.u")
    assert names(far, f"{hdfs.url}/d.db") == ["u"]
    assert rows(far, "SELECT * FROM d.u") == [(1, "a", "x")]
    far.sql("DROP DATABASE d CASCADE")
    far.sql("DROP TABLE e")
    assert not far.files.exists(f"{hdfs.url}/d.db")
    assert far.files.exists(f"{hdfs.url}/e")


@pytest.mark.parametrize("path", ["small", "big"])
def test_name_nodes_change(
    far: Session, hdfs: MiniHdfs, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between statements and in the middle of each, where its files are staged, by a switch and by the
    loss of the active one: nothing is lost, nothing is there twice.
    """
    place = f"{hdfs.url}/changing_{path}"
    for table, location in (("here", ""), ("there", f"LOCATION '{place}'")):
        far.sql(f"CREATE TABLE {table} (id INT, name STRING, ds STRING) " + ACID.format(location))
    far.sql(f"SET acidsql.write.path={path}")
    changes = iter(["active 1", "kill 1", "restart-data-node", "active 0", "active 1"])

    def change(point: str) -> None:
        if point == "staged":
            command = next(changes)
            hdfs.tell(command)
            if command == "kill 1":
                hdfs.tell("active 0")
            if command == "restart-data-node":
                hdfs.tell("start 1")

    for statement in work("here"):
        far.sql(statement)
    monkeypatch.setattr(crash_points, "hook", change)
    for statement in work("there"):
        far.sql(statement)
    monkeypatch.setattr(crash_points, "hook", None)
    assert next(changes, None) is None
    assert rows(far, "SELECT * FROM there") == rows(far, "SELECT * FROM here")
    far.sql("SET acidsql.engine=spark")
    assert rows(far, "SELECT ROW__ID, * FROM there") == rows(far, "SELECT ROW__ID, * FROM here")


@pytest.mark.parametrize("path", ["small", "big"])
def test_no_name_node_is_there(
    far: Session, hdfs: MiniHdfs, warehouse: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every statement says so, and may be run again, also one that was in the middle: nothing of it is
    seen when they are back.
    """
    place = f"{hdfs.url}/gone_{path}"
    far.sql("CREATE TABLE t (id INT, name STRING) " + ACID.format(f"LOCATION '{place}'"))
    far.sql(f"SET acidsql.write.path={path}")
    far.sql("INSERT INTO t VALUES (1, 'a')")

    def lose(point: str) -> None:
        if point == "staged":
            hdfs.tell("kill 0")
            hdfs.tell("kill 1")

    monkeypatch.setattr(crash_points, "hook", lose)
    refused = ["INSERT INTO t VALUES (2, 'b')"]
    with pytest.raises(FileSystemUnreachableError, match=f'write (to )?"{place}') as raised:
        far.sql(refused[0])
    assert raised.value.retryable
    monkeypatch.setattr(crash_points, "hook", None)
    refused += ["SELECT * FROM t", "UPDATE t SET name = 'u'", "CREATE TABLE u (id INT) " + ACID.format(f"LOCATION '{place}_u'")]  # fmt: skip
    for statement in refused:
        with pytest.raises(FileSystemUnreachableError, match=re.escape(hdfs.url)):
            list(far.sql(statement).rows())
    hdfs.tell("reset")
    with Session(str(warehouse), spark=far.spark) as fresh:
        assert rows(fresh, "SELECT * FROM t") == [(1, "a")]
        fresh.sql(refused[0])
        assert rows(fresh, "SELECT * FROM t") == [(1, "a"), (2, "b")]
        assert len(names(fresh, place)) == 2


def test_files_are_hives(
    far: Session, hdfs: MiniHdfs, judges: Callable[[int], Judge], tmp_path: Path
) -> None:
    """Hive's readers find in a copy of a table's files the rows that are read there."""
    far.sql(
        "CREATE TABLE t (id INT, name STRING, ds STRING) "
        + ACID.format(f"LOCATION '{hdfs.url}/judged'")
    )
    for path, statements in (("small", work("t")[:3]), ("big", work("t")[3:])):
        far.sql(f"SET acidsql.write.path={path}")
        for statement in statements:
            far.sql(statement)
    table = far.store.find_table(TableName("default", "t"))
    assert table is not None
    copy = tmp_path / "copy"
    for directory in names(far, table.location):
        (copy / directory).mkdir(parents=True)
        for name in names(far, f"{table.location}/{directory}"):
            content = far.files.read(f"{table.location}/{directory}/{name}")
            (copy / directory / name).write_bytes(content)
    for version in (3, 4):
        assert judge_directory(judges(version), far, table, copy, our_rows(far, table)[()]) > 3


SCRIPT = """
CREATE TABLE t (id INT, name STRING) STORED AS ORC LOCATION 'hdfs://sites/cli' TBLPROPERTIES ('transactional'='true');
INSERT INTO t VALUES (1, 'a');
SET acidsql.write.path=big;
INSERT INTO t SELECT id + 1, name FROM t;
SET acidsql.engine=spark;
SELECT id FROM t ORDER BY id;
EXPLAIN SELECT id FROM t;
DESCRIBE HEALTH t;
ALTER TABLE t COMPACT 'major' AND WAIT;
"""


def test_hadoops_own_files_of_settings(hdfs: MiniHdfs, tmp_path: Path) -> None:
    """Spark that acidsql starts finds the name service by HADOOP_CONF_DIR; without it an error says so,
    and with a folder that does not know it another one.
    """

    def acidsql(*arguments: str, conf: Path | None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("HADOOP_CONF_DIR", None)
        if conf is not None:
            environment["HADOOP_CONF_DIR"] = str(conf)
        command = [sys.executable, "-m", "acidsql", "--warehouse", str(tmp_path / "w"), *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=200
        )

    ran = acidsql("--master", "local[2]", "-e", SCRIPT, conf=hdfs.conf)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("1\n2\n")
    assert "location\thdfs://sites/cli" in ran.stdout
    ran = acidsql("-e", "SELECT * FROM t", conf=None)
    assert ran.returncode == 1
    assert "set HADOOP_CONF_DIR to the folder of core-site.xml and hdfs-site.xml" in ran.stderr
    (tmp_path / "conf").mkdir()
    ran = acidsql("doctor", conf=tmp_path / "conf")
    assert ran.returncode == 1
    assert f"no name service of the Hadoop files in {tmp_path / 'conf'}" in ran.stderr
