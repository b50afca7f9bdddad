"""The grammar itself: unambiguous, complete, quick."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import lark
import pytest

from acidsql.errors import ParseError
from acidsql.parser.grammar import END, Node, Parse, Terminal, grammar_file, load
from acidsql.parser.parse import _BUILDERS, UNSUPPORTED, _other_builders, parse, read_skeleton
from acidsql.parser.parse_table import lark_of, parse_table, printed
from acidsql.parser.spans import READERS
from acidsql.parser.tokens import skip_blank, tokenize
from acidsql.parser.variables import SETS
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


def test_the_table_is_the_grammars() -> None:
    """What is shipped is what lark makes of the grammar now; if not, run
    `python -m acidsql.parser.parse_table`.
    """
    assert grammar_file("acid.table.json") == printed(parse_table(grammar_file("acid.lark")))


def test_a_table_of_another_grammar_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A grammar that was changed since is what statements are read by, with no table made of it."""
    changed = grammar_file("acid.lark").replace('"COMMIT" "WORK"?', '"COMMIT" "WORK"? "NOW"')
    files = {"acid.lark": changed, "acid.table.json": grammar_file("acid.table.json")}
    monkeypatch.setattr("acidsql.parser.grammar.grammar_file", files.__getitem__)
    load.cache_clear()
    try:
        assert "NOW" in load().keywords
    finally:
        load.cache_clear()


def test_trees_are_larks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walking the table gives the tree that lark itself gives, with the same offsets."""
    fed: list[Terminal] = []
    feed = Parse.feed

    def noted(self: Parse, terminal: Terminal) -> None:
        fed.append(terminal)
        feed(self, terminal)

    monkeypatch.setattr(Parse, "feed", noted)
    maker = lark_of(grammar_file("acid.lark"))
    for text in golden_statements():
        if SETS.match(text, skip_blank(text, 0)):
            continue
        fed.clear()
        tree = read_skeleton(text, tokenize(text))
        larks = maker.parse_interactive()
        for item in fed:
            start, end = item.span.start, item.span.end
            larks.feed_token(lark.Token(item.type, str(item), start, 1, start, 1, end, end))
        assert _shape(tree) == _larks_shape(larks.feed_eof())


def _shape(item: Node | Terminal) -> Any:
    if isinstance(item, Terminal):
        return (item.type, str(item), item.span.start, item.span.end)
    return (item.rule, item.extent, [_shape(child) for child in item.children])


def _larks_shape(item: Any) -> Any:
    if isinstance(item, lark.Token):
        return (item.type, str(item), item.start_pos, item.end_pos)
    extent = None if item.meta.empty else (item.meta.start_pos, item.meta.end_pos)
    return (str(item.data), extent, [_larks_shape(child) for child in item.children])


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
    assert words.isdisjoint(load().keywords.values())


def test_every_statement_has_a_builder() -> None:
    """Each alternative of `statement` is a function of its name."""
    grammar = load()
    rules = {rule.name for rule in grammar.rules}
    assert {*_BUILDERS, *_other_builders()} <= rules
    assert not set(_BUILDERS) & set(_other_builders())


@pytest.mark.parametrize(
    "text",
    [text for text in golden_statements() if text.upper().startswith(("CREATE", "ALTER", "MERGE"))],
)
def test_expectations_can_be_spelled(text: str) -> None:
    """Wherever a statement breaks off, the error says what could follow."""
    tokens = tokenize(text)
    for count in range(min(len(tokens), 40)):
        with pytest.raises(ParseError, match=r"expected|never closed|no statement|reserved"):
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
    stack = parse_.stack
    for terminal in ("DROP", "VIEW", "NAME"):
        after = grammar.advance(stack, terminal)
        assert after is not None
        stack = after
    assert grammar.accepted(stack) == {END, "DOT"}


def test_the_table_stays_small() -> None:
    """Loading takes as long as the table is large, and every command that reads SQL
    waits for it.
    """
    assert len(load().states) < 1_150
