"""One statement's text to a Statement."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from acidsql.errors import ParseError, Span, UnsupportedStatementError
from acidsql.parser import build_rows, grammar, spans
from acidsql.parser.grammar import END, Grammar, Node, Stack, Terminal, load
from acidsql.parser.statements import DryRun, Explain, Statement
from acidsql.parser.tokens import (
    FEW_BRACKETS,
    FEW_TOKENS,
    Token,
    TokenKind,
    check_nesting,
    skip_blank,
    tokenize_statement,
)
from acidsql.parser.variables import SETS, parse_variable_statement, second_statement
from acidsql.utf8 import check_text

# ---- unexpected
#
# What a syntax error says: the word that does not fit, what would, and what was probably meant.


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


# ---- foreign
#
# What other systems' SQL has and this one has not, and what is written instead: statements by their
# first words, clauses by the word at which they stop fitting.


TEMPORARY_VIEW = (
    'Write CREATE VIEW, WITH v AS (SELECT ..) before a query, or session.register("v", frame) in'
    " Python."
)
TEMPORARY_TABLE = (
    'Write CREATE TABLE, and DROP TABLE at the end, or session.register("t", frame) in Python.'
)
_MERGE = (
    "Write MERGE INTO .. USING .. ON .. WHEN MATCHED THEN UPDATE .. WHEN NOT MATCHED THEN INSERT"
)
_STATEMENTS = [
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"CREATE( OR REPLACE)?( GLOBAL| LOCAL)? TEMP(ORARY)? VIEW\b", TEMPORARY_VIEW),
        (r"CREATE TEMP TABLE\b|CREATE (GLOBAL|LOCAL) TEMP(ORARY)? TABLE\b", TEMPORARY_TABLE),
        (
            r"DROP TEMP(ORARY)? (TABLE|VIEW)\b",
            'Write DROP TABLE or DROP VIEW; in Python session.unregister("v") takes a frame away.',
        ),
        (
            r"(UN)?CACHE( LAZY)? TABLE\b|CLEAR CACHE\b",
            "No statement keeps rows in memory: each reads the files of its snapshot.",
        ),
        (
            r"REFRESH\b( TABLE\b)?",
            "Nothing need be refreshed: each statement reads what is there. MSCK REPAIR TABLE"
            " finds the directories of partitions.",
        ),
        (r"OPTIMIZE\b", "Write ALTER TABLE .. COMPACT 'major'."),
        (
            r"VACUUM\b",
            "Write ALTER TABLE .. COMPACT 'major': files that nobody needs any more go behind it.",
        ),
        (
            r"RESTORE\b( TABLE\b)?",
            'An older state is read by session.scan("t", as_of=write_id) in Python.',
        ),
        (
            r"COPY\b(?= \w+ FROM\b)",
            "Write COPY INTO t FROM 'file', also of CSV, JSON, Parquet and several by a pattern, or"
            " LOAD DATA INPATH .. for files of the table's own format.",
        ),
        (r"(UPSERT|REPLACE)( INTO)?\b", f"{_MERGE}."),
        (
            r"COMMENT ON TABLE\b",
            "Write ALTER TABLE .. SET TBLPROPERTIES ('comment'='..').",
        ),
    )
]
_MOST_WORDS = 6
"""By so many first words at most is a statement known."""
_NUMBERED = (
    "Rows are not numbered by themselves: give each its number, such as row_number() OVER"
    " (ORDER BY ..)."
)
_CLAUSES = [
    (re.compile(leading), re.compile(clause), hint)
    for leading, clause, hint in (
        (
            r"CREATE( \w+)* TABLE\b",
            r"USING \w+",
            "Write STORED AS ORC, PARQUET or TEXTFILE; with ORC, TBLPROPERTIES"
            " ('transactional'='true') makes an ACID table.",
        ),
        (
            r"CREATE( \w+)* TABLE\b|ALTER TABLE\b",
            r"(AUTO_?INCREMENT|IDENTITY|GENERATED)\b",
            _NUMBERED,
        ),
        (
            r"CREATE( \w+)* TABLE\b|ALTER TABLE\b",
            r"UNSIGNED\b",
            "No type is unsigned: take the next larger one.",
        ),
        (r"ALTER TABLE\b", r"(ADD )?COLUMN\b", "Write ADD COLUMNS (name type)."),
        (r"UPDATE\b", r"(FROM|JOIN|LEFT|INNER)\b", f"{_MERGE}, or a sub-query in SET or WHERE."),
        (r"DELETE\b", r"USING\b", "Write DELETE FROM .. WHERE .. IN (SELECT ..), or MERGE INTO."),
        (r"INSERT\b", r"ON (CONFLICT|DUPLICATE)\b", f"{_MERGE}."),
        (r"INSERT\b", r"SET\b", "Write INSERT INTO t (column, ..) VALUES (value, ..)."),
    )
]


def refuse_foreign(tokens: Sequence[Token]) -> None:
    """UnsupportedStatementError where the first words are those of another system's statement."""
    words = [token.word for token in tokens[:_MOST_WORDS]]
    text = " ".join(words)
    for pattern, hint in _STATEMENTS:
        if (match := pattern.match(text)) is not None:
            name = match[0].strip()
            last = tokens[name.count(" ")]
            raise UnsupportedStatementError(
                f"{name} is not supported", hint=hint, span=Span(tokens[0].start, last.end)
            )


