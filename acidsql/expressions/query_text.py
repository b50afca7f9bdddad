"""The text Spark receives: the user's own words, cut by span, with our pieces between them.

Nothing of a query is ever regenerated from a syntax tree, because that changes meaning; it is
copied, and only table names, ``*`` beside ROW__ID and the like are replaced. Because every piece
knows where it came from, a place in Spark's text leads back to a place in the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from acidsql.errors import Span
from acidsql.lazy_dataclass import dataclass

GIVEN = "acidsql_given_"
"""Begins the name of a column that holds a value before it is stored: ``(value) AS name``."""
_GIVEN_NAME = re.compile(rf"lateralAliasReference\(({GIVEN}\w+)\)|({GIVEN}\w+)")
"""Finds such a name in Spark's messages."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The user's own text."""

    span: Span


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the name of the view of read number ``index`` will stand."""

    index: int


Piece = str | Slice | Slot


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``span`` of the source by ``pieces``; an empty span inserts."""

    span: Span
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class QueryText:
    source: str
    pieces: tuple[Piece, ...]

    @property
    def slots(self) -> frozenset[int]:
        """The numbers of the reads that stand in it."""
        return frozenset(piece.index for piece in self.pieces if isinstance(piece, Slot))

    def render(self, views: Sequence[str]) -> str:
        """The SQL for Spark; ``views[i]`` is the view of read ``i``."""
        return "".join(text for text, _ in self._rendered(views))

    def source_span(self, offset: int, views: Sequence[str]) -> Span | None:
        """The user's place of a character of the rendered text: None where the
        character is ours.
        """
        at = 0
        for text, origin in self._rendered(views):
            if at <= offset < at + len(text):
                if origin is None:
                    return None
                start = (
                    origin.start
                    if origin.end - origin.start != len(text)
                    else origin.start + offset - at
                )
                return Span(start, _word_end(self.source, start))
            at += len(text)
        return None

    def only_span(self, rendered: Span, views: Sequence[str]) -> Span | None:
        """The user's words in a part of the rendered text, or in the value that it calls by a name
        of ours, without the blanks around them; None where they are from several places.
        """
        at, inside = 0, []
        for text, origin in self._rendered(views):
            if origin and text.strip() and at < rendered.end and rendered.start < at + len(text):
                inside.append((text, origin))
            at += len(text)
        if not inside:
            name = _GIVEN_NAME.search(self.render(views)[rendered.start : rendered.end])
            return None if name is None else self._given_span(name[name.lastindex or 0])
        if len(inside) != 1:
            return None
        [(text, origin)] = inside
        start = origin.start + len(text) - len(text.lstrip())
        return Span(start, start + len(text.strip()))

    def in_users_words(self, message: str) -> str:
        """A message of Spark's with the user's words for names that we have given to them."""

        def words(match: re.Match[str]) -> str:
            span = self._given_span(match[match.lastindex or 0])
            return match[0] if span is None else span.cut(self.source)

        return _GIVEN_NAME.sub(words, message)

    def _given_span(self, name: str) -> Span | None:
        """The user's words in front of a name that is given to a value (see GIVEN)."""
        last: int | None = None
        for number, piece in enumerate(self.pieces):
            if isinstance(piece, str) and piece.endswith(f" AS {name}"):
                last = number
        if last is None:
            return None
        first = last
        while first and not (
            isinstance(piece := self.pieces[first - 1], str) and piece[-1:] == "("
        ):
            first -= 1
        return QueryText(self.source, self.pieces[first:last]).whole_span()

    def whole_span(self) -> Span | None:
        """The part of the user's text that holds all his words; None where there are none."""
        spans = [
            p.span for p in self.pieces if isinstance(p, Slice) and p.span.cut(self.source).strip()
        ]
        if not spans:
            return None
        start, end = min(s.start for s in spans), max(s.end for s in spans)
        text = self.source[start:end]
        return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    def end_before(self, offset: int, views: Sequence[str]) -> Span | None:
        """The place behind the user's last words before a character of the rendered text."""
        at, end = 0, None
        for text, origin in self._rendered(views):
            if at > offset:
                break
            if origin is not None:
                end = Span(origin.end, origin.end + 1)
            at += len(text)
        return end

    def _rendered(self, views: Sequence[str]) -> Iterator[tuple[str, Span | None]]:
        for piece in self.pieces:
            match piece:
                case str():
                    yield piece, None
                case Slice(span):
                    yield span.cut(self.source), span
                case Slot(index):
                    yield views[index], None


def edited(span: Span, edits: Iterable[Edit]) -> tuple[Piece, ...]:
    """The slice ``span`` with ``edits`` (all inside it, not overlapping) applied."""
    ordered = sorted(edits, key=lambda e: (e.span.start, e.span.end))
    for before, after in pairwise(ordered):
        assert before.span.end <= after.span.start, (before, after)
    pieces: list[Piece] = []
    at = span.start
    for edit in ordered:
        pieces += [Slice(Span(at, edit.span.start)), *edit.pieces]
        at = edit.span.end
    return (*pieces, Slice(Span(at, span.end)))


def _word_end(source: str, start: int) -> int:
    end = start
    while end < len(source) and (source[end].isalnum() or source[end] in "_$"):
        end += 1
    return max(end, start + 1)
