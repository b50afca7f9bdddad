"""The clauses of queries, cut from our own tokens: those of a SELECT, what stands behind FROM and
WITH, and what is between set operators. Nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.errors import Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.reader import join_operators, read_expression
from acidsql.expressions.tree import Condition, Unread, parts_of
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.files.sources import end_of_call
from acidsql.planner.bind.local.query_trees import Frame, JoinKind, SetKind

# ---- select text
#
# The clauses of a SELECT, cut from our own tokens; nothing is looked up here.
#
# Every token has its place in one of the clauses. What stands anywhere else makes it a query that
# is not understood: a window, LATERAL VIEW, TABLESAMPLE.


Tokens = Sequence[Token]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a SELECT list. ``star``: its qualifier or "" for a star, None for an expression.
    ``alias``: the name it is given. ``without``: columns that a star leaves out, in lower case.
    """

    span: Span
    star: str | None = None
    value: Condition | None = None
    alias: str | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SortItem:
    span: Span
    value: Condition
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectText:
    """``relation``: what stands behind FROM, None where nothing does."""

    span: Span
    items: tuple[Item, ...]
    distinct: bool
    relation: RelationText | None
    where: Condition | None
    group_by: tuple[Condition, ...]
    having: Condition | None
    order: tuple[SortItem, ...]
    limit: int | None
    offset: int


_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET")
"""In the order in which they stand."""
_NO_ITEM_ALIAS = frozenset("END NULL TRUE FALSE AND OR NOT IS IN LIKE BETWEEN".split())


def read_select(source: str, span: Span, before: Span | None = None) -> SelectText:
    """The clauses of the query ``span`` of ``source``; ``before`` is its FROM clause where that
    stands elsewhere. NotHere for any that is more than these.
    """
    return read_clauses(source, tokens_in(source, span), span, before)


def read_clauses(source: str, tokens: Tokens, span: Span, before: Span | None = None) -> SelectText:
    """The clauses of a query that the tokens are, as ``read_select``."""
    if are_values(tokens):
        return rows_of(InlineText(span=Span(tokens[0].start, tokens[-1].end)), span)
    if not tokens or tokens[0].word != "SELECT":
        raise NotHere("a query that does not begin with SELECT", span)
    clauses = dict(_clauses(tokens, "SELECT", 1, span))
    items = clauses["SELECT"]
    distinct = bool(items) and items[0].word == "DISTINCT"
    relation = clauses.get("FROM", ()) if before is None else _from_before(source, before, clauses)
    return SelectText(
        span=span,
        items=tuple(_item(source, part, span) for part in comma_parts(items[distinct:])),
        distinct=distinct,
        relation=read_relation(source, relation) if relation else None,
        where=_expression(source, clauses["WHERE"], span) if "WHERE" in clauses else None,
        group_by=tuple(
            _expression(source, part, span) for part in comma_parts(clauses.get("GROUP", ()))
        ),
        having=_expression(source, clauses["HAVING"], span) if "HAVING" in clauses else None,
        **_ends(source, clauses, span),
    )


def _from_before(source: str, before: Span, clauses: Mapping[str, Tokens]) -> Tokens:
    """What stands behind FROM in a clause that several queries share."""
    first, *relation = tokens_in(source, before)
    if first.word != "FROM" or "FROM" in clauses:
        raise NotHere("words before INSERT", before)
    return relation


