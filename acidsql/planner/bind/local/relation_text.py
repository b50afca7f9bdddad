"""What stands behind FROM, behind WITH, and between set operators, cut from our own tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidsql.errors import Span
from acidsql.expressions.cursor import join_operators
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import Condition
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.tokens import Token, TokenKind
from acidsql.planner.bind.files.sources import end_of_call
from acidsql.planner.bind.local.query_trees import JoinKind, SetKind

Tokens = Sequence[Token]


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


def _span(tokens: Tokens) -> Span:
    return Span(tokens[0].start, tokens[-1].end)
