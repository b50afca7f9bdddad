"""What the same work takes on other releases of Spark, as ratios to the first.

    python -m tests.bench.releases [--rows 1000000] [--rounds 3] PYTHON PYTHON ..

Each PYTHON is the interpreter of an environment with acidsql and a Spark of its own. Each has a process
that does a round when its turn comes: a load, an UPDATE of a tenth of the rows and a MERGE of a tenth of
them, half of which are new, by Spark's own writing, into a table without buckets and into one of eight.
The first round is thrown away (a cold JVM), the rest give a median.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

from acidsql.session import Session
from tests.bench.measures import ACID, COLUMNS, seconds_of, source_rows

LAYOUTS = {"no buckets": "", "8 buckets": "CLUSTERED BY (k) INTO 8 BUCKETS"}
STATEMENTS = {
    "load": "INSERT INTO t SELECT * FROM parquet.`{source}`",
    "UPDATE 10 %": "UPDATE t SET price = price + 1 WHERE k % 10 = 3",
    "MERGE 10 %": (
        "MERGE INTO t USING (SELECT k * 2 AS k, qty, price, disc, ship, flag, mode, cmt"
        " FROM parquet.`{source}` WHERE k % 10 = 3) s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET cmt = s.cmt WHEN NOT MATCHED THEN INSERT *"
    ),
}
CONF = {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "2g"}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.releases",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    args = parser.parse_args()
    if args.folder is not None:
        work(Path(args.folder))
        return
    with tempfile.TemporaryDirectory(prefix="acidsql-releases-") as folder:
        source = source_rows(args.rows)
        parquet.write_table(source, Path(folder, "source.parquet"), row_group_size=args.rows // 8)
        workers = [start(python, folder) for python in args.pythons or [sys.executable]]
        names = [answer(worker)["spark"] for worker in workers]
        rounds = [[ask(worker) for worker in workers] for _ in range(args.rounds + 1)][1:]
        for worker in workers:
            worker.communicate()
    print(f"{args.rows:,} rows{'':<24}" + "".join(f"{name:>16}" for name in names))
    for measure in rounds[0][0]:
        found = [statistics.median(one[at][measure] for one in rounds) for at in range(len(names))]
        figures = "".join(f"{one / found[0]:>7.2f} ({one:4.1f} s)" for one in found)
        print(f"{measure:<34}{figures}")


def start(python: str, folder: str) -> subprocess.Popen[str]:
    """A process of that Python, which waits for its turn."""
    return subprocess.Popen(
        [python, "-m", "tests.bench.releases", "--folder", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(worker: subprocess.Popen[str]) -> dict[str, float]:
    """The seconds of one round."""
    assert worker.stdin is not None
    worker.stdin.write("\n")
    worker.stdin.flush()
    seconds: dict[str, float] = answer(worker)
    return seconds


def answer(worker: subprocess.Popen[str]) -> dict:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit(f"{worker.args} has ended")
    return dict(json.loads(line))


def work(folder: Path) -> None:
    """A round for each line of the input."""
    settings = {"acidsql.engine": "spark", "acidsql.write.path": "big"}
    warehouse = folder / f"warehouse-{os.getpid()}"
    with Session(warehouse, master="local[2]", conf=CONF, settings=settings) as session:
        print(json.dumps({"spark": f"Spark {session.spark.version}"}), flush=True)
        for _ in sys.stdin:
            print(json.dumps(dict(one_round(session, folder / "source.parquet"))), flush=True)


def one_round(session: Session, source: Path) -> Iterator[tuple[str, float]]:
    """Each statement by name, and its seconds."""
    for layout, words in LAYOUTS.items():
        session.sql(f"CREATE TABLE t ({COLUMNS}) {words} {ACID}")
        for name, text in STATEMENTS.items():
            statement = text.format(source=source)
            yield f"{name}, {layout}", seconds_of(lambda: session.sql(statement))  # noqa: B023
        session.sql("DROP TABLE t")


if __name__ == "__main__":
    main()
