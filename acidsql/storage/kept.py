"""What a session keeps of what it has read, up to a weight, for all its threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Thing = TypeVar("Thing")


class Kept(Generic[Key, Thing]):
    """Things that weigh ``most`` together at most: those that were asked for last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Key, tuple[Thing, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def find(self, key: Key) -> Thing | None:
        """What is kept under the key."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def keep(self, key: Key, thing: Thing, weight: int) -> None:
        """Keeps it, unless something is kept under the key, or it alone weighs too much."""
        with self._lock:
            if key in self._kept or weight > self._most:
                return
            self._kept[key] = thing, weight
            self._total += weight
            while self._total > self._most:
                _, (_, gone) = self._kept.popitem(last=False)
                self._total -= gone

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._total = 0
