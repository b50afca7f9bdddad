"""SELECT as a tree: the clauses of its text, looked up and typed. What is not surely understood
makes it Spark's, with the place of what that is.

Names in ORDER BY and HAVING are first those of results, as Spark has it; where such a name is a
column of the table as well, and not the same, it is left to Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial

from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import HiveType, PrimitiveType, holds, is_timestamp
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import (
    OVER,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    Unread,
    parts_of,
    with_arguments,
)
from acidsql.expressions.values import is_utc
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.aggregates import Aggregates, holds_aggregate, is_groupable
from acidsql.planner.bind.local.groupings import Groupings
from acidsql.planner.bind.local.query_trees import (
    NAMELESS,
    ROW_ID,
    ROW_ID_FIELDS,
    LocalQuery,
    Ordering,
    Output,
    Semantics,
    SubQueryKind,
)
from acidsql.planner.bind.local.scope import QUERIES, AnyScope, Origin, Scope, type_of
from acidsql.planner.bind.local.select_text import Item, SelectText, SortItem
from acidsql.planner.bind.local.spark_names import spark_name
from acidsql.planner.bind.local.windows import Windows, holds_window

_BOOLEAN, _DATE = PrimitiveType("boolean"), PrimitiveType("date")


@dataclass(slots=True, kw_only=True)
class Select:
    """One SELECT over the rows of ``scope``. ``named``: its columns must be called as Spark calls
    them.
    """

    source: str
    text: SelectText
    scope: AnyScope
    named: bool
    aggregates: Aggregates = field(init=False)
    groupings: Groupings = field(init=False)
    windows: Windows = field(init=False)
    outputs: list[Output] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.aggregates = Aggregates(source=self.source, scope=self.scope)
        self.groupings = Groupings(scope=self.scope)
        grouped = self.grouped
        self.windows = Windows(
            source=self.source,
            types=self.scope.types,
            resolved=lambda tree: self._value(tree, grouped),
            type_of=lambda value: self._type(value, grouped),
            ordering=lambda value, item: self._ordering(value, item, grouped),
        )

    @property
    def grouped(self) -> bool:
        text = self.text
        return bool(text.group_by) or any(
            tree is not None and holds_aggregate(tree)
            for tree in (*(item.value for item in text.items), text.having)
        )

    def query(self, where: Condition | None) -> LocalQuery:
        """``where``: resolved. NotHere."""
        text, grouped = self.text, self.grouped
        if text.having is not None and not grouped:
            raise NotHere("HAVING without groups", text.having.span)
        for condition in text.group_by:
            self._group(condition)
        for item in text.items:
            self.outputs += self._item(item, grouped)
        having = None if text.having is None else self._having(text.having)
        order = tuple(part for item in text.order for part in self._sorting(item, grouped))
        if text.distinct:
            self._check_distinct(order)
        return replace(
            self.scope.query(tuple(self.outputs), where),
            grouped=grouped,
            group_by=tuple(self.groupings.known.values()),
            aggregates=tuple(self.aggregates.known.values()),
            having=having,
            windows=tuple(self.windows.known.values()),
            distinct=text.distinct,
            order=order,
            limit=text.limit,
            offset=text.offset,
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
        columns = None if grouped else self.scope.star(item.star or "")
        if columns is None:
            raise NotHere("* here", item.span)
        return [
            Output(name=name, value=replace(ref, span=item.span), type=self.scope.type_of(ref))
            for name, ref in columns
        ]

    def _value(self, tree: Condition, grouped: bool) -> Condition:
        """The tree over the columns of the table, or over those of groups and aggregates."""
        if not grouped:
            return self._over_rows(tree)
        return self._over_groups(self.aggregates.lifted(tree))

    def _over_rows(self, tree: Condition) -> Condition:
        match tree:
            case Call(name) if name == OVER:
                return self._window(tree)
            case Call() | Cast() if holds_window(tree):
                return with_arguments(tree, self._over_rows)
        return self.scope.resolved(tree)

    def _over_groups(self, tree: Condition, *, results: bool = False) -> Condition:
        """``results``: columns may be those of outputs, by their names."""
        match tree:
            case ColumnRef((name,)) if name in self.aggregates.types:
                return tree
            case Call(name) if name in QUERIES:
                return self._single(tree)
            case Call(name) if name == OVER and not results:
                return self._window(tree)
            case ColumnRef() if results and (result := self._result(tree, grouped=True)):
                return result
        column = self.groupings.column(tree, self._is_certain if results else None)
        if column is not None:
            return column
        match tree:
            case ColumnRef():
                self.scope.column(tree)
                raise NotHere("a column that is no group", tree.span)
            case Call(arguments=()) | Unread():
                return self.scope.resolved(tree)
        return with_arguments(tree, partial(self._over_groups, results=results))

    def _is_certain(self, ref: ColumnRef) -> bool:
        """Whether a column of the table is meant. NotHere where a result may be."""
        self._result(ref, grouped=True)
        return True

    def _window(self, tree: Condition) -> Condition:
        match tree:
            case Call(_, (Call() as call, Unread(words)), span):
                return ColumnRef((self.windows.window(call, words, span).name,), span)
        raise NotHere("this window function", tree.span)

    def _single(self, call: Call) -> Condition:
        """The one value of a query that is computed before there are groups."""
        query = self.scope.sub_query(call)
        if query.kind is not SubQueryKind.SCALAR or query.outer:
            raise NotHere("a sub-query over groups", call.span)
        return ColumnRef((query.name,), call.span)

    def _type(self, value: Condition, grouped: bool) -> HiveType:
        types = self.scope.types
        if grouped:
            types = {**types, **self.groupings.types, **self.aggregates.types}
        return type_of(value, types, self.scope.semantics)

    # ---- groups

    def _group(self, tree: Condition) -> None:
        match tree:
            case Constant(int() as ordinal) if not isinstance(ordinal, bool):
                tree = self._numbered(ordinal, tree.span)
            case ColumnRef((name,)) if not self.scope.knows((name,)):
                tree = self._aliased(name, tree.span)
        self.groupings.add(tree)

    def _aliased(self, name: str, span: Span) -> Condition:
        """The expression of the SELECT list that a name in GROUP BY means."""
        values = [i.value for i in self.text.items if i.alias and i.alias.lower() == name]
        if len(values) != 1 or values[0] is None:
            raise NotHere(f'"{name}"', span)
        return values[0]

    def _numbered(self, ordinal: int, span: Span) -> Condition:
        """The expression of the SELECT list that a number in GROUP BY or ORDER BY means."""
        items = self.text.items
        if any(item.star is not None for item in items) or not 1 <= ordinal <= len(items):
            raise NotHere("this number", span)
        value = items[ordinal - 1].value
        assert value is not None
        return value

    def _having(self, tree: Condition) -> Condition:
        value = self._over_groups(self.aggregates.lifted(tree), results=True)
        if self._type(value, True) != _BOOLEAN:
            raise NotHere("a condition that is not true or false", tree.span)
        return value

    # ---- names of results

    def _over_results(self, tree: Condition) -> Condition:
        """The tree over the columns of the table, with the values of outputs in place of their
        names.
        """
        match tree:
            case ColumnRef() if (result := self._result(tree, grouped=False)) is not None:
                return result
            case Call(_, (_, *_)) | Cast():
                return with_arguments(tree, self._over_results)
        return self.scope.resolved(tree)

    def _result(self, ref: ColumnRef, *, grouped: bool) -> Condition | None:
        """The value of the output of this name; None for none."""
        name = ".".join(ref.parts)
        values = [output.value for output in self.outputs if output.name.lower() == name]
        if len(ref.parts) > 1 or not values:
            return None
        is_column = grouped and self.scope.knows(ref.parts)
        if len(values) > 1 or (is_column and self.scope.resolved(ref) != values[0]):
            raise NotHere(f'which "{name}" is meant', ref.span)
        return values[0]

    # ---- ORDER BY and DISTINCT

    def _sorting(self, item: SortItem, grouped: bool) -> list[Ordering]:
        tree = item.value
        if isinstance(tree, Constant):
            value = self._output_numbered(tree)
        elif grouped:
            lifted = self.aggregates.lifted(tree)
            if self.text.having is not None:
                self._check_order(lifted)
            value = self._over_groups(lifted, results=True)
        else:
            value = self._over_results(tree)
        if isinstance(value, ColumnRef) and value.parts == (ROW_ID,):
            fields = [self.scope.resolved(ColumnRef((n,), value.span)) for n in ROW_ID_FIELDS]
            return [self._ordering(field, item, grouped) for field in fields]
        return [self._ordering(value, item, grouped)]

    def _check_order(self, tree: Condition) -> None:
        """NotHere for an order by a group that is no column, which Spark knows no more."""
        for ref in (part for part in parts_of(tree) if isinstance(part, ColumnRef)):
            if ref.parts[0] in self.aggregates.types or self._result(ref, grouped=True):
                continue
            if self.scope.resolved(ref) not in self.groupings.known:
                raise NotHere("an order by this group behind HAVING", ref.span)

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


def scope_of(read: Read, semantics: Semantics, alias: str = "", number: int = 0) -> Scope:
    """The columns of a table, which is read ``number`` of the statement, by its alias. NotHere for
    a view, and where moments of time depend on a zone.
    """
    table = read.table
    if table.view is not None:
        raise NotHere("views", read.span)
    return Scope(
        table=table,
        alias=alias or table.name.table,
        semantics=semantics,
        origin=Origin(read=number),
    )


def scope_of_files(
    given: PathRelation | NotHere, span: Span, semantics: Semantics, alias: str, number: int = 0
) -> Scope:
    """The columns of files that are named by their path at ``span``, the ``number``-th such path.
    NotHere as ``scope_of``, and where only Spark reads them.
    """
    if isinstance(given, NotHere):
        raise NotHere(given.reason, span)
    has_times = any(holds(c.type, is_timestamp) for c in given.columns)
    if given.format == "parquet" and has_times and not is_utc(semantics.zone):
        raise NotHere(f"moments in the zone {semantics.zone}", span)
    reasons = {c.name.lower(): c.only_spark for c in given.columns if c.only_spark is not None}
    if len(reasons) == len(given.columns):
        raise NotHere(next(iter(reasons.values())), span)
    return Scope(
        table=None,
        inline=tuple((column.name, column.type) for column in given.columns),
        only_spark=reasons,
        alias=alias,
        semantics=semantics,
        origin=Origin(files=given, file_number=number),
    )


def condition_of(scope: AnyScope, tree: Condition) -> Condition:
    """A condition over the columns of ``scope``. NotHere."""
    resolved = scope.resolved(tree)
    if scope.type_of(resolved) != _BOOLEAN:
        raise NotHere("a condition that is not true or false", tree.span)
    return resolved
