"""Window functions: the rows are sorted once for each kind of window, and the values put back to
the rows they are of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.types import arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import Condition
from acidsql.planner.bind.local.query_trees import (
    Aggregate,
    Frame,
    Function,
    Ordering,
    Window,
    WindowFunction,
)
from acidsql.run.driver.ordering import (
    Groups,
    Key,
    SortKey,
    averages,
    has_negative_zero,
    sortable,
    sorted_indices,
)

Numbers = npt.NDArray[np.int64]
Value = Callable[[Condition, pa.RecordBatch], pa.Array]

_ASCENDING = Key(column=0, descending=False, nulls_first=True)


def with_windows(batch: pa.RecordBatch, windows: Sequence[Window], value: Value) -> pa.RecordBatch:
    """All rows of a query with a column for each window function, in the order of the last, as
    Spark gives them. ``value``: computes a tree. NotHere.
    """
    specs = dict.fromkeys((one.partition, one.order) for one in windows)
    sorts = {spec: _Sorted(batch, *spec, value) for spec in specs}
    columns = []
    for one in windows:
        given = None if one.argument is None else value(one.argument, batch)
        columns.append(sorts[one.partition, one.order].values(one, given))
    for one, column in zip(windows, columns, strict=True):
        batch = batch.append_column(one.name, column)
    last = windows[-1]
    return batch.take(pa.array(sorts[last.partition, last.order].order))


class _Sorted:
    """The rows by their windows. ``starts`` and ``peers``: for each row in that order, the first
    one of its window, and the first one that the order leaves equal to it. ``ends``: the one behind
    its window.
    """

    def __init__(
        self,
        batch: pa.RecordBatch,
        partition: tuple[Condition, ...],
        order: tuple[Ordering, ...],
        value: Value,
    ) -> None:
        self.count = batch.num_rows
        windows = [value(tree, batch) for tree in partition]
        keys = [value(one.value, batch) for one in order]
        by: list[tuple[pa.Array, SortKey]] = [(array, _ASCENDING) for array in windows]
        by += zip(keys, order, strict=True)
        indices = sorted_indices(by) if by else pa.array(np.arange(self.count))
        self.order: Numbers = numpy_array(indices).astype(np.int64)
        new_window = self._changes(windows)
        new_peers = new_window | self._changes(keys)
        self.windows = np.cumsum(new_window) - 1
        self.starts = self._firsts(new_window)
        self.peers = self._firsts(new_peers)
        behind = np.append(np.flatnonzero(new_window)[1:], self.count)
        self.ends = behind[self.windows] if self.count else behind[:0]
        self._ranks: Numbers = np.cumsum(new_peers)
        last = np.append(np.flatnonzero(new_peers)[1:], self.count) - 1
        self.last_peers = last[self._ranks - 1] if self.count else last[:0]

    def _changes(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Which rows differ from the one before; the first one does."""
        changes = np.zeros(self.count, np.bool_)
        changes[:1] = True
        for column in columns:
            codes = numpy_array(filled(sortable(column).dictionary_encode().indices, -1))
            codes = codes[self.order]
            changes[1:] |= codes[1:] != codes[:-1]
        return changes

    def _firsts(self, changes: npt.NDArray[np.bool_]) -> Numbers:
        first = np.where(changes, np.arange(self.count), 0)
        return np.maximum.accumulate(first) if self.count else first

    def values(self, window: Window, given: pa.Array | None) -> pa.Array:
        """The values of a function, in the order of the batch. NotHere."""
        match window.function:
            case WindowFunction.ROW_NUMBER:
                numbers = np.arange(self.count) - self.starts + 1
            case WindowFunction.RANK:
                numbers = self.peers - self.starts + 1
            case WindowFunction.DENSE_RANK:
                numbers = self._ranks - self._ranks[self.starts] + 1
            case WindowFunction.LAG | WindowFunction.LEAD:
                assert given is not None
                return self._moved(window, given)
            case Function() if not window.order or window.frame == Frame():
                return self._of_windows(window, given)
            case _:
                return self._of_frames(window, given)
        return self._put_back(arrow_array(numbers, arrow_type(window.type)))

    def _put_back(self, values: pa.Array) -> pa.Array:
        inverse = np.empty(self.count, np.int64)
        inverse[self.order] = np.arange(self.count)
        return values.take(pa.array(inverse))

    def _moved(self, window: Window, given: pa.Array) -> pa.Array:
        offset = -window.offset if window.function is WindowFunction.LAG else window.offset
        source = np.arange(self.count) + offset
        inside = (source >= 0) & (source < self.count)
        source = np.where(inside, source, 0)
        if self.count:
            inside &= self.windows[source] == self.windows
        rows = pa.array(self.order[source], mask=~inside)
        return self._put_back(given.take(rows)).cast(arrow_type(window.type))

    def _bounds(self, frame: Frame | None) -> tuple[Numbers, Numbers]:
        """The first row that a function sees from each, and the one behind the last."""
        if frame is None:
            return self.starts, self.last_peers + 1
        rows = np.arange(self.count)
        first, last = self.starts, self.ends
        if frame.first is not None:
            first = np.clip(rows + frame.first, self.starts, self.ends)
        if frame.last is not None:
            last = np.clip(rows + frame.last + 1, first, self.ends)
        return first, last

    def _of_frames(self, window: Window, given: pa.Array | None) -> pa.Array:
        """A value of the rows that each one's frame has."""
        first, behind = self._bounds(window.frame)
        if given is None:
            return self._put_back(arrow_array(behind - first, pa.int64()))
        kind = arrow_type(window.type)
        match window.function:
            case WindowFunction.FIRST_VALUE | WindowFunction.LAST_VALUE:
                at = first if window.function is WindowFunction.FIRST_VALUE else behind - 1
                values = self._at(given, at, behind == first)
            case Function.MIN | Function.MAX:
                values = self._extremes(given, behind, least=window.function is Function.MIN)
            case _:
                values = self._sums(window, given, first, behind)
        return self._put_back(values.cast(kind) if values.type != kind else values)

    def _at(self, given: pa.Array, rows: Numbers, absent: npt.NDArray[np.bool_]) -> pa.Array:
        """The values of these rows, which are counted in the order of the windows."""
        if not self.count:
            return given
        return given.take(pa.array(self.order[np.where(absent, 0, rows)], mask=absent))

    def _extremes(self, given: pa.Array, behind: Numbers, *, least: bool) -> pa.Array:
        """The least or greatest value of the rows of a window so far. NotHere."""
        if has_negative_zero(given):
            raise NotHere("the order of 0.0 and -0.0")
        ranks = numpy_array(pc.rank(sortable(given), sort_keys="ascending", tiebreaker="dense"))
        ranks = ranks.astype(np.int64)[self.order]
        known = numpy_array(given.is_valid())[self.order]
        ranks = np.where(known, self.count + 1 - ranks if least else ranks, 0)
        # those of a window are above all of the windows before it, so that none goes on
        step = self.count + 2
        best = np.maximum.accumulate(ranks + self.windows * step) - self.windows * step
        row_of = np.zeros(step, np.int64)
        row_of[ranks] = np.arange(self.count)
        best = best[np.maximum(behind - 1, 0)] if self.count else best
        return self._at(given, row_of[best], (best == 0) | (behind == self.starts))

    def _sums(self, window: Window, given: pa.Array, first: Numbers, behind: Numbers) -> pa.Array:
        """Counts, sums and averages of whole numbers and decimals. NotHere."""
        known = numpy_array(given.is_valid()).astype(np.int64)[self.order]
        counts = _between(known, first, behind)
        if window.function is Function.COUNT:
            return arrow_array(counts, pa.int64())
        scale = given.type.scale if pa.types.is_decimal(given.type) else None
        numbers = _whole_numbers(given)[self.order]
        most = 1 << 53 if scale is None and window.function is Function.AVG else 1 << 62
        if float(np.abs(numbers.astype(np.float64)).sum()) >= most:
            raise NotHere("a sum of numbers as large as these")
        sums = _between(numbers, first, behind)
        if window.function is Function.AVG and scale is None:
            with np.errstate(invalid="ignore", divide="ignore"):
                return arrow_array(sums / counts, pa.float64(), mask=counts == 0)
        totals = arrow_array(sums, pa.int64(), mask=counts == 0)
        if scale is not None:
            totals = totals.cast(pa.decimal128(38, 0)).view(pa.decimal128(38, scale))
        if window.function is Function.AVG:
            return averages(totals, arrow_array(counts, pa.int64()), arrow_type(window.type))
        return totals

    def _of_windows(self, window: Window, given: pa.Array | None) -> pa.Array:
        """An aggregate of all rows of a window."""
        assert isinstance(window.function, Function)
        groups = Groups(
            keys=[("window", pa.int64())],
            aggregates=[
                Aggregate(
                    name="value",
                    function=window.function,
                    argument=window.argument,
                    argument_type=window.argument_type,
                    type=window.type,
                )
            ],
        )
        values = None if given is None else given.take(pa.array(self.order))
        groups.add([arrow_array(self.windows, pa.int64())], [values], self.count)
        result = groups.batch()
        numbers = numpy_array(result.column(0))
        by_number = result.column(1).take(pa.array(np.argsort(numbers)))
        return self._put_back(by_number.take(pa.array(self.windows)))


def _between(numbers: Numbers, first: Numbers, behind: Numbers) -> Numbers:
    """The sums of the numbers from ``first`` on that are before ``behind``."""
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers)])
    result: Numbers = sums[behind] - sums[first]
    return result


def _whole_numbers(given: pa.Array) -> Numbers:
    """Whole numbers, those of decimals without their point; 0 for NULL. NotHere."""
    if pa.types.is_decimal(given.type):
        given = given.cast(pa.decimal128(38, given.type.scale)).view(pa.decimal128(38, 0))
        most = arrow_scalar(Decimal(1 << 62), pa.decimal128(38, 0))
        if pc.any(pc.greater(pc.abs(given), most)).as_py():
            raise NotHere("a sum of numbers as large as these")
    numbers: Numbers = numpy_array(filled(given.cast(pa.int64()), 0))
    return numbers