def rows_of(
    relation: RelationText | None,
    span: Span,
    order: tuple[SortItem, ...] = (),
    limit: int | None = None,
    offset: int = 0,
) -> SelectText:
    """The text of ``SELECT * FROM`` a relation."""
    return SelectText(
        span=span,
        items=(Item(span=span, star=""),),
        distinct=False,
        relation=relation,
        where=None,
        group_by=(),
        having=None,
        order=order,
        limit=limit,
        offset=offset,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TailText:
    """ORDER BY, LIMIT and OFFSET behind a set operation, which are about all of it."""

    order: tuple[SortItem, ...] = ()
    limit: int | None = None
    offset: int = 0


def read_tail(source: str, tokens: Tokens, span: Span) -> tuple[Tokens, TailText]:
    """The last query of a set operation without what stands behind it. NotHere."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]")) if _is_mark(token) else 0
        if depth or not at or not _begins(tokens, at):
            continue
        if token.word not in ("ORDER", "LIMIT", "OFFSET"):
            continue
        first = at + (2 if token.word == "ORDER" else 1)
        clauses = dict(_clauses(tokens, token.word, first, span))
        return tokens[:at], TailText(**_ends(source, clauses, span))
    return tokens, TailText()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowText:
    partition: tuple[Condition, ...]
    order: tuple[SortItem, ...]
    frame: Frame | None


def read_window(source: str, span: Span) -> WindowText:
    """The words in the brackets behind OVER. NotHere."""
    tokens, frame = _frame(tokens_in(source, span), span)
    words = [token.word for token in tokens]
    if any(word in ("DISTRIBUTE", "SORT", "CLUSTER") for word in words):
        raise NotHere("this window", span)
    partition: Tokens = ()
    if words[:2] == ["PARTITION", "BY"]:
        end = next((at for at in range(2, len(tokens)) if _begins(tokens, at)), len(tokens))
        partition, tokens = tokens[2:end], tokens[end:]
    order = tokens[2:] if [token.word for token in tokens[:2]] == ["ORDER", "BY"] else ()
    if len(order) + 2 != len(tokens) and tokens:
        raise NotHere("this window", span)
    return WindowText(
        partition=tuple(_expression(source, part, span) for part in comma_parts(partition)),
        order=tuple(_sort_item(source, part, span) for part in comma_parts(order)),
        frame=frame,
    )


def _frame(tokens: Tokens, span: Span) -> tuple[Tokens, Frame | None]:
    """The tokens of a window before its frame, and this. NotHere."""
    words = [token.word or token.text for token in tokens]
    at = next((at for at, word in enumerate(words) if word in ("ROWS", "RANGE")), len(tokens))
    if at == len(tokens):
        return tokens, None
    bounds = words[at + 1 :]
    if bounds[:1] == ["BETWEEN"] and "AND" in bounds:
        middle = bounds.index("AND")
        first, last = bounds[1:middle], bounds[middle + 1 :]
    else:
        first, last = bounds, ["CURRENT", "ROW"]
    frame = Frame(first=_bound(first, -1, span), last=_bound(last, 1, span))
    empty = frame.first is not None and frame.last is not None and frame.first > frame.last
    if words[at] == "ROWS" and not empty:
        return tokens[:at], frame
    if frame in (Frame(last=0), Frame()):
        return tokens[:at], frame if frame == Frame() else None
    raise NotHere("this window", span)


def _bound(words: list[str], end: int, span: Span) -> int | None:
    """Where a frame begins (``end`` -1) or ends (1), in rows; None for its window's. NotHere."""
    match words:
        case ["UNBOUNDED", "PRECEDING"] if end < 0:
            return None
        case ["UNBOUNDED", "FOLLOWING"] if end > 0:
            return None
        case ["CURRENT", "ROW"]:
            return 0
        case [count, "PRECEDING" | "FOLLOWING" as side] if count.isdecimal() and len(count) < 10:
            return -int(count) if side == "PRECEDING" else int(count)
    raise NotHere("this window", span)


def _ends(source: str, clauses: Mapping[str, Tokens], span: Span) -> dict[str, Any]:
    return {
        "order": tuple(
            _sort_item(source, part, span) for part in comma_parts(clauses.get("ORDER", ()))
        ),
        "limit": _count(clauses["LIMIT"], span) if "LIMIT" in clauses else None,
        "offset": _count(clauses["OFFSET"], span) if "OFFSET" in clauses else 0,
    }


def _clauses(tokens: Tokens, name: str, start: int, span: Span) -> Iterator[tuple[str, Tokens]]:
    """The words of each clause, without the one, or with BY the two, that it begins with. The words
    of the first, ``name``, begin at ``start``.
    """
    depth = cases = 0
    for at, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]")) if _is_mark(token) else 0
        cases += (token.word == "CASE") - (token.word == "END" and cases > 0)
        if depth or cases or at < start or not _begins(tokens, at):
            continue
        if token.word not in _CLAUSES[_CLAUSES.index(name) + 1 if name in _CLAUSES else 0 :]:
            raise NotHere(f"{token.word} here", token.span)
        yield name, _filled(name, tokens[start:at], span)
        name = token.word
        start = at + (2 if name in ("GROUP", "ORDER") else 1)
    yield name, _filled(name, tokens[start:], span)


