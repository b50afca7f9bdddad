"""Python functions run by Spark's tasks, which Spark Connect does not offer for plain values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from acidsql.spark.classic.java import jvm

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_LOCAL = re.compile(r"local(\[.*\])?")
_MOST_TASKS = 1024
_unfit: WeakSet[SparkContext] = WeakSet()
"""Those whose tasks have turned out to lack something."""


def has_executors(spark: SparkSession) -> bool:
    """Whether tasks run in processes of their own, where nothing has been missing so far."""
    if jvm(spark) is None:
        return False
    context = spark.sparkContext
    return _LOCAL.fullmatch(context.master or "local") is None and context not in _unfit


def map_in_tasks(spark: SparkSession, work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result] | None:
    """``work`` on each item, results in order. None if the job fails: then this Spark ``has_executors`` no more."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    context = spark.sparkContext
    try:
        tasks: Any = context.parallelize(items, min(len(items), _MOST_TASKS))
        return list(tasks.map(work).collect())
    except (Py4JJavaError, PySparkException):
        _unfit.add(context)
        return None
