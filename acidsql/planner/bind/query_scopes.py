"""Which query each part of sqlglot's tree stands in, which names of common table expressions it
sees, and the conditions behind WHERE and ON as trees of our own.

What is known of the nodes comes from one pass over them, parents first. A chain of n operators is n
nodes deep: to climb from each of its columns to the query around it would take n² steps.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from acidsql.catalog.model import Table
from acidsql.catalog.types import HiveType
from acidsql.errors import Span
from acidsql.expressions.pruning import columns_of, rejects_nulls
from acidsql.expressions.reader import join_operators, read_joined
from acidsql.expressions.spark_words import Edit, QueryText, edited, identifier
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
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token, tokens_in
from acidsql.planner.bind.columns import Visible

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class _CommonTables:
    """The first ``visible`` of the common table expressions of one WITH, then those ``around``."""

    first: dict[str, int]
    visible: int
    around: _CommonTables | None


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What is around a node. ``select``: the nearest SELECT. ``level``: the nearest whose columns
    can be used, None across the edge of a derived table. ``aside``: the node is part of a star or
    of a hint.
    """

    select: exp.Select | None = None
    level: exp.Select | None = None
    hint: bool = False
    aside: bool = False
    tables: _CommonTables | None = None


@dataclass(slots=True, kw_only=True)
class Called:
    """A relation of a query and the ``name`` that stands before its columns, in lower case.
    ``path``: the names of a table that has no alias, from its database on. ``apart``: Spark's text
    calls it by all of them.
    """

    name: str
    path: tuple[str, ...] = ()
    apart: bool = False

    @property
    def words(self) -> str:
        """What Spark's text calls it."""
        return ".".join(self.path) if self.apart else self.name


class Callings:
    """The relations of a text by the queries whose FROM names them. Spark reads views, which have
    no database: where two tables are called the same, the text calls each by all its names.
    """

    def __init__(self, queries: QueryScopes) -> None:
        self._queries = queries
        self._inside: dict[int, list[Called]] = {}
        self._anywhere: dict[tuple[str, ...], Called] = {}

    def add(self, select: exp.Expr | None, relation: Called) -> None:
        self._inside.setdefault(id(select), []).append(relation)
        if relation.path:
            self._anywhere.setdefault(relation.path, relation)

    def tell_apart(self, tables: Sequence[Called]) -> None:
        """Sets those of ``tables`` apart that others are called like, where a column is named by
        all the names of one.
        """
        paths: dict[str, set[tuple[str, ...]]] = {}
        for relations in self._inside.values():
            for relation in relations:
                paths.setdefault(relation.name, set()).add(relation.path)
        if all(len(paths[table.name]) == 1 for table in tables):
            return
        owners = filter(None, map(self.find, self._queries.columns()))
        asked = {relation.name for relation, count in owners if count > 1}
        for table in tables:
            alike = len(paths[table.name]) > 1 and table.name in asked
            table.apart = bool(table.path) and alike

    def find(self, node: exp.Column) -> tuple[Called, int] | None:
        """The relation that the first names of a column mean, and how many they are: all names of
        one in sight, or else of any; those of one in sight without its catalog; what the nearest
        is called.
        """
        names = tuple(part.name.lower() for part in node.parts[:-1])
        select = self._queries.select_of(node)
        if not names or select is None:
            return None
        levels = [self._inside.get(id(one), []) for one in self._queries.enclosing(select)]
        near = [relation for level in levels for relation in level if relation.path]
        for left in (0, 1):
            for relation in near:
                path = relation.path[left:]
                if len(path) > 1 and names[: len(path)] == path:
                    return relation, len(path)
            for count in range(2, len(names) + 1) if not left else ():
                if (far := self._anywhere.get(names[:count])) is not None:
                    return far, count
        for level in levels:
            called = [one for one in level if one.name == names[0]]
            if called:
                return (called[0], 1) if len(called) == 1 else None
        return None


