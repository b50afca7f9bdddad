"""Objects of Spark's Java process: classes, arrays and Scala's collections, by py4j."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from acidsql.errors import UnsupportedStatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Jvm = Any
JavaObject = Any
CATALYST = "org.apache.spark.sql.catalyst.expressions"
TYPES = "org.apache.spark.sql.types"


def jvm(spark: SparkSession) -> Jvm | None:
    """The door to the Java process, or None where there is none (Spark Connect)."""
    return None if type(spark).__module__.startswith("pyspark.sql.connect") else spark._jvm


def need_java(
    spark: SparkSession,
    refusal: str = "this cannot be done",
    hint: str = "Use a classic Spark session.",
) -> Jvm:
    """The door to the Java process, for what can be done in no other way.

    UnsupportedStatementError on Spark Connect.
    """
    door = jvm(spark)
    if door is None:
        raise UnsupportedStatementError(f"{refusal} over Spark Connect", hint=hint)
    return door


_remembered_objects: WeakKeyDictionary[Jvm, dict[str, JavaObject]] = WeakKeyDictionary()
"""What was looked up once in a Java process: a name costs a round trip for each of its parts, and a
filter needs a hundred.
"""


def remembered(door: Jvm, key: str, look_up: Callable[[], JavaObject]) -> JavaObject:
    known = _remembered_objects.setdefault(door, {})
    if key not in known:
        known[key] = look_up()
    return known[key]


def java_class(door: Jvm, name: str) -> JavaObject:
    """A Java class by its full name, to call or to take static members from."""
    return remembered(door, name, lambda: getattr(door, name))


def class_object(door: Jvm, name: str) -> JavaObject:
    """The ``java.lang.Class`` of that name."""
    return remembered(
        door, f"class {name}", lambda: java_class(door, "java.lang.Class").forName(name)
    )


def scala_object(door: Jvm, name: str) -> JavaObject:
    """A Scala object."""
    return remembered(door, f"object {name}", lambda: getattr(getattr(door, f"{name}$"), "MODULE$"))


def none(door: Jvm) -> JavaObject:
    return remembered(door, "None", lambda: java_class(door, "scala.Option").empty())


def seq(door: Jvm, *items: JavaObject) -> JavaObject:
    listed = java_class(door, "java.util.ArrayList")()
    for item in items:
        listed.add(item)
    return java_class(door, "org.apache.spark.api.python.PythonUtils").toSeq(listed)


def scala_map(door: Jvm, values: Iterable[tuple[Any, Any]]) -> JavaObject:
    listed = java_class(door, "java.util.HashMap")()
    for key, value in values:
        listed.put(key, value)
    return java_class(door, "org.apache.spark.api.python.PythonUtils").toScalaMap(listed)


def integer(door: Jvm, value: int) -> JavaObject:
    """An int as an expression of a plan."""
    return java_class(door, f"{CATALYST}.Literal")(
        value, scala_object(door, f"{TYPES}.IntegerType")
    )


def array_of(spark: SparkSession, kind: str, values: Sequence[Any]) -> JavaObject:
    """A Java array of objects of that class. UnsupportedStatementError on Spark Connect."""
    kind_of_items = java_class(need_java(spark), kind)
    array = cast(Any, spark.sparkContext._gateway).new_array(kind_of_items, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array


def longs(spark: SparkSession, values: npt.NDArray[np.int64]) -> JavaObject:
    """A Java long[]. UnsupportedStatementError on Spark Connect."""
    door = need_java(spark)
    array = cast(Any, spark.sparkContext._gateway).new_array(door.long, len(values))
    if len(values):
        # Big-endian bytes go over in one call; a call for each element would take minutes.
        content = np.ascontiguousarray(values, dtype=">i8").tobytes()
        java_class(door, "java.nio.ByteBuffer").wrap(content).asLongBuffer().get(array)
    return array


def java_strings(spark: SparkSession, texts: Sequence[str]) -> JavaObject:
    """A Java String[]. UnsupportedStatementError on Spark Connect."""
    return array_of(spark, "java.lang.String", texts)


def java_objects(spark: SparkSession, values: Sequence[Any]) -> JavaObject:
    """A Java Object[], as the filter class In wants its values.

    UnsupportedStatementError on Spark Connect.
    """
    return array_of(spark, "java.lang.Object", values)


def java_date(spark: SparkSession, iso: str) -> JavaObject:
    """A java.sql.Date, as filters want it. UnsupportedStatementError on Spark Connect."""
    return java_class(need_java(spark), "java.sql.Date").valueOf(iso)


def java_causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """(class name, message) of a Java error and of each of its causes, outermost first; nothing for
    other errors.
    """
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    seen = 0
    # The Java process may be gone while we ask it.
    with contextlib.suppress(Exception):
        while java is not None and seen < 20:
            yield str(java.getClass().getName()), str(java.getMessage() or "")
            java, seen = java.getCause(), seen + 1
