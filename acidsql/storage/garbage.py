"""Python's collector of cyclic garbage, while very many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Holds the collector back, but not for what may take long: no thread's cycles are freed
    meanwhile.

    The collector looks through all objects whenever their number has grown by a quarter. Of a
    snapshot of 100,000 files that is a sixth of the time, and none of them is garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
