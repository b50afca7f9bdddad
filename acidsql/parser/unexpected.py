"""What a syntax error says: the word that does not fit, what would, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from acidsql.errors import ParseError, Span
from acidsql.parser.grammar import END, Grammar, Stack
from acidsql.parser.tokens import Token, TokenKind

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
    "RETURNED": ("an expression",),
    "REST": (),
    END: ("the end of the statement",),
}
_QUERY_WORDS = {"QUERY": ("FROM", "SELECT", "VALUES"), "BRANCH": ("SELECT",)}


def unexpected(
    grammar: Grammar,
    stack: Stack,
    tokens: list[Token],
    at: int,
    text: str,
    *,
    may_be_name: bool = False,
) -> ParseError:
    """The error for the token at ``at``, or for the end of the text when there is none.
    ``may_be_name``: it is a reserved word, and a name would fit in its place.
    """
    words, others = _expected(grammar, stack)
    expected = (*sorted(words), *sorted(others))
    few = [*expected[:MOST_EXPECTED], *([".."] if len(expected) > MOST_EXPECTED else [])]
    shown = f"expected {' or '.join(few) if len(few) < 3 else ', '.join(few)}"
    if at < len(tokens):
        what, span = f'"{text[tokens[at].start : tokens[at].end]}"', tokens[at].span
    else:
        end = tokens[-1].end if tokens else len(text)
        what, span = "end of the statement", Span(end, end)
    error = ParseError(f"unexpected {what}, {shown}", span=span, source=text)
    if may_be_name:
        error.message = f"{what} is a reserved word and cannot be a name as it is"
        error.hint = f"Put it in backticks: `{tokens[at].text}`."
    elif 0 < at and tokens[at - 1].is_mark(",") and ends_list(tokens, at):
        error = missing_behind_comma(tokens, at, text, shown)
    else:
        from acidsql.parser.foreign import instead_of

        error.hint = instead_of(tokens, at) or _hint(grammar, words, tokens, at)
    error.args = (error.message,)
    error.expected = expected
    error.incomplete = at >= len(tokens)
    return error


def ends_list(tokens: Sequence[Token], at: int) -> bool:
    """Whether a list ends before the token at ``at``, or with the statement: a closing bracket, a
    comma, or a word that begins a clause.
    """
    if at == len(tokens):
        return True
    token = tokens[at]
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    match token.word:
        case "GROUP" | "ORDER" | "SORT" | "CLUSTER" | "DISTRIBUTE":
            return after is not None and after.word == "BY"
        case "FROM" | "WHERE" | "HAVING" | "LIMIT" | "UNION" | "INTERSECT" | "EXCEPT" | "WHEN":
            return after is not None and (after.kind is not TokenKind.MARK or after.text in "(-:?")
    return token.kind is TokenKind.MARK and token.text in (")", "]", ",")


def missing_behind_comma(
    tokens: Sequence[Token], at: int, text: str, shown: str = "expected an expression"
) -> ParseError:
    """The error for a comma before the token ``at``, at which a list has ended. ``shown``: what
    could stand between.
    """
    comma = tokens[at - 1]
    before = f'"{text[tokens[at].start : tokens[at].end]}"' if at < len(tokens) else "the end"
    return ParseError(
        f'nothing stands between "," and {before}, {shown}',
        hint="Write what is missing behind the comma, or take the comma away.",
        span=comma.span,
        source=text,
    )


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
