"""sqlglot's tree of a text of any depth. sqlglot goes down by calling itself, some twenty calls a
level, and Python stops it at fifty levels (a compiled one ends the process somewhat later).

So a deep text is parsed in pieces. What stands alone, a call, an operand in brackets, CASE .. END
or a sub-query, is cut out where it has grown ``_HEIGHT`` levels high; a name of the same length
takes its place, which keeps every other offset. The tree of the piece is put there at the end. The
whole takes no more calls than one piece, and as long as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from acidsql.lazy_dataclass import dataclass
from acidsql.parser.nesting import Group, groups, nested_too_deeply
from acidsql.parser.tokens import Token, TokenKind, scan

if TYPE_CHECKING:
    from sqlglot import exp

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
