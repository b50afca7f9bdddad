"""How the time of statements grows with what they touch, and with what they do not.

    python -m tests.bench.growth [--partitions 100,1000,10000] [--only partitions|deltas|tables|sessions]
    [--engine local] [--postgresql] [--s3] [--check]

Each figure is a ratio of two sizes of one run. What a statement touches may make it slower as many
times as there is more of it; what it does not touch must not. The goals leave room for a machine
that others use, and for fixed costs that are small.  ``--postgresql`` starts a server of its own
(as the tests do) and keeps the metastore there; ``--s3`` a store in memory, where the tables are.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from acidsql.session import Session
from tests.postgresql_server import postgresql_server

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
DELTAS = (50, 500)
TABLES = (100, 1_000)
SESSIONS = (1, 20)
MODULE = "tests.bench.growth"
"""Not __name__, which is that of a program."""
SECONDS = 5.0
"""How long the sessions of a measure commit."""
QUICK = 0.5
"""What takes less is tried several times."""
LINEAR, SAME = 1.6, 1.8
"""How many times more than as many times as there is more; how many times where it is not touched."""
NOISE = 0.004
"""Seconds: shorter ones are taken for so long, since a thread that wakes late takes as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The seconds of one statement at two sizes. ``factor``: of how much more is touched."""

    name: str
    small: float
    large: float
    factor: float

    @property
    def ratio(self) -> float:
        return max(self.large, NOISE) / max(self.small, NOISE)

    @property
    def goal(self) -> float:
        return SAME if self.factor == 1 else LINEAR * self.factor

    def __str__(self) -> str:
        verdict = "ok" if self.ratio <= self.goal else "MISSED"
        times = f"{self.small:.3f} -> {self.large:.3f} s"
        return f"{self.name:<66}{self.ratio:>7.1f} x{self.goal:>8.1f} x  {verdict:<7} {times}"


Figures = dict[str, float]
"""Seconds by what was done."""


class Bench:
    """Where warehouses are made, and by which means."""

    def __init__(
        self, folder: Path, engine: str, database: Callable[[], str] | None, s3: str | None
    ) -> None:
        self._folder = folder
        self._engine = engine
        self._database = database
        self._s3 = s3
        self._count = 0

    @contextlib.contextmanager
    def warehouse(self) -> Iterator[Warehouse]:
        """A new one, with one session."""
        self._count += 1
        name = f"w{self._count}"
        metastore = self._database() if self._database is not None else None
        settings = {
            "acidsql.engine": self._engine,
            "acidsql.compactor.auto": "false",
            "hive.exec.max.dynamic.partitions": "100000",
        }
        if self._s3 is not None:
            settings["acidsql.s3.endpoint"] = self._s3
            settings["acidsql.s3.region"] = "us-east-1"
        location = None if self._s3 is None else f"s3://bench/{name}"
        yield Warehouse(self._folder / name, metastore, settings, location)


class Warehouse:
    """A warehouse, whose sessions know nothing when they are opened."""

    def __init__(
        self, path: Path, metastore: str | None, settings: dict[str, str], location: str | None
    ) -> None:
        self.path = path
        self.metastore = metastore
        self.settings = settings
        with self.session() as session:
            session.sql("CREATE DATABASE d" + (f" LOCATION '{location}'" if location else ""))

    def session(self) -> Session:
        return Session(self.path, metastore=self.metastore, settings=self.settings)


def median_of_five(session: Session, sql: str) -> float:
    """The seconds of a statement that another number makes a new one each time, behind a first."""
    timed(session, sql.format(i=0))
    return statistics.median(timed(session, sql.format(i=i)) for i in range(1, 6))


def timed(session: Session, sql: str) -> float:
    """The seconds of a statement with its rows; of a quick one the median of five behind a first
    one.
    """

    def once() -> float:
        began = time.perf_counter()
        result = session.sql(sql)
        if result.columns:
            result.to_arrow()
        return time.perf_counter() - began

    first = once()
    if first > QUICK or not sql.startswith(("SELECT", "EXPLAIN", "SHOW", "DESCRIBE")):
        return first
    return statistics.median(once() for _ in range(5))


def partitions(warehouse: Warehouse, count: int) -> Figures:
    """Of a table of ``count`` partitions with a row in each, that is written to by its session."""
    found: Figures = {}
    with warehouse.session() as session:
        session.sql("USE d")
        session.sql(f"CREATE TABLE s (id INT) {ACID}")
        session.sql(f"INSERT INTO s VALUES {', '.join(f'({i})' for i in range(count))}")
        session.sql(f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (ds INT) {ACID}")
        session.sql("INSERT INTO p SELECT id, 'a', id FROM s WHERE id = 0")  # once: imports
        session.sql("DELETE FROM p WHERE ds = 0")
        found["INSERT into all partitions, new"] = timed(
            session, "INSERT INTO p SELECT id, 'a', id FROM s"
        )
        found["INSERT into all partitions, again"] = timed(
            session, "INSERT INTO p SELECT id, 'b', id FROM s"
        )
    with warehouse.session() as session:
        session.sql("USE d")
        session.sql("SELECT 1")
        found["SELECT of all rows, first"] = timed(session, "SELECT id, v, ds FROM p")
        found["SELECT of all rows, again"] = timed(session, "SELECT id, v, ds FROM p")
    with warehouse.session() as session:
        session.sql("USE d")
        for sql in (
            "EXPLAIN SELECT * FROM p",
            "EXPLAIN DELETE FROM p",
            "EXPLAIN UPDATE p SET v = 'u' WHERE ds < 50",
            "EXPLAIN DELETE FROM p WHERE ds = 7",
            "SHOW PARTITIONS p",
            "SELECT count(*) FROM p",
            "SELECT v FROM p WHERE ds = 7 AND id = 7",
        ):
            found[sql] = timed(session, sql)
        for name, sql in (
            ("INSERT into one partition", "INSERT INTO p PARTITION (ds = 7) VALUES ({i}, 'n')"),
            ("UPDATE in one partition", "UPDATE p SET v = 'u{i}' WHERE ds = 7 AND id = 7"),
            ("DELETE in one partition", "DELETE FROM p WHERE ds = 7 AND id = {i}"),
            ("INSERT into a new partition", "INSERT INTO p VALUES ({i}, 'n', 1000{i})"),
        ):
            timed(session, sql.format(i=0))
            found[name] = statistics.median(timed(session, sql.format(i=i)) for i in range(1, 6))
        session.begin()
        found["SELECT count(*) FROM p, by a snapshot"] = timed(session, "SELECT count(*) FROM p")
        session.rollback()
        found["UPDATE in all partitions"] = timed(session, "UPDATE p SET v = 'u'")
        found["DELETE of all partitions"] = timed(session, "DELETE FROM p")
    return found


TOUCHES_ONE = (
    "EXPLAIN DELETE FROM p WHERE ds = 7",
    "EXPLAIN UPDATE p SET v = 'u' WHERE ds < 50",
    "SELECT v FROM p WHERE ds = 7 AND id = 7",
    "INSERT into one partition",
    "UPDATE in one partition",
    "DELETE in one partition",
    "INSERT into a new partition",
)


def deltas(warehouse: Warehouse, count: int) -> Figures:
    """Of a table with so many deltas of a row each."""
    found: Figures = {}
    with warehouse.session() as session:
        session.sql("USE d")
        session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
        for number in range(count):
            session.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    with warehouse.session() as session:
        session.sql("USE d")
        session.sql("SELECT 1")
        began = time.perf_counter()
        session.sql("SELECT * FROM t").to_arrow()
        found["SELECT of all rows, first"] = time.perf_counter() - began
        for sql in ("SELECT * FROM t", "SELECT v FROM t WHERE id = 7", "EXPLAIN SELECT * FROM t"):
            found[sql] = timed(session, sql)
        for name, sql in (
            ("INSERT of a row", "INSERT INTO t VALUES ({i}, 'n')"),
            ("UPDATE of a row", "UPDATE t SET v = 'u{i}' WHERE id = 7"),
            ("DELETE of a row", "DELETE FROM t WHERE id = 1{i}"),
        ):
            found[name] = median_of_five(session, sql)
        found["compaction"] = timed(session, "ALTER TABLE t COMPACT 'major' AND WAIT")
    return found


def tables(warehouse: Warehouse, count: int) -> Figures:
    """Of one table, beside so many that were written to."""
    found: Figures = {}
    with warehouse.session() as session:
        session.sql("USE d")
        for number in range(count):
            session.sql(f"CREATE TABLE t{number} (id INT, v STRING) {ACID}")
            session.sql(f"INSERT INTO t{number} VALUES (1, 'a')")
    with warehouse.session() as session:
        session.sql("USE d")
        for sql in ("SELECT v FROM t5 WHERE id = 1", "EXPLAIN DELETE FROM t5", "DESCRIBE t5"):
            found[sql] = timed(session, sql)
        for name, sql in (
            ("CREATE TABLE", f"CREATE TABLE new{{i}} (id INT) {ACID}"),
            ("INSERT of a row", "INSERT INTO t5 VALUES ({i}, 'n')"),
            ("UPDATE of a row", "UPDATE t5 SET v = 'u{i}' WHERE id = 1"),
            ("DROP TABLE", "DROP TABLE t1{i}"),
        ):
            found[name] = median_of_five(session, sql)
        found["SHOW TABLES"] = timed(session, "SHOW TABLES")
    return found


def sessions(warehouse: Warehouse, count: int) -> Figures:
    """Processes that write to one table each: seconds of a commit, of all together."""
    with warehouse.session() as session:
        session.sql("USE d")
        for number in range(count):
            session.sql(f"CREATE TABLE t{number} (id INT, v STRING) {ACID}")
    running = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                MODULE,
                "--writer",
                str(warehouse.path),
                warehouse.metastore or "",
                str(number),
            ],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    rates = [float(process.communicate()[0]) for process in running]
    return {"INSERT of a row, by all sessions together": 1 / sum(rates)}


def write(path: str, metastore: str, number: str) -> None:
    """Prints how many INSERTs a second one process commits."""
    settings = {"acidsql.compactor.auto": "false"}
    with Session(path, metastore=metastore or None, settings=settings) as session:
        session.sql("USE d")
        session.sql(f"INSERT INTO t{number} VALUES (0, 'a')")
        print("ready", flush=True)
        sys.stdin.readline()
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            session.sql(f"INSERT INTO t{number} VALUES ({count}, 'a')")
            count += 1
        print(count / (time.perf_counter() - began))


def compare(
    title: str,
    sizes: tuple[int, ...],
    measure: Callable[[Warehouse, int], Figures],
    untouched: Callable[[str], bool],
    bench: Bench,
) -> list[Growth]:
    """The figures of each size beside those of the one before."""
    grown: list[Growth] = []
    before: Figures | None = None
    for position, size in enumerate(sizes):
        with bench.warehouse() as warehouse:
            found = measure(warehouse, size)
        if before is not None:
            factor = size / sizes[position - 1]
            for name, seconds in found.items():
                one = Growth(
                    name=f"{sizes[position - 1]:,} -> {size:,} {title}: {name}",
                    small=before[name],
                    large=seconds,
                    factor=1 if untouched(name) else factor,
                )
                print(one, flush=True)
                grown.append(one)
        before = found
    return grown


@contextlib.contextmanager
def s3_store() -> Iterator[str]:
    """The address of a store in memory with a bucket."""
    import boto3
    from moto.server import ThreadedMotoServer

    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket="bench")
    try:
        yield url
    finally:
        server.stop()


def main() -> int:
    if sys.argv[1:2] == ["--writer"]:
        write(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--partitions", default="100,1000,10000")
    parser.add_argument("--only", choices=["partitions", "deltas", "tables", "sessions"])
    parser.add_argument("--engine", default="local", choices=["local", "auto", "spark"])
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a goal is missed")
    args = parser.parse_args()
    sizes = tuple(int(size) for size in args.partitions.split(","))
    grown: list[Growth] = []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acidsql-growth-")))
        database = None
        if args.postgresql:
            server = stack.enter_context(postgresql_server())
            database = lambda: server.url(server.make_database())  # noqa: E731
        s3 = stack.enter_context(s3_store()) if args.s3 else None
        bench = Bench(folder, args.engine, database, s3)
        if args.only in (None, "partitions"):
            grown += compare("partitions", sizes, partitions, TOUCHES_ONE.__contains__, bench)
        if args.only in (None, "deltas"):
            same = ("EXPLAIN SELECT * FROM t", "INSERT of a row")
            grown += compare("deltas", DELTAS, deltas, same.__contains__, bench)
        if args.only in (None, "tables"):
            grown += compare("tables", TABLES, tables, "SHOW TABLES".__ne__, bench)
        if args.only in (None, "sessions"):
            grown += compare("sessions", SESSIONS, sessions, lambda _: True, bench)
    return 1 if args.check and any(one.ratio > one.goal for one in grown) else 0


if __name__ == "__main__":
    sys.exit(main())
