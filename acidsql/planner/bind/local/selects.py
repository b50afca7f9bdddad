"""SELECT as a tree: the clauses of its text, looked up and typed. What is not surely understood
makes it Spark's, with the place of what that is.

Names in ORDER BY and HAVING are first those of results, as Spark has it; where such a name is a
column of the table as well, and not the same, it is left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from decimal import Decimal
from functools import partial

from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType, holds, is_timestamp
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
from acidsql.expressions.vectors.functions import FUNCTIONS
from acidsql.lazy import dataclass
from acidsql.parser.tokens import TokenKind, tokenize, tokens_in
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.columns import CALLS, called
from acidsql.planner.bind.local.aggregates import (
    Aggregates,
    Groupings,
    Windows,
    distinct_values,
    holds_aggregate,
    holds_window,
    is_groupable,
)
from acidsql.planner.bind.local.query_trees import (
    NAMELESS,
    ROW_ID,
    ROW_ID_FIELDS,
    Function,
    LocalQuery,
    Ordering,
    Output,
    Semantics,
    SubQueryKind,
)
from acidsql.planner.bind.local.scope import QUERIES, AnyScope, Origin, Scope, type_of
from acidsql.planner.bind.local.select_text import Item, SelectText, SortItem
from acidsql.spark_release import names_between

# ---- spark names
#
# What Spark calls a column of a SELECT that was given no name; only where that is sure.


_INFIX = frozenset("= < <= > >= + - * / % & | ^ AND OR <=>".split())
_AGGREGATES = frozenset(function.name for function in Function)
_CAST_TYPES = frozenset("boolean tinyint smallint int bigint float double string date".split())

IsDay = Callable[[Condition], bool]
"""Whether an expression of the query is a DATE. NotHere where it is none at all."""


def spark_name(source: str, tree: Condition, is_day: IsDay) -> str | None:
    """The name of a column that is this expression; None where only Spark can tell. A cast of a
    column keeps the column's.
    """
    match tree:
        case ColumnRef():
            return _last_name(source, tree)
        case Cast(ColumnRef() as ref):
            return _last_name(source, ref) if ROW_ID not in ref.parts else None
        case Call(name, ()) if name in CALLS:
            return called(name)
        case Constant(Decimal() as number):  # beside others Spark may show it as another number
            return str(number) if "E" not in str(number) else None
    return _words(source, tree, is_day)


def _last_name(source: str, ref: ColumnRef) -> str | None:
    tokens = tokens_in(source, ref.span)
    return tokens[-1].text if tokens else None


def _words(source: str, tree: Condition, is_day: IsDay) -> str | None:
    """What Spark shows of an expression inside others."""
    match tree:
        case ColumnRef(parts) if ROW_ID not in parts:  # of whose fields Spark shows both names
            return _last_name(source, tree)
        case Constant():
            return _constant(source, tree)
        case Cast(argument, hive_type) if _is_named(hive_type):
            inner = _words(source, argument, is_day)
            return None if inner is None else f"CAST({inner} AS {str(hive_type).upper()})"
        case Call():
            return _call(source, tree, is_day)
    return None


def _is_named(hive_type: HiveType) -> bool:
    match hive_type:
        case PrimitiveType(name):
            return name in _CAST_TYPES
        case DecimalType():
            return True
    return False


def _constant(source: str, constant: Constant) -> str | None:
    """Whole numbers, texts, truths and NULL show as they are; other literals leave it to Spark."""
    written = constant.span.cut(source)
    match constant.value:
        case None:
            return "NULL"
        case bool() as value:
            return "true" if value else "false"
        case int() as value if written.rstrip("lLsSyY") == str(value):
            return str(value)
        case str() as text if text.isprintable() and tokenize(written)[0].kind is TokenKind.STRING:
            return text
    return None


def _call(source: str, call: Call, is_day: IsDay) -> str | None:
    match call:
        case Call("COUNT", (Unread(words),)):
            counted = distinct_values(source, words)
            if counted is None:
                return "count(1)"
            shown = _words(source, counted, is_day)
            return None if shown is None else f"count(DISTINCT {shown})"
        case Call("+" | "-" as sign, (one, other)) if is_day(one) or is_day(other):
            day, count = (one, other) if is_day(one) else (other, one)
            name = "DATE_ADD" if sign == "+" else "DATE_SUB"
            return _call(source, Call(name, (day, count), call.span), is_day)
        case Call("NOT", (Call("IS NULL", (tested,), span),)) if span == call.span:
            shown = _words(source, tested, is_day)
            return None if shown is None else f"({shown} IS NOT NULL)"
    names = [_words(source, argument, is_day) for argument in call.arguments]
    inner = [name for name in names if name is not None]
    if len(inner) < len(names):
        return None
    return _of_operands(source, call, inner)


def _of_operands(  # noqa: C901  (one arm for each operator)
    source: str, call: Call, inner: list[str]
) -> str | None:
    """The name of a call whose operands are shown so."""
    match call.name, inner:
        case name, [left, right] if name in _INFIX:
            return f"({left} {name} {right})"
        case "<>", [left, right]:
            return f"(NOT ({left} = {right}))"
        case "DIV", [left, right]:
            return f"({left} div {right})"
        case "NOT", [operand]:
            return f"(NOT {operand})"
        case "NEGATIVE", [operand] if call.span.cut(source)[0] == "-":
            return f"(- {operand})"
        case "IS NULL", [operand]:
            return f"({operand} IS NULL)"
        case "ISNOTNULL", [operand]:
            return f"({operand} IS NOT NULL)"
        case "IS TRUE" | "IS FALSE", [operand]:
            return f"({operand} <=> {'true' if call.name == 'IS TRUE' else 'false'})"
        case "IN", [operand, *items]:
            return f"({operand} IN ({', '.join(items)}))"
        case "BETWEEN", [tested, low, high] if not names_between():
            return f"(({tested} >= {low}) AND ({tested} <= {high}))"
        case "BETWEEN", _:
            return f"between({', '.join(inner)})"
        case "LIKE", [operand, pattern]:
            return f"{operand} LIKE {pattern}"
        case "IF", _:
            return f"(IF({', '.join(inner)}))"
        case "CASE", _:
            return _case(source, call, inner)
        case "||", [left, right]:
            return f"concat({left}, {right})"
    return _function(call.name, inner)


def _case(source: str, call: Call, shown: list[str]) -> str:
    *branches, otherwise = shown
    pairs = zip(branches[::2], branches[1::2], strict=True)
    words = [f"WHEN {condition} THEN {value}" for condition, value in pairs]
    if call.arguments[-1].span.start != call.span.start:  # where ELSE is written
        words.append(f"ELSE {otherwise}")
    return f"CASE {' '.join(words)} END"


def _function(name: str, arguments: list[str]) -> str | None:
    if name in _AGGREGATES:
        return f"{name.lower()}({', '.join(arguments)})"
    function = FUNCTIONS.get(name)
    if function is None or function.column is None:
        return None
    added = (function.added or {}).get(len(arguments))
    shown = arguments if added is None else [*arguments, added]
    return f"{function.column}({', '.join(shown)})"


# ---- selects


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
