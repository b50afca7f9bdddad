"""How many empty transactions a store takes: begin with a lock and a write id, commit, durably."""

from __future__ import annotations

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


def measure_transactions(folder: Path) -> list[Measure]:
    """Milliseconds a transaction, of all processes together."""
    return [_measure(folder / f"transactions{count}", count) for count in PROCESSES]


def _measure(warehouse: Path, processes: int) -> Measure:
    EmbeddedMetastore(str(warehouse)).close()
    command = [sys.executable, "-m", __name__, str(warehouse)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    rates = [float(process.communicate()[0]) for process in running]
    return Measure(
        name=f"empty transaction with a lock, {processes} process{'es' * (processes > 1)}",
        found=1000 / sum(rates),
        unit="ms",
        goal=2,
        detail=f"{sum(rates):.0f} a second",
    )


def main() -> None:
    """Prints how many transactions a second one process ends."""
    with EmbeddedMetastore(sys.argv[1]) as store:
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
