"""Spark's Java process and its sessions."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

from acidsql.errors import ExecutionError
from acidsql.spark.classic.java import JavaObject, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG_TAIL = 4000
_one_start = threading.Lock()
_start: Future[None] | None = None


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
