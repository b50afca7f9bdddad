"""What a scan is told of a query's condition, and how much of its rows a query holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from acidsql.catalog.types import PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import ColumnRef, Condition
from acidsql.planner.bind.local.query_trees import Grouping, LocalQuery, Ordering, Output
from acidsql.run.driver.rows import early_test, rows_of

BIGINT, BOOLEAN = PrimitiveType("bigint"), PrimitiveType("boolean")


def _query(where: Condition | None) -> LocalQuery:
    value = ColumnRef(("k",), Span(0, 1))
    return LocalQuery(
        read=0,
        columns=(("k", BIGINT), ("o", BOOLEAN), ("x", BIGINT)),
        outputs=(Output(name="k", value=value, type=BIGINT),),
        where=where,
    )


def test_only_the_columns_of_a_condition_are_read_for_it() -> None:
    """The others of a row that does not meet it are never decoded."""
    where = early_test(_query(ColumnRef(("o",), Span(0, 1))))
    assert where is not None
    assert where.columns == ("o",)
    kept = where.test(pa.record_batch({"o": pa.array([True, False, None])}))
    assert kept.to_pylist() == [True, False, None]


def test_a_condition_on_what_no_file_holds_is_tested_later() -> None:
    """ROW__ID is made of columns that have no name in a table."""
    assert early_test(_query(None)) is None
    assert early_test(_query(ColumnRef(("row__id.rowid",), Span(0, 1)))) is None


BATCH, BATCHES = 50_000, 12
MOST = 4 << 20
"""Less than all of the rows weigh, and more than what a query need hold of them."""

_K = ColumnRef(("k",), Span(0, 1))
ORDER = Ordering(value=_K, type=BIGINT, descending=True, nulls_first=False)
PLAIN = LocalQuery(
    read=0, columns=(("k", BIGINT),), outputs=(Output(name="k", value=_K, type=BIGINT),)
)
GROUPED = replace(PLAIN, grouped=True, group_by=(Grouping(name="k", value=_K, type=BIGINT),))


def _batches(key: Callable[[int], int]) -> Iterator[pa.RecordBatch]:
    for first in range(0, BATCH * BATCHES, BATCH):
        yield pa.record_batch({"k": pa.array(map(key, range(first, first + BATCH)), pa.int64())})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (replace(PLAIN, order=(ORDER,), limit=3), [6, 6, 6]),
        (replace(PLAIN, order=(ORDER,), limit=3, distinct=True), [6, 5, 4]),
        (replace(GROUPED, order=(ORDER,)), [6, 5, 4, 3, 2, 1, 0]),
    ],
)
def test_rows_that_are_let_go_weigh_nothing(query: LocalQuery, expected: list[int]) -> None:
    """Of many rows those that a LIMIT, DISTINCT or groups leave are held, and these alone count."""
    assert rows_of(query, _batches(lambda n: n % 7), MOST).column("k").to_pylist() == expected


@pytest.mark.parametrize(
    "query",
    [
        PLAIN,
        replace(PLAIN, order=(ORDER,)),
        replace(PLAIN, distinct=True),
        replace(PLAIN, order=(ORDER,), limit=BATCH * BATCHES - 1),
        replace(GROUPED, order=(ORDER,), limit=1),
    ],
)
def test_more_than_may_be_held_is_left_to_spark(query: LocalQuery) -> None:
    """Once it is held, not at the end of the table: the rest is not read."""
    batches = _batches(lambda n: n)
    with pytest.raises(NotHere, match="more rows than the driver may hold"):
        rows_of(query, batches, MOST // 4)
    assert next(batches, None) is not None


def test_groups_of_many_batches_are_put_together_whatever_their_number() -> None:
    """Every key once, however often the parts were merged by the way."""
    whole = rows_of(GROUPED, _batches(lambda n: n * 7919 % 300_007), None).column("k").to_pylist()
    assert sorted(whole) == list(range(300_007))
