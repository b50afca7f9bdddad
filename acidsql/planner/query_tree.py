"""Trees of what users write: their queries and expressions, parsed by sqlglot for analysis only, with places kept as the user's offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.errors import ParseError, Span
from acidsql.planner.columns import simple_columns

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Parsed:
    """A SELECT of one expression; ``base`` is the place in the source of the text it was parsed from."""

    tree: exp.Expr
    base: int


def parse_expressions(source: str, spans: Iterable[Span]) -> dict[Span, Parsed]:
    """Many expressions of one statement in one go, which takes a fraction of the time. {} where one is at fault: alone, it will tell."""
    from sqlglot import exp

    ordered = [span for span in spans if simple_columns(source, span) is None]
    if len(ordered) < 2 or any("--" in span.cut(source) for span in ordered):
        return {}
    text = _WRAP + ", ".join(span.cut(source) for span in ordered)
    try:
        tree = _parse(text, Span(0, len(text)), "")
    except ParseError:
        return {}
    if not _is_mere_select(tree) or len(tree.expressions) != len(ordered):
        return {}
    found: dict[Span, Parsed] = {}
    at = len(_WRAP)
    for span, expression in zip(ordered, tree.expressions, strict=True):
        found[span] = Parsed(exp.Select(expressions=[expression]), span.start - at)
        at += span.end - span.start + 2
    return found


def parse_query(source: str, span: Span) -> exp.Expr:
    """The query ``span`` of ``source``. ParseError."""
    return _parse(source, span, "")


def parse_expression(source: str, span: Span) -> Parsed:
    """A SELECT of the expression and nothing more: no alias, no further column, no clause behind it. ParseError."""
    tree = _parse(source, span, _WRAP)
    if not _is_mere_select(tree) or len(tree.expressions) != 1:
        raise ParseError("this is not one expression", span=span, source=source)
    return Parsed(tree, span.start - len(_WRAP))


def _is_mere_select(tree: exp.Expr) -> bool:
    from sqlglot import exp

    clauses = {name for name, value in tree.args.items() if value}
    return isinstance(tree, exp.Select) and clauses == {"expressions"} and not any(isinstance(e, exp.Alias) for e in tree.expressions)


def output_width(query: exp.Expr) -> int | None:
    """How many columns a query gives; None where a star leaves that to Spark."""
    from sqlglot import exp

    if isinstance(query, exp.Values):
        first = query.expressions[0] if query.expressions else None
        return len(first.expressions) if isinstance(first, exp.Tuple) else None
    if not isinstance(query, exp.Query) or not query.selects or query.is_star:
        return None
    single = (exp.Alias, exp.Column, exp.Literal, exp.Binary, exp.Cast, exp.Case, exp.Null, exp.Boolean, exp.AggFunc, exp.Neg, exp.Paren)
    return len(query.selects) if all(isinstance(e, single) for e in query.selects) else None


def output_columns(query: exp.Expr) -> dict[str, HiveType | None] | None:
    """The names of a query's columns; None where a star or an unnamed expression leaves them to Spark."""
    from sqlglot import exp

    names = [] if not isinstance(query, exp.Query) else [e.output_name.lower() for e in query.selects]
    stars = isinstance(query, exp.Query) and query.is_star
    return None if stars or not names or not all(names) else dict.fromkeys(names)


_WRAP = "SELECT "


@cache
def _dialect() -> Any:
    from sqlglot.dialects import Spark

    return Spark()


def _parse(source: str, span: Span, wrap: str) -> exp.Expr:
    """One query tree. sqlglot's columns are end columns: places are made from offsets."""
    from sqlglot.errors import SqlglotError

    text = wrap + span.cut(source)
    try:
        trees = _trees(text)
    except SqlglotError as error:
        raise _parse_error(error, text, span, len(wrap), source) from None
    if len(trees) != 1 or trees[0] is None or not isinstance(trees[0], _query_types()):
        raise ParseError("expected a query", span=span, source=source)
    return trees[0]


_SYSTEM = re.compile(r"\bSYSTEM_(VERSION|TIME)(?=\s+AS\s+OF\b)", re.IGNORECASE)
"""Words of Spark's that sqlglot knows under another name only."""


def _trees(text: str) -> list[exp.Expr | None]:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse(text, dialect=_dialect())
    except SqlglotError:
        plain = _SYSTEM.sub(lambda found: ("VERSION" if len(found[1]) == 7 else "TIMESTAMP").ljust(len(found[0])), text)
        if plain == text:
            raise
        return sqlglot.parse(plain, dialect=_dialect())


@cache
def _query_types() -> tuple[type, ...]:
    from sqlglot import exp

    return (exp.Query, exp.Values, exp.Table)


def _parse_error(error: Exception, text: str, span: Span, wrapped: int, source: str) -> ParseError:
    facts = (getattr(error, "errors", None) or [{}])[0]
    highlight = facts.get("highlight") or ""
    before = facts.get("start_context") or ""
    at = text.find(before + highlight) + len(before) if highlight else len(text.rstrip())
    place = Span(span.start - wrapped + at, span.start - wrapped + at + max(1, len(highlight)))
    message = str(facts.get("description") or "this is not a query or an expression").split(" but got ")[0].rstrip(".")
    if message.startswith("Required keyword"):
        message = "something is missing before or after this"
    if "Unexpected token" in message:
        message = f'unexpected "{highlight}"'
    return ParseError(message[:1].lower() + message[1:], span=place, source=source)


def is_cte(table: exp.Table) -> bool:
    """Whether an unqualified name means a common table expression that is visible there."""
    from sqlglot import exp

    name = table.name.lower()
    child: exp.Expr = table
    node = table.parent
    while node is not None:
        clause = node if isinstance(node, exp.With) else node.args.get("with_") or node.args.get("with")
        if isinstance(clause, exp.With) and clause is not child:
            recursive = bool(clause.args.get("recursive"))
            for cte in clause.expressions:
                if cte is child and not recursive:
                    break
                if cte.alias.lower() == name:
                    return True
        child, node = node, node.parent
    return False
