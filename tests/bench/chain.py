"""A chain of small updates with automatic compaction, and what it does to statements and to the end of
a session.

    python -m tests.bench.chain [--updates 500] [--rows 100000] [--inserts 200] [--engine auto] [--only-chain]

Prints what a session that compacts by the way adds to small statements and to its own end, against one
that does not; then how long an update takes at the end of the chain against its beginning, what a scan
takes against one of a fresh table, by the driver and by Spark, and how the process has grown: what it
holds of the machine, and what is alive in Java's heap (jcmd tells, behind a collection).

There are two fresh tables: of the rows in the order of their numbers, of which ORC stores next to
nothing, and of the chain's rows as they lie. Scans are compared by the least that one took, and by
the processor time of Python, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SCAN = "SELECT count(*), sum(v) FROM {} WHERE k >= 0"
SHARE = 50
"""Updates at either end that are compared."""
SCANS = 40
TABLES = ("c", "fresh", "same")
"""The chain's, a fresh one of the same keys, and one of the rows that the chain has left."""
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
    parser.add_argument("--engine", choices=("auto", "local", "spark"), default="auto")
    parser.add_argument("--only-chain", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acidsql-chain-") as folder:
        for auto in () if args.only_chain else ("false", "true"):
            delays(Path(folder, f"delays-{auto}"), auto, args.inserts)
            leaving(Path(folder, f"leaving-{auto}"), auto)
        chain(Path(folder, "chain"), args.updates, args.rows, args.engine)


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


def chain(warehouse: Path, updates: int, rows: int, engine: str) -> None:
    """Updates of .1 % each, one after the other."""
    with Session(warehouse, settings={"acidsql.engine": engine}) as session:
        session.start_spark()
        for table in TABLES:
            session.sql(f"CREATE TABLE {table} (k BIGINT, v BIGINT, t STRING) {ACID}")
        source = f"SELECT id, id, concat('text ', id) FROM range({rows})"
        session.sql(f"INSERT INTO c {source}")
        seconds: list[float] = []
        processor: list[float] = []
        grown: list[Memory] = []
        most = 0
        for number in range(updates):
            statement = f"UPDATE c SET v = v + 1 WHERE k % 1000 = {number % 1000}"
            began = time.process_time()
            seconds.append(seconds_of(session, statement))
            processor.append(time.process_time() - began)
            most = max(most, len(directories(warehouse, "c")))
            if number % SHARE == SHARE - 1:
                grown.append(memory(collect=number + 1 in (SHARE, updates)))
                median = statistics.median(seconds[-SHARE:])
                print(f"  to {number + 1}: median {median:.3f} s, {grown[-1]}", flush=True)
        flat, flat_of_processor = map(last_against_first, (seconds, processor))
        session.sql(f"INSERT INTO fresh {source}")
        session.sql("INSERT INTO same SELECT /*+ COALESCE(1) */ * FROM c")
        at_once = scan_ratios(session)
        session._background.wait()
        settled = scan_ratios(session)
        [(counted, total)] = session.sql(SCAN.format("c")).rows()
        assert (counted, total) == (rows, rows * (rows - 1) // 2 + updates * rows // 1000)
        print(
            f"chain of {updates}: last {SHARE} / first {SHARE} {flat:.2f} (goal 1.3),"
            f" of Python's processor time {flat_of_processor:.2f},"
            f" at most {most} directories, {len(directories(warehouse, 'c'))} at the end"
        )
        print(f"  scan / scan at once (goal 1.3): {at_once}")
        print(f"  scan / scan when the thread is idle (goal 1.3): {settled}")
        if len(grown) > 1:
            print(f"  memory, at the end / after {SHARE}: {grown[-1].against(grown[0])}")


def last_against_first(seconds: list[float]) -> float:
    return statistics.median(seconds[-SHARE:]) / statistics.median(seconds[:SHARE])


def scan_ratios(session: Session) -> str:
    """The ratios of both ways of reading, in words."""
    before = session.settings.text("acidsql.engine")
    words = []
    for engine in ("local", "spark"):
        session.settings.set("acidsql.engine", engine)
        words.append(f"{scan_ratio(session)} ({engine})")
    session.settings.set("acidsql.engine", before)
    return ", ".join(words)


def scan_ratio(session: Session) -> str:
    """What a scan of the chain's table takes against one of each fresh table, in turns, all warm."""
    seconds: dict[str, list[float]] = {table: [] for table in TABLES}
    processor: dict[str, list[float]] = {table: [] for table in TABLES}
    for _ in range(SCANS):
        for table in TABLES:
            began = time.process_time()
            seconds[table].append(seconds_of(session, SCAN.format(table)))
            processor[table].append(time.process_time() - began)
    return ", ".join(
        f"of {table} {min(seconds['c']) / min(seconds[table]):.2f},"
        f" of processor time {min(processor['c']) / min(processor[table]):.2f}"
        for table in TABLES[1:]
    )


def seconds_of(session: Session, statement: str) -> float:
    began = time.perf_counter()
    result = session.sql(statement)
    if result.columns:
        result.to_arrow()
    return time.perf_counter() - began


def directories(warehouse: Path, table: str) -> list[str]:
    return [name for name in os.listdir(warehouse / table) if not name.startswith(".")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Megabytes: what Python and Java hold of the machine, and what is alive in Java's heap, None
    where that was not asked, or jcmd is not there to tell.
    """

    python: int
    java: int
    live: int | None

    def __str__(self) -> str:
        alive = "" if self.live is None else f", {self.live} MB of it alive in the heap"
        return f"Python {self.python} MB, Java {self.java} MB{alive}"

    def against(self, other: Memory) -> str:
        live = ""
        if self.live is not None and other.live:
            live = f", alive in the heap {self.live / other.live:.2f}"
        return f"Python {self.python / other.python:.2f}, Java {self.java / other.java:.2f}{live}"


def memory(*, collect: bool) -> Memory:
    """What this process and its children hold, Java before it collects. ``collect``: and what is alive
    in its heap.
    """
    pages = {"java": 0, "other": 0}
    live: list[int] = []
    for process in tree(os.getpid()):
        with suppress(OSError):  # a process that has ended
            name = Path(f"/proc/{process}/comm").read_text().strip()
            held = int(Path(f"/proc/{process}/statm").read_text().split()[1])
            pages["java" if name == "java" else "other"] += held
            if name == "java" and collect:
                live += alive_in(process)
    java, python = (pages[of] * os.sysconf("SC_PAGE_SIZE") >> 20 for of in ("java", "other"))
    return Memory(python=python, java=java, live=sum(live) if live else None)


def alive_in(process: int) -> list[int]:
    """The megabytes that are left of a Java process's heap by a full collection, if jcmd tells."""
    if shutil.which("jcmd") is None:
        return []
    for command in ("GC.run", "GC.heap_info"):
        asked = ["jcmd", str(process), command]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    used = re.search(r"used (\d+)K", done.stdout)
    return [] if used is None else [int(used[1]) >> 10]


def tree(process: int) -> list[int]:
    children: list[int] = []
    for tasks in glob.glob(f"/proc/{process}/task/*/children"):
        with suppress(OSError):  # a thread that has ended
            children += map(int, Path(tasks).read_text().split())
    return [process, *(below for child in children for below in tree(child))]


if __name__ == "__main__":
    main()
