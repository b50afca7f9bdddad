"""How wide the columns of a table are on a screen that does not hold them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LEAST = 8
"""A text that is cut to less than this tells nothing."""


class Need(NamedTuple):
    """The width that a column would have, and the least it can be cut to."""

    natural: int
    least: int


def need(name: int, values: int, *, is_rigid: bool) -> Need:
    """What a column needs whose name and widest value have these widths. ``is_rigid``: a value that
    is cut would be another one, as a number's.
    """
    natural = max(name, values)
    return Need(natural, max(values, 1) if is_rigid else min(natural, LEAST))


def fitted(needs: Sequence[Need], screen: int) -> list[int] | None:
    """The widths of columns in a frame that is at most ``screen`` wide: the widest ones are cut,
    and alike. None where they cannot be cut enough.
    """
    room = screen - 3 * len(needs) - 1
    if sum(need.least for need in needs) > room:
        return None
    low, high = 0, max((need.natural for need in needs), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_widths(needs, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return _widths(needs, low)


def _widths(needs: Sequence[Need], cap: int) -> list[int]:
    return [max(need.least, min(need.natural, cap)) for need in needs]
