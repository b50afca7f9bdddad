"""Prints one table: acidsql against plain Spark ORC, and the small statements in milliseconds.

    python -m tests.bench [--rows 1000000] [--rounds 5] [--partitions 10000] [--only small|storage]
    [--metastore URL] [--no-spark] [--check]

The two sides of a ratio take turns, the first round is thrown away (a cold JVM), the rest give a
median. Only ratios of one run mean anything. ``--check`` ends with exit code 1 when a measure
misses its goal.
"""

from __future__ import annotations

import argparse
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from pyarrow import parquet
from pyspark.sql import SparkSession

from acidsql.parser.grammar import load as load_grammar
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.plan.plans import plan
from acidsql.planner.bind import Surroundings, bind
from acidsql.session import Session
from acidsql.spark.start.session import start
from tests.bench.measures import (
    ACID,
    COLUMNS,
    SUMS,
    VALUES,
    Measure,
    in_turn,
    median_of,
    ratio,
    seconds_of,
    source_rows,
)
from tests.bench.scripts import measure_scripts
from tests.bench.storage import measure_storage
from tests.bench.transactions import measure_transactions

UPDATE = "UPDATE t SET price = price + 1, cmt = concat(flag, '-', mode) WHERE k % 100 = 7 AND ship > DATE '1995-01-01'"
MERGE = "\n".join(
    [
        "MERGE INTO t USING s ON t.k = s.k",
        *(
            f"WHEN MATCHED AND s.flag = '{c}' THEN UPDATE SET price = t.price + s.price, cmt = concat(s.mode, '-{c}')"
            for c in "ABC"
        ),
        "WHEN MATCHED AND s.flag = 'D' AND s.qty > 10 THEN DELETE",
        "WHEN MATCHED AND s.flag = 'E' THEN DELETE",
        *(
            f"WHEN NOT MATCHED AND s.flag = '{c}' THEN INSERT (k, qty, flag) VALUES (s.k, s.qty + 1, '{c}')"
            for c in "AB"
        ),
        "WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.qty, s.price, s.disc, s.ship, s.flag, s.mode, s.cmt)",
        "WHEN NOT MATCHED BY SOURCE AND t.qty < 0 THEN DELETE",
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET cmt = 'gone'",
    ]
)
SCRIPT_STATEMENTS = 10_000
SCRIPT_LINES = (
    "INSERT INTO t{i} VALUES ({i}, 'a;b', NULL), (f({i}), CASE WHEN x THEN 1 END, DATE '2024-01-01'); -- one\n",
    "UPDATE t{i} SET price = price + 1, cmt = concat(flag, '-', mode) WHERE k % 100 = 7 AND ship > DATE '1995-01-01';\n",
    "DELETE FROM t{i} WHERE k IN (SELECT k FROM s WHERE n = {i});\n",
    "MERGE INTO t{i} AS t USING (SELECT * FROM s WHERE n > {i}) AS s ON t.k = s.k WHEN MATCHED AND s.d THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = s.v, n = t.n + 1 WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, {i});\n",
    "SELECT a.k, count(*) AS c FROM t{i} a JOIN s ON a.k = s.k WHERE a.v RLIKE 'x;y' GROUP BY a.k ORDER BY c DESC LIMIT 10;\n",
    "ALTER TABLE t{i} PARTITION (ds = '2024-01-01', hr = {i}) COMPACT 'minor' AND WAIT;\n",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--partitions",
        type=int,
        default=10_000,
        help="of the table that is only listed and planned",
    )
    parser.add_argument(
        "--only", choices=["small", "storage"], help="a part of the figures that need Spark"
    )
    parser.add_argument(
        "--metastore",
        metavar="URL",
        help="an empty PostgreSQL database, whose transactions are measured too",
    )
    parser.add_argument("--no-spark", action="store_true", help="only what needs no Java")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acidsql-bench-") as folder:
        measures = []
        if args.only is None:
            measures = [
                *measure_planning(Path(folder), args.rounds),
                *measure_parser(args.rounds),
                measure_process(Path(folder), args.rounds),
                measure_scripts(Path(folder), args.rounds),
                *measure_transactions(Path(folder), args.metastore),
            ]
        if not args.no_spark:
            measures += measure_session(Path(folder), args)
    print(f"{'measure':<68}{'found':>10}{'goal':>10}")
    for m in measures:
        print(
            f"{m.name:<68}{m.found:>8.2f} {m.unit:<2}{m.goal:>7g} {m.unit:<2} {'ok' if m.found <= m.goal else 'MISSED':<7} {m.detail}"
        )
    return 1 if args.check and any(m.found > m.goal for m in measures) else 0


