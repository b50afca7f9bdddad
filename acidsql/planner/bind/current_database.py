"""``current_database()`` and ``current_schema()``: the session's database, which Spark does not
know. In the text for Spark its name stands in their place, in trees for the driver a constant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.errors import Span
from acidsql.expressions.query_text import Edit
from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.parser.tokens import Token, TokenKind, tokenize

CALLS = frozenset({"CURRENT_DATABASE", "CURRENT_SCHEMA"})
_MENTIONED = re.compile("|".join(CALLS), re.IGNORECASE)
_BEHIND_ITEMS = frozenset(
    "FROM WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW QUALIFY LATERAL"
    " UNION EXCEPT MINUS INTERSECT".split()
)
"""Words that end a SELECT list."""


def database_edits(source: str, span: Span, database: str) -> list[Edit]:
    """What puts the name of ``database`` in the place of the calls in a text. A column that is
    such a call and nothing more keeps the name that it has of it.
    """
    if _MENTIONED.search(source, span.start, span.end) is None:
        return []
    tokens = [token.moved(span.start) for token in tokenize(span.cut(source))]
    starts = _item_starts(tokens)
    edits = []
    for at in range(len(tokens) - 2):
        if _is_call(tokens, at):
            is_item = at in starts and _ends_item(tokens, at + 3)
            named = f" AS {identifier(called(tokens[at].text))}" if is_item else ""
            call = Span(tokens[at].start, tokens[at + 2].end)
            edits.append(Edit(call, (text_literal(database) + named,)))
    return edits


def called(function: str) -> str:
    """What a column that is a call of ``function`` is called."""
    return f"{function.lower()}()"


def _is_call(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    return (
        token.kind in (TokenKind.WORD, TokenKind.QUOTED)
        and token.text.upper() in CALLS
        and tokens[at + 1].is_mark("(")
        and tokens[at + 2].is_mark(")")
        and not (at and tokens[at - 1].is_mark("."))
    )


def _item_starts(tokens: Sequence[Token]) -> set[int]:
    """The places of tokens with which an item of a SELECT list begins."""
    starts: set[int] = set()
    levels = [False]  # whether a SELECT list is open, for each bracket that is
    for at, token in enumerate(tokens):
        if token.is_mark("(") or token.is_mark("["):
            levels.append(False)
        elif token.is_mark(")") or token.is_mark("]"):
            levels = levels[:-1] or [False]
        elif token.word == "SELECT" or (levels[-1] and token.is_mark(",")):
            levels[-1] = True
            starts.add(at + 1)
        elif token.word in ("DISTINCT", "ALL") and at in starts:
            starts.add(at + 1)
        elif token.word in _BEHIND_ITEMS:
            levels[-1] = False
    return starts


def _ends_item(tokens: Sequence[Token], at: int) -> bool:
    if at == len(tokens):
        return True
    return tokens[at].is_mark(",") or tokens[at].is_mark(")") or tokens[at].word in _BEHIND_ITEMS
