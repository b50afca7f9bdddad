"""Queries, expressions, types, values and lists as balanced runs of tokens: where each one ends.

What is inside a span is not looked at; sqlglot and Spark read it later. Only brackets, CASE .. END
and the few words that no expression can contain at its top level matter here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from acidsql.errors import ParseError, Span
from acidsql.parser.tokens import Token, TokenKind


class SpanEnd(NamedTuple):
    """``end`` is the index after the last token; ``parts`` are the items of a LIST."""

    end: int
    parts: tuple[Span, ...] = ()


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_QUERY_WORDS = frozenset({"SELECT", "FROM", "VALUES", "TABLE"})
_BINARY_MARKS = frozenset("=<>*/%|&^:")
_COMPARISONS = frozenset({"==", "<=", ">=", "<>", "!="})
_CLAUSE_WORDS = frozenset({"WHERE", "WHEN", "THEN", "SELECT", "HAVING", "UNION", "INTERSECT"})
_BY_WORDS = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})
_BEFORE_VALUES = frozenset(
    "AND OR NOT AS IN LIKE RLIKE REGEXP BETWEEN DIV IS DISTINCT ALL SELECT FROM JOIN BY ON".split()
)
_BEHIND_NAMES = frozenset(
    "FROM AND OR AS IN LIKE RLIKE REGEXP BETWEEN DIV IS NOT JOIN LEFT RIGHT FULL INNER CROSS ON"
    " WHERE GROUP ORDER HAVING LIMIT UNION".split()
)
"""Words behind which a value comes, and which come behind one."""
_TYPED_LITERALS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPLOCALTZ", "INTERVAL"})
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})


def query(tokens: list[Token], at: int) -> SpanEnd | None:
    """A query. It reaches to the end, to a bracket closed without being opened, to the INSERT INTO
    | OVERWRITE of a multi-insert's branch, or, behind INSERT, to RETURNING.
    """
    if not starts_query(tokens, at):
        return None
    end, inserts = at, any(token.word == "INSERT" for token in tokens[:at])
    for index in _top_level(tokens, at):
        if inserts and index + 1 < len(tokens) and _is_returning(tokens, index, at):
            break
        if (
            index > at
            and tokens[index].word == "INSERT"
            and _word(tokens, index + 1) in ("INTO", "OVERWRITE")
        ):
            break
        end = index + 1
    return SpanEnd(end)


def _top_level(tokens: list[Token], at: int) -> Iterator[int]:
    """The tokens outside brackets, and the closing one of each bracket, up to a bracket that closes
    what was not opened.
    """
    while at < len(tokens):
        token = tokens[at]
        if token.kind is TokenKind.MARK:
            if token.text in _CLOSING:
                at = _bracket(tokens, at) - 1
            elif token.text in _CLOSING.values():
                return
        yield at
        at += 1


def from_clause(tokens: list[Token], at: int) -> SpanEnd | None:
    """``FROM ..`` that an INSERT follows, without a SELECT of its own."""
    span_end = query(tokens, at) if _word(tokens, at) == "FROM" else None
    if span_end is None or _word(tokens, span_end.end) != "INSERT":
        return None
    words = (tokens[index].word for index in _top_level(tokens, at) if index < span_end.end)
    return None if "SELECT" in words else span_end


def branch(tokens: list[Token], at: int) -> SpanEnd | None:
    """``SELECT ..`` of a multi-insert: as a query, but it has no FROM of its own and is no part of
    a set operation.
    """
    span_end = query(tokens, at) if _word(tokens, at) in ("SELECT", "MAP", "REDUCE") else None
    if span_end is None:
        return None
    for index in _top_level(tokens, at):
        if index >= span_end.end:
            break
        word = tokens[index].word
        if word in ("UNION", "INTERSECT") or (
            word == "FROM" and tokens[index - 1].word != "DISTINCT"
        ):
            return SpanEnd(index)
    return span_end


def subquery(tokens: list[Token], at: int) -> SpanEnd | None:
    """A query in parentheses."""
    if not tokens[at].is_mark("(") or not starts_query(tokens, at):
        return None
    return SpanEnd(_bracket(tokens, at))


def starts_query(tokens: list[Token], at: int) -> bool:
    opened = at
    while opened < len(tokens) and tokens[opened].is_mark("("):
        opened += 1
    word = _word(tokens, opened)
    if word in ("MAP", "REDUCE"):  # a column may be called so: (map, b)
        after = tokens[opened + 1] if opened + 1 < len(tokens) else None
        return (
            opened == at
            if after is None
            else not (after.kind is TokenKind.MARK and after.text in ",)")
        )
    return word in _QUERY_WORDS or (opened > at and word == "WITH")


def expression(tokens: list[Token], at: int) -> SpanEnd | None:
    """An expression. It reaches to a comma, a closing bracket or a clause word, none of them inside
    brackets or CASE .. END.
    """
    if tokens[at].kind is TokenKind.MARK and tokens[at].text in _BINARY_MARKS:
        return None
    start = at
    cases: list[Token] = []
    while at < len(tokens):
        if (behind := _behind_operand(tokens, at)) is not None:
            at = behind
            continue
        word = _word_of_its_own(tokens, at, start)
        if not cases and _ends_expression(tokens, at, start, word):
            break
        if word == "CASE":
            cases.append(tokens[at])
        elif word == "END" and cases:
            cases.pop()
        at += 1
    if cases:
        raise _incomplete("CASE is never closed by END", cases[-1].span)
    return SpanEnd(at) if at > start else None


def _behind_operand(tokens: list[Token], at: int) -> int | None:
    """The index at which brackets that open here end, or the type of a cast by ``::``; None where
    neither begins.
    """
    token = tokens[at]
    if token.kind is not TokenKind.MARK:
        return None
    if token.text in _CLOSING:
        return _bracket(tokens, at)
    if token.text == ":" and tokens[at - 1].is_mark(":"):
        cast = type_name(tokens, at + 1)
        return cast.end if cast else None
    return None


def _word_of_its_own(tokens: list[Token], at: int, start: int) -> str:
    """The word at ``at``, "" if there is none or it follows a dot."""
    if tokens[at].kind is not TokenKind.WORD or (at > start and tokens[at - 1].is_mark(".")):
        return ""
    return tokens[at].word


def _ends_expression(tokens: list[Token], at: int, start: int, word: str) -> bool:
    if not word:
        return tokens[at].kind is TokenKind.MARK and tokens[at].text in (",", ")", "]", "}")
    if word in _CLAUSE_WORDS or _is_returning(tokens, at, start):
        return True
    if word == "FROM":  # IS DISTINCT FROM is an operator
        return at == start or tokens[at - 1].word != "DISTINCT"
    if word in ("LIMIT", "OFFSET"):  # good names, unless a number follows
        return at + 1 < len(tokens) and tokens[at + 1].kind is TokenKind.NUMBER
    return word in _BY_WORDS and _word(tokens, at + 1) == "BY"


def _is_returning(tokens: list[Token], at: int, start: int) -> bool:
    """Whether the clause RETURNING begins here: the word is a good name, but none behind a value
    and in front of another, or of nothing.
    """
    if tokens[at].word != "RETURNING" or at == start:
        return False
    before, after = tokens[at - 1], tokens[at + 1] if at + 1 < len(tokens) else None
    if before.kind is TokenKind.MARK and before.text not in ")]}" and not _ends_cast(tokens, at):
        return False
    if before.word in _BEFORE_VALUES:
        return False
    if after is None or after.kind is not TokenKind.MARK:
        return after is None or after.word not in _BEHIND_NAMES
    return after.text in "(*+-"


def _ends_cast(tokens: list[Token], at: int) -> bool:
    """Whether the type of a cast by ``::`` ends in front of ``at``; a ``>`` may also compare."""
    for index in range(at - 2, 0, -1):
        if tokens[index].is_mark(":") and tokens[index - 1].is_mark(":"):
            cast = type_name(tokens, index + 1)
            return cast is not None and cast.end == at
    return False


def type_name(tokens: list[Token], at: int) -> SpanEnd | None:
    """One column type."""
    word = _word(tokens, at)
    if not word:
        return None
    at += 1
    if at < len(tokens) and tokens[at].is_mark("<"):
        return SpanEnd(_angle(tokens, at))
    if at < len(tokens) and tokens[at].is_mark("("):
        return SpanEnd(_bracket(tokens, at))
    if word == "DOUBLE" and _word(tokens, at) == "PRECISION":
        return SpanEnd(at + 1)
    if word == "TIMESTAMP" and _word(tokens, at) in ("WITH", "WITHOUT"):
        while _word(tokens, at) in ("WITH", "WITHOUT", "LOCAL", "TIME", "ZONE"):
            at += 1
    return SpanEnd(at)


def value(tokens: list[Token], at: int) -> SpanEnd | None:
    """A literal, a name or a call, with an optional sign. ParseError (incomplete) where the text
    ends in the middle of one.
    """
    if tokens[at].kind is TokenKind.MARK and tokens[at].text in "+-":
        at += 1
    if at == len(tokens) or (tokens[at].is_mark(".") and at + 1 == len(tokens)):
        raise _ended(tokens, "a value")
    if tokens[at].is_mark(".") and tokens[at + 1].kind is TokenKind.NUMBER:  # .5
        return SpanEnd(at + 2)
    if tokens[at].kind is TokenKind.MARK:
        return None
    first = tokens[at]
    at = _dotted(tokens, at + 1)
    if first.kind is not TokenKind.WORD or at >= len(tokens):
        return SpanEnd(at)
    if tokens[at].is_mark("("):
        return SpanEnd(_bracket(tokens, at))
    if first.word in _TYPED_LITERALS and tokens[at].kind in (TokenKind.STRING, TokenKind.NUMBER):
        has_unit = first.word == "INTERVAL" and _word(tokens, at + 1).removesuffix("S") in _UNITS
        return SpanEnd(at + 2 if has_unit else at + 1)
    return SpanEnd(at)


def _dotted(tokens: list[Token], at: int) -> int:
    """The index after ``.name.name ..``."""
    while at < len(tokens) and tokens[at].is_mark("."):
        if at + 1 == len(tokens):
            raise _ended(tokens, "a name")
        if tokens[at + 1].kind not in (TokenKind.WORD, TokenKind.QUOTED):
            break
        at += 2
    return at


def parenthesised(tokens: list[Token], at: int) -> SpanEnd | None:
    """``( item, .. )``; the items are cut at the commas of the top level, and none is empty."""
    if not tokens[at].is_mark("("):
        return None
    end = _bracket(tokens, at)
    return SpanEnd(end, _items(tokens, at + 1, end - 1))


def comparison(tokens: list[Token], at: int) -> SpanEnd | None:
    """``=`` ``<`` ``>`` ``<=`` ``>=`` ``<>`` ``!=`` ``==``."""
    if tokens[at].kind is not TokenKind.MARK or tokens[at].text not in "=<>!":
        return None
    two = (
        at + 1 < len(tokens)
        and tokens[at + 1].start == tokens[at].end
        and tokens[at + 1].kind is TokenKind.MARK
    )
    if two and tokens[at].text + tokens[at + 1].text in _COMPARISONS:
        return SpanEnd(at + 2)
    return SpanEnd(at + 1) if tokens[at].text != "!" else None


def returned(tokens: list[Token], at: int) -> SpanEnd | None:
    """The list behind RETURNING, up to the end or a bracket closed without being opened."""
    end = max(_top_level(tokens, at), default=at - 1) + 1
    return SpanEnd(end) if end > at else None


def rest(tokens: list[Token], at: int) -> SpanEnd | None:
    return SpanEnd(len(tokens))


def _items(tokens: list[Token], at: int, end: int) -> tuple[Span, ...]:
    items = []
    first = at
    while at <= end:
        token = tokens[at]
        if at == end or token.is_mark(","):
            if first == at:
                raise ParseError(
                    f'unexpected "{token.text}", expected an expression', span=token.span
                )
            items.append(Span(tokens[first].start, tokens[at - 1].end))
            first = at + 1
        elif (
            token.is_mark(":")
            and tokens[at - 1].is_mark(":")
            and (cast := type_name(tokens, at + 1))
        ):
            at = cast.end
            continue
        elif token.kind is TokenKind.MARK and token.text in _CLOSING:
            at = _bracket(tokens, at)
            continue
        at += 1
    return tuple(items)


def _bracket(tokens: list[Token], at: int) -> int:
    """The index after the bracket that closes the one at ``at``."""
    open_tokens: list[Token] = []
    for index in range(at, len(tokens)):
        token = tokens[index]
        if token.kind is not TokenKind.MARK:
            continue
        if token.text in _CLOSING:
            open_tokens.append(token)
        elif token.text in ")]}":
            wanted = _CLOSING[open_tokens[-1].text]
            if token.text != wanted:
                raise ParseError(f'unexpected "{token.text}", expected "{wanted}"', span=token.span)
            open_tokens.pop()
            if not open_tokens:
                return index + 1
    raise _incomplete(f'"{open_tokens[-1].text}" is never closed', open_tokens[-1].span)


def _angle(tokens: list[Token], at: int) -> int:
    """The index after the ``>`` that closes the ``<`` at ``at``."""
    opened = tokens[at]
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        if token.is_mark("("):
            at = _bracket(tokens, at)
            continue
        depth += token.is_mark("<") - token.is_mark(">")
        at += 1
        if depth == 0:
            return at
    raise _incomplete('"<" is never closed', opened.span)


def _word(tokens: list[Token], at: int) -> str:
    return tokens[at].word if at < len(tokens) else ""


def _ended(tokens: list[Token], expected: str) -> ParseError:
    end = tokens[-1].end
    return _incomplete(f"unexpected end of the statement, expected {expected}", Span(end, end))


def _incomplete(message: str, span: Span) -> ParseError:
    error = ParseError(message, span=span)
    error.incomplete = True
    return error


# Terminal of the grammar -> who finds its end, asked in this order.
READERS: Mapping[str, Callable[[list[Token], int], SpanEnd | None]] = {
    "FROM_CLAUSE": from_clause,
    "BRANCH": branch,
    "QUERY": query,
    "SUBQUERY": subquery,
    "LIST": parenthesised,
    "DATA_TYPE": type_name,
    "COMPARISON": comparison,
    "VALUE": value,
    "EXPRESSION": expression,
    "RETURNED": returned,
    "REST": rest,
}
