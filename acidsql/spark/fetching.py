"""The small path's fetch: rows come to the driver if they are few enough for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType
from acidsql.spark import classic, sinks
from acidsql.spark.partition_places import key_names
from acidsql.spark.stored import holds, is_timestamp, wall_clock_type
from acidsql.spark.target import WriteTarget
from acidsql.spark.timestamps import needs_java_writer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_FEW_TASKS = 4
"""So many tasks may send the driver as many rows each as it wants in all."""

_TOO_LARGE = "spark.driver.maxResultSize"


def fetch_rows(
    target: WriteTarget, rows: DataFrame, leading: Sequence[str], columns: Sequence[Column], limit: int | None
) -> pa.Table | None:
    """``leading``, the values of ``columns`` and the partition's; None if the rows are too many or need Java's writer.

    Timestamps come as wall clocks of the session's zone.
    """
    if target.force_path == "big":
        return None
    values = [_wall_clock(name, c.type) for name, c in zip(sinks.data_names(columns), columns, strict=True)]
    found = fetch(target, rows.selectExpr(*leading, *values, *key_names(target.table)), limit)
    return None if found is None or needs_java_writer(found) else found


def fetch(target: WriteTarget, rows: DataFrame, limit: int | None) -> pa.Table | None:
    """All rows; None if they are more than ``limit``, which is not asked where the small path is forced."""
    forced = target.force_path == "small"
    try:
        found = (rows if forced or limit is None else _bounded(rows, limit + 1)).toArrow()
    except Exception as error:
        if _TOO_LARGE in str(error) and not forced:  # values far wider than their types let expect
            return None
        raise
    return found if forced or limit is None or found.num_rows <= limit else None


def _bounded(rows: DataFrame, limit: int) -> DataFrame:
    """``limit`` rows if there are as many, else all. Some more are let through where that saves Spark an exchange of them all."""
    tasks = classic.task_count(rows)
    return classic.limit_each_task(rows, limit) if tasks is not None and 1 < tasks <= _FEW_TASKS else rows.limit(limit)


def _wall_clock(name: str, hive_type: HiveType) -> str:
    return f"CAST({name} AS {wall_clock_type(hive_type)}) AS {name}" if holds(hive_type, is_timestamp) else name
