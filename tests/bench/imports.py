"""What one statement's process imports: `python -m tests.bench.imports` prints, for each statement,
its modules and the milliseconds spent in them by package, and the least CPU time of whole processes
without the clock of `-X importtime`.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence

CREATE = (
    "CREATE TABLE t (k INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');"
    "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')"
)
STATEMENTS = {
    "INSERT": "INSERT INTO t VALUES (9, 'z')",
    "UPDATE": "SET acidsql.engine=local; UPDATE t SET v = 'x' WHERE k = 3",
    "DELETE": "SET acidsql.engine=local; DELETE FROM t WHERE k = 9 OR v IN ('y', 'z')",
    "MERGE": (
        "SET acidsql.engine=local; MERGE INTO t USING (SELECT 2 AS a, 'q' AS b) s ON t.k = s.a"
        " WHEN MATCHED THEN UPDATE SET v = b WHEN NOT MATCHED THEN INSERT VALUES (a, b)"
    ),
    "point SELECT": "SELECT * FROM t WHERE k = 2",
    "count(*)": "SELECT count(*) FROM t",
    "GROUP BY": (
        "SET acidsql.engine=local; SELECT v, count(*), sum(k), avg(k), min(v) FROM t GROUP BY v"
    ),
    "DISTINCT": "SET acidsql.engine=local; SELECT DISTINCT v FROM t ORDER BY v LIMIT 2",
    "CREATE TABLE": "CREATE TABLE IF NOT EXISTS t (k INT)",
    "SHOW TABLES": "SHOW TABLES",
}
_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")
_SHOWN = 12


def command(warehouse: str, sql: str) -> list[str]:
    return [sys.executable, "-m", "acidsql", "--warehouse", warehouse, "-S", "-e", sql]


def imported(arguments: Sequence[str]) -> dict[str, int]:
    """The modules that a Python process imports, and the microseconds spent in each alone."""
    timed = [arguments[0], "-X", "importtime", *arguments[1:]]
    ran = subprocess.run(timed, check=True, capture_output=True, text=True)
    return {name: int(time) for time, name in _LINE.findall(ran.stderr)}


def cpu_seconds(arguments: Sequence[str], rounds: int = 5) -> float:
    """The least user and system time of so many runs."""
    times = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(arguments, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def own(modules: Iterable[str]) -> int:
    """How many of these modules are acidsql's."""
    return sum(name.partition(".")[0] == "acidsql" for name in modules)


def _package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "acidsql" else parts[0]


def _table(title: str, arguments: Sequence[str]) -> str:
    modules = imported(arguments)
    times: Counter[str] = Counter()
    counts = Counter(_package(name) for name in modules)
    for name, time in modules.items():
        times[_package(name)] += time
    head = (
        f"{title}: {cpu_seconds(arguments):.2f} s of CPU, {len(modules)} modules,"
        f" {own(modules)} of them acidsql's"
    )
    total = f"{sum(times.values()) / 1000:8.1f} ms  imports, timed"
    rows = [
        f"{time / 1000:8.1f} ms {counts[name]:5d} {name}"
        for name, time in times.most_common(_SHOWN)
    ]
    return "\n".join([head, total, *rows])


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    with tempfile.TemporaryDirectory() as warehouse:
        subprocess.run(command(warehouse, CREATE), check=True, capture_output=True)
        print(_table("import acidsql", [sys.executable, "-c", "import acidsql"]))
        print(_table("--help", [sys.executable, "-m", "acidsql", "--help"]))
        for title, sql in STATEMENTS.items():
            print(_table(title, command(warehouse, sql)))


if __name__ == "__main__":
    main()
