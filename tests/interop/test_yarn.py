"""Programs with a session that are submitted to a real YARN, as docs/clusters.md says it: a resource
manager and two node managers, whose containers are processes of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.spark.start.java import java_environment
from tests.interop.mini_hadoop import JARS, mini_cluster, missing
from tests.spark.cluster.standalone import ROOT, SUBMIT

pytestmark = [pytest.mark.spark, pytest.mark.interop]
MAIN = Path(__file__).with_name("MiniYarn.java")

PROGRAM = """
import json, sys
import acidsql

warehouse, told = sys.argv[1:]
with acidsql.Session(warehouse) as session:
    def rows(text):
        return [list(map(str, row)) for row in session.sql(text).rows()]

    for statement in (
        "SET acidsql.write.path=big",
        "CREATE TRANSACTIONAL TABLE t (id INT, at TIMESTAMP) STORED AS ORC",
        "INSERT INTO t SELECT id, timestamp'2024-07-01 12:00:00' FROM range(0, 1000, 1, 4)",
        "UPDATE t SET at = timestamp'2024-01-01 00:00:00' WHERE id < 10",
        "DELETE FROM t WHERE id >= 990",
        "CREATE TABLE b (id INT, d DOUBLE) CLUSTERED BY (d) INTO 4 BUCKETS STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')",
        "INSERT INTO b SELECT id, id / 3 FROM t",
        "MERGE INTO b USING (SELECT id + 500 AS id FROM range(0, 1000, 1, 4)) s ON b.id = s.id"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0)",
        "ALTER TABLE t COMPACT 'major' AND WAIT",
    ):
        session.sql(statement)
    found = {engine: [] for engine in ("local", "spark")}
    for engine in found:
        session.sql(f"SET acidsql.engine={engine}")
        found[engine] += rows("SELECT count(*), min(at), max(at) FROM t")
        found[engine] += rows("SELECT count(*), sum(id) FROM b")
    spark = session.sql("SELECT 1").df.sparkSession
    found["conf"] = dict(spark.sparkContext.getConf().getAll())
    found["hosts"] = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
with open(told, "w") as file:
    json.dump(found, file)
"""
ROWS = [
    ["990", "2024-01-01 00:00:00", "2024-07-01 12:00:00"],
    ["1010", str(sum(range(500)) + sum(range(990, 1500)))],
]


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The HADOOP_CONF_DIR of the one cluster of this module."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("yarn")
    (folder / "conf").mkdir()
    with mini_cluster(MAIN, folder / "cluster", str(folder / "conf" / "yarn-site.xml")):
        yield folder / "conf"


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_program_runs_on_yarn(conf: Path, tmp_path: Path, mode: str) -> None:
    """The driver here, or in a container: statements of all kinds are done by executors in containers,
    and what spark-submit was told holds.
    """
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "warehouse").mkdir()
    told = tmp_path / "told.json"
    path = {
        f"spark.{whose}.PYTHONPATH": str(ROOT) for whose in ("executorEnv", "yarn.appMasterEnv")
    }
    settings = {
        **path,
        "spark.yarn.jars": f"local:{JARS}/*",
        "spark.yarn.stagingDir": (tmp_path / "staging").as_uri(),
        "spark.yarn.submit.waitAppCompletion": "true",
        "spark.yarn.am.memory": "400m",
        "spark.pyspark.python": sys.executable,
        "spark.ui.enabled": "false",
    }
    sizes = "--num-executors 2 --executor-cores 1 --executor-memory 600m --driver-memory 800m"
    variables = {**os.environ, "HADOOP_CONF_DIR": str(conf), "PYTHONPATH": str(ROOT)}
    with java_environment(variables):
        ran = subprocess.run(
            [
                str(SUBMIT), "--master", "yarn", "--deploy-mode", mode, "--name", "nightly", *sizes.split(),
                *(word for one in settings.items() for word in ("--conf", "=".join(one))),
                str(tmp_path / "program.py"), str(tmp_path / "warehouse"), str(told),
            ],
            capture_output=True, text=True, check=False, timeout=400, env=variables, cwd=tmp_path,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = json.loads(told.read_text())
    assert found["local"] == found["spark"] == ROWS
    assert found["conf"]["spark.master"] == "yarn"
    assert found["conf"]["spark.submit.deployMode"] == mode
    assert found["conf"]["spark.app.name"] == "nightly"
    assert found["hosts"] == 2
