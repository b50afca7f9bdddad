"""Tokens to a skeleton, the tree of the grammar's rules, and that to a statement.

``read_skeleton`` feeds tokens to the grammar: it decides, with the parse table at hand, which
terminal each token or run of tokens is. In this order: a keyword where the table can shift it; a
name; a string, number or mark; a span. A word that could be both a keyword and a name is a keyword
only if the token after it fits. Words in RESERVED are names only in backticks.

``build``: each rule that is a statement has a function of its name in one of the build modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from acidsql.errors import ParseError, Span
from acidsql.parser import (
    build_alterations,
    build_rows,
    build_tables,
    build_transactions,
    pieces,
    spans,
)
from acidsql.parser.grammar import END, Grammar, Node, Stack, Terminal, load
from acidsql.parser.statements import DryRun, Explain, Statement
from acidsql.parser.tokens import Token, TokenKind
from acidsql.parser.unexpected import unexpected

# The words that hold statements together. Hive reserves more; it costs nothing to let `date` or
# `user` be a column.
RESERVED = frozenset(
    """
    ALL ALTER AND AS BETWEEN BY CASE CREATE CROSS DELETE DESCRIBE DISTINCT DROP ELSE END
    EXCEPT     EXISTS FROM FULL GROUP HAVING IN     INNER INSERT INTERSECT INTO IS JOIN
    LATERAL LEFT LIKE MERGE NOT NULL ON OR ORDER OUTER PARTITION     RIGHT SELECT SET TABLE
    THEN TO     UNION UPDATE USING VALUES WHEN WHERE WITH
    """.split()
)


class _Match(NamedTuple):
    terminal: str
    span: spans.SpanEnd


def read_skeleton(text: str, tokens: list[Token]) -> Node:
    """The tree of the one statement in ``tokens``. ParseError names what was expected instead."""
    grammar = load()
    parse = grammar.start()
    stack = parse.stack
    at = 0
    while at < len(tokens):
        match = next(_matches(grammar, stack, tokens, at), None)
        if match is None:
            reserved = _would_be_name(grammar, stack, tokens, at)
            raise unexpected(grammar, stack, tokens, at, text, may_be_name=reserved)
        parse.feed(_terminal(match, text, tokens, at))
        at = match.span.end
    if grammar.advance(stack, END) is None:
        raise unexpected(grammar, stack, tokens, at, text)
    return parse.finish()


def _matches(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> Iterator[_Match]:
    """What the token at ``at`` can be here, best first."""
    token = tokens[at]
    one = spans.SpanEnd(at + 1)
    match token.kind:
        case TokenKind.WORD:
            yield from _word_matches(grammar, stack, tokens, at)
        case TokenKind.QUOTED:
            if grammar.advance(stack, "NAME"):
                yield _Match("NAME", one)
        case TokenKind.STRING | TokenKind.NUMBER:
            if grammar.advance(stack, token.kind.name):
                yield _Match(token.kind.name, one)
        case TokenKind.MARK:
            yield from _mark_matches(grammar, stack, tokens, at)
    for terminal, reader in spans.READERS.items():
        if grammar.advance(stack, terminal) and (span := reader(tokens, at)):
            yield _Match(terminal, span)


def _word_matches(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> Iterator[_Match]:
    """A keyword comes first, unless the word can be a name and the keyword leads nowhere."""
    word, one = tokens[at].word, spans.SpanEnd(at + 1)
    keyword = grammar.keywords.get(word)
    is_name = word not in RESERVED and grammar.advance(stack, "NAME") is not None
    if (
        keyword
        and (after := grammar.advance(stack, keyword))
        and (not is_name or _fits(grammar, after, tokens, at + 1))
    ):
        yield _Match(keyword, one)
    if is_name:
        yield _Match("NAME", one)


def _mark_matches(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> Iterator[_Match]:
    """A bracket can be that of a query, or stand for itself."""
    text = tokens[at].text
    if text == "(" and grammar.advance(stack, "QUERY") and (span := spans.query(tokens, at)):
        yield _Match("QUERY", span)
    if (mark := grammar.marks.get(text)) and grammar.advance(stack, mark):
        yield _Match(mark, spans.SpanEnd(at + 1))


def _fits(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> bool:
    """Whether the token at ``at``, or the end, can come next."""
    if at == len(tokens):
        return grammar.advance(stack, END) is not None
    try:
        return next(_matches(grammar, stack, tokens, at), None) is not None
    except ParseError:
        return True


def _would_be_name(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> bool:
    """Whether the token at ``at`` is a reserved word where a name would fit, and what follows would
    fit behind the name.
    """
    after = grammar.advance(stack, "NAME") if tokens[at].word in RESERVED else None
    return after is not None and _fits(grammar, after, tokens, at + 1)


def _terminal(match: _Match, text: str, tokens: list[Token], at: int) -> Terminal:
    first, last = tokens[at], tokens[match.span.end - 1]
    value = text[first.start : last.end] if match.terminal in spans.READERS else first.text
    terminal = Terminal(match.terminal, value, Span(first.start, last.end))
    if match.span.parts:
        terminal.parts = match.span.parts
    if match.terminal == "EXPRESSION":
        terminal.tokens = tuple(tokens[at : match.span.end])
    return terminal


def build(node: Node, text: str) -> Statement:
    """The statement of a skeleton read from ``text``. ParseError for what the grammar lets through
    and no statement can hold.
    """
    return _BUILDERS[node.rule](node, text)


def explain(node: Node, text: str) -> Explain:
    mode = node.node("explain_mode")
    statement = next(child for child in node.nodes() if child.rule != "explain_mode")
    return Explain(
        span=node.span,
        statement=build(statement, text),
        mode=pieces.words(mode, text) if mode else None,
    )


def dry_run(node: Node, text: str) -> DryRun:
    return DryRun(span=node.span, statement=build(next(iter(node.nodes())), text))


_BUILDERS: Mapping[str, Callable[[Node, str], Statement]] = {
    builder.__name__: builder
    for builder in (
        *build_rows.BUILDERS, *build_tables.BUILDERS,
        *build_alterations.BUILDERS, *build_transactions.BUILDERS, explain, dry_run
    )
}  # fmt: skip
