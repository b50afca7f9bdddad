"""Trees of what users write: their queries and expressions, parsed by sqlglot for analysis only,
with places kept as the user's offsets.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.errors import NestingError, ParseError, Span
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.nesting import nested_too_deeply
from acidsql.parser.tokens import scan
from acidsql.parser.unexpected import ends_list, missing_behind_comma
from acidsql.planner.bind.deep_trees import SELECT, tree_of

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Parsed:
    """A SELECT of one expression; ``base`` is the place in the source of the text it was parsed
    from.
    """

    tree: exp.Expr
    base: int


def parse_expressions(source: str, spans: Iterable[Span]) -> dict[Span, Parsed]:
    """Many expressions of one statement in one go, which takes a fraction of the time. {} where one
    is at fault: alone, it will tell.
    """
    ordered = list(spans)
    if len(ordered) < 2 or any("--" in span.cut(source) for span in ordered):
        return {}
    from sqlglot import exp

    text = SELECT + ", ".join(span.cut(source) for span in ordered)
    try:
        tree = _parse(text, Span(0, len(text)), "")
    except ParseError:
        return {}
    if not _is_mere_select(tree) or len(tree.expressions) != len(ordered):
        return {}
    parsed: dict[Span, Parsed] = {}
    at = len(SELECT)
    for span, expression in zip(ordered, tree.expressions, strict=True):
        parsed[span] = Parsed(exp.Select(expressions=[expression]), span.start - at)
        at += span.end - span.start + 2
    return parsed


def parse_query(source: str, span: Span) -> exp.Expr:
    """The query ``span`` of ``source``. ParseError."""
    return _parse(source, span, "")


def parse_expression(source: str, span: Span) -> Parsed:
    """A SELECT of the expression and nothing more: no alias, no further column, no clause behind
    it. ParseError.
    """
    tree = _parse(source, span, SELECT)
    if not _is_mere_select(tree) or len(tree.expressions) != 1:
        raise ParseError("this is not one expression", span=span, source=source)
    return Parsed(tree, span.start - len(SELECT))


def _is_mere_select(tree: exp.Expr) -> bool:
    from sqlglot import exp

    clauses = {name for name, value in tree.args.items() if value}
    return (
        isinstance(tree, exp.Select)
        and clauses == {"expressions"}
        and not any(isinstance(e, exp.Alias) for e in tree.expressions)
    )


def holds_query_or_window(source: str, span: Span) -> str | None:
    """What an expression holds that a rule of a table may not: "Subqueries", "Window functions" or
    nothing.
    """
    from sqlglot import exp

    tree = parse_expression(source, span).tree
    if any(node is not tree for node in tree.find_all(exp.Query)):
        return "Subqueries"
    return "Window functions" if tree.find(exp.Window) else None


def output_width(query: exp.Expr) -> int | None:
    """How many columns a query gives; None where a star leaves that to Spark."""
    from sqlglot import exp

    if isinstance(query, exp.Values):
        first = query.expressions[0] if query.expressions else None
        return len(first.expressions) if isinstance(first, exp.Tuple) else None
    if not isinstance(query, exp.Query) or not query.selects or _has_star(query):
        return None
    single = (
        exp.Alias,
        exp.Column,
        exp.Literal,
        exp.Binary,
        exp.Cast,
        exp.Case,
        exp.Null,
        exp.Boolean,
        exp.AggFunc,
        exp.Neg,
        exp.Paren,
    )
    return len(query.selects) if all(isinstance(e, single) for e in query.selects) else None


def output_columns(query: exp.Expr) -> dict[str, HiveType | None] | None:
    """The names of a query's columns; None where a star or an unnamed expression leaves them to
    Spark.
    """
    from sqlglot import exp

    names = (
        [] if not isinstance(query, exp.Query) else [e.output_name.lower() for e in query.selects]
    )
    stars = isinstance(query, exp.Query) and _has_star(query)
    return None if stars or not names or not all(names) else dict.fromkeys(names)


def _has_star(query: exp.Query) -> bool:
    from sqlglot import exp

    if isinstance(query, exp.Select):
        return any(map(is_star, query.expressions))
    return query.is_star


def is_star(item: exp.Expr) -> bool:
    """Whether an item of SELECT stands for several columns. A scalar sub-query is one whatever is
    in it, where sqlglot would go down all of them by calling itself.
    """
    from sqlglot import exp

    return not isinstance(item, exp.Subquery) and item.is_star


@cache
def _dialect() -> Any:
    from sqlglot.dialects import Spark

    return Spark()


def _parse(source: str, span: Span, wrap: str) -> exp.Expr:
    """One query tree. sqlglot's columns are end columns: places are made from offsets."""
    text, base = wrap + span.cut(source), span.start - len(wrap)
    if _NOTHING.search(text) is not None:
        _check_lists(source, span)

    def parse(piece: str, offset: int) -> exp.Expr:
        return _tree(piece, base + offset, span, source)

    try:
        return tree_of(text, parse) or parse(text, 0)
    except (NestingError, RecursionError):
        raise nested_too_deeply(span.cut(source)).at(source, span.start) from None


