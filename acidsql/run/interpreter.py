"""The walk over a plan's operators. Here alone a way of a plan may say "not here, because ..", and
the next one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from acidsql.catalog.types import HiveType
from acidsql.errors import Error, InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.plan.operators import (
    Collect,
    CountRows,
    DriverOperator,
    FirstOf,
    LocalRows,
    Operator,
    Operators,
    SparkOperator,
)
from acidsql.run.driver.operators import Driver
from acidsql.run.flow import UNTRACED, Flow, Trace
from acidsql.run.translation import translated
from acidsql.storage.snapshots import Snapshots

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

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


# ---- reading
#
# The rows of a query: which files they come of is settled at once, they are made when they are
# asked for.


class Reading:
    """A query of which the first of ``ways`` is begun that goes through so far; the others are
    taken where a value turns out not to be told by it, or Spark's DataFrame is asked for. NotHere.
    """

    def __init__(
        self, run: Interpreter, ways: Sequence[Operators], snapshots: Snapshots, trace: Trace
    ) -> None:
        self._run = run
        self._snapshots = snapshots
        self._trace = trace
        (self._operators, self._flow), self._others = run.first(ways, self._begun)
        self._moves = snapshots.files.moves
        self._instead: Reading | None = None
        self._kept = False

    def _begun(self, operators: Operators) -> tuple[Operators, Flow]:
        first = operators[:-1] if is_late(operators[-1]) else operators
        flow = self._run.walk(first, Flow(snapshots=self._snapshots), self._trace)
        return operators, flow

    @property
    def columns(self) -> tuple[tuple[str, HiveType], ...]:
        """Names and types."""
        match self._operators[-1]:
            case CountRows(count=count):
                return ((count.name, count.type),)
            case LocalRows() as rows:
                return self._run.driver.columns(rows)
            case _:
                return self._run.spark().columns(self._flow)

    @property
    def late(self) -> bool:
        """Whether files are read when the rows are asked for, so that they must be kept till
        then.
        """
        return not self._kept and is_late(self._operators[-1])

    def keep(self) -> None:
        """Fetches the rows, and keeps nothing else."""
        self._flow.rows = self.table()
        self._kept = True

    # ---- the rows

    def table(self) -> pa.Table:
        """All of them."""
        if not self.late:
            assert self._flow.rows is not None
            return self._flow.rows
        self._look_again()
        try:
            self._run.carry_out(self._operators[-1], self._flow, self._trace)
        except NotHere as signal:
            return self._by_others(signal).table()
        rows, self._flow.rows = self._flow.rows, None
        assert rows is not None
        return rows

    @property
    def streams(self) -> bool:
        """Whether ``stream`` gives the rows one batch after the other, for who does not keep them.
        The driver's do not where other ways may have to begin again.
        """
        match self._operators[-1]:
            case _ if not self.late:
                return False
            case LocalRows() as rows:
                return not self._others and self._run.driver.streams(rows, self._flow)
            case _:
                return True

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The rows that stream, in place of ``table``."""
        self._look_again()
        last = self._operators[-1]
        if isinstance(last, LocalRows):
            try:
                with self._trace.running(last) as figures, translated():
                    yield from self._run.driver.stream(last, self._flow, figures)
            except NotHere as signal:
                raise self._run.refused(signal) from signal
        else:
            yield from self._run.spark().stream(self._flow)

    def _by_others(self, signal: NotHere) -> Reading:
        """The query by the ways that are left; their error if there are none."""
        if not self._others:
            raise self._run.refused(signal) from signal
        self._run.note_left(signal)
        self._snapshots.files.look_again()
        return Reading(self._run, self._others, self._snapshots, self._trace)

    # ---- Spark's DataFrame

    @property
    def has_frame(self) -> bool:
        """Whether there is a DataFrame over the same snapshot."""
        return self.late and any(isinstance(one[-1], Collect) for one in self._ways())

    def frame(self) -> DataFrame | None:
        """Spark's DataFrame; None where it must be made of rows."""
        if isinstance(self._operators[-1], Collect):
            self._look_again()
            return self._run.spark().handed_out(self._flow)
        if self._instead is None:
            if not self._others:
                return None
            self._snapshots.files.look_again()
            self._instead = Reading(self._run, self._others, self._snapshots, UNTRACED)
        return self._instead.frame()

    def _ways(self) -> Sequence[Operators]:
        return (self._operators, *self._others)

    def _look_again(self) -> None:
        """Plans a DataFrame again once files of it were moved."""
        files = self._snapshots.files
        if not isinstance(self._operators[-1], Collect):
            return
        files.look_again()
        if files.moves != self._moves:
            self._moves = files.moves
            self._trace, trace = UNTRACED, self._trace
            _, self._flow = self._begun(self._operators)
            self._trace = trace
