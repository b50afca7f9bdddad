"""Loads on the driver, beside pyarrow's own ORC writer and deltalake, all in turn in one run.

    python -m tests.bench.loads [--rows 1000000] [--rounds 5] [--auto]

A million rows of four columns, as a table of Arrow's and as a Parquet file, go into new tables of
ZLIB and of LZ4. ``pyarrow`` writes the same columns with the same options, without events, and not
synced; ``deltalake`` writes its Parquet, if it is installed. The least processor time and the least
wall time of the rounds, and their ratios to pyarrow's.
"""

from __future__ import annotations

import argparse
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
from acidsql.storage.write.driver_writer import COMPRESSION_BLOCK, DICTIONARY_SHARE
from acidsql.storage.write.target import DEFAULT_STRIPE_SIZE

COLUMNS = "id BIGINT, name STRING, amount DECIMAL(10,2), day DATE"
CODECS = (OrcCodec.ZLIB, OrcCodec.LZ4)

Seconds = tuple[float, float]
"""Of the processors, of the clock."""


def rows_of_four_columns(count: int) -> pa.Table:
    """Ascending ids, names that differ mostly, amounts of all sizes, days of seven years."""
    random = np.random.default_rng(11)
    return pa.table(
        {
            "id": np.arange(count, dtype=np.int64),
            "name": pa.array([f"name {n}" for n in random.integers(0, 1 << 31, count)]),
            "amount": pa.array((random.random(count) * 100_000).round(2)).cast(
                pa.decimal128(10, 2)
            ),
            "day": pa.array(random.integers(8035, 10535, count).astype(np.int32)).cast(pa.date32()),
        }
    )


def seconds_of(action: Callable[[], object]) -> Seconds:
    used, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    action()
    taken, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime, taken


class Sides:
    """What takes turns. Each writes to a place of its own and takes it away behind the clock."""

    def __init__(self, session: Session, folder: Path, rows: pa.Table) -> None:
        self.session, self.folder, self.rows = session, folder, rows
        self.file = folder / "rows.parquet"
        parquet.write_table(rows, self.file)

    def into_new_table(self, codec: OrcCodec, load: Callable[[], object]) -> Seconds:
        properties = f"'transactional'='true', 'orc.compress'='{codec.name}'"
        self.session.sql(f"CREATE TABLE t ({COLUMNS}) STORED AS ORC TBLPROPERTIES ({properties})")
        seconds = seconds_of(load)
        [counted] = self.session.sql("SELECT count(*), sum(id) FROM t").to_arrow().to_pylist()
        count = self.rows.num_rows
        assert tuple(counted.values()) == (count, count * (count - 1) // 2)
        self.session.sql("DROP TABLE t")
        return seconds

    def frame(self, codec: OrcCodec) -> Seconds:
        return self.into_new_table(codec, lambda: self.session.table("t").append(self.rows))

    def files(self, codec: OrcCodec) -> Seconds:
        text = f"INSERT INTO t SELECT * FROM parquet.`{self.file}`"
        return self.into_new_table(codec, lambda: self.session.sql(text))

    def pyarrow(self, codec: OrcCodec, **options: Any) -> Seconds:
        path = str(self.folder / "pyarrow.orc")
        kind = codec.name.lower()
        return seconds_of(
            lambda: orc.write_table(
                self.rows, path, compression=kind, stripe_size=DEFAULT_STRIPE_SIZE, **options
            )
        )

    def alike(self, codec: OrcCodec) -> Seconds:
        return self.pyarrow(
            codec,
            compression_block_size=COMPRESSION_BLOCK,
            dictionary_key_size_threshold=DICTIONARY_SHARE,
        )

    def deltalake(self, _: OrcCodec) -> Seconds:
        from deltalake import write_deltalake

        path = self.folder / "delta"
        seconds = seconds_of(lambda: write_deltalake(str(path), self.rows))
        shutil.rmtree(path)
        return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", default="local")
    args = parser.parse_args()
    rows = rows_of_four_columns(args.rows)
    with tempfile.TemporaryDirectory(prefix="acidsql-loads-") as folder:
        with Session(Path(folder) / "w", settings={"acidsql.engine": args.engine}) as session:
            sides = Sides(session, Path(folder), rows)
            names = ["pyarrow", "alike", "frame", "files"]
            if importlib.util.find_spec("deltalake") is not None:
                names.append("deltalake")
            print(f"{args.rows:,} rows, {os.cpu_count()} processors, engine {args.engine}")
            for codec in CODECS:
                measure(sides, names, codec, args.rounds)


def measure(sides: Sides, names: list[str], codec: OrcCodec, rounds: int) -> None:
    found: dict[str, list[Seconds]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        begin = turn % len(names)
        for name in (*names[begin:], *names[:begin]):
            seconds = getattr(sides, name)(codec)
            if turn:
                found[name].append(seconds)
    least = {n: (min(c for c, _ in all), min(w for _, w in all)) for n, all in found.items()}
    cpu, wall = least["pyarrow"]
    for name, (own_cpu, own_wall) in least.items():
        print(
            f"{codec.name:<6}{name:<11}{own_cpu:>7.2f} s CPU {own_cpu / cpu:>6.2f} x"
            f"{own_wall:>8.2f} s wall {own_wall / wall:>6.2f} x",
            flush=True,
        )


if __name__ == "__main__":
    main()
