"""Arrow values on their way in and out: columns of a batch, constants, results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, arrow_scalar, filled, numpy_array
from acidsql.catalog.arrow_types import arrow_type
from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.expressions.not_here import NotHere

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
