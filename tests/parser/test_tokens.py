"""Tokens: what they are, where they are, and that nothing of the text is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acidsql.errors import ParseError, Span
from acidsql.parser.tokens import (
    Token,
    TokenKind,
    _run_by_sqlglot,
    plain_tokens,
    scan,
    skip_blank,
    tokenize,
    tokenize_statement,
    tokens_in,
)
from tests.parser.texts import any_text


def kinds(text: str) -> list[tuple[TokenKind, str]]:
    return [(token.kind, token.text) for token in tokenize(text)]


@pytest.mark.parametrize(
    "number",
    ["1", "12.50", "1.", "1e3", "1.5E-3", "2.5e+10D", "10L", "7Y", "7S", "1.0BD", "1.5f", "1d"],
)
def test_numbers_are_one_token(number: str) -> None:
    """Every way Hive and Spark write a number is one NUMBER, suffix and exponent included."""
    assert kinds(f"{number},") == [(TokenKind.NUMBER, number), (TokenKind.MARK, ",")]


@pytest.mark.parametrize("word", ["a", "_a1", "1st", "2024_01", "été", "имя", "日本", "😀"])
def test_words_may_begin_with_a_digit_and_be_of_any_script(word: str) -> None:
    """A name may begin with a digit, as in Hive, and be of any script."""
    assert kinds(f"{word}.x") == [
        (TokenKind.WORD, word),
        (TokenKind.MARK, "."),
        (TokenKind.WORD, "x"),
    ]


def test_quotes_give_strings_and_backticks_give_names() -> None:
    """Both quotes make strings with backslash escapes; backticks make names, doubled inside; r''
    takes backslashes as they are.
    """
    assert kinds(r"""'it\'s' "a\"b\n" `x``y` r'\' """) == [
        (TokenKind.STRING, "it's"),
        (TokenKind.STRING, 'a"b\n'),
        (TokenKind.QUOTED, "x`y"),
        (TokenKind.STRING, "\\"),
    ]


def test_comments_and_hints_are_no_tokens() -> None:
    """Line comments, nested bracketed comments and hints lie in the gaps; template marks are plain
    marks.
    """
    text = "a -- b 'c\n/* d /* e */ ; */ f /*+ hint */ {# g #} -- h"
    assert [token.text for token in tokenize(text)] == ["a", "f", "{", "#", "g", "#", "}"]


def test_comments_that_end_together_are_not_misread() -> None:
    """The slash that ends an inner comment does not begin another one."""
    assert [
        token.text for token in tokenize("/* a /* b */*/ SELECT 'x' /**/*/**/ /* c */ FROM t")
    ] == ["SELECT", "x", "*", "FROM", "t"]
    with pytest.raises(ParseError, match=r"^comment is never closed"):
        tokenize("/* a /* b */* / 'x'")


def test_operators_come_as_single_marks_with_their_places() -> None:
    """Marks are single characters, so that any operator of Spark passes."""
    assert [token.start for token in tokenize("a<=>b->c::d||?")] == list(range(14))


def test_offsets_count_code_points() -> None:
    """A character outside the basic plane moves an offset by one."""
    assert tokenize("'😀' x")[1] == Token(TokenKind.WORD, "x", 4, 5)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("a 'b", 2, "string"), ('"', 0, "string"), ("r'", 0, "string"), ("'\\'", 0, "string"), ("x `y", 2, "quoted name"),
        ("x /* y /* */", 2, "comment"),
    ],
)  # fmt: skip
def test_what_is_never_closed_is_incomplete(text: str, place: int, what: str) -> None:
    """An open quote, backtick or comment is an incomplete text, and the error points at where it
    begins.
    """
    with pytest.raises(ParseError, match=f"^{what} is never closed") as caught:
        tokenize(text)
    assert caught.value.incomplete
    assert caught.value.span is not None
    assert caught.value.span.start == place


