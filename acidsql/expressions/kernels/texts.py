"""Functions of text; characters are code points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_scalar
from acidsql.expressions.kernels.comparing import Values, nulls_like
from acidsql.expressions.kernels.rowwise import each
from acidsql.expressions.values import STRING


def cut(length: int, values: Values) -> Values:
    """The first characters."""
    return pc.utf8_slice_codeunits(values, 0, length)


def cut_char(length: int, values: Values) -> Values:
    return pc.utf8_rtrim(cut(length, values), " ")


def upper(rowwise: Callable[[str], Any], values: Values) -> Values:
    return _by_case(pc.ascii_upper, rowwise, values)


def lower(rowwise: Callable[[str], Any], values: Values) -> Values:
    return _by_case(pc.ascii_lower, rowwise, values)


def _by_case(kernel: Callable[[Values], Values], rowwise: Any, values: Values) -> Values:
    ascii_only = pc.string_is_ascii(values)
    if isinstance(values, pa.Scalar):
        plain = ascii_only.as_py() is not False
    else:
        plain = pc.all(ascii_only, min_count=0).as_py() is not False
    return kernel(values) if plain else each(rowwise, STRING, values)


def length(values: Values) -> Values:
    return pc.cast(pc.utf8_length(values), pa.int32())


def byte_length(values: Values) -> Values:
    return pc.cast(pc.binary_length(values), pa.int32())


def slice_from(position: int, count: int | None, values: Values) -> Values:
    """SUBSTRING from a constant position above zero."""
    start = position - 1
    stop = None if count is None else start + max(count, 0)
    return pc.utf8_slice_codeunits(values, start, stop)


def trim(values: Values) -> Values:
    return pc.utf8_trim(values, " ")


def left_trim(values: Values) -> Values:
    return pc.utf8_ltrim(values, " ")


def right_trim(values: Values) -> Values:
    return pc.utf8_rtrim(values, " ")


def reverse(values: Values) -> Values:
    return pc.utf8_reverse(values)


def concat(*values: Values) -> Values:
    if len(values) == 1:
        return values[0]
    return pc.binary_join_element_wise(*values, arrow_scalar("", values[0].type))


def concat_with(separator: Values, *values: Values) -> Values:
    """CONCAT_WS, which leaves NULLs out. (Arrow's own way to skip a NULL loses rows: found with
    version 26.)
    """
    if not values or not isinstance(separator, pa.Scalar):
        return each(_joined, STRING, separator, *values, nulls=True)
    if not separator.is_valid:
        return nulls_like(values[0], STRING)
    empty = arrow_scalar("", pa.string())
    parts = [
        pc.if_else(pc.is_valid(v), pc.binary_join_element_wise(separator, v, empty), empty)
        for v in values
    ]
    return pc.utf8_slice_codeunits(concat(*parts), len(separator.as_py()))


def _joined(separator: str | None, *values: str | None) -> str | None:
    return None if separator is None else separator.join(v for v in values if v is not None)


def replace(search: str, replacement: str, values: Values) -> Values:
    """REPLACE with constants; ``search`` is not empty."""
    return pc.replace_substring(values, search, replacement)


def contains(part: str, values: Values) -> Values:
    return pc.match_substring(values, part)


def starts_with(part: str, values: Values) -> Values:
    return pc.starts_with(values, part)


def ends_with(part: str, values: Values) -> Values:
    return pc.ends_with(values, part)


def like(pattern: str, values: Values) -> Values:
    return pc.match_like(values, pattern)


def padded(left: bool, count: int, pad: str, values: Values) -> Values:
    """LPAD and RPAD to a constant length by one character."""
    kernel = partial(pc.utf8_lpad if left else pc.utf8_rpad, width=count, padding=pad)
    return cut(count, kernel(values))
