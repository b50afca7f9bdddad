"""Tokens of a condition, where a reader stands in them, and the words at which it ends."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.parser.tokens import Token, TokenKind

CLAUSES = frozenset(
    "GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS INTERSECT"
    " QUALIFY LATERAL SELECT INSERT".split()
)
"""Words at which another clause of a query begins."""

JOINS = frozenset(
    "JOIN LEFT RIGHT FULL INNER CROSS SEMI ANTI NATURAL WHERE ON USING PIVOT UNPIVOT".split()
)
"""Words at which the condition of a join ends, too."""


_JOINED = ("<=>", "<=", ">=", "<>", "!=", "==", "||", "::", "->", "=>", "|>", "&&", "<<", ">>")
_MARKS = frozenset("".join(_JOINED))


def join_operators(tokens: Sequence[Token]) -> list[Token]:
    """Operators of several characters as one token."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        count = 1
        if token.kind is TokenKind.MARK and token.text in _MARKS:
            marks = [
                t.text
                for i, t in enumerate(tokens[at : at + 3])
                if t.kind is TokenKind.MARK and t.start == token.start + i
            ]
            operator = next((m for m in _JOINED if "".join(marks).startswith(m)), token.text)
            count = len(operator)
            token = Token(TokenKind.MARK, operator, token.start, tokens[at + count - 1].end)
        joined.append(token)
        at += count
    return joined


class Cursor:
    """Token number ``at`` of ``tokens`` is the next one."""

    def __init__(self, tokens: Sequence[Token], at: int = 0) -> None:
        self.tokens = tokens
        self.at = at

    def is_past_end(self) -> bool:
        return self.at >= len(self.tokens)

    def mark(self, ahead: int = 0) -> str:
        """The mark at hand; empty for anything that is none."""
        at = self.at + ahead
        if at >= len(self.tokens):
            return ""
        kind, text, _, _ = self.tokens[at]
        return text if kind is TokenKind.MARK else ""

    def word(self, ahead: int = 0) -> str:
        """The bare word at hand in upper case; empty for anything that is none."""
        at = self.at + ahead
        return self.tokens[at].word if at < len(self.tokens) else ""

    def take(self, text: str) -> bool:
        """Steps over a word or mark if it is at hand."""
        if self.at >= len(self.tokens):
            return False
        kind, token_text, _, _ = self.tokens[self.at]
        taken = (
            token_text == text
            if kind is TokenKind.MARK
            else kind is TokenKind.WORD and token_text.upper() == text
        )
        self.at += taken
        return taken

    def expect(self, text: str) -> None:
        """Steps over a word or mark. NotHere if another is at hand."""
        if not self.take(text):
            raise NotHere(text)

    def since(self, start: int) -> Span:
        """From the token number ``start`` to the one behind the cursor."""
        return Span(self.tokens[start].start, self.tokens[self.at - 1].end)
