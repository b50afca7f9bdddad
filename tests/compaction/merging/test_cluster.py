"""Compactions also hold where the tasks run in processes of their own, and finish files there."""

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
from acidsql.catalog.model import TableName
from acidsql.compaction.worker import Worker
from acidsql.txn.compactions import CompactionRequest, CompactionState, CompactionType

root, files = sys.argv[1:]
settings = {"acidsql.write.path": "big", "acidsql.compactor.auto": "false"}
with Session(root, master="local-cluster[2,1,1024]", settings=settings) as session:
    if files == "far":  # as a distant file system: what is written cannot be changed, and executors open it by themselves
        from pyarrow import fs
        from acidsql.files.arrow_files import ArrowFileIO
        session.files._local = ArrowFileIO(files=fs.LocalFileSystem(), root=root, prefix=root, renaming=True, travels=True)
        ArrowFileIO.replace_tail = None  # in this process
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    session.sql(f"CREATE TABLE b (k INT, v STRING) CLUSTERED BY (k) INTO 3 BUCKETS {acid}")
    session.sql("CREATE TABLE o (k INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='false')")
    session.sql("INSERT INTO o SELECT CAST(id AS INT), concat('v', id) FROM range(0, 500, 1, 2)")
    session.sql("ALTER TABLE o SET TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO b SELECT CAST(id AS INT), concat('v', id) FROM range(3000)")
    for table in "bo":
        session.sql(f"UPDATE {table} SET v = 'x' WHERE k % 10 = 3")
        session.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), 'n' FROM range(5000, 5100)")
        session.sql(f"DELETE FROM {table} WHERE k % 10 = 4")
        query = f"SELECT count(*), sum(xxhash64(ROW__ID, k, v)) FROM {table}"
        before = list(session.sql(query).rows())
        for kind in (CompactionType.MINOR, CompactionType.MAJOR):
            session.store.enqueue_compaction(
                CompactionRequest(table=TableName("default", table), partition=None, type=kind, initiator="here-manual")
            )
            assert Worker(session.store, session.files, session.engine, session.settings, "here-1").run_once()
            done = session.store.compactions()[-1]
            assert done.state is CompactionState.READY_FOR_CLEANING, done.message
            session.store.mark_cleaned(done.compaction_id)
            assert list(session.sql(query).rows()) == before, (table, kind)
        print(table, before[0][0])
"""


@pytest.mark.parametrize("files", ["local", "far"])
def test_several_executor_processes(tmp_path: Path, files: str) -> None:
    """Minor and major compaction of buckets and originals by two executors that share no memory."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "warehouse"), files]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=with_archive()
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split("\n")[:2] == ["b 2790", "o 540"]
