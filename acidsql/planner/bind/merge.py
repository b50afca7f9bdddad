"""MERGE: what each clause may read, and what it makes of a row. Hive: MergeSemanticAnalyzer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, ForeignTable, Table
from acidsql.catalog.path_relation import FileSource
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.expressions.losses import may_lose
from acidsql.expressions.spark_words import Piece, edited, identifier, store_cast
from acidsql.expressions.tree import Call, ColumnRef, Condition, Unread, conjuncts, parts_of
from acidsql.expressions.vectors.functions import TOTAL
from acidsql.lazy import dataclass
from acidsql.parser import statements as ast
from acidsql.parser.statements import Match, Name
from acidsql.planner.bind import tables
from acidsql.planner.bind.analysis import (
    Analysis,
    Read,
    analyse_query,
    filter_partitions,
    relation,
)
from acidsql.planner.bind.bound import (
    NOTHING,
    BoundMerge,
    BoundMergeClause,
    BoundReturning,
    MergeAction,
    bound_reads,
)
from acidsql.planner.bind.columns import Facts, Visible
from acidsql.planner.bind.files.sources import file_source
from acidsql.planner.bind.insert import insert_columns
from acidsql.planner.bind.local.merges import MergeTrees
from acidsql.planner.bind.local.query_trees import LocalClause, LocalMerge
from acidsql.planner.bind.local.scope import type_of, understood
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.query_tree import output_columns, output_width
from acidsql.planner.bind.rows import assigned, changed_target, check_writable, own_value
from acidsql.planner.bind.tables import default_of, default_value

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class _Value:
    """What a column stores, the column of the source that it is a mere copy of, and the value
    before: see ``BoundMergeClause``.
    """

    stored: tuple[Piece, ...]
    copy: str | None
    given: tuple[Piece, ...] | None = None


def bind_merge(names: Names, statement: ast.Merge) -> BoundMerge:
    """BindError with Hive's codes 10402 .. 10408, 10149 and 10297; UnsupportedStatementError for
    what Hive has not, in strict mode.
    """
    read = changed_target(names, statement.target, statement.alias)
    check_clauses(names, statement)
    analysis = Analysis(reads=[read])
    names.parse_ahead(_expressions(statement))
    binder = _Merge(names, read, analysis, statement)
    source = binder.bind_source()
    on = binder.bind_on()
    clauses = tuple(binder.clause(clause) for clause in statement.clauses)
    check_writable(read)
    binder.filter_by_on()
    trees = MergeTrees(
        names=names,
        statement=statement,
        read=read,
        analysis=binder.analysis,
        source_alias=binder.source.alias,
        source_read=binder.source_read,
        named_columns=binder.named_columns,
    )
    local = understood(lambda: trees.merge(source), statement.span)
    if isinstance(local, LocalMerge):
        clauses = tuple(map(partial(_without_sure, local), clauses, local.clauses))
    return BoundMerge(
        table=read.table,
        alias=read.alias,
        source=source,
        source_alias=binder.source.alias,
        on=on,
        clauses=clauses,
        reads=bound_reads(analysis.reads),
        views=tuple(names.views),
        text_source=names.source,
        span=statement.span,
        keys=tuple(binder.keys.items()),
        asked=binder.asked,
        only_keys=binder.only_keys,
        on_columns=binder.on_columns,
        local=local,
        returning=_returning(names, statement, read),
    )


def _returning(names: Names, statement: ast.Merge, read: Read) -> BoundReturning | None:
    """The list over the new rows, and the old ones of those that are deleted."""
    clause = statement.returning
    if clause is None:
        return None
    from acidsql.planner.bind.rows import bind_returning

    return bind_returning(names, clause, read.table, read.alias)


def _without_sure(
    local: LocalMerge, clause: BoundMergeClause, trees: LocalClause
) -> BoundMergeClause:
    """The clause without the values that lose nothing, now that the types of all are known."""
    kinds = [type_of(one.value, local.types, local.semantics) for one in trees.values]
    return replace(
        clause,
        given=tuple(
            given if may_lose(kind, one.column.type) else None
            for given, kind, one in zip(clause.given, kinds, trees.values, strict=True)
        ),
    )


def _expressions(statement: ast.Merge) -> Iterator[ast.Fragment | None]:
    yield statement.on
    for clause in statement.clauses:
        yield clause.condition
        match clause.action:
            case ast.MergeUpdate(assignments=assignments):
                yield from (a.value for a in assignments or ())
            case ast.MergeInsert(values=values):
                yield from values or ()


class _Merge:
    def __init__(self, names: Names, read: Read, analysis: Analysis, statement: ast.Merge) -> None:
        self.names = names
        self.read = read
        self.analysis = analysis
        self.statement = statement
        self.target = Visible.of(read.table, read.alias)
        self.source = self.target
        self.source_read: Read | None = None
        self.keys: dict[str, str] = {}
        self.on_columns: tuple[str, ...] = ()
        self.only_keys = False
        self.asked: frozenset[str] | None = frozenset()

    def bind_source(self) -> tuple[Piece, ...]:
        """The relation in FROM; ``source`` becomes what is visible of it."""
        given = self.statement.source
        alias = self.statement.source_alias
        if isinstance(given, ast.Fragment):
            if alias is None:
                raise BindError(
                    "the sub-query of USING needs an alias",
                    code=10004,
                    hint="Write USING (..) AS s.",
                    span=given.span,
                )
            source_analysis = self.names.analysis(self.analysis.reads)
            tree = analyse_query(self.names.source, given.span, self.names.resolve, source_analysis)
            name = alias.text.lower()
            columns = source_columns(tree, self.statement.source_columns)
            self.source = Visible(alias=name, name=name, columns=columns)
            pieces: tuple[Piece, ...] = edited(given.span, source_analysis.edits)
        elif isinstance(given, ast.Path):
            files = file_source(given.text, given.span, self.names.source)
            name = files.name if alias is None else alias.text.lower()
            pieces = self.files(files, given.span, name)
        else:
            name = (alias or given.parts[-1]).text.lower()
            pieces = self.named_source(given, name)
        if name == self.read.alias:
            message = f"Ambiguous table alias '{name}'"
            raise BindError(
                message,
                code=10008,
                hint="Give the source an alias of its own.",
                span=(alias or given).span,
            )
        return (*pieces, f" AS {identifier(name)}{column_list(self.statement.source_columns)}")

    def named_source(self, given: ast.QualifiedName, alias: str) -> tuple[Piece, ...]:
        names = tuple(part.text for part in given.parts)
        table = self.names.resolve(names, given.span)
        if table is None:  # only Spark knows it
            self.source = Visible(alias=alias, name=alias)
            if len(given.parts) > 2:
                return (identifier(ForeignTable(parts=names).view),)
            return edited(given.span, ())
        return self.read_source(table, given.span, alias)

    def files(self, files: FileSource, span: Span, alias: str) -> tuple[Piece, ...]:
        table = self.names.open_files(files, span)
        if table is None:
            self.source = Visible(alias=alias, name=alias)
            return (f"{files.kind}.{identifier(files.path)}",)
        return self.read_source(table, span, alias)

    def read_source(self, table: Table, span: Span, alias: str) -> tuple[Piece, ...]:
        read = self.source_read = Read(table=table, span=span, alias=alias)
        self.source = Visible.of(read.table, read.alias)
        return relation(read, self.names.source, self.names.resolve, self.analysis)

    def bind_on(self) -> tuple[Piece, ...]:
        on = self.statement.on
        reads = len(self.analysis.reads)
        pieces, facts = self.names.known_expression(
            on, [self.target, self.source], self.analysis, filters=True
        )
        if len(self.analysis.reads) > reads:
            self.asked = None
        if self.target.alias not in facts.used:
            target = self.statement.target.span.cut(self.names.source)
            message = (
                f"No columns from target table '{target}' found in ON clause '{on.text}' of MERGE"
                " statement."
            )
            raise BindError(message, code=10149, span=on.span)
        self.asks(facts)
        every = (*self.read.table.columns, *self.read.table.partition_columns)
        named = {name for alias, name in facts.columns if alias == self.target.alias}
        self.on_columns = tuple(column.name for column in every if column.name in named)
        self.keys, self.only_keys = equated(self.names.condition(on), self.target, self.source)
        return pieces

    def filter_by_on(self) -> None:
        """ON leaves out partitions of a side whose unmatched rows no clause is about."""
        matches = {clause.match for clause in self.statement.clauses}
        on = self.names.condition(self.statement.on)
        if Match.NOT_MATCHED_BY_SOURCE not in matches:
            filter_partitions(self.names.source, on, self.read, [self.source])
        if Match.NOT_MATCHED not in matches and self.source_read is not None:
            filter_partitions(self.names.source, on, self.source_read, [self.target])

    def asks(self, facts: Facts) -> None:
        """Notes the source's columns in a condition; a sub-query may ask for any."""
        if self.asked is not None:
            self.asked |= {name for alias, name in facts.columns if alias == self.source.alias}

    def clause(self, clause: ast.MergeClause) -> BoundMergeClause:
        visible = {
            Match.MATCHED: [self.target, self.source],
            Match.NOT_MATCHED: [self.source],
            Match.NOT_MATCHED_BY_SOURCE: [self.target],
        }[clause.match]
        condition, of_source = None, False
        if clause.condition is not None:
            condition, of_source = self.condition(clause.condition, visible)
        changed: tuple[Column, ...] = ()
        values: Sequence[_Value] = ()
        action = clause.action
        match action:
            case ast.MergeDelete():
                if self.statement.returning is not None:
                    values = tuple(map(self.own, self.read.table.columns))
                kind = MergeAction.DELETE
            case ast.MergeUpdate():
                changed, values = self.update(action, visible)
                kind = MergeAction.UPDATE
            case ast.MergeInsert():
                changed, values = self.insert(action, visible)
                kind = MergeAction.INSERT
        return BoundMergeClause(
            match=clause.match,
            action=kind,
            span=clause.span,
            condition=condition,
            values=tuple(value.stored for value in values),
            given=tuple(value.given for value in values),
            changed=changed,
            copies=tuple(value.copy for value in values),
            of_source=of_source,
        )

    def condition(
        self, condition: ast.Fragment, visible: list[Visible]
    ) -> tuple[tuple[Piece, ...], bool]:
        """The condition of a clause, and whether it may be asked of the source's rows alone."""
        reads = len(self.analysis.reads)
        pieces, facts = self.names.known_expression(condition, visible, self.analysis, filters=True)
        self.asks(facts)
        if len(self.analysis.reads) > reads:
            self.asked = None
            return pieces, False
        return pieces, facts.used <= {self.source.alias} and self.cannot_fail(condition)

    def cannot_fail(self, condition: ast.Fragment) -> bool:
        """Whether it may be asked of rows that the statement does not ask it of: it answers for all
        of them, every time the same.
        """
        tree = self.names.condition(condition)
        if tree is None or self.names.around.settings.flag("acidsql.ansi"):
            return False
        return not any(
            isinstance(p, Unread) or (isinstance(p, Call) and p.name not in TOTAL)
            for p in parts_of(tree)
        )

    def update(
        self, action: ast.MergeUpdate, visible: Sequence[Visible]
    ) -> tuple[tuple[Column, ...], tuple[_Value, ...]]:
        table = self.read.table
        if action.assignments is None:
            named = [
                c
                for c in table.columns
                if not (table.bucketing and c.name in table.bucketing.columns)
            ]
            by_name = {c.name: self.source_column(c, action.span) for c in named}
            return tuple(named), tuple(by_name.get(c.name, self.own(c)) for c in table.columns)
        sets = assigned(self.names, table, action.assignments)
        changed = tuple(c for c in table.columns if c.name in sets)
        given = {c.name: self.value(sets[c.name].value, c, visible) for c in changed}
        return changed, tuple(given.get(c.name) or self.own(c) for c in table.columns)

    def insert(
        self, action: ast.MergeInsert, visible: Sequence[Visible]
    ) -> tuple[tuple[Column, ...], tuple[_Value, ...]]:
        """Values of all columns, the partition columns behind the others; what is not named is
        NULL.
        """
        table = self.read.table
        every = (*table.columns, *table.partition_columns)
        if action.values is None:
            return every, tuple(self.source_column(c, action.span) for c in every)
        columns = every if action.columns is None else self.named_columns(table, action.columns)
        if len(action.values) != len(columns):
            span = Span(action.values[0].span.start, action.values[-1].span.end)
            raise tables.wrong_column_count(table, columns, len(action.values), span)
        given = {
            c.name: self.value(value, c, visible)
            for c, value in zip(columns, action.values, strict=True)
        }
        return columns, tuple(given.get(c.name) or self.default(c) for c in every)

    def value(self, value: ast.Fragment, column: Column, visible: Sequence[Visible]) -> _Value:
        """An expression as the column stores it."""
        new = self.names.stored(value, self.read.table, column, visible, self.analysis)
        copy = None
        if new.facts is not None and new.facts.mere:
            [(alias, name)] = new.facts.columns
            copy = name if alias == self.source.alias else None
        return _Value(new.stored, copy, new.given)

    def default(self, column: Column) -> _Value:
        table = self.read.table
        copy = NOTHING if default_of(table, column) is None else None
        return _Value(default_value(table, column, self.names.around.semantics.zone), copy)

    def named_columns(self, table: Table, named: tuple[ast.Name, ...]) -> tuple[Column, ...]:
        keys = {c.name for c in table.partition_columns}
        rest = tuple(n for n in named if n.text.lower() not in keys)
        by_name = {
            c.name: c
            for c in (*insert_columns(self.names, table, rest, None), *table.partition_columns)
        }
        missing = keys - {n.text.lower() for n in named}
        if missing:
            raise BindError(f'no value for partition column "{min(missing)}"', span=named[0].span)
        return tuple(by_name[n.text.lower()] for n in named)

    def source_column(self, column: Column, span: Span) -> _Value:
        """``*`` takes the source's column of the same name."""
        if self.source.columns is not None and column.name not in self.source.columns:
            message = f'the source "{self.source.name}" has no column "{column.name}" for *'
            raise BindError(message, code=10002, span=span)
        value = (f"{identifier(self.source.alias)}.{identifier(column.name)}",)
        known = (self.source.columns or {}).get(column.name)
        given = value if may_lose(known, column.type) else None
        return _Value(store_cast(value, column.type), column.name, given)

    def own(self, column: Column) -> _Value:
        """The target's value, which is the source's where ON says so; 0.0 equals -0.0 and is
        another value.
        """
        exact = column.type not in (PrimitiveType("float"), PrimitiveType("double"))
        return _Value(own_value(self.read, column), self.keys.get(column.name) if exact else None)


