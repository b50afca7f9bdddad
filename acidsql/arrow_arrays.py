"""Arrow arrays of Python's and numpy's values, and back, made without pandas.

``pa.array`` and ``pa.scalar`` ask of whatever they are given whether it is a pandas object, and
import pandas for that, as ``to_numpy`` does: a quarter of a second in a process that never has
one. Here the buffers are laid out by hand for the values of Hive's simple types; any other value or
type, and any that does not fit, goes to pyarrow, whose answer or error it then is.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)


class _UnlikeError(Exception):
    """A value is not what its type is made of here."""


def arrow_array(
    values: Sequence[Any] | np.ndarray[Any, Any], kind: Any = None, *, mask: Any = None
) -> pa.Array:
    """The array that ``pa.array(values, kind, mask=mask)`` gives. None is NULL, and so is what a
    ``mask`` of numpy's, which goes with an array of numpy's, holds True for.
    """
    # Booleans are packed here in a tenth of pyarrow's time.
    if "pandas" not in sys.modules or getattr(values, "dtype", None) == np.bool_:
        try:
            if isinstance(values, np.ndarray):
                if values.ndim == 1 and values.dtype.kind in "biuf":
                    return _of_numbers(values, kind, mask)
            elif kind is not None and mask is None and type(values) in (list, tuple):
                return _of_values(values, kind)
        except (_UnlikeError, OverflowError, UnicodeEncodeError):
            pass
    return pa.array(values, kind, mask=mask)


def arrow_scalar(value: Any, kind: Any = None) -> pa.Scalar:
    """The scalar that ``pa.scalar(value, kind)`` gives. None is NULL."""
    if kind is not None and "pandas" not in sys.modules:
        with suppress(_UnlikeError, OverflowError, UnicodeEncodeError):
            return pa.nulls(1, kind)[0] if value is None else _of_values([value], kind)[0]
    return pa.scalar(value, kind)


def with_offsets(array: pa.Array) -> pa.Array:
    """An array whose lists and maps have the offsets that pyarrow's ``nbytes`` reads: Java may send
    none where there are no lists, and then the process ends there.
    """
    if not pa.types.is_nested(array.type):
        return array
    if all(buffer is None or buffer.size for buffer in array.buffers()):
        return array
    return pa.concat_arrays([array, pa.nulls(0, array.type)])


def filled(values: Any, value: bool | int) -> Any:
    """An array, a chunked one or a scalar with ``value`` for NULL, of the type that it had."""
    if pa.types.is_floating(values.type):
        return pc.fill_null(values, arrow_scalar(float(value), values.type))
    return pc.fill_null(values, arrow_scalar(value, values.type))


def numpy_array(values: pa.Array | pa.ChunkedArray) -> Any:
    """The array that ``values.to_numpy(zero_copy_only=False)`` gives; it may share Arrow's memory
    and must not be written to.
    """
    if isinstance(values, pa.ChunkedArray):
        chunks = values.chunks
        if len(chunks) == 1:
            return numpy_array(chunks[0])
        if "pandas" not in sys.modules and chunks and not values.null_count:
            return np.concatenate([numpy_array(chunk) for chunk in chunks])
        return values.to_numpy()
    if "pandas" not in sys.modules and not values.null_count:
        if pa.types.is_boolean(values.type):
            return np.from_dlpack(values.cast(pa.uint8())).astype(np.bool_)
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            return np.from_dlpack(values)
    return values.to_numpy(zero_copy_only=False)


def _of_numbers(values: np.ndarray[Any, Any], kind: Any, mask: Any) -> pa.Array:
    own = pa.from_numpy_dtype(values.dtype)
    array = _of_buffers(own, len(values), None if mask is None else ~mask, values)
    if kind in (None, own):
        return array
    if pa.types.is_integer(own) and pa.types.is_integer(kind):
        with suppress(pa.ArrowInvalid):
            return array.cast(kind)
    raise _UnlikeError


def _of_values(values: Sequence[Any], kind: Any) -> pa.Array:
    valid = np.array([value is not None for value in values], bool)
    present = valid if not valid.all() else None
    if pa.types.is_string(kind):
        return _of_bytes(kind, [_exact(value, str, "").encode() for value in values], present)
    if pa.types.is_binary(kind):
        return _of_bytes(kind, [_exact(value, bytes, b"") for value in values], present)
    if pa.types.is_decimal128(kind):
        unscaled = b"".join(_unscaled(value, kind) for value in values)
        return _of_buffers(kind, len(values), present, np.frombuffer(unscaled, np.uint8))
    dtype, number = _number(kind)
    numbers = [0 if value is None else number(value) for value in values]
    return _of_buffers(kind, len(values), present, np.array(numbers, dtype))


def _number(kind: Any) -> tuple[Any, Callable[[Any], Any]]:
    """How a type of fixed width is stored, and the number that stands for a value."""
    if pa.types.is_signed_integer(kind):
        return kind.to_pandas_dtype(), lambda value: _exact(value, int, 0)
    if pa.types.is_float64(kind):
        return np.float64, lambda value: _exact(value, float, 0.0)
    if pa.types.is_boolean(kind):
        return np.bool_, lambda value: _exact(value, bool, False)
    if pa.types.is_date32(kind):
        return np.int32, lambda value: _exact(value, dt.date, _EPOCH).toordinal() - _EPOCH_DAY
    if pa.types.is_timestamp(kind) and kind.tz is None and kind.unit in ("us", "ns"):
        factor = 1 if kind.unit == "us" else 1000
        return np.int64, lambda value: _microseconds(value) * factor
    raise _UnlikeError


def _exact(value: Any, kind: type, null: Any) -> Any:
    """The value, or what is stored for NULL; none of a subclass, which may mean another thing."""
    if value is None:
        return null
    if type(value) is not kind:
        raise _UnlikeError
    return value


def _microseconds(value: Any) -> int:
    moment: dt.datetime = _exact(value, dt.datetime, _EPOCH)
    if moment.tzinfo is not None:
        raise _UnlikeError
    return (moment - _EPOCH) // _MICROSECOND


def _unscaled(value: Any, kind: Any) -> bytes:
    """Sixteen bytes of a decimal: its digits, shifted by its type's scale."""
    sign, digits, exponent = _exact(value, Decimal, Decimal(0)).as_tuple()
    shift = exponent + kind.scale if isinstance(exponent, int) else -1
    if shift < 0 or len(digits) + shift > kind.precision:
        raise _UnlikeError
    number = int("".join(map(str, digits)) or "0") * 10**shift
    signed: int = -number if sign else number
    return signed.to_bytes(16, "little", signed=True)


def _of_bytes(kind: Any, items: list[bytes], present: Any) -> pa.Array:
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise _UnlikeError
    data = pa.py_buffer(b"".join(items))
    buffers = [_bitmap(present), pa.py_buffer(offsets.astype(np.int32)), data]
    return pa.Array.from_buffers(kind, len(items), buffers)


def _of_buffers(kind: Any, length: int, present: Any, stored: Any) -> pa.Array:
    data = _bitmap(stored) if stored.dtype == np.bool_ else pa.py_buffer(_contiguous(stored))
    return pa.Array.from_buffers(kind, length, [_bitmap(present), data])


def _contiguous(stored: Any) -> Any:
    """The array itself where Arrow can read its memory, as ``pa.array`` shares it, else a copy."""
    native = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native)


def _bitmap(bits: Any) -> Any:
    return None if bits is None else pa.py_buffer(np.packbits(bits, bitorder="little"))


def row_of_nothing() -> pa.RecordBatch:
    """One row without a value: what an expression over no column is computed for."""
    return pa.RecordBatch.from_arrays([arrow_array([0], pa.int8())], names=["none"])
