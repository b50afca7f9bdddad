"""Processes of this machine: which there are, and which run of the machine this is."""

from __future__ import annotations

import os
from contextlib import suppress


def exists(pid: int) -> bool:
    """Whether a process exists, also one of another user, which /proc may hide."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def boot_id() -> str:
    """What tells this run of the machine from another; "" where nothing does."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as boot:
        return boot.read().strip()
    return ""
