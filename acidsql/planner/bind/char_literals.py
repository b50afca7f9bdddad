"""CHAR columns beside literals: as in Hive (HiveChar) and Spark (ApplyCharTypePadding), blanks at
the end of the literal mean nothing.

A value of CHAR is kept and read without them, so the literal loses them too: its closing quote
moves in front of them. All that stands in the text keeps its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from acidsql.catalog.model import Table
from acidsql.catalog.types import CharType
from acidsql.parser.tokens import Token, TokenKind, scan

_SIGNS = frozenset("=<>!")
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)
_BEHIND_VALUE = frozenset({"AS", "IS", "LIKE", "RLIKE", "REGEXP", "ILIKE", "ESCAPE", "COLLATE"})

FindTable = Callable[[tuple[str, ...]], Table | None]
"""The table that a name, or a database and a name, in lower case may stand for."""


def without_blank_ends(source: str, find: FindTable) -> str:
    """The text with the literals beside CHAR columns cut; it is as long as before.

    Only where a name is surely that of a stored column: it says whose it is, or there is but one
    SELECT, it is CHAR in each table of the statement that has it, and nothing else is called so.
    """
    text = source
    for literal in _Comparisons(scan(source).tokens, find).literals():
        written = literal.span.cut(source)
        body = written[:-1].rstrip(" ")
        if not body.endswith("\\"):
            cut = (body + written[-1]).ljust(len(written))
            text = text[: literal.start] + cut + text[literal.end :]
    return text


class _Comparisons:
    """The tokens of a statement; finds ``c = 'x '``, ``'x ' < t.c``, ``c IN ('x ', ..)`` and
    ``c BETWEEN 'x ' AND 'y '``.
    """

    def __init__(self, tokens: Sequence[Token], find: FindTable) -> None:
        self.tokens = tokens
        self.find = find

    @cached_property
    def tables(self) -> list[Table]:
        """What the names of the statement may stand for, looked up for the first comparison."""
        names = {(token.text.lower(),) for token in self.tokens if token.kind in _NAMES}
        qualified = {
            (self.tokens[at - 1].text.lower(), self.tokens[at + 1].text.lower())
            for at in range(1, len(self.tokens) - 1)
            if self._mark(at) == "." and self._is(at - 1, *_NAMES) and self._is(at + 1, *_NAMES)
        }
        tables = map(self.find, sorted(names | qualified))
        return [table for table in tables if table is not None]

    def literals(self) -> Iterator[Token]:
        for at, token in enumerate(self.tokens):
            if self._ends_in_blanks(at) and (self._is_left(at) or self._is_right(at)):
                yield token

    def _ends_in_blanks(self, at: int) -> bool:
        token = self.tokens[at]
        whole = not self._is(at - 1, TokenKind.STRING) and not self._is(at + 1, TokenKind.STRING)
        return token.kind is TokenKind.STRING and token.text.endswith(" ") and whole

    def _is_left(self, at: int) -> bool:
        """``'x ' = c``."""
        behind = self._behind_sign(at + 1)
        return behind is not None and self._starts_value(at) and self._is_char_from(behind)

    def _is_right(self, at: int) -> bool:
        if not self._ends_value(at):
            return False
        before = at - 1
        if self._word(before) == "AND":  # c BETWEEN 'x' AND 'y '
            before -= 2
            return self._word(before) == "BETWEEN" and self._is_char_up_to(self._negated(before))
        if self._word(before) == "BETWEEN":
            return self._is_char_up_to(self._negated(before))
        sign = self._before_sign(before)
        if sign is not None:
            return self._is_char_up_to(sign)
        opened = self._list_start(before)
        return opened is not None and self._is_char_up_to(self._negated(opened))

    def _list_start(self, at: int) -> int | None:
        """The IN of a list of literals, of which the token ``at`` is a comma or the bracket."""
        while self._mark(at) == "," and self.tokens[at - 1].kind in (
            TokenKind.STRING,
            TokenKind.NUMBER,
            TokenKind.WORD,
        ):
            at -= 2
        return at - 1 if self._mark(at) == "(" and self._word(at - 1) == "IN" else None

    def _negated(self, at: int) -> int:
        """The token before IN or BETWEEN, with NOT or without."""
        return at - 2 if self._word(at - 1) == "NOT" else at - 1

    def _before_sign(self, at: int) -> int | None:
        start = at
        while self._mark(at) in _SIGNS:
            at -= 1
        return None if at == start else at

    def _behind_sign(self, at: int) -> int | None:
        start = at
        while self._mark(at) in _SIGNS:
            at += 1
        return None if at == start else at

    def _is_char_up_to(self, end: int) -> bool:
        """Whether the operand whose last token is ``end`` is a CHAR column and nothing more."""
        start = end
        while self._mark(start - 1) == "." and self._is(start - 2, *_NAMES):
            start -= 2
        return self._is(end, *_NAMES) and self._starts_value(start) and self._is_char(start, end)

    def _is_char_from(self, start: int) -> bool:
        end = start
        while self._mark(end + 1) == "." and self._is(end + 2, *_NAMES):
            end += 2
        return self._is(start, *_NAMES) and self._ends_value(end) and self._is_char(start, end)

    def _starts_value(self, at: int) -> bool:
        """Whether no operator stands before it that binds more closely than a comparison."""
        return at == 0 or self._mark(at - 1) in ("(", ",") or bool(self._word(at - 1))

    def _ends_value(self, at: int) -> bool:
        last = at + 1 == len(self.tokens)
        word = self._word(at + 1)
        return last or self._mark(at + 1) in (")", ",") or bool(word and word not in _BEHIND_VALUE)

    def _is_char(self, start: int, end: int) -> bool:
        name = self.tokens[end].text.lower()
        if end > start:
            owners = self._named(self.tokens[end - 2].text.lower())
        else:
            owners = [] if self._may_be_made(name) else self.tables
        types = [
            column.type
            for table in owners
            for column in (*table.columns, *table.partition_columns)
            if column.name == name
        ]
        return bool(types) and all(isinstance(one, CharType) for one in types)

    def _may_be_made(self, name: str) -> bool:
        """Whether a name alone may be that of a value that the statement makes."""
        selects = sum(self._word(at) == "SELECT" for at in range(len(self.tokens)))
        return selects > 1 or any(
            self._word(at - 1) == "AS" and token.text.lower() == name
            for at, token in enumerate(self.tokens)
            if token.kind in _NAMES
        )

    def _named(self, alias: str) -> list[Table]:
        """The tables that go by a name, their own or one behind it."""
        return [
            table
            for table in self.tables
            if alias == table.name.table
            or any(
                token.text.lower() == table.name.table and alias in self._aliases(at)
                for at, token in enumerate(self.tokens)
                if token.kind in _NAMES
            )
        ]

    def _aliases(self, at: int) -> tuple[str, ...]:
        behind = at + 2 if self._word(at + 1) == "AS" else at + 1
        return (self.tokens[behind].text.lower(),) if self._is(behind, *_NAMES) else ()

    def _is(self, at: int, *kinds: TokenKind) -> bool:
        return 0 <= at < len(self.tokens) and self.tokens[at].kind in kinds

    def _mark(self, at: int) -> str:
        return self.tokens[at].text if self._is(at, TokenKind.MARK) else ""

    def _word(self, at: int) -> str:
        return self.tokens[at].word if self._is(at, TokenKind.WORD) else ""