class QueryScopes:
    """``nodes``: every node of a tree, parents before their children."""

    def __init__(self, tree: exp.Expr) -> None:
        from sqlglot import exp

        self.nodes = [tree]
        self._around = {id(tree): _Surroundings()}
        self._columns: dict[int, list[exp.Column]] = {}
        for node in self.nodes:
            around = self._around[id(node)]
            if isinstance(node, exp.Column) and not around.aside:
                self._columns.setdefault(id(around.select), []).append(node)
            for child, outside in _children(node, around):
                self._around[id(child)] = outside
                self.nodes.append(child)

    def select_of(self, node: exp.Expr) -> exp.Select | None:
        """The nearest SELECT around a node."""
        return self._around[id(node)].select

    def in_hint(self, node: exp.Expr) -> bool:
        return self._around[id(node)].hint

    def result_names(self, select: exp.Select) -> set[str]:
        """The names that a query and those around it give to their results, in lower case."""
        from sqlglot import exp

        return {
            result.alias.lower()
            for level in self.enclosing(select)
            for result in level.selects
            if isinstance(result, exp.Alias)
        }

    def columns_of(self, select: exp.Expr) -> Iterator[exp.Column]:
        """The columns of ``select`` whose offset is known, without those of the queries inside."""
        from sqlglot import exp

        for node in self._columns.get(id(select), ()):
            if "start" in node.parts[0].meta and not isinstance(node.this, exp.Star):
                yield node

    def columns(self) -> Iterator[exp.Column]:
        from sqlglot import exp

        return (node for node in self.nodes if isinstance(node, exp.Column))

    def enclosing(self, select: exp.Select) -> Iterator[exp.Select]:
        """The query and those around it whose columns it can use."""
        level: exp.Select | None = select
        while level is not None:
            yield level
            level = self._around[id(level)].level

    def is_cte(self, table: exp.Table) -> bool:
        """Whether an unqualified name means a common table expression that is visible there."""
        name = table.name.lower()
        tables = self._around[id(table)].tables
        while tables is not None:
            if tables.first.get(name, tables.visible) < tables.visible:
                return True
            tables = tables.around
        return False


def _children(parent: exp.Expr, around: _Surroundings) -> Iterator[tuple[exp.Expr, _Surroundings]]:
    """The nodes below one, each with what is around it."""
    from sqlglot import exp

    inside = _inside(parent, around)
    clause = parent if isinstance(parent, exp.With) else _with_of(parent)
    if clause is None:
        yield from ((child, inside) for child in parent.iter_expressions())
        return
    tables = _CommonTables(_names(clause), len(clause.expressions), inside.tables)
    ordered = clause is parent and not clause.args.get("recursive")
    for child in parent.iter_expressions():
        if child is clause:
            yield child, inside
        elif ordered and child.index is not None:
            yield child, replace(inside, tables=replace(tables, visible=child.index))
        else:
            yield child, replace(inside, tables=tables)


def _inside(parent: exp.Expr, around: _Surroundings) -> _Surroundings:
    """What is around the children of a node, but for the names its own WITH adds."""
    from sqlglot import exp

    if isinstance(parent, exp.Select):
        return replace(around, select=parent, level=parent)
    derived = isinstance(parent, exp.CTE) or (
        isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join)
    )
    if derived:
        return replace(around, level=None)
    if isinstance(parent, exp.Hint):
        return replace(around, hint=True, aside=True)
    return replace(around, aside=True) if isinstance(parent, exp.Star) else around


def _with_of(node: exp.Expr) -> exp.With | None:
    from sqlglot import exp

    clause = node.args.get("with_") or node.args.get("with")
    return clause if isinstance(clause, exp.With) else None


def _names(clause: exp.With) -> dict[str, int]:
    first: dict[str, int] = {}
    for ordinal, table in enumerate(clause.expressions):
        first.setdefault(table.alias.lower(), ordinal)
    return first


def joined_tables(select: exp.Select) -> list[exp.Expr] | None:
    """What FROM names; None unless all are plain tables, joined by ON or not at all."""
    from sqlglot import exp

    clause = select.args.get("from_") or select.args.get("from")
    joins = select.args.get("joins") or []
    sources = [clause.this] if isinstance(clause, exp.From) else []
    sources += [join.this for join in joins]
    plain = all(
        isinstance(s, exp.Table)
        and not s.args.get("pivots")
        and not s.args.get("joins")
        and not s.alias_column_names
        for s in sources
    )
    merged = any(
        join.args.get("using") or join.args.get("method") or join.kind in ("SEMI", "ANTI")
        for join in joins
    )
    return None if not plain or merged or select.args.get("laterals") else sources


