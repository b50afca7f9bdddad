"""What many rows cost: the memory of all processes stays bounded, the time grows as the rows do.

    python -m tests.bench.scale [--rows 1000000,3000000,10000000] [--folder DIR] [--engine auto]
    [--memory 2g] [--check]

A table is loaded from Parquet files, a tenth of it is updated, a tenth merged (half of that is new),
all compacted, and all rows are counted and added up. The files are made once, in ``--folder``, and
stay there. Each size has a process of its own, whose Spark has the memory that a user's has who
sets none, of which Java takes more the more it works; ``--memory`` is less, and what is then done
needs no more than that. Ratios are to the first size: of the time per row, and of the memory.

Python is this process and Spark's workers; Java is started before the first step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from acidsql.session import Session
from tests.bench.chain import tree
from tests.bench.measures import ACID, COLUMNS, source_rows

MODULE = "tests.bench.scale"
ROWS_OF_A_FILE = 1_000_000
"""Of every 20 rows the same ones are updated and merged, so this is a multiple of 20."""
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.2
TIME_GOAL, MEMORY_GOAL = 1.3, 1.5
"""How many times the first size's, of the time per row and of the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement. Seconds and megabytes."""

    name: str
    wall: float
    python_cpu: float
    java_cpu: float
    python_peak: int
    java_peak: int


def make_files(folder: Path, rows: int) -> Path:
    """The directory of files with so many rows, which are made where they are not there."""
    chosen = folder / f"{rows}"
    chosen.mkdir(parents=True, exist_ok=True)
    batch: pa.Table | None = None
    for number in range(rows // ROWS_OF_A_FILE):
        file = folder / f"part-{number:05}.parquet"
        if not file.exists():
            batch = source_rows(ROWS_OF_A_FILE) if batch is None else batch
            shifted = np.arange(ROWS_OF_A_FILE, dtype=np.int64) + number * ROWS_OF_A_FILE
            unfinished = file.with_suffix(".unfinished")
            parquet.write_table(batch.set_column(0, "k", pa.array(shifted)), unfinished)
            unfinished.rename(file)
        if not (chosen / file.name).exists():
            (chosen / file.name).hardlink_to(file)
    return chosen


def expected(rows: int) -> tuple[int, int, int]:
    """The count, and the sums of k and qty, behind all steps."""
    qty = source_rows(ROWS_OF_A_FILE)["qty"].to_numpy()
    files = rows // ROWS_OF_A_FILE
    tenth, twentieth = rows // 10, rows // 20
    new = np.arange(11, rows, 20, dtype=np.int64) + rows
    return (
        rows + twentieth,
        rows * (rows - 1) // 2 + int(new.sum()),
        files * int(qty.sum()) + tenth + 100 * twentieth + files * int(qty[11::20].sum()),
    )


def statements(source: Path, rows: int) -> dict[str, str]:
    merged = (
        f"SELECT CASE WHEN k % 20 = 1 THEN k ELSE k + {rows} END AS k, qty, price, disc, ship, flag,"
        f" mode, cmt FROM parquet.`{source}` WHERE k % 10 = 1"
    )
    return {
        "load": f"INSERT INTO t SELECT * FROM parquet.`{source}`",
        "UPDATE of 10 %": "UPDATE t SET qty = qty + 1 WHERE k % 10 = 0",
        "MERGE of 10 %": f"MERGE INTO t USING ({merged}) s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET qty = s.qty + 100"
        " WHEN NOT MATCHED THEN INSERT VALUES"
        " (s.k, s.qty, s.price, s.disc, s.ship, s.flag, s.mode, s.cmt)",
        "count and sums": "SELECT count(*), sum(k), sum(qty) FROM t",
        "major compaction": "ALTER TABLE t COMPACT 'major' AND WAIT",
        "count and sums behind it": "SELECT count(*), sum(k), sum(qty) FROM t",
    }


def run(source: Path, rows: int, engine: str, memory: str) -> Iterator[Step]:
    """Every step of one size. ``memory``: of Spark's Java, else the default."""
    conf = {"spark.driver.memory": memory} if memory else {}
    settings = {"acidsql.compactor.auto": "false", "acidsql.engine": engine}
    with (
        tempfile.TemporaryDirectory(prefix="acidsql-scale-", dir=source.parent) as folder,
        Session(f"{folder}/warehouse", settings=settings, conf=conf) as session,
    ):
        if engine != "local":
            session.spark.range(1).count()
        session.sql(f"CREATE TABLE t ({COLUMNS}) {ACID}")
        for name, sql in statements(source, rows).items():
            with peaks() as peak:
                before, began = cpu(), time.perf_counter()
                result = session.sql(sql)
                found = list(result.rows()) if name.startswith("count") else []
                wall, after = time.perf_counter() - began, cpu()
            assert not found or tuple(found[0]) == expected(rows), (found, expected(rows))
            yield Step(
                name=name,
                wall=wall,
                python_cpu=after["python"] - before["python"],
                java_cpu=after["java"] - before["java"],
                python_peak=peak["python"],
                java_peak=peak["java"],
            )


def kind_of(process: int) -> str | None:
    """None: one of neither, as a thread of Java's that is about to become another program, in
    whose memory it still lies.
    """
    name = Path(f"/proc/{process}/comm").read_text().strip()
    return next((kind for kind in ("java", "python") if name.startswith(kind)), None)


def cpu() -> dict[str, float]:
    """The seconds that this process and those below it have had; those of Spark's workers that have
    ended too.
    """
    seconds = {"java": 0.0, "python": 0.0}
    for process in tree(os.getpid()):
        with suppress(OSError):  # a process that has ended
            times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
            kind = kind_of(process)
            ended = kind == "python" and process != os.getpid()
            if kind is not None:
                seconds[kind] += sum(map(int, times if ended else times[:2])) / TICKS
    return seconds


def held() -> dict[str, int]:
    """The resident megabytes of this process and those below it."""
    pages = {"java": 0, "python": 0}
    for process in tree(os.getpid()):
        with suppress(OSError):  # a process that has ended
            if (kind := kind_of(process)) is not None:
                pages[kind] += int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return {kind: count * os.sysconf("SC_PAGE_SIZE") >> 20 for kind, count in pages.items()}


@contextmanager
def peaks() -> Iterator[dict[str, int]]:
    """The most that was held within, looked at a few times a second."""
    most, over = held(), threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_SECONDS):
            for kind, megabytes in held().items():
                most[kind] = max(most[kind], megabytes)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        over.set()
        watcher.join()


