"""Queries that are nothing but rows: VALUES, and SELECT without FROM, also several of them by UNION
ALL, and with explode(array(..)), which makes a row of each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.reader import join_operators, read_expression
from acidsql.expressions.tree import VOID, Call, Cast, Condition
from acidsql.expressions.values import wider_type
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.local.aggregates import holds_aggregate
from acidsql.planner.bind.local.query_trees import (
    NAMELESS,
    ROW_ID,
    LocalValues,
    Output,
    Semantics,
    Stored,
)
from acidsql.planner.bind.local.scope import Scope, stored, type_of
from acidsql.planner.bind.local.select_text import (
    SelectText,
    are_bracketed,
    is_name,
    read_select,
    without_brackets,
)
from acidsql.planner.bind.local.selects import spark_name

Tokens = Sequence[Token]
Rows = Sequence[tuple[Condition, ...]]

_DATE = PrimitiveType("date")
_NOTHING: Mapping[str, HiveType] = {}


def inline_rows(
    source: str, span: Span, semantics: Semantics, *, named: bool = True
) -> LocalValues | None:
    """The rows that the query ``span`` of ``source`` is; None for one that reads something.
    ``named``: its columns must be called as Spark calls them. NotHere.
    """
    if semantics.only_spark is not None:
        raise NotHere(semantics.only_spark, span)
    tokens = without_brackets(tokens_in(source, span))
    if not tokens:
        return None
    match tokens:
        case [select, star, from_, *rest] if (
            select.word == "SELECT" and star.is_mark("*") and from_.word == "FROM"
        ):
            names, inner = _aliased(rest)[1:]
        case _:
            names, inner = None, tokens
    if inner and inner[0].word == "VALUES":
        if names is None and inner is tokens:
            names, inner = _aliased(tokens)[1:]
        return _of_values(source, inner, names, semantics, span)
    return _selects(source, tokens, semantics, named) if names is None else None


def inline_relation(source: str, span: Span, semantics: Semantics) -> tuple[str, LocalValues]:
    """VALUES as they stand behind FROM, with the alias in lower case, "" for none. NotHere
    for any other relation.
    """
    alias, names, inner = _aliased(tokens_in(source, span))
    if not inner or inner[0].word != "VALUES":
        raise NotHere("what stands behind FROM", span)
    values = _of_values(source, inner, names, semantics, span)
    called = [output.name.lower() for output in values.outputs]
    if len(set(called)) < len(called) or ROW_ID in called:
        raise NotHere("columns of these names", span)
    return alias, values


def _of_values(
    source: str, tokens: Tokens, names: Sequence[str] | None, semantics: Semantics, span: Span
) -> LocalValues:
    """The rows of ``VALUES ..``, with these names of columns or those they have without any."""
    rows = list(_values(source, tokens[1:]))
    own = [f"col{number + 1}" for number in range(len(rows[0]))] if rows else []
    return typed_rows(rows, names or own, semantics, span)


def _selects(source: str, tokens: Tokens, semantics: Semantics, named: bool) -> LocalValues | None:
    texts = [
        read_select(source, Span(part[0].start, part[-1].end))
        for part in _parts(tokens, _is_union_all)
        if part
    ]
    if not texts or not all(map(_is_row, texts)):
        return None
    scope = Scope(table=None, alias="", semantics=semantics)

    def is_day(tree: Condition) -> bool:
        return scope.type_of(scope.resolved(tree)) == _DATE

    names = [
        item.alias if item.alias is not None else spark_name(source, item.value, is_day)
        for item in texts[0].items
        if item.value is not None
    ]
    span = texts[0].span
    if named and any(name is None for name in names):
        raise NotHere("what Spark calls a column here", span)
    rows = [row for text in texts for row in _rows_of(text, scope)]
    if any(holds_aggregate(value) for row in rows for value in row):
        return None
    return typed_rows(rows, [name or NAMELESS for name in names], semantics, span)


def _rows_of(text: SelectText, scope: Scope) -> Iterator[tuple[Condition, ...]]:
    """The row of a SELECT without FROM, or its rows where one of its values is an array that is
    exploded. NotHere.
    """
    values = tuple(item.value for item in text.items if item.value is not None)
    arrays = [(at, array) for at, value in enumerate(values) if (array := _exploded(value))]
    match arrays:
        case []:
            yield values
        case [(at, elements)]:
            _check_same_type(elements, scope)
            for element in elements:
                yield (*values[:at], element, *values[at + 1 :])
        case _:
            raise NotHere("two arrays that are exploded", text.span)


def _exploded(value: Condition) -> tuple[Condition, ...]:
    """The elements of ``explode(array(..))``; none for any other expression."""
    match value:
        case Call("EXPLODE", (Call("ARRAY", elements),)):
            return elements
    return ()


def _check_same_type(elements: Sequence[Condition], scope: Scope) -> None:
    types = [scope.type_of(scope.resolved(one)) for one in elements]
    if len({kind for kind in types if kind != VOID}) > 1:
        raise NotHere("elements of several types", elements[0].span)


def _is_row(text: SelectText) -> bool:
    bare = text.relation is None and text.where is None and text.having is None
    ends = text.limit is not None or text.offset or text.order or text.group_by or text.distinct
    return bare and not ends and all(item.star is None for item in text.items)


def typed_rows(rows: Rows, names: Sequence[str], semantics: Semantics, span: Span) -> LocalValues:
    """The rows with each column's values in one type, which Spark gives it. NotHere."""
    if not rows or any(len(row) != len(names) for row in rows):
        raise NotHere("rows of several lengths", span)
    scope = Scope(table=None, alias="", semantics=semantics)
    resolved = [tuple(scope.resolved(value) for value in row) for row in rows]
    types = [_column_type([row[at] for row in resolved], semantics) for at in range(len(names))]
    same = [
        tuple(_as(value, kind, semantics) for value, kind in zip(row, types, strict=True))
        for row in resolved
    ]
    outputs = tuple(
        Output(name=name, value=value, type=kind)
        for name, value, kind in zip(names, same[0], types, strict=True)
    )
    return LocalValues(outputs=outputs, rows=tuple(same), semantics=semantics)


