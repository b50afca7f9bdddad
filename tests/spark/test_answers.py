"""Arrow tables as answers."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from acidsql.spark.read.answers import wall_clock

ZONED = pa.timestamp("us", "America/New_York")
INSTANT = datetime.datetime(2024, 7, 1, 4, tzinfo=datetime.UTC)
CLOCK = datetime.datetime(2024, 7, 1)


def answer(kind: pa.DataType, value: object) -> pa.Table:
    return pa.table(
        {
            "plain": pa.array([value, None, value, value], kind),
            "listed": pa.array([[value], None, [], [value, None]], pa.list_(kind)),
            "mapped": pa.array(
                [[("k", value)], None, [("k", None)], []], pa.map_(pa.string(), kind)
            ),
            "nested": pa.array(
                [{"n": 1, "t": [value]}, None, {"n": None, "t": None}, {"n": 2, "t": []}],
                pa.struct([("n", pa.int64()), ("t", pa.list_(kind))]),
            ),
            "other": [1, None, 3, 4],
        }
    )


@pytest.mark.parametrize(("start", "length"), [(0, 4), (1, 3), (1, 2), (3, 1), (0, 0)])
def test_timestamps_show_the_sessions_clock(start: int, length: int) -> None:
    """Without a zone, wherever they stand; also in a slice of an answer, and in one of several
    pieces.
    """
    zoned, clocks = answer(ZONED, INSTANT), answer(pa.timestamp("us"), CLOCK)
    found = wall_clock(zoned.slice(start, length))
    found.validate(full=True)
    assert found.to_pylist() == clocks.slice(start, length).to_pylist()
    assert found.schema == clocks.schema
    pieces = wall_clock(pa.concat_tables([zoned, zoned.slice(start, length)]))
    assert pieces.to_pylist() == clocks.to_pylist() + clocks.slice(start, length).to_pylist()