def measured(source: Path, rows: int, engine: str, memory: str) -> Iterator[Step]:
    """The steps of one size, by a process of its own."""
    command = [sys.executable, "-m", MODULE, "--one", str(rows), str(source), engine, memory]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield Step(**json.loads(line))
    if process.returncode:
        sys.exit(f"{rows:,} rows: exit code {process.returncode}")


def compared(step: Step, first: Step, factor: float) -> tuple[str, bool]:
    """A line of the table, and whether the goals are reached."""
    wall = step.wall / first.wall / factor
    used = step.python_cpu + step.java_cpu
    worked = used / max(first.python_cpu + first.java_cpu, 0.01) / factor
    memory = (step.python_peak + step.java_peak) / (first.python_peak + first.java_peak)
    line = (
        f"{step.name:<26}{step.wall:>8.1f}{step.python_cpu:>9.1f}{step.java_cpu:>9.1f}"
        f"{step.python_peak:>9,}{step.java_peak:>9,}{wall:>10.2f}{worked:>9.2f}{memory:>9.2f}"
    )
    return line, worked <= TIME_GOAL and memory <= MEMORY_GOAL


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        rows, source, engine, memory = sys.argv[2:]
        for step in run(Path(source), int(rows), engine, memory):
            print(json.dumps(asdict(step)), flush=True)
        return 0
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", default="1000000,3000000,10000000")
    parser.add_argument("--folder", default=f"{tempfile.gettempdir()}/acidsql-scale-rows")
    parser.add_argument("--engine", default="auto", choices=["local", "auto", "spark"])
    parser.add_argument("--memory", default="", help="of Spark's Java: 2g")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a goal is missed")
    args = parser.parse_args()
    sizes = [int(size) for size in args.rows.split(",")]
    if any(size % ROWS_OF_A_FILE or not size for size in sizes):
        parser.error(f"--rows: multiples of {ROWS_OF_A_FILE:,}")
    firsts: dict[str, Step] = {}
    reached = True
    for size in sizes:
        source = make_files(Path(args.folder), size)
        print(
            f"\n{size:,} rows{'CPU s':>24}{'':>9}{'peak MB':>9}{'per row, to the first size':>36}"
        )
        print(f"{'':<26}{'wall s':>8}{'Python':>9}{'Java':>9}{'Python':>9}{'Java':>9}", end="")
        print(f"{'wall':>10}{'CPU':>9}{'memory':>9}", flush=True)
        for step in measured(source, size, args.engine, args.memory):
            first = firsts.setdefault(step.name, step)
            line, is_reached = compared(step, first, size / sizes[0])
            print(line, flush=True)
            reached = reached and is_reached
    return 1 if args.check and not reached else 0


if __name__ == "__main__":
    sys.exit(main())