def _tree(text: str, base: int, span: Span, source: str) -> exp.Expr:
    """The tree of ``text``, whose first character is offset ``base`` of the source, in ``span``."""
    from sqlglot.errors import SqlglotError

    try:
        trees = _trees(text)
    except SqlglotError as error:
        raise _parse_error(error, text, base, source) from None
    if len(trees) != 1 or trees[0] is None or not isinstance(trees[0], _query_types()):
        raise ParseError("expected a query", span=span, source=source)
    return trees[0]


_NOTHING = re.compile(
    r"\bSELECT\s+FROM\b|,\s*(?:--|/\*|[,)\]]|$|(?:FROM|WHERE|GROUP|HAVING|ORDER|SORT|CLUSTER|DISTRIBUTE|LIMIT|UNION"
    r"|INTERSECT|EXCEPT)\b)",
    re.IGNORECASE,
)
"""What a comma may look like that nothing follows, or a SELECT of nothing, outside of strings and
comments.
"""


def _check_lists(source: str, span: Span) -> None:
    """ParseError for a comma behind which a list ends, and for a SELECT without one: sqlglot passes
    over both, and Spark takes the next clause's word for a column.
    """
    tokens = [token.moved(span.start) for token in scan(span.cut(source)).tokens]
    for at, token in enumerate(tokens):
        if token.is_mark(",") and ends_list(tokens, at + 1):
            raise missing_behind_comma(tokens, at + 1, source)
        after = tokens[at + 1].word if at + 1 < len(tokens) else ""
        if token.word == "SELECT" and after == "FROM" and ends_list(tokens, at + 1):
            message = 'nothing stands between "SELECT" and "FROM", expected an expression'
            hint = "Name the columns, or write * for all."
            raise ParseError(message, hint=hint, span=token.span, source=source)


_SYSTEM = re.compile(r"\bSYSTEM_(VERSION|TIME)(?=\s+AS\s+OF\b)", re.IGNORECASE)
"""Words of Spark's that sqlglot knows under another name only."""


def _trees(text: str) -> list[exp.Expr | None]:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse(text, dialect=_dialect())
    except SqlglotError:
        plain = _SYSTEM.sub(
            lambda match: ("VERSION" if len(match[1]) == 7 else "TIMESTAMP").ljust(len(match[0])),
            text,
        )
        if plain == text:
            raise
        return sqlglot.parse(plain, dialect=_dialect())


@cache
def _query_types() -> tuple[type, ...]:
    from sqlglot import exp

    return (exp.Query, exp.Values, exp.Table)


def _parse_error(error: Exception, text: str, base: int, source: str) -> ParseError:
    facts = (getattr(error, "errors", None) or [{}])[0]
    highlight = facts.get("highlight") or ""
    before = facts.get("start_context") or ""
    at = text.find(before + highlight) + len(before) if highlight else len(text.rstrip())
    span = Span(base + at, base + at + max(1, len(highlight)))
    message = (
        str(facts.get("description") or "this is not a query or an expression")
        .split(" but got ")[0]
        .rstrip(".")
    )
    if message.startswith("Required keyword"):
        message = "something is missing before or after this"
    hint = None
    if message == "Expected TYPE after CAST":
        from acidsql.catalog.type_hints import instead_of_type

        message, hint = f'unknown type "{highlight}"', instead_of_type(highlight)
    elif "Unexpected token" in message:
        message = f'unexpected "{highlight}"'
        hint = _hint(source[: span.start])
    return ParseError(message[:1].lower() + message[1:], hint=hint, span=span, source=source)


_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "UNION", "WINDOW")


def _hint(before: str) -> str | None:
    """What helps where a word is not expected behind these: the last one may be a misspelt
    keyword, which was taken for an alias.
    """
    last = re.search(r"(\w+)\s*$", before)
    word = "" if last is None else last[1].upper()
    if word in ("GROUP", "ORDER"):
        return f"{word} is followed by BY."
    if word == "TOP":
        return "Write LIMIT behind the query."
    near = difflib.get_close_matches(word, _CLAUSES, n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near and word not in _CLAUSES else None
