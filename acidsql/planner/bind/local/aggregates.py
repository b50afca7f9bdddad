"""Aggregates, groups and windows in the trees of a query: each becomes a column of its own, which
the rest of its tree is over. Their types are Spark's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from acidsql.catalog.types import (
    MAX_DECIMAL_PRECISION,
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
)
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.tree import (
    OVER,
    VOID,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    Unread,
    parts_of,
    with_arguments,
)
from acidsql.lazy import dataclass
from acidsql.parser.tokens import tokens_in
from acidsql.planner.bind.local.query_trees import (
    Aggregate,
    Frame,
    Function,
    Grouping,
    Ordering,
    Window,
    WindowFunction,
)
from acidsql.planner.bind.local.scope import QUERIES, AnyScope
from acidsql.planner.bind.local.select_text import SortItem, read_window

# ---- aggregates
#
# Aggregates in the trees of a query: each becomes a column of its own, which the rest of its tree
# is over. Their types are Spark's.


AGGREGATES = {f.name: f for f in Function if f is not Function.COUNT_DISTINCT}
"""By their names in SQL."""
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATING = ("float", "double")
_BIGINT, _DOUBLE, _STRING = (PrimitiveType(name) for name in ("bigint", "double", "string"))
_MORE_DIGITS = 10
"""What the sum of decimals has more than each of them."""
_MORE_PLACES = 4
"""What their average has more, behind the point."""


def distinct_values(source: str, words: Span) -> Condition | None:
    """What DISTINCT stands before in the words of an argument; None for other words."""
    tokens = tokens_in(source, words)
    if len(tokens) < 2 or tokens[0].word != "DISTINCT":
        return None
    return read_expression(source, tokens[1:])


def is_star(source: str, words: Span) -> bool:
    """Whether an argument is ``*``."""
    return words.cut(source).strip() == "*"


def holds_aggregate(tree: Condition) -> bool:
    """Whether an aggregate is in the tree that is not one over a window."""
    match tree:
        case Call(name, (Call(arguments=arguments), _)) if name == OVER:
            return any(map(holds_aggregate, arguments))
        case Call(name, arguments):
            return name in AGGREGATES or any(map(holds_aggregate, arguments))
        case Cast(argument=argument):
            return holds_aggregate(argument)
    return False


@dataclass(slots=True, kw_only=True)
class Aggregates:
    """The aggregates of one query over the columns of ``scope``; the same one counts once."""

    source: str
    scope: AnyScope
    known: dict[tuple[Function, Condition | None], Aggregate] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, HiveType]:
        """Their columns."""
        return {one.name: one.type for one in self.known.values()}

    def lifted(self, tree: Condition) -> Condition:
        """The tree with a column in place of each aggregate. Columns outside of them keep their
        names. NotHere.
        """
        match tree:
            case Call(name) if name == OVER:  # over the groups, with arguments of its own
                return tree
            case Call("COUNT", (Unread(words),), span) if (
                counted := distinct_values(self.source, words)
            ) is not None:
                aggregate = self._aggregate(Function.COUNT_DISTINCT, (counted,), span)
                return ColumnRef((aggregate.name,), span)
            case Call(name, arguments, span) if name in AGGREGATES:
                aggregate = self._aggregate(AGGREGATES[name], arguments, span)
                return ColumnRef((aggregate.name,), span)
        return with_arguments(tree, self.lifted)

    def _aggregate(
        self, function: Function, arguments: tuple[Condition, ...], span: Span
    ) -> Aggregate:
        argument = self._argument(function, arguments, span)
        key = (function, argument)
        if key not in self.known:
            argument_type = None if argument is None else self.scope.type_of(argument)
            self.known[key] = Aggregate(
                name=f"{function}.{len(self.known)}",
                function=function,
                argument=argument,
                argument_type=argument_type,
                type=result_type(function, argument_type, span),
            )
        return self.known[key]

    def _argument(
        self, function: Function, arguments: tuple[Condition, ...], span: Span
    ) -> Condition | None:
        match arguments:
            case (Unread(words),) if function is Function.COUNT and is_star(self.source, words):
                return None
            case (Constant(value),) if function is Function.COUNT and value is not None:
                return None
            case (argument,) if not holds_aggregate(argument):
                return self.scope.resolved(argument)
        raise NotHere("this aggregate", span)


def result_type(function: Function, argument: HiveType | None, span: Span) -> HiveType:
    """The type of an aggregate of values of a type. NotHere."""
    match function, argument:
        case Function.COUNT, _:
            return _BIGINT
        case Function.COUNT_DISTINCT, _ if argument is not None and is_groupable(argument):
            return _BIGINT
        case ((Function.MIN | Function.MAX), CharType() | VarcharType()):
            return _STRING
        case ((Function.MIN | Function.MAX), PrimitiveType() | DecimalType()) if argument != VOID:
            return argument
        case Function.SUM, PrimitiveType(name) if name in _INTEGERS:
            return _BIGINT
        case Function.SUM, DecimalType(precision, scale) if (
            precision + _MORE_DIGITS <= MAX_DECIMAL_PRECISION
        ):
            return DecimalType(precision + _MORE_DIGITS, scale)
        case Function.SUM, PrimitiveType(name) if name in _FLOATING:
            return _DOUBLE
        case Function.AVG, DecimalType(precision, scale) if (
            precision + _MORE_DIGITS <= MAX_DECIMAL_PRECISION
        ):
            return DecimalType(precision + _MORE_PLACES, scale + _MORE_PLACES)
        case Function.AVG, PrimitiveType(name) if name in (*_INTEGERS, *_FLOATING):
            return _DOUBLE
    raise NotHere(f"{function} of {argument}", span)


def is_groupable(hive_type: HiveType) -> bool:
    """Whether equal values of a type are told without Spark."""
    return not isinstance(hive_type, ArrayType | MapType | StructType) and hive_type != VOID


# ---- groupings
#
# What GROUP BY groups by: columns, and expressions over them, each of which is a column to the rest
# of the query.


@dataclass(slots=True, kw_only=True)
class Groupings:
    """The groupings of one query over the columns of ``scope``, by their values; the same one
    counts once.
    """

    scope: AnyScope
    known: dict[Condition, Grouping] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, HiveType]:
        """Their columns."""
        return {one.name: one.type for one in self.known.values()}

    def add(self, tree: Condition) -> None:
        """Groups by a tree of the query's words. NotHere."""
        if not _is_plain(tree) or holds_aggregate(tree):
            raise NotHere("groups of such values", tree.span)
        if not any(isinstance(part, ColumnRef) for part in parts_of(tree)):
            raise NotHere("groups of a constant", tree.span)
        self.add_value(self.scope.resolved(tree))

    def add_value(self, value: Condition) -> None:
        """Groups by a tree that is resolved. NotHere."""
        hive_type = self.scope.type_of(value)
        if not is_groupable(hive_type):
            raise NotHere("groups of such values", value.span)
        name = value.parts[0] if isinstance(value, ColumnRef) else f"group.{len(self.known)}"
        self.known.setdefault(value, Grouping(name=name, value=value, type=hive_type))

    def column(
        self, tree: Condition, is_own: Callable[[ColumnRef], bool] | None = None
    ) -> ColumnRef | None:
        """The column that a tree of the query's words is behind the groups; None for one that is
        none of them. ``is_own``: whether a name means a column of the table; None where all do.
        """
        if not isinstance(tree, ColumnRef | Call | Cast) or not _is_plain(tree):
            return None
        names = [part for part in parts_of(tree) if isinstance(part, ColumnRef)]
        if not names or not all(self.scope.knows(ref.parts) for ref in names):
            return None
        if is_own is not None and not all(map(is_own, names)):
            return None
        grouping = self.known.get(self.scope.resolved(tree))
        return None if grouping is None else replace(grouping.column, span=tree.span)


