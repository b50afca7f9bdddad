"""A golden script of several sessions: who runs, who waits for another one's lock, who goes on.

Each session has a thread of its own, and the script goes from one statement to the next when every
session is idle or waits. Whether one waits is for the store to say, never for a clock: as many
requests wait for a lock that is still there as statements have not ended. A request whose blocker
is gone is about to be granted, so its statement is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Protocol

from acidsql.acid.ids import TxnId
from acidsql.errors import Error
from acidsql.lazy import dataclass
from acidsql.testing.script import FILES, FIRST_SESSION, ScriptError, Step
from acidsql.txn.locks import NO_TXN, LockInfo, LockQueue, LockState

WAITS = ".. waits for a lock"
GOES_ON = ".. goes on"
POLL_SECONDS = 0.02
"""How often the store is asked while a statement runs; it decides nothing but how soon."""

Run = Callable[[Step], str]


class Locks(Protocol):
    """What is asked of a TxnManager here."""

    def list_locks(self) -> tuple[LockInfo, ...]: ...

    def unlock(self, lock_id: int) -> None: ...

    def abort_txns(self, txn_ids: Iterable[TxnId]) -> None: ...


def uses_sessions(steps: Iterable[Step]) -> bool:
    return any(step.session is not None for step in steps)


def run_sessions(steps: Sequence[Step], sessions: Mapping[str, Run], locks: Locks) -> str:
    """Runs the steps of a script, each by the session it names, and says what they printed.

    ScriptError when a statement does what the script did not foretell, when one is asked of a
    session that waits, and when one still waits at the end. Nothing runs any more on return.
    """
    with ExitStack() as threads:
        parts = {
            name: _Part(name=name, run=run, thread=threads.enter_context(ThreadPoolExecutor(1)))
            for name, run in sessions.items()
        }
        stage = _Stage(parts, locks)
        try:
            blocks = [block for step in steps for block in stage.perform(step)]
            stage.check_end()
        finally:
            stage.clear()
    return "\n".join(blocks)


@dataclass(slots=True, kw_only=True, eq=False)
class _Part:
    """A session in its thread, and the statement it is at."""

    name: str
    run: Run
    thread: ThreadPoolExecutor
    step: Step | None = None
    outcome: Future[str] | None = None

    def begin(self, step: Step) -> None:
        self.step, self.outcome = step, self.thread.submit(self.run, step)

    @property
    def is_busy(self) -> bool:
        return self.outcome is not None and not self.outcome.done()


class _Stage:
    """The sessions of a script. ``_waiting``: those that wait, in the order in which they began."""

    def __init__(self, parts: Mapping[str, _Part], locks: Locks) -> None:
        self._parts = parts
        self._locks = locks
        self._waiting: list[_Part] = []

    def perform(self, step: Step) -> Iterator[str]:
        """What a statement printed, and then those that could go on because of it."""
        part = self._parts[step.session or FIRST_SESSION]
        if part.is_busy:
            raise ScriptError(f"line {step.line}: {_still_waits(part)}")
        before = self._waiting
        part.begin(step)
        self._settle()
        self._waiting = [p for p in (*before, part) if p.is_busy]
        if step.shows(FILES) and (before or self._waiting):  # nobody could say whose files they are
            raise ScriptError(f"line {step.line}: files cannot be shown while a statement waits")
        yield self._block(part)
        yield from (self._block(p, GOES_ON) for p in before if p not in self._waiting)

    def check_end(self) -> None:
        for part in self._waiting:
            raise ScriptError(f"at the end of the script {_still_waits(part)}")

    def clear(self) -> None:
        """Ends what still waits: its transaction is aborted, or its request taken back."""
        while self._busy():
            for lock in self._locks.list_locks():
                if lock.state is LockState.WAITING and lock.txn_id != NO_TXN:
                    self._locks.abort_txns([lock.txn_id])
                elif lock.state is LockState.WAITING:
                    self._locks.unlock(lock.lock_id)
            wait(self._busy(), timeout=POLL_SECONDS)

    def _busy(self) -> list[Future[str]]:
        return [p.outcome for p in self._parts.values() if p.outcome is not None and p.is_busy]

    def _settle(self) -> None:
        """Returns when every statement has ended or waits for a lock that is still there."""
        while busy := self._busy():
            wait(busy, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            # those that have not ended are counted first: who ends meanwhile waits for nothing
            if len(self._busy()) <= len(_requests_that_wait(self._locks.list_locks())):
                return

    def _block(self, part: _Part, note: str = "") -> str:
        """The statement a session is at, and what came of it."""
        assert part.step is not None
        assert part.outcome is not None
        statement = [f"{part.name}> {line}".rstrip() for line in part.step.text.splitlines()]
        if part in self._waiting:
            return "\n".join([*statement, WAITS, ""])
        try:
            outcome = part.outcome.result()
        except Error as error:
            raise ScriptError(f"line {part.step.line}: {type(error).__name__}: {error}") from error
        return "\n".join([*statement, *filter(None, [note]), outcome, ""])


def _requests_that_wait(locks: Sequence[LockInfo]) -> set[int]:
    """The ids of requests that some lock which is still there, or waits before them, keeps
    waiting. One that closes a circle does not wait: it is about to fail.
    """
    known = {(lock.lock_id, lock.part) for lock in locks}
    return {
        lock.lock_id
        for lock in locks
        if lock.state is LockState.WAITING
        and lock.blocked_by in known
        and not _closes_circle(lock, locks)
    }


def _closes_circle(request: LockInfo, locks: Sequence[LockInfo]) -> bool:
    before = sorted(
        (lock for lock in locks if lock.lock_id <= request.lock_id),
        key=lambda lock: (lock.lock_id, lock.part),
    )
    return request.txn_id != NO_TXN and bool(LockQueue(before).deadlock(request.txn_id))


def _still_waits(part: _Part) -> str:
    assert part.step is not None
    return (
        f'session "{part.name}" still waits for a lock, with its statement of line {part.step.line}'
    )
