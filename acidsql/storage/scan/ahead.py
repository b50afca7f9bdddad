"""Work that is done ahead by a few threads, whose results come in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from acidsql import interrupts

THREADS = min(8, os.cpu_count() or 1)

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Workers:
    """The threads of one session's scans. They stay between scans: what a new thread first
    allocates comes from the kernel, page by page.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="acidsql-scan")

    def close(self) -> None:
        """Lets the threads go once what they were given is done."""
        self._pool.shutdown(wait=False)

    def ahead(self, work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
        """``work`` on each item; results in order.

        As many items of all scans are worked on as there are threads, and of each as many results
        wait to be fetched: no more lies in memory. The first error is raised in its place. Who
        stops fetching closes the iterator, and no further item is begun.
        """
        rest = iter(items)
        first = list(islice(rest, 2))
        if len(first) < 2:
            yield from map(work, first)
            return
        waiting: deque[Future[_Result]] = deque()
        try:
            waiting.extend(self._begin(work, item) for item in first)
            waiting.extend(self._begin(work, item) for item in islice(rest, 2 * THREADS - 2))
            while waiting:
                interrupts.check()
                result = waiting.popleft().result()
                waiting.extend(self._begin(work, item) for item in islice(rest, 1))
                yield result
        finally:
            for future in waiting:
                future.cancel()

    def _begin(self, work: Callable[[_Item], _Result], item: _Item) -> Future[_Result]:
        try:
            return self._pool.submit(work, item)
        except RuntimeError:  # the session is closed: its scan goes on in the thread that reads it
            done: Future[_Result] = Future()
            done.set_result(work(item))
            return done