def _is_plain(tree: Condition) -> bool:
    """Whether neither a query nor a window is in a tree, nor words that are not understood."""
    return not any(
        isinstance(part, Unread) or (isinstance(part, Call) and part.name in (*QUERIES, OVER))
        for part in parts_of(tree)
    )


# ---- windows
#
# Window functions in the trees of a query: each becomes a column of its own, which the rest of its
# tree is over.


_INT = PrimitiveType("int")
_WHOLE = frozenset(map(PrimitiveType, ("tinyint", "smallint", "int", "bigint")))
_NUMBERING = (WindowFunction.ROW_NUMBER, WindowFunction.RANK, WindowFunction.DENSE_RANK)
_OF_OTHERS = (WindowFunction.LAG, WindowFunction.LEAD)
_OF_ENDS = (WindowFunction.FIRST_VALUE, WindowFunction.LAST_VALUE)
_FUNCTIONS: dict[str, WindowFunction | Function] = {
    **{one.name: one for one in WindowFunction},
    **AGGREGATES,
    "FIRST": WindowFunction.FIRST_VALUE,
    "LAST": WindowFunction.LAST_VALUE,
}


def holds_window(tree: Condition) -> bool:
    return any(isinstance(part, Call) and part.name == OVER for part in parts_of(tree))


