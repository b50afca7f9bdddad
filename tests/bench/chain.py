"""A chain of small updates with automatic compaction, and what it does to statements and to the end of
a session.

    python -m tests.bench.chain [--updates 500] [--rows 100000] [--inserts 200]

Prints how long an update takes at the end of the chain against its beginning, what a scan takes against
one of a fresh table, and how the process has grown; then what a session that compacts by the way adds to
small statements and to its own end, against one that does not.
"""

from __future__ import annotations

import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SCAN = "SELECT count(*), sum(v) FROM {} WHERE k >= 0"
SHARE = 50
"""Updates at either end that are compared."""
LEAVES = f"""
import sys, time
from acidsql.session import Session

session = Session(sys.argv[1], settings={{"acidsql.compactor.auto": sys.argv[2]}})
session.sql("CREATE TABLE t (k BIGINT, v BIGINT) {ACID}")
for number in range(20):
    session.sql(f"INSERT INTO t VALUES ({{number}}, 0)")
print(time.time())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=500)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--inserts", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acidsql-chain-") as folder:
        for auto in ("false", "true"):
            delays(Path(folder, f"delays-{auto}"), auto, args.inserts)
            leaving(Path(folder, f"leaving-{auto}"), auto)
        chain(Path(folder, "chain"), args.updates, args.rows)


def delays(warehouse: Path, auto: str, inserts: int) -> None:
    """What each of many small statements takes, and the end of the session behind them."""
    with Session(warehouse, settings={"acidsql.compactor.auto": auto}) as session:
        session.sql(f"CREATE TABLE t (k BIGINT, v BIGINT) {ACID}")
        seconds = [
            seconds_of(session, f"INSERT INTO t VALUES ({number}, 0)") for number in range(inserts)
        ]
        began = time.perf_counter()
    closing = time.perf_counter() - began
    ordered = sorted(1000 * s for s in seconds)
    print(
        f"compactor.auto={auto}: insert median {statistics.median(ordered):.1f} ms,"
        f" 99 % {ordered[int(0.99 * len(ordered))]:.1f} ms, close {1000 * closing:.1f} ms,"
        f" {len(directories(warehouse, 't'))} directories",
        flush=True,
    )


def leaving(warehouse: Path, auto: str) -> None:
    """How long a process takes to end that writes, closes nothing and ends amid the work."""
    ends = []
    for number in range(3):
        command = [sys.executable, "-c", LEAVES, f"{warehouse}-{number}", auto]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        ends.append(1000 * (time.time() - float(done.stdout)))
        assert not done.stderr, done.stderr
    print(
        f"compactor.auto={auto}: a process that closes nothing ends after"
        f" {statistics.median(ends):.1f} ms, at most {max(ends):.1f} ms",
        flush=True,
    )


def chain(warehouse: Path, updates: int, rows: int) -> None:
    """Updates of .1 % each, one after the other."""
    with Session(warehouse) as session:
        for table in ("c", "fresh"):
            session.sql(f"CREATE TABLE {table} (k BIGINT, v BIGINT, t STRING) {ACID}")
        source = f"SELECT id, id, concat('text ', id) FROM range({rows})"
        session.sql(f"INSERT INTO c {source}")
        seconds: list[float] = []
        sizes: list[int] = []
        most = 0
        for number in range(updates):
            statement = f"UPDATE c SET v = v + 1 WHERE k % 1000 = {number % 1000}"
            seconds.append(seconds_of(session, statement))
            most = max(most, len(directories(warehouse, "c")))
            sizes.append(resident())
            if number % SHARE == SHARE - 1:
                median = statistics.median(seconds[-SHARE:])
                print(f"  to {number + 1}: median {median:.3f} s, {sizes[-1]} MB", flush=True)
        first, last = (statistics.median(s) for s in (seconds[:SHARE], seconds[-SHARE:]))
        session.sql(f"INSERT INTO fresh {source}")
        at_once = scan_ratio(session)
        session._background.wait()
        settled = scan_ratio(session)
        [(counted, total)] = session.sql(SCAN.format("c")).rows()
        assert (counted, total) == (rows, rows * (rows - 1) // 2 + updates * rows // 1000)
        print(
            f"chain of {updates}: last {SHARE} / first {SHARE} {last / first:.2f} (goal 1.3),"
            f" scan / fresh {at_once:.2f} at once, {settled:.2f} when the thread is idle (goal 1.3),"
            f" at most {most} directories, {len(directories(warehouse, 'c'))} at the end,"
            f" from {sizes[min(SHARE, len(sizes) - 1)]} to {sizes[-1]} MB"
        )


def scan_ratio(session: Session) -> float:
    """What a scan of the chain's table takes against one of the fresh table, in turns, both warm."""
    seconds: dict[str, list[float]] = {"c": [], "fresh": []}
    for _ in range(6):
        for table, taken in seconds.items():
            taken.append(seconds_of(session, SCAN.format(table)))
    chained, fresh = (statistics.median(taken[1:]) for taken in seconds.values())
    return chained / fresh


def seconds_of(session: Session, statement: str) -> float:
    began = time.perf_counter()
    result = session.sql(statement)
    if result.columns:
        result.to_arrow()
    return time.perf_counter() - began


def directories(warehouse: Path, table: str) -> list[str]:
    return [name for name in os.listdir(warehouse / table) if not name.startswith(".")]


def resident() -> int:
    """Megabytes that this process and its children hold."""
    pages = 0
    for process in tree(os.getpid()):
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def tree(process: int) -> list[int]:
    children: list[int] = []
    for tasks in glob.glob(f"/proc/{process}/task/*/children"):
        with suppress(OSError):  # a thread that has ended
            children += map(int, Path(tasks).read_text().split())
    return [process, *(below for child in children for below in tree(child))]


if __name__ == "__main__":
    main()