def measure_planning(folder: Path, rounds: int) -> list[Measure]:
    """From a statement's text to its plan; the first, while the process is small."""
    with Session(folder / "planning") as session:
        session.sql(f"CREATE TABLE t ({COLUMNS}) {ACID}")
        session.sql(f"CREATE TABLE s ({COLUMNS}) STORED AS ORC")
        around = Surroundings(
            catalog=session.store, database=session.database, settings=session.settings
        )
        update = 1000 * median_of(
            20 * rounds, lambda: plan(bind(parse(UPDATE), UPDATE, around), session.settings)
        )
        merge = 1000 * median_of(
            20 * rounds, lambda: plan(bind(parse(MERGE), MERGE, around), session.settings)
        )
        long = measure_long_statements(around, rounds)
    return [
        Measure(name="parse + bind + plan of one UPDATE", found=update, unit="ms", goal=5),
        Measure(
            name="parse + bind + plan of a MERGE of 10 clauses", found=merge, unit="ms", goal=5
        ),
        *long,
    ]


TERMS = 1000
LONG = {
    "SELECT .. WHERE k = 0 OR ..": ("SELECT * FROM t WHERE {}", "k = {i}", " OR "),
    "DELETE .. WHERE (k = 0 AND qty = 0) OR ..": (
        "DELETE FROM t WHERE {}",
        "(k = {i} AND qty = {i})",
        " OR ",
    ),
    "UPDATE .. WHERE k <> 0 AND ..": ("UPDATE t SET qty = 1 WHERE {}", "k <> {i}", " AND "),
    "MERGE .. ON .. AND (k = 0 OR ..)": (
        "MERGE INTO t USING s ON t.k = s.k AND ({}) WHEN MATCHED THEN DELETE",
        "t.k = {i}",
        " OR ",
    ),
    "INSERT .. VALUES (0 + 1, ..), ..": (
        "INSERT INTO t (k, qty) VALUES {}",
        "({i} + 1, abs({i}))",
        ", ",
    ),
}


def measure_long_statements(around: Surroundings, rounds: int) -> list[Measure]:
    """How the time to plan a statement grows with the number of its terms."""

    def seconds(terms: int, text: str, form: str, joint: str) -> float:
        sql = text.format(joint.join(form.format(i=i) for i in range(terms)))
        return median_of(rounds, lambda: plan(bind(parse(sql), sql, around), around.settings))

    measures = []
    for name, words in LONG.items():
        few, many = seconds(TERMS, *words), seconds(10 * TERMS, *words)
        measures.append(
            Measure(
                name=f"{name}: {10 * TERMS:,} terms / {TERMS:,}",
                found=many / few,
                unit="x",
                goal=20,
                detail=f"{many:.2f} s / {few:.2f} s",
            )
        )
    return measures


def measure_parser(rounds: int) -> list[Measure]:
    """What every command waits for first, and a long script of all kinds of statements."""
    script = "".join(
        SCRIPT_LINES[i % len(SCRIPT_LINES)].format(i=i) for i in range(SCRIPT_STATEMENTS)
    )
    assert len(split(script)) == SCRIPT_STATEMENTS
    load = median_of(rounds, load_grammar.__wrapped__)
    seconds = median_of(rounds, lambda: [parse(statement.text) for statement in split(script)])
    speed = f"{SCRIPT_STATEMENTS / seconds:,.0f} statements a second"
    return [
        Measure(name="the grammar's table, loaded", found=1000 * load, unit="ms", goal=40),
        Measure(
            name=f"split + parse of a script of {SCRIPT_STATEMENTS:,} statements",
            found=seconds,
            unit="s",
            goal=10,
            detail=speed,
        ),
    ]


