"""The one signal, and the one value, that says: not here, because .."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acidsql.errors import Span

THESE_WORDS = "these words"
"""The reason where words are not read, or not understood, and nothing more is to be told."""


class NotHere(Exception):  # noqa: N818  (a signal between two functions, not an error)
    """What is asked for is left to another way, mostly to Spark. ``reason``: why, as a clause for
    EXPLAIN. ``span``: the place in the user's text, where there is one. ``begun``: it took work to
    find that out.

    Raised it leaves a way before anything is done; kept in a plan it says why there is no such way.
    """

    def __init__(self, reason: str, span: Span | None = None, *, begun: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.begun = begun

    def to_keep(self) -> NotHere:
        """This signal without the frames that a raised one holds."""
        return NotHere(self.reason, self.span)
