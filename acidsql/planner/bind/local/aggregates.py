"""Aggregates in the trees of a query: each becomes a column of its own, which the rest of its tree
is over. Their types are Spark's.
"""

from __future__ import annotations

from dataclasses import field

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
    with_arguments,
)
from acidsql.lazy_dataclass import dataclass
from acidsql.parser.tokens import tokens_in
from acidsql.planner.bind.local.query_trees import Aggregate, Function
from acidsql.planner.bind.local.scope import AnyScope

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
