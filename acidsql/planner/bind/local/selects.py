"""SELECT as a tree: the clauses of its text, looked up and typed. What is not surely understood
makes it Spark's, with the place of what that is.

Names in ORDER BY and HAVING are first those of results, as Spark has it; where such a name is a
column of the table as well, and not the same, it is left to Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import HiveType, PrimitiveType, holds, is_timestamp
from acidsql.errors import NestingError, ParseError, Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, Constant
from acidsql.expressions.values import is_utc
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.aggregates import Aggregates, holds_aggregate, is_groupable
from acidsql.planner.bind.local.inline_rows import inline_relation
from acidsql.planner.bind.local.query_trees import (
    NAMELESS,
    ROW_ID,
    ROW_ID_FIELDS,
    LocalQuery,
    LocalValues,
    Ordering,
    Output,
    Outside,
    Semantics,
)
from acidsql.planner.bind.local.scope import Scope, type_of
from acidsql.planner.bind.local.select_text import Item, SelectText, SortItem, read_select
from acidsql.planner.bind.local.spark_names import spark_name

_BOOLEAN, _DATE = PrimitiveType("boolean"), PrimitiveType("date")


def local_select(
    source: str,
    span: Span,
    reads: Sequence[Read],
    outside: Outside,
    semantics: Semantics,
    *,
    named: bool = True,
    before: Span | None = None,
) -> LocalQuery | NotHere:
    """The query ``span`` of ``source`` as a tree, or why it is Spark's. ``reads``: the tables that
    its analysis has found; ``outside``: what else it reads. ``named``: its columns must be
    called as Spark calls them. ``before``: its FROM clause, where that stands before INSERT.
    """
    try:
        _check_surroundings(span, reads, outside, semantics)
        select = _Select(
            source=source,
            text=read_select(source, span, before),
            reads=reads,
            outside=outside,
            semantics=semantics,
            named=named,
        )
        return select.query()
    except NotHere as signal:
        return signal.to_keep()
    except (ParseError, NestingError, RecursionError):
        return NotHere(THESE_WORDS, span)


def _check_surroundings(
    span: Span, reads: Sequence[Read], outside: Outside, semantics: Semantics
) -> None:
    if semantics.only_spark is not None:
        raise NotHere(semantics.only_spark, span)
    if outside.views:
        raise NotHere("a view of Spark's session", span)
    if len(reads) > 1:
        raise NotHere("more than one table", reads[1].span)


@dataclass(slots=True, kw_only=True)
class _Select:
    source: str
    text: SelectText
    reads: Sequence[Read]
    outside: Outside
    semantics: Semantics
    named: bool
    files: PathRelation | None = None
    values: LocalValues | None = None
    scope: Scope = field(init=False)
    aggregates: Aggregates = field(init=False)
    outputs: list[Output] = field(default_factory=list)
    groups: dict[str, Condition] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = self._scope()
        self.aggregates = Aggregates(source=self.source, scope=self.scope)

    def _scope(self) -> Scope:
        if self.text.table is None:
            if self.reads:
                raise NotHere("a sub-query", self.reads[0].span)
            if self.text.inline is not None:
                return self._inline(self.text.inline)
            return Scope(table=None, alias="", semantics=self.semantics)
        if not self.reads and (given := self.outside.files.get(self.text.table)) is not None:
            scope, self.files = scope_of_files(
                given, self.text.table, self.semantics, self.text.alias
            )
            return scope
        if len(self.reads) != 1 or self.reads[0].span != self.text.table:
            raise NotHere("what stands behind FROM", self.text.table)
        return scope_of(self.reads[0], self.semantics, self.text.alias)

    def _inline(self, span: Span) -> Scope:
        alias, self.values = inline_relation(self.source, span, self.semantics)
        columns = tuple((output.name, output.type) for output in self.values.outputs)
        return Scope(table=None, inline=columns, alias=alias, semantics=self.semantics)

    def query(self) -> LocalQuery:
        text = self.text
        grouped = bool(text.group_by) or any(
            tree is not None and holds_aggregate(tree)
            for tree in (*(item.value for item in text.items), text.having)
        )
        if text.having is not None and not grouped:
            raise NotHere("HAVING without groups", text.having.span)
        where = None if text.where is None else condition_of(self.scope, text.where)
        for condition in text.group_by:
            self._group(condition)
        for item in text.items:
            self.outputs += self._item(item, grouped)
        having = None if text.having is None else self._having(text.having)
        order = tuple(part for item in text.order for part in self._sorting(item, grouped))
        if text.distinct:
            self._check_distinct(order)
        return LocalQuery(
            read=0 if self.reads else None,
            files=self.files,
            values=self.values,
            columns=self.scope.used_columns(),
            row_id=self.scope.uses_row_id,
            outputs=tuple(self.outputs),
            where=where,
            grouped=grouped,
            group_by=tuple(self.groups.values()),
            aggregates=tuple(self.aggregates.known.values()),
            having=having,
            distinct=text.distinct,
            order=order,
            limit=text.limit,
            offset=text.offset,
            semantics=self.semantics,
        )

    # ---- what is put out

    def _item(self, item: Item, grouped: bool) -> list[Output]:
        if item.star is not None:
            return _left(item, self._star(item, grouped))
        assert item.value is not None
        name = item.alias
        if name is None:
            name = spark_name(self.source, item.value, self._is_day)
        if name is None and self.named:
            raise NotHere("what Spark calls this column", item.span)
        value = self._value(item.value, grouped)
        kind = self._type(value, grouped)
        return [Output(name=name or NAMELESS, value=value, type=kind)]

    def _is_day(self, tree: Condition) -> bool:
        """Whether an expression is a DATE, inside of an aggregate or around some."""
        over_groups = holds_aggregate(tree)
        return self._type(self._value(tree, over_groups), over_groups) == _DATE

    def _star(self, item: Item, grouped: bool) -> list[Output]:
        if grouped or not self.scope.visible or item.star not in ("", self.scope.alias):
            raise NotHere("* here", item.span)
        refs = [self.scope.resolved(ColumnRef((name,), item.span)) for name in self.scope.visible]
        names = [name for name, _ in self.scope.inline] or self.scope.visible
        return [
            Output(name=name, value=ref, type=self.scope.type_of(ref))
            for name, ref in zip(names, refs, strict=True)
        ]

    def _value(self, tree: Condition, grouped: bool) -> Condition:
        """The tree over the columns of the table, or over those of groups and aggregates."""
        if not grouped:
            return self.scope.resolved(tree)
        return self._over_groups(self.aggregates.lifted(tree))

    def _over_groups(self, tree: Condition) -> Condition:
        match tree:
            case ColumnRef((name,)) if name in self.aggregates.types:
                return tree
            case ColumnRef():
                name = self.scope.name_of(tree)
                if name not in self.groups:
                    raise NotHere("a column that is no group", tree.span)
                return replace(tree, parts=(name,))
            case Call(arguments=()):
                return self.scope.resolved(tree)
            case Call(arguments=arguments):
                return replace(tree, arguments=tuple(map(self._over_groups, arguments)))
            case Cast(argument=argument):
                return replace(tree, argument=self._over_groups(argument))
            case Constant():
                return tree
        raise NotHere(THESE_WORDS, tree.span)

    def _type(self, value: Condition, grouped: bool) -> HiveType:
        types = {**self.scope.types, **self.aggregates.types} if grouped else self.scope.types
        return type_of(value, types, self.semantics)

    # ---- groups

    def _group(self, tree: Condition) -> None:
        match tree:
            case Constant(int() as ordinal) if not isinstance(ordinal, bool):
                tree = self._numbered(ordinal, tree.span)
        if not isinstance(tree, ColumnRef):
            raise NotHere("groups of anything but columns", tree.span)
        resolved = self.scope.resolved(tree)
        assert isinstance(resolved, ColumnRef)
        if not is_groupable(self.scope.type_of(resolved)):
            raise NotHere("groups of such values", tree.span)
        self.groups[resolved.parts[0]] = resolved

    def _numbered(self, ordinal: int, span: Span) -> Condition:
        """The expression of the SELECT list that a number in GROUP BY or ORDER BY means."""
        items = self.text.items
        if any(item.star is not None for item in items) or not 1 <= ordinal <= len(items):
            raise NotHere("this number", span)
        value = items[ordinal - 1].value
        assert value is not None
        return value

    def _having(self, tree: Condition) -> Condition:
        value = self._over_groups(self._of_results(self.aggregates.lifted(tree), grouped=True))
        if self._type(value, True) != _BOOLEAN:
            raise NotHere("a condition that is not true or false", tree.span)
        return value

    # ---- names of results

    def _of_results(self, tree: Condition, *, grouped: bool) -> Condition:
        """The tree with the values of outputs in place of their names; columns of the table keep
        theirs.
        """
        match tree:
            case ColumnRef((name,)) if name not in self.aggregates.types:
                return self._result(tree, name, grouped)
            case Call(arguments=arguments):
                inner = tuple(self._of_results(a, grouped=grouped) for a in arguments)
                return replace(tree, arguments=inner)
            case Cast(argument=argument):
                return replace(tree, argument=self._of_results(argument, grouped=grouped))
        return tree

    def _result(self, ref: ColumnRef, name: str, grouped: bool) -> Condition:
        values = [output.value for output in self.outputs if output.name.lower() == name]
        if not values:
            return ref
        own = ColumnRef((name,), ref.span)
        if len(values) > 1 or (grouped and name in self.scope.types and own != values[0]):
            raise NotHere(f'which "{name}" is meant', ref.span)
        return values[0]

    # ---- ORDER BY and DISTINCT

    def _sorting(self, item: SortItem, grouped: bool) -> list[Ordering]:
        tree = item.value
        if isinstance(tree, Constant):
            value = self._output_numbered(tree)
        elif grouped:
            lifted = self.aggregates.lifted(tree)
            value = self._over_groups(self._of_results(lifted, grouped=True))
        else:
            value = self.scope.resolved(self._of_results(tree, grouped=False))
        if isinstance(value, ColumnRef) and value.parts == (ROW_ID,):
            fields = [self.scope.resolved(ColumnRef((n,), value.span)) for n in ROW_ID_FIELDS]
            return [self._ordering(field, item, grouped) for field in fields]
        return [self._ordering(value, item, grouped)]

    def _output_numbered(self, constant: Constant) -> Condition:
        match constant.value:
            case bool():
                pass
            case int() as ordinal if 1 <= ordinal <= len(self.outputs):
                return self.outputs[ordinal - 1].value
        raise NotHere("an order by this value", constant.span)

    def _ordering(self, value: Condition, item: SortItem, grouped: bool) -> Ordering:
        hive_type = self._type(value, grouped)
        if not is_groupable(hive_type):
            raise NotHere("an order of such values", item.span)
        return Ordering(
            value=value,
            type=hive_type,
            descending=item.descending,
            nulls_first=item.nulls_first,
        )

    def _check_distinct(self, order: Sequence[Ordering]) -> None:
        values = {output.value for output in self.outputs}
        if any(ordering.value not in values for ordering in order):
            raise NotHere("an order by what is not put out", self.text.order[0].span)
        if not all(is_groupable(output.type) for output in self.outputs):
            raise NotHere("DISTINCT of such values", self.text.items[0].span)


def _left(item: Item, outputs: list[Output]) -> list[Output]:
    """What is left of the columns of a star."""
    names = {output.name.lower() for output in outputs}
    if not names.issuperset(item.without) or names == set(item.without):
        raise NotHere("* here", item.span)
    return [output for output in outputs if output.name.lower() not in item.without]


def scope_of(read: Read, semantics: Semantics, alias: str = "") -> Scope:
    """The columns of a table that is read, by its alias. NotHere for a view, and where
    moments of time depend on a zone.
    """
    table = read.table
    if read.in_view or table.view is not None:
        raise NotHere("views", read.span)
    return Scope(table=table, alias=alias or table.name.table, semantics=semantics)


def scope_of_files(
    given: PathRelation | NotHere, span: Span, semantics: Semantics, alias: str
) -> tuple[Scope, PathRelation]:
    """The columns of files that are named by their path at ``span``. NotHere as
    ``scope_of``, and where only Spark reads them.
    """
    if isinstance(given, NotHere):
        raise NotHere(given.reason, span)
    has_times = any(holds(c.type, is_timestamp) for c in given.columns)
    if given.format == "parquet" and has_times and not is_utc(semantics.zone):
        raise NotHere(f"moments in the zone {semantics.zone}", span)
    reasons = {c.name.lower(): c.only_spark for c in given.columns if c.only_spark is not None}
    if len(reasons) == len(given.columns):
        raise NotHere(next(iter(reasons.values())), span)
    inline = tuple((column.name, column.type) for column in given.columns)
    scope = Scope(table=None, inline=inline, only_spark=reasons, alias=alias, semantics=semantics)
    return scope, given


def condition_of(scope: Scope, tree: Condition) -> Condition:
    """A condition over the columns of ``scope``. NotHere."""
    resolved = scope.resolved(tree)
    if scope.type_of(resolved) != _BOOLEAN:
        raise NotHere("a condition that is not true or false", tree.span)
    return resolved
