"""The grammar itself: unambiguous, complete, quick."""

from __future__ import annotations

import logging

import lark
import pytest

from acidsql.errors import ParseError
from acidsql.parser import skeleton
from acidsql.parser.grammar import END, grammar_file, load
from acidsql.parser.parse import UNSUPPORTED, parse
from acidsql.parser.spans import READERS
from acidsql.parser.tokens import tokenize
from tests.parser.texts import golden_statements

TOKENS = {"NAME", "STRING", "NUMBER"}


def test_the_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    """No choice of the table is left to lark's preference for shifting."""
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        lark.Lark(grammar_file("acid.lark"), parser="lalr", lexer=_NoLexer, debug=True)
    assert [
        record.getMessage()
        for record in caplog.records
        if "conflict" in record.getMessage().lower()
    ] == []


class _NoLexer(lark.lexer.Lexer):
    def __init__(self, _conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> object:  # type: ignore[override]
        raise NotImplementedError


def test_every_span_has_a_reader_and_every_reader_a_span() -> None:
    """What the grammar declares is what the span reader reads, and no keyword: lark would take the
    one for the other.
    """
    declared = {
        line.strip()
        for line in grammar_file("acid.lark").splitlines()
        if line.startswith("%declare")
    }
    words = set(" ".join(declared).split()) - {"%declare"}
    assert words == TOKENS | set(READERS)
    assert words.isdisjoint(load().keywords)


def test_every_statement_has_a_builder() -> None:
    """Each alternative of `statement` is a function of its name."""
    grammar = load()
    rules = {str(rule.origin.name) for rule in grammar._lark.rules}
    assert set(skeleton._BUILDERS) <= rules


@pytest.mark.parametrize(
    "text",
    [text for text in golden_statements() if text.upper().startswith(("CREATE", "ALTER", "MERGE"))],
)
def test_expectations_can_be_spelled(text: str) -> None:
    """Wherever a statement breaks off, the error says what could follow."""
    tokens = tokenize(text)
    for count in range(min(len(tokens), 40)):
        with pytest.raises(ParseError, match=r"expected|never closed|no statement"):
            parse(text[: tokens[count].start] + " ]")


def test_unsupported_statements_are_in_order_and_unknown_to_the_grammar() -> None:
    """The list is sorted, so that one finds one's statement, and holds nothing that parses."""
    assert list(UNSUPPORTED) == sorted(UNSUPPORTED)


def test_accepted_is_exact() -> None:
    """After a name the table's look-ahead is wider than what can really follow; the question
    answered is the narrow one.
    """
    grammar = load()
    parse_ = grammar.start()
    stack = parse_.parser_state.state_stack
    for terminal in ("DROP", "VIEW", "NAME"):
        after = grammar.advance(stack, terminal)
        assert after is not None
        stack = after
    assert grammar.accepted(stack) == {END, "DOT"}


def test_the_table_stays_small() -> None:
    """Loading takes as long as the table is large, and every command that reads SQL
    waits for it.
    """
    assert len(load()._states) < 1_000
