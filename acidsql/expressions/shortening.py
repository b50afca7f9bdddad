"""Long conditions in fewer words: ``c = 1 OR c = 2 OR ..`` as ``c IN (1, 2, ..)``,
``c <> 1 AND c <> 2 AND ..`` as ``c NOT IN (1, 2, ..)`` and ``(c = 1 AND d = 2) OR ..`` as
``(c, d) IN ((1, 2), ..)``.

Spark plans and compiles each term of a chain by itself: for a thousand terms that takes ten times
as long as for a list of a thousand, for ten thousand minutes. Only literals of the column's own
type are listed, so that no cast stands on either side: then a list of values of one column is true,
false and NULL for the same rows as the chain. A list of pairs is false for some rows for which the
chain is NULL; it is written only where both leave the row out. All words but the list's own are the
user's, each from where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.pruning import scalar
from acidsql.expressions.spark_words import Edit, Piece, Slice, edited
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, conjuncts
from acidsql.lazy import dataclass

FEWEST_TERMS = 20
"""Shorter chains stay as they are written."""

TypeOf = Callable[[tuple[str, ...]], HiveType | None]
"""The type of the column that the parts of a name stand for; None where it is not certain."""

_SUFFIXES = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L", "string": "", "date": ""}
"""The types of what is listed, and the letter that gives a literal this type and no other."""
_LISTS = {"OR": ("=", "IN"), "AND": ("<>", "NOT IN")}


def shortened(
    source: str, condition: Condition, type_of: TypeOf, edits: Sequence[Edit], *, filters: bool
) -> list[Edit]:
    """``edits`` of the condition's text and those that shorten its chains; none overlaps another.

    ``filters``: rows for which the condition is false and those for which it is NULL fare the same.
    """
    kept = list(edits)
    for chain, rejects in _long_chains(condition, filters):
        terms = _Terms(source, type_of)
        for part in chain.arguments:
            terms.add(chain.name, part, pairs=rejects and chain.name == "OR")
        short = len(chain.arguments) - len(terms.others) >= FEWEST_TERMS
        for part in terms.others if short else chain.arguments:
            kept = shortened(source, part, type_of, kept, filters=rejects)
        if short:
            inside = [edit for edit in kept if _is_in(edit.span, chain.span)]
            kept = [edit for edit in kept if not _is_in(edit.span, chain.span)]
            kept.append(Edit(chain.span, tuple(terms.written(chain.name, inside))))
    return kept


def _long_chains(condition: Condition, filters: bool) -> Iterator[tuple[Call, bool]]:
    """The outermost chains of so many terms, each with whether NULL is as good as false there."""
    rest = [(condition, filters)]
    while rest:
        part, rejects = rest.pop()
        match part:
            case Call("OR" | "AND", arguments) if len(arguments) >= FEWEST_TERMS:
                yield part, rejects
            case Call(name, arguments):
                rest += [(a, rejects and name in ("OR", "AND")) for a in arguments]
            case Cast(argument):
                rest.append((argument, False))


def _is_in(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


@dataclass(slots=True)
class _Terms:
    """The terms of one chain: the values of each column, or of several, and what is no list."""

    source: str
    type_of: TypeOf
    lists: dict[tuple[tuple[str, ...], ...], list[tuple[Piece, ...]]] = field(default_factory=dict)
    columns: dict[tuple[tuple[str, ...], ...], list[ColumnRef]] = field(default_factory=dict)
    others: list[Condition] = field(default_factory=list)

    def add(self, chain: str, term: Condition, *, pairs: bool) -> None:
        parts = conjuncts(term) if pairs else [term]
        sides = [_sides(part, _LISTS[chain][0]) for part in parts]
        known = [
            (ref, literal)
            for ref, literal in (side for side in sides if side is not None)
            if self.is_listed(ref, literal)
        ]
        key = tuple(sorted(ref.parts for ref, _ in known))
        if len(known) < len(parts) or len(set(key)) < len(key):
            self.others.append(term)
            return
        ordered = sorted(known, key=lambda side: side[0].parts)
        self.columns.setdefault(key, [ref for ref, _ in ordered])
        values = [self.value(ref, literal) for ref, literal in ordered]
        self.lists.setdefault(key, []).append(_bracketed(values) if len(values) > 1 else values[0])

    def is_listed(self, ref: ColumnRef, literal: Condition) -> bool:
        hive_type = self.type_of(ref.parts)
        if not isinstance(hive_type, PrimitiveType) or hive_type.name not in _SUFFIXES:
            return False
        return scalar(literal, Column(name=ref.parts[-1], type=hive_type)) is not None

    def value(self, ref: ColumnRef, literal: Condition) -> tuple[Piece, ...]:
        hive_type = self.type_of(ref.parts)
        assert isinstance(hive_type, PrimitiveType)
        suffix = _SUFFIXES[hive_type.name]
        typed = literal.span.cut(self.source)[-1:].isalpha()
        return (Slice(literal.span),) if typed or not suffix else (Slice(literal.span), suffix)

    def written(self, chain: str, edits: Sequence[Edit]) -> Iterator[Piece]:
        """The chain in brackets. ``edits``: of the parts that are no list."""
        joint = "("
        for key, values in self.lists.items():
            names = [(Slice(ref.span),) for ref in self.columns[key]]
            yield joint
            yield from _bracketed(names) if len(names) > 1 else names[0]
            yield f" {_LISTS[chain][1]} "
            yield from _bracketed(values)
            joint = f" {chain} "
        for other in self.others:
            inside = [edit for edit in edits if _is_in(edit.span, other.span)]
            yield from (joint, "(", *edited(other.span, inside), ")")
            joint = f" {chain} "
        yield ")"


def _sides(term: Condition, sign: str) -> tuple[ColumnRef, Condition] | None:
    """The column and what it is compared with."""
    match term:
        case Call(name, (ColumnRef() as ref, literal)) if name == sign:
            return ref, literal
        case Call(name, (literal, ColumnRef() as ref)) if name == sign:
            return ref, literal
    return None


def _bracketed(items: Sequence[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for item in items:
        pieces += [", " if pieces else "(", *item]
    return (*pieces, ")")