def _begins(tokens: Tokens, at: int) -> bool:
    """Whether a clause begins at a token: one behind a dot, or before one, is a name."""
    word = tokens[at].word
    if word in ("GROUP", "ORDER"):
        return at + 1 < len(tokens) and tokens[at + 1].word == "BY"
    around = (tokens[at - 1], tokens[at + 1] if at + 1 < len(tokens) else tokens[at])
    return word in _CLAUSES and not any(token.is_mark(".") for token in around)


def _filled(name: str, tokens: Tokens, span: Span) -> Tokens:
    if not tokens:
        raise NotHere(f"{name} with nothing behind it", span)
    return tokens


def _is_mark(token: Token) -> bool:
    return token.kind is TokenKind.MARK


def _span(tokens: Tokens, whole: Span | None = None) -> Span:
    """Where tokens stand; ``whole``: for none of them."""
    if whole is not None and not tokens:
        return whole
    return Span(tokens[0].start, tokens[-1].end)


def _expression(source: str, tokens: Tokens, whole: Span) -> Condition:
    tree = _whole(source, tokens)
    if tree is None:
        raise NotHere(THESE_WORDS, _span(tokens, whole))
    return tree


def _whole(source: str, tokens: Tokens) -> Condition | None:
    """The tree of all the tokens; what is ``Unread`` in it stands inside brackets of a call."""
    tree = read_expression(source, join_operators(tokens)) if tokens else None
    return None if tree is None or isinstance(tree, Unread) else tree


def _item(source: str, tokens: Tokens, whole: Span) -> Item:
    span = _span(tokens, whole)
    if (without := _left_out(tokens)) is not None:
        starred, names = without
        return replace(_item(source, starred, whole), without=names)
    match tokens:
        case [star] if star.is_mark("*"):
            return Item(span=span, star="")
        case [name, dot, star] if dot.is_mark(".") and star.is_mark("*") and is_name(name):
            return Item(span=span, star=name.text.lower())
        case [*words, as_, alias] if as_.word == "AS" and is_name(alias) and words:
            return Item(span=span, value=_expression(source, words, whole), alias=alias.text)
    tree = _whole(source, tokens)
    if tree is not None and not _holds_unread(tree):
        return Item(span=span, value=tree)
    match tokens:
        case [*words, alias] if words and is_name(alias) and alias.word not in _NO_ITEM_ALIAS:
            inner = _whole(source, words)
            if inner is not None:
                return Item(span=span, value=inner, alias=alias.text)
    if tree is None:
        raise NotHere(THESE_WORDS, span)
    return Item(span=span, value=tree)


def _left_out(tokens: Tokens) -> tuple[Tokens, tuple[str, ...]] | None:
    """A star and the columns that it leaves out; None for any other item."""
    at = next((i for i, t in enumerate(tokens) if t.word in ("EXCEPT", "EXCLUDE")), 0)
    if at not in (1, 3) or not tokens[at - 1].is_mark("*"):
        return None
    listed = tokens[at + 1 :]
    if len(listed) < 3 or not listed[0].is_mark("(") or not listed[-1].is_mark(")"):
        return None
    names, commas = listed[1:-1:2], listed[2:-1:2]
    if not all(map(is_name, names)) or not all(comma.is_mark(",") for comma in commas):
        return None
    return tokens[:at], tuple(name.text.lower() for name in names)


def _holds_unread(tree: Condition) -> bool:
    return any(isinstance(part, Unread) for part in parts_of(tree))


