"""One statement's text to a Statement."""

from __future__ import annotations

import re

from acidsql.errors import ParseError, Span, UnsupportedStatementError
from acidsql.parser.statements import ResetVariable, SetVariable, Statement
from acidsql.parser.tokens import Token, TokenKind, scan, skip_blank, tokenize

# Statements of Hive that the grammar does not hold, by their leading words.
UNSUPPORTED = (
    "ADD ARCHIVE", "ADD ARCHIVES", "ADD FILE", "ADD FILES", "ADD JAR", "ADD JARS", "ALTER DATABASE", "ALTER INDEX",
    "ALTER MATERIALIZED VIEW", "ALTER POOL", "ALTER RESOURCE PLAN", "ALTER SCHEDULED QUERY", "ALTER SCHEMA", "ALTER TRIGGER",
    "ALTER USER MAPPING", "ALTER VIEW", "CACHE", "CREATE FUNCTION", "CREATE INDEX", "CREATE MATERIALIZED VIEW", "CREATE POOL",
    "CREATE REMOTE DATABASE", "CREATE RESOURCE PLAN", "CREATE ROLE", "CREATE SCHEDULED QUERY", "CREATE TEMPORARY FUNCTION",
    "CREATE TEMPORARY MACRO", "CREATE TRIGGER", "DELETE ARCHIVE", "DELETE FILE", "DELETE JAR", "DESC FUNCTION", "DESCRIBE FUNCTION",
    "DFS", "DROP FUNCTION", "DROP INDEX", "DROP MATERIALIZED VIEW", "DROP POOL", "DROP RESOURCE PLAN", "DROP ROLE",
    "DROP SCHEDULED QUERY", "DROP TEMPORARY FUNCTION", "DROP TEMPORARY MACRO", "DROP TRIGGER", "EXPORT", "GRANT", "IMPORT",
    "INSERT OVERWRITE DIRECTORY", "INSERT OVERWRITE LOCAL DIRECTORY", "KILL QUERY", "LIST", "RELOAD FUNCTION", "REPL", "REVOKE",
    "SHOW CONF", "SHOW CREATE DATABASE", "SHOW CREATE SCHEMA", "SHOW CURRENT ROLES", "SHOW FUNCTIONS", "SHOW GRANT", "SHOW INDEX",
    "SHOW INDEXES", "SHOW MATERIALIZED VIEWS", "SHOW PRINCIPALS", "SHOW RESOURCE PLAN", "SHOW RESOURCE PLANS", "SHOW ROLE",
    "SHOW ROLES", "SHOW TABLE EXTENDED",
)  # fmt: skip

_KEY = re.compile(r"[^\s=;]+")


def parse(text: str) -> Statement:
    """The one statement in ``text``, with an optional ``;`` behind it.

    ParseError with a span into ``text``; its ``incomplete`` is true when more text could make a statement of it.
    UnsupportedStatementError for a statement that Hive knows and acidsql does not.
    """
    variable = _variable_statement(text)
    if variable is not None:
        return variable
    tokens = _one_statement(text, tokenize(text))
    try:
        return parse_tokens(text, tokens)
    except (ParseError, UnsupportedStatementError) as error:
        error.at(text)
        raise


def parse_tokens(text: str, tokens: list[Token]) -> Statement:
    """As ``parse``, from the tokens of one statement without its ``;``."""
    from acidsql.parser.build import build
    from acidsql.parser.grammar import Node
    from acidsql.parser.skeleton import read_skeleton

    try:
        skeleton = read_skeleton(text, tokens)
    except ParseError:
        _refuse_unsupported(tokens)
        raise
    statement = skeleton.children[0]
    assert isinstance(statement, Node)
    return build(statement, text)


def _one_statement(text: str, tokens: list[Token]) -> list[Token]:
    """The tokens without the closing semicolons."""
    count = len(tokens)
    while count and tokens[count - 1].is_mark(";"):
        count -= 1
    found = tokens[:count]
    if not found:
        error = ParseError("there is no statement", span=Span(len(text), len(text)), source=text)
        error.incomplete = not tokens
        raise error
    for token in found:
        if token.is_mark(";"):
            raise ParseError(
                'unexpected ";", expected one statement', span=token.span, source=text, hint="Statements are run one at a time."
            )
    return found


def _refuse_unsupported(tokens: list[Token]) -> None:
    """Raises UnsupportedStatementError where the first words are those of a statement Hive has and acidsql has not."""
    words = [token.word for token in tokens[:4]]
    if words[:1] == ["EXPLAIN"]:
        _refuse_unsupported(tokens[1:])
    for size in range(len(words), 0, -1):
        if (name := " ".join(words[:size])) in UNSUPPORTED:
            raise UnsupportedStatementError(f"{name} is not supported", span=Span(tokens[0].start, tokens[size - 1].end))


# ---- SET and RESET: the value is the rest of the text, whatever it is -----------------------------------------------------------------


def _variable_statement(text: str) -> SetVariable | ResetVariable | None:
    start = skip_blank(text, 0)
    word = re.compile(r"(?:SET|RESET)(?![\w.])", re.IGNORECASE).match(text, start)
    if word is None:
        return None
    end = _statement_end(text)
    span = Span(start, end)
    key_start = skip_blank(text, word.end())
    key = _KEY.match(text, key_start, end)
    if word.group().upper() == "RESET":
        return _reset(text, span, key)
    if key is None:
        if key_start < end:
            raise ParseError(f'unexpected "{text[key_start]}", expected a name', span=Span(key_start, key_start + 1), source=text)
        return SetVariable(span=span, key=None, value=None)
    if key.group().lower() == "-v":
        return SetVariable(span=span, key=None, value=None, verbose=True)
    equals = skip_blank(text, key.end())
    if equals >= end:
        return SetVariable(span=span, key=key.group(), value=None)
    if text[equals] != "=":
        raise ParseError(f'unexpected "{text[equals:end].split()[0]}", expected "="', span=Span(equals, equals + 1), source=text)
    return SetVariable(span=span, key=key.group(), value=text[equals + 1 : end].strip())


def _reset(text: str, span: Span, key: re.Match[str] | None) -> ResetVariable:
    if key is not None and skip_blank(text, key.end()) < span.end:
        raise ParseError("RESET takes one name", span=Span(key.end(), span.end), source=text)
    return ResetVariable(span=span, key=key.group() if key else None)


def _statement_end(text: str) -> int:
    """Where the text ends without closing semicolons; a semicolon elsewhere, outside quotes, is a second statement."""
    end = len(text.rstrip())
    while end and text[end - 1] == ";":
        end = len(text[: end - 1].rstrip())
    for token in scan(text[:end]).tokens:
        if token.kind is TokenKind.MARK and token.text == ";":
            raise ParseError(
                'unexpected ";", expected one statement', span=token.span, source=text, hint="Statements are run one at a time."
            )
    return end
