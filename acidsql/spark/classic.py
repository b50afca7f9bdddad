"""Everything that reaches into Spark's Java process: the only module that may say ``_jvm``, ``_jsc``, ``_jdf`` or ``sparkContext``.

Each use stands behind a plain function. What acidsql needs for right answers never depends on them: ``jvm`` gives None on Spark
Connect, and the callers then take the way that needs no Java handle. Spark's internal classes that are named here are pinned by
tests/spark/test_classic.py.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from acidsql.errors import ExecutionError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

Jvm = Any
JavaObject = Any

_LOG_TAIL = 4000


def jvm(spark: SparkSession) -> Jvm | None:
    """The door to the Java process, or None where there is none (Spark Connect)."""
    return None if type(spark).__module__.startswith("pyspark.sql.connect") else spark._jvm


# ---- sessions ------------------------------------------------------------------------------------------------------------------


def running_session() -> SparkSession | None:
    """The session of a Spark that somebody already started in this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None or context._jsc is None:
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def launch(conf: Mapping[str, str], *, quiet: bool) -> None:
    """Starts the Java process that ``SparkSession.builder`` will then use; nothing it prints reaches our stdout.

    quiet: its stderr is kept from the user, too, unless it fails to start: then its last words are the detail of the ExecutionError.
    An interrupt leaves the start to go on in the background, and the next call joins it: no Java process is orphaned.
    """
    global _start
    from pyspark import SparkContext

    with _one_start:
        if SparkContext._gateway is not None:  # a stopped Spark leaves its Java process to the next one
            return
        if _start is None or _start.done():
            _start = Future()
            threading.Thread(target=_launch, args=(_start, dict(conf), quiet), daemon=True, name="acidsql-start-spark").start()
        start = _start
    start.result()


_one_start = threading.Lock()
_start: Future[None] | None = None


def _launch(start: Future[None], conf: Mapping[str, str], quiet: bool) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    options = SparkConf(loadDefaults=False)
    for key, value in conf.items():
        options.set(key, value)
    with tempfile.TemporaryFile() as log:
        try:
            gateway = cast(Any, launch_gateway)(options, {"stdout": log if quiet else 2, "stderr": log if quiet else 2})
            SparkContext._ensure_initialized(gateway=gateway, conf=options)
            start.set_result(None)
        except (PySparkException, OSError) as error:
            log.seek(0)
            words = log.read().decode(errors="replace").strip()[-_LOG_TAIL:]
            start.set_exception(ExecutionError("the Java process of Spark did not start", detail=words or str(error)))
        except BaseException as error:
            start.set_exception(error)


def clone_session(spark: SparkSession) -> SparkSession:
    """A session on the same Spark with copies of the settings, views and functions of ``spark``; from then on each has its own."""
    from pyspark.sql import SparkSession

    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


def import_view(ours: SparkSession, theirs: SparkSession, name: str) -> None:
    """Makes the temporary view ``name`` of the session ``theirs`` a view of ``ours``, as it stands now."""
    plan = cast(Any, theirs.table(name))._jdf.queryExecution().analyzed()
    door = cast(Any, jvm(ours))
    door.org.apache.spark.sql.classic.Dataset.ofRows(ours._jsparkSession, plan).createOrReplaceTempView(name)


def time_zone_of_jvm(spark: SparkSession) -> str | None:
    """The default time zone of the Java process, None without one."""
    door = jvm(spark)
    return None if door is None else str(door.java.util.TimeZone.getDefault().getID())


def same_time_zone(spark: SparkSession, one: str, other: str) -> bool:
    """Whether two zone names mean the same rules to Java ("UTC" and "Etc/UTC" do)."""
    door = jvm(spark)
    if one == other or door is None:
        return one == other
    zone = door.java.util.TimeZone.getTimeZone
    return bool(zone(one).hasSameRules(zone(other)))


def hadoop_configuration(spark: SparkSession) -> JavaObject:
    """Hadoop's configuration with what the session has set."""
    return cast(Any, spark)._jsparkSession.sessionState().newHadoopConf()


# ---- scans ---------------------------------------------------------------------------------------------------------------------


def read_orc(spark: SparkSession, paths: Sequence[str], schema: StructType | str, options: Mapping[str, str]) -> DataFrame:
    return read_files(spark, "orc", paths, schema, options)


