"""GROUP BY, aggregates and DISTINCT on the driver, against a model that sees all rows at once."""

from __future__ import annotations

import functools
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import ColumnRef
from acidsql.planner.bind.local.query_trees import Aggregate, Function
from acidsql.run.driver import ordering
from acidsql.run.driver.ordering import Groups, distinct_rows

INT, BIGINT, DOUBLE = (PrimitiveType(name) for name in ("int", "bigint", "double"))
KEYS = st.sampled_from((None, 0.0, 1.5, math.nan))
ROWS = st.lists(st.tuples(KEYS, st.none() | st.integers(-(1 << 31), (1 << 31) - 1)), max_size=40)


def _aggregate(function: Function, result: HiveType, argument: HiveType = INT) -> Aggregate:
    return Aggregate(
        name=f"{function}.0",
        function=function,
        argument=ColumnRef(("v",), Span(0, 1)),
        argument_type=argument,
        type=result,
    )


ALL = (
    _aggregate(Function.COUNT, BIGINT),
    _aggregate(Function.MIN, INT),
    _aggregate(Function.MAX, INT),
    _aggregate(Function.SUM, BIGINT),
    _aggregate(Function.AVG, DOUBLE),
)


@given(rows=ROWS, size=st.integers(1, 9), grouped=st.booleans())
def test_aggregates_are_those_of_all_rows(
    rows: list[tuple[Any, Any]], size: int, grouped: bool
) -> None:
    """However the rows are cut into batches; NULLs count for nothing, NaN is one group."""
    groups = Groups(keys=[("k", pa.float64())] if grouped else [], aggregates=ALL)
    before, ordering._PARTIAL_ROWS = ordering._PARTIAL_ROWS, 3
    try:
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            values = pa.array([value for _, value in part], pa.int32())
            keys = [pa.array([key for key, _ in part], pa.float64())] if grouped else []
            groups.add(keys, [values] * len(ALL), len(part))
        batch = groups.batch()
    finally:
        ordering._PARTIAL_ROWS = before
    expected: dict[str, list[int]] = {} if grouped else {"": []}
    for key, value in rows:
        values_of = expected.setdefault(repr(key) if grouped else "", [])
        values_of += [] if value is None else [value]
    found = [tuple(row.values()) for row in batch.to_pylist()]
    assert len(found) == len(expected)
    by_key = {repr(row[0]): row[1:] for row in found} if grouped else {"": found[0]}
    assert by_key == {key: _model(values) for key, values in expected.items()}


def _model(values: list[int]) -> tuple[Any, ...]:
    if not values:
        return (0, None, None, None, None)
    total = sum(values)
    return (len(values), min(values), max(values), total, total / len(values))


def test_a_sum_that_may_leave_its_range_is_sparks() -> None:
    """Also where it would come back into it."""
    groups = Groups(keys=[], aggregates=[_aggregate(Function.SUM, BIGINT, BIGINT)])
    values = pa.array([1 << 62, -(1 << 62), 5], pa.int64())
    with pytest.raises(NotHere, match="sum of numbers as large"):
        groups.add([], [values], 3)


@pytest.mark.parametrize("grouped", [False, True])
@given(values=st.lists(st.none() | st.floats(), max_size=40), size=st.integers(1, 50))
def test_floating_numbers_are_added_in_the_order_of_the_rows(
    grouped: bool, values: list[float | None], size: int
) -> None:
    """From 0.0 on, batch by batch; never in pairs, as Arrow would."""
    sums = _aggregate(Function.SUM, DOUBLE, DOUBLE), _aggregate(Function.AVG, DOUBLE, DOUBLE)
    groups = Groups(keys=[("k", pa.int8())] if grouped else [], aggregates=sums)
    expected: float | None = None
    for start in range(0, len(values), size):
        part = values[start : start + size]
        array = pa.array(part, pa.float64())
        keys = [pa.nulls(len(part), pa.int8())] if grouped else []
        groups.add(keys, [array, array], len(part))
        numbers = [value for value in part if value is not None]
        if numbers:
            of_part = functools.reduce(float.__add__, numbers, 0.0)
            expected = of_part if expected is None else expected + of_part
    rows = groups.batch().to_pylist()
    count = sum(value is not None for value in values)
    average = None if expected is None else expected / count
    if values or not grouped:
        [row] = rows
        assert repr([row["sum.0"], row["avg.0"]]) == repr([expected, average])


def test_the_least_of_two_zeros_is_sparks() -> None:
    """Which of them Spark shows depends on their order."""
    groups = Groups(keys=[], aggregates=[_aggregate(Function.MIN, DOUBLE, DOUBLE)])
    groups.add([], [pa.array([0.0, -0.0, 3.0])], 3)
    with pytest.raises(NotHere):
        groups.batch()


@given(rows=ROWS, enough=st.none() | st.integers(0, 5))
def test_distinct_rows_come_once(rows: list[tuple[Any, Any]], enough: int | None) -> None:
    """And reading ends where enough are known."""
    tables = [
        pa.Table.from_arrays(
            [pa.array([key], pa.float64()), pa.array([value], pa.int32())], names=["0", "1"]
        )
        for key, value in rows
    ]
    nothing = pa.Table.from_arrays(
        [pa.array([], pa.float64()), pa.array([], pa.int32())], names=["0", "1"]
    )
    [found] = distinct_rows(iter([nothing, *tables]), enough)
    expected = set(map(repr, rows))
    texts = [repr(tuple(row.values())) for row in found.to_pylist()]
    assert len(set(texts)) == len(texts)
    assert set(texts) <= expected
    assert len(texts) >= min(len(expected), len(expected) if enough is None else enough)
