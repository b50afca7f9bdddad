"""Sequences in pieces of a size: ``itertools.batched`` of Python 3.12, by slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

_Items = TypeVar("_Items", bound=Sequence[object])


def batched(items: _Items, size: int) -> Iterator[_Items]:
    """Slices of ``items`` in their order, each of ``size`` items but for the last; none of an empty
    sequence.
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]  # type: ignore[misc]