@dataclass(slots=True, kw_only=True)
class Windows:
    """The window functions of one query, by their places; asked again, each is the same one.
    ``types``: of columns, to which each function's is added. ``resolved``: makes a tree of the
    query's words one over the columns of rows or groups; ``type_of`` and ``ordering``: what such a
    tree is, and as part of an order.
    """

    source: str
    types: dict[str, HiveType]
    resolved: Callable[[Condition], Condition]
    type_of: Callable[[Condition], HiveType]
    ordering: Callable[[Condition, SortItem], Ordering]
    known: dict[Span, Window] = field(default_factory=dict)

    def window(self, call: Call, words: Span, span: Span) -> Window:
        """The function ``call`` over the window of these words, at ``span``. NotHere."""
        if span not in self.known:
            window = self.known[span] = self._window(call, words)
            self.types[window.name] = window.type
        return self.known[span]

    def _window(self, call: Call, words: Span) -> Window:
        function = _FUNCTIONS.get(call.name)
        if function is None:
            raise NotHere("this window function", call.span)
        text = read_window(self.source, words)
        partition = tuple(self.resolved(tree) for tree in text.partition)
        if not all(is_groupable(self.type_of(tree)) for tree in partition):
            raise NotHere("windows of such values", words)
        order = tuple(self.ordering(self.resolved(o.value), o) for o in text.order)
        if not order and (
            isinstance(function, WindowFunction) or text.frame not in (None, Frame())
        ):
            raise NotHere("a window without an order", call.span)
        if text.frame is not None and function in (*_NUMBERING, *_OF_OTHERS):
            raise NotHere("this window", words)
        argument, offset = self._argument(call, function)
        argument_type = None if argument is None else self.type_of(argument)
        if isinstance(function, Function):
            partial = order and text.frame != Frame()
            if partial and not _is_framed(function, argument_type, text.frame):
                raise NotHere(f"{function} of some rows of a window", call.span)
            hive_type = result_type(function, argument_type, call.span)
        elif function in _NUMBERING:
            hive_type = _INT
        else:
            assert argument_type is not None
            hive_type = argument_type
        return Window(
            name=f"window.{len(self.known)}",
            function=function,
            argument=argument,
            argument_type=argument_type,
            offset=offset,
            frame=text.frame,
            partition=partition,
            order=order,
            type=hive_type,
        )

    def _argument(
        self, call: Call, function: WindowFunction | Function
    ) -> tuple[Condition | None, int]:
        match call.arguments:
            case () if function in _NUMBERING:
                return None, 0
            case (Unread(words),) if function is Function.COUNT and is_star(self.source, words):
                return None, 0
            case (value,) if function in _OF_OTHERS:
                return self.resolved(value), 1
            case (value, Constant(int() as offset)) if (
                function in _OF_OTHERS and not isinstance(offset, bool) and 0 <= offset < 1 << 31
            ):
                return self.resolved(value), offset
            case (value,) if isinstance(function, Function) or function in _OF_ENDS:
                return self.resolved(value), 0
        raise NotHere("this window function", call.span)


def _is_framed(function: Function, argument: HiveType | None, frame: Frame | None) -> bool:
    """Whether an aggregate is computed of some rows of a window."""
    match function:
        case Function.SUM | Function.AVG:
            return argument in _WHOLE or isinstance(argument, DecimalType)
        case Function.MIN | Function.MAX:
            return frame is None or frame.first is None
    return function is Function.COUNT
