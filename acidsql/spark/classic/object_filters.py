"""Filters whose constants are objects: the code Spark generates for them is the same whatever they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from acidsql.spark.classic.java import (
    CATALYST,
    TYPES,
    JavaObject,
    Jvm,
    class_object,
    integer,
    java_class,
    jvm,
    longs,
    none,
    remembered,
    scala_object,
    seq,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_COMPRESSED = "org.roaringbitmap.longlong.Roaring64Bitmap"
_PLAIN = "java.util.BitSet"
_MOST_BITS = 2**31 - 1
"""Of a BitSet: its places are ints."""
_BITS_OF_VALUE = 256
"""A plain bitmap may take so much memory for each of its values; a compressed one takes four times as long to answer."""


def position_in(spark: SparkSession, array: JavaObject, value: Column) -> Column:
    """``java.util.Arrays.binarySearch(array, value)``: where a bigint ``value`` stands in an ascending long[], negative if it does not.

    The array is an object of the plan and not text of the generated code, so that code is compiled once for all arrays.
    """
    door = cast(Any, jvm(spark))
    search = java_class(door, f"{CATALYST}.objects.StaticInvoke")(
        class_object(door, "java.util.Arrays"),
        scala_object(door, f"{TYPES}.IntegerType"),
        "binarySearch",
        seq(door, _literal(door, array, "[J"), _expression(door, value)),
        seq(door),
        False,  # propagate nulls: both arguments are known not to be null
        False,  # may return null
        True,  # deterministic
        none(door),
    )
    return _column(door, search)


def first_in_task(spark: SparkSession, key: Column, value: Column) -> Column:
    """The ``value`` (bigint) that came with the first row of this ``key`` (bigint) in the task; NULL for that row itself.

    Each task has a map of its own (``HashMap.putIfAbsent``), because it unpacks a plan of its own.
    """
    door = cast(Any, jvm(spark))
    known = _literal(door, java_class(door, "java.util.HashMap")(), "java.util.HashMap")
    bigint = scala_object(door, f"{TYPES}.LongType")
    arguments = (_expression(door, key), _expression(door, value))
    return _column(door, _invoke(door, known, "putIfAbsent", bigint, *arguments, may_be_null=True, counts_rows=True))


def sum_before(spark: SparkSession, value: Column) -> Column:
    """The sum of ``value`` (bigint, not null) over the rows of the task that came before this one. Each task has a sum of its own."""
    door = cast(Any, jvm(spark))
    kind = "java.util.concurrent.atomic.AtomicLongArray"  # of one: py4j would make an AtomicLong a number of Python's
    counter = _literal(door, java_class(door, kind)(1), kind)
    bigint = scala_object(door, f"{TYPES}.LongType")
    return _column(door, _invoke(door, counter, "getAndAdd", bigint, integer(door, 0), _expression(door, value), counts_rows=True))


def is_in_bitmap(spark: SparkSession, values: npt.NDArray[np.int64], value: Column) -> Column:
    """Whether a bigint ``value`` is one of ``values`` (ascending, none negative), by a bitmap that is sent once to each executor.

    The bitmap travels as a broadcast: the plan's own text would otherwise list every member of it, and every task carry a copy.
    """
    from pyspark.sql import functions as F

    door = cast(Any, jvm(spark))
    if len(values) and values[-1] < min(_MOST_BITS, _BITS_OF_VALUE * len(values)):
        bitmap = java_class(door, _PLAIN).valueOf(longs(spark, _words(values)))
        return F.when(value.between(0, _MOST_BITS), _asked(spark, bitmap, _PLAIN, "get", value.cast("int"))).otherwise(F.lit(False))
    bitmap = java_class(door, _COMPRESSED)()
    bitmap.add(longs(spark, values))
    bitmap.runOptimize()
    return _asked(spark, bitmap, _COMPRESSED, "contains", value)


def _asked(spark: SparkSession, bitmap: JavaObject, kind: str, method: str, value: Column) -> Column:
    door = cast(Any, jvm(spark))
    broadcast = cast(Any, spark.sparkContext._jsc).broadcast(bitmap)
    shipped = _literal(door, broadcast, "org.apache.spark.broadcast.Broadcast")
    opened = _invoke(door, shipped, "value", java_class(door, f"{TYPES}.ObjectType")(class_object(door, kind)))
    boolean = scala_object(door, f"{TYPES}.BooleanType")
    return _column(door, _invoke(door, opened, method, boolean, _expression(door, value)))


def _words(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bits of a BitSet that holds the ``values``, which ascend."""
    places = values >> 6
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    words = np.zeros(int(places[-1]) + 1, np.int64)
    words[places[starts]] = np.bitwise_or.reduceat(np.left_shift(np.int64(1), values & 63), starts)
    return words


def _literal(door: Jvm, value: JavaObject, class_name: str) -> JavaObject:
    kind = remembered(door, f"type {class_name}", lambda: java_class(door, f"{TYPES}.ObjectType")(class_object(door, class_name)))
    return java_class(door, f"{CATALYST}.Literal")(value, kind)


def _invoke(
    door: Jvm,
    target: JavaObject,
    method: str,
    returns: JavaObject,
    *arguments: JavaObject,
    may_be_null: bool = False,
    counts_rows: bool = False,
) -> JavaObject:
    """``counts_rows``: the answer depends on the rows before. No argument is null."""
    invoke = java_class(door, f"{CATALYST}.objects.Invoke")
    return invoke(target, method, returns, seq(door, *arguments), seq(door), False, may_be_null, not counts_rows)


def _expression(door: Jvm, column: Column) -> JavaObject:
    return java_class(door, "org.apache.spark.sql.classic.ExpressionUtils").expression(cast(Any, column)._jc)


def _column(door: Jvm, expression: JavaObject) -> Column:
    from pyspark.sql.classic.column import Column

    return Column(java_class(door, "org.apache.spark.sql.classic.ExpressionUtils").column(expression))
