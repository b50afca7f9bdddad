"""Work in a few threads: on many files at once, and ahead of who takes what comes of it; and in
other processes."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, TypeVar

from acidsql import interrupts
from acidsql.errors import Error
from acidsql.files.fileio import FileIO

# ---- parallel
#
# Work on many files at once, in a few threads.


_THREADS = 8

_MOST_HANDED_OUT = 1024
"""Handing an item to a thread takes as long as looking into a small file."""

_QUICK_SECONDS = 0.0005
"""A look at a file or a directory that takes longer has waited for it."""

_GRACE_SECONDS = 0.02
"""What the first looks may take beside that: much is done for the first time in them."""


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def look_at_all(look: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """Does the work of ``in_parallel`` for short looks at files: as long as they are answered from
    memory, threads would only wait for each other.
    """
    results: list[_Result] = []
    began = time.perf_counter()
    for item in items:
        results.append(look(item))
        if time.perf_counter() - began > _GRACE_SECONDS + _QUICK_SECONDS * len(results):
            break
    return results + in_parallel(look, items[len(results) :])


def in_parallel(
    work: Callable[[_Item], _Result], items: Sequence[_Item], *, threads: int = _THREADS
) -> list[_Result]:
    """Does ``work`` on each item in a few threads; results in order; the first error is raised when
    all have ended.

    After a Ctrl-C no further item is begun.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    size = -(-len(items) // _MOST_HANDED_OUT)
    pieces = [items[at : at + size] for at in range(0, len(items), size)]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        results = pool.map(lambda piece: [work(item) for item in piece], pieces)
        return list(chain.from_iterable(_interruptible(results)))


def _interruptible(items: Iterator[_Item]) -> Iterator[_Item]:
    with contextlib.closing(items) as closing:  # type: ignore[type-var]
        for item in closing:
            interrupts.check()
            yield item


# ---- ahead
#
# Work that is done ahead by a few threads, whose results come in order.


THREADS = min(8, os.cpu_count() or 1)


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


# ---- work in another process
#
# Work on files in another process: errors of ours come back as values, to be raised where the
# statement runs.


Work = Callable[[FileIO, _Item], _Result]


def attempt(
    work: Work[_Item, _Result], io: FileIO, item: _Item
) -> tuple[_Result | Any, Error | None]:
    """The result of the work, or the error it ends with."""
    try:
        return work(io, item), None
    except Error as error:
        return None, error
