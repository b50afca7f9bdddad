"""Comparisons, the logic of true, false and NULL, and values by condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.types import HiveType, PrimitiveType, arrow_type
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.vectors.operators import Vector

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


# ---- Arrow values on their way in and out


Values = Any
"""An Array or a Scalar."""

FAILURES = (pa.ArrowException, ArithmeticError, ValueError, TypeError)
"""What Arrow and Python say of values they cannot hold or compute."""


def column(batch: pa.RecordBatch, name: str, hive_type: HiveType) -> pa.Array:
    """A column as values of its type: a timestamp with a zone is a wall clock in UTC."""
    array = batch.column(name)
    wanted = arrow_type(hive_type)
    if array.type == wanted or not isinstance(hive_type, PrimitiveType):
        return array if array.type == wanted else array.cast(wanted)
    return array.cast(wanted)


def scalar(value: Any, hive_type: HiveType) -> pa.Scalar:
    return arrow_scalar(value, arrow_type(hive_type))


def nulls_like(values: Values, hive_type: HiveType) -> Values:
    """NULL of a type, as often as there are values."""
    wanted = arrow_type(hive_type)
    if isinstance(values, pa.Scalar):
        return arrow_scalar(None, wanted)
    return pa.nulls(len(values), wanted)


def result(
    evaluate: Callable[[pa.RecordBatch], Values], batch: pa.RecordBatch, hive_type: HiveType
) -> pa.Array:
    """One value for each row of a batch. NotHere, also for what Arrow refuses."""
    try:
        values = evaluate(batch)
    except FAILURES as error:
        raise NotHere(str(error)) from error
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Scalar):
        wanted = arrow_type(hive_type)
        if not values.is_valid:
            return pa.nulls(batch.num_rows, wanted)
        return pa.repeat(values, batch.num_rows)
    return values


def certain(verdict: Values) -> None:
    """NotHere where a verdict is false of any value; NULL is not."""
    if isinstance(verdict, pa.Scalar):
        holds = verdict.as_py() is not False
    else:
        holds = pc.all(verdict, min_count=0).as_py() is not False
    if not holds:
        raise NotHere("a value that only Spark computes")


def where(condition: Values, values: Values) -> Values:
    """NULL where the condition is not true."""
    return pc.if_else(filled(condition, False), values, arrow_scalar(None, values.type))


def numbers_of(values: Values) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The numbers of an array or Scalar, any where it is NULL, and where it is."""
    array = arrow_array([values.as_py()], values.type) if isinstance(values, pa.Scalar) else values
    absent = numpy_array(array.is_null())
    if array.null_count:
        array = filled(array, False if pa.types.is_boolean(array.type) else 0)
    return numpy_array(array), absent


def from_numbers(
    numbers: np.ndarray[Any, Any], absent: np.ndarray[Any, Any], like: Values, kind: pa.DataType
) -> Values:
    """The way back from ``numbers_of``: a Scalar where ``like`` is one."""
    array = arrow_array(numbers, kind, mask=absent)
    return array[0] if isinstance(like, pa.Scalar) else array


# ---- values by condition
#
# Values by condition.


Branch = tuple[Vector, Vector]
"""A condition and the value where it is true."""


def case(branches: Sequence[Branch], otherwise: Vector, batch: pa.RecordBatch) -> Values:
    """The value of the first condition that is true. All are computed for all rows; if that fails
    each only for the rows that come to it, as in Spark.
    """
    try:
        values = otherwise.evaluate(batch)
        for condition, value in reversed(branches):
            holds = filled(condition.evaluate(batch), False)
            values = pc.if_else(holds, value.evaluate(batch), values)
        return values
    except (*FAILURES, NotHere):
        return _by_rows(branches, otherwise, batch)


def _by_rows(branches: Sequence[Branch], otherwise: Vector, batch: pa.RecordBatch) -> Values:
    rest = np.arange(batch.num_rows)
    rows, values = [], []
    for condition, value in branches:
        holds = filled(condition.run(batch.take(arrow_array(rest))), False)
        mask = numpy_array(holds)
        rows.append(rest[mask])
        values.append(_run(value, batch, rest[mask]))
        rest = rest[~mask]
    rows.append(rest)
    values.append(_run(otherwise, batch, rest))
    order = np.argsort(np.concatenate(rows), kind="stable")
    return pa.concat_arrays(values).take(arrow_array(order))


def _run(value: Vector, batch: pa.RecordBatch, rows: Any) -> pa.Array:
    if not len(rows):
        return pa.nulls(0, arrow_type(value.type))
    return value.run(batch.take(arrow_array(rows)))


def first_value(*values: Values) -> Values:
    """COALESCE."""
    return pc.coalesce(*values)