def measure_process(folder: Path, rounds: int) -> Measure:
    """A three-word command as a whole process, with a ``java`` that would tell on whoever starts
    it.
    """
    trap = folder / "trap"
    told = folder / "java-was-started"
    (trap / "bin").mkdir(parents=True)
    java = trap / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho started >> '{told}'\nexit 1\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    environment = {
        **os.environ,
        "JAVA_HOME": str(trap),
        "PATH": f"{trap / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }

    def command(sql: str) -> None:
        call = [sys.executable, "-m", "acidsql", "--warehouse", str(folder / "process"), "-e", sql]
        subprocess.run(call, env=environment, check=True, capture_output=True)

    command(f"CREATE TABLE t (a INT) {ACID}")
    seconds = median_of(rounds, lambda: command("INSERT INTO t VALUES (1)"))
    assert len(list((folder / "process" / "t").glob("delta_*"))) == rounds + 1
    return Measure(
        name="acidsql -e 'INSERT INTO t VALUES (1)', whole process",
        found=seconds,
        unit="s",
        goal=2 if not told.exists() else 0,
        detail="a JVM was started" if told.exists() else "no JVM started",
    )


def measure_session(folder: Path, args: argparse.Namespace) -> list[Measure]:
    """Everything that runs in one warm session, on one Spark."""
    source, rows, rounds = folder / "source.parquet", args.rows, args.rounds
    parquet.write_table(source_rows(rows), source, row_group_size=max(1, rows // 8))
    measures: list[Measure] = []
    spark = start("local[2]", {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "3g"})
    with Session(folder / "session", spark=spark) as session:
        sides = Sides(session, spark, source, folder / "plain")
        if args.only != "storage":
            measures += [
                measure_load(sides, rows, rounds),
                measure_scan(sides, rounds),
                *measure_small(session, rounds),
            ]
        if args.only != "small":
            measures += measure_storage(session, spark, source, folder / "storage", args)
    spark.stop()
    return measures


class Sides:
    """The same work done by acidsql and by plain Spark; each method returns its seconds."""

    def __init__(self, session: Session, spark: SparkSession, source: Path, plain: Path) -> None:
        self.session = session
        self.spark = spark
        self.source = source
        self.plain = str(plain)
        self.tables = 0

    def insert_new(self) -> float:
        """INSERT .. SELECT into a new table, which is dropped afterwards; only the
        INSERT counts.
        """
        self.tables += 1
        name = f"t{self.tables}"
        seconds = self.insert(name)
        self.session.sql(f"DROP TABLE {name}")
        return seconds

    def insert(self, name: str) -> float:
        self.session.sql(f"CREATE TABLE {name} ({COLUMNS}) {ACID}")
        return seconds_of(
            lambda: self.session.sql(f"INSERT INTO {name} SELECT * FROM parquet.`{self.source}`")
        )

    def write_plain(self) -> float:
        frame = self.spark.read.parquet(str(self.source))
        return seconds_of(
            lambda: frame.write.option("compression", "zlib").mode("overwrite").orc(self.plain)
        )

    def scan_table(self) -> float:
        return seconds_of(lambda: self.session.sql(f"{SUMS} t").to_arrow())

    def scan_plain(self) -> float:
        self.spark.read.orc(self.plain).createOrReplaceTempView("plain")
        return seconds_of(lambda: self.spark.sql(f"{SUMS} plain").toArrow())


def measure_load(sides: Sides, rows: int, rounds: int) -> Measure:
    ours, theirs = in_turn(rounds, sides.insert_new, sides.write_plain)
    return ratio(f"INSERT .. SELECT of {rows:,} rows / write.orc", ours, theirs, goal=1.2)


def measure_scan(sides: Sides, rounds: int) -> Measure:
    sides.insert("t")
    sides.write_plain()
    ours, theirs = in_turn(rounds + 2, sides.scan_table, sides.scan_plain)
    return ratio("full scan of a fresh ACID table / plain ORC", ours, theirs, goal=1.4)


def measure_small(session: Session, rounds: int) -> list[Measure]:
    session.sql(f"CREATE TABLE small ({COLUMNS}) {ACID}")
    values = 1000 * median_of(5 * rounds, lambda: session.sql(f"INSERT INTO small VALUES {VALUES}"))
    return [
        Measure(name="INSERT VALUES of 3 rows, warm, committed", found=values, unit="ms", goal=50),
    ]


if __name__ == "__main__":
    sys.exit(main())
