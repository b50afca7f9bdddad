"""Everything also holds where the tasks run in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster.standalone import with_archive

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = """
import sys
from acidsql import Session

root, path, files = sys.argv[1:]
with Session(root, master="local-cluster[2,1,1024]", settings={"acidsql.write.path": path}) as session:
    if files == "far":  # as a distant file system: what is written cannot be changed, and executors open it by themselves
        from pyarrow import fs
        from acidsql.storage import footers
        from acidsql.files.arrow_files import ArrowFileIO
        session.files._local = ArrowFileIO(files=fs.LocalFileSystem(), root=root, prefix=root, renaming=True, travels=True)
        ArrowFileIO.replace_tail = None  # in this process
        footers._FILES_AT_ONCE = 3
    def run(text):
        return session.sql(text)

    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    run(f"CREATE TABLE b (k INT, v STRING, d DECIMAL(10,2)) CLUSTERED BY (d, v) INTO 3 BUCKETS {acid}")
    run(f"CREATE TABLE p (k INT, v STRING) PARTITIONED BY (ds STRING) {acid}")
    run("CREATE TABLE o (k INT, v STRING) STORED AS ORC")
    run("INSERT INTO b SELECT CAST(id AS INT), concat('v', id), id / 3 FROM range(5000)")
    run("INSERT INTO p SELECT CAST(id AS INT), concat('v', id), concat('d', id % 5) FROM range(5000)")
    run("INSERT INTO o SELECT CAST(id AS INT), concat('v', id) FROM range(100)")
    run("ALTER TABLE o SET TBLPROPERTIES ('transactional'='true')")
    run("UPDATE b SET k = k + 1 WHERE k % 10 = 3")
    run("DELETE FROM p WHERE k % 10 = 4")
    run("UPDATE p SET v = 'x' WHERE k % 10 = 5")
    run("DELETE FROM o WHERE k < 10")
    run("MERGE INTO p USING (SELECT CAST(id AS INT) k FROM range(4990, 5010)) s ON p.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'm', 'new')")
    with session.transaction():
        run("INSERT INTO o SELECT CAST(id AS INT), 'n' FROM range(200, 210)")
        run("UPDATE o SET v = 'nn' WHERE k >= 205")
    for query in (
        "SELECT count(*), sum(k), count(DISTINCT ds), count_if(v = 'm'), count_if(v = 'x') FROM p",
        "SELECT count(*), sum(k) FROM b",
        "SELECT count(*), sum(k), count(DISTINCT ROW__ID), count_if(v = 'nn') FROM o",
    ):
        print(*next(iter(run(query).rows())))
"""


@pytest.mark.parametrize(("path", "files"), [("small", "local"), ("big", "local"), ("big", "far")])
def test_several_executor_processes(tmp_path: Path, path: str, files: str) -> None:
    """Both write paths, buckets by Python workers, partitions, originals, MERGE and a transaction,
    on two executors that share no memory.

    Where files cannot be changed, the driver finishes none of those that tasks have written.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), path, files],
        capture_output=True,
        text=True,
        timeout=600,
        env=with_archive(),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["4511 11303039 6 20 499", "5000 12498000", "100 6950 100 5"]
