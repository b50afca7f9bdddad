"""Statements put together around SQL that a user gave for a part of them: what is said of one
points into what he wrote, and counts its lines and columns. ``own`` are his texts, in the order in
which they stand in the statement, each as ``enclosed`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from acidsql.errors import Error, InterfaceError, Span, Warning
from acidsql.expressions.reader import read_expression
from acidsql.parser.parameters import Params, bound_span
from acidsql.parser.tokens import tokenize
from acidsql.planner.bind.query_tree import parse_expression

_OPENED, _CLOSED = "(\n", "\n)"


def enclosed(text: str) -> str:
    """An expression that ends where it ends, whatever stands in it."""
    return f"{_OPENED}{text}{_CLOSED}"


def check_expression(text: str) -> None:
    """ParseError unless the text is one expression, whatever stands around it."""
    if not isinstance(text, str):
        raise InterfaceError(f"{text!r} is no text of SQL")
    if text.strip().upper() != "DEFAULT" and read_expression(text, tokenize(text)) is None:
        parse_expression(text, Span(0, len(text)))


@contextmanager
def in_own_text(statement: str, own: Sequence[str], params: Params | None = None) -> Iterator[None]:
    """Errors that leave it point into ``own``, or nowhere."""
    try:
        yield
    except Error as error:
        move(error, statement, own, params)
        raise


def move(
    problem: Error | Warning, statement: str, own: Sequence[str], params: Params | None = None
) -> None:
    """Has an error or a warning point into that text of ``own`` which it speaks of; what it says of
    words around these has no place.
    """
    source, at, problem.source, problem.span = problem.source, problem.span, None, None
    if source is None or at is None:
        return
    for span in _spans(statement, own):
        part = span
        if source != statement and params is not None:
            part = bound_span(statement, params, span)
        if part.start <= at.start <= part.end + len(_CLOSED) - 1:
            problem.source = part.cut(source)
            end = len(problem.source.rstrip())
            is_behind = at.start >= part.end
            problem.span = Span(end, end) if is_behind else at.shift(-part.start)
            return


def _spans(statement: str, own: Sequence[str]) -> Iterator[Span]:
    end = 0
    for text in own:
        at = statement.find(enclosed(text), end)
        if at >= 0:  # DEFAULT stands by itself
            start = at + len(_OPENED)
            end = start + len(text)
            yield Span(start, end)
