"""A wall clock that is set, and a machine that sleeps, end nobody's transaction and keep nobody's
locks: the time-out counts the seconds in which a heartbeat could have come.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import MetastoreError, TransactionAbortedError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.processes import Process
from acidsql.txn.locks import LockComponent, LockRequest, LockState, LockType
from tests.metastore.conftest import Clock

pytestmark = pytest.mark.skipif(
    not Process.current().boot, reason="this system does not name its boots"
)

T = TableName("default", "t")
LOCK = LockRequest(
    components=(LockComponent(database=T.database, table=T.table, type=LockType.EXCLUSIVE),)
)
HOUR = 3600


@pytest.fixture
def metastore_url() -> None:
    """In the warehouse: the clock of a database's server is the same for all."""


@pytest.fixture
def steady() -> Clock:
    """Seconds in which the machine is awake."""
    clock = Clock()
    clock.now = 1000.0
    return clock


@pytest.fixture
def opened(
    reopen: Callable[..., EmbeddedMetastore], steady: Clock
) -> tuple[EmbeddedMetastore, EmbeddedMetastore]:
    """Two processes' views of one store, on both clocks."""
    return reopen(steady=steady), reopen(steady=steady, host="elsewhere")


def pass_seconds(seconds: float, *clocks: Clock) -> None:
    for clock in clocks:
        clock.now += seconds


@pytest.mark.parametrize("jump", [HOUR, 24 * HOUR, -HOUR, -24 * HOUR])
def test_a_jump_ends_nobody(
    opened: tuple[EmbeddedMetastore, EmbeddedMetastore], clock: Clock, steady: Clock, jump: int
) -> None:
    """Forward, as after a night's sleep, or backward: a transaction that could not have sent a
    heartbeat meanwhile goes on, whoever else begins one, and commits.
    """
    ours, other = opened
    txn_id = ours.begin([T], LOCK).txn_id
    pass_seconds(200, clock, steady)
    clock.now += jump
    other.commit(other.begin().txn_id)
    ours.heartbeat(txn_id)
    other.reap()
    ours.commit(txn_id)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_the_dead_are_timed_out_across_a_jump(
    opened: tuple[EmbeddedMetastore, EmbeddedMetastore], clock: Clock, steady: Clock, jump: int
) -> None:
    """Neither sooner nor later than without one: no lock is kept because a clock was set back."""
    ours, other = opened
    silent = ours.begin([T], LOCK).txn_id
    held = ours.lock(
        LockRequest(components=(LockComponent(database="d", type=LockType.EXCLUSIVE),))
    )
    pass_seconds(100, clock, steady)
    clock.now += jump
    waiting = other.begin([T], LOCK)
    assert waiting.locks is not None
    pass_seconds(199, clock, steady)
    assert other.check_lock(waiting.locks.lock_id, waiting.txn_id).state is LockState.WAITING
    pass_seconds(1.1, clock, steady)
    assert other.check_lock(waiting.locks.lock_id, waiting.txn_id).state is LockState.ACQUIRED
    with pytest.raises(TransactionAbortedError, match="already aborted"):
        ours.commit(silent)
    with pytest.raises(MetastoreError, match="No such lock"):
        ours.heartbeat_lock(held.lock_id)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_heartbeat_behind_a_jump_counts_once(
    opened: tuple[EmbeddedMetastore, EmbeddedMetastore], clock: Clock, steady: Clock, jump: int
) -> None:
    """The one who sends it first moves all others along, and its own is of now."""
    ours, other = opened
    txn_id, silent = ours.begin().txn_id, ours.begin().txn_id
    clock.now += jump
    ours.heartbeat(txn_id)
    pass_seconds(299, clock, steady)
    other.reap()
    ours.heartbeat(silent)
    pass_seconds(2, clock, steady)
    other.reap()
    with pytest.raises(TransactionAbortedError):
        ours.heartbeat(txn_id)
    ours.commit(silent)


def test_a_clock_that_is_corrected_a_little_all_the_time(
    opened: tuple[EmbeddedMetastore, EmbeddedMetastore], clock: Clock, steady: Clock
) -> None:
    """Small steps add up to what they are: nobody lives longer or shorter for them."""
    ours, other = opened
    txn_id = ours.begin().txn_id
    for _ in range(100):
        pass_seconds(2.9, steady)
        pass_seconds(3.9, clock)
        other.commit(other.begin().txn_id)
    ours.heartbeat(txn_id)


def test_another_boot_starts_anew(
    reopen: Callable[..., EmbeddedMetastore],
    clock: Clock,
    steady: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The steady clock begins at nought then; the wall clock alone says how long it took."""
    before = reopen(steady=steady)
    txn_id = before.begin([T], LOCK).txn_id
    current = Process.current()
    monkeypatch.setattr(
        Process,
        "current",
        classmethod(lambda cls: cls(pid=current.pid, start=current.start, machine="later.1")),
    )
    steady.now = 5
    clock.now += 299
    after = reopen(steady=steady)
    after.reap()
    after.heartbeat(txn_id)
    clock.now += 301
    steady.now += 301
    after.reap()
    with pytest.raises(TransactionAbortedError):
        after.commit(txn_id)


def test_a_session_keeps_python_s_steady_clock(warehouse: Path) -> None:
    """A store on the system's clock is on the system's steady one as well."""
    import time

    with EmbeddedMetastore(str(warehouse)) as metastore:
        assert metastore._steady is time.monotonic