def read_files(spark: SparkSession, kind: str, paths: Sequence[str], schema: StructType | str, options: Mapping[str, str]) -> DataFrame:
    """``spark.read.format(kind).load(..)``, told all paths in one call: PySpark would make one for each of them."""
    reader = spark.read.format(kind).options(**options).schema(schema)
    door = jvm(spark)
    if door is None:
        return reader.load(list(paths))
    from pyspark.sql import DataFrame

    texts = _java(door, "java.util.regex.Pattern").compile("\0").split("\0".join(paths))
    return DataFrame(cast(Any, reader)._jreader.load(texts), spark)


# ---- a filter whose constants are objects --------------------------------------------------------------------------------------


def sorted_longs(spark: SparkSession, values: npt.NDArray[np.int64]) -> JavaObject:
    """``values`` (ascending) as a Java long[]."""
    door = cast(Any, jvm(spark))
    array = cast(Any, spark.sparkContext._gateway).new_array(door.long, len(values))
    if len(values):
        # Big-endian bytes go over in one call; a call for each element would take minutes.
        content = np.ascontiguousarray(values, dtype=">i8").tobytes()
        _java(door, "java.nio.ByteBuffer").wrap(content).asLongBuffer().get(array)
    return array


def position_in(spark: SparkSession, array: JavaObject, value: Column) -> Column:
    """``java.util.Arrays.binarySearch(array, value)``: the position of a bigint ``value``, negative if it is not there.

    The array is an object of the plan and not text of the generated code, so that code is compiled once for all arrays.
    """
    door = cast(Any, jvm(spark))
    search = _java(door, f"{_CATALYST}.objects.StaticInvoke")(
        _class(door, "java.util.Arrays"),
        _singleton(door, f"{_TYPES}.IntegerType"),
        "binarySearch",
        _seq(door, _literal(door, array, "[J"), _expression(door, value)),
        _seq(door),
        False,  # propagate nulls: both arguments are known not to be null
        False,  # may return null
        True,  # deterministic
        _none(door),
    )
    return _column(door, search)


def first_in_task(spark: SparkSession, key: Column, value: Column) -> Column:
    """The ``value`` (bigint) that came with the first row of this ``key`` (bigint) in the task; NULL for that row itself.

    Each task has a map of its own (``HashMap.putIfAbsent``), because it unpacks a plan of its own.
    """
    door = cast(Any, jvm(spark))
    first = _java(door, f"{_CATALYST}.objects.Invoke")(
        _literal(door, _java(door, "java.util.HashMap")(), "java.util.HashMap"),
        "putIfAbsent",
        _singleton(door, f"{_TYPES}.LongType"),
        _seq(door, _expression(door, key), _expression(door, value)),
        _seq(door),
        False,  # propagate nulls: there are none
        True,  # may return null
        False,  # deterministic: the answer depends on the rows before
    )
    return _column(door, first)


def is_in_bitmap(spark: SparkSession, values: npt.NDArray[np.int64], value: Column) -> Column:
    """Whether a bigint ``value`` is one of ``values`` (ascending), by a compressed bitmap that is sent once to each executor.

    The bitmap travels as a broadcast: the plan's own text would otherwise list every member of it, and every task carry a copy.
    """
    door = cast(Any, jvm(spark))
    bitmap = _java(door, _BITMAP)()
    bitmap.add(sorted_longs(spark, values))
    bitmap.runOptimize()
    broadcast = cast(Any, spark.sparkContext._jsc).broadcast(bitmap)
    shipped = _literal(door, broadcast, "org.apache.spark.broadcast.Broadcast")
    opened = _invoke(door, shipped, "value", _java(door, f"{_TYPES}.ObjectType")(_class(door, _BITMAP)))
    boolean = _singleton(door, f"{_TYPES}.BooleanType")
    return _column(door, _invoke(door, opened, "contains", boolean, _expression(door, value)))


_CATALYST = "org.apache.spark.sql.catalyst.expressions"
_TYPES = "org.apache.spark.sql.types"
_BITMAP = "org.roaringbitmap.longlong.Roaring64Bitmap"

