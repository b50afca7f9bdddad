"""Hive SQL as words, names, strings, numbers and marks, each with its place in the text.

Every word comes out alone, and whether it is a keyword is the grammar's business. Comments and
hints are no tokens; they lie in the gaps, so ``text`` is tokens and gaps concatenated. Offsets are
code points. What is one token follows sqlglot's tokenizer for Hive, by which queries are analysed;
to import that takes longer than a small statement does.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from acidsql.errors import ParseError, Span


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
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[lLsSyYdDfF]|[bB][dD])?", re.ASCII)
_MARKS = r"()\[\]{}&^:,.\-=><%!|+;\\*~?@#$"
_WORD = rf"""[^\s{_MARKS}/'"`]++"""
_TOKEN = re.compile(
    rf"""
    (?P<zero>     0(?=[xX]) )
    | (?P<number> [0-9]++(?:\.[0-9]*+)?+(?:[eE](?:[+-]?[0-9]++)?+)?+ )
    | (?P<raw>    [rR](?: '[^']*+' | "[^"]*+" ) )
    | (?P<string> [nN]?(?: '[^'\\]*+(?:\\.[^'\\]*+)*+' | "[^"\\]*+(?:\\.[^"\\]*+)*+" ) )
    | (?P<quoted> `[^`]*+(?:``[^`]*+)*+` )
    | (?P<word>   (?![rRnN]['"]) {_WORD} )
    | (?P<mark>   [{_MARKS}] | /(?!\*) )
    """,
    re.VERBOSE | re.DOTALL,
)
"""No match at what is never closed: a quote, or a comment, which is no token."""
_REST_OF_WORD = re.compile(_WORD)
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


def unclosed_error(text: str, span: Span) -> ParseError:
    opener = text[span.start :].lstrip("rRnN")[:1]
    error = ParseError(f"{_OPENERS.get(opener, 'text')} is never closed", span=span, source=text)
    error.incomplete = True
    return error


def scan(text: str, start: int = 0) -> Scan:
    """The tokens from ``start`` up to the end or to an unclosed quote or comment; never raises."""
    tokens: list[Token] = []
    at = skip_blank(text, start)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return Scan(tokens, Span(at, at + 1))
        token = _token(text, match)
        tokens.append(token)
        at = skip_blank(text, token.end)
    return Scan(tokens, None)


def _token(text: str, match: re.Match[str]) -> Token:
    written, start, end = match[0], match.start(), match.end()
    match match.lastgroup:
        case "word":
            return Token(TokenKind.WORD, written, start, end)
        case "mark":
            return Token(TokenKind.MARK, written, start, end)
        case "number":
            return _number(text, start, end)
        case "zero":
            return Token(TokenKind.NUMBER, written, start, end)
        case "quoted":
            return Token(TokenKind.QUOTED, written[1:-1].replace("``", "`"), start, end)
        case "raw":
            return Token(TokenKind.STRING, written[2:-1], start, end)
        case _:
            content = written[:-1].lstrip("nN")[1:]
            return Token(TokenKind.STRING, _unescaped(content), start, end)


def _number(text: str, start: int, end: int) -> Token:
    """The number that ends at ``end``, or the word that it begins."""
    if not text[end : end + 1].isidentifier():
        return Token(TokenKind.NUMBER, text[start:end], start, end)
    rest = _REST_OF_WORD.match(text, end)
    end = rest.end() if rest else end
    kind = TokenKind.NUMBER if _NUMBER.fullmatch(text, start, end) else TokenKind.WORD
    return Token(kind, text[start:end], start, end)


_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|([01][0-7]{2})|(.))",
    re.DOTALL,
)
"""A pair of surrogates, a code unit, an octal number of ASCII, or any character."""
_ESCAPED = {
    "0": "\0",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    "%": "\\%",
    "_": "\\_",
}
"""What characters stand for behind a backslash; the others for themselves."""


def _unescaped(content: str) -> str:
    return _ESCAPE.sub(_escaped, content) if "\\" in content else content


def _escaped(escape: re.Match[str]) -> str:
    high, low, unit, octal, character = escape.groups()
    if high is not None:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if unit is not None:
        code = int(unit, 16)
        return "?" if 0xD800 <= code <= 0xDFFF else chr(code)  # half a pair is no character
    if octal is not None:
        return chr(int(octal, 8))
    return _ESCAPED.get(character, character)


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


_LINE_END = re.compile(r"[\r\n]|\Z")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


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
