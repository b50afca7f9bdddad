"""How much a query may hold in memory: the rows that it sorts, its groups, its answer."""

from __future__ import annotations

from collections.abc import Callable

from acidsql.expressions.not_here import NotHere

Held = Callable[[int, int], None]
"""Told how many rows are held, and how many bytes they weigh; NotHere where that is too much."""


def hold_all(rows: int, weight: int) -> None:
    """However much it is."""


def at_most(max_bytes: int | None) -> Held:
    """``max_bytes``, any number for None; one row may weigh what it likes."""

    def held(rows: int, weight: int) -> None:
        if max_bytes is not None and weight > max_bytes and rows > 1:
            raise NotHere("more rows than the driver may hold")

    return held
