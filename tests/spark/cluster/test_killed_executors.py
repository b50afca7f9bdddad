"""Executors that die in the middle of a statement's job, while Spark runs tasks twice on speculation:
each row is there once, and nothing is left.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.spark.cluster.standalone import ROOT, Machine, program_on_cluster, told_in

ROWS = 60_000
PROGRAM = f"""
import json, sys
import acidsql

warehouse, master = sys.argv[1:]
conf = {{
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.driver.memory": "700m",
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.task.maxFailures": "20",
}}
settings = {{
    "acidsql.engine": "spark",
    "acidsql.write.path": "big",
    "acidsql.compactor.auto": "false",
    "acidsql.compactor.driver.max.bytes": "0",
}}
# some work for each row, so that tasks last
SLOW = "substr(sha2(repeat(CAST(id AS STRING), 300), 512), 1, 8)"
GIVEN = f"SELECT CAST(id AS INT) AS id, {{SLOW}} AS v, CAST(id % 3 AS INT) AS p FROM range(0, {ROWS}, 1, 8)"
STATEMENTS = {{
    "insert": f"INSERT INTO t PARTITION (p) {{GIVEN}}",
    "merge": f"MERGE INTO t USING (SELECT id + {ROWS // 2} AS id, v, p FROM ({{GIVEN}}) g) s"
    " ON t.id = s.id AND t.p = s.p WHEN MATCHED AND s.id % 5 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'matched'"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new', s.p)",
    "major": "ALTER TABLE t COMPACT 'major' AND WAIT",
}}
told = {{}}
with acidsql.Session(warehouse, master=master, conf=conf, settings=settings) as session:
    session.sql("CREATE TRANSACTIONAL TABLE t (id INT, v STRING) PARTITIONED BY (p INT) STORED AS ORC")
    session.sql("SELECT 1 AS one").df.collect()
    for name, text in STATEMENTS.items():
        print("NOW", name, flush=True)
        result = session.sql(text)
        print("DONE", flush=True)
        session.sql("SET acidsql.engine=local")  # whose answers need no executor
        rows = session.sql("SELECT count(*), count(DISTINCT id), sum(id), sum(if(v = 'matched', 1, 0)), sum(if(v = 'new', 1, 0)) FROM t").rows()
        ids = session.sql("SELECT count(*) FROM (SELECT DISTINCT ROW__ID.writeid, ROW__ID.bucketid, ROW__ID.rowid, p FROM t) i").rows()
        told[name] = [*map(int, next(rows)), *map(int, next(ids))]
        session.sql("SET acidsql.engine=spark")
print("TOLD " + json.dumps(told))
"""
STAGED = re.compile(r"/\.acidsql_[^/]*/.*_temporary/.*part-")


def executors(folder: Path) -> list[int]:
    """The ids of the processes that run tasks of the cluster in ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                there = os.readlink(entry / "cwd")
            except OSError:  # it has ended
                continue
            if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                found += [int(entry.name)] * there.startswith(str(folder))
    return sorted(found)


def writes(warehouse: Path) -> bool:
    """Whether some task has a file open that is not committed."""
    return any(STAGED.search(str(path)) for path in warehouse.rglob("part-*"))


class Killer:
    """Kills one of the executors of each statement, the first time that its tasks write."""

    def __init__(self, folder: Path, warehouse: Path) -> None:
        self._folder, self._warehouse = folder, warehouse
        self.killed: list[str] = []

    @contextmanager
    def during(self, name: str) -> Iterator[threading.Event]:
        """Watches until the event is set."""
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(name, over))
        watch.start()
        try:
            yield over
        finally:
            over.set()
            watch.join()

    def _watch(self, name: str, over: threading.Event) -> None:
        while not over.is_set():
            if writes(self._warehouse):
                [first, *_] = executors(self._folder)
                os.kill(first, signal.SIGKILL)
                self.killed.append(name)
                return
            time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_killed_executors_lose_and_double_nothing(tmp_path: Path) -> None:
    """An INSERT, a MERGE of three clauses and a compaction end right, each with one less."""
    warehouse = tmp_path / "warehouse"
    killer = Killer(tmp_path, warehouse)
    machines = [Machine(environment={"PYTHONPATH": str(ROOT)})] * 2
    with program_on_cluster(tmp_path, machines, PROGRAM) as (_, lines):
        line = next(lines, "")
        while line.startswith("NOW "):
            with killer.during(line.split()[1]):
                assert next(lines, "") == "DONE\n"
            line = next(lines, "")
    told = told_in(line, tmp_path)
    # ids of the target and of the source overlap in the upper half; p is id % 3 in both, where
    # half of the rows is a multiple of three
    half = ROWS // 2
    left = [n for n in range(ROWS + half) if not half <= n < ROWS or n % 5]
    assert told["insert"] == [ROWS, ROWS, sum(range(ROWS)), 0, 0, ROWS]
    updated, inserted = sum(half <= n < ROWS for n in left), half
    assert told["merge"] == [len(left), len(left), sum(left), updated, inserted, len(left)]
    assert told["major"] == told["merge"]
    assert killer.killed == ["insert", "merge", "major"]
    assert not [path for path in warehouse.rglob("*") if ".acidsql_" in path.name]
