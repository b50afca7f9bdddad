"""The conditions a query puts on the partition columns of each table it reads: from WHERE and from
ON, where filtering early is right.

A condition counts for a reference if it is over that reference's partition columns and constants
alone. Of a condition that is not, the part that is follows: ``(ds = 'a' AND x > 1) OR ds = 'b'``
lets no partition through but ``a`` and ``b``.

Rows that are missing on the side an outer join fills up would come back as NULLs. There only a
condition that NULLs fail counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import Table
from acidsql.catalog.types import HiveType
from acidsql.expressions.pruning import columns_of, rejects_nulls
from acidsql.expressions.query_text import Edit, QueryText, edited
from acidsql.expressions.spark_words import identifier
from acidsql.expressions.tree import (
    TODAY,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    PartitionCondition,
    conjuncts,
    parts_of,
)
from acidsql.expressions.vectors.functions import DETERMINISTIC
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.columns import Visible
from acidsql.planner.bind.query_scopes import Clauses

if TYPE_CHECKING:
    from sqlglot import exp

_RELATIVE_DAY = re.compile(r"\s*(?:now|today|tomorrow|yesterday)(?:\s.*)?", re.IGNORECASE)
"""Text that is another day tomorrow once it is cast."""


@dataclass(slots=True)
class Relation:
    """One relation of a FROM. ``partitioned``: the types of its partition columns, {} if it cannot
    be pruned.

    ``filled``: an outer join may put NULLs in place of its rows.  ``hidden``: WHERE cannot see it.
    """

    visible: Visible
    partitioned: Mapping[str, HiveType] = field(default_factory=dict)
    filled: bool = False
    hidden: bool = False
    conditions: list[PartitionCondition] = field(default_factory=list)

    @classmethod
    def of(
        cls, table: Table, alias: str, conditions: list[PartitionCondition] | None = None
    ) -> Relation:
        """A table under its alias. ``conditions``: the list that what is asked goes to."""
        types = {column.name: column.type for column in table.partition_columns}
        kept = [] if conditions is None else conditions
        return cls(Visible.of(table, alias), types, conditions=kept)


def filter_by(
    source: str, condition: Condition | None, target: Relation, others: Sequence[Visible]
) -> None:
    """Adds what a condition of ``source`` asks of the partitions of ``target``; columns of
    ``others`` may stand in it too.
    """
    if target.partitioned and condition is not None:
        _Scope([target, *map(Relation, others)]).collect(source, conjuncts(condition), [target])


def whole_condition(
    source: str, condition: Condition | None, target: Relation, *, today: bool = False
) -> PartitionCondition | None:
    """A condition of ``source``, if all of it is over the partition columns of ``target`` and means
    the same every time.

    ``today``: it may mean something else tomorrow.
    """
    tree = None if condition is None else _Scope([target]).own(target, condition)
    if tree is None or (not today and any(map(_is_today, parts_of(tree)))):
        return None
    return PartitionCondition(
        sql=QueryText(source, edited(tree.span, _unqualified(tree))).render(()), tree=tree
    )


def _unqualified(tree: Condition) -> list[Edit]:
    """Columns without the names of their relations."""
    return [
        Edit(part.span, (identifier(part.parts[-1]),))
        for part in parts_of(tree)
        if isinstance(part, ColumnRef)
    ]


def collect(
    source: str, select: exp.Select, clauses: Clauses, relation_of: Callable[[exp.Expr], Relation]
) -> None:
    """Fills ``conditions`` of the relations of ``select``. ``relation_of``: the relation a node of
    FROM stands for.
    """
    from sqlglot import exp

    clause = select.args.get("from_") or select.args.get("from")
    if not isinstance(clause, exp.From):
        return
    joins: list[exp.Join] = select.args.get("joins") or []
    relations = [relation_of(node) for node in (clause.this, *(join.this for join in joins))]
    if not any(relation.partitioned for relation in relations):
        return
    merged: frozenset[str] | None = frozenset()
    for ordinal, join in enumerate(joins, start=1):
        kind = _kind(join)
        if kind is None:
            return
        merged = _merged(merged, join)
        before, joined = relations[:ordinal], relations[ordinal]
        on = _conjuncts(clauses.behind("ON", select, join.args.get("on")))
        if on:
            pruned = _pruned_by_on(kind, before, joined)
            _Scope([*before, joined], merged).collect(source, on, pruned)
        _fill(kind, before, joined)
    _Scope(relations, merged).collect(source, _conjuncts(clauses.where(select)), relations)


def _conjuncts(condition: Condition | None) -> list[Condition]:
    return [] if condition is None else conjuncts(condition)


def _merged(merged: frozenset[str] | None, join: exp.Join) -> frozenset[str] | None:
    """The columns that USING makes one of two; None for NATURAL."""
    if merged is None or join.method:
        return None
    return merged | {name.name.lower() for name in join.args.get("using") or ()}


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
    """The relations whose rows are not needed where ON is not true; those of the side that an outer
    join keeps are.
    """
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
    """What a condition can see. ``merged``: the columns that USING makes one of two; None for
    NATURAL, where any may be.
    """

    relations: Sequence[Relation]
    merged: frozenset[str] | None = frozenset()

    def collect(
        self, source: str, conditions: Sequence[Condition], pruned: Sequence[Relation]
    ) -> None:
        for relation in pruned:
            for condition in conditions if relation.partitioned and not relation.hidden else ():
                partition_condition = self.about(relation, source, condition)
                if partition_condition is not None and not (
                    relation.filled
                    and not rejects_nulls(relation.partitioned, partition_condition.tree)
                ):
                    relation.conditions.append(partition_condition)

    def about(
        self, relation: Relation, source: str, condition: Condition
    ) -> PartitionCondition | None:
        """What the condition asks of the partitions of ``relation``."""
        weakened = self.weakened(relation, condition, True)
        if weakened is None or not columns_of(weakened.tree):
            return None
        edits = [*weakened.edits, *_unqualified(weakened.tree)]
        todays = [part.span for part in parts_of(weakened.tree) if _is_today(part)]
        later = [*edits, *(Edit(span, ("date_add(current_date(), 1)",)) for span in todays)]

        def rendered(some: list[Edit]) -> str:
            return QueryText(source, edited(condition.span, some)).render(())

        tomorrow = rendered(later) if todays else None
        return PartitionCondition(sql=rendered(edits), tree=weakened.tree, tomorrow=tomorrow)

    def weakened(self, relation: Relation, node: Condition, positive: bool) -> _Weakened | None:
        """What follows from the condition, or what it follows from if not ``positive``. None:
        nothing.
        """
        match node:
            case Call("NOT", (argument,)):
                operand = self.weakened(relation, argument, not positive)
                return (
                    None
                    if operand is None
                    else _Weakened(Call("NOT", (operand.tree,), node.span), operand.edits)
                )
            case Call("AND" | "OR" as name, arguments):
                parts = [self.weakened(relation, argument, positive) for argument in arguments]
                if all(part is None for part in parts) or (
                    None in parts and (name == "AND") != positive
                ):
                    return None
                word = "TRUE" if positive else "FALSE"
                edits = [
                    Edit(a.span, (word,))
                    for a, part in zip(arguments, parts, strict=True)
                    if part is None
                ]
                known = [part for part in parts if part is not None]
                trees = tuple(part.tree for part in known)
                tree = trees[0] if len(trees) == 1 else Call(name, trees, node.span)
                return _Weakened(tree, (*edits, *(edit for part in known for edit in part.edits)))
        own = self.own(relation, node)
        return None if own is None else _Weakened(own, ())

    def own(self, relation: Relation, node: Condition) -> Condition | None:
        """The node over the bare partition columns of ``relation``; None if there is anything else
        in it.
        """
        match node:
            case Constant(value):
                return None if isinstance(value, str) and _RELATIVE_DAY.fullmatch(value) else node
            case ColumnRef(parts, span):
                name = (
                    parts[-1]
                    if self.owner(parts) is relation and parts[-1] in relation.partitioned
                    else None
                )
                return None if name is None else ColumnRef((name,), span)
            case Cast(argument):
                inner = self.own(relation, argument)
                return None if inner is None else replace(node, argument=inner)
            case Call(name) if name == TODAY:
                known = [seen.visible.columns for seen in self.relations if not seen.hidden]
                return (
                    node
                    if all(
                        columns is not None and TODAY.lower() not in columns for columns in known
                    )
                    else None
                )
            case Call(name, arguments) if name in DETERMINISTIC:
                inside = [self.own(relation, argument) for argument in arguments]
                return (
                    None
                    if None in inside
                    else replace(node, arguments=tuple(i for i in inside if i is not None))
                )
        return None

    def owner(self, parts: tuple[str, ...]) -> Relation | None:
        """The one relation a column belongs to; None where there is none, or a second."""
        seen = [relation for relation in self.relations if not relation.hidden]
        match parts:
            case (name,):
                if self.merged is None or name in self.merged:
                    return None
                owners = [
                    r for r in seen if r.visible.columns is not None and name in r.visible.columns
                ]
            case (alias, _):
                owners = [r for r in seen if r.visible.alias == alias]
            case (database, alias, _):
                owners = [
                    r for r in seen if (r.visible.database, r.visible.alias) == (database, alias)
                ]
            case _:
                return None
        return owners[0] if len(owners) == 1 else None


@dataclass(frozen=True, slots=True)
class _Weakened:
    """A condition over one relation's partition columns, and what of the text is left
    out for it.
    """

    tree: Condition
    edits: tuple[Edit, ...]


def _is_today(node: Condition) -> bool:
    return isinstance(node, Call) and node.name == TODAY