def instead_of(tokens: Sequence[Token], at: int) -> str | None:
    """What is written instead of another system's clause, which begins at the token ``at`` that
    does not fit.
    """
    leading = " ".join(token.word for token in tokens[: min(at, _MOST_WORDS)])
    clause = " ".join(token.word for token in tokens[at : at + 2])
    return next(
        (
            hint
            for statement, pattern, hint in _CLAUSES
            if statement.match(leading) and pattern.match(clause)
        ),
        None,
    )


# ---- skeleton
#
# Tokens to a skeleton, the tree of the grammar's rules, and that to a statement.
#
# ``read_skeleton`` feeds tokens to the grammar: it decides, with the parse table at hand, which
# terminal each token or run of tokens is. In this order: a keyword where the table can shift it; a
# name; a string, number or mark; a span. A word that could be both a keyword and a name is a
# keyword only if the token after it fits. Words in RESERVED are names only in backticks.
#
# ``build``: each rule that is a statement has a function of its name in one of the build modules.


# The words that hold statements together. Hive reserves more; it costs nothing to let `date` or
# `user` be a column.
RESERVED = frozenset(
    """
    ALL ALTER AND AS BETWEEN BY CASE CREATE CROSS DELETE DESCRIBE DISTINCT DROP ELSE END
    EXCEPT     EXISTS FROM FULL GROUP HAVING IN     INNER INSERT INTERSECT INTO IS JOIN
    LATERAL LEFT LIKE MERGE NOT NULL ON OR ORDER OUTER PARTITION     RIGHT SELECT SET TABLE
    THEN TO     UNION UPDATE USING VALUES WHEN WHERE WITH
    """.split()
)


class _Match(NamedTuple):
    terminal: str
    span: spans.SpanEnd


def read_skeleton(text: str, tokens: list[Token]) -> Node:
    """The tree of the one statement in ``tokens``. ParseError names what was expected instead."""
    grammar = load()
    parse = grammar.start()
    stack = parse.stack
    at = 0
    while at < len(tokens):
        match = next(_matches(grammar, stack, tokens, at), None)
        if match is None:
            reserved = _would_be_name(grammar, stack, tokens, at)
            raise unexpected(grammar, stack, tokens, at, text, may_be_name=reserved)
        parse.feed(_terminal(match, text, tokens, at))
        at = match.span.end
    if grammar.advance(stack, END) is None:
        raise unexpected(grammar, stack, tokens, at, text)
    return parse.finish()


