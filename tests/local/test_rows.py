"""What a scan is told of a query's condition."""

from __future__ import annotations

import pyarrow as pa

from acidsql.catalog.types import PrimitiveType
from acidsql.errors import Span
from acidsql.expressions.tree import ColumnRef, Condition
from acidsql.local.rows import early_test
from acidsql.planner.bind.local.query_trees import LocalQuery, Output

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
