"""Work on many files at once, in a few threads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

from acidsql import interrupts

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
