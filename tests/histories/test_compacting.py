"""Writers and readers beside two daemons that compact: nothing is lost or doubled, no reader misses a
file, and neither fails the other.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.forks import side_by_side
from tests.histories.compacting import work
from tests.session.transactions.crashes import rows_of

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[2]
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
QUICK = {
    "hive.compactor.check.interval": "200ms",
    "hive.compactor.worker.sleep.time": "50ms",
    "hive.compactor.worker.max.sleep.time": "200ms",
    "hive.compactor.cleaner.run.interval": "100ms",
    "metastore.acid.housekeeper.interval": "500ms",
    "hive.compactor.delta.num.threshold": "4",
    "metastore.compactor.history.retention.succeeded": "100",
    "metastore.compactor.history.retention.failed": "100",
}
COMPACTOR = (sys.executable, "-m", "acidsql", "compactor")
History = list[dict[str, Any]]
TABLES = {
    "t": "inserted",
    "p": "inserted_into_p",
    "x": "inserted_into_pair",
    "y": "inserted_into_pair",
}
"""What says which rows were put into each."""


def environment(metastore: str | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "ACIDSQL_METASTORE": metastore or ""}


@contextmanager
def daemon(
    warehouse: Path, metastore: str | None, log: Path, *options: str
) -> Iterator[subprocess.Popen[bytes]]:
    """``acidsql compactor``, which is told to stop at the end, and does."""
    settings = [word for k, v in QUICK.items() for word in ("--hiveconf", f"{k}={v}")]
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "acidsql",
                "compactor",
                "--warehouse",
                str(warehouse),
                *settings,
                *options,
            ],
            cwd=ROOT,
            stderr=stderr,
            env=environment(metastore),
        ) as process,
    ):
        try:
            yield process
            assert process.poll() is None, log.read_text()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def history_of(
    warehouse: Path, metastore: str | None, roles: Sequence[str], seconds: float
) -> History:
    """What all processes say; they begin together."""
    of_each = [
        (str(warehouse), metastore, role, number, seconds)
        for number, role in enumerate(roles, start=1)
    ]
    return side_by_side(work, of_each)


def make_tables(session: Session) -> None:
    session.sql(f"CREATE TABLE t (id INT, n INT) {ACID}")
    session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (k INT) {ACID}")
    session.sql(f"CREATE TABLE o (id INT, n INT) {ACID}")
    for name in "xy":
        session.sql(f"CREATE TABLE {name} (id INT) {ACID}")


def values(history: History, what: str) -> set[int]:
    return {value for facts in history for value in facts.get(what, ())}


def check_daemons(session: Session, logs: Sequence[Path]) -> None:
    """No compaction failed, some succeeded, and no daemon had anything to complain about."""
    states = Counter(c.state for c in session.store.compactions())
    print(states)
    assert states[CompactionState.FAILED] == 0, [
        c.message for c in session.store.compactions() if c.message
    ]
    assert states[CompactionState.SUCCEEDED] > 0
    for log in logs:
        assert [line for line in log.read_text().splitlines() if "failed" in line] == []


@pytest.mark.parametrize(
    ("metastore", "seconds"),
    [
        ("sqlite", 3),
        pytest.param("sqlite", 60, marks=pytest.mark.slow),
        pytest.param("postgresql", 20, marks=pytest.mark.slow),
    ],
)
def test_nothing_is_lost_beside_compactions(
    warehouse: Path, tmp_path: Path, metastore: str, seconds: int, request: pytest.FixtureRequest
) -> None:
    """With two daemons, each row that was committed is there once and no other is; a snapshot is the
    same at its beginning and its end; no statement and no compaction fails, but for a snapshot that
    looks at a second table when that has been cleaned.
    """
    url = request.getfixturevalue("postgresql") if metastore == "postgresql" else None
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    with Session(warehouse, metastore=url or "") as session:
        make_tables(session)
        with daemon(warehouse, url, logs[0]), daemon(warehouse, url, logs[1], "--workers", "1"):
            history = history_of(warehouse, url, ["insert", "insert", "read"], seconds)

        subprocess.run(
            [*COMPACTOR, "--warehouse", str(warehouse), "--once"],
            cwd=ROOT,
            env=environment(url),
            check=True,
        )
        print(Counter(facts["act"] for facts in history))
        assert [facts for facts in history if "error" in facts] == []
        for facts in history:
            assert facts.get("before") == facts.get("after")
            assert facts.get("overwritings", 0) <= 1
            assert facts.get("numbers", []) in ([], [0, 1, 2])
        for table, what in TABLES.items():
            there = Counter(row[0] for row in rows_of(session, table))
            assert set(there) == values(history, what)
            assert set(there.values()) <= {1}
        last = rows_of(session, "o")
        assert sorted(row[1] for row in last) == [0, 1, 2]
        assert {row[0] for row in last} < values(history, "overwrote")
        check_daemons(session, logs)


@pytest.mark.slow
@pytest.mark.spark
def test_no_update_is_lost_beside_compactions(warehouse: Path, tmp_path: Path) -> None:
    """For a minute rows are inserted, updated and deleted while others are read and all is
    compacted: as many updates are there as were told, and each row once.
    """
    log = tmp_path / "one.log"
    with Session(warehouse, metastore="") as session:
        make_tables(session)
        with daemon(warehouse, None, log):
            history = history_of(warehouse, None, ["insert", "change", "look"], 60)

        print(Counter(facts["act"] for facts in history))
        assert [facts for facts in history if "error" in facts] == []
        for facts in history:
            assert facts.get("rows") == facts.get("different")
        rows = rows_of(session, "t")
        assert {row[0] for row in rows} == values(history, "inserted") - values(history, "deleted")
        assert len(rows) == len({row[0] for row in rows})
        check_daemons(session, [log])