_found: WeakKeyDictionary[Jvm, dict[str, JavaObject]] = WeakKeyDictionary()
"""What was looked up once in a Java process: a name costs a round trip for each of its parts, and a filter needs a hundred."""


def _remembered(door: Jvm, key: str, look_up: Callable[[], JavaObject]) -> JavaObject:
    known = _found.setdefault(door, {})
    if key not in known:
        known[key] = look_up()
    return known[key]


def _java(door: Jvm, name: str) -> JavaObject:
    """A Java class by its full name, to call or to take static members from."""
    return _remembered(door, name, lambda: getattr(door, name))


def _class(door: Jvm, name: str) -> JavaObject:
    """The ``java.lang.Class`` of that name."""
    return _remembered(door, f"class {name}", lambda: _java(door, "java.lang.Class").forName(name))


def _singleton(door: Jvm, name: str) -> JavaObject:
    """A Scala object."""
    return _remembered(door, f"object {name}", lambda: getattr(getattr(door, f"{name}$"), "MODULE$"))


def _none(door: Jvm) -> JavaObject:
    return _remembered(door, "None", lambda: _java(door, "scala.Option").empty())


def _seq(door: Jvm, *items: JavaObject) -> JavaObject:
    listed = _java(door, "java.util.ArrayList")()
    for item in items:
        listed.add(item)
    return _java(door, "org.apache.spark.api.python.PythonUtils").toSeq(listed)


def _literal(door: Jvm, value: JavaObject, class_name: str) -> JavaObject:
    kind = _remembered(door, f"type {class_name}", lambda: _java(door, f"{_TYPES}.ObjectType")(_class(door, class_name)))
    return _java(door, f"{_CATALYST}.Literal")(value, kind)


def _invoke(door: Jvm, target: JavaObject, method: str, returns: JavaObject, *arguments: JavaObject) -> JavaObject:
    invoke = _java(door, f"{_CATALYST}.objects.Invoke")
    return invoke(target, method, returns, _seq(door, *arguments), _seq(door), False, False, True)


def _expression(door: Jvm, column: Column) -> JavaObject:
    return _java(door, "org.apache.spark.sql.classic.ExpressionUtils").expression(cast(Any, column)._jc)


def _column(door: Jvm, expression: JavaObject) -> Column:
    from pyspark.sql.classic.column import Column

    return Column(_java(door, "org.apache.spark.sql.classic.ExpressionUtils").column(expression))


# ---- search arguments ----------------------------------------------------------------------------------------------------------


def search_argument_options(
    spark: SparkSession, ddl: str, names: Sequence[str], tests: Sequence[tuple[str, str, tuple[Any, ...]]]
) -> dict[str, str]:
    """Read options that hand ORC's readers a search argument: the conjunction of ``tests``, each (filter class, column, arguments).

    The classes are those of ``org.apache.spark.sql.sources``; ``ddl`` gives the types of the columns tested, ``names`` are all columns of
    the files. {} if none of the tests can be a search argument.
    """
    door = cast(Any, jvm(spark))
    filters = [_java(door, f"org.apache.spark.sql.sources.{kind}")(column, *arguments) for kind, column, arguments in tests]
    schema = _java(door, f"{_TYPES}.StructType").fromDDL(ddl)
    orc = _java(door, "org.apache.spark.sql.execution.datasources.orc.OrcFilters")
    argument = orc.createFilter(schema, _seq(door, *filters), _none(door))
    if not argument.isDefined():
        return {}
    conf = _java(door, "org.apache.hadoop.conf.Configuration")(False)
    _java(door, "org.apache.orc.mapred.OrcInputFormat").setSearchArgument(conf, argument.get(), java_strings(spark, names))
    return {key: str(conf.get(key)) for key in ("orc.kryo.sarg", "orc.sarg.column.names")}


def java_strings(spark: SparkSession, texts: Sequence[str]) -> JavaObject:
    """A Java String[]."""
    return _array(spark, "java.lang.String", texts)


def java_objects(spark: SparkSession, values: Sequence[Any]) -> JavaObject:
    """A Java Object[], as the filter class In wants its values."""
    return _array(spark, "java.lang.Object", values)


