"""Processes of this machine: which there are, which run of the machine this is, how a store names
them, and children that end with us.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Protocol
from weakref import WeakSet

from acidsql.lazy import dataclass

_PR_SET_PDEATHSIG = 1


def exists(pid: int) -> bool:
    """Whether a process exists, also one of another user, which /proc may hide."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def is_leaving() -> bool:
    """Whether this process ends: what a thread of the background starts now, nobody ends."""
    return not threading.main_thread().is_alive()


def boot_id() -> str:
    """What tells this run of the machine from another; "" where nothing does."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as boot:
        return boot.read().strip()
    return ""


def told_of_our_end() -> Callable[[], None]:
    """What a child calls before its command (``preexec_fn``) to get SIGTERM when we end, however
    that is; it keeps that over ``exec``. Only Linux can do it: elsewhere nothing is done.

    To Linux we end with the thread that starts the child: it has to live as long as the child may.
    """
    if sys.platform != "linux":
        return lambda: None
    import ctypes

    prctl = ctypes.CDLL(None, use_errno=True).prctl  # looked up here: the child must not wait
    parent = os.getpid()

    def tell() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # we had ended before
            os.kill(os.getpid(), signal.SIGKILL)

    return tell


# ---- identities
#
# The process that opened a transaction, named so that its death is not taken for a time-out, and a
# reused pid from the old one.
#
# The name goes into ``TXN_AGENT_INFO``. Judging needs the same machine, boot and pid namespace
# (containers often share a host name); where any of it cannot be told, the process counts as alive
# and the heartbeat decides.


_TEXT = re.compile(r"acidsql pid=(\d+) start=(\d+) machine=(\S+)")
_PID_FIELDS_SKIPPED = 2
_START_TIME = 22
_STATE = 3
_DEAD_STATES = ("Z", "X", "x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of some machine. ``start`` is the kernel's start time in ticks since boot;
    ``machine`` names boot and pid namespace. 0 and "" = not known.
    """

    pid: int
    start: int
    machine: str

    @classmethod
    def current(cls) -> Process:
        return _living(os.getpid())

    @classmethod
    def parse(cls, text: str | None) -> Process | None:
        """The process that ``str`` wrote down; None for any other text (Hive puts other things
        there).
        """
        match = _TEXT.fullmatch(text or "")
        return cls(pid=int(match[1]), start=int(match[2]), machine=match[3]) if match else None

    def __str__(self) -> str:
        return f"acidsql pid={self.pid} start={self.start} machine={self.machine or '-'}"

    @property
    def boot(self) -> str:
        """Names the boot of its machine; "" where that cannot be told."""
        return self.machine.partition(".")[0].rstrip("-")

    def is_of_boot(self, observer: Process) -> bool:
        """Whether the machine has surely not lost its power since."""
        return bool(self.boot) and self.boot == observer.boot

    def is_gone(self, observer: Process) -> bool:
        """Whether it has surely ended, as ``observer`` (the current process) sees it."""
        if not observer.machine or self.machine != observer.machine or not self.start:
            return False
        start = _start_time(self.pid)
        return start != self.start if start is not None else not exists(self.pid)


@lru_cache(maxsize=4)
def _living(pid: int) -> Process:
    """This process, of which nothing changes while it lives; a fork has a number of its own."""
    return Process(pid=pid, start=_start_time(pid) or 0, machine=_machine())


def _start_time(pid: int) -> int | None:
    """The start of a process in ticks since boot; 0 for a dead process that its parent has not
    collected yet; None if there is nothing to see.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            text = stat.read().decode(errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name, in parentheses, may hold blanks
    if fields[_STATE - _PID_FIELDS_SKIPPED - 1] in _DEAD_STATES:
        return 0
    return int(fields[_START_TIME - _PID_FIELDS_SKIPPED - 1])


def _machine() -> str:
    boot = boot_id().replace("-", "")
    with suppress(OSError):
        namespace = re.sub(r"\D", "", os.readlink("/proc/self/ns/pid"))
        return f"{boot}.{namespace}" if boot else ""
    return ""


# ---- no connection to a store crosses a fork


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
