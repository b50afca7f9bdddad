"""What may come next at the prompt: keywords asked of the grammar, names asked of the catalog.

The grammar is asked by giving it a mark that fits nowhere: the error lists what would have. Inside
queries and expressions, which the grammar takes as they are, a fixed list of words and the columns
of the tables named so far are offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from acidsql.cli.commands import COMMANDS, PREFIXES, command_end
from acidsql.errors import Error, ParseError
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.parser.tokens import Token, TokenKind, scan

QUERY_WORDS = (
    "AND", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "COUNT", "DESC", "DISTINCT", "ELSE", "END",
    "EXISTS", "FROM", "FULL", "GROUP", "HAVING", "IN", "INNER", "IS", "JOIN", "LATERAL", "LEFT",
    "LIKE", "LIMIT", "NOT", "NULL", "ON", "OR", "ORDER", "OUTER", "OVER", "PARTITION", "RIGHT",
    "ROW__ID", "SELECT", "SEMI", "SUM", "THEN", "UNION", "USING", "VALUES", "WHEN", "WHERE", "WITH",
)  # fmt: skip
_OPENS_QUERY = frozenset(("SELECT", "WHERE", "SET", "VALUES", "FROM", "WITH"))
_BEFORE_TABLE = frozenset(
    ("FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "DESC", "FORMATTED", "EXTENDED")
)
_OTHER_STATEMENTS = ("RESET", "SET", "SOURCE", "QUIT")
_FITS_NOWHERE = " )"
_TYPED = re.compile(r"[\w.]*\Z")


class Names(Protocol):
    """The catalog, as far as completion goes."""

    def databases(self) -> Sequence[str]: ...

    def tables(self, database: str | None) -> Sequence[str]: ...

    def columns(self, table: str) -> Sequence[str]: ...


def complete(before: str, names: Names) -> tuple[str, list[str]]:
    """The word being typed at the end of ``before``, and what it may become, the
    likeliest first.
    """
    before = _last_statement(before)
    if before.startswith(PREFIXES):
        return _complete_command(before)
    scanned = scan(before)
    if scanned.unclosed is not None:
        return "", []
    typed = _TYPED.search(before)
    word = typed.group() if typed else ""
    head = before[: len(before) - len(word)]
    tokens = [t for t in scanned.tokens if t.end <= len(head) and not t.is_mark(";")]
    start = tokens[0].start if tokens else len(head)
    return word, _matching(word, _candidates(head[start:], tokens, word, names))


def _last_statement(before: str) -> str:
    """The end of ``before`` from where the statement or command begins that is being typed."""
    statements = split(before, command_end)
    if not statements:
        return before
    last = statements[-1]
    goes_on = not before[last.span.end :].strip(" \t") if last.is_command else not last.is_closed
    return before[last.span.start if goes_on else last.span.end :]


def _complete_command(text: str) -> tuple[str, list[str]]:
    if " " in text:
        return "", []
    return text, [text[0] + c.name for c in COMMANDS if c.name.startswith(text[1:].lower())]


def _candidates(head: str, tokens: list[Token], word: str, names: Names) -> Iterable[str]:
    last = tokens[-1].word if tokens else ""
    if last == "USE":
        return names.databases()
    if last in _BEFORE_TABLE:
        return [*_tables(word, names), *_expected(head)]
    words = list(_expected(head))
    if not tokens:
        return [*words, *_OTHER_STATEMENTS]
    if any(t.word in _OPENS_QUERY for t in tokens):
        words += [*_columns(tokens, names), *QUERY_WORDS, *_tables(word, names)]
    return words


def _expected(head: str) -> Iterable[str]:
    """The keywords that the grammar takes behind ``head``."""
    try:
        parse(head + _FITS_NOWHERE)
    except ParseError as error:
        return [word for word in error.expected if word.isupper() and word.isalpha()]
    except Error:
        pass
    return ()


def _tables(word: str, names: Names) -> Iterable[str]:
    database, dot, _ = word.rpartition(".")
    if dot:
        return [f"{database}.{table}" for table in names.tables(database)]
    return [*names.tables(None), *(f"{name}." for name in names.databases())]


def _columns(tokens: list[Token], names: Names) -> Iterable[str]:
    known = set(names.tables(None))
    named = {t.text.lower() for t in tokens if t.kind in (TokenKind.WORD, TokenKind.QUOTED)}
    return [column for table in sorted(known & named) for column in names.columns(table)]


def _matching(word: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that begin as typed, each once, keywords in the case the user writes."""
    lower = word.lower()
    matching = dict.fromkeys(
        c for c in candidates if c.lower().startswith(lower) and c.lower() != lower
    )
    return [c.lower() if c.isupper() and word.islower() else c for c in matching]
