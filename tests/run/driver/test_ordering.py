"""ORDER BY on the driver: Spark's order, and no more rows kept than are wanted."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.run.driver import ordering
from acidsql.run.driver.ordering import (
    Key,
    first_rows,
    from_sortable,
    has_negative_zero,
    normalized,
    sortable,
)

NUMBERS = st.none() | st.floats(width=32) | st.sampled_from((0.0, -0.0, math.nan, math.inf))
TEXTS = st.none() | st.text(max_size=3)
ROWS = st.lists(st.tuples(NUMBERS, TEXTS), max_size=30)
FLAGS = st.tuples(st.booleans(), st.booleans())


@given(rows=ROWS, by_number=FLAGS, by_text=FLAGS, count=st.none() | st.integers(0, 12))
def test_rows_come_in_sparks_order(
    rows: list[tuple[Any, Any]],
    by_number: tuple[bool, bool],
    by_text: tuple[bool, bool],
    count: int | None,
) -> None:
    """NaN is the greatest number, zeros are equal, texts go by their bytes; equal rows stay as they
    came, whatever batches they came in.
    """
    keys = [
        Key(column=column, descending=descending, nulls_first=nulls_first)
        for column, (descending, nulls_first) in enumerate((by_number, by_text))
    ]
    expected = list(enumerate(rows))
    for column in (1, 0):
        descending, nulls_first = (by_number, by_text)[column]
        expected = _sorted(expected, column, descending, nulls_first)
    given_batches = [_table(rows[i : i + 7], i) for i in range(0, max(len(rows), 1), 7)]
    before, ordering._SPARE_ROWS = ordering._SPARE_ROWS, 0
    try:
        found = first_rows(given_batches, keys, count)
    finally:
        ordering._SPARE_ROWS = before
    assert found.column("2").to_pylist() == [number for number, _ in expected][:count]


def _table(rows: list[tuple[Any, Any]], first: int) -> pa.Table:
    numbers = pa.array([number for number, _ in rows], pa.float32())
    texts = pa.array([text for _, text in rows], pa.string())
    places = pa.array(range(first, first + len(rows)), pa.int64())
    return pa.Table.from_arrays([numbers, texts, places], names=["0", "1", "2"])


def _sorted(
    rows: list[tuple[int, tuple[Any, Any]]], column: int, descending: bool, nulls_first: bool
) -> list[tuple[int, tuple[Any, Any]]]:
    def key(row: tuple[int, tuple[Any, Any]]) -> Any:
        value = row[1][column]
        if isinstance(value, str):
            return value.encode()
        return (math.isnan(value), 0.0 if math.isnan(value) or value == 0 else value)

    nulls = [row for row in rows if row[1][column] is None]
    others = [row for row in rows if row[1][column] is not None]
    others.sort(key=key, reverse=descending)
    return [*nulls, *others] if nulls_first else [*others, *nulls]


@given(values=st.lists(st.none() | st.floats(), min_size=1))
def test_sortable_numbers_lead_back(values: list[float | None]) -> None:
    """What is made of a number is made back to it, but for the sign of zero and NaN's bits."""
    array = pa.array(values, pa.float64())
    back = from_sortable(sortable(array), pa.float64())
    assert repr(back.to_pylist()) == repr(normalized(array).to_pylist())
    signs = [v for v in values if v == 0 and math.copysign(1, v) < 0]
    assert has_negative_zero(array) == bool(signs)
