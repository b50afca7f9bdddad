"""Functions of single values (``single_values``, ``values.caster``) over arrays, value by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar
from acidsql.catalog.types import HiveType, arrow_type
from acidsql.expressions.kernels.comparing import Values
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.values import UNKNOWN


def each(
    function: Callable[..., Any], hive_type: HiveType, *arguments: Values, nulls: bool = False
) -> Values:
    """``function`` of each row's values; NULL as soon as one is, unless the function takes
    ``nulls``.
    """
    kind = arrow_type(hive_type)
    arrays = [a for a in arguments if not isinstance(a, pa.Scalar)]
    if not arrays:
        return arrow_scalar(_one(function, [a.as_py() for a in arguments], nulls), kind)
    length = len(arrays[0])
    columns = [
        [a.as_py()] * length if isinstance(a, pa.Scalar) else a.to_pylist() for a in arguments
    ]
    if len(columns) == 1 and not nulls:
        return arrow_array([_one(function, (value,), False) for value in columns[0]], kind)
    return arrow_array([_one(function, row, nulls) for row in zip(*columns, strict=True)], kind)


def completed(
    function: Callable[[Any], Any],
    hive_type: HiveType,
    values: pa.Array,
    quick: pa.Array,
    sure: Any,
) -> pa.Array:
    """``quick`` where it is ``sure``, a mask in NumPy, and else ``function`` of each value."""
    rest = arrow_array(~sure)
    if sure.all():
        return quick
    others = each(function, hive_type, values.filter(rest))
    return pc.replace_with_mask(quick, rest, others)


def _one(function: Callable[..., Any], row: Any, nulls: bool) -> Any:
    if not nulls and any(value is None for value in row):
        return None
    value = function(*row)
    if value is UNKNOWN:
        raise NotHere("a value that only Spark computes")
    return value
