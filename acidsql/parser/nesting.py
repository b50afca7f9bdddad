"""How deeply a statement nests, found without recursion: brackets, CASE .. END, and the angle
brackets of types.

Every reader behind the tokens (sqlglot, Spark, those of types) goes down one level by calling
itself, and each ends somewhere in an overflow. What is deeper than any of them can go is refused
here, with its place; what only some of them cannot do ends in the same error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from acidsql.errors import Error, NestingError, Span
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.tokens import Token, TokenKind, scan

MAX_NESTING = 1000
"""Levels of a statement: Spark's own parser gives up at some 200 to 700 of them."""
MAX_TYPE_NESTING = 50
"""Levels of a column type, MAP being two: Arrow carries rows of no more than 64."""
MAX_PREFIXES = 400
"""Signs and NOTs in front of one operand."""
FEW_TOKENS, FEW_BRACKETS = MAX_PREFIXES, MAX_TYPE_NESTING // 2
"""A text with no more of both cannot nest too deeply: the bracket of a MAP stands for two levels,
any other for one.
"""

HINT = "Compute parts of it first: in a WITH clause, a view or a table."
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BRACKETS = frozenset(")]}")
_LEVELS_OF_TYPE = {"ARRAY": 1, "MAP": 2, "STRUCT": 1}
_PREFIXES = frozenset({"NOT", "-", "+", "~", "!"})


class Group(NamedTuple):
    """Tokens ``first`` to ``last``: a bracket and the one that closes it, or CASE and END.

    ``depth``: 1 for the outermost. ``types``: the levels of the type that the angle brackets around
    it, and it, make. ``in_lambda``: it stands in the body of ``x -> ..``.
    """

    first: int
    last: int
    depth: int
    types: int
    in_lambda: bool


@dataclass(slots=True)
class _Open:
    first: int
    closing: str
    types: int
    in_lambda: bool
    has_arrow: bool = False


def groups(tokens: Sequence[Token]) -> Iterator[Group]:
    """Every group, an inner one before those around it; what is never closed ends with the text."""
    opened = [_Open(-1, "", 0, False)]
    for index, token in enumerate(tokens):
        if closing := _closing(tokens, index):
            levels = _type_levels(tokens, index) if closing == ">" else 0
            opened.append(_opened(opened[-1], index, closing, levels))
        elif token.is_mark(">") and index and tokens[index - 1].is_mark("-"):
            opened[-1].has_arrow = True
        elif token.kind in (TokenKind.MARK, TokenKind.WORD):
            yield from _closed(opened, token.text.upper(), index)
    while len(opened) > 1:
        yield _group(opened, len(tokens) - 1)


def _opened(around: _Open, index: int, closing: str, type_levels: int = 0) -> _Open:
    in_lambda = around.in_lambda or around.has_arrow
    return _Open(index, closing, around.types + type_levels, in_lambda)


def _closing(tokens: Sequence[Token], index: int) -> str:
    """What closes the group that a token opens; empty where it opens none."""
    token = tokens[index]
    if token.kind is TokenKind.MARK:
        is_comparison = token.text == "<" and not _type_levels(tokens, index)
        return "" if is_comparison else _CLOSING.get(token.text, "")
    return "END" if token.word == "CASE" and not _is_field(tokens, index) else ""


def _closed(opened: list[_Open], closing: str, index: int) -> Iterator[Group]:
    """The innermost group that a bracket closes, and the groups left open inside it. END and ``>``
    may be other things, too: they close none but the innermost of all.
    """
    if closing in _BRACKETS or opened[-1].closing == closing:
        depth = next((d for d in range(len(opened) - 1, 0, -1) if opened[d].closing == closing), 0)
        while depth and len(opened) > depth:
            yield _group(opened, index)


def _group(opened: list[_Open], last: int) -> Group:
    one = opened.pop()
    return Group(one.first, last, len(opened), one.types, one.in_lambda)


def _is_field(tokens: Sequence[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].is_mark(".")


def _type_levels(tokens: Sequence[Token], index: int) -> int:
    """The levels that the type with this angle bracket adds; 0 for a comparison."""
    return _LEVELS_OF_TYPE.get(tokens[index - 1].word, 0) if index else 0


def check_nesting(text: str, tokens: Sequence[Token]) -> None:
    """NestingError for a statement that nests deeper than anything here can read."""
    _check_groups(text, tokens)
    _check_prefixes(text, tokens)


def _check_groups(text: str, tokens: Sequence[Token]) -> None:
    beyond = [g for g in groups(tokens) if g.depth > MAX_NESTING or g.types > MAX_TYPE_NESTING]
    if not beyond:
        return
    first = min(beyond)
    what, limit = (
        ("type", MAX_TYPE_NESTING) if first.types > MAX_TYPE_NESTING else ("", MAX_NESTING)
    )
    raise NestingError(
        f"this {what or 'statement'} is nested more than {limit} levels deep",
        hint=None if what else HINT,
        span=tokens[first.first].span,
        source=text,
    )


def _check_prefixes(text: str, tokens: Sequence[Token]) -> None:
    run = 0
    for token in tokens:
        run = (
            run + 1
            if token.kind in (TokenKind.MARK, TokenKind.WORD) and (token.text.upper() in _PREFIXES)
            else 0
        )
        if run > MAX_PREFIXES:
            raise NestingError(
                f"more than {MAX_PREFIXES} signs or NOTs stand before one operand",
                span=token.span,
                source=text,
            )


def nested_too_deeply(text: str, reader: str = "acidsql") -> NestingError:
    """The error for a statement that ``reader`` could not read to its bottom: it points at where
    the statement is deepest.
    """
    return NestingError(
        f"the statement is nested too deeply for {reader}",
        hint=HINT,
        span=deepest(text),
        source=text,
    )


def deepest(text: str) -> Span:
    """The first token of the innermost group; of a text without any, its first token."""
    tokens = scan(text).tokens
    innermost = max(groups(tokens), key=lambda group: (group.depth, -group.first), default=None)
    if innermost is not None:
        return tokens[innermost.first].span
    return tokens[0].span if tokens else Span(0, len(text))


@contextmanager
def placed_in(source: str) -> Iterator[None]:
    """Tells every error that leaves it the text of its statement; a stack that ran out is an error
    at the place where the text is deepest.
    """
    try:
        yield
    except RecursionError:
        raise nested_too_deeply(source) from None
    except NestingError as error:
        if error.span is None:
            error.span, error.source = deepest(source), source
        raise
    except Error as error:
        if error.source is None:
            if error.span is None and error.fragment and source.count(error.fragment) == 1:
                start = source.index(error.fragment)
                error.span = Span(start, start + len(error.fragment))
            error.at(source)
        raise
