"""Several real processes on one warehouse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.processes import Process
from acidsql.txn.compactions import CompactionRequest, CompactionState, CompactionType
from acidsql.txn.locks import LockState
from acidsql.txn.manager import OperationType, TxnComponent, TxnState
from tests.forks import side_by_side
from tests.metastore.worker import EXCLUSIVE, T, work

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., list[dict[str, Any]]]
Hold = Callable[[str], tuple[subprocess.Popen[str], dict[str, Any]]]


@pytest.fixture
def run(warehouse: Path, metastore_url: str | None) -> Run:
    """Three processes that do one thing a number of times, and all that they tell."""

    def run_three(role: str, count: int = 0) -> list[dict[str, Any]]:
        return side_by_side(work, [(str(warehouse), metastore_url, role, count)] * 3)

    return run_three


@pytest.fixture
def hold(warehouse: Path, metastore_url: str | None) -> Iterator[Hold]:
    """Starts a process of one's own child, which holds what it tells."""
    workers: list[subprocess.Popen[str]] = []

    def start_one(role: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.metastore.worker", str(warehouse), role],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "ACIDSQL_METASTORE": metastore_url or ""},
        )
        workers.append(worker)
        assert worker.stdout is not None
        return worker, json.loads(worker.stdout.readline())

    yield start_one
    for worker in workers:
        worker.kill()
        worker.communicate()


@pytest.mark.processes
def test_concurrent_inserts_lose_nothing(
    run: Run, reopen: Callable[..., EmbeddedMetastore]
) -> None:
    """Processes that even make the warehouse at the same moment: every id once, every commit
    visible, snapshots right.
    """
    done = run("insert", 30)
    assert sorted(one["write_id"] for one in done) == list(range(1, 91))
    assert len({one["txn"] for one in done}) == 90
    assert all(one["committed"] for one in done)
    metastore = reopen()
    assert (
        str(metastore.valid_write_ids(T, metastore.valid_txns()))
        == "default.t:90:9223372036854775807::"
    )
    txn_of = {one["write_id"]: one["txn"] for one in done}
    for one in done:  # each process has one open at a time: at most the other two's
        assert len(one["invalid"]) <= 2
        assert all(txn_of[write_id] < one["txn"] for write_id in one["invalid"])


@pytest.mark.processes
def test_concurrent_updates_conflict_exactly_where_they_overlap(run: Run) -> None:
    """No two committed ones overlap, and each aborted one names a committed one that it did overlap
    with.
    """
    done = run("update", 20)
    txn_of = {one["write_id"]: one["txn"] for one in done}
    committed = {one["txn"] for one in done if one["committed"]}
    for one in done:
        unseen = {txn_of[write_id] for write_id in one["invalid"]}
        if one["committed"]:
            assert not unseen & committed
        else:
            ours, _, winner, commit_id = map(int, re.findall(r"\d+", one["message"]))
            assert ours == one["txn"] <= commit_id
            assert winner in committed
    assert len(committed) >= 20


@pytest.mark.processes
def test_a_killed_process_holds_nothing_up(
    hold: Hold, reopen: Callable[..., EmbeddedMetastore]
) -> None:
    """The next opener aborts its transaction at once, though its parent has not even noticed; its
    write id stays invisible.
    """
    worker, victim = hold("hang")
    metastore = reopen(clock=lambda: 0.0)
    assert metastore.begin().txns.open == (victim["txn"],)
    worker.kill()
    # dead, and not collected: still in the process table
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    if not Process.current().machine:
        pytest.skip("this system does not tell when a process started")
    opened = metastore.begin([T])
    assert opened.txns.aborted == (victim["txn"],)
    metastore.commit(
        opened.txn_id,
        [
            TxnComponent(
                table=T,
                partition=None,
                operation=OperationType.INSERT,
                write_id=opened.write_ids[T],
            )
        ],
    )
    seen = metastore.valid_write_ids(T, metastore.valid_txns())
    assert (seen.aborted, seen.open, seen.high_watermark) == (
        (victim["write_id"],),
        (),
        victim["write_id"] + 1,
    )
    assert (
        next(info.state for info in metastore.list_txns() if info.txn_id == victim["txn"])
        is TxnState.ABORTED
    )


@pytest.mark.processes
@pytest.mark.parametrize("role", ["lock", "lock_in_txn"])
def test_a_killed_process_frees_its_locks(
    hold: Hold, reopen: Callable[..., EmbeddedMetastore], role: str
) -> None:
    """For the next look of who waits for them, though nobody has noticed its end."""
    if not Process.current().machine:
        pytest.skip("this system does not tell when a process started")
    worker, held = hold(role)
    metastore = reopen(clock=lambda: 0.0)
    opened = metastore.begin([T], EXCLUSIVE)
    assert opened.locks is not None
    assert [blocker.lock_id for blocker in opened.locks.blockers] == [held["lock"]]
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    asked = opened.locks.lock_id
    assert metastore.check_lock(asked, opened.txn_id).state is LockState.ACQUIRED
    assert [lock.lock_id for lock in metastore.list_locks()] == [asked]


def requests(count: int) -> list[CompactionRequest]:
    return [
        CompactionRequest(
            table=T, partition=f"p={p}", type=CompactionType.MINOR, initiator="node1-manual"
        )
        for p in range(count)
    ]


@pytest.mark.processes
def test_no_two_processes_take_one_compaction(
    run: Run, reopen: Callable[..., EmbeddedMetastore]
) -> None:
    """Each is taken once, in a transaction of its own."""
    metastore = reopen()
    wanted = [metastore.enqueue_compaction(one).compaction_id for one in requests(40)]
    done = run("compact")
    assert sorted(one["compaction"] for one in done) == wanted
    assert len({one["txn"] for one in done}) == len(wanted)
    assert {c.state for c in metastore.compactions()} == {CompactionState.READY_FOR_CLEANING}


@pytest.mark.processes
def test_a_killed_worker_s_compaction_is_taken_up(
    hold: Hold, reopen: Callable[..., EmbeddedMetastore]
) -> None:
    """By the next who asks for work; its transaction is aborted, its lock free."""
    if not Process.current().machine:
        pytest.skip("this system does not tell when a process started")
    metastore = reopen(clock=lambda: 0.0)
    metastore.enqueue_compaction(requests(1)[0])
    worker, victim = hold("compact_and_hang")
    assert metastore.next_compaction("node1-2") is None
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    taken = metastore.next_compaction("node1-2")
    assert taken is not None
    assert (taken.compaction_id, taken.txn_id) == (victim["compaction"], None)
    assert metastore.list_locks() == ()
    assert {t.txn_id: t.state for t in metastore.list_txns()} == {victim["txn"]: TxnState.ABORTED}


@pytest.mark.processes
def test_processes_take_turns(run: Run, reopen: Callable[..., EmbeddedMetastore]) -> None:
    """Those that update one table under a lock all commit, one after the other."""
    done = run("take_turns", 15)
    assert sorted(one["write_id"] for one in done) == list(range(1, 46))
    by_write_id = sorted(done, key=lambda one: one["write_id"])
    assert [one["txn"] for one in by_write_id] == sorted(one["txn"] for one in done)
    assert reopen().list_locks() == ()
