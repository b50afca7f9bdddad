"""Which of Spark's tasks a row goes to before it is written: the number of a task is that of a
bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.catalog.model import Bucketing, Table
from acidsql.spark import jvm
from acidsql.spark.write import sinks
from acidsql.spark.write.bucket_expressions import BUCKET, with_bucket_number
from acidsql.storage.stored import data_names
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_NEW_BUCKET = "acidsql_new_bucket"


def in_tasks_of_buckets(target: WriteTarget, rows: DataFrame) -> DataFrame:
    """The rows in tasks whose numbers are bucket numbers."""
    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(rows)
    rows, number = with_new_bucket(target.table, bucketing, rows)
    return jvm.in_numbered_tasks(rows, bucketing.count, number).drop(BUCKET)


def in_tasks_of_merge(target: WriteTarget, rows: DataFrame, inserting: str) -> DataFrame:
    """New rows (where ``inserting`` holds) in the tasks of their buckets, the others in those of
    their old ones.
    """
    from pyspark.sql import functions as F

    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(rows)
    rows, new = with_new_bucket(target.table, bucketing, rows)
    located = rows.withColumn(_NEW_BUCKET, new)
    number = F.when(F.expr(inserting), F.col(_NEW_BUCKET)).otherwise(
        sinks.expression(sinks.DECODED_BUCKET)
    )
    placed = jvm.in_numbered_tasks(located, bucketing.count, number.cast("int"))
    return placed.drop(BUCKET, _NEW_BUCKET)


def with_new_bucket(
    table: Table, bucketing: Bucketing, rows: DataFrame
) -> tuple[DataFrame, Column]:
    """Rows that are written anew, and the bucket of each by the values of its columns: see
    ``with_bucket_number``.
    """
    columns = {
        c.name: (name, c.type)
        for name, c in zip(data_names(table.columns), table.columns, strict=True)
    }
    sources = [columns[name] for name in bucketing.columns]
    return with_bucket_number(rows, sources, bucketing.count, bucketing.version)


def _in_few_tasks(rows: DataFrame) -> DataFrame:
    """The rows in as many tasks as there can be buckets. ``coalesce`` copies each row, also where
    there is nothing to do.

    Except that rows which are part of the plan need it: Spark would number them and their tasks
    while it plans, as if there were one.
    """
    tasks = jvm.task_count(rows)
    return (
        rows
        if tasks is not None and tasks <= sinks.MAX_TASKS and not jvm.is_literal(rows)
        else rows.coalesce(sinks.MAX_TASKS)
    )


def in_tasks_of_old_rows(target: WriteTarget, changed: DataFrame) -> DataFrame:
    """A row stays in its bucket; without CLUSTERED BY any bucket will do, and it stays where it was
    read.
    """
    bucketing = target.table.bucketing
    if bucketing is None:
        return _in_few_tasks(changed)
    return jvm.in_numbered_tasks(changed, bucketing.count, sinks.expression(sinks.DECODED_BUCKET))
