"""Named points on the commit path where a test may kill the process. Costs one attribute look-up;
nothing is set in production.
"""

from __future__ import annotations

from collections.abc import Callable

hook: Callable[[str], None] | None = None
"""Called with the point's name. Tests set it in a process of their own and kill that process there.
"""


def reached(point: str) -> None:
    """The statement has come to ``point``."""
    if hook is not None:
        hook(point)
