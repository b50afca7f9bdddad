"""Threads that encode rows. They are the processors' and shared by all files that are written at
once, so that a file alone keeps all of them busy, and many files hold no more in memory than one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore
from types import TracebackType
from typing import Self, TypeVar

from acidsql.storage.scan.ahead import THREADS

_Result = TypeVar("_Result")


class Encoders:
    """Does as many pieces of work at once as there are threads; who brings another one waits.
    Behind its ``with`` none is in hand.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="acidsql-encode")
        self._free = BoundedSemaphore(threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, work: Callable[[], _Result]) -> Future[_Result]:
        """Lets a thread do ``work``, as soon as one is free."""
        self._free.acquire()
        try:
            future = self._pool.submit(work)
        except BaseException:
            self._free.release()
            raise
        future.add_done_callback(lambda _: self._free.release())
        return future
