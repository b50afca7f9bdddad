"""Getting locks: asked for once, then waited for in the queue, with growing pauses, until they are
there, or another transaction waits for this one in turn, or patience is at its end. Hive:
DbLockManager.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from acidsql import crash_points, interrupts
from acidsql.acid.ids import TxnId
from acidsql.errors import (
    DeadlockError,
    LockTimeoutError,
    MetastoreError,
    OperationalError,
    TransactionAbortedError,
)
from acidsql.lazy_dataclass import dataclass
from acidsql.txn.locks import NO_TXN, LockAnswer, LockInfo, LockRequest, LockState
from acidsql.txn.manager import TxnManager

# ---- heartbeat
#
# Keeps a transaction or a lock alive: a daemon thread that does nothing until that is older than
# one interval.


class Heartbeat:
    """Calls ``beat`` every ``seconds`` until stopped. ``name``: of what it keeps alive. ``lost``
    says why the transaction is no longer open, once that is known.

    A store that cannot be reached for a moment is no loss: the next beat tries again, and a commit
    asks the store anyway.
    """

    def __init__(self, beat: Callable[[], None], name: str, seconds: float) -> None:
        self._beat = beat
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"acidsql heartbeat of {name}", daemon=True
        )
        self.lost: TransactionAbortedError | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the beating; returns when no beat is under way any more."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._beat()
            except TransactionAbortedError as error:
                self.lost = error
                return
            except MetastoreError:
                continue


# ---- locking


LOCK_CANNOT_BE_ACQUIRED = 10104
LOCK_ACQUIRE_TIMEDOUT = 10307

_FIRST_PAUSE = 0.1
_LEAST_LONGEST_PAUSE = 15.0
_FIRST_LOOK = 0.005
_LONGEST_LOOK = 0.25
_STATEMENT_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long locks are waited for, as Hive counts it: ``retries`` pauses, the first a tenth of a
    second, each twice the one before, up to ``longest_pause`` seconds (15 at least). 0: not at all.

    The store itself is asked more often, which costs little. ``dump``: whether a time-out lists
    all locks there are. ``sleep`` and ``clock``: in seconds.
    """

    retries: int = 100
    longest_pause: float = 60.0
    dump: bool = False
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def seconds(self) -> float:
        longest = max(_LEAST_LONGEST_PAUSE, self.longest_pause)
        total, pause = 0.0, _FIRST_PAUSE
        for number in range(self.retries):
            if pause >= longest:
                return total + longest * (self.retries - number)
            total, pause = total + pause, pause * 2
        return total


def wait(
    manager: TxnManager,
    answer: LockAnswer,
    request: LockRequest,
    patience: Patience,
    txn_id: TxnId = NO_TXN,
) -> None:
    """Returns when the locks of ``answer``, asked for ``txn_id``, are held. LockTimeoutError,
    DeadlockError, OperationalError for locks that are refused at once: then nothing waits any more,
    nor does it after an interrupt.
    """
    if answer.state is LockState.NOT_ACQUIRED:
        raise _refused(request, answer)
    began, look = patience.clock(), _FIRST_LOOK
    try:
        while answer.state is LockState.WAITING:
            if answer.deadlock:
                raise _deadlock(answer)
            crash_points.reached("waiting")
            rest = began + patience.seconds - patience.clock()
            if rest <= 0:
                raise _timed_out(manager, request, answer, patience, patience.clock() - began)
            with interrupts.at_once():
                patience.sleep(min(look, rest))
            look = min(look * 2, _LONGEST_LOOK)
            answer = manager.check_lock(answer.lock_id, txn_id)
    except BaseException:
        with suppress(OperationalError):
            manager.unlock(answer.lock_id)
        raise


@contextmanager
def held(
    manager: TxnManager, request: LockRequest | None, patience: Patience, heartbeat_seconds: float
) -> Iterator[bool]:
    """A statement with locks that belong to no transaction; whether it had to wait for them. It
    fails as ``wait`` does.
    """
    if request is None:
        yield False
        return
    answer = manager.lock(request)
    waited = answer.state is not LockState.ACQUIRED
    wait(manager, answer, request, patience)
    heartbeat = Heartbeat(
        lambda: manager.heartbeat_lock(answer.lock_id),
        f"lockid:{answer.lock_id}",
        heartbeat_seconds,
    )
    try:
        heartbeat.start()
        crash_points.reached("locked")
        yield waited
        crash_points.reached("unlocking")
    finally:
        heartbeat.stop()
        # the statement has ended as it has; locks without heartbeats end as well
        with suppress(MetastoreError):
            manager.unlock(answer.lock_id)


def _refused(request: LockRequest, answer: LockAnswer) -> OperationalError:
    blocker = answer.blockers[0] if answer.blockers else ""
    if request.exclusive_ctas:
        message = "Failed to initiate a concurrent CTAS operation with the same table name"
        error = OperationalError(f"{message}, lockInfo : {blocker}", code=LOCK_CANNOT_BE_ACQUIRED)
    else:
        message = "Unable to acquire read lock due to an existing exclusive lock"
        error = LockTimeoutError(f"{message} {{{blocker}}}", code=LOCK_CANNOT_BE_ACQUIRED)
    error.detail = _blocked(answer)
    return error


def _deadlock(answer: LockAnswer) -> DeadlockError:
    circle = ", ".join(f"txnid:{txn}" for txn in answer.deadlock)
    return DeadlockError(
        f"these transactions wait for each other's locks: {circle}",
        detail=_blocked(answer),
        hint="ROLLBACK, and run the transaction again.",
    )


def _timed_out(
    manager: TxnManager,
    request: LockRequest,
    answer: LockAnswer,
    patience: Patience,
    seconds: float,
) -> LockTimeoutError:
    wanted = ", ".join(f"{part} -> {part.type}" for part in request.components)
    detail = _blocked(answer)
    if patience.dump:
        detail += "; all locks: " + "; ".join(_words(lock) for lock in manager.list_locks())
    return LockTimeoutError(
        f"Lock acquisition for {wanted} timed out after {round(seconds * 1000)}ms.",
        detail=detail,
        hint="Run the statement again; SHOW LOCKS shows who holds what, and hive.lock.numretries"
        " says how long to wait.",
        code=LOCK_ACQUIRE_TIMEDOUT,
    )


def _blocked(answer: LockAnswer) -> str:
    return "; ".join(_words(lock) for lock in answer.blockers) or "nothing stands in the way now"


def _words(lock: LockInfo) -> str:
    """Who holds what, since when, by which statement."""
    owner = f"txnid:{lock.txn_id}" if lock.txn_id != NO_TXN else f"lockid:{lock.lock_id}"
    if lock.state is LockState.ACQUIRED:
        since = datetime.fromtimestamp(lock.acquired_at / 1000, UTC).isoformat(" ", "seconds")
        does = f"holds {lock.component.type} on {lock.component} since {since}"
    else:
        does = f"waits for {lock.component.type} on {lock.component} before it"
    words = f"{owner} ({lock.user}@{lock.host}) {does}"
    return f"{words}, by: {_shortened(lock.statement)}" if lock.statement else words


def _shortened(statement: str) -> str:
    text = " ".join(statement.split())
    return text if len(text) <= _STATEMENT_LENGTH else text[: _STATEMENT_LENGTH - 3] + "..."
