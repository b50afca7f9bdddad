"""The compactions of one statement that waits for them, carried out by its session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.session.transactions.crashes import rows_of

PARTITIONS = 4
SUCCEEDED, FAILED = CompactionState.SUCCEEDED, CompactionState.FAILED
OPTIONS = {"acidsql.compactor.auto": "false", "hive.compactor.delta.num.threshold": "1"}


@pytest.fixture
def plain(warehouse: Path) -> Iterator[Session]:
    """A session without Spark."""
    with Session(str(warehouse), settings=OPTIONS) as opened:
        fill(opened)
        yield opened


def fill(session: Session) -> None:
    session.sql(
        "CREATE TABLE t (id INT) PARTITIONED BY (p INT)"
        " STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    for number in range(2 * PARTITIONS):
        session.sql(f"INSERT INTO t PARTITION (p={number % PARTITIONS}) VALUES ({number})")


def directories(warehouse: Path, partition: int) -> list[str]:
    names = (path.name for path in (warehouse / "t" / f"p={partition}").iterdir())
    return sorted(name for name in names if not name.startswith("."))


def test_several_are_worked_on_at_once(plain: Session) -> None:
    """Two are under way before the first has an end, each in a transaction of its own."""
    both, seconds = threading.Barrier(2), 30

    def reached(point: str) -> None:
        if point == "compaction opened":
            both.wait(seconds)

    crash_points.hook = reached
    try:
        plain.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    finally:
        crash_points.hook = None
    entries = plain.store.compactions()
    assert [entry.state for entry in entries] == [SUCCEEDED] * PARTITIONS
    assert len({entry.txn_id for entry in entries}) == PARTITIONS


def test_each_fails_by_itself(plain: Session, warehouse: Path) -> None:
    """One that cannot be carried out is warned of; all others are, and nothing of it is lost."""
    before = sorted(rows_of(plain, "t"))
    (damaged,) = (warehouse / "t" / "p=2" / "delta_0000003_0000003_0000").glob("bucket_*")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-20])

    result = plain.sql("ALTER TABLE t COMPACT 'major' AND WAIT")

    states = {entry.request.partition: entry.state for entry in plain.store.compactions()}
    assert states == {"p=0": SUCCEEDED, "p=1": SUCCEEDED, "p=2": FAILED, "p=3": SUCCEEDED}
    assert [warning.message for warning in result.warnings] == ["compaction 3 failed"]
    assert directories(warehouse, 1) == ["base_0000006"]
    assert len(directories(warehouse, 2)) == 2
    damaged.write_bytes(whole)
    assert sorted(rows_of(plain, "t")) == before


@pytest.mark.spark
def test_what_needs_spark_follows(session: Session, warehouse: Path) -> None:
    """At once: it was given back by those that have none."""
    fill(session)
    before = sorted(rows_of(session, "t"))
    for name, value in OPTIONS.items():
        session.sql(f"SET {name}={value}")
    session.sql("SET acidsql.compactor.driver.max.bytes=1")

    session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")

    assert [entry.state for entry in session.store.compactions()] == [SUCCEEDED] * PARTITIONS
    assert [len(directories(warehouse, number)) for number in range(PARTITIONS)] == [1] * PARTITIONS
    assert sorted(rows_of(session, "t")) == before
