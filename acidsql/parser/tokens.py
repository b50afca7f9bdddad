"""Hive SQL as words, names, strings, numbers and marks, each with its place in the text.

The tokenizer is sqlglot's for Hive with the keyword tables emptied: every word comes out alone, and
whether it is a keyword is the grammar's business. Plain texts, which most statements are, are read
without it, as it takes longer to import than they take to be carried out. Comments and hints are no
tokens; they lie in the gaps, so ``text`` is tokens and gaps concatenated. Offsets are code points.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, NamedTuple

from acidsql.errors import ParseError, Span
from acidsql.lazy_pattern import pattern


class TokenKind(StrEnum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    MARK = "mark"


class Token(NamedTuple):
    """``text`` is what the token stands for: unquoted and unescaped for names and strings, as
    written for the others.
    """

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def moved(self, by: int) -> Token:
        """The token of a text that begins at offset ``by`` of another, in that one."""
        return Token(self.kind, self.text, self.start + by, self.end + by)

    def is_mark(self, mark: str) -> bool:
        return self.kind is TokenKind.MARK and self.text == mark

    @property
    def word(self) -> str:
        """The word in upper case; empty for anything that is not a bare word."""
        return self.text.upper() if self.kind is TokenKind.WORD else ""


class Scan(NamedTuple):
    """All tokens of a text; ``unclosed`` is the place of a quote, backtick or comment that never
    ends.
    """

    tokens: list[Token]
    unclosed: Span | None


# As Hive and Spark write numbers. A word that begins with a digit but is none of these is a name
# (Hive allows `1st`).
_NUMBER = pattern(
    r"0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[lLsSyYdDfF]|[bB][dD])?", re.ASCII
)
_BLANK = re.compile(r"\s+")
_OPENERS = {"'": "string", '"': "string", "`": "quoted name", "/": "comment"}


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``. ParseError with ``incomplete`` set when a quote, backtick or comment
    is never closed.
    """
    scanned = scan(text)
    if scanned.unclosed is not None:
        raise unclosed_error(text, scanned.unclosed)
    return scanned.tokens


class _LastStatement(threading.local):
    """The text of the statement that this thread has read last, and its tokens."""

    text = ""
    tokens: Sequence[Token] = ()
    starts: Sequence[int] = ()


_last = _LastStatement()
_PARAMETERS = ("$", "@")
"""Marks behind which sqlglot takes the point of a number for a mark."""
_MOST_KEPT = 1 << 15
"""A longer text is not kept: its tokens are a hundred times as large."""


def tokenize_statement(text: str) -> list[Token]:
    """The tokens of a statement, as ``tokenize`` gives them; ``tokens_in`` need not read its parts
    again.
    """
    tokens = tokenize(text)
    kept = len(text) <= _MOST_KEPT
    _last.text, _last.tokens = (text, tuple(tokens)) if kept else ("", ())
    _last.starts = [token.start for token in _last.tokens]
    return tokens


def tokens_in(source: str, span: Span) -> list[Token]:
    """The tokens of a part of a text, at their places in the whole. ParseError as ``tokenize``."""
    if source == _last.text:
        first, behind = (bisect_left(_last.starts, edge) for edge in (span.start, span.end))
        tokens = list(_last.tokens[first:behind])
        is_parameter = first > 0 and _last.tokens[first - 1].text in _PARAMETERS
        if tokens and not is_parameter and _is_cut_between(source, span, tokens):
            return tokens
    return [token.moved(span.start) for token in tokenize(span.cut(source))]


def _is_cut_between(source: str, span: Span, tokens: Sequence[Token]) -> bool:
    """Whether a part of a text has these tokens by itself: it cuts none apart, and no comment."""
    rest = source[tokens[-1].end : span.end]
    return (
        skip_blank(source, span.start) == tokens[0].start
        and tokens[-1].end <= span.end
        and (not rest or rest.isspace())
    )


def unclosed_error(text: str, span: Span) -> ParseError:
    opener = text[span.start :].lstrip("rRnN")[:1]
    error = ParseError(f"{_OPENERS.get(opener, 'text')} is never closed", span=span, source=text)
    error.hint = _earlier_quote(text, span.start, opener)
    error.incomplete = True
    return error


def _earlier_quote(text: str, end: int, opener: str) -> str | None:
    """A hint at the first string before ``end`` that goes on over the end of its line: where a
    quote is missing there, all that follow open what they should close.
    """
    for token in scan(text[:end]).tokens if opener in "'\"" else ():
        if token.kind is TokenKind.STRING and "\n" in text[token.start : token.end]:
            first = text.count("\n", 0, token.start) + 1
            last = text.count("\n", 0, token.end) + 1
            column = token.start - (text.rfind("\n", 0, token.start) + 1) + 1
            return (
                f"A string that opens in line {first}, column {column}, ends in line {last} only:"
                " a quote may be missing there."
            )
    return None


def scan(text: str, start: int = 0) -> Scan:
    """The tokens from ``start`` up to the end or to an unclosed quote or comment; never raises."""
    tokens: list[Token] = []
    base = start
    while True:
        run = _run(text, base)
        tokens += run
        rest = skip_blank(text, run[-1].end if run else base)
        if rest == len(text):
            return Scan(tokens, None)
        if rest == base and not run:
            return Scan(tokens, Span(rest, rest + 1))
        base = rest


