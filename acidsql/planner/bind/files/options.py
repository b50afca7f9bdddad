"""Options of COPY: one value behind a name."""

from __future__ import annotations

from acidsql.errors import BindError, Span
from acidsql.parser import statements as ast
from acidsql.parser.tokens import TokenKind, tokens_in


def flag(option: ast.CopyOption | None, default: bool) -> bool:
    """Whether an option is on, which its name alone says, too."""
    if option is None:
        return default
    word = word_of(option).lower() if option.values else "true"
    if word not in ("true", "false"):
        raise BindError(f"{option.name.text.upper()} is true or false", span=option.span)
    return word == "true"


def word_of(option: ast.CopyOption) -> str:
    """The one value of an option: a word, a text, a number."""
    tokens = (
        tokens_in(option.values[0].text, Span(0, len(option.values[0].text)))
        if len(option.values) == 1 and not option.listed
        else ()
    )
    if len(tokens) != 1 or tokens[0].kind is TokenKind.MARK:
        raise BindError(f"{option.name.text.upper()} wants one value", span=option.span)
    return tokens[0].text