def stored_rows(
    rows: Rows,
    columns: Sequence[Column],
    semantics: Semantics,
    span: Span,
    reported: tuple[tuple[bool, ...], ...] = (),
) -> LocalValues:
    """The rows of VALUES behind INSERT: each value goes to its column by itself. ``reported``: see
    ``LocalValues``. NotHere.
    """
    if semantics.only_spark is not None:
        raise NotHere(semantics.only_spark, span)
    scope = Scope(table=None, alias="", semantics=semantics)
    resolved = [tuple(scope.resolved(value) for value in row) for row in rows]
    for row in resolved:
        for value, column in zip(row, columns, strict=True):
            stored(Stored(column=column, value=value), _NOTHING, semantics)
    outputs = tuple(
        Output(name=column.name, value=value, type=column.type)
        for column, value in zip(columns, resolved[0], strict=True)
    )
    return LocalValues(
        outputs=outputs,
        rows=tuple(resolved),
        semantics=semantics,
        stored=tuple(columns),
        reported=reported,
    )


def _column_type(values: Sequence[Condition], semantics: Semantics) -> HiveType:
    common: HiveType = VOID
    for value in values:
        given = type_of(value, _NOTHING, semantics)
        if common == VOID or given in (VOID, common):
            common = given if common == VOID else common
            continue
        wider = wider_type(common, given, ansi=semantics.ansi)
        if wider is None:
            raise NotHere(f"{common} and {given} in one column", value.span)
        common = wider
    return common


def _as(value: Condition, hive_type: HiveType, semantics: Semantics) -> Condition:
    if type_of(value, _NOTHING, semantics) == hive_type:
        return value
    cast = Cast(value, hive_type, value.span)
    type_of(cast, _NOTHING, semantics)
    return cast


# ---- words


def _values(source: str, tokens: Tokens) -> Iterator[tuple[Condition, ...]]:
    """The rows behind VALUES; a row of one value may stand without brackets."""
    for part in _parts(tokens, _is_comma):
        inner = part[1:-1] if are_bracketed(part) else part
        yield tuple(_expression(source, cell) for cell in _parts(inner, _is_comma))


def _expression(source: str, tokens: Tokens) -> Condition:
    tree = read_expression(source, join_operators(tokens)) if tokens else None
    if tree is None:
        at = tokens[0].span if tokens else Span(0, 0)
        raise NotHere(THESE_WORDS, at)
    return tree


def _aliased(tokens: Tokens) -> tuple[str, list[str] | None, Tokens]:
    """The alias in ``.. [AS] alias (a, b)``, "" for none, the names of columns, None if there are
    none, and what stands before.
    """
    rest, names, alias = list(tokens), None, ""
    if len(rest) > 3 and rest[-1].is_mark(")") and not are_bracketed(rest):
        opening = next(
            (at for at in range(len(rest) - 1, 0, -1) if rest[at].is_mark("(")), len(rest)
        )
        inside = rest[opening + 1 : -1]
        named = opening < len(rest) and is_name(rest[opening - 1]) and _are_names(inside)
        if named and rest[opening - 1].word != "VALUES":
            names = [token.text for token in inside[::2]]
            rest = rest[:opening]
    if len(rest) > 1 and is_name(rest[-1]):
        alias = rest[-1].text.lower()
        rest = rest[:-2] if rest[-2].word == "AS" else rest[:-1]
    while are_bracketed(rest) and len(rest) > 2 and rest[1].word == "VALUES":
        rest = rest[1:-1]
    return alias, names, rest


def _are_names(tokens: Tokens) -> bool:
    return (
        len(tokens) % 2 == 1
        and all(map(is_name, tokens[::2]))
        and all(token.is_mark(",") for token in tokens[1::2])
    )


def _is_comma(tokens: Tokens, at: int) -> int:
    return int(tokens[at].is_mark(","))


def _is_union_all(tokens: Tokens, at: int) -> int:
    words = [token.word for token in tokens[at : at + 2]]
    return 2 if words == ["UNION", "ALL"] else 0


def _parts(tokens: Tokens, ends: Callable[[Tokens, int], int]) -> Iterator[Tokens]:
    """The tokens between separators that stand in no brackets; ``ends(tokens, at)`` is the length
    of the one that begins there, 0 if none does.
    """
    start = at = depth = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind is TokenKind.MARK:
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        length = ends(tokens, at) if depth == 0 else 0
        if length:
            yield tokens[start:at]
            start = at + length
        at += max(length, 1)
    yield tokens[start:]
