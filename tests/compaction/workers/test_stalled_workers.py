"""Workers of one process of which one has stalled past its lease."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import pytest

from acidsql import crash_points
from acidsql.errors import SparkNotStartedError
from acidsql.files.fileio import FileIO
from acidsql.session import Session
from acidsql.txn.compactions import Compaction, CompactionState, CompactionType
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    REBALANCE,
    directories,
    enqueue,
    entry,
    worker,
)
from tests.compaction.conftest import ACID
from tests.contracts import Clock


@pytest.fixture
def table(small: Session) -> Session:
    small.sql(f"CREATE TABLE t (id INT, v STRING) {ACID.format('')}")
    for number in range(3):
        small.sql(f"INSERT INTO t VALUES ({number}, 'v')")
    small.sql("DELETE FROM t WHERE id = 1")
    return small


def taken_over(session: Session, clock: Clock, compaction_id: int) -> Compaction:
    """Time passes, and another thread of this process has the entry then."""
    crash_points.hook = None
    clock.now += 1_000_000
    assert compaction_id in session.store.revoke_compactions()
    taken = session.store.next_compaction("here-2")
    assert taken is not None
    session.store.begin_compaction(compaction_id, lease=taken.lease)
    return entry(session, compaction_id)


@pytest.mark.parametrize("kind", [MINOR, MAJOR, REBALANCE])
def test_a_stalled_worker_does_nothing_any_more(
    table: Session, clock: Clock, kind: CompactionType
) -> None:
    """It gives nothing a name and does not end the entry, which another worker of its process has;
    that one brings it to its end.
    """
    others: list[Compaction] = []
    compaction_id = enqueue(table, "t", kind)
    before = directories(table, "t")

    def hook(point: str) -> None:
        if point == "compaction directory made":
            others.append(taken_over(table, clock, compaction_id))

    crash_points.hook = hook
    try:
        assert worker(table).run_once()
    finally:
        crash_points.hook = None
    (other,) = others
    assert directories(table, "t") == before
    now = entry(table, compaction_id)
    assert (now.state, now.worker, now.txn_id) == (
        CompactionState.WORKING,
        "here-2",
        other.txn_id,
    )
    table.store.heartbeat_compaction(compaction_id, lease=other.lease)
    table.store.return_compaction(compaction_id, lease=other.lease, at_once=True)
    assert worker(table, "here-2").run_once()
    assert entry(table, compaction_id).state is CompactionState.READY_FOR_CLEANING


def test_a_stalled_worker_takes_nothing_away(table: Session, clock: Clock) -> None:
    """Ready to publish: what the other worker wrote under the same names stays."""
    compaction_id = enqueue(table, "t", MINOR)

    def hook(point: str) -> None:
        if point == "compaction announced":
            other = taken_over(table, clock, compaction_id)
            table.store.return_compaction(compaction_id, lease=other.lease, at_once=True)
            assert worker(table, "here-2").run_once()

    crash_points.hook = hook
    try:
        assert worker(table).run_once()
    finally:
        crash_points.hook = None
    assert entry(table, compaction_id).state is CompactionState.READY_FOR_CLEANING
    assert {"delta_0000001_0000004", "delete_delta_0000001_0000004"} <= set(directories(table, "t"))


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError, SparkNotStartedError])
def test_a_worker_that_stalled_before_it_began_gives_nothing_back(
    table: Session, clock: Clock, end: type[BaseException]
) -> None:
    """However it ends: the entry is another worker's of its process, which goes on with it."""
    compaction_id = enqueue(table, "t", MAJOR)
    before = []

    def hook(point: str) -> None:
        if point == "compaction taken":
            before.append(taken_over(table, clock, compaction_id))

    class Stopped:
        def __getattr__(self, name: str) -> None:
            raise end("stopped")

    slow = worker(table)
    slow._files = cast(FileIO, Stopped())
    crash_points.hook = hook
    try:
        with suppress(KeyboardInterrupt, SparkNotStartedError):
            slow.run_once()
    finally:
        crash_points.hook = None
    assert [entry(table, compaction_id)] == before
