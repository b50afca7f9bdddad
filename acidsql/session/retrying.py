"""Running a statement again after an error that says so, with growing pauses of random length, so
that those who met once do not meet again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from acidsql import interrupts
from acidsql.errors import Error, Warning
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
