"""Work on files where Spark's tasks run, if that is on other machines: what the driver would else
carry through itself, file by file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from acidsql.files.attempts import Work, attempt
from acidsql.files.fileio import FileIO
from acidsql.files.parallel import in_parallel
from acidsql.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def work_on_files(
    spark: SparkSession, io: FileIO, root: str, work: Work[_Item, _Result], items: Sequence[_Item]
) -> list[_Result]:
    """``work`` on each item as ``in_tasks`` does it; where that does nothing, by threads here."""
    done = in_tasks(spark, io, root, work, items)
    return in_parallel(partial(work, io), items) if done is None else done


def in_tasks(
    spark: SparkSession, io: FileIO, root: str, work: Work[_Item, _Result], items: Sequence[_Item]
) -> list[_Result] | None:
    """``work`` on each item, whose files lie below ``root``; results in order. The first of our
    errors is raised when all have ended.

    None if Spark's executors are no processes of their own that can open the file system, or cannot
    after all: acidsql, a driver or credentials are missing there. So a piece of work may be done
    twice, even at the same time: it must leave its file as it is.
    """
    far = io.for_executors(root)
    if far is None or not items or not jvm.has_executors(spark):
        return None
    done = jvm.map_in_tasks(spark, partial(attempt, work, far), items)
    if done is None:
        return None
    error = next((error for _, error in done if error is not None), None)
    if error is not None:
        raise error
    return [result for result, _ in done]
