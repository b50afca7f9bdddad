"""SET and RESET, which are no matter of tokens: the value is the text up to the ``;`` of its line,
whatever it is.

So ``SET opts=--add-opens x;`` and ``SET owner=it's me;`` mean what they say. Only a ``;`` between
quotes closed on the same line belongs to the value. Without a ``;`` on its line the value goes on
to where the statement ends.
"""

from __future__ import annotations

import re

from acidsql.errors import ParseError, Span, UnsupportedStatementError
from acidsql.lazy import pattern
from acidsql.parser.statements import ResetVariable, SetAutocommit, SetVariable
from acidsql.parser.tokens import scan, skip_blank
from acidsql.settings.setting import BLANKS

SETS = pattern(r"(SET|RESET)(?![\w.])", re.IGNORECASE)
_KEY = pattern(r"""[^\s=;'"`]+""")
_QUOTED_OR_END = pattern(r"""'[^'\r\n]*'|"[^"\r\n]*"|[;\r\n]""")
_SWITCH = pattern(r"TRUE|FALSE", re.IGNORECASE)
# What Hive and Spark also begin with SET.
_UNSUPPORTED = pattern(r"SET\s+(ROLE|TIME\s+ZONE)\b", re.IGNORECASE)

VariableStatement = SetVariable | SetAutocommit | ResetVariable


def parse_variable_statement(text: str, word: re.Match[str]) -> VariableStatement:
    """The SET or RESET that ``text`` is; ``word``: where SETS met its first word. ParseError."""
    start = word.start()
    span = Span(start, _end(text, start))
    if unsupported := _UNSUPPORTED.match(text, start, span.end):
        name = " ".join(unsupported[0].upper().split())
        raise UnsupportedStatementError(
            f"{name} is not supported", span=Span(*unsupported.span()), source=text
        )
    at = min(skip_blank(text, word.end()), span.end)
    if at == word.end() and _KEY.match(text, at, span.end):
        raise _unexpected(text, at, span.end, "a blank")
    if word[1].upper() == "RESET":
        return _reset(text, span, at)
    return _set(text, span, at)


def _set(text: str, span: Span, at: int) -> SetVariable | SetAutocommit:
    if at == span.end:
        return SetVariable(span=span, key=None, value=None)
    key = _KEY.match(text, at, span.end)
    if key is None:
        raise _unexpected(text, at, span.end, "a name")
    if key[0].lower() == "-v":
        _nothing_more(text, key.end(), span.end)
        return SetVariable(span=span, key=None, value=None, verbose=True)
    equals = min(skip_blank(text, key.end()), span.end)
    if equals == span.end:
        return SetVariable(span=span, key=key[0], value=None)
    if text[equals] == "=":
        return SetVariable(span=span, key=key[0], value=text[equals + 1 : span.end].strip(BLANKS))
    if key[0].upper() == "AUTOCOMMIT":
        return _autocommit(text, span, equals)
    raise _unexpected(text, equals, span.end, '"="')


def _autocommit(text: str, span: Span, at: int) -> SetAutocommit:
    switch = _SWITCH.fullmatch(text, at, span.end)
    if switch is None:
        raise _unexpected(text, at, span.end, 'FALSE, TRUE, "="')
    return SetAutocommit(span=span, on=switch[0].upper() == "TRUE")


def _reset(text: str, span: Span, at: int) -> ResetVariable:
    keys: list[str] = []
    while at < span.end:
        key = _KEY.match(text, at, span.end)
        if key is None:
            raise _unexpected(text, at, span.end, "a name")
        keys.append(key[0])
        at = skip_blank(text, key.end())
    return ResetVariable(
        span=span, keys=tuple(key for key in keys if key != "-d"), to_default="-d" in keys
    )


def _nothing_more(text: str, at: int, end: int) -> None:
    if (rest := skip_blank(text, at)) < end:
        raise _unexpected(text, rest, end, "the end of the statement")


def _unexpected(text: str, at: int, end: int, expected: str) -> ParseError:
    word = _KEY.match(text, at, end)
    stop = word.end() if word else at + 1
    return ParseError(
        f'unexpected "{text[at:stop]}", expected {expected}', span=Span(at, stop), source=text
    )


def assignment_end(text: str, start: int) -> int | None:
    """The offset of the ``;`` that ends the ``SET k=v`` at ``start`` on the line of its value; None
    where there is none.
    """
    at = skip_blank(text, start + len("SET"))
    key = _KEY.match(text, at) if at > start + len("SET") else None
    if key is None or not text.startswith("=", at := skip_blank(text, key.end())):
        return None
    mark = next((m for m in _QUOTED_OR_END.finditer(text, at + 1) if len(m[0]) == 1), None)
    return mark.start() if mark is not None and mark[0] == ";" else None


def _end(text: str, start: int) -> int:
    """The offset at which the statement ends without its semicolons. A second statement behind them
    is refused.
    """
    stop = assignment_end(text, start)
    if stop is None:
        stop = next((token.start for token in scan(text).tokens if token.is_mark(";")), len(text))
    rest = scan(text[stop:])
    if rest.unclosed is not None or not all(token.is_mark(";") for token in rest.tokens):
        raise second_statement(text, Span(stop, stop + 1))
    return start + len(text[start:stop].rstrip(BLANKS))


def second_statement(text: str, semicolon: Span) -> ParseError:
    return ParseError(
        'unexpected ";", expected one statement',
        span=semicolon,
        source=text,
        hint="Statements are run one at a time.",
    )