def test_a_quote_that_is_missing_earlier_is_pointed_at() -> None:
    """Where a string goes on over its line, the quote that is left over may be no opening one."""
    with pytest.raises(ParseError) as caught:
        tokenize("SELECT 'abc\n FROM t WHERE a = 'x'\n AND c = 'y' AND d = 'z'")
    assert str(caught.value.hint).startswith(
        "A string that opens in line 1, column 8, ends in line 2"
    )
    with pytest.raises(ParseError) as caught:
        tokenize("SELECT 'abc'\n FROM t WHERE a = 'x")
    assert caught.value.hint is None


@given(any_text())
def test_tokens_and_gaps_make_up_the_text(text: str) -> None:
    """Tokens stand in order, and between them is nothing but blanks and comments, whatever the
    text.
    """
    found = scan(text)
    edges = [0, *(edge for token in found.tokens for edge in (token.start, token.end))]
    assert all(left <= right for left, right in pairwise(edges))
    for before, after in zip(
        [0, *(token.end for token in found.tokens)],
        [token.start for token in found.tokens],
        strict=False,
    ):
        assert skip_blank(text, before) == after
    rest = skip_blank(text, found.tokens[-1].end if found.tokens else 0)
    assert rest == (len(text) if found.unclosed is None else found.unclosed.start)


@given(any_text())
def test_marks_and_words_are_the_text_itself(text: str) -> None:
    """A word, number or mark is its slice; only quotes change what a token stands for."""
    for token in scan(text).tokens:
        if token.kind in (TokenKind.WORD, TokenKind.NUMBER, TokenKind.MARK):
            assert token.text == token.span.cut(text)


@given(any_text())
@example("a-- b\r'c'---\n-1.5.x")
@example("x'a'n 'b' `c`.`d`1'e'")
def test_plain_texts_are_read_as_sqlglot_reads_them(text: str) -> None:
    """What is read without sqlglot has the tokens that it finds."""
    plain = plain_tokens(text)
    assert plain is None or plain == _run_by_sqlglot(text, 0)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("UPDATE t SET s = 'z', d = \"y\" WHERE a >= 1.5 AND `b c` IN (1, -2) -- all", True),
        ("INSERT INTO d.t (a) VALUES ('日本'), (?), (:x)", True),
        ("", True),
        *((text, False) for text in (
            "'a\\n'", "n'a'", "r\"a\"", "/* a */", "'a", "`a``b`", "1L", "1.", "1e3", "0x1", "1st", "été", "$1.5", "@a", "a\u00a0b",
            "1..2", "a\x00", "\\", "1.2.3",
        )),
    ],
)  # fmt: skip
def test_which_texts_are_plain(text: str, plain: bool) -> None:
    """Most statements; any piece with an escape, a prefix, a suffix or another script is left."""
    assert (plain_tokens(text) is not None) == plain


PIECES = (
    *(
        "SELECT",
        "a",
        "1st",
        "1",
        "1.5",
        "1e3",
        ".5",
        "10L",
        ".",
        "'it''s'",
        "'a\\'b'",
        '"x"',
        "`q`",
    ),
    *("(", ")", "-", "--c\n", "/* c */", "/*+ h */", "*", "/", "<=", ">", "=", ";", ",", "r'x'"),
    *(" ", " ", "\n", "é", "\U0001f600", "$", "{", "x", "/*/* c */*/", "@", "'", "`", "/*"),
)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(0, 40), st.integers(0, 40))
@example(["a", "/* c */", "b"], 0, 4)
@example(["$", "1.5"], 1, 4)
@example(["'it''s'", " ", "a"], 4, 9)
@example(["/*/* c */*/", "a"], 2, 12)
def test_parts_of_a_statement_have_the_tokens_of_their_own_text(
    pieces: list[str], one: int, other: int
) -> None:
    """Tokens that are handed on are those, at the places, that a part has if it is read alone."""
    text, span = "".join(pieces), Span(*sorted((one, other)))

    def told(read: Callable[[], list[Token]]) -> list[Token] | str:
        try:
            return read()
        except ParseError as error:
            return error.message

    told(lambda: tokenize_statement(text))
    alone = told(lambda: [token.moved(span.start) for token in tokenize(span.cut(text))])
    assert told(lambda: tokens_in(text, span)) == alone
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acidsql.parser.tokens._MOST_KEPT", -1)
        told(lambda: tokenize_statement(text))
        assert told(lambda: tokens_in(text, span)) == alone
