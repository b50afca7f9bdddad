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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, NamedTuple

from acidsql.errors import Error, NestingError, ParseError, Span
from acidsql.lazy import dataclass, pattern


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


# ---- nesting
#
# How deeply a statement nests, found without recursion: brackets, CASE .. END, and the angle
# brackets of types.
#
# Every reader behind the tokens (sqlglot, Spark, those of types) goes down one level by calling
# itself, and each ends somewhere in an overflow. What is deeper than any of them can go is refused
# here, with its place; what only some of them cannot do ends in the same error.


MAX_NESTING = 1000
"""Levels of a statement: Spark's own parser gives up at some 200 to 700 of them."""
MAX_TYPE_NESTING = 50
"""Levels of a column type, MAP being two: Arrow carries rows of no more than 64."""
MAX_PREFIXES = 400
"""Signs and NOTs in front of one operand."""
FEW_TOKENS, FEW_BRACKETS = MAX_PREFIXES, MAX_TYPE_NESTING // 2
"""A text with no more of both cannot nest too deeply: the bracket of a MAP stands for two levels,
any other for one.
"""

HINT = "Compute parts of it first: in a WITH clause, a view or a table."
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BRACKETS = frozenset(")]}")
_LEVELS_OF_TYPE = {"ARRAY": 1, "MAP": 2, "STRUCT": 1}
_PREFIXES = frozenset({"NOT", "-", "+", "~", "!"})


class Group(NamedTuple):
    """Tokens ``first`` to ``last``: a bracket and the one that closes it, or CASE and END.

    ``depth``: 1 for the outermost. ``types``: the levels of the type that the angle brackets around
    it, and it, make. ``in_lambda``: it stands in the body of ``x -> ..``.
    """

    first: int
    last: int
    depth: int
    types: int
    in_lambda: bool


@dataclass(slots=True)
class _Open:
    first: int
    closing: str
    types: int
    in_lambda: bool
    has_arrow: bool = False


def groups(tokens: Sequence[Token]) -> Iterator[Group]:
    """Every group, an inner one before those around it; what is never closed ends with the text."""
    opened = [_Open(-1, "", 0, False)]
    for index, token in enumerate(tokens):
        if closing := _closing(tokens, index):
            levels = _type_levels(tokens, index) if closing == ">" else 0
            opened.append(_opened(opened[-1], index, closing, levels))
        elif token.is_mark(">") and index and tokens[index - 1].is_mark("-"):
            opened[-1].has_arrow = True
        elif token.kind in (TokenKind.MARK, TokenKind.WORD):
            yield from _closed(opened, token.text.upper(), index)
    while len(opened) > 1:
        yield _group(opened, len(tokens) - 1)


def _opened(around: _Open, index: int, closing: str, type_levels: int = 0) -> _Open:
    in_lambda = around.in_lambda or around.has_arrow
    return _Open(index, closing, around.types + type_levels, in_lambda)


def _closing(tokens: Sequence[Token], index: int) -> str:
    """What closes the group that a token opens; empty where it opens none."""
    token = tokens[index]
    if token.kind is TokenKind.MARK:
        is_comparison = token.text == "<" and not _type_levels(tokens, index)
        return "" if is_comparison else _CLOSING.get(token.text, "")
    return "END" if token.word == "CASE" and not _is_field(tokens, index) else ""


def _closed(opened: list[_Open], closing: str, index: int) -> Iterator[Group]:
    """The innermost group that a bracket closes, and the groups left open inside it. END and ``>``
    may be other things, too: they close none but the innermost of all.
    """
    if closing in _BRACKETS or opened[-1].closing == closing:
        depth = next((d for d in range(len(opened) - 1, 0, -1) if opened[d].closing == closing), 0)
        while depth and len(opened) > depth:
            yield _group(opened, index)


def _group(opened: list[_Open], last: int) -> Group:
    one = opened.pop()
    return Group(one.first, last, len(opened), one.types, one.in_lambda)


def _is_field(tokens: Sequence[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].is_mark(".")


def _type_levels(tokens: Sequence[Token], index: int) -> int:
    """The levels that the type with this angle bracket adds; 0 for a comparison."""
    return _LEVELS_OF_TYPE.get(tokens[index - 1].word, 0) if index else 0


def check_nesting(text: str, tokens: Sequence[Token]) -> None:
    """NestingError for a statement that nests deeper than anything here can read."""
    _check_groups(text, tokens)
    _check_prefixes(text, tokens)


def _check_groups(text: str, tokens: Sequence[Token]) -> None:
    beyond = [g for g in groups(tokens) if g.depth > MAX_NESTING or g.types > MAX_TYPE_NESTING]
    if not beyond:
        return
    first = min(beyond)
    what, limit = (
        ("type", MAX_TYPE_NESTING) if first.types > MAX_TYPE_NESTING else ("", MAX_NESTING)
    )
    raise NestingError(
        f"this {what or 'statement'} is nested more than {limit} levels deep",
        hint=None if what else HINT,
        span=tokens[first.first].span,
        source=text,
    )


def _check_prefixes(text: str, tokens: Sequence[Token]) -> None:
    run = 0
    for token in tokens:
        run = (
            run + 1
            if token.kind in (TokenKind.MARK, TokenKind.WORD) and (token.text.upper() in _PREFIXES)
            else 0
        )
        if run > MAX_PREFIXES:
            raise NestingError(
                f"more than {MAX_PREFIXES} signs or NOTs stand before one operand",
                span=token.span,
                source=text,
            )


def nested_too_deeply(text: str, reader: str = "acidsql") -> NestingError:
    """The error for a statement that ``reader`` could not read to its bottom: it points at where
    the statement is deepest.
    """
    return NestingError(
        f"the statement is nested too deeply for {reader}",
        hint=HINT,
        span=deepest(text),
        source=text,
    )


def deepest(text: str) -> Span:
    """The first token of the innermost group; of a text without any, its first token."""
    tokens = scan(text).tokens
    innermost = max(groups(tokens), key=lambda group: (group.depth, -group.first), default=None)
    if innermost is not None:
        return tokens[innermost.first].span
    return tokens[0].span if tokens else Span(0, len(text))


@contextmanager
def placed_in(source: str) -> Iterator[None]:
    """Tells every error that leaves it the text of its statement; a stack that ran out is an error
    at the place where the text is deepest.
    """
    try:
        yield
    except RecursionError:
        raise nested_too_deeply(source) from None
    except NestingError as error:
        if error.span is None:
            error.span, error.source = deepest(source), source
        raise
    except Error as error:
        if error.source is None:
            if error.span is None and error.fragment and source.count(error.fragment) == 1:
                start = source.index(error.fragment)
                error.span = Span(start, start + len(error.fragment))
            error.at(source)
        raise
