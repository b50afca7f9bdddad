"""Trees of what users write: their queries and expressions, parsed by sqlglot for analysis only,
with places kept as the user's offsets.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import HiveType
from acidsql.errors import NestingError, ParseError, Span
from acidsql.lazy import dataclass
from acidsql.parser.parse import ends_list, missing_behind_comma
from acidsql.parser.tokens import Group, Token, TokenKind, groups, nested_too_deeply, scan

if TYPE_CHECKING:
    from sqlglot import exp


# ---- deep trees
#
# sqlglot's tree of a text of any depth. sqlglot goes down by calling itself, some twenty calls a
# level, and Python stops it at fifty levels (a compiled one ends the process somewhat later).
#
# So a deep text is parsed in pieces. What stands alone, a call, an operand in brackets, CASE .. END
# or a sub-query, is cut out where it has grown ``_HEIGHT`` levels high; a name of the same length
# takes its place, which keeps every other offset. The tree of the piece is put there at the end.
# The whole takes no more calls than one piece, and as long as before.


ParseText = Callable[[str, int], "exp.Expr"]
"""The tree of a query; the number is the offset of its first character."""

_HEIGHT = 10
_MAX_HEIGHT = 100
SELECT = "SELECT "
_QUERY_WORDS = frozenset({"SELECT", "WITH"})
_BEFORE_OPERAND = frozenset(
    "AND OR NOT WHEN THEN ELSE CASE BETWEEN LIKE RLIKE REGEXP DIV SELECT DISTINCT WHERE HAVING BY"
    " ON".split()
)
_MARKS_BEFORE = frozenset("(,+-*/%|&^=<>!~[")
_MARKS_BEHIND = frozenset("),+-*/%|&^=<>!][")
_NO_FUNCTIONS = frozenset(
    "IN EXISTS OVER FILTER VALUES AS USING ANY ALL SOME FROM JOIN SETS CUBE ROLLUP INTERVAL GROUP"
    " PARTITION LATERAL VIEW TABLE PIVOT UNPIVOT TABLESAMPLE".split()
)
"""Words before a bracket that is no function's."""
_NOT_BEHIND = frozenset({"OVER", "FILTER", "WITHIN", "IGNORE", "RESPECT", "COLLATE"})


@dataclass(slots=True)
class _Piece:
    """Characters ``start`` to ``end`` of the text; ``inner`` are the pieces cut out of it."""

    start: int
    end: int
    is_query: bool
    inner: list[_Piece] = field(default_factory=list)

    def cut(self, text: str) -> str:
        """Its text, with names where others were cut out."""
        parts, at = [], self.start
        for piece in self.inner:
            parts += [text[at : piece.start], piece.name()]
            at = piece.end
        return "".join((*parts, text[at : self.end]))

    def name(self) -> str:
        """What stands in its place, as long as itself."""
        head = SELECT if self.is_query else ""
        return (head + "p").ljust(self.end - self.start)

    @property
    def name_start(self) -> int:
        return self.start + (len(SELECT) if self.is_query else 0)


def tree_of(text: str, parse: ParseText) -> exp.Expr | None:
    """The tree of the query ``text``; None where it is not deep, or cannot be cut. NestingError
    where a piece of it is too deep for any parser.
    """
    if sum(map(text.count, "([")) + text.upper().count("CASE") <= _HEIGHT:
        return None
    root = _Piece(0, len(text), True)
    if _cut(root, scan(text).tokens) > _MAX_HEIGHT:
        raise nested_too_deeply(text)
    if not root.inner:
        return None
    tree = parse(root.cut(text), 0)
    waiting = [(root, tree)]
    while waiting:
        around, above = waiting.pop()
        names = list(_names(above, around.inner))
        if len(names) != len(around.inner):
            return None
        for piece, name in names:
            below = _parsed(piece, text, parse)
            if below is None:
                return None
            _graft(name, below)
            waiting.append((piece, below))
    return tree


