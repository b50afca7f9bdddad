"""Spark's jobs and their tasks: Python functions run by them, and how they are ended."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakSet

from acidsql import interrupts
from acidsql.spark.jvm.java import JavaObject, jvm, need_java

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_LOCAL = re.compile(r"local(\[.*\])?")
_MOST_TASKS = 1024
_PATIENCE_SECONDS = 60.0
_BEAT_SECONDS = 0.02
_KILL_SECONDS = 0.5
_NEWS_SECONDS = 5.0
"""What Spark tells of its stages may be older than they are, but not by more."""
_unfit: WeakSet[SparkContext] = WeakSet()
"""Contexts whose tasks have turned out to lack something."""


def has_executors(spark: SparkSession) -> bool:
    """Whether tasks run in processes of their own, where nothing has been missing so far.

    False on Spark Connect.
    """
    return has_own_processes(spark) and spark.sparkContext not in _unfit


def has_own_processes(spark: SparkSession) -> bool:
    """Whether tasks run in other processes than the driver's Java.

    False on Spark Connect.
    """
    if jvm(spark) is None:
        return False
    return _LOCAL.fullmatch(spark.sparkContext.master or "local") is None


def tasks_at_once(spark: SparkSession) -> int | None:
    """How many tasks run at once, as Spark takes it; None on Spark Connect, which does not tell."""
    return None if jvm(spark) is None else int(spark.sparkContext.defaultParallelism)


def map_in_tasks(
    spark: SparkSession, work: Callable[[_Item], _Result], items: Sequence[_Item]
) -> list[_Result] | None:
    """``work`` on each item, results in order. None if the job fails: then this Spark
    ``has_executors`` no more.

    UnsupportedStatementError on Spark Connect.
    """
    need_java(spark)
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    context = spark.sparkContext
    try:
        tasks: Any = context.parallelize(items, min(len(items), _MOST_TASKS))
        return list(tasks.map(work).collect())
    except (Py4JJavaError, PySparkException):
        interrupts.check()
        _unfit.add(context)
        return None


def key_of_executors(spark: SparkSession) -> Any:
    """What stands for the processes that run tasks, as long as there are any: Spark's context. Not
    for Spark Connect.
    """
    return spark.sparkContext


def executors(spark: SparkSession) -> frozenset[str]:
    """The ids of the processes that may be given tasks now. Not for Spark Connect."""
    context: Any = spark.sparkContext
    return frozenset(str(context._jsc.sc().getExecutorIds().mkString(" ")).split())


def hosts_of_executors(spark: SparkSession) -> dict[str, str]:
    """By the id of an executor the machine it runs on, as far as Spark tells yet. Not for Spark
    Connect.
    """
    context: Any = spark.sparkContext
    known = context._jsc.sc().statusStore().executorList(True)
    summaries = [known.apply(number) for number in range(known.size())]
    hosts = {str(one.id()): str(one.hostPort()).rpartition(":")[0] for one in summaries}
    return {executor: host for executor, host in hosts.items() if host}


def leave_tasks_alone(spark: SparkSession) -> None:
    """From now on this Spark ``has_executors`` no more: something is missing there. Not for Spark
    Connect.
    """
    _unfit.add(spark.sparkContext)


def asked_in_tasks(
    spark: SparkSession, module: ModuleType, look: Callable[[int], _Result], count: int
) -> list[_Result] | str:
    """What ``look`` of ``module`` gives in each of so many tasks, where no module need be: it is
    carried there as it stands. Spark's message where that fails.

    UnsupportedStatementError on Spark Connect.
    """
    need_java(spark)
    from py4j.protocol import Py4JJavaError
    from pyspark import cloudpickle as pickling
    from pyspark.errors import PySparkException

    cloudpickle: Any = pickling
    cloudpickle.register_pickle_by_value(module)
    try:
        return list(spark.sparkContext.parallelize(range(count), count).map(look).collect())
    except (Py4JJavaError, PySparkException) as error:
        interrupts.check()
        return str(error)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def read_in_tasks(spark: SparkSession, path: str, count: int) -> bool:
    """Whether each of so many tasks can read a text file by Java.

    UnsupportedStatementError on Spark Connect.
    """
    need_java(spark)
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    context: Any = cast(Any, spark.sparkContext)
    java = context._jsc
    try:
        lines = java.textFile(path, 1)
        for _ in range(count - 1):
            lines = lines.union(java.textFile(path, 1))
        return int(lines.count()) >= count
    except (Py4JJavaError, PySparkException):
        interrupts.check()
        return False


def ship_python(spark: SparkSession, archive: str) -> None:
    """Tasks import what is in the zip file ``archive`` ahead of what is installed there. Not for
    Spark Connect.
    """
    spark.sparkContext.addPyFile(archive)


def add_job_tag(spark: SparkSession, tag: str) -> None:
    """Jobs of this thread can be cancelled by the tag, from any other; on Spark Connect too."""
    if jvm(spark) is None:
        spark.addTag(tag)
    else:
        spark.sparkContext.addJobTag(tag)


def remove_job_tag(spark: SparkSession, tag: str) -> None:
    """Jobs of this thread have the tag no more; on Spark Connect too."""
    if jvm(spark) is None:
        spark.removeTag(tag)
    else:
        spark.sparkContext.removeJobTag(tag)


def cancel_jobs(spark: SparkSession, tag: str) -> None:
    """Cancels the jobs of a tag that run now, on Spark Connect too. Their tasks may go on for a
    moment.
    """
    # Tags of classic sessions hold for one thread, from which they would have to be cancelled, too.
    if jvm(spark) is None:
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)


def end_jobs(spark: SparkSession, tag: str) -> None:
    """Cancels the jobs of a tag and waits until none of their tasks can write any more; on Spark
    Connect it does not wait.
    """
    cancel_jobs(spark, tag)
    if jvm(spark) is None:
        return
    began = time.monotonic()
    kill_at = _KILL_SECONDS
    while _any_task_runs(spark):
        waited = time.monotonic() - began
        if waited > _PATIENCE_SECONDS or (waited > _NEWS_SECONDS and not _active_tasks(spark, tag)):
            return
        if waited > kill_at:
            # A job that is submitted while its tag is cancelled goes on; so does a task that
            # swallows the one interrupt it is sent.
            cancel_jobs(spark, tag)
            _kill_tasks(spark, tag)
            kill_at = waited + _KILL_SECONDS
        time.sleep(_BEAT_SECONDS)


def running_tasks(spark: SparkSession, tag: str) -> tuple[int, int] | None:
    """(tasks done, tasks known) of the jobs of a tag that run now; None without any, and on Spark
    Connect.
    """
    if jvm(spark) is None:
        return None
    done = known = 0
    for tasks in _stages(spark, tag, running=True):
        done, known = done + tasks.numCompletedTasks, known + tasks.numTasks
    return (done, known) if known else None


def _any_task_runs(spark: SparkSession) -> bool:
    """Whether Spark has any task at work, whosever it is."""
    scheduler = _spark_context(spark).taskScheduler()
    return any(int(count) for count in _split(scheduler.runningTasksByExecutors().values()))


def _active_tasks(spark: SparkSession, tag: str) -> int:
    return sum(tasks.numActiveTasks for tasks in _stages(spark, tag))


def _stages(spark: SparkSession, tag: str, *, running: bool = False) -> Iterator[Any]:
    tracker = spark.sparkContext.statusTracker()
    for job in _spark_context(spark).statusTracker().getJobIdsForTag(tag):
        info = tracker.getJobInfo(job)
        if info is None or (running and info.status != "RUNNING"):
            continue
        for stage in info.stageIds:
            tasks = tracker.getStageInfo(stage)
            if tasks is not None:
                yield tasks


def _kill_tasks(spark: SparkSession, tag: str) -> None:
    """Interrupts the tasks of a tag that still run, as far as Spark's status store knows them."""
    context = _spark_context(spark)
    for stage in list(_stages(spark, tag)):
        tasks = context.statusStore().taskList(stage.stageId, stage.currentAttemptId, _MOST_TASKS)
        for number in range(tasks.size()):
            task = tasks.apply(number)
            if task.status() == "RUNNING":
                context.killTaskAttempt(task.taskId(), True, "cancelled")


def _split(numbers: JavaObject) -> list[str]:
    """The items of a Scala collection of numbers."""
    return [text for text in str(numbers.mkString(" ")).split() if text]


def _spark_context(spark: SparkSession) -> JavaObject:
    return cast(Any, spark.sparkContext._jsc).sc()
