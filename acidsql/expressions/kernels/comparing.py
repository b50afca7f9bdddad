"""Comparisons and the logic of true, false and NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled
from acidsql.expressions.kernels.arrays import Values, certain

_SIGNS: dict[str, Callable[[Values, Values], Values]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

_TWO_DAYS = 2 * 86_400_000_000
"""In microseconds."""


def compare(sign: str, left: Values, right: Values) -> Values:
    """Two values of one type; NaN is equal to itself and above all other numbers."""
    if not pa.types.is_floating(left.type):
        return _SIGNS[sign](left, right)
    if sign in (">", ">="):
        sign, left, right = {">": "<", ">=": "<="}[sign], right, left
    plain = _SIGNS[sign](left, right)
    first, second = pc.is_nan(left), pc.is_nan(right)
    match sign:
        case "=":
            return pc.or_(plain, pc.and_(first, second))
        case "<>":
            return pc.and_(plain, pc.invert(pc.and_(first, second)))
        case "<":
            return pc.or_(plain, pc.and_(second, pc.invert(first)))
    return pc.or_(plain, second)


def compare_clocks(sign: str, left: Values, right: Values) -> Values:
    """Two moments of which the wall clocks are known, and not the zone: they may be one where the
    clocks differ by less than two days. NotHere for such.
    """
    between = pc.abs(pc.subtract(pc.cast(left, pa.int64()), pc.cast(right, pa.int64())))
    certain(pc.or_(pc.equal(between, 0), pc.greater(between, _TWO_DAYS)))
    return null_safe_equal(left, right) if sign == "<=>" else compare(sign, left, right)


def null_safe_equal(left: Values, right: Values) -> Values:
    absent = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(filled(compare("=", left, right), False), absent)


def conjunction(*values: Values) -> Values:
    return reduce(pc.and_kleene, values)


def disjunction(*values: Values) -> Values:
    return reduce(pc.or_kleene, values)


def negation(values: Values) -> Values:
    return pc.invert(values)


def is_null(values: Values) -> Values:
    return pc.is_null(values)


def is_not_null(values: Values) -> Values:
    return pc.is_valid(values)


def is_truth(truth: bool, values: Values) -> Values:
    return filled(values if truth else pc.invert(values), False)


def contained(constants: Sequence[pa.Scalar], values: Values) -> Values:
    """IN a list of constants."""
    known = arrow_array([one.as_py() for one in constants if one.is_valid], values.type)
    if isinstance(values, pa.Scalar):
        return contained(constants, arrow_array([values.as_py()], values.type))[0]
    held = pc.is_in(values, value_set=known)
    unknown: Any = pc.is_null(values)
    if len(known) < len(constants):
        unknown = pc.or_(unknown, pc.invert(held))
    return pc.if_else(unknown, arrow_scalar(None, pa.bool_()), held)