def equated(on: Condition | None, target: Visible, source: Visible) -> tuple[dict[str, str], bool]:
    """The columns of the target that a conjunct of ON equates with a column of the source, with
    these; whether that is all ON says.
    """
    pairs: dict[str, str] = {}
    parts = conjuncts(on) if on is not None else []
    for part in parts:
        if (
            isinstance(part, Call)
            and part.name == "="
            and all(isinstance(a, ColumnRef) for a in part.arguments)
        ):
            sides = [_side(a, target, source) for a in part.arguments if isinstance(a, ColumnRef)]
            by_side = {side: name for side, name in sides if side is not None}
            if target.alias in by_side and source.alias in by_side:
                pairs.setdefault(by_side[target.alias], by_side[source.alias])
    return pairs, 0 < len(pairs) == len(parts)


def _side(column: ColumnRef, target: Visible, source: Visible) -> tuple[str | None, str]:
    """The alias of the relation a column belongs to, where its name leaves no doubt."""
    *qualifiers, name = column.parts
    if len(qualifiers) == 1 and qualifiers[0] in (target.alias, source.alias):
        return qualifiers[0], name
    if qualifiers or target.columns is None or source.columns is None:
        return None, name
    owners = [side.alias for side in (target, source) if name in (side.columns or ())]
    return (owners[0] if len(owners) == 1 else None), name


