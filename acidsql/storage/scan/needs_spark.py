"""What is said of files whose values only Spark surely reads as Spark does."""

from __future__ import annotations


class NeedsSpark(Exception):  # noqa: N818  (a signal between two functions, not an error)
    """The files are read by Spark. ``reason``: why, as a clause for EXPLAIN."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
