"""Loads on the driver beside pyarrow's own ORC writer and deltalake, all in turn in one run.

    python -m tests.bench.loads [--rows 1000000] [--rounds 5] [--engine local]

A million rows of four columns, as a table of Arrow's and as a Parquet file, go into new tables of
ZLIB and of LZ4, which are committed. pyarrow writes the same columns with the same codec and size
of stripes, without events, and waits for no disk; deltalake writes its Parquet, if it is installed.
Printed are the least seconds of the processors and of the clock of the rounds, behind one that is
thrown away, and their ratios to pyarrow's. Where others use the machine, look at the processors'.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import orc, parquet

from acidsql.acid.orc_tail import OrcCodec
from acidsql.session import Session
from acidsql.storage.write.target import DEFAULT_STRIPE_SIZE

COLUMNS = "id BIGINT, name STRING, amount DECIMAL(10,2), day DATE"
CODECS = (OrcCodec.ZLIB, OrcCodec.LZ4)

Seconds = tuple[float, float]
"""Of the processors, of the clock."""


def rows_of_four_columns(count: int) -> pa.Table:
    """Ascending ids, names that differ mostly, amounts of all sizes, days of seven years."""
    random = np.random.default_rng(11)
    amounts = (random.random(count) * 100_000).round(2)
    days = random.integers(8035, 10535, count).astype(np.int32)
    return pa.table(
        {
            "id": np.arange(count, dtype=np.int64),
            "name": pa.array([f"name {n}" for n in random.integers(0, 1 << 31, count)]),
            "amount": pa.array(amounts).cast(pa.decimal128(10, 2)),
            "day": pa.array(days).cast(pa.date32()),
        }
    )


def seconds_of(action: Callable[[], object]) -> Seconds:
    """Java's processors do not count: no child of this process is waited for."""
    used, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    action()
    taken, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime, taken


class Sides:
    """What takes turns. Each writes to a place of its own, and takes it away behind the clock."""

    def __init__(self, session: Session, folder: Path, rows: pa.Table) -> None:
        self.session, self.folder, self.rows = session, folder, rows
        self.file = folder / "rows.parquet"
        parquet.write_table(rows, self.file)

    def into_new_table(self, codec: OrcCodec, load: Callable[[], object]) -> Seconds:
        properties = f"'transactional'='true', 'orc.compress'='{codec.name}'"
        self.session.sql(f"CREATE TABLE t ({COLUMNS}) STORED AS ORC TBLPROPERTIES ({properties})")
        seconds = seconds_of(load)
        [(count, total)] = self.session.sql("SELECT count(*), sum(id) FROM t").rows()
        rows = self.rows.num_rows
        assert (count, total) == (rows, rows * (rows - 1) // 2)
        self.session.sql("DROP TABLE t")
        return seconds

    def append(self, codec: OrcCodec) -> Seconds:
        return self.into_new_table(codec, lambda: self.session.table("t").append(self.rows))

    def insert(self, codec: OrcCodec) -> Seconds:
        text = f"INSERT INTO t SELECT * FROM parquet.`{self.file}`"
        return self.into_new_table(codec, lambda: self.session.sql(text))

    def pyarrow(self, codec: OrcCodec) -> Seconds:
        return seconds_of(lambda: self._write(codec, self.rows))

    def pyarrow_of_file(self, codec: OrcCodec) -> Seconds:
        return seconds_of(lambda: self._write(codec, parquet.read_table(self.file)))

    def _write(self, codec: OrcCodec, rows: pa.Table) -> None:
        orc.write_table(
            rows,
            str(self.folder / "pyarrow.orc"),
            compression=codec.name.lower(),
            stripe_size=DEFAULT_STRIPE_SIZE,
        )

    def deltalake(self, _: OrcCodec) -> Seconds:
        write: Any = importlib.import_module("deltalake").write_deltalake
        path = self.folder / "delta"
        seconds = seconds_of(lambda: write(str(path), self.rows))
        shutil.rmtree(path)
        return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", default="local", choices=["local", "auto"])
    args = parser.parse_args()
    names = ["pyarrow", "append", "pyarrow_of_file", "insert"]
    if importlib.util.find_spec("deltalake") is not None:
        names.append("deltalake")
    settings = {"acidsql.engine": args.engine}
    with (
        tempfile.TemporaryDirectory(prefix="acidsql-loads-") as folder,
        Session(Path(folder) / "w", settings=settings) as session,
    ):
        sides = Sides(session, Path(folder), rows_of_four_columns(args.rows))
        load = os.getloadavg()[0]
        print(f"{args.rows:,} rows, {os.cpu_count()} processors, {load:.1f} at work before")
        for codec in CODECS:
            measure(sides, names, codec, args.rounds)
        print(f"Spark was {'started' if session.spark_started else 'not started'}")


def measure(sides: Sides, names: list[str], codec: OrcCodec, rounds: int) -> None:
    found: dict[str, list[Seconds]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        begin = turn % len(names)
        for name in (*names[begin:], *names[:begin]):
            seconds = getattr(sides, name)(codec)
            if turn:
                found[name].append(seconds)
    least = {name: tuple(map(min, zip(*every, strict=True))) for name, every in found.items()}
    for name, (processors, clock) in least.items():
        bare = least["pyarrow_of_file" if name == "insert" else "pyarrow"]
        print(
            f"{codec.name:<6}{name:<17}{processors:>6.2f} s of processors{processors / bare[0]:>6.2f} x"
            f"{clock:>8.2f} s{clock / bare[1]:>6.2f} x",
            flush=True,
        )


if __name__ == "__main__":
    main()
