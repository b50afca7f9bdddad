"""Waiting for locks: how long, how it ends, and what is said then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from acidsql.acid.ids import TxnId
from acidsql.errors import DeadlockError, LockTimeoutError, MetastoreError, OperationalError
from acidsql.txn.locks import (
    NO_TXN,
    LockAnswer,
    LockComponent,
    LockInfo,
    LockRequest,
    LockState,
    LockType,
    Patience,
    held,
    wait,
)

TABLE = LockComponent(database="default", table="t", type=LockType.EXCL_WRITE)
REQUEST = LockRequest(components=(TABLE,), statement="UPDATE t SET a = 1")
HOLDER = LockInfo(
    lock_id=7,
    part=1,
    component=TABLE,
    state=LockState.ACQUIRED,
    txn_id=TxnId(5),
    blocked_by=None,
    last_heartbeat=0,
    acquired_at=1_700_000_000_000,
    user="ann",
    host="node1",
    agent=None,
    statement="DELETE FROM t\n WHERE a = 2",
)
WAITING = LockAnswer(lock_id=8, state=LockState.WAITING, blockers=(HOLDER,))
GRANTED = LockAnswer(lock_id=8, state=LockState.ACQUIRED)


@dataclass
class Clock:
    """Time that passes only in sleep."""

    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, retries: int, longest: float = 60.0, *, dump: bool = False) -> Patience:
        return Patience(
            retries=retries,
            longest_pause=longest,
            dump=dump,
            sleep=self.sleep,
            clock=lambda: self.now,
        )


class FakeManager:
    """Answers in the order given, the last one for ever."""

    def __init__(self, *answers: LockAnswer) -> None:
        self._answers: Iterator[LockAnswer] = iter(answers)
        self._last = answers[-1] if answers else WAITING
        self.unlocked: list[int] = []

    def lock(self, request: LockRequest, txn_id: TxnId = NO_TXN) -> LockAnswer:
        return self.check_lock(8)

    def check_lock(self, lock_id: int, txn_id: TxnId = NO_TXN) -> LockAnswer:
        return next(self._answers, self._last)

    def unlock(self, lock_id: int) -> None:
        self.unlocked.append(lock_id)

    def heartbeat_lock(self, lock_id: int) -> None:
        raise AssertionError("no heartbeat is due")

    def list_locks(self) -> tuple[LockInfo, ...]:
        return (HOLDER,)


@pytest.mark.parametrize(
    ("retries", "longest", "seconds"),
    [(0, 60, 0), (1, 60, 0.1), (3, 60, 0.7), (8, 1, 25.5 - 12.8 + 12.8), (10, 20, 25.5 + 40)],
)
def test_patience_is_as_long_as_hives(retries: int, longest: float, seconds: float) -> None:
    """A tenth of a second, twice as long each time, never more than the longest or 15 s."""
    pauses, pause = 0.0, 0.1
    for _ in range(retries):
        pauses, pause = pauses + min(pause, max(15.0, longest)), pause * 2
    assert Patience(retries=retries, longest_pause=longest).seconds == pytest.approx(pauses)
    assert pauses == pytest.approx(seconds)


def test_a_wait_ends_with_the_lock() -> None:
    """The lock is looked for often at first, then several times a second; it is kept."""
    clock, manager = Clock(), FakeManager(*[WAITING] * 20, GRANTED)
    wait(manager, WAITING, REQUEST, clock.patience(100))
    assert clock.pauses[0] < 0.01
    assert max(clock.pauses) == 0.25
    assert manager.unlocked == []


def test_a_time_out_says_who_holds_what_since_when_and_why() -> None:
    """Hive's code and words, and the statement of the one who holds it; nothing waits any more."""
    clock, manager = Clock(), FakeManager(WAITING)
    with pytest.raises(LockTimeoutError) as caught:
        wait(manager, WAITING, REQUEST, clock.patience(3))
    assert caught.value.code == 10307
    assert caught.value.retryable
    assert "default.t -> EXCL_WRITE timed out after 700ms" in caught.value.message
    assert caught.value.detail == (
        "txnid:5 (ann@node1) holds EXCL_WRITE on default.t since 2023-11-14 22:13:20+00:00,"
        " by: DELETE FROM t WHERE a = 2"
    )
    assert manager.unlocked == [8]
    assert clock.now == pytest.approx(0.7)


def test_no_patience_is_no_wait() -> None:
    """hive.lock.numretries=0."""
    clock, manager = Clock(), FakeManager(WAITING)
    with pytest.raises(LockTimeoutError):
        wait(manager, WAITING, REQUEST, clock.patience(0))
    assert clock.pauses == []


def test_a_time_out_can_list_all_locks() -> None:
    """hive.txn.manager.dump.lock.state.on.acquire.timeout."""
    with pytest.raises(LockTimeoutError) as caught:
        wait(FakeManager(WAITING), WAITING, REQUEST, Clock().patience(0, dump=True))
    assert caught.value.detail is not None
    assert caught.value.detail.count("holds EXCL_WRITE") == 2


def test_a_deadlock_is_told_at_once() -> None:
    """Without any pause, with the circle."""
    clock, manager = Clock(), FakeManager(WAITING)
    circle = LockAnswer(
        lock_id=8, state=LockState.WAITING, blockers=(HOLDER,), deadlock=(TxnId(5), TxnId(6))
    )
    with pytest.raises(DeadlockError, match=r"txnid:5, txnid:6"):
        wait(manager, circle, REQUEST, clock.patience(100))
    assert (clock.pauses, manager.unlocked) == ([], [8])


def test_an_interrupt_ends_the_wait() -> None:
    """Ctrl-C: the lock does not wait on."""

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    manager = FakeManager(WAITING)
    with pytest.raises(KeyboardInterrupt):
        wait(manager, WAITING, REQUEST, Patience(sleep=interrupt))
    assert manager.unlocked == [8]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (LockRequest(components=(TABLE,), zero_wait_reads=True), "Unable to acquire read lock"),
        (LockRequest(components=(TABLE,), exclusive_ctas=True), "concurrent CTAS operation"),
    ],
)
def test_what_is_refused_is_not_waited_for(request_: LockRequest, words: str) -> None:
    """Hive's words for the two; nothing of them is left to unlock."""
    refused = LockAnswer(lock_id=8, state=LockState.NOT_ACQUIRED, blockers=(HOLDER,))
    manager = FakeManager(refused)
    with pytest.raises(OperationalError, match=words) as caught:
        wait(manager, refused, request_, Clock().patience(100))
    assert caught.value.code == 10104
    assert str(HOLDER) in caught.value.message
    assert manager.unlocked == []


def test_locks_of_a_block_end_with_it() -> None:
    """Whatever leaves it; and it says whether it had to wait."""
    manager = FakeManager(WAITING, GRANTED)

    def fails() -> None:
        with held(manager, REQUEST, Clock().patience(9), 60) as waited:
            assert waited
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert manager.unlocked == [8]
    with held(manager, None, Patience(), 60) as waited:
        assert not waited
    assert manager.unlocked == [8]


def test_a_lock_that_cannot_be_given_up_is_no_error_of_the_statement() -> None:
    """The statement has ended as it has; its error, or none, is what is told."""

    class Unreachable(FakeManager):
        def unlock(self, lock_id: int) -> None:
            super().unlock(lock_id)
            raise MetastoreError("the store is away")

    manager = Unreachable(GRANTED)
    with held(manager, REQUEST, Patience(), 60) as waited:
        assert not waited
    assert manager.unlocked == [8]
