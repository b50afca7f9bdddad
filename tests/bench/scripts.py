"""Golden scripts: what a run of pytest over twenty of them takes, start and end included."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from tests.bench.measures import Measure

NUMBER = 20


def small_scripts(folder: Path, number: int) -> None:
    """Scripts of one small table each, which the driver carries out."""
    for script in range(number):
        (folder / f"s{script}.sql").write_text(
            "CREATE TABLE t (a INT, s STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');"
            f"INSERT INTO t VALUES (1, 'x'), ({script}, 'y'); UPDATE t SET s = 'z' WHERE a = 1;"
            "SELECT * FROM t",
            encoding="utf-8",
        )


def measure_scripts(folder: Path, rounds: int) -> Measure:
    """In time of the processor: other processes of the machine are not held against it."""
    project = folder / "project"
    (project / "golden").mkdir(parents=True)
    ini = "[pytest]\nacidsql_golden = golden\nacidsql_spark = none\n"
    (project / "pytest.ini").write_text(ini, encoding="utf-8")
    small_scripts(project / "golden", NUMBER)
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}

    def run(*options: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*call, *options], cwd=project, env=environment, check=True, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    run("--snapshot-update")
    return Measure(
        name=f"pytest over {NUMBER} golden scripts, CPU of the whole process",
        found=statistics.median([run() for _ in range(rounds)]),
        unit="s",
        goal=5,
    )
