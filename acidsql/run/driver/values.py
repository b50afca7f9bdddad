"""Arrays of values as Spark groups and sorts them: NaN is equal to itself and greater than all
other numbers, -0.0 and 0.0 are one number, texts and bytes are compared by their unsigned bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array

if TYPE_CHECKING:
    import pyarrow as pa


def normalized(array: pa.Array) -> pa.Array:
    """The values with one NaN and one zero, so that equal ones have equal bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(array.type):
        return array
    zero, nan = arrow_scalar(0.0, array.type), arrow_scalar(float("nan"), array.type)
    one_zero = pc.if_else(pc.equal(array, zero), zero, array)
    return pc.if_else(pc.is_nan(one_zero), nan, one_zero)


def has_negative_zero(array: pa.Array) -> bool:
    """Whether -0.0 is among the values."""
    import pyarrow as pa

    if not pa.types.is_floating(array.type):
        return False
    values = numpy_array(array.drop_null())
    return bool(np.any((values == 0) & np.signbit(values)))


def sortable(array: pa.Array) -> pa.Array:
    """Values that Arrow orders as Spark orders these: whole numbers in place of floating ones."""
    import pyarrow as pa

    if not pa.types.is_floating(array.type):
        return array
    whole, bits = _whole(array.type)
    numbers = numpy_array(filled(normalized(array), 0)).view(whole)
    flipped = np.where(numbers < 0, numbers ^ np.array(bits, whole), numbers)
    mask = numpy_array(array.is_null()) if array.null_count else None
    return arrow_array(flipped, mask=mask)


def from_sortable(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The floating numbers of ``kind`` that ``sortable`` made whole ones of."""
    import pyarrow as pa

    if not pa.types.is_floating(kind):
        return array
    whole, bits = _whole(kind)
    numbers = numpy_array(filled(array, 0))
    values = np.where(numbers < 0, numbers ^ np.array(bits, whole), numbers).view(
        kind.to_pandas_dtype()
    )
    mask = numpy_array(array.is_null()) if array.null_count else None
    return arrow_array(values, kind, mask=mask)


def _whole(kind: pa.DataType) -> tuple[Any, int]:
    """The whole numbers of the same width, and all their bits but the sign's."""
    import pyarrow as pa

    if pa.types.is_float32(kind):
        return np.int32, (1 << 31) - 1
    return np.int64, (1 << 63) - 1


def whole_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column of a table in one piece."""
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