class Clauses:
    """The conditions of a text: its tokens are read when the first is asked for, and each condition
    once.

    ``text`` of ``source`` is what was parsed; its offset 0 stands for ``base``.
    """

    def __init__(self, source: str, text: Span, base: int, queries: QueryScopes) -> None:
        self.source = source
        self.text = text
        self.base = base
        self.queries = queries
        self.tokens: list[Token] = []
        self.starts: list[int] = []
        self.words: Counter[str] = Counter()
        self._known: dict[int, Condition | None] = {}

    def where(self, select: exp.Select) -> Condition | None:
        clause = select.args.get("where")
        return self.behind("WHERE", select, None if clause is None else clause.this)

    def behind(self, word: str, select: exp.Select, tree: exp.Expr | None) -> Condition | None:
        """The condition behind a word of ``select``, found by the place of a column in it. None
        where there is none, and where the two parsers disagree on it.
        """
        if tree is None:
            return None
        if id(tree) not in self._known:
            self._known[id(tree)] = self._read(word, select, tree)
        return self._known[id(tree)]

    def _read(self, word: str, select: exp.Select, tree: exp.Expr) -> Condition | None:
        if not self.tokens:
            self.tokens = join_operators(tokens_in(self.source, self.text))
            self.starts = [token.start for token in self.tokens]
            self.words = Counter(token.word for token in self.tokens)
        inside = self._column_in(select, tree)
        if inside is not None:
            start = _behind(word, self.tokens, bisect_left(self.starts, inside))
        elif self.words[word] == 1:
            start = _behind(word, self.tokens, len(self.tokens))
        else:
            start = None
        if start is None:
            return None
        condition = read_joined(self.source, self.tokens, start, in_join=word == "ON")
        agreed = condition is not None and len(conjuncts(condition)) == _count(tree)
        return condition if agreed else None

    def _column_in(self, select: exp.Select, tree: exp.Expr) -> int | None:
        """Where a column of the query itself begins; None where sqlglot does not tell."""
        from sqlglot import exp

        offsets = (
            self.base + column.parts[0].meta["start"]
            for column in tree.find_all(exp.Column)
            if self.queries.select_of(column) is select and "start" in column.parts[0].meta
        )
        return next(offsets, None)


def _behind(word: str, tokens: Sequence[Token], at: int) -> int | None:
    """The index of the token behind the nearest ``word`` before token ``at`` that is not in
    brackets of its own.
    """
    depth = 0
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

    count, rest = 0, [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, exp.Paren):
            rest.append(node.this)
        elif isinstance(node, exp.And):
            rest += [node.this, node.expression]
        else:
            count += 1
    return count


def asks_results(node: exp.Expr) -> bool:
    """Whether it stands in ORDER BY and the like or in HAVING, whose names are those of results."""
    from sqlglot import exp

    clause = node.find_ancestor(
        exp.Select, exp.Order, exp.Sort, exp.Cluster, exp.Distribute, exp.Having
    )
    return not isinstance(clause, exp.Select)


def is_plain_table(node: exp.Expr) -> bool:
    """Whether it is a name, perhaps with an alias: no sample, no version, no names of columns."""
    said = {name for name, value in node.args.items() if value}
    return said <= {"this", "db", "catalog", "alias"} and not node.alias_column_names


# ---- partition filter
#
# The conditions a query puts on the partition columns of each table it reads: from WHERE and from
# ON, where filtering early is right.
#
# A condition counts for a reference if it is over that reference's partition columns and constants
# alone. Of a condition that is not, the part that is follows: ``(ds = 'a' AND x > 1) OR ds = 'b'``
# lets no partition through but ``a`` and ``b``.
#
# Rows that are missing on the side an outer join fills up would come back as NULLs. There only a
# condition that NULLs fail counts.


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
