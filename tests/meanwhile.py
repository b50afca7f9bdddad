"""What happens between two steps of something that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acidsql import crash_points


@contextmanager
def at_point(point: str, action: Callable[[], object]) -> Iterator[None]:
    """Does something once, when whoever runs in the context comes to the point."""

    def hook(reached: str) -> None:
        if reached == point:
            crash_points.hook = None
            action()

    crash_points.hook = hook
    try:
        yield
        assert crash_points.hook is None, f"nobody came to {point}"
    finally:
        crash_points.hook = None
