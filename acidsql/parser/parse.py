"""One statement's text to a Statement."""

from __future__ import annotations

from acidsql.errors import ParseError, Span, UnsupportedStatementError
from acidsql.parser.nesting import FEW_BRACKETS, FEW_TOKENS, check_nesting
from acidsql.parser.statements import Statement
from acidsql.parser.tokens import Token, skip_blank, tokenize_statement
from acidsql.parser.variables import SETS, parse_variable_statement, second_statement
from acidsql.utf8 import check_text

# Statements of Hive that the grammar does not hold, by their leading words.
UNSUPPORTED = (
    "ADD ARCHIVE", "ADD ARCHIVES", "ADD FILE", "ADD FILES", "ADD JAR", "ADD JARS", "ALTER DATABASE",
    "ALTER INDEX", "ALTER MATERIALIZED VIEW", "ALTER POOL", "ALTER RESOURCE PLAN",
    "ALTER SCHEDULED QUERY", "ALTER SCHEMA", "ALTER TRIGGER", "ALTER USER MAPPING", "ALTER VIEW",
    "CACHE", "CREATE FUNCTION", "CREATE INDEX", "CREATE MATERIALIZED VIEW", "CREATE POOL",
    "CREATE REMOTE DATABASE", "CREATE RESOURCE PLAN", "CREATE ROLE", "CREATE SCHEDULED QUERY",
    "CREATE TEMPORARY FUNCTION", "CREATE TEMPORARY MACRO", "CREATE TRIGGER", "DELETE ARCHIVE",
    "DELETE FILE", "DELETE JAR", "DESC FUNCTION", "DESCRIBE FUNCTION", "DFS", "DROP FUNCTION",
    "DROP INDEX", "DROP MATERIALIZED VIEW", "DROP POOL", "DROP RESOURCE PLAN", "DROP ROLE",
    "DROP SCHEDULED QUERY", "DROP TEMPORARY FUNCTION", "DROP TEMPORARY MACRO", "DROP TRIGGER",
    "EXPORT", "GRANT", "IMPORT", "KILL QUERY", "LIST", "RELOAD FUNCTION", "REPL", "REVOKE",
    "SHOW CONF", "SHOW CREATE DATABASE", "SHOW CREATE SCHEMA", "SHOW CURRENT ROLES",
    "SHOW FUNCTIONS", "SHOW GRANT", "SHOW INDEX", "SHOW INDEXES", "SHOW MATERIALIZED VIEWS",
    "SHOW PRINCIPALS", "SHOW RESOURCE PLAN", "SHOW RESOURCE PLANS", "SHOW ROLE", "SHOW ROLES",
    "SHOW TABLE EXTENDED",
)  # fmt: skip


def parse(text: str) -> Statement:
    """The one statement in ``text``, with an optional ``;`` behind it.

    ParseError with a span into ``text``; its ``incomplete`` is true when more text could make a
    statement of it. UnsupportedStatementError for a statement that Hive knows and acidsql does not.
    ProgrammingError for text that UTF-8 cannot write.
    """
    check_text(text)
    if (word := SETS.match(text, skip_blank(text, 0))) is not None:
        return parse_variable_statement(text, word)
    tokens = _one_statement(text, tokenize_statement(text))
    if len(tokens) > FEW_TOKENS or sum(map(text.count, "([{<")) > FEW_BRACKETS:
        check_nesting(text, tokens)
    try:
        return parse_tokens(text, tokens)
    except (ParseError, UnsupportedStatementError) as error:
        error.at(text)
        raise


def parse_tokens(text: str, tokens: list[Token]) -> Statement:
    """The statement that these tokens are; they are one statement's, without its ``;``."""
    from acidsql.parser.grammar import Node
    from acidsql.parser.skeleton import build, read_skeleton

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
    statement = tokens[:count]
    if not statement:
        error = ParseError("there is no statement", span=Span(len(text), len(text)), source=text)
        error.incomplete = not tokens
        raise error
    for token in statement:
        if token.is_mark(";"):
            raise second_statement(text, token.span)
    return statement


def _refuse_unsupported(tokens: list[Token]) -> None:
    """Raises UnsupportedStatementError where the first words are those of a statement that Hive or
    another system has and acidsql has not.
    """
    from acidsql.parser.foreign import refuse_foreign

    while tokens and tokens[0].word == "EXPLAIN":
        tokens = tokens[1:]
    refuse_foreign(tokens)
    words = [token.word for token in tokens[:4]]
    for size in range(len(words), 0, -1):
        if (name := " ".join(words[:size])) in UNSUPPORTED:
            raise UnsupportedStatementError(
                f"{name} is not supported", span=Span(tokens[0].start, tokens[size - 1].end)
            )
