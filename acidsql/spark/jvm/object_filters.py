"""Filters whose constants are objects: the code Spark generates for them is the same whatever they
hold.

What SQL has words for is written in SQL; the rest (``position``, ``bit``, ``is_member``) are Java
methods that generated code calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from acidsql.spark.jvm.java import (
    CATALYST,
    TYPES,
    JavaObject,
    Jvm,
    class_object,
    constructed,
    has_class,
    integer,
    java_class,
    longs,
    need_java,
    none,
    remembered,
    scala_map,
    scala_object,
    seq,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

Longs = npt.NDArray[np.int64]

MAX_ARRAY = 200_000
"""Numbers up to this many are a sorted array that travels with each task; more are a bitmap, sent
once.
"""
_MOST_BITS = 2**31 - 1
"""The size of the largest BitSet: its positions are ints."""
_BITS_OF_VALUE = 256
"""A plain bitmap may take so much memory for each of its values; a compressed one takes four times
as long to answer.
"""


class NumberSet(Enum):
    """How a set of bigints is held: the class of the object that holds it."""

    ARRAY = "[J"
    BITS = "java.util.BitSet"
    COMPRESSED = "org.roaringbitmap.longlong.Roaring64Bitmap"

    @classmethod
    def of(cls, values: Longs) -> NumberSet:
        """The cheapest way to hold ``values``, which ascend and are not negative."""
        if len(values) <= MAX_ARRAY:
            return cls.ARRAY
        return (
            cls.BITS
            if values[-1] < min(_MOST_BITS, _BITS_OF_VALUE * len(values))
            else cls.COMPRESSED
        )


def expression(spark: SparkSession, text: str, **parts: JavaObject) -> JavaObject:
    """Spark SQL as an expression of a plan; each name of ``parts`` in it stands for that
    expression.

    UnsupportedStatementError on Spark Connect.
    """
    need_java(spark)
    parsed = cast(Any, spark)._jsparkSession.sessionState().sqlParser().parseExpression(text)
    return _replaced(spark, parsed, parts)


def position(spark: SparkSession, array: JavaObject, value: JavaObject) -> JavaObject:
    """``java.util.Arrays.binarySearch(array, value)`` as an expression of two others: of an
    ascending long[] and of a bigint.

    UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    return constructed(
        door,
        f"{CATALYST}.objects.StaticInvoke",
        class_object(door, "java.util.Arrays"),
        scala_object(door, f"{TYPES}.IntegerType"),
        "binarySearch",
        seq(door, array, value),
        seq(door),
        False,  # propagate nulls: both arguments are known not to be null
        False,  # may return null
        True,  # deterministic
        later=[none(door)],
    )


def position_in(spark: SparkSession, array: JavaObject, value: Column) -> Column:
    """The index of a bigint ``value`` in an ascending long[], negative if it is not in it.

    The array is an object of the plan and not text of the generated code, so that code is compiled
    once for all arrays. UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    return _column(door, position(spark, _literal(door, array), _expression(door, value)))


def bit(spark: SparkSession, bitmap: JavaObject, index: JavaObject) -> JavaObject:
    """Whether a bit of ``bits`` is set, as an expression of two others: of that object and of an
    int that is not negative.

    UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    opened = _invoke(
        door, bitmap, "getObject", _object_type(door, class_object(door, NumberSet.BITS.value))
    )
    return _marked(door, opened, index)


def _marked(door: Jvm, bitmap: JavaObject, index: JavaObject) -> JavaObject:
    return _invoke(door, bitmap, "get", scala_object(door, f"{TYPES}.BooleanType"), index)


