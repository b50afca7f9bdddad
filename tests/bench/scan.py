"""Scans on the driver against pyarrow's bare read of the same files, in turns.

    python -m tests.bench.scan [--rows 1000000] [--rounds 9] [--warehouse DIRECTORY]

Prints, for each codec, a full scan, one of three columns and one of a point, before and after 1 % of
the rows were deleted: the least of the rounds, and the ratio to the least of the bare read. A
``--warehouse`` that has the tables already needs no Spark.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pyarrow import orc

from acidsql.session import Session
from tests.bench.measures import ACID, COLUMNS, seconds_of

SOURCE = (
    "SELECT id, CAST(id % 50 AS INT), CAST(id AS DECIMAL(15,2)) / 7, id / 100,"
    " date_add(DATE '1992-01-01', CAST(id % 2500 AS INT)), substr('ABCDEF', 1 + id % 6, 1),"
    " concat('mode ', id % 7), concat('comment number ', id * 7919 % 1000003) FROM range({})"
)
CODECS = ("zlib", "lz4")
FEW = ("k", "qty", "price")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warehouse", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acidsql-scan-") as folder:
        warehouse = args.warehouse or Path(folder)
        for codec in CODECS:
            for dead in (False, True):
                table = f"t_{codec}_{'dead' if dead else 'live'}"
                make(warehouse, table, codec, args.rows, dead=dead)
                measure(warehouse, table, args.rows, args.rounds)


def make(warehouse: Path, table: str, codec: str, rows: int, *, dead: bool) -> None:
    if (warehouse / table).exists():
        return
    with Session(warehouse, settings={"hive.exec.orc.default.compress": codec}) as session:
        session.sql(f"CREATE TABLE {table} ({COLUMNS}) {ACID}")
        session.sql(f"INSERT INTO {table} {SOURCE.format(rows)}")
        if dead:
            session.sql(f"DELETE FROM {table} WHERE k % 100 = 7")


def measure(warehouse: Path, table: str, rows: int, rounds: int) -> None:
    files = sorted(map(str, (warehouse / table).glob("delta_*/bucket_*")))
    all_names = [column.split()[0] for column in COLUMNS.split(", ")]
    with Session(warehouse) as session:
        scans: dict[str, tuple[Callable[[], object], Sequence[str]]] = {
            "all columns": (lambda: drained(session, table), all_names),
            "three columns": (lambda: drained(session, table, FEW), FEW),
            "a point": (lambda: drained(session, table, filter=f"k = {rows // 2}"), all_names),
        }
        for name, (scan, columns) in scans.items():
            ours, bare = least_in_turn(rounds, scan, lambda of=columns: bare_read(files, of))
            print(
                f"{table:<14}{name:<16}{1000 * ours:>8.1f} ms  bare {1000 * bare:>8.1f} ms "
                f" {ours / bare:>6.2f} x",
                flush=True,
            )


def drained(session: Session, table: str, columns: object = None, filter: object = None) -> int:
    return sum(len(batch) for batch in session.scan(table, columns, filter))


def bare_read(files: Sequence[str], columns: Sequence[str]) -> int:
    names = [f"row.{name}" for name in columns]
    return sum(orc.ORCFile(file).read(columns=names).num_rows for file in files)


def least_in_turn(
    rounds: int, ours: Callable[[], object], theirs: Callable[[], object]
) -> tuple[float, float]:
    pairs = [(seconds_of(ours), seconds_of(theirs)) for _ in range(rounds)]
    return min(one for one, _ in pairs), min(other for _, other in pairs)


if __name__ == "__main__":
    main()
