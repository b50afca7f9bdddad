"""DOUBLEs as decimal digits: what is plainly above or below the middle of two results is rounded in
binary, the rest digit by digit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.types import DecimalType, HiveType
from acidsql.expressions.kernels.comparing import Values, numbers_of
from acidsql.expressions.kernels.decimals import fitted
from acidsql.expressions.kernels.rowwise import completed, each
from acidsql.expressions.values import DOUBLE

_LARGEST = 1e9
"""Up to here the error of a product is far below _DOUBT."""
_DOUBT = 1e-5
_MOST_DIGITS = 15


def round_double(behind: int, rowwise: Callable[[Any], Any], values: Values) -> Values:
    """ROUND to ``behind`` digits behind the point."""
    if isinstance(values, pa.Scalar) or abs(behind) > _MOST_DIGITS:
        return each(rowwise, DOUBLE, values)
    numbers, absent = numbers_of(values)
    whole, sure = _whole(numbers, behind)
    power = 10.0 ** abs(behind)
    result = whole / power if behind >= 0 else whole * power
    quick = arrow_array(result, pa.float64(), mask=absent)
    return completed(rowwise, DOUBLE, values, quick, sure | absent)


def double_to_decimal(
    target: DecimalType, strict: bool, rowwise: Callable[[Any], Any], values: Values
) -> Values:
    if isinstance(values, pa.Scalar) or target.scale > _MOST_DIGITS:
        return each(rowwise, target, values)
    numbers, absent = numbers_of(values)
    whole, sure = _whole(numbers, target.scale)
    digits = arrow_array(whole.astype(np.int64), mask=absent | ~sure).cast(pa.decimal128(38, 0))
    scaled = digits.view(pa.decimal128(38, target.scale))
    kind: HiveType = target
    return completed(rowwise, kind, values, fitted(target, strict, scaled), sure | absent)


def _whole(numbers: Any, behind: int) -> tuple[Any, Any]:
    """The numbers times a power of ten, rounded half up, and where that is sure; no zero has a
    sign.
    """
    power = 10.0 ** abs(behind)
    with np.errstate(all="ignore"):
        scaled = np.abs(numbers * power if behind >= 0 else numbers / power)
        below = np.floor(scaled)
        sure = (scaled < _LARGEST) & (np.abs(scaled - below - 0.5) > _DOUBT)
        whole = np.where(sure, np.copysign(np.floor(scaled + 0.5), numbers), 0.0)
    return whole + 0.0, sure