def with_objects(
    spark: SparkSession, key: str, make: Callable[[], JavaObject], objects: Mapping[str, JavaObject]
) -> Column:
    """The expression that ``make`` gives, made once for a ``key``, with objects in place of their
    names: a few calls for each new object.

    UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    template = remembered(door, f"expression {key}", make)
    return _column(
        door,
        _replaced(
            spark, template, {name: _literal(door, value) for name, value in objects.items()}
        ),
    )


def let_go(column: Column) -> None:
    """Has Java keep a column's expression, and the objects in it, no longer than Python holds the
    column; it may be used further on. Where there is no Java process nothing happens.

    What py4j gives for an object of Java keeps each method that was called of it, which keeps the
    object: else it would go when Python's collector finds it, hundreds of statements later.
    """
    held_methods = getattr(getattr(column, "_jc", None), "_methods", None)
    if held_methods is not None:
        held_methods.clear()


def bits(spark: SparkSession, values: Longs) -> JavaObject:
    """The object ``bit`` asks, of ``values`` in any order, none of them negative.

    A bitmap writes down all its members where Spark shows a plan, as it does several times a query:
    it stands behind an object that does not. UnsupportedStatementError on Spark Connect.
    """
    return java_class(need_java(spark), "java.security.GuardedObject")(
        _bit_set(spark, np.sort(values)), None
    )


def held(spark: SparkSession, values: Longs, how: NumberSet) -> JavaObject:
    """The object ``is_member`` asks. A bitmap is a broadcast: each task would carry a copy of it
    otherwise.

    UnsupportedStatementError on Spark Connect.
    """
    if how is NumberSet.ARRAY:
        return longs(spark, values)
    if how is NumberSet.BITS:
        bitmap = _bit_set(spark, values)
    else:
        bitmap = java_class(need_java(spark), how.value)()
        bitmap.add(longs(spark, values))
        bitmap.runOptimize()
    return cast(Any, spark.sparkContext._jsc).broadcast(bitmap)


def is_member(
    spark: SparkSession, how: NumberSet, members: JavaObject, number: JavaObject
) -> JavaObject:
    """Whether a bigint, of any sign, is in a set of numbers; an expression of two others.

    UnsupportedStatementError on Spark Connect.
    """
    if how is NumberSet.ARRAY:
        return expression(spark, "ordinal >= 0", ordinal=position(spark, members, number))
    door = need_java(spark)
    bitmap = _invoke(door, members, "value", _object_type(door, class_object(door, how.value)))
    if how is NumberSet.COMPRESSED:
        return _invoke(door, bitmap, "contains", scala_object(door, f"{TYPES}.BooleanType"), number)
    marked = _marked(door, bitmap, expression(spark, "CAST(number AS int)", number=number))
    return expression(
        spark, f"number BETWEEN 0 AND {_MOST_BITS} AND marked", number=number, marked=marked
    )


def first_in_task(spark: SparkSession, key: Column, value: Column) -> Column:
    """The ``value`` (bigint) that came with the first row of this ``key`` (bigint) in the task;
    NULL for that row itself.

    Each task has a map of its own (``HashMap.putIfAbsent``), because it unpacks a plan of its own.
    UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    known = _literal(door, java_class(door, "java.util.HashMap")())
    bigint = scala_object(door, f"{TYPES}.LongType")
    arguments = (_expression(door, key), _expression(door, value))
    return _column(
        door,
        _invoke(door, known, "putIfAbsent", bigint, *arguments, may_be_null=True, counts_rows=True),
    )


def sum_before(spark: SparkSession, value: Column) -> Column:
    """The sum of ``value`` (bigint, not null) over the rows of the task that came before this one.
    Each task has a sum of its own.

    UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    # of one: py4j would make an AtomicLong a number of Python's
    kind = "java.util.concurrent.atomic.AtomicLongArray"
    counter = _literal(door, java_class(door, kind)(1))
    bigint = scala_object(door, f"{TYPES}.LongType")
    return _column(
        door,
        _invoke(
            door,
            counter,
            "getAndAdd",
            bigint,
            integer(door, 0),
            _expression(door, value),
            counts_rows=True,
        ),
    )


def _bit_set(spark: SparkSession, values: Longs) -> JavaObject:
    """A BitSet of ``values`` that ascend."""
    word_indexes = values >> 6
    starts = np.flatnonzero(np.diff(word_indexes, prepend=-1))
    words = np.zeros(int(word_indexes[-1]) + 1, np.int64)
    words[word_indexes[starts]] = np.bitwise_or.reduceat(
        np.left_shift(np.int64(1), values & 63), starts
    )
    return java_class(need_java(spark), NumberSet.BITS.value).valueOf(words.astype("<i8").tobytes())


def _literal(door: Jvm, value: JavaObject) -> JavaObject:
    return java_class(door, f"{CATALYST}.Literal")(value, _object_type(door, value.getClass()))


def _object_type(door: Jvm, kind: JavaObject) -> JavaObject:
    return java_class(door, f"{TYPES}.ObjectType")(kind)


def _replaced(
    spark: SparkSession, parsed: JavaObject, parts: Mapping[str, JavaObject]
) -> JavaObject:
    """The expression with each name of ``parts`` replaced, wherever it stands."""
    if not parts:
        return parsed
    door = need_java(spark)
    return parsed.transform(
        scala_map(door, ((_name(spark, name), part) for name, part in parts.items()))
    )


def _name(spark: SparkSession, name: str) -> JavaObject:
    return remembered(need_java(spark), f"name {name}", lambda: expression(spark, name))


def _invoke(
    door: Jvm,
    target: JavaObject,
    method: str,
    returns: JavaObject,
    *arguments: JavaObject,
    may_be_null: bool = False,
    counts_rows: bool = False,
) -> JavaObject:
    """The call of a Java method as an expression. ``counts_rows``: the answer depends on the rows
    before. No argument is null.
    """
    invoke = java_class(door, f"{CATALYST}.objects.Invoke")
    return invoke(
        target,
        method,
        returns,
        seq(door, *arguments),
        seq(door),
        False,
        may_be_null,
        not counts_rows,
    )


def _expression(door: Jvm, column: Column) -> JavaObject:
    java = cast(Any, column)._jc
    return java_class(door, _BETWEEN).expression(java) if _is_wrapped(door) else java.expr()


def _column(door: Jvm, expression: JavaObject) -> Column:
    if _is_wrapped(door):
        from pyspark.sql.classic.column import Column

        return Column(java_class(door, _BETWEEN).column(expression))
    from pyspark.sql.column import Column as ColumnOfExpression

    java = java_class(door, "org.apache.spark.sql.Column")(expression)
    return cast("Column", cast(Any, ColumnOfExpression)(java))


_BETWEEN = "org.apache.spark.sql.classic.ExpressionUtils"


def _is_wrapped(door: Jvm) -> bool:
    """Whether a column has a node of its own, and its expression stands behind it (Spark 4)."""
    return has_class(door, _BETWEEN)
