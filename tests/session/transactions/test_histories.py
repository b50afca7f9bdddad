"""Real processes that insert, overwrite and count in one table side by side: what they were told
fits together, and nothing is lost or doubled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyarrow import orc

from acidsql.session import Session
from acidsql.txn.manager import TxnState

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[3]
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PROCESSES = 8
History = list[dict[str, Any]]


def histories(warehouse: Path, seconds: float) -> History:
    """What all processes say, each in its own order."""
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.session.transactions.history_worker",
                str(warehouse),
                str(number),
                str(seconds),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for number in range(1, PROCESSES + 1)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * PROCESSES
    return [json.loads(line) for text in said for line in text.splitlines()]


def values_on_disk(warehouse: Path, last: int, committed: set[int]) -> Counter[int]:
    """The values of the base of write id ``last`` and of later committed deltas."""
    values: Counter[int] = Counter()
    for directory in (warehouse / "t").iterdir():
        kind, _, rest = directory.name.partition("_")
        write_id = int(rest.split("_")[0])
        if (kind == "base" and write_id == last) or (
            kind == "delta" and write_id > last and write_id in committed
        ):
            for file in directory.glob("bucket*"):
                values.update(row["id"] for row in orc.read_table(file).column("row").to_pylist())
    return values


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_nothing_is_lost_or_doubled(warehouse: Path, seconds: float) -> None:
    """Eight processes. The table holds what was acknowledged since the last overwriting, once; what
    began behind an overwriting is never hidden by it; a transaction sees its own rows and one
    snapshot; nobody leaves a lock or an open transaction.
    """
    with Session(warehouse) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        history = histories(warehouse, seconds)
        assert [facts["error"] for facts in history if "error" in facts] == []
        done = [facts for facts in history if facts["committed"]]
        assert len(done) > PROCESSES
        assert len({facts["write_id"] for facts in done}) == len(done)
        last = max((facts["write_id"] for facts in done if facts["overwrites"]), default=0)
        expected = Counter(
            value for facts in done if facts["write_id"] >= last for value in facts["values"]
        )
        [(count,)] = session.sql("SELECT count(*) FROM t").rows()
        assert count == expected.total()
        committed = {facts["write_id"] for facts in done}
        assert values_on_disk(warehouse, last, committed) == expected
        for facts in done:
            if "counts" in facts:
                first = facts["counts"][0]
                assert facts["counts"] == [first, first + 1, first + 2]
        for over in (facts for facts in done if facts["overwrites"]):
            later = [facts["write_id"] for facts in done if facts["began"] > over["ended"]]
            assert all(write_id > over["write_id"] for write_id in later)
        assert session.store.list_locks() == ()
        assert [t for t in session.store.list_txns() if t.state is TxnState.OPEN] == []