def _sort_item(source: str, tokens: Tokens, whole: Span) -> SortItem:
    words, span = list(tokens), _span(tokens, whole)
    nulls_first: bool | None = None
    if len(words) > 2 and words[-2].word == "NULLS" and words[-1].word in ("FIRST", "LAST"):
        nulls_first = words[-1].word == "FIRST"
        del words[-2:]
    descending = len(words) > 1 and words[-1].word == "DESC"
    if descending or (len(words) > 1 and words[-1].word == "ASC"):
        del words[-1]
    return SortItem(
        span=span,
        value=_expression(source, words, whole),
        descending=descending,
        nulls_first=not descending if nulls_first is None else nulls_first,
    )


def _count(tokens: Tokens, whole: Span) -> int:
    match tokens:
        case [number] if number.kind is TokenKind.NUMBER and number.text.isdecimal():
            if int(number.text) < 1 << 31:
                return int(number.text)
    raise NotHere("anything but a number here", _span(tokens, whole))


# ---- relation text
#
# What stands behind FROM, behind WITH, and between set operators, cut from our own tokens.


@dataclass(frozen=True, slots=True, kw_only=True)
class TableText:
    """The name of a table, or the path of a file. ``alias``: "" for its own name."""

    span: Span
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineText:
    """VALUES, with their names."""

    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedText:
    """A query in brackets; ``span`` is inside of them. ``columns``: () for its own names."""

    span: Span
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinText:
    """``on``: None where ``using`` names columns, where the join is ``natural``, and where there is
    neither.
    """

    span: Span
    kind: JoinKind
    left: RelationText
    right: RelationText
    on: Condition | None = None
    on_span: Span | None = None
    using: tuple[str, ...] = ()
    natural: bool = False


RelationText = TableText | InlineText | DerivedText | JoinText

MAX_OPERANDS = 64
"""The most queries between set operators, each of which is over all before it."""
_JOIN_WORDS = frozenset("JOIN INNER CROSS LEFT RIGHT FULL SEMI ANTI NATURAL".split())
_KINDS = {
    "": JoinKind.INNER,
    "INNER": JoinKind.INNER,
    "CROSS": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "LEFT OUTER": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "RIGHT OUTER": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
    "FULL OUTER": JoinKind.FULL,
    "SEMI": JoinKind.SEMI,
    "LEFT SEMI": JoinKind.SEMI,
    "ANTI": JoinKind.ANTI,
    "LEFT ANTI": JoinKind.ANTI,
}
_NO_ALIAS = frozenset(
    "ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT MINUS NATURAL ON RIGHT SEMI UNION"
    " USING TABLESAMPLE PIVOT UNPIVOT WINDOW CLUSTER DISTRIBUTE SORT QUALIFY FOR VERSION TIMESTAMP"
    " SYSTEM_TIME SYSTEM_VERSION".split()
)


def read_relation(source: str, tokens: Tokens) -> RelationText:
    """What stands behind FROM. NotHere."""
    if are_values(tokens):
        return InlineText(span=_span(tokens))  # whose commas are not those between tables
    first, *others = [_joined(source, part) for part in comma_parts(tokens)]
    for other in others:
        first = JoinText(
            span=Span(first.span.start, other.span.end),
            kind=JoinKind.INNER,
            left=first,
            right=other,
        )
    return first


def _joined(source: str, tokens: Tokens) -> RelationText:
    """Tables beside each other by JOIN, from the left to the right."""
    starts = list(_joins(tokens))
    ends = [*starts[1:], len(tokens)] if starts else []
    relation: RelationText = _primary(tokens[: starts[0]] if starts else tokens, tokens)
    for start, end in zip(starts, ends, strict=True):
        relation = _join(source, relation, tokens[start:end])
    return relation


def _joins(tokens: Tokens) -> Iterator[int]:
    """Where a join begins that stands in no brackets."""
    at = depth = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind is TokenKind.MARK:
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0 and _begins_join(tokens, at):
            yield at
            while at < len(tokens) and tokens[at].word != "JOIN":
                at += 1
        at += 1


def _begins_join(tokens: Tokens, at: int) -> bool:
    if tokens[at].word not in _JOIN_WORDS or at == 0 or tokens[at - 1].is_mark("."):
        return False
    words = [token.word for token in tokens[at : at + 4]]
    return "JOIN" in words and all(
        word in _JOIN_WORDS | {"OUTER"} for word in words[: words.index("JOIN")]
    )


