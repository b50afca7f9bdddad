"""The clauses of MERGE as trees, over the columns of both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from acidsql.catalog.model import Column, Table
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.query_text import Piece
from acidsql.expressions.tree import Condition
from acidsql.lazy_dataclass import dataclass
from acidsql.parser import statements as ast
from acidsql.parser.statements import Match
from acidsql.planner.bind.analysis import Analysis, Read
from acidsql.planner.bind.local.changes import check_surroundings
from acidsql.planner.bind.local.merge_trees import LocalClause, LocalMerge
from acidsql.planner.bind.local.merges import (
    MergeScope,
    files_source,
    query_source,
    table_source,
)
from acidsql.planner.bind.local.query_trees import LocalQuery, LocalValues, Semantics, called
from acidsql.planner.bind.local.stores import check_rules
from acidsql.planner.bind.names import Names, is_default, is_reported
from acidsql.planner.bind.rows import assigned


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
