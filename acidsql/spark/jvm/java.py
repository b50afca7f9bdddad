"""Objects of Spark's Java process: classes, arrays and Scala's collections, by py4j; and what the
Spark that runs has of them, because not each has all.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from acidsql.errors import ExecutionError, UnsupportedStatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Jvm = Any
JavaObject = Any
_SQL = "org.apache.spark.sql"
CATALYST = f"{_SQL}.catalyst.expressions"
TYPES = f"{_SQL}.types"


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
    """A Java class by its full name, to call or to take static members from. ExecutionError where
    there is none.
    """
    return remembered(door, name, lambda: _existing(getattr(door, name), name))


def _existing(given: JavaObject, name: str) -> JavaObject:
    if _is_package(given):
        raise ExecutionError(f"Spark has no class {name}")
    return given


def _is_package(given: JavaObject) -> bool:
    """Whether a name is no class's: py4j takes it for that of a package then."""
    return type(given).__name__ == "JavaPackage"


def has_class(door: Jvm, name: str) -> bool:
    return bool(remembered(door, f"has {name}", lambda: not _is_package(getattr(door, name))))


def sql_class(door: Jvm, name: str) -> JavaObject:
    """A class of Spark's API, which from Spark 4 on has another for Spark Connect beside it."""
    classic = f"{_SQL}.classic.{name}"
    return java_class(door, classic if has_class(door, classic) else f"{_SQL}.{name}")


def takes(door: Jvm, kind: str, method: str, arguments: int) -> bool:
    """Whether a class has a public method that takes as many arguments."""

    def look_up() -> frozenset[tuple[str, int]]:
        methods = class_object(door, kind).getMethods()
        return frozenset((str(m.getName()), int(m.getParameterCount())) for m in methods)

    return (method, arguments) in remembered(door, f"methods {kind}", look_up)


def constructed(door: Jvm, kind: str, *arguments: Any, later: Sequence[Any] = ()) -> JavaObject:
    """A new object of a class whose constructor has got more parameters over time: those ``later``
    are given as far as it takes them.
    """

    def look_up() -> int:
        return max(int(c.getParameterCount()) for c in class_object(door, kind).getConstructors())

    taken = remembered(door, f"parameters {kind}", look_up)
    return java_class(door, kind)(*arguments, *later[: taken - len(arguments)])


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


_UNREACHED = re.compile(
    r"Call From .* failed on |is not supported in state standby|Name node is in safe mode"
)


def is_unreached(message: str) -> bool:
    """Whether that of one of an error's causes tells that no name node of Hadoop's file system was
    there or ready. Its NetUtils, StandbyException and SafeModeException.
    """
    return _UNREACHED.search(message) is not None


def spark_error(error: BaseException) -> BaseException:
    """The first of a Java error and its causes that names a condition, as an error of PySpark's:
    Spark before 4 tells of a job that was aborted. ``error`` itself where there is none.
    """
    java = getattr(error, "java_exception", None)
    # Java may be gone, and not every error of its can be converted
    with contextlib.suppress(Exception):
        from pyspark.errors.exceptions.captured import convert_exception

        while java is not None:
            converted = convert_exception(java)
            if condition_of(converted):
                return converted
            java = java.getCause()
    return error


def condition_of(error: BaseException) -> str | None:
    """The condition that an error of PySpark's names: "UNRESOLVED_COLUMN.WITH_SUGGESTION"."""
    asked = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return None if asked is None else asked()


def query_contexts(error: BaseException) -> Sequence[Any]:
    """Where in a text of SQL an error of PySpark's came from: objects that tell ``startIndex()``,
    ``stopIndex()`` and ``fragment()``. () where nobody knows.
    """
    # Java may be gone, and not every error of its knows
    with contextlib.suppress(Exception):
        asked = getattr(error, "getQueryContext", None) or cast(Any, error)._origin.getQueryContext
        return list(asked())
    return ()


def is_answer(error: BaseException) -> bool:
    """Whether an error of py4j's is what a Java process has answered: that it lacks a class or
    method, or that a call of it is wrong.
    """
    text = str(error)
    return "Trace:" in text or "does not exist" in text
