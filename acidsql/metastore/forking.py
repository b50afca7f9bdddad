"""No connection to a store crosses a fork.

SQLite keeps its locks in the memory of the process, and the kernel keeps them for the process: a
child would take its parent's locks for its own, and skip those it needs, even for a connection it
opens itself. So before a fork all threads finish what they do in a store, and what is open is
closed; parent and child then open anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

_PATIENCE_SECONDS = 5.0
"""A thread inside may be waiting for the process that is about to be started."""


class HasConnections(Protocol):
    def drop_connections(self) -> None:
        """Closes the connections that nobody uses."""


class _Gate:
    """A gate that all use of a store passes through; shut while the process forks."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._shut = False
        self._inside: dict[int, int] = {}

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Lets a thread in while the gate is open; one that is inside may pass again."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._shut or me in self._inside)
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                    self._changed.notify_all()

    def shut(self) -> None:
        """Shuts the gate; returns when no other thread is inside, or stays there very long."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._shut)
            self._shut = True
            self._changed.wait_for(lambda: self._inside.keys() <= {me}, _PATIENCE_SECONDS)

    def open(self) -> None:
        with self._changed:
            self._shut = False
            self._changed.notify_all()


_gate = _Gate()
_stores: WeakSet[HasConnections] = WeakSet()


@contextmanager
def no_fork() -> Iterator[None]:
    """A fork of this process waits until the block ends."""
    with _gate.passed():
        yield


def watch(store: HasConnections) -> None:
    """Makes sure that from now on ``store`` has no connections whenever the process forks."""
    with _gate.passed():
        _stores.add(store)


def _before() -> None:
    _gate.shut()
    for store in list(_stores):
        store.drop_connections()


def _in_parent() -> None:
    _gate.open()


def _in_child() -> None:
    global _gate
    _gate = _Gate()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
