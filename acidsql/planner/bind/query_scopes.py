"""Which query each part of sqlglot's tree stands in, which names of common table expressions it
sees, and the conditions behind WHERE and ON as trees of our own.

What is known of the nodes comes from one pass over them, parents first. A chain of n operators is n
nodes deep: to climb from each of its columns to the query around it would take n² steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.errors import Span
from acidsql.expressions.cursor import join_operators
from acidsql.expressions.reader import read_joined
from acidsql.expressions.tree import Condition, conjuncts
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.tokens import Token, tokens_in

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
