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


def ahead(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """``work`` on each item; results in order.

    As many items are worked on as there are threads, and as many results wait to be fetched: no
    more lies in memory. The first error is raised in its place. Whoever stops fetching closes the
    iterator, and no further item is begun.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="acidsql-scan")
    try:
        waiting: deque[Future[_Result]] = deque(pool.submit(work, item) for item in first)
        waiting.extend(pool.submit(work, item) for item in islice(rest, 2 * THREADS - 2))
        while waiting:
            interrupts.check()
            result = waiting.popleft().result()
            waiting.extend(pool.submit(work, item) for item in islice(rest, 1))
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