# ---- which clauses of a MERGE may stand together


def check_clauses(names: Names, statement: ast.Merge) -> None:
    """What Hive's MERGE may not have, and clauses that are never reached."""
    text = statement.span.cut(names.source)
    _check_first_condition(statement, text)
    if names.around.settings.flag("acidsql.strict.hive"):
        _check_strict(statement, text)
    for match in Match:
        of_kind = [c for c in statement.clauses if c.match is match]
        endless = next((i for i, c in enumerate(of_kind) if c.condition is None), None)
        if endless is not None and endless + 1 < len(of_kind):
            message = f"this clause is never reached: an earlier WHEN {match} has no condition"
            raise BindError(
                message,
                hint="Add AND <condition> to the earlier one.",
                span=of_kind[endless + 1].span,
            )


def _matched(statement: ast.Merge, *kinds: type) -> Iterator[ast.MergeClause]:
    return (
        c for c in statement.clauses if c.match is Match.MATCHED and isinstance(c.action, kinds)
    )


def _check_first_condition(statement: ast.Merge, text: str) -> None:
    first = next(_matched(statement, ast.MergeUpdate, ast.MergeDelete), None)
    both = next(_matched(statement, ast.MergeUpdate), None) and next(
        _matched(statement, ast.MergeDelete), None
    )
    if both and first is not None and first.condition is None:
        message = (
            'MERGE statement with both UPDATE and DELETE clauses requires "AND <boolean>" on the'
            f" 1st WHEN MATCHED clause of <{text}>"
        )
        raise BindError(message, code=10404, span=first.span)


