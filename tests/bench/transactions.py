"""How many empty transactions a store takes: begin with a lock and a write id, commit, durably.

Of a PostgreSQL metastore: ``python -m tests.bench --metastore URL``, with an empty
database, which is that run's afterwards.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from acidsql.catalog.model import TableName
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from acidsql.txn.manager import OperationType, TxnComponent
from tests.bench.measures import Measure

PROCESSES = (1, 2, 4, 8)
SECONDS = 4.0
TABLE = TableName("default", "t")
LOCK = LockRequest(
    components=(
        LockComponent(database=TABLE.database, table=TABLE.table, type=LockType.SHARED_READ),
    )
)


def measure_transactions(folder: Path, metastore: str | None = None) -> list[Measure]:
    """Milliseconds a transaction, of all processes together; in a file, or in the database of the
    URL ``metastore``, too.
    """
    measures = [_measure(folder / f"transactions{count}", None, count) for count in PROCESSES]
    if metastore is not None:
        measures += [_measure(folder / "database", metastore, count) for count in PROCESSES]
    return measures


def _measure(warehouse: Path, metastore: str | None, processes: int) -> Measure:
    EmbeddedMetastore(str(warehouse), metastore=metastore).close()
    command = [sys.executable, "-m", __name__, str(warehouse)]
    # by the environment, as others can see arguments
    environment = {**os.environ, "ACIDSQL_METASTORE": metastore or ""}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(processes)
    ]
    rates = [float(process.communicate()[0]) for process in running]
    return Measure(
        name=f"empty transaction with a lock, {processes} process{'es' * (processes > 1)}"
        f"{', PostgreSQL' * (metastore is not None)}",
        found=1000 / sum(rates),
        unit="ms",
        goal=2 if metastore is None else 10,
        detail=f"{sum(rates):.0f} a second",
    )


def main() -> None:
    """Prints how many transactions a second one process ends."""
    url = os.environ.get("ACIDSQL_METASTORE") or None
    with EmbeddedMetastore(sys.argv[1], metastore=url) as store:
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            opened = store.begin([TABLE], LOCK)
            component = TxnComponent(
                table=TABLE,
                partition=None,
                operation=OperationType.INSERT,
                write_id=opened.write_ids[TABLE],
            )
            store.commit(opened.txn_id, [component])
            count += 1
        print(count / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
