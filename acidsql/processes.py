"""Processes of this machine: which there are, which run of the machine this is, and children that
end with us.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

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