def _run(text: str, base: int) -> list[Token]:
    """The tokens from ``base`` on, as far as they can be read."""
    plain = plain_tokens(text, base) if len(text) - base <= _MOST_KEPT else None
    return _run_by_sqlglot(text, base) if plain is None else plain


_PLAIN = re.compile(
    r"""
    [ \t\r\n]+ | --[^\r\n]*
    | (?P<word> (?! [nNrR]['"] ) [A-Za-z_][A-Za-z0-9_]* (?= END ) )
    | (?P<number> [0-9]+ (?: \.[0-9]+ )? (?= END ) (?! \. ) )
    | '(?P<single> [^'\\]* )' | "(?P<double> [^"\\]* )" | `(?P<quoted> [^`\\]* )` (?! ` )
    | (?P<mark> [()\[\]{}&^:,.=<>%!|+;*~?\#-] | / (?! \* ) )
    """.replace("END", r"""[ \t\r\n()\[\]{}&^:,.=<>%!|+;*~?\#/'"`-] | \Z"""),
    re.VERBOSE,
)
"""A token as nearly all are written, or a gap: without escapes, prefixes and suffixes."""
_PLAIN_KINDS = {
    "word": TokenKind.WORD,
    "number": TokenKind.NUMBER,
    "single": TokenKind.STRING,
    "double": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
    "mark": TokenKind.MARK,
}


def plain_tokens(text: str, base: int = 0) -> list[Token] | None:
    """The tokens from ``base`` on, if all of them are plain."""
    tokens, at = [], base
    while at < len(text):
        match = _PLAIN.match(text, at)
        if match is None:
            return None
        if name := match.lastgroup:
            tokens.append(Token(_PLAIN_KINDS[name], match[name], at, match.end()))
        at = match.end()
    return tokens


def _run_by_sqlglot(text: str, base: int) -> list[Token]:
    """The tokens from ``base`` on, as far as sqlglot's tokenizer comes and can be believed."""
    from sqlglot.errors import TokenError

    tokenizer = _tokenizer_class()(dialect=_hive())
    with suppress(TokenError):
        tokenizer.tokenize(text[base:] if base else text)
    kinds = _kinds()
    tokens = [_token(token, kinds, base) for token in tokenizer.tokens]
    return _believable(text, tokens, base) if _MISREAD in text else tokens


# sqlglot takes the last two of these three characters for the start of another comment and swallows
# what follows.
_MISREAD = "*/*"


def _believable(text: str, tokens: list[Token], base: int) -> list[Token]:
    """The tokens before the first gap that is more than blanks and comments."""
    end = base
    for index, token in enumerate(tokens):
        if skip_blank(text, end) != token.start:
            return tokens[:index]
        end = token.end
    return tokens


def skip_blank(text: str, at: int) -> int:
    """The offset of the first character at or after ``at`` that is neither blank nor in a closed
    comment.
    """
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif text.startswith("--", at):
            at = _line_end(text, at)
        elif text.startswith("/*", at):
            end = _comment_end(text, at)
            if end is None:
                return at
            at = end
        else:
            return at
    return at


_LINE_END = pattern(r"[\r\n]|\Z")
_COMMENT_EDGE = pattern(r"/\*|\*/")


def _line_end(text: str, at: int) -> int:
    match = _LINE_END.search(text, at)
    return match.start() if match else len(text)


def _comment_end(text: str, at: int) -> int | None:
    """The end of a bracketed comment, which nests as in Spark; None if it is never closed."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def _token(token: Any, kinds: Mapping[Any, TokenKind], base: int) -> Token:
    kind = kinds.get(token.token_type, TokenKind.MARK)
    if kind is TokenKind.WORD and token.text[0] in "0123456789" and _NUMBER.fullmatch(token.text):
        kind = TokenKind.NUMBER
    return Token(kind, token.text, base + token.start, base + token.end + 1)


@cache
def _kinds() -> Mapping[Any, TokenKind]:
    """sqlglot's token types; every other one is a single character."""
    from sqlglot import TokenType

    return {
        TokenType.VAR: TokenKind.WORD,
        TokenType.IDENTIFIER: TokenKind.QUOTED,
        TokenType.STRING: TokenKind.STRING,
        TokenType.RAW_STRING: TokenKind.STRING,
        TokenType.NATIONAL_STRING: TokenKind.STRING,
        TokenType.NUMBER: TokenKind.NUMBER,
    }


@cache
def _hive() -> Any:
    from sqlglot.dialects.hive import Hive

    return Hive()


@cache
def _tokenizer_class() -> Any:
    """Hive's tokenizer without keywords and commands, plus Spark's raw strings; made late, because
    sqlglot loads slowly.
    """
    from sqlglot.dialects.hive import Hive

    class AcidTokenizer(Hive.Tokenizer):
        KEYWORDS: ClassVar[dict[str, Any]] = {}
        COMMANDS: ClassVar[set[Any]] = set()
        RAW_STRINGS: ClassVar[list[Any]] = [("r'", "'"), ("R'", "'"), ('r"', '"'), ('R"', '"')]
        STRING_ESCAPES_ALLOWED_IN_RAW_STRINGS = False

    # sqlglot reads "{#" as a template comment in every dialect; in SQL it is two marks.
    AcidTokenizer._COMMENTS = {"--": None, "/*": "*/"}
    return AcidTokenizer
