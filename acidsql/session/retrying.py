"""Running a statement again after an error that says so, with growing pauses of random length, so
that those who met once do not meet again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from acidsql import interrupts
from acidsql.errors import Error, InterfaceError, Warning
from acidsql.lazy_dataclass import dataclass

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


@dataclass(slots=True, kw_only=True)
class Attempts:
    """The attempts at one statement, of which the first is followed by ``retries`` at most.

    ``for _ in attempts: with attempts.one(): ..`` ends behind the first one that succeeds.
    ``sleep``: in seconds.
    """

    retries: int
    sleep: Callable[[float], None] = time.sleep
    _failures: list[Error] = field(default_factory=list)
    _succeeded: bool = False

    def __iter__(self) -> Iterator[int]:
        while not self._succeeded:
            yield len(self._failures)

    @contextmanager
    def one(self) -> Iterator[None]:
        """One attempt. A retryable error is kept and waited after, while there are attempts left;
        any other leaves it.
        """
        try:
            yield
        except Error as error:
            if not error.retryable or len(self._failures) >= self.retries:
                raise
            self._failures.append(error)
            self._pause()
        else:
            self._succeeded = True

    def warnings(self) -> list[Warning]:
        """What is to be said of a statement that did not succeed at once."""
        if not self._failures:
            return []
        times = len(self._failures)
        return [
            Warning(
                f"the statement was run again {times} time{'s' * (times > 1)}, the last time"
                f" because: {self._failures[-1].message}"
            )
        ]

    def _pause(self) -> None:
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (len(self._failures) - 1))
        with interrupts.at_once():
            self.sleep(longest * random.uniform(0.5, 1.0))


# ---- blocks
#
# Blocks of statements that are one transaction: ``with`` runs them once, a loop or a function runs
# them again after an error that allows it.


Value = TypeVar("Value")


class _Turn(Protocol):
    @property
    def is_elsewhere(self) -> bool: ...


class _Session(Protocol):
    @property
    def turn(self) -> _Turn: ...
    def begin(self, *, read_only: bool = False, run_id: str | None = None) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


S = TypeVar("S", bound=_Session)


class Block(Generic[S]):
    """A transaction around a ``with``: it commits at the end, and rolls back if an error leaves it.

    A child that was forked inside leaves it to its parent. With ``retries`` it is iterated over,
    since no ``with`` can run its block again.
    """

    def __init__(
        self, session: S, *, read_only: bool, retries: int = 0, run_id: str | None = None
    ) -> None:
        if not isinstance(retries, int) or retries < 0:
            raise InterfaceError("retries is a number of further attempts, 0 or more")
        self._session = session
        self._read_only = read_only
        self._retries = retries
        self._run_id = run_id

    def __enter__(self) -> S:
        if self._retries:
            raise InterfaceError(
                "a with block cannot be run again",
                hint="Write: for attempt in session.transaction(retries=3): with attempt: ..",
            )
        return self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._end(failed=error is not None)

    def __iter__(self) -> Iterator[Attempt[S]]:
        """The attempts, of which the one that succeeds is the last: each is a ``with`` block.

        A retryable error is kept to the attempt while there are further ones, after a rollback and
        a growing pause; any other leaves the loop.
        """
        attempts = Attempts(retries=self._retries)
        for _ in attempts:
            attempt = Attempt(self, attempts)
            yield attempt
            if not attempt.entered:
                raise InterfaceError(
                    "an attempt at a transaction is a with block: with attempt: .."
                )

    def _begin(self) -> S:
        self._session.begin(read_only=self._read_only, run_id=self._run_id)
        return self._session

    def _end(self, *, failed: bool) -> None:
        if self._session.turn.is_elsewhere:
            return
        if failed:
            self._session.rollback()
        else:
            self._session.commit()


class Attempt(Generic[S]):
    """One attempt at a block. ``entered``: whether it was begun."""

    def __init__(self, block: Block[S], attempts: Attempts) -> None:
        self._block = block
        self._one = attempts.one()
        self.entered = False

    def __enter__(self) -> S:
        if self.entered:
            raise InterfaceError("an attempt is entered once")
        self.entered = True
        return self._block._begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Whether the error is kept here, and another attempt follows."""
        with self._one:
            try:
                raise_again(error)
            except BaseException:
                self._block._end(failed=True)
                raise
            self._block._end(failed=False)
        return True


def raise_again(error: BaseException | None) -> None:
    """Raises an error that was caught, if there is one."""
    if error is not None:
        raise error


def run_again(block: Block[S], work: Callable[[S], Value]) -> Value:
    """The value of ``work`` in the first attempt that succeeds."""
    if not callable(work):
        raise InterfaceError(f"what is run again is a function, not {type(work).__name__}")
    for attempt in block:
        with attempt as session:
            value = work(session)
    return value
