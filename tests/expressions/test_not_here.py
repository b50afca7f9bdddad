"""The signal that leaves a way, and the reason that is kept of it."""

from __future__ import annotations

import pickle

from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere


def test_what_is_kept_holds_no_frames() -> None:
    """A plan that says why it has no way keeps the reason and the place, and nothing that ran."""
    try:
        raise NotHere("a sub-query", Span(3, 9))
    except NotHere as signal:
        kept = signal.to_keep()
    assert (kept.reason, kept.span) == ("a sub-query", Span(3, 9))
    assert kept.__traceback__ is None
    assert kept.__context__ is None


def test_it_is_told_across_processes() -> None:
    """Its reason and its place come back as they went."""
    copied = pickle.loads(pickle.dumps(NotHere("a window", Span(1, 2))))
    assert (copied.reason, copied.span, str(copied)) == ("a window", Span(1, 2), "a window")
