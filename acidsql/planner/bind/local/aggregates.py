"""Aggregates in the trees of a query: each becomes a column of its own, which the rest of its tree
is over. Their types are Spark's.
"""

from __future__ import annotations

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
from acidsql.expressions.tree import (
    VOID,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    Unread,
    parts_of,
)
from acidsql.lazy_dataclass import dataclass
from acidsql.planner.bind.local.query_trees import Aggregate, Function
from acidsql.planner.bind.local.scope import AnyScope

_FUNCTIONS = {function.name: function for function in Function}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATING = ("float", "double")
_BIGINT, _DOUBLE, _STRING = (PrimitiveType(name) for name in ("bigint", "double", "string"))
_MORE_DIGITS = 10
"""What the sum of decimals has more than each of them."""


def holds_aggregate(tree: Condition) -> bool:
    return any(isinstance(part, Call) and part.name in _FUNCTIONS for part in parts_of(tree))


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
            case Call(name, arguments, span) if name in _FUNCTIONS:
                aggregate = self._aggregate(_FUNCTIONS[name], arguments, span)
                return ColumnRef((aggregate.name,), span)
            case Call(arguments=arguments):
                return replace(tree, arguments=tuple(map(self.lifted, arguments)))
            case Cast(argument=argument):
                return replace(tree, argument=self.lifted(argument))
        return tree

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
                type=_result(function, argument_type, span),
            )
        return self.known[key]

    def _argument(
        self, function: Function, arguments: tuple[Condition, ...], span: Span
    ) -> Condition | None:
        match arguments:
            case (Unread(words),) if (
                function is Function.COUNT and words.cut(self.source).strip() == "*"
            ):
                return None
            case (Constant(value),) if function is Function.COUNT and value is not None:
                return None
            case (argument,) if not holds_aggregate(argument):
                return self.scope.resolved(argument)
        raise NotHere("this aggregate", span)


def _result(function: Function, argument: HiveType | None, span: Span) -> HiveType:
    match function, argument:
        case Function.COUNT, _:
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
        case Function.AVG, PrimitiveType(name) if name in (*_INTEGERS, *_FLOATING):
            return _DOUBLE
    raise NotHere(f"{function} of {argument}", span)


def is_groupable(hive_type: HiveType) -> bool:
    """Whether equal values of a type are told without Spark."""
    return not isinstance(hive_type, ArrayType | MapType | StructType) and hive_type != VOID