def _matches(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> Iterator[_Match]:
    """What the token at ``at`` can be here, best first."""
    token = tokens[at]
    one = spans.SpanEnd(at + 1)
    match token.kind:
        case TokenKind.WORD:
            yield from _word_matches(grammar, stack, tokens, at)
        case TokenKind.QUOTED:
            if grammar.advance(stack, "NAME"):
                yield _Match("NAME", one)
        case TokenKind.STRING | TokenKind.NUMBER:
            if grammar.advance(stack, token.kind.name):
                yield _Match(token.kind.name, one)
        case TokenKind.MARK:
            yield from _mark_matches(grammar, stack, tokens, at)
    for terminal, reader in spans.READERS.items():
        if grammar.advance(stack, terminal) and (span := reader(tokens, at)):
            yield _Match(terminal, span)


def _word_matches(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> Iterator[_Match]:
    """A keyword comes first, unless the word can be a name and the keyword leads nowhere."""
    word, one = tokens[at].word, spans.SpanEnd(at + 1)
    keyword = grammar.keywords.get(word)
    is_name = word not in RESERVED and grammar.advance(stack, "NAME") is not None
    if (
        keyword
        and (after := grammar.advance(stack, keyword))
        and (not is_name or _fits(grammar, after, tokens, at + 1))
    ):
        yield _Match(keyword, one)
    if is_name:
        yield _Match("NAME", one)


def _mark_matches(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> Iterator[_Match]:
    """A bracket can be that of a query, or stand for itself."""
    text = tokens[at].text
    if text == "(" and grammar.advance(stack, "QUERY") and (span := spans.query(tokens, at)):
        yield _Match("QUERY", span)
    if (mark := grammar.marks.get(text)) and grammar.advance(stack, mark):
        yield _Match(mark, spans.SpanEnd(at + 1))


def _fits(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> bool:
    """Whether the token at ``at``, or the end, can come next."""
    if at == len(tokens):
        return grammar.advance(stack, END) is not None
    try:
        return next(_matches(grammar, stack, tokens, at), None) is not None
    except ParseError:
        return True


def _would_be_name(grammar: Grammar, stack: Stack, tokens: list[Token], at: int) -> bool:
    """Whether the token at ``at`` is a reserved word where a name would fit, and what follows would
    fit behind the name.
    """
    after = grammar.advance(stack, "NAME") if tokens[at].word in RESERVED else None
    return after is not None and _fits(grammar, after, tokens, at + 1)


def _terminal(match: _Match, text: str, tokens: list[Token], at: int) -> Terminal:
    first, last = tokens[at], tokens[match.span.end - 1]
    value = text[first.start : last.end] if match.terminal in spans.READERS else first.text
    terminal = Terminal(match.terminal, value, Span(first.start, last.end))
    if match.span.parts:
        terminal.parts = match.span.parts
    if match.terminal == "EXPRESSION":
        terminal.tokens = tuple(tokens[at : match.span.end])
    return terminal


def build(node: Node, text: str) -> Statement:
    """The statement of a skeleton read from ``text``. ParseError for what the grammar lets through
    and no statement can hold.
    """
    builder = _BUILDERS.get(node.rule) or _other_builders()[node.rule]
    return builder(node, text)


def explain(node: Node, text: str) -> Explain:
    mode = node.node("explain_mode")
    statement = next(child for child in node.nodes() if child.rule != "explain_mode")
    return Explain(
        span=node.span,
        statement=build(statement, text),
        mode=grammar.words(mode, text) if mode else None,
    )


def dry_run(node: Node, text: str) -> DryRun:
    return DryRun(span=node.span, statement=build(next(iter(node.nodes())), text))


_BUILDERS: Mapping[str, Callable[[Node, str], Statement]] = {
    builder.__name__: builder for builder in (*build_rows.BUILDERS, explain, dry_run)
}
"""What builds the statements that read and change rows, by their rules."""


@cache
def _other_builders() -> Mapping[str, Callable[[Node, str], Statement]]:
    """What builds all other statements, which most processes never see."""
    from acidsql.parser import build_alterations, build_tables, build_transactions

    modules = (build_tables, build_alterations, build_transactions)
    return {builder.__name__: builder for module in modules for builder in module.BUILDERS}


# ---- parse


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

    while tokens and tokens[0].word == "EXPLAIN":
        tokens = tokens[1:]
    refuse_foreign(tokens)
    words = [token.word for token in tokens[:4]]
    for size in range(len(words), 0, -1):
        if (name := " ".join(words[:size])) in UNSUPPORTED:
            raise UnsupportedStatementError(
                f"{name} is not supported", span=Span(tokens[0].start, tokens[size - 1].end)
            )