def _join(source: str, left: RelationText, tokens: Tokens) -> JoinText:
    """``tokens``: from the words of the join to the next one."""
    at = next(i for i, token in enumerate(tokens) if token.word == "JOIN")
    words = [token.word for token in tokens[:at]]
    natural = words[:1] == ["NATURAL"]
    kind = _KINDS.get(" ".join(words[natural:]))
    if kind is None or (natural and ("CROSS" in words or kind in (JoinKind.SEMI, JoinKind.ANTI))):
        raise NotHere("this join", _span(tokens[: at + 1]))
    rest = tokens[at + 1 :]
    behind = next(
        (i for i in _outside(rest) if rest[i].word in ("ON", "USING") and i > 0), len(rest)
    )
    right = _primary(rest[:behind], tokens)
    span = Span(left.span.start, tokens[-1].end)
    if behind == len(rest):
        if kind is not JoinKind.INNER and not natural:
            raise NotHere("a join without ON", _span(tokens))
        return JoinText(span=span, kind=kind, left=left, right=right, natural=natural)
    if natural:
        raise NotHere("a natural join with a condition", _span(tokens))
    condition = rest[behind + 1 :]
    if not condition:
        raise NotHere(THESE_WORDS, _span(tokens))
    if rest[behind].word == "USING":
        return JoinText(
            span=span,
            kind=kind,
            left=left,
            right=right,
            using=tuple(map(str.lower, _names(condition))),
        )
    tree = read_expression(source, join_operators(condition))
    if tree is None:
        raise NotHere(THESE_WORDS, _span(condition))
    return JoinText(span=span, kind=kind, left=left, right=right, on=tree, on_span=_span(condition))


def _names(tokens: Tokens) -> tuple[str, ...]:
    """The names of USING (..)."""
    inside = tokens[1:-1]
    named = tokens[0].is_mark("(") and tokens[-1].is_mark(")") and len(inside) % 2 == 1
    if not named or not all(map(is_name, inside[::2])):
        raise NotHere(THESE_WORDS, _span(tokens))
    return tuple(token.text for token in inside[::2])


def _primary(tokens: Tokens, around: Tokens) -> TableText | InlineText | DerivedText:
    if not tokens:
        raise NotHere(THESE_WORDS, _span(around))
    if are_values(tokens):
        return InlineText(span=_span(tokens))
    if tokens[0].is_mark("("):
        end = closing(tokens)
        if end < 2 or tokens[1].word not in ("SELECT", "WITH", "("):
            raise NotHere("what stands behind FROM", _span(tokens))
        behind = tokens[end + 1 :]
        columns: tuple[str, ...] = ()
        if behind and behind[-1].is_mark(")"):
            opening = next(at for at, token in enumerate(behind) if token.is_mark("("))
            behind, columns = behind[:opening], _names(behind[opening:])
        return DerivedText(span=_span(tokens[1:end]), alias=_alias(behind), columns=columns)
    at = call = end_of_call(tokens) if len(tokens) > 1 and tokens[1].is_mark("(") else 0
    if not call:
        at = 1
        while at + 1 < len(tokens) and tokens[at].is_mark("."):
            at += 2
    name = tokens[:at]
    is_path = bool(call) or (at == 1 and name[0].kind is TokenKind.STRING)
    if not is_path and not all(is_name(token) for token in name[::2]):
        raise NotHere("what stands behind FROM", _span(tokens))
    return TableText(span=_span(name), alias=_alias(tokens[at:]))


def _alias(rest: Tokens) -> str:
    match rest:
        case []:
            return ""
        case [as_, alias] if as_.word == "AS" and is_name(alias):
            return alias.text.lower()
        case [alias] if is_name(alias) and alias.word not in _NO_ALIAS:
            return alias.text.lower()
    raise NotHere("what stands behind FROM", _span(rest))


# ---- WITH and set operators


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonText:
    """A query of WITH; ``span`` is inside of its brackets. ``columns``: () for its own names."""

    name: str
    span: Span
    columns: tuple[str, ...] = ()


