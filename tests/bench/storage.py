"""Partitions, many small files, deleted rows: what a table costs that has been written to for a
while.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from acidsql.acid.ids import WriteId
from acidsql.catalog.model import Partition, TableName
from acidsql.session import Session
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
)

SMALL_INSERTS, SMALL_DELETES = 1000, 100
FILES_OF_A_PARTITION = 10
LINKS = 50_000
"""So many names one file may have; ext4 takes 65,000."""


def measure_storage(
    session: Session, spark: SparkSession, source: Path, folder: Path, args: argparse.Namespace
) -> list[Measure]:
    bench = Storage(session, spark, source, folder)
    return [
        bench.dynamic_insert(args.rows, args.rounds),
        bench.scan_after_updates(args.rounds),
        *bench.scans_with_deleted_rows(args.rounds),
        *bench.many_small_statements(),
        *bench.many_partitions(args.partitions),
    ]


class Storage:
    """One session's tables; each method makes those it needs."""

    def __init__(self, session: Session, spark: SparkSession, source: Path, folder: Path) -> None:
        self.session = session
        self.spark = spark
        self.source = f"parquet.`{source}`"
        self.folder = folder
        self.tables = 0

    def sql(self, text: str) -> Callable[[], object]:
        return lambda: self.session.sql(text).to_arrow()

    def loaded(self, name: str) -> None:
        self.session.sql(f"CREATE TABLE {name} ({COLUMNS}) {ACID}")
        self.session.sql(f"INSERT INTO {name} SELECT * FROM {self.source}")

    def dynamic_insert(self, rows: int, rounds: int) -> Measure:
        """Into 100 new partitions, against Spark's own partitionBy."""

        def ours() -> float:
            self.tables += 1
            name = f"dynamic{self.tables}"
            self.session.sql(f"CREATE TABLE {name} ({COLUMNS}) PARTITIONED BY (p INT) {ACID}")
            taken = seconds_of(
                lambda: self.session.sql(
                    f"INSERT INTO {name} SELECT *, CAST(k % 100 AS INT) FROM {self.source}"
                )
            )
            self.session.sql(f"DROP TABLE {name}")
            return taken

        def theirs() -> float:
            frame = self.spark.sql(f"SELECT *, CAST(k % 100 AS INT) AS p FROM {self.source}")
            writer = frame.write.partitionBy("p").option("compression", "zlib").mode("overwrite")
            return seconds_of(lambda: writer.orc(f"{self.folder}/dynamic"))

        return ratio(
            f"INSERT of {rows:,} rows into 100 partitions / partitionBy",
            *in_turn(rounds, ours, theirs),
            goal=1.6,
        )

    def scan_after_updates(self, rounds: int) -> Measure:
        """Ten updates of one row in a hundred each."""
        self.loaded("fresh")
        self.loaded("updated")
        for number in range(10):
            self.session.sql(f"UPDATE updated SET price = price + 1 WHERE k % 100 = {number}")
        ours, fresh = self.sql(f"{SUMS} updated"), self.sql(f"{SUMS} fresh")
        return ratio(
            "scan after ten updates of 1 % / a fresh table's",
            *in_turn(rounds, lambda: seconds_of(ours), lambda: seconds_of(fresh)),
            goal=1.3,
        )

    def scans_with_deleted_rows(self, rounds: int) -> Iterator[Measure]:
        """Two ways to apply delete events, and counts, for which nothing but ids need be read."""
        plain = f"{self.folder}/plain"
        self.spark.sql(f"SELECT * FROM {self.source}").write.option("compression", "zlib").mode(
            "overwrite"
        ).orc(plain)
        self.spark.read.orc(plain).createOrReplaceTempView("plain_rows")

        def count_plain() -> float:
            return seconds_of(lambda: self.spark.sql("SELECT count(*) FROM plain_rows").toArrow())

        def scan(deletes: str) -> Callable[[], float]:
            def run() -> float:
                self.session.sql(f"SET acidsql.read.deletes={deletes}")
                return seconds_of(self.sql(f"{SUMS} fresh"))

            return run

        def count() -> float:
            return seconds_of(self.sql("SELECT count(*) FROM fresh"))

        def counts(rows: str) -> Measure:
            """As it is answered by default, by the statistics; beside it what footers and delete
            events take the first time, and a scan.
            """
            found = ratio(
                f"count(*) {rows}/ plain ORC", *in_turn(2 * rounds, count, count_plain), goal=1.5
            )
            with Session(self.session.warehouse, spark=self.spark) as other:
                other.begin()  # statistics do not tell of a transaction
                of_footers = seconds_of(lambda: other.sql("SELECT count(*) FROM fresh").to_arrow())
            self.session.sql("SET hive.compute.query.using.stats=false")
            by_scan = median_of(rounds, count)
            self.session.sql("SET hive.compute.query.using.stats=true")
            return replace(
                found,
                detail=f"{found.detail}; by footers {of_footers:.2f} s, by a scan {by_scan:.2f} s",
            )

        yield counts("")
        for percent, condition in ((10, "k % 10 = 0"), (50, "k % 10 IN (1, 2, 3, 4)")):
            self.session.sql(f"DELETE FROM fresh WHERE {condition}")
            yield ratio(
                f"scan with {percent} % deleted, key set / join",
                *in_turn(rounds, scan("filter"), scan("join")),
                goal=1.0,
            )
            self.session.sql("SET acidsql.read.deletes=auto")
            yield counts(f"with {percent} % deleted ")

    def many_small_statements(self) -> Iterator[Measure]:
        """And one scan of what they leave, in a session that has seen none of the files."""
        self.session.sql(f"CREATE TABLE many ({COLUMNS}) {ACID}")
        inserts = seconds_of(
            lambda: [
                self.session.sql(f"INSERT INTO many VALUES {VALUES}") for _ in range(SMALL_INSERTS)
            ]
        )
        deletes = [
            f"DELETE FROM many WHERE k = -1 AND ROW__ID.writeid = {number + 1}"
            for number in range(SMALL_DELETES)
        ]
        deleting = seconds_of(lambda: [self.session.sql(text) for text in deletes])
        with Session(self.session.warehouse, spark=self.spark) as other:
            first = seconds_of(lambda: other.sql(f"{SUMS} many").to_arrow())
        again = median_of(3, self.sql(f"{SUMS} many"))
        detail = f"again {again:.2f} s; an INSERT {1000 * inserts / SMALL_INSERTS:.0f} ms, a DELETE {1000 * deleting / SMALL_DELETES:.0f} ms"
        yield Measure(
            name="scan after 1,000 INSERTs of 3 rows and 100 DELETEs",
            found=first,
            unit="s",
            goal=5,
            detail=detail,
        )

    def many_partitions(self, count: int) -> Iterator[Measure]:
        """Listing and planning, without a task that reads rows: of all partitions, with few and
        with many files, and of one.
        """
        for each in (1, FILES_OF_A_PARTITION):
            table = f"partitions_of_{each}"
            made = seconds_of(partial(self.make_partitions, table, count, each))
            name = f"planning over {count * each:,} files of {count:,} partitions"
            yield Measure(
                name=name,
                found=self.planned(f"{table} WHERE id > 0"),
                unit="s",
                goal=5,
                detail=f"made in {made:.0f} s",
            )
        found = self.planned(f"{table} WHERE p = {count // 2}")
        yield Measure(
            name=f"planning over one of {count:,} partitions", found=found, unit="s", goal=1
        )

    def planned(self, rows: str) -> float:
        """How long it takes in a session that has seen none of the files."""
        with Session(self.session.warehouse, spark=self.spark) as other:
            return seconds_of(lambda: other.sql(f"SELECT * FROM {rows}").df.schema)

    def make_partitions(self, table_name: str, count: int, files: int) -> None:
        """Directly: one small file under all names."""
        session, name = self.session, TableName("default", table_name)
        session.sql(f"CREATE TABLE {table_name} (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
        session.sql(
            "CREATE TABLE IF NOT EXISTS one (id INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        session.sql("INSERT INTO one VALUES (1, 'a'), (2, 'b')")
        written = next((Path(session.warehouse) / "one").rglob("bucket_*")).read_bytes()
        table = session.store.find_table(name)
        assert table is not None
        partitions = [
            Partition(values=(str(p),), location=f"{table.location}/p={p}") for p in range(count)
        ]
        self.folder.mkdir(exist_ok=True)
        for place, partition in enumerate(partitions):
            delta = Path(partition.location) / "delta_0000001_0000001_0000"
            delta.mkdir(parents=True)
            for number in range(files):
                file = self.folder / f"{table_name}_{(place * files + number) // LINKS}"
                if not file.exists():
                    file.write_bytes(written)
                os.link(file, delta / f"bucket_{number:05d}")
        session.store.add_partitions(name, partitions)
        session.store.seed_write_id(name, WriteId(1))
