"""MERGE as trees: its source, what of ON are equal values, and its clauses over the columns of
both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial

from acidsql.catalog.model import Column, Table
from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.spark_words import Piece
from acidsql.expressions.tree import (
    Call,
    ColumnRef,
    Condition,
    Constant,
    Unread,
    conjuncts,
    parts_of,
    with_arguments,
)
from acidsql.expressions.values import STRING
from acidsql.lazy import dataclass
from acidsql.parser import statements as ast
from acidsql.parser.statements import Match
from acidsql.planner.bind.analysis import Analysis, Read
from acidsql.planner.bind.columns import CALLS
from acidsql.planner.bind.local.changes import check_surroundings
from acidsql.planner.bind.local.inline_rows import inline_rows
from acidsql.planner.bind.local.joins import equal_sides
from acidsql.planner.bind.local.queries import local_select
from acidsql.planner.bind.local.query_trees import (
    LocalClause,
    LocalKey,
    LocalMerge,
    LocalQuery,
    LocalValues,
    Output,
    Outside,
    Semantics,
    Stored,
    called,
    of_source,
    of_target,
)
from acidsql.planner.bind.local.scope import Scope, check_rules, default_tree, stored, type_of
from acidsql.planner.bind.local.selects import scope_of, scope_of_files
from acidsql.planner.bind.names import Names, is_default, is_reported
from acidsql.planner.bind.rows import assigned

# ---- merges
#
# MERGE as trees: its source, what of ON are equal values, and the values of its clauses.


_BOOLEAN = PrimitiveType("boolean")


def query_source(
    source: str,
    span: Span,
    reads: Sequence[Read],
    outside: Outside,
    semantics: Semantics,
    *,
    named: bool = True,
) -> LocalQuery | LocalValues:
    """The sub-query of USING, with its brackets. ``reads``: those of the statement, the target's
    first. ``named``: its columns must be called as Spark calls them. NotHere.
    """
    text = span.cut(source)
    inside = Span(span.start + text.index("(") + 1, span.start + text.rindex(")"))
    if not any(inside.start <= read.span.start < inside.end for read in reads):
        rows = inline_rows(source, inside, semantics, named=named)
        if rows is not None:
            return rows
    query = local_select(source, inside, reads, outside, semantics, named=named)
    if isinstance(query, NotHere):
        raise NotHere(query.reason, query.span or span)
    return query


def table_source(read: Read, number: int, semantics: Semantics) -> LocalQuery:
    """All columns of a table, which is read ``number`` of the statement. NotHere."""
    return _all_of(scope_of(read, semantics, read.alias, number), read.span)


def files_source(given: PathRelation | NotHere, span: Span, semantics: Semantics) -> LocalQuery:
    """All columns of files that are named by their path at ``span``. NotHere."""
    return _all_of(scope_of_files(given, span, semantics, ""), span)


def _all_of(scope: Scope, span: Span) -> LocalQuery:
    refs = [scope.resolved(ColumnRef((name,), span)) for name in scope.visible]
    outputs = (
        Output(name=name, value=ref, type=scope.type_of(ref))
        for name, ref in zip(scope.visible, refs, strict=True)
    )
    return scope.query(tuple(outputs), None)


@dataclass(slots=True, kw_only=True)
class MergeScope:
    """The columns of both sides. ``used``: those of the target that trees have named so far."""

    read: Read
    source_alias: str
    source_types: dict[str, HiveType]
    semantics: Semantics
    used: set[str] = field(default_factory=set)
    target_types: dict[str, HiveType] = field(init=False)

    def __post_init__(self) -> None:
        table = scope_of(self.read, self.semantics, self.read.alias)
        self.target_types = {name: table.types[name] for name in table.visible}

    @property
    def types(self) -> dict[str, HiveType]:
        return {of_target(name): kind for name, kind in self.target_types.items()} | {
            of_source(name): kind for name, kind in self.source_types.items()
        }

    def columns(self) -> tuple[tuple[str, HiveType], ...]:
        """The columns of the target that trees have named, in its order."""
        return tuple((name, kind) for name, kind in self.target_types.items() if name in self.used)

    def target(self, name: str, span: Span) -> Condition:
        self.used.add(name)
        return ColumnRef((of_target(name),), span)

    def source(self, name: str, span: Span) -> Condition:
        if name not in self.source_types:
            raise NotHere(f'"{name}"', span)
        return ColumnRef((of_source(name),), span)

    def resolved(self, tree: Condition, *, target: bool = True, source: bool = True) -> Condition:
        """The tree over the columns of the sides that a clause may name. NotHere."""
        match tree:
            case ColumnRef():
                return self._column(tree, target=target, source=source)
            case Call(name, ()) if name in CALLS:
                return Constant(self.semantics.database, STRING, tree.span)
            case Unread():
                raise NotHere(THESE_WORDS, tree.span)
        return with_arguments(tree, partial(self.resolved, target=target, source=source))

    def _column(self, ref: ColumnRef, *, target: bool, source: bool) -> Condition:
        match ref.parts:
            case (alias, name) if alias == self.read.alias and target and name in self.target_types:
                return self.target(name, ref.span)
            case (alias, name) if alias == self.source_alias and source:
                return self.source(name, ref.span)
            case (name,):
                sides = (
                    target and name in self.target_types,
                    source and name in self.source_types,
                )
                if sides == (True, False):
                    return self.target(name, ref.span)
                if sides == (False, True):
                    return self.source(name, ref.span)
        raise NotHere(f'"{".".join(ref.parts)}"', ref.span)

    # ---- ON

    def on(self, tree: Condition) -> tuple[tuple[LocalKey, ...], Condition | None]:
        """The keys, and the rest. NotHere if there are no keys."""
        keys: list[LocalKey] = []
        rest: list[Condition] = []
        for part in conjuncts(tree):
            resolved = self.resolved(part)
            key = self._key(resolved)
            if key is None:
                self.check_condition(resolved)
                rest.append(resolved)
            else:
                keys.append(key)
        if not keys:
            raise NotHere("an ON without values that must be equal", tree.span)
        whole = rest[0] if rest else None
        for more in rest[1:]:
            assert whole is not None
            whole = Call("AND", (whole, more), tree.span)
        return tuple(keys), whole

    def _key(self, tree: Condition) -> LocalKey | None:
        match tree:
            case Call("=", (left, right)):
                sides = self._sides(left), self._sides(right)
                if sides == ({"target"}, {"source"}):
                    return self._equal(left, right)
                if sides == ({"source"}, {"target"}):
                    return self._equal(right, left)
        return None

    def _sides(self, tree: Condition) -> set[str]:
        return {p.parts[0].split(".")[0] for p in parts_of(tree) if isinstance(p, ColumnRef)}

    def _equal(self, target: Condition, source: Condition) -> LocalKey | None:
        """Both values in one type whose values are equal to Arrow where they are equal to Spark;
        None where there is none.
        """
        one, other = (type_of(side, self.types, self.semantics) for side in (target, source))
        sides = equal_sides(target, source, (one, other), ansi=self.semantics.ansi)
        if sides is None:
            return None
        for side in sides[:2]:
            type_of(side, self.types, self.semantics)
        return LocalKey(target=sides[0], source=sides[1])

    # ---- clauses

    def check_condition(self, tree: Condition) -> None:
        if type_of(tree, self.types, self.semantics) != _BOOLEAN:
            raise NotHere("a condition that is not true or false", tree.span)

    def stored(self, tree: Condition, column: Column, *, counted: bool) -> Stored:
        """NotHere."""
        one = Stored(column=column, value=tree, counted=counted)
        stored(one, self.types, self.semantics)
        return one

    def default(self, column: Column, span: Span) -> Condition:
        return default_tree(self.read.table, column, self.semantics, span)


# ---- merge clauses
#
# The clauses of MERGE as trees, over the columns of both sides.


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTrees:
    """What makes the trees of one statement. ``source_read``: of a source that is a table.
    ``named_columns``: those that a list of columns of INSERT means.
    """

    names: Names
    statement: ast.Merge
    read: Read
    analysis: Analysis
    source_alias: str
    source_read: Read | None
    named_columns: Callable[[Table, tuple[ast.Name, ...]], tuple[Column, ...]]

    def merge(self, source: tuple[Piece, ...]) -> LocalMerge:
        """The statement. ``source``: what follows USING, as pieces. NotHere."""
        semantics, statement = self.names.around.semantics, self.statement
        check_surroundings(semantics, statement.span)
        check_rules(self.read.table, semantics, statement.span)
        query = self._source(semantics)
        scope = MergeScope(
            read=self.read,
            source_alias=self.source_alias,
            source_types={output.name.lower(): output.type for output in query.outputs},
            semantics=semantics,
        )
        if len(scope.source_types) < len(query.outputs):
            raise NotHere("two columns of one name", statement.span)
        keys, rest = scope.on(self.names.tree(statement.on))
        clauses = tuple(self._clause(scope, clause) for clause in statement.clauses)
        pieces = ("SELECT * FROM ", *source)
        return LocalMerge(
            source=replace(self.names.bound_query(pieces, self.analysis), local=query),
            source_types=tuple(scope.source_types.items()),
            columns=scope.columns(),
            keys=keys,
            rest=rest,
            clauses=clauses,
            semantics=semantics,
            types=scope.types,
        )

    def _source(self, semantics: Semantics) -> LocalQuery | LocalValues:
        given, reads = self.statement.source, self.analysis.reads
        if isinstance(given, ast.Fragment):
            named = self.statement.source_columns
            query = query_source(
                self.names.source,
                given.span,
                reads,
                self.names.outside,
                semantics,
                named=named is None,
            )
            return query if named is None else called(query, [name.text for name in named])
        if (given_files := self.names.files.get(given.span)) is not None:
            return files_source(given_files, given.span, semantics)
        if self.source_read is None or self.source_read not in reads:
            raise NotHere("this source", given.span)
        return table_source(self.source_read, reads.index(self.source_read), semantics)

    def _clause(self, scope: MergeScope, clause: ast.MergeClause) -> LocalClause:
        sides = {
            "target": clause.match is not Match.NOT_MATCHED,
            "source": clause.match is not Match.NOT_MATCHED_BY_SOURCE,
        }
        condition = None
        if clause.condition is not None:
            condition = scope.resolved(self.names.tree(clause.condition), **sides)
            scope.check_condition(condition)
        table, action, span = self.read.table, clause.action, clause.span
        reported: set[str] = set()

        def value(fragment: ast.Fragment, column: Column) -> Condition:
            if is_reported(self.names, fragment):
                reported.add(column.name)
            if is_default(fragment):
                return scope.default(column, fragment.span)
            return scope.resolved(self.names.tree(fragment), **sides)

        match action:
            case ast.MergeDelete():
                returned = () if self.statement.returning is None else table.columns
                trees = [scope.target(c.name, span) for c in returned]
            case ast.MergeUpdate(assignments=None):
                buckets = table.bucketing.columns if table.bucketing else ()
                trees = [
                    scope.target(c.name, span) if c.name in buckets else scope.source(c.name, span)
                    for c in table.columns
                ]
            case ast.MergeUpdate(assignments=assignments):
                sets = assigned(self.names, table, assignments or ())
                trees = [
                    value(sets[c.name].value, c) if c.name in sets else scope.target(c.name, span)
                    for c in table.columns
                ]
            case ast.MergeInsert(values=None):
                trees = [
                    scope.source(c.name, span) for c in (*table.columns, *table.partition_columns)
                ]
            case ast.MergeInsert(columns=named, values=values):
                every = (*table.columns, *table.partition_columns)
                columns = every if named is None else self.named_columns(table, named)
                given = {c.name: value(v, c) for c, v in zip(columns, values or (), strict=True)}
                reported |= {c.name for c in every if c.name not in given}
                trees = [given.get(c.name) or scope.default(c, span) for c in every]
        every = (*table.columns, *table.partition_columns)
        stores = [
            scope.stored(t, c, counted=c.name not in reported)
            for t, c in zip(trees, every, strict=False)
        ]
        return LocalClause(condition=condition, values=tuple(stores))
