"""The one signal, and the one value, that says: not here, because .."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acidsql.lazy import dataclass

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


# ---- values that a column does not hold
#
# What is said of a value that is to be converted without an engine: that only Spark can tell, or
# that the column does not hold it as it is written.


@dataclass(frozen=True, slots=True)
class Lossy:
    """What a column holds in place of a literal it cannot hold: NULL, or what is left of it.

    ``refused``: strict SQL (``acidsql.ansi``) takes the literal for an error.
    """

    value: Any
    refused: bool = True


NULL = Lossy(None)
