"""Tables on S3 that Spark reads and writes itself, by Hadoop's driver, which comes from Maven by
Spark's own means: in a process of its own, which is started with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from tests.conftest import SPARK_CONF
from tests.spark.stores import BUCKET, S3Server
from tests.spark_packages import spark_packages

ROOT = Path(__file__).resolve().parents[3]

CHILD = """
import json, sys
from acidsql.session import Session

warehouse, root, settings, conf = json.loads(sys.argv[1])
ACID = "TBLPROPERTIES ('transactional'='true')"
KEYS = "(SELECT CAST(id AS INT) AS k FROM range(990, 1010)) x ON t.id = x.k"
told = {}

def rows(sql):
    return [list(row) for row in session.sql(sql).rows()]

with Session(warehouse, master="local[2]", conf=conf, settings=settings) as session:
    session.sql("SET acidsql.engine=spark")
    session.sql("SET acidsql.write.path=big")
    session.sql(f"CREATE TABLE t (id INT, v STRING) STORED AS ORC LOCATION '{root}/t' {ACID}")
    session.sql("INSERT INTO t SELECT CAST(id AS INT), 'a' FROM range(1000)")
    session.sql("UPDATE t SET v = 'b' WHERE id % 10 = 0")
    session.sql(
        f"MERGE INTO t USING {KEYS} WHEN MATCHED THEN UPDATE SET v = 'm'"
        " WHEN NOT MATCHED THEN INSERT VALUES (k, 'n')"
    )
    session.sql("DELETE FROM t WHERE id < 10")
    told["before"] = rows("SELECT v, count(*) FROM t GROUP BY v ORDER BY v")
    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    told["after"] = rows("SELECT v, count(*) FROM t GROUP BY v ORDER BY v")
    for kind in ("PARQUET", "TEXTFILE"):
        session.sql(f"CREATE TABLE {kind} (id INT) STORED AS {kind} LOCATION '{root}/{kind}'")
        session.sql(f"INSERT INTO {kind} SELECT id FROM t")
        told[kind] = rows(f"SELECT count(*), sum(id) FROM {kind}")
print("TOLD " + json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_large_writes_by_hadoops_driver(s3: S3Server, warehouse: Path, tmp_path: Path) -> None:
    """Changes, a compaction and tables of other formats, by Spark's tasks, which are told where S3
    is by acidsql's own settings, and their credentials by the environment.
    """
    [jar] = (Path(_find_spark_home()) / "jars").glob("hadoop-client-api-*.jar")
    hadoop = jar.stem.rpartition("-")[2]
    conf = {
        **SPARK_CONF,
        **spark_packages(tmp_path, f"org.apache.hadoop:hadoop-aws:{hadoop}"),
    }
    given = json.dumps([str(warehouse), f"s3://{BUCKET}", s3.settings, conf])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, given],
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if "unresolved dependenc" in done.stderr or "download failed" in done.stderr:
        pytest.skip("hadoop-aws cannot be had")
    told = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert told, done.stderr[-3000:]
    rows = json.loads(told[0].removeprefix("TOLD "))
    assert rows["before"] == rows["after"] == [["a", 882], ["b", 98], ["m", 10], ["n", 10]]
    total = [[1000, sum(range(10, 1010))]]
    assert rows["PARQUET"] == rows["TEXTFILE"] == total
    assert {name.split("_v")[0] for name in s3.names("t")} == {"t/base_0000004"}
