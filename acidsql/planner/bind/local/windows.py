"""Window functions in the trees of a query: each becomes a column of its own, which the rest of its
tree is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import (
    OVER,
    Call,
    Condition,
    Constant,
    Unread,
    parts_of,
)
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.local.aggregates import (
    AGGREGATES,
    is_groupable,
    is_star,
    result_type,
)
from acidsql.planner.bind.local.query_trees import (
    Frame,
    Function,
    Ordering,
    Window,
    WindowFunction,
)
from acidsql.planner.bind.local.select_text import SortItem, read_window

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
