"""A worker whose process is killed changes no row, and its entry is taken up again."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.compaction.worker import Worker
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState, CompactionType
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    clean,
    directories,
    enqueue,
    entry,
    rows,
    worker,
)
from tests.forks import ended

pytestmark = [pytest.mark.spark, pytest.mark.processes]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
POINTS = (
    ("compaction taken", 1),
    ("compaction opened", 1),
    ("compaction begun", 1),
    ("compaction staged", 1),
    ("compaction directory made", 1),
    ("compaction announced", 1),
    ("compaction published", 1),
    ("compaction counted", 1),
    ("compaction done", 1),
)


def kill_worker(warehouse: Path, point: str, times: int = 1, path: str = "auto") -> None:
    """Has a worker of its own process take an entry, and killed at a point."""
    killed = ended(work_and_die, str(warehouse), point, times, path, folder=warehouse.parent)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]


def work_and_die(warehouse: str, point: str, times: int, path: str) -> None:
    left = times

    def kill(reached: str) -> None:
        nonlocal left
        left -= reached == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    crash_points.hook = kill
    conf = {"spark.driver.memory": "1g"}
    with Session(
        warehouse, master="local[1]", conf=conf, settings={"acidsql.write.path": path}
    ) as session:
        store, files, engine = session.store, session.files, session.engine
        assert Worker(store, files, engine, session.settings, "child-1").run_once()


def fill(session: Session) -> None:
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("INSERT INTO t VALUES (4, 'd')")
    session.sql("UPDATE t SET v = 'x' WHERE id = 2")
    session.sql("DELETE FROM t WHERE id = 3")


def check_killed(
    session: Session, warehouse: Path, kind: CompactionType, point: str, times: int, path: str
) -> None:
    fill(session)
    before = rows(session, "t")
    compaction_id = enqueue(session, "t", kind)
    kill_worker(warehouse, point, times, path)
    assert rows(session, "t") == before
    assert not [name for name in directories(session, "t") if name.startswith(".")]
    assert entry(session, compaction_id).state is CompactionState.WORKING
    session.sql("INSERT INTO t VALUES (5, 'meanwhile')")
    after = rows(session, "t")
    assert worker(session).run_once()
    done = entry(session, compaction_id)
    assert done.state is CompactionState.READY_FOR_CLEANING, done.message
    assert rows(session, "t") == after
    clean(session, "t")
    assert rows(session, "t") == after
    left = directories(session, "t")
    assert not any(name.startswith(".") for name in left)
    assert len(left) <= 3
    assert all(t.state != "o" for t in session.store.list_txns())


def at_length(points: Sequence[tuple[str, int]], *always: str) -> list[Any]:
    """The points of a killing: slow ones, but for those that are told."""
    return [
        pytest.param(*one, marks=() if one[0].endswith(always) else pytest.mark.slow)
        for one in points
    ]


@pytest.mark.parametrize(
    ("point", "times"), at_length([*POINTS, ("compaction published", 2)], "announced", "published")
)
def test_minor_killed(session: Session, warehouse: Path, point: str, times: int) -> None:
    """At every step of a minor compaction, between its two renames too."""
    check_killed(session, warehouse, MINOR, point, times, "auto")


@pytest.mark.parametrize(("point", "times"), at_length(POINTS, "published"))
def test_major_killed(session: Session, warehouse: Path, point: str, times: int) -> None:
    """At every step of a major compaction."""
    check_killed(session, warehouse, MAJOR, point, times, "auto")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MAJOR, MINOR])
@pytest.mark.parametrize("point", ["compaction staged", "compaction announced"])
def test_killed_on_spark(
    session: Session, warehouse: Path, kind: CompactionType, point: str
) -> None:
    """The same where Spark has written the files."""
    check_killed(session, warehouse, kind, point, 1, "big")


def test_finished_and_killed(session: Session, warehouse: Path) -> None:
    """Once the entry is ready for cleaning nobody compacts again."""
    fill(session)
    before = rows(session, "t")
    compaction_id = enqueue(session, "t", MAJOR)
    kill_worker(warehouse, "compaction finished")
    assert entry(session, compaction_id).state is CompactionState.READY_FOR_CLEANING
    assert not worker(session).run_once()
    assert rows(session, "t") == before