def _cut(root: _Piece, tokens: Sequence[Token]) -> int:
    """Gives ``root`` its pieces, each with those inside it; how many levels the highest has."""
    pieces, highest = root.inner, 0
    heights = [0] * (len(tokens) + 2)
    for group in groups(tokens):
        height = heights[group.depth + 1] + 1
        heights[group.depth + 1] = 0
        highest = max(highest, height)
        piece = _piece(tokens, group) if height >= _HEIGHT else None
        if piece is not None:
            height = 0
            while pieces and pieces[-1].start >= piece.start:
                piece.inner.insert(0, pieces.pop())
            pieces.append(piece)
        heights[group.depth] = max(heights[group.depth], height)
    return highest


def _piece(tokens: Sequence[Token], group: Group) -> _Piece | None:
    """A sub-query without its brackets, or an operand; None where no name can stand for it."""
    first, last = group.first, group.last
    if group.types or group.in_lambda:
        return None
    if tokens[first].is_mark("(") and tokens[first + 1].word in _QUERY_WORDS:
        return _Piece(tokens[first].end, tokens[last].start, True)
    start = _operand_start(tokens, first)
    if start is None or not _stands_alone(tokens, start, last):
        return None
    return _Piece(tokens[start].start, tokens[last].end, False)


def _operand_start(tokens: Sequence[Token], first: int) -> int | None:
    """The token that an operand with the bracket ``first`` begins with: its function's name."""
    before = tokens[first - 1] if first else None
    if tokens[first].word == "CASE":
        return first
    if before is None or before.kind not in (TokenKind.WORD, TokenKind.QUOTED):
        return first if tokens[first].is_mark("(") else None
    if before.word in _BEFORE_OPERAND:
        return first
    if before.word in _NO_FUNCTIONS:
        return None
    start = first - 1
    while start > 1 and tokens[start - 1].is_mark("."):
        start -= 2
    return start


def _stands_alone(tokens: Sequence[Token], start: int, last: int) -> bool:
    """Whether what surrounds an operand could surround a name as well."""
    if start == 0:
        return False
    before, behind = tokens[start - 1], tokens[last + 1 : last + 2]
    if before.kind is TokenKind.MARK:
        begins = before.text in _MARKS_BEFORE
    else:
        begins = before.word in _BEFORE_OPERAND
    if not behind or not begins:
        return begins
    if behind[0].kind is TokenKind.MARK:
        return behind[0].text in _MARKS_BEHIND
    return behind[0].word not in _NOT_BEHIND


def _graft(name: exp.Expr, below: exp.Expr) -> None:
    """Puts a piece in the place of its name. A bracket around a sub-query is one, too."""
    from sqlglot import exp

    name.replace(below)
    while isinstance(below, exp.Subquery) and isinstance(below.parent, exp.Paren):
        bracket, around = below.parent, exp.Subquery()
        bracket.replace(around)
        around.set("this", below)
        below = around


def _names(tree: exp.Expr, pieces: Sequence[_Piece]) -> Iterator[tuple[_Piece, exp.Expr]]:
    """The node that stands for each piece; none where sqlglot did not take its name for a column
    (or for the one column of a query).
    """
    from sqlglot import exp

    starts = {piece.name_start: piece for piece in pieces}
    for column in tree.find_all(exp.Column):
        piece = starts.get(column.parts[0].meta.get("start", -1))
        if piece is None:
            continue
        select = column.parent
        if not piece.is_query:
            yield piece, column
        elif isinstance(select, exp.Select) and select.expressions == [column]:
            yield piece, select


def _parsed(piece: _Piece, text: str, parse: ParseText) -> exp.Expr | None:
    """The tree of a piece, its places those of the whole text; None if it is not one operand."""
    from sqlglot import exp

    if piece.is_query:
        moved, tree = piece.start, parse(piece.cut(text), piece.start)
    else:
        moved = piece.start - len(SELECT)
        select = parse(SELECT + piece.cut(text), moved)
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            return None
        tree = select.expressions[0]
    for node in tree.walk():
        for edge in ("start", "end"):
            if edge in node.meta:
                node.meta[edge] += moved
    return tree


# ---- query tree


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
        from acidsql.catalog.names import instead_of_type

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
