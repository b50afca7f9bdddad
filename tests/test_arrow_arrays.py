"""Arrow arrays that are laid out by hand are those of pyarrow."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql import arrow_arrays
from acidsql.arrow_arrays import arrow_array, arrow_scalar, numpy_array, with_offsets

KINDS: dict[Any, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-130, 130),
    pa.int16(): st.integers(-33_000, 33_000),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63) - 2, 2**63 + 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats() | st.integers(-9, 9),
    pa.bool_(): st.booleans() | st.integers(0, 1),
    pa.string(): st.text() | st.sampled_from(["\ud800", "\x00"]),
    pa.binary(): st.binary() | st.text(max_size=3),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ns"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.UTC)),
    pa.decimal128(10, 2): st.decimals(allow_nan=False, allow_infinity=False),
    pa.decimal128(38, 18): st.decimals(min_value=-(10**19), max_value=10**19, places=18),
    pa.list_(pa.int32()): st.lists(st.integers(0, 9)),
}


def _outcome(act: Any) -> Any:
    try:
        array = act()
        array.validate(full=True)
        return array.type, [repr(value) for value in array.to_pylist()]
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_values_are_as_pyarrow_makes_them(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """For values of every type, NULLs and values that do not fit: the same array or error."""
    monkeypatch.setattr(arrow_arrays, "sys", _NoPandas)

    @given(st.lists(st.none() | KINDS[kind], max_size=20))
    def check(values: list[Any]) -> None:
        by_hand = _outcome(lambda: arrow_array(values, kind))
        assert by_hand == _outcome(lambda: pa.array(values, kind))

    check()


class _NoPandas:
    modules: tuple[str, ...] = ()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float64", "bool", ">i4"])
def test_numpys_arrays_are_as_pyarrow_makes_them(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole arrays and slices of every second value."""
    monkeypatch.setattr(arrow_arrays, "sys", _NoPandas)
    whole = (np.arange(20) % 7).astype(dtype)
    for values in (whole, whole[::2], whole[3:4], whole[:0]):
        expected = pa.array(values.astype(values.dtype.newbyteorder("=")))
        assert arrow_array(values).equals(expected)


@pytest.mark.parametrize("kind", [None, pa.int32(), pa.int64()])
def test_masked_arrays_are_as_pyarrow_makes_them(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the mask holds True for is NULL; a value that does not fit is the same error."""
    monkeypatch.setattr(arrow_arrays, "sys", _NoPandas)
    mask = np.arange(20) % 3 == 0
    for values in (np.arange(20) - 5, np.where(mask, 2**40, 7), np.arange(20) << 40):
        by_hand = _outcome(lambda values=values: arrow_array(values, kind, mask=mask))
        assert by_hand == _outcome(lambda values=values: pa.array(values, kind, mask=mask))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_scalars_and_numpys_arrays_are_as_pyarrow_makes_them(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value to a scalar, an array and a chunked one to numpy: the same, or the same error."""
    monkeypatch.setattr(arrow_arrays, "sys", _NoPandas)

    @given(st.lists(st.none() | KINDS[kind], max_size=9))
    def check(values: list[Any]) -> None:
        for value in values:
            by_hand = _outcome(lambda value=value: _as_array(arrow_scalar(value, kind)))
            assert by_hand == _outcome(lambda value=value: _as_array(pa.scalar(value, kind)))
        try:
            array = pa.array(values, kind)
        except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
            return
        for whole in (array, array[1:], pa.chunked_array([array, array[1:]]), array[:0]):
            ours, theirs = numpy_array(whole), _to_numpy(whole)
            assert (ours.dtype, repr(ours.tolist())) == (theirs.dtype, repr(theirs.tolist()))

    check()


def _as_array(scalar: pa.Scalar) -> pa.Array:
    return pa.repeat(scalar, 2)


def _to_numpy(values: pa.Array | pa.ChunkedArray) -> np.ndarray[Any, Any]:
    return np.asarray(
        values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(False)
    )


def test_pandas_stays_out() -> None:
    """The values of Hive's simple types bring no pandas in, either way."""
    code = """
import datetime as dt, decimal, json, sys, numpy as np, pyarrow as pa
from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
for value, kind in [(1, pa.int64()), ("a", pa.string()), (dt.date(2024, 1, 1), pa.date32()),
        (decimal.Decimal("1.5"), pa.decimal128(9, 2)), (1.5, pa.float64()), (True, pa.bool_())]:
    arrow_array([value, None], kind)
    arrow_scalar(value, kind)
    arrow_scalar(None, kind)
for numbers in (np.arange(3), np.arange(3) > 1, np.arange(3) / 2):
    numpy_array(arrow_array(numbers))
    arrow_array(numbers, mask=numbers > 1)
filled(arrow_array([None], pa.int64()), 0)
filled(arrow_array([None], pa.float64()), 0)
filled(arrow_array([None], pa.bool_()), False)
numpy_array(pa.chunked_array([arrow_array(np.arange(3))] * 2))
print(json.dumps("pandas" in sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(ran.stdout) is False


def test_a_decimal_keeps_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest decimals, both signs."""
    monkeypatch.setattr(arrow_arrays, "sys", _NoPandas)
    widest = Decimal("9" * 38)
    assert arrow_array([widest, widest.copy_negate(), None], pa.decimal128(38, 0)).to_pylist() == [
        widest, widest.copy_negate(), None
    ]  # fmt: skip


def _none_of(kind: pa.DataType) -> pa.Array:
    """No lists or no maps, and no offsets, as Java sends them."""
    inner = kind.value_type if pa.types.is_list(kind) else kind.field(0).type
    return pa.Array.from_buffers(kind, 0, [None, pa.py_buffer(b"")], children=[pa.nulls(0, inner)])


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.map_(pa.int32(), pa.string())])
def test_lists_without_offsets_get_some(kind: pa.DataType) -> None:
    """No lists, at the top, in lists and in structs: the same values, whose bytes can be counted."""
    lists = _none_of(kind)
    in_lists = pa.ListArray.from_arrays(pa.array([0, 0], pa.int32()), lists)
    in_struct = pa.StructArray.from_arrays([in_lists], ["a"])
    for array in (lists, in_lists, in_struct):
        innermost = with_offsets(array)
        assert innermost.equals(array)
        assert innermost.nbytes == (0 if array is lists else 4)
        while innermost.type != kind:
            innermost = innermost.values if pa.types.is_list(innermost.type) else innermost.field(0)
        assert innermost.buffers()[1].size == 4