def common_tables(tokens: Tokens) -> tuple[list[CommonText], Tokens]:
    """The queries of WITH, and the tokens of the query behind them. NotHere."""
    if not tokens or tokens[0].word != "WITH":
        return [], tokens
    tables: list[CommonText] = []
    at = 1
    while True:
        name, rest = tokens[at : at + 1], tokens[at + 1 :]
        if not rest or not is_name(name[0]) or name[0].word == "RECURSIVE":
            raise NotHere("this WITH", _span(tokens))
        columns: tuple[str, ...] = ()
        if rest[0].is_mark("("):
            end = closing(rest)
            columns, rest = _names(rest[: end + 1]), rest[end + 1 :]
        if rest and rest[0].word == "AS":
            rest = rest[1:]
        if not rest or not rest[0].is_mark("("):
            raise NotHere("this WITH", _span(tokens))
        end = closing(rest)
        inside = rest[1:end]
        if not inside:
            raise NotHere("this WITH", _span(tokens))
        tables.append(CommonText(name=name[0].text.lower(), span=_span(inside), columns=columns))
        at = len(tokens) - len(rest) + end + 1
        if at >= len(tokens) or not tokens[at].is_mark(","):
            return tables, tokens[at:]
        at += 1


def set_parts(tokens: Tokens) -> tuple[list[Tokens], list[tuple[SetKind, Span]]]:
    """The queries between set operators, and these. NotHere."""
    parts: list[Tokens] = []
    kinds: list[tuple[SetKind, Span]] = []
    start = 0
    for at in _outside(tokens):
        word = tokens[at].word
        if word not in ("UNION", "INTERSECT", "EXCEPT", "MINUS") or at < max(start, 1):
            continue
        if tokens[at - 1].is_mark("*"):  # SELECT * EXCEPT (..)
            continue
        following = tokens[at + 1].word if at + 1 < len(tokens) else ""
        name = "EXCEPT" if word == "MINUS" else word
        kind = SetKind(f"{name} ALL" if following == "ALL" else name)
        parts.append(tokens[start:at])
        kinds.append((kind, tokens[at].span))
        start = at + (2 if following in ("ALL", "DISTINCT") else 1)
    parts.append(tokens[start:])
    if len(parts) > MAX_OPERANDS:
        raise NotHere("so many set operations", _span(tokens))
    if not all(parts):
        raise NotHere(THESE_WORDS, _span(tokens))
    return parts, kinds


# ---- tokens


def comma_parts(tokens: Tokens) -> Iterator[Tokens]:
    """What stands between commas, not looking into brackets."""
    start = 0
    for at in _outside(tokens):
        if tokens[at].is_mark(","):
            yield tokens[start:at]
            start = at + 1
    if tokens:
        yield tokens[start:]


def _outside(tokens: Tokens) -> Iterator[int]:
    """The places of tokens that stand in no brackets, without these."""
    depth = 0
    for at, token in enumerate(tokens):
        if token.kind is TokenKind.MARK and token.text in ("(", "[", ")", "]"):
            depth += 1 if token.text in ("(", "[") else -1
        elif not depth:
            yield at


def closing(tokens: Tokens) -> int:
    """The place of the bracket that closes the first token. NotHere."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0:
            return at
    raise NotHere(THESE_WORDS, _span(tokens))


def without_brackets(tokens: Tokens) -> Tokens:
    """The tokens without the pairs of brackets that hold all of them."""
    while are_bracketed(tokens):
        tokens = tokens[1:-1]
    return tokens


def are_bracketed(tokens: Tokens) -> bool:
    """Whether one pair of brackets holds all the tokens. NotHere."""
    return bool(tokens) and tokens[0].is_mark("(") and closing(tokens) == len(tokens) - 1


def are_values(tokens: Tokens) -> bool:
    """Whether a relation begins as VALUES, or as brackets around these."""
    at = 0
    while at < len(tokens) and tokens[at].is_mark("("):
        at += 1
    if at + 1 >= len(tokens) or tokens[at].word != "VALUES":
        return False
    behind = tokens[at + 1]
    # Else it is a table of this name.
    return bool(at) or behind.is_mark("(") or not (behind.kind is TokenKind.MARK or is_name(behind))


def is_name(token: Token) -> bool:
    return token.kind in (TokenKind.WORD, TokenKind.QUOTED)
