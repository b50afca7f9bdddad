"""What compaction costs, and what it gains.

    python -m tests.bench.compaction [--rows 4000000] [--rounds 2]

A major compaction after ten updates of 1 % against reading and writing the same rows as plain ORC;
a minor one of a hundred small deltas; a scan behind each against a table that was written at once.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from pyarrow import parquet
from pyspark.sql import SparkSession

from acidsql.catalog.model import TableName
from acidsql.compaction.cleaner import Cleaner
from acidsql.compaction.worker import Worker
from acidsql.session import Session
from acidsql.spark.start.session import start
from acidsql.txn.compactions import CompactionRequest, CompactionState, CompactionType
from tests.bench.measures import (
    ACID,
    COLUMNS,
    SUMS,
    Measure,
    in_turn,
    ratio,
    seconds_of,
    source_rows,
)

UPDATES, SMALL_DELTAS = 10, 100


def measure_compaction(
    session: Session, spark: SparkSession, folder: Path, rows: int, rounds: int
) -> list[Measure]:
    """All measures. ``session``: on a new warehouse and ``spark``."""
    parquet.write_table(source_rows(rows), f"{folder}/source", row_group_size=max(1, rows // 8))
    spark.read.parquet(f"{folder}/source").createOrReplaceTempView("source_rows")
    session.sql(f"CREATE TABLE t ({COLUMNS}) {ACID}")
    session.sql("INSERT INTO t SELECT * FROM source_rows")
    tables = [f"t{number}" for number in range(rounds + 1)]
    for table in tables:
        session.sql(f"CREATE TABLE {table} ({COLUMNS}) {ACID}")
        session.sql(f"INSERT INTO {table} SELECT * FROM t")
        for number in range(UPDATES):
            session.sql(f"UPDATE {table} SET qty = qty + 1 WHERE k % 100 = {number}")
    plain = f"{folder}/plain"
    spark.table("source_rows").write.option("compression", "zlib").orc(plain)
    waiting, copies = iter(tables), iter(range(len(tables)))

    def copy() -> float:
        target = f"{folder}/copy{next(copies)}"
        return seconds_of(
            lambda: spark.read.orc(plain).write.option("compression", "zlib").orc(target)
        )

    major = in_turn(rounds, lambda: compact(session, next(waiting), CompactionType.MAJOR), copy)
    scans = in_turn(2 * rounds, lambda: scan(session, tables[-1]), lambda: scan(session, "t"))
    return [
        ratio(f"major after {UPDATES} updates / read and write", *major, goal=1.5),
        ratio("scan behind it / fresh table", *scans, goal=1.05),
        *_small(session, rounds),
    ]


def _small(session: Session, rounds: int) -> list[Measure]:
    session.sql(f"CREATE TABLE once (k BIGINT, v STRING) {ACID}")
    session.sql(f"INSERT INTO once VALUES {', '.join(f'({k}, NULL)' for k in range(SMALL_DELTAS))}")
    seconds = []
    for number in range(rounds):
        session.sql(f"CREATE TABLE small{number} (k BIGINT, v STRING) {ACID}")
        for k in range(SMALL_DELTAS):
            session.sql(f"INSERT INTO small{number} VALUES ({k}, NULL)")
        seconds.append(compact(session, f"small{number}", CompactionType.MINOR))
    sums = "SELECT sum(k), count(v) FROM"
    scans = in_turn(
        3 * rounds, lambda: scan(session, "small0", sums), lambda: scan(session, "once", sums)
    )
    minor = Measure(
        name=f"minor of {SMALL_DELTAS} small deltas",
        found=statistics.median(seconds) * 1000,
        unit="ms",
        goal=1000,
    )
    return [minor, ratio("scan behind it / fresh table", *scans, goal=1.05)]


def scan(session: Session, table: str, sums: str = SUMS) -> float:
    return seconds_of(lambda: list(session.sql(f"{sums} {table}").rows()))


def compact(session: Session, table: str, kind: CompactionType) -> float:
    """The seconds that a worker takes for one entry. What it has made obsolete is gone then: an
    entry has succeeded when it is, and a scan behind it lists nothing else.
    """
    request = CompactionRequest(
        table=TableName("default", table), partition=None, type=kind, initiator="bench-manual"
    )
    session.store.enqueue_compaction(request)
    worker = Worker(session.store, session.files, session.engine, session.settings, "bench-1")
    seconds = seconds_of(worker.run_once)
    done = session.store.compactions()[-1]
    assert done.state is CompactionState.READY_FOR_CLEANING, done.message
    cleaner = Cleaner(
        store=session.store, files=session.files, settings=session.settings, clock=time.time
    )
    cleaner.run_once()
    assert session.store.compactions()[-1].state is CompactionState.SUCCEEDED
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    spark = start("local[*]", {"spark.driver.memory": "2g"})
    settings = {"acidsql.compactor.auto": "false"}
    with tempfile.TemporaryDirectory() as folder:
        session = Session(f"{folder}/warehouse", spark=spark, settings=settings)
        with session:
            measures = measure_compaction(
                session, spark, Path(folder), options.rows, options.rounds
            )
        for one in measures:
            print(f"{one.name:50} {one.found:8.2f} {one.unit:3} {one.goal:6.2f} {one.detail}")
    spark.stop()


if __name__ == "__main__":
    main()
