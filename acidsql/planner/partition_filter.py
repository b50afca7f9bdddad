"""The conditions a query puts on the partition columns of each table it reads: from WHERE and from ON, where filtering early is right.

A condition counts for a reference if it is over that reference's partition columns and constants alone. Of a condition that is not, the
part that is follows: ``(ds = 'a' AND x > 1) OR ds = 'b'`` lets no partition through but ``a`` and ``b``.

Rows that are missing on the side an outer join fills up would come back as NULLs. There only a condition that NULLs fail counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from acidsql.catalog.types import HiveType
from acidsql.errors import Span
from acidsql.parser.tokens import Token, tokenize
from acidsql.planner.columns import Visible
from acidsql.planner.condition_reader import read_condition
from acidsql.planner.conditions import TODAY, Call, Cast, ColumnRef, Condition, Constant, PartitionCondition, conjuncts, parts_of
from acidsql.planner.lowering import identifier
from acidsql.planner.pruning import columns_of, rejects_nulls
from acidsql.planner.pruning_functions import DETERMINISTIC
from acidsql.planner.query_text import Edit, QueryText, edited

if TYPE_CHECKING:
    from sqlglot import exp

_RELATIVE_DAY = re.compile(r"\s*(?:now|today|tomorrow|yesterday)(?:\s.*)?", re.IGNORECASE)
"""Text that is another day tomorrow once it is cast."""


@dataclass(slots=True)
class Relation:
    """One relation of a FROM. ``partitioned``: the types of its partition columns, {} if it cannot be pruned.

    ``filled``: an outer join may put NULLs in place of its rows.  ``hidden``: WHERE cannot see it.
    """

    visible: Visible
    partitioned: Mapping[str, HiveType] = field(default_factory=dict)
    filled: bool = False
    hidden: bool = False
    found: list[PartitionCondition] = field(default_factory=list)


def filter_by(source: str, span: Span, target: Relation, others: Sequence[Visible]) -> None:
    """Adds what the condition ``span`` of ``source`` asks of the partitions of ``target``; columns of ``others`` may stand in it too."""
    if target.partitioned:
        tokens = [_moved(token, span.start) for token in tokenize(span.cut(source))]
        condition = read_condition(source, tokens)
        if condition is not None:
            _Scope([target, *map(Relation, others)]).collect(source, conjuncts(condition), [target])


def whole_condition(source: str, span: Span, target: Relation, *, today: bool = False) -> PartitionCondition | None:
    """The condition ``span`` of ``source``, if all of it is over the partition columns of ``target`` and means the same every time.

    ``today``: it may mean something else tomorrow.
    """
    condition = read_condition(source, [_moved(token, span.start) for token in tokenize(span.cut(source))])
    tree = None if condition is None else _Scope([target]).own(target, condition)
    if tree is None or (not today and any(map(_is_today, parts_of(tree)))):
        return None
    return PartitionCondition(sql=QueryText(source, edited(span, _unqualified(tree))).render(()), tree=tree)


def _unqualified(tree: Condition) -> list[Edit]:
    """Columns without the names of their relations."""
    return [Edit(part.span, (identifier(part.parts[-1]),)) for part in parts_of(tree) if isinstance(part, ColumnRef)]


class Filters:
    """Collects for one text, which begins at offset ``base`` of ``source``. ``relation_of``: the relation a node of FROM stands for."""

    def __init__(self, source: str, text: Span, relation_of: Callable[[exp.Expr], Relation]) -> None:
        self.source = source
        self.text = text
        self.relation_of = relation_of
        self.tokens: list[Token] = []

    def collect(self, select: exp.Select, place_of: Callable[[exp.Column], int | None]) -> None:
        """Fills ``found`` of the relations of ``select``. ``place_of``: where a column stands in the source."""
        from sqlglot import exp

        clause = select.args.get("from_") or select.args.get("from")
        if not isinstance(clause, exp.From):
            return
        joins: list[exp.Join] = select.args.get("joins") or []
        relations = [self.relation_of(node) for node in (clause.this, *(join.this for join in joins))]
        if not any(relation.partitioned for relation in relations):
            return
        merged: frozenset[str] | None = frozenset()
        for place, join in enumerate(joins, start=1):
            kind = _kind(join)
            if kind is None:
                return
            merged = None if merged is None or join.method else merged | {name.name.lower() for name in join.args.get("using") or ()}
            before, joined = relations[:place], relations[place]
            on = self.clause(select, join.args.get("on"), "ON", place_of)
            _Scope([*before, joined], merged).collect(self.source, on, _pruned_by_on(kind, before, joined))
            _fill(kind, before, joined)
        where = select.args.get("where")
        condition = self.clause(select, where.this if where is not None else None, "WHERE", place_of)
        _Scope(relations, merged).collect(self.source, condition, relations)

    def clause(self, select: exp.Select, tree: exp.Expr | None, word: str, place_of: Callable[[exp.Column], int | None]) -> list[Condition]:
        """The conjuncts behind ``word``, found by the place of a column among them; [] where the two parsers disagree on them."""
        from sqlglot import exp

        columns = () if tree is None else tree.find_all(exp.Column)
        places = (place_of(column) for column in columns if column.find_ancestor(exp.Select) is select)
        inside = next((place for place in places if place is not None), None)
        if tree is None or inside is None:
            return []
        self.tokens = self.tokens or [_moved(token, self.text.start) for token in tokenize(self.text.cut(self.source))]
        start = _behind(word, self.tokens, inside)
        condition = None if start is None else read_condition(self.source, self.tokens[start:], in_join=word == "ON")
        found = [] if condition is None else conjuncts(condition)
        return found if len(found) == _count(tree) else []


def _moved(token: Token, by: int) -> Token:
    return token._replace(start=token.start + by, end=token.end + by)


def _behind(word: str, tokens: Sequence[Token], inside: int) -> int | None:
    """The index of the token behind the nearest ``word`` before offset ``inside`` that is not in brackets of its own."""
    depth = 0
    at = next((i for i, token in enumerate(tokens) if token.start >= inside), 0)
    for i in range(at - 1, -1, -1):
        token = tokens[i]
        if token.is_mark(")") or token.is_mark("]"):
            depth += 1
        elif token.is_mark("(") or token.is_mark("["):
            depth = max(depth - 1, 0)
        elif depth == 0 and token.word == word:
            return i + 1
    return None


def _count(tree: exp.Expr) -> int:
    """How many conjuncts sqlglot sees."""
    from sqlglot import exp

    if isinstance(tree, exp.Paren):
        return _count(tree.this)
    return _count(tree.this) + _count(tree.expression) if isinstance(tree, exp.And) else 1


# ---- joins


def _kind(join: exp.Join) -> str | None:
    """INNER, LEFT, RIGHT, FULL, SEMI or ANTI; None for any other."""
    side, kind, method = join.side.upper(), join.kind.upper(), (join.method or "").upper()
    if method not in ("", "NATURAL"):
        return None
    if kind in ("SEMI", "ANTI"):
        return kind if side in ("", "LEFT") else None
    if side:
        return side if side in ("LEFT", "RIGHT", "FULL") and kind in ("", "OUTER") else None
    return "INNER" if kind in ("", "INNER", "CROSS") else None


def _pruned_by_on(kind: str, before: list[Relation], joined: Relation) -> list[Relation]:
    """Those whose rows are not needed where ON is not true: the side that an outer join keeps is."""
    match kind:
        case "INNER" | "SEMI":
            return [*before, joined]
        case "LEFT" | "ANTI":
            return [joined]
        case "RIGHT":
            return before
    return []


def _fill(kind: str, before: list[Relation], joined: Relation) -> None:
    if kind in ("LEFT", "FULL"):
        joined.filled = True
    if kind in ("RIGHT", "FULL"):
        for relation in before:
            relation.filled = True
    joined.hidden = kind in ("SEMI", "ANTI")


# ---- conditions and the relations they are about


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a condition can see. ``merged``: the columns that USING makes one of two; None for NATURAL, where any may be."""

    relations: Sequence[Relation]
    merged: frozenset[str] | None = frozenset()

    def collect(self, source: str, conditions: Sequence[Condition], pruned: Sequence[Relation]) -> None:
        for relation in pruned:
            for condition in conditions if relation.partitioned and not relation.hidden else ():
                found = self.about(relation, source, condition)
                if found is not None and not (relation.filled and not rejects_nulls(relation.partitioned, found.tree)):
                    relation.found.append(found)

    def about(self, relation: Relation, source: str, condition: Condition) -> PartitionCondition | None:
        """What the condition asks of the partitions of ``relation``."""
        found = self.weakened(relation, condition, True)
        if found is None or not columns_of(found.tree):
            return None
        edits = [*found.edits, *_unqualified(found.tree)]
        todays = [part.span for part in parts_of(found.tree) if _is_today(part)]
        later = [*edits, *(Edit(span, ("date_add(current_date(), 1)",)) for span in todays)]
        sql, tomorrow = (QueryText(source, edited(condition.span, some)).render(()) for some in (edits, later))
        return PartitionCondition(sql=sql, tree=found.tree, tomorrow=tomorrow if todays else None)

    def weakened(self, relation: Relation, node: Condition, positive: bool) -> _Weakened | None:
        """What follows from the condition, or what it follows from if not ``positive``. None: nothing."""
        match node:
            case Call("NOT", (argument,)):
                found = self.weakened(relation, argument, not positive)
                return None if found is None else _Weakened(Call("NOT", (found.tree,), node.span), found.edits)
            case Call("AND" | "OR" as name, arguments):
                parts = [self.weakened(relation, argument, positive) for argument in arguments]
                if all(part is None for part in parts) or (None in parts and (name == "AND") != positive):
                    return None
                word = "TRUE" if positive else "FALSE"
                edits = [Edit(a.span, (word,)) for a, part in zip(arguments, parts, strict=True) if part is None]
                known = [part for part in parts if part is not None]
                trees = tuple(part.tree for part in known)
                tree = trees[0] if len(trees) == 1 else Call(name, trees, node.span)
                return _Weakened(tree, (*edits, *(edit for part in known for edit in part.edits)))
        own = self.own(relation, node)
        return None if own is None else _Weakened(own, ())

    def own(self, relation: Relation, node: Condition) -> Condition | None:
        """The node over the bare partition columns of ``relation``; None if there is anything else in it."""
        match node:
            case Constant(value):
                return None if isinstance(value, str) and _RELATIVE_DAY.fullmatch(value) else node
            case ColumnRef(parts, span):
                name = parts[-1] if self.owner(parts) is relation and parts[-1] in relation.partitioned else None
                return None if name is None else ColumnRef((name,), span)
            case Cast(argument):
                inner = self.own(relation, argument)
                return None if inner is None else replace(node, argument=inner)
            case Call(name) if name == TODAY:
                known = [seen.visible.columns for seen in self.relations if not seen.hidden]
                return node if all(columns is not None and TODAY.lower() not in columns for columns in known) else None
            case Call(name, arguments) if name in DETERMINISTIC:
                inside = [self.own(relation, argument) for argument in arguments]
                return None if None in inside else replace(node, arguments=tuple(i for i in inside if i is not None))
        return None

    def owner(self, parts: tuple[str, ...]) -> Relation | None:
        """The one relation a column belongs to; None where there is none, or a second."""
        seen = [relation for relation in self.relations if not relation.hidden]
        match parts:
            case (name,):
                if self.merged is None or name in self.merged:
                    return None
                owners = [r for r in seen if r.visible.columns is not None and name in r.visible.columns]
            case (alias, _):
                owners = [r for r in seen if r.visible.alias == alias]
            case (database, alias, _):
                owners = [r for r in seen if (r.visible.database, r.visible.alias) == (database, alias)]
            case _:
                return None
        return owners[0] if len(owners) == 1 else None


@dataclass(frozen=True, slots=True)
class _Weakened:
    """A condition over one relation's partition columns, and what of the text is left out for it."""

    tree: Condition
    edits: tuple[Edit, ...]


def _is_today(node: Condition) -> bool:
    return isinstance(node, Call) and node.name == TODAY