def _array(spark: SparkSession, kind: str, values: Sequence[Any]) -> JavaObject:
    array = cast(Any, spark.sparkContext._gateway).new_array(_java(cast(Any, jvm(spark)), kind), len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array


def java_date(spark: SparkSession, iso: str) -> JavaObject:
    return _java(cast(Any, jvm(spark)), "java.sql.Date").valueOf(iso)


def running_tasks(spark: SparkSession) -> tuple[int, int] | None:
    """(tasks done, tasks known) of the jobs a session runs now; None if there are none, or without a Java handle."""
    if jvm(spark) is None:
        return None
    tracker = spark.sparkContext.statusTracker()
    tag = cast(Any, spark)._jsparkSession.sessionJobTag()
    done = known = 0
    for job in cast(Any, spark.sparkContext._jsc).sc().statusTracker().getJobIdsForTag(tag):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None and info.status == "RUNNING" else ():
            tasks = tracker.getStageInfo(stage)
            if tasks is not None:
                done, known = done + tasks.numCompletedTasks, known + tasks.numTasks
    return (done, known) if known else None


# ---- failing -------------------------------------------------------------------------------------------------------------------


def java_causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """(class name, message) of a Java error and of each of its causes, outermost first; nothing for other errors."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    seen = 0
    # The Java process may be gone while we ask it.
    with contextlib.suppress(Exception):
        while java is not None and seen < 20:
            yield str(java.getClass().getName()), str(java.getMessage() or "")
            java, seen = java.getCause(), seen + 1


# ---- plans ---------------------------------------------------------------------------------------------------------------------

_KEEPS_ALL_ROWS = (
    "Project",
    "LogicalRelation",
    "LocalRelation",
    "LogicalRDD",
    "Range",
    "Union",
    "SubqueryAlias",
    "View",
    "DataSourceV2ScanRelation",
)


def estimated_bytes(frame: DataFrame) -> int | None:
    """Spark's own estimate of a plan's output, None without a Java handle. Joins and aggregates make it far too large or small."""
    if not hasattr(frame, "_jdf"):
        return None
    return int(str(cast(Any, frame)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def keeps_all_rows(frame: DataFrame) -> bool:
    """Whether the plan only scans and computes columns, so that the estimate of its size is one of what is really there."""
    return hasattr(frame, "_jdf") and _consists_of(frame, _KEEPS_ALL_ROWS)


def task_count(frame: DataFrame) -> int | None:
    """How many tasks run a plan that only scans, filters and computes columns; None for another plan, or without a Java handle."""
    if not hasattr(frame, "_jdf") or not _consists_of(frame, (*_KEEPS_ALL_ROWS, "Filter", "LocalLimit")):
        return None
    # Sub-queries would run here and now.
    execution = cast(Any, frame)._jdf.queryExecution()
    if not execution.optimizedPlan().subqueriesAll().isEmpty():
        return None
    return int(execution.toRdd().getNumPartitions())


def is_literal(frame: DataFrame) -> bool:
    """Whether the rows are part of the plan, as those of VALUES: Spark computes further columns of them while it plans."""
    return hasattr(frame, "_jdf") and _consists_of(frame, ("LocalRelation",))


def limit_each_task(frame: DataFrame, rows: int) -> DataFrame:
    """At most ``rows`` rows of each task: ``limit`` without the exchange that gathers all rows in one task."""
    from pyspark.sql import DataFrame

    door = cast(Any, jvm(frame.sparkSession))
    java = cast(Any, frame)._jdf
    count = _java(door, f"{_CATALYST}.Literal")(rows, _singleton(door, f"{_TYPES}.IntegerType"))
    limited = _java(door, "org.apache.spark.sql.catalyst.plans.logical.LocalLimit")(count, java.queryExecution().logical())
    return DataFrame(
        _java(door, "org.apache.spark.sql.classic.Dataset").ofRows(frame.sparkSession._jsparkSession, limited), frame.sparkSession
    )


def _consists_of(frame: DataFrame, kinds: Collection[str]) -> bool:
    pending = [cast(Any, frame)._jdf.queryExecution().optimizedPlan()]
    while pending:
        plan = pending.pop()
        name = str(plan.nodeName())
        if name.split()[0] not in kinds and not name.startswith("Relation"):
            return False
        children = plan.children()
        pending += [children.apply(i) for i in range(children.size())]
    return True
