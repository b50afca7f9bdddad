"""What is the session's, and Spark does not know: ``current_database()`` and ``current_schema()``,
in whose place the name stands in the text for Spark, and in trees for the driver a constant; and
the clock of its time zone, which ``current_timestamp()`` and the like show, where Spark's shows
that of UTC.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from acidsql.errors import Span
from acidsql.expressions.query_text import Edit
from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.expressions.values import is_utc
from acidsql.parser.tokens import Token, TokenKind, tokens_in

CALLS = frozenset({"CURRENT_DATABASE", "CURRENT_SCHEMA"})
_MENTIONED = re.compile("|".join(CALLS), re.IGNORECASE)
_NOW = "from_utc_timestamp(current_timestamp(), {zone})"
_MOMENTS = {
    "CURRENT_TIMESTAMP": _NOW,
    "NOW": _NOW,
    "LOCALTIMESTAMP": f"CAST({_NOW} AS timestamp_ntz)",
    "CURRENT_DATE": f"CAST({_NOW} AS date)",
    "CURDATE": f"CAST({_NOW} AS date)",
    "CURRENT_TIMEZONE": "{zone}",
}
_BARE = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP"))
"""The words for now that need no brackets."""
_TOLD = re.compile("|".join(_MOMENTS), re.IGNORECASE)
_BEFORE_VALUES = frozenset(
    "SELECT DISTINCT ALL WHERE HAVING AND OR NOT ON BY BETWEEN IN LIKE CASE WHEN THEN ELSE IS DIV"
    " RETURN".split()
)
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
    tokens = tokens_in(source, span)
    starts = _item_starts(tokens)
    edits = []
    for at in range(len(tokens) - 2):
        if _is_call(tokens, at):
            is_item = at in starts and _ends_item(tokens, at + 3)
            named = f" AS {identifier(called(tokens[at].text))}" if is_item else ""
            call = Span(tokens[at].start, tokens[at + 2].end)
            edits.append(Edit(call, (text_literal(database) + named,)))
    return edits


def moment_edits(source: str, span: Span, zone: str, columns: Set[str] = frozenset()) -> list[Edit]:
    """What puts the clock of ``zone`` in the place of the words for now and today in a text.
    ``columns``: of the tables there, in lower case; a word that is one of them is a column.
    """
    if is_utc(zone) or _TOLD.search(source, span.start, span.end) is None:
        return []
    tokens = tokens_in(source, span)
    starts = _item_starts(tokens)
    edits = []
    for at, token in enumerate(tokens):
        width = _moment_width(tokens, at, columns)
        if width:
            word = token.text
            is_item = at in starts and _ends_item(tokens, at + width)
            named = f" AS {identifier(called(word))}" if is_item else ""
            shown = _MOMENTS[word.upper()].format(zone=text_literal(zone))
            call = Span(token.start, tokens[at + width - 1].end)
            edits.append(Edit(call, (shown + named,)))
    return edits


def moments_shown(text: str, zone: str) -> str:
    """A text of its own, such as a column's DEFAULT, with the clock of ``zone``."""
    for edit in reversed(moment_edits(text, Span(0, len(text)), zone)):
        text = f"{text[: edit.span.start]}{edit.pieces[0]}{text[edit.span.end :]}"
    return text


def _moment_width(tokens: Sequence[Token], at: int, columns: Set[str]) -> int:
    """How many tokens a word for now is of that stands there; 0 if there is none."""
    token = tokens[at]
    before = tokens[at - 1] if at else None
    if token.text.upper() not in _MOMENTS or (before is not None and before.is_mark(".")):
        return 0
    if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
        return 0
    if len(tokens) > at + 2 and tokens[at + 1].is_mark("(") and tokens[at + 2].is_mark(")"):
        return 3
    if token.kind is TokenKind.QUOTED or token.text.upper() not in _BARE:
        return 0
    if token.text.lower() in columns or _may_be_a_name(before, tokens[at + 1 : at + 2]):
        return 0
    return 1


def _may_be_a_name(before: Token | None, behind: Sequence[Token]) -> bool:
    if behind and (behind[0].is_mark(".") or behind[0].is_mark("(")):
        return True
    if before is None or before.word in _BEFORE_VALUES:
        return False
    names = (TokenKind.WORD, TokenKind.QUOTED)
    return before.kind in names or before.is_mark(")") or before.is_mark("]")


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