def _check_strict(statement: ast.Merge, text: str) -> None:
    for kind, code in ((ast.MergeDelete, 10405), (ast.MergeUpdate, 10406)):
        word = kind.__name__.removeprefix("Merge").upper()
        for second in list(_matched(statement, kind))[1:2]:
            message = f"MERGE statement can have at most 1 WHEN MATCHED ... {word} clause: <{text}>"
            raise BindError(message, code=code, span=second.span)
    inserts = [c for c in statement.clauses if c.match is Match.NOT_MATCHED]
    for clause in inserts[1:2]:
        raise _not_hive("a second WHEN NOT MATCHED clause", clause.span)
    for clause in statement.clauses:
        action = clause.action
        if clause.match is Match.NOT_MATCHED_BY_SOURCE:
            raise _not_hive("WHEN NOT MATCHED BY SOURCE", clause.span)
        if isinstance(action, ast.MergeUpdate) and action.assignments is None:
            raise _not_hive("UPDATE SET *", action.span)
        if isinstance(action, ast.MergeInsert) and action.values is None:
            raise _not_hive("INSERT *", action.span)


def _not_hive(words: str, span: Span) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"{words} is not Hive SQL", hint="SET acidsql.strict.hive=false allows it.", span=span
    )


# ---- the names that ``USING (query) AS alias (a, b)`` gives to the columns of its query


def source_columns(
    query: exp.Expr, named: Sequence[Name] | None
) -> dict[str, HiveType | None] | None:
    """The columns of a query as a statement calls them, by their own names without any ``named``;
    None as ``output_columns``. BindError where these are others than it has.
    """
    from sqlglot import exp

    if named is None:
        return output_columns(query)
    span = Span(named[0].span.start, named[-1].span.end)
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    width = output_width(inner)
    if width is not None and width != len(named):
        columns = "1 column" if width == 1 else f"{width} columns"
        raise BindError(f"the sub-query has {columns}, not {len(named)}", span=span)
    names = [name.text.lower() for name in named]
    for number, name in enumerate(named):
        if names[number] in names[:number]:
            message = f'the columns of the sub-query have the name "{names[number]}" twice'
            raise BindError(message, code=10036, span=name.span)
    return dict.fromkeys(names)


def column_list(named: Sequence[Name] | None) -> str:
    """The names behind the alias, as Spark takes them."""
    return "" if named is None else f"({', '.join(identifier(name.text) for name in named)})"
