"""Files that are joined are the file that one writer makes of all rows, in more stripes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.joining import JoinedFile, merged
from acidsql.acid.orc_footer_pb2 import ColumnStatistics, Footer
from acidsql.acid.orc_tail import OrcTail, load_tail
from acidsql.errors import FormatError, InternalError

LONGS = st.integers(-(2**62), 2**62)
VALUES: Mapping[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): LONGS,
    pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(-1e9, 1e9),
    pa.float32(): st.floats(-1000, 1000, width=32),
    pa.string(): st.text(max_size=4),
    pa.binary(): st.binary(max_size=4),
    pa.bool_(): st.booleans(),
    pa.decimal128(20, 3): st.decimals(-(10**9), 10**9, places=3),
    pa.date32(): st.dates(date(1600, 1, 1)),
    pa.timestamp("us"): st.datetimes(datetime(1980, 1, 1), datetime(2200, 1, 1)),
    pa.list_(pa.int32()): st.lists(st.integers(0, 9), max_size=3),
    pa.map_(pa.string(), pa.int64()): st.dictionaries(
        st.text(max_size=2), st.integers(0, 9), max_size=2
    ).map(lambda pairs: list(pairs.items())),
}
SCHEMA = pa.schema([(f"c{number}", kind) for number, kind in enumerate(VALUES)])
ROWS = st.tuples(*(st.none() | values for values in VALUES.values()))


def table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def orc_file(rows: pa.Table, codec: str) -> tuple[bytes, OrcTail]:
    sink = pa.BufferOutputStream()
    orc.write_table(rows, sink, compression=codec)
    data = sink.getvalue().to_pybytes()
    return data, tail_of(data)


def tail_of(data: bytes) -> OrcTail:
    return load_tail(lambda count: (data[-count:], len(data)), "a file")


def joined(files: Sequence[tuple[bytes, OrcTail]]) -> bytes:
    whole = JoinedFile(path="a file")
    stripes = b"".join(whole.add(memoryview(data), tail) for data, tail in files)
    assert whole.size == len(stripes)
    return stripes + whole.end()


def statistics(tail: OrcTail) -> list[Any]:
    return [_comparable(MessageToDict(ColumnStatistics.FromString(s))) for s in tail.statistics]


def _comparable(message: Any) -> Any:
    """Sums of doubles differ in their last digits by the order in which they are added up. Arrow's
    writer counts the children of lists where some are NULL alone.
    """
    message.pop("collectionStatistics", None)
    if "doubleStatistics" in message:
        doubles = message["doubleStatistics"]
        doubles["sum"] = pytest.approx(doubles["sum"], rel=1e-9, abs=1e-3)
    return message


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from(["zlib", "uncompressed", "lz4", "snappy"]),
)
def test_is_the_file_of_one_writer(parts: list[list[tuple[Any, ...]]], codec: str) -> None:
    """The same rows, types and statistics; those of each stripe are its part's."""
    files = [orc_file(table(part), codec) for part in parts]
    data = joined(files)
    everything = table([row for part in parts for row in part])
    (one, of_one), tail = orc_file(everything, codec), tail_of(data)
    read = orc.ORCFile(pa.BufferReader(data))
    assert read.read() == orc.ORCFile(pa.BufferReader(one)).read()
    assert [read.read_stripe(n).num_rows for n in range(read.nstripes)] == list(map(len, parts))
    assert (tail.schema, tail.row_count) == (of_one.schema, of_one.row_count)
    assert statistics(tail) == statistics(of_one)
    footer = Footer.FromString(tail.footer)
    assert footer.contentLength == sum(Footer.FromString(t.footer).contentLength for _, t in files)
    assert read.stripe_statistics_length == sum(
        orc.ORCFile(pa.BufferReader(part)).stripe_statistics_length for part, _ in files
    )


def test_rows_of_which_a_part_has_none() -> None:
    """A part of NULLs alone takes nothing from what the others tell."""
    nothing, row = (None,) * len(SCHEMA), _row()
    parts = [[nothing], [row], [nothing, nothing]]
    data = joined([orc_file(table(part), "zlib") for part in parts])
    of_one = orc_file(table([row for part in parts for row in part]), "zlib")[1]
    assert statistics(tail_of(data)) == statistics(of_one)


