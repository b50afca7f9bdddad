"""Row groups that are read by themselves, against the whole stripe as Arrow reads it."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.acid.orc_tail import OrcTail, read_tail
from acidsql.acid.orc_types import column_numbers
from acidsql.files.local_files import LOCAL
from acidsql.storage.footers import read_footer
from acidsql.storage.scan.stripe_reader import RowGroups, few_groups

ROWS, STRIDE = 12_000, 500
"""Enough for columns of several compressed chunks of the least size."""

LEFT = frozenset("z")
"""Columns that are left to the whole stripe: times."""


def numbers(seed: int, bits: int) -> np.ndarray[Any, Any]:
    """Whole numbers of so many bits, in stretches that each way of packing them is the best for."""
    random = np.random.default_rng(seed)
    most = (1 << (bits - 1)) - 1
    stretches: list[np.ndarray[Any, Any]] = []
    while sum(map(len, stretches)) < ROWS:
        size = int(random.integers(1, 700))
        match int(random.integers(5)):
            case 0:
                stretch = np.full(size, random.integers(-most, most))
            case 1:
                stretch = random.integers(-20, 20) + np.arange(size) * random.integers(-3, 4)
            case 2:
                stretch = random.integers(0, 50, size)
            case 3:  # few outliers among small ones
                stretch = np.where(random.random(size) < 0.03, most, random.integers(0, 9, size))
            case _:
                stretch = random.integers(-most, most, size)
        stretches.append(np.clip(stretch, -most, most))
    return np.concatenate(stretches)[:ROWS].astype(np.int64)


def table(seed: int, nulls: float) -> pa.Table:
    random = np.random.default_rng(seed)
    small, wide = numbers(seed, 16), numbers(seed + 1, 60)
    texts = [f"é{value}" * (value % 8) for value in small.tolist()]
    columns: dict[str, tuple[list[Any], pa.DataType]] = {
        "t": (np.clip(small, -128, 127).tolist(), pa.int8()),
        "s": (small.tolist(), pa.int16()),
        "i": (numbers(seed + 2, 31).tolist(), pa.int32()),
        "b": (wide.tolist(), pa.int64()),
        "f": (random.random(ROWS).tolist(), pa.float32()),
        "d": (random.random(ROWS).tolist(), pa.float64()),
        "m": ([Decimal(v).scaleb(-2) for v in small.tolist()], pa.decimal128(9, 2)),
        "w": ([Decimal(v).scaleb(-10) for v in wide.tolist()], pa.decimal128(38, 10)),
        "x": (texts, pa.string()),
        "k": ([text[:2] for text in texts], pa.string()),
        "r": ([text.encode() for text in texts], pa.binary()),
        "o": ((small % 7 > 2).tolist(), pa.bool_()),
        "y": ([dt.date(2000, 1, 1) + dt.timedelta(v) for v in small.tolist()], pa.date32()),
        "z": ([dt.datetime(2000, 1, 1)] * ROWS, pa.timestamp("ns")),
    }
    arrays = []
    for values, kind in columns.values():
        # NULLs come in stretches of any length
        missing = np.repeat(random.random(ROWS), random.integers(1, 400, ROWS))[:ROWS] < nulls
        arrays.append(pa.array(values, kind, mask=missing))
    return pa.Table.from_arrays(arrays, names=list(columns))


def groups_of(data: bytes, tail: OrcTail, rows: list[int]) -> RowGroups | None:
    wanted = np.zeros(tail.row_count, np.bool_)
    wanted[rows] = True
    return few_groups(pa.BufferReader(data), tail, 0, wanted)


@given(
    seed=st.integers(0, 1 << 20),
    nulls=st.sampled_from((0.0, 0.01, 0.3, 1.0)),
    codec=st.sampled_from(("uncompressed", "zlib", "snappy", "lz4")),
    block=st.sampled_from((1 << 16, 1 << 17, 1 << 18)),
    dictionary=st.sampled_from((0.0, 1.0)),
    rows=st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=3),
)
@settings(max_examples=25)
def test_a_row_group_has_the_rows_of_its_stripe(
    seed: int, nulls: float, codec: str, block: int, dictionary: float, rows: list[int]
) -> None:
    """Of each type, however its values are packed and wherever chunks and runs are cut."""
    whole = table(seed, nulls)
    sink = io.BytesIO()
    orc.write_table(
        whole,
        sink,
        compression=codec,
        compression_block_size=block,
        row_index_stride=STRIDE,
        dictionary_key_size_threshold=dictionary,
    )
    data = sink.getvalue()
    tail = read_tail(data, len(data), "f")
    assert tail.schema is not None
    stripe = orc.ORCFile(pa.BufferReader(data)).read_stripe(0)
    groups = groups_of(data, tail, rows)
    assert groups is not None
    assert {row // STRIDE for row in rows} == set(groups.groups)
    found = groups.columns(
        list(zip(column_numbers(tail.schema, in_events=False), tail.schema.children, strict=True)),
        in_events=False,
    )
    for name, array, column in zip(whole.column_names, found, stripe.columns, strict=True):
        if array is None:
            assert name in LEFT
        else:
            assert not array.offset
            assert array.equals(groups.cut(column)), name


def test_many_rows_are_read_with_their_stripe() -> None:
    """Rows in more than an eighth of its groups."""
    sink = io.BytesIO()
    orc.write_table(table(1, 0.0), sink, row_index_stride=STRIDE)
    data = sink.getvalue()
    tail = read_tail(data, len(data), "f")
    assert groups_of(data, tail, list(range(3 * STRIDE))) is not None
    assert groups_of(data, tail, list(range(4 * STRIDE))) is None


@pytest.mark.spark
@pytest.mark.parametrize("codec", ["zlib", "snappy", "none"])
def test_a_row_group_of_javas(tmp_path: Path, spark: Any, codec: str) -> None:
    """Java cuts its runs and chunks elsewhere than Arrow."""
    spark.sql(
        "SELECT id AS b, CAST(id % 50 AS INT) AS i, CAST(id AS DECIMAL(15,2)) / 7 AS m, id / 100 AS d,"
        " date_add(DATE '1992-01-01', CAST(id % 2500 AS INT)) AS y, substr('ABCDEF', 1 + id % 6, 1) AS k,"
        " IF(id % 11 < 4, NULL, concat('number ', id * 7919 % 1000003)) AS x, id % 3 = 0 AS o,"
        " IF(id > 30000, NULL, hash(id)) AS h, CAST(id % 100 AS TINYINT) AS t FROM range(0, 100000, 1, 1)"
    ).write.option("compression", codec).orc(f"{tmp_path}/f")
    [path] = tmp_path.glob("f/*.orc")
    tail, data = read_footer(LOCAL, str(path)), path.read_bytes()
    assert tail.schema is not None
    stripe = orc.ORCFile(pa.BufferReader(data)).read_stripe(0)
    numbered = list(
        zip(column_numbers(tail.schema, in_events=False), tail.schema.children, strict=True)
    )
    for row in range(0, len(stripe), 10_000):
        groups = groups_of(data, tail, [row])
        assert groups is not None
        found = groups.columns(numbered, in_events=False)
        for name, array, column in zip(stripe.schema.names, found, stripe.columns, strict=True):
            assert array is not None, name
            assert array.equals(groups.cut(column)), name
