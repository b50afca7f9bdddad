"""What statements of one row ask of their metastore: a Hive metastore beside the embedded one.

    python -m tests.bench.hms --metastore thrift://host:9083 [--rounds 20]

Of each statement the calls (of the embedded store: its SQL transactions), the milliseconds from the
sending of each to its answer, and those of the whole statement; medians of the rounds. They are
figures of one run on one machine. A database is made for it, and dropped behind it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from acidsql.metastore.hive.calls.reading import Method
from acidsql.metastore.hive.client import Client
from acidsql.metastore.store import Store
from acidsql.session import Session

SETTINGS = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
STATEMENTS = {
    "INSERT VALUES": "INSERT INTO t VALUES (0, 'new')",
    "UPDATE": "UPDATE t SET name = concat(name, '!') WHERE id = 1",
    "DELETE of nothing": "DELETE FROM t WHERE id = -1",
    "SELECT": "SELECT * FROM t WHERE id = 1",
}


@dataclass(slots=True)
class Meter:
    """What was asked since it was emptied last."""

    names: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def empty(self) -> None:
        self.names, self.seconds = [], 0.0

    @contextmanager
    def asking(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.names.append(name)
            self.seconds += time.perf_counter() - began


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    calls: float
    milliseconds: float
    whole: float
    names: tuple[str, ...]


def meter_everything(meter: Meter) -> None:
    """Has every store of this process tell the meter what it is asked."""
    call, read, write = Client.call, Store.read, Store.write

    def called(self: Client, method: Method, **arguments: Any) -> Any:
        with meter.asking(method.name):
            return call(self, method, **arguments)

    @contextmanager
    def reading(self: Store) -> Iterator[Any]:
        with meter.asking("read"), read(self) as connection:
            yield connection

    @contextmanager
    def writing(self: Store, *, durable: bool = True) -> Iterator[Any]:
        with meter.asking("write"), write(self, durable=durable) as connection:
            yield connection

    Client.call = called  # type: ignore[method-assign]
    Store.read, Store.write = reading, writing  # type: ignore[method-assign]


def measured(session: Session, meter: Meter, rounds: int) -> dict[str, Figures]:
    """The figures of each statement; the first round is thrown away."""
    session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    figures = {}
    for name, statement in STATEMENTS.items():
        rows = []
        for _ in range(rounds + 1):
            meter.empty()
            began = time.perf_counter()
            result = session.sql(statement)
            if result.columns:
                list(result.rows())
            rows.append((len(meter.names), meter.seconds, time.perf_counter() - began))
        calls, asked, whole = (statistics.median(column) for column in zip(*rows[1:], strict=True))
        figures[name] = Figures(
            calls=calls, milliseconds=asked * 1000, whole=whole * 1000, names=tuple(meter.names)
        )
    session.sql("DROP TABLE t")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hms")
    parser.add_argument("--metastore", required=True, metavar="thrift://HOST:PORT")
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    meter = Meter()
    meter_everything(meter)
    with tempfile.TemporaryDirectory() as folder, Session(folder, settings=SETTINGS) as session:
        embedded = measured(session, meter, args.rounds)
    with Session(metastore=args.metastore, settings=SETTINGS) as session:
        database = f"acidsql_bench_{os.getpid()}"
        session.sql(f"CREATE DATABASE {database}")
        session.sql(f"USE {database}")
        try:
            hive = measured(session, meter, args.rounds)
        finally:
            session.sql("USE default")
            session.sql(f"DROP DATABASE {database} CASCADE")
    print("| statement | embedded: calls, ms in it, ms in all | Hive: calls, ms in it, ms in all |")
    print("| --- | --- | --- |")
    for name in STATEMENTS:
        print(f"| {name} | {_cells(embedded[name])} | {_cells(hive[name])} |")
    for name, one in hive.items():
        print(f"\n{name}: {', '.join(one.names)}")


def _cells(figures: Figures) -> str:
    return f"{figures.calls:.0f}, {figures.milliseconds:.1f}, {figures.whole:.1f}"


if __name__ == "__main__":
    main()