def _row() -> tuple[Any, ...]:
    moment = datetime(2020, 2, 29, 12, 34, 56, 789_123)
    return (
        *(5, -1, 1.5, -0.25, "ü", b"\x00\xff", True, Decimal("1.500"), date(2020, 2, 29), moment),
        *([1, 2], [("k", 1)]),
    )


def test_what_has_no_room_is_not_told() -> None:
    """A sum beyond 64 bits, or 38 digits, is left out; the range stays."""
    great = ColumnStatistics(numberOfValues=1, hasNull=False)
    great.intStatistics.minimum = great.intStatistics.maximum = great.intStatistics.sum = 2**63 - 1
    whole = ColumnStatistics.FromString(merged([great.SerializeToString()] * 2))
    assert (whole.numberOfValues, whole.intStatistics.maximum) == (2, 2**63 - 1)
    assert not whole.intStatistics.HasField("sum")
    decimal = ColumnStatistics(numberOfValues=1)
    text = "9" * 38
    decimal.decimalStatistics.minimum = decimal.decimalStatistics.maximum = text
    decimal.decimalStatistics.sum = text
    whole = ColumnStatistics.FromString(merged([decimal.SerializeToString()] * 2))
    assert whole.decimalStatistics.minimum == text
    assert not whole.decimalStatistics.HasField("sum")


def test_what_one_part_does_not_tell() -> None:
    """A range is that of all values, or it is left out; a NaN in one part stays in the sum."""
    known, unknown = ColumnStatistics(numberOfValues=1), ColumnStatistics(numberOfValues=1)
    known.doubleStatistics.minimum = known.doubleStatistics.maximum = 1.0
    known.doubleStatistics.sum = 1.0
    unknown.doubleStatistics.sum = math.nan
    whole = ColumnStatistics.FromString(
        merged([known.SerializeToString(), unknown.SerializeToString()])
    )
    assert not whole.doubleStatistics.HasField("minimum")
    assert not whole.doubleStatistics.HasField("maximum")
    assert math.isnan(whole.doubleStatistics.sum)
    whole = ColumnStatistics.FromString(merged([known.SerializeToString(), b"\x08\x01"]))
    assert not whole.HasField("doubleStatistics")


def test_children_of_lists() -> None:
    """They are counted where every part has counted its own."""
    counted, uncounted = (ColumnStatistics(numberOfValues=2) for _ in range(2))
    counted.collectionStatistics.minChildren, counted.collectionStatistics.maxChildren = 1, 4
    counted.collectionStatistics.totalChildren = 5
    uncounted.collectionStatistics.totalChildren = 0
    parts = [counted.SerializeToString(), uncounted.SerializeToString()]
    of_whole = ColumnStatistics.FromString(merged([parts[0]] * 2)).collectionStatistics
    assert (of_whole.minChildren, of_whole.maxChildren, of_whole.totalChildren) == (1, 4, 10)
    of_whole = ColumnStatistics.FromString(merged(parts)).collectionStatistics
    assert not of_whole.ListFields()


def test_refuses_files_that_differ() -> None:
    """Other types or another codec are no file of the same rows."""
    first = orc_file(pa.table({"a": [1]}), "zlib")
    for other in (
        orc_file(pa.table({"a": ["x"]}), "zlib"),
        orc_file(pa.table({"a": [1]}), "lz4"),
    ):
        with pytest.raises(InternalError, match="cannot be joined"):
            joined([first, other])
    with pytest.raises(InternalError, match="nothing was added"):
        joined([])


def test_broken_statistics_are_damage() -> None:
    """They are named, not passed on."""
    data, tail = orc_file(pa.table({"a": [1]}), "zlib")
    broken = tail._replace(statistics=(b"\xff", *tail.statistics[1:]))
    with pytest.raises(FormatError, match="statistics"):
        joined([(data, tail), (data, broken)])
