"""What a syntax error says: the word that does not fit, what would, and what was probably meant."""

from __future__ import annotations

import difflib

from acidsql.errors import ParseError, Span
from acidsql.parser.grammar import END, Grammar, Stack
from acidsql.parser.tokens import Token

MOST_EXPECTED = 8
# How a person writes what is no keyword; queries begin with one of several.
_SPELLING = {
    "NAME": ("a name",),
    "STRING": ("a string",),
    "NUMBER": ("a number",),
    "EXPRESSION": ("an expression",),
    "DATA_TYPE": ("a type",),
    "VALUE": ("a value",),
    "COMPARISON": ('"="',),
    "LIST": ('"("',),
    "SUBQUERY": ('"("',),
    "FROM_CLAUSE": (),
    "REST": (),
    END: ("the end of the statement",),
}
_QUERY_WORDS = {"QUERY": ("FROM", "SELECT", "VALUES"), "BRANCH": ("SELECT",)}


def unexpected(
    grammar: Grammar, stack: Stack, tokens: list[Token], at: int, text: str
) -> ParseError:
    """The error for the token at ``at``, or for the end of the text when there is none."""
    words, others = _expected(grammar, stack)
    expected = (*sorted(words), *sorted(others))
    shown = [*expected[:MOST_EXPECTED], *([".."] if len(expected) > MOST_EXPECTED else [])]
    if at < len(tokens):
        what, span = f'"{text[tokens[at].start : tokens[at].end]}"', tokens[at].span
    else:
        end = tokens[-1].end if tokens else len(text)
        what, span = "end of the statement", Span(end, end)
    error = ParseError(
        f"unexpected {what}, expected {' or '.join(shown) if len(shown) < 3 else ', '.join(shown)}",
        span=span,
        source=text,
    )
    error.expected = expected
    error.incomplete = at >= len(tokens)
    error.hint = _hint(grammar, words, tokens, at)
    return error


def _expected(grammar: Grammar, stack: Stack) -> tuple[set[str], set[str]]:
    """The keywords that could follow, and all else that could, as a person writes them."""
    words: set[str] = set()
    others: set[str] = set()
    for terminal in grammar.accepted(stack):
        spelling = grammar.spelling.get(terminal)
        if terminal in _QUERY_WORDS:
            words.update(_QUERY_WORDS[terminal])
        elif spelling is None:
            others.update(_SPELLING[terminal])
        elif spelling in grammar.keywords:
            words.add(spelling)
        else:
            others.add(f'"{spelling}"')
    return words, others


def _hint(grammar: Grammar, words: set[str], tokens: list[Token], at: int) -> str | None:
    """A suggestion for the word itself, or for the one before it, which may have been taken for an
    alias.
    """
    known = at < len(tokens) and tokens[at].word in grammar.keywords
    if close := _close(words, tokens, at, 0.75 if known else 0.6):
        return f"did you mean {close}?"
    if close := _close(words, tokens, at - 1, 0.75):
        return f'did you mean {close} instead of "{tokens[at - 1].text}"?'
    return None


def _close(words: set[str], tokens: list[Token], at: int, cutoff: float) -> str | None:
    word = tokens[at].word if 0 <= at < len(tokens) else ""
    close = difflib.get_close_matches(word, sorted(words), n=1, cutoff=cutoff)
    return close[0] if close and close[0] != word else None
