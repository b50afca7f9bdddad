"""The walk over a plan's operators. Here alone a way of a plan may say "not here, because ..", and
the next one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from acidsql.errors import Error, InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.plan.operators import (
    Collect,
    DriverOperator,
    FirstOf,
    LocalRows,
    Operator,
    Operators,
    SparkOperator,
)
from acidsql.run.driver.operators import Driver
from acidsql.run.flow import Flow
from acidsql.run.trace import Trace
from acidsql.spark.start.translation import translated

if TYPE_CHECKING:
    from acidsql.run.spark.operators import Spark

_Flow = TypeVar("_Flow", bound=Flow)
_Way = TypeVar("_Way")
_T = TypeVar("_T")


class Interpreter:
    """``spark``: gives what carries out Spark's operators, which most statements do not need.
    ``note_left``: hears why a way is left; ``refused``: the error where none goes through.
    """

    def __init__(
        self,
        driver: Driver,
        spark: Callable[[], Spark],
        note_left: Callable[[NotHere], object],
        refused: Callable[[NotHere], Error],
    ) -> None:
        self.driver = driver
        self.spark = spark
        self.refused = refused
        self.note_left = note_left

    def walk(self, operators: Operators, flow: _Flow, trace: Trace) -> _Flow:
        """Carries the operators out; the flow behind the last. NotHere if no way goes through."""
        for operator in operators:
            if isinstance(operator, FirstOf):
                flow = self._first_of(operator, flow, trace)
            else:
                self.carry_out(operator, flow, trace)
        return flow

    def _first_of(self, choice: FirstOf, flow: _Flow, trace: Trace) -> _Flow:
        ways = [way.operators for way in choice.ways]
        taken, _ = self.first(ways, lambda way: self.walk(way, flow.trial(), trace))
        return taken

    def first(
        self, ways: Sequence[_Way], attempt: Callable[[_Way], _T]
    ) -> tuple[_T, Sequence[_Way]]:
        """What the first way comes to that goes through, and the ways behind it."""
        for number, way in enumerate(ways):
            try:
                return attempt(way), ways[number + 1 :]
            except NotHere as signal:
                if number + 1 == len(ways):
                    raise
                self.note_left(signal)
        raise InternalError("a plan without a way")

    def carry_out(self, operator: Operator, flow: Flow, trace: Trace) -> None:
        """Carries out one operator."""
        with trace.running(operator) as figures, translated():
            if isinstance(operator, DriverOperator):
                self.driver.carry_out(operator, flow, figures)
            elif isinstance(operator, SparkOperator):
                self.spark().carry_out(operator, flow, figures)
            else:
                raise InternalError(f"{type(operator).__name__} is not part of a statement")


def ways_of(operators: Operators) -> Iterator[Operators]:
    """The ways of a query, in the order in which they are tried."""
    first = operators[0]
    if isinstance(first, FirstOf):
        for way in first.ways:
            yield from ways_of(way.operators)
    else:
        yield operators


def is_late(operator: Operator) -> bool:
    """Whether an operator makes the rows of a query, which waits until they are asked for."""
    return isinstance(operator, LocalRows | Collect)
