"""Window functions: the rows are sorted once for each kind of window, and the values put back to
the rows they are of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.arrow_arrays import arrow_array, filled, numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import Condition
from acidsql.planner.bind.local.query_trees import (
    Aggregate,
    Function,
    Ordering,
    Window,
    WindowFunction,
)
from acidsql.run.driver.aggregates import Groups
from acidsql.run.driver.ordering import Key, SortKey, sorted_indices
from acidsql.run.driver.values import sortable
from acidsql.storage.stored import arrow_type

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
    one of its window, and the first one that the order leaves equal to it.
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
            case _ if window.order:
                return self._running(window, given)
            case _:
                return self._of_windows(window, given)
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

    def _running(self, window: Window, given: pa.Array | None) -> pa.Array:
        """A sum or a count of the rows of a window up to the last peer."""
        if given is None:
            known, numbers = np.ones(self.count, np.int64), np.zeros(self.count, np.int64)
        else:
            known = numpy_array(given.is_valid()).astype(np.int64)[self.order]
            numbers = np.zeros(self.count, np.int64)
            if window.function is Function.SUM:
                numbers = numpy_array(filled(given.cast(pa.int64()), 0))[self.order]
                if float(np.abs(numbers.astype(np.float64)).sum()) >= 1 << 62:
                    raise NotHere("a sum of numbers as large as these")
        counts, sums = self._so_far(known), self._so_far(numbers)
        if window.function is Function.COUNT:
            return self._put_back(arrow_array(counts, pa.int64()))
        return self._put_back(arrow_array(sums, pa.int64(), mask=counts == 0))

    def _so_far(self, numbers: Numbers) -> Numbers:
        sums: Numbers = np.cumsum(numbers)
        if self.count:
            sums = sums[self.last_peers] - sums[self.starts] + numbers[self.starts]
        return sums

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
