"""Where a clause of a statement stands, for those whose words the parser does not keep the place
of.
"""

from __future__ import annotations

from itertools import pairwise

from acidsql.errors import Span
from acidsql.parser.tokens import Token, TokenKind, tokenize


def after_word(source: str, statement: Span, word: str) -> Span:
    """The place of what follows the first ``word`` (upper case) of the statement; the statement's
    own if it is not there.
    """
    return next(
        (
            following.span
            for token, following in pairwise(_tokens(source, statement))
            if token.word == word
        ),
        statement,
    )


def of_string(source: str, statement: Span, text: str) -> Span:
    """The place of the first string literal of the statement that stands for ``text``; the
    statement's own if there is none.
    """
    literals = (
        t for t in _tokens(source, statement) if t.kind is TokenKind.STRING and t.text == text
    )
    return next((token.span for token in literals), statement)


def _tokens(source: str, statement: Span) -> list[Token]:
    return [t for t in tokenize(source) if statement.start <= t.start and t.end <= statement.end]
