"""The small path's fetch: rows come to the driver if they are few enough for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from acidsql.catalog.model import Column
from acidsql.catalog.types import HiveType, holds, is_timestamp
from acidsql.expressions.losses import lost_names
from acidsql.expressions.spark_words import identifier
from acidsql.spark import jvm
from acidsql.spark.write.stored_sql import wall_clock_type
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names, needs_java_writer
from acidsql.storage.write.target import WriteTarget

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_FEW_TASKS = 4
"""The number of tasks that may each send the driver as many rows as it wants in all."""

_TOO_LARGE = "spark.driver.maxResultSize"

_VALUE_BYTES = 64
"""What a value is taken to weigh where nothing can be weighed: on Spark Connect."""

_OVER = "acidsql_over"


def fetch_rows(
    target: WriteTarget,
    rows: DataFrame,
    leading: Sequence[str],
    columns: Sequence[Column],
    max_bytes: int | None,
) -> pa.Table | None:
    """``leading``, the values of ``columns`` and the partition's, and marks; None if the rows weigh
    too much or need Java's writer.

    Timestamps come as wall clocks of the session's zone.
    """
    if target.force_path == "big":
        return None
    values = [
        _wall_clock(name, c.type) for name, c in zip(data_names(columns), columns, strict=True)
    ]
    names = [*leading, *values, *key_names(target.table), *lost_names(rows.columns)]
    fetched = fetch(target, rows.selectExpr(*names), max_bytes)
    return None if fetched is None or needs_java_writer(fetched) else fetched


def fetch(target: WriteTarget, rows: DataFrame, max_bytes: int | None) -> pa.Table | None:
    """All rows; None if they weigh more than ``max_bytes``, which is not asked where the small path
    is forced. One row is never too much.
    """
    if max_bytes is None or target.force_path == "small":
        return jvm.arrow_table(rows)
    limit = max(1, max_bytes // (jvm.row_bytes(rows) or _VALUE_BYTES * max(1, len(rows.columns))))
    try:
        table = jvm.arrow_table(_bounded(rows, limit + 1, max_bytes))
    except Exception as error:
        if _TOO_LARGE in str(error):
            return None
        raise
    if _OVER in table.column_names:
        if pc.any(table.column(_OVER)).as_py():
            return None
        table = table.drop_columns([_OVER])
    fits = table.num_rows <= 1 or (table.num_rows <= limit and table.nbytes <= max_bytes)
    return table if fits else None


def _bounded(rows: DataFrame, limit: int, max_bytes: int) -> DataFrame:
    """``limit`` rows if there are as many, else all. Some more are let through where that saves
    Spark an exchange of them all.

    Their types tell nothing of the width of texts: the rows are ``_weighed`` unless what they are
    made from is no more than ``max_bytes``.
    """
    if jvm.jvm(rows.sparkSession) is None:
        return rows.limit(limit)
    few = _first_of_each_task(rows, limit)
    tasks = jvm.task_count(few)
    if tasks is None:  # there are joins or the like, whose size is anybody's guess
        return _weighed(rows.limit(limit), max_bytes)
    heavy = (jvm.estimated_bytes(few) or 0) > max_bytes
    if tasks > _FEW_TASKS:
        return _weighed(rows.limit(limit), max_bytes) if heavy else rows.limit(limit)
    if not heavy:
        return few
    each = _weighed(rows, max_bytes)
    if tasks < 2:
        return each.limit(limit)
    # Spark makes the code of a limit anew each time. Behind a coalesce, which does nothing else
    # here, that is not the scan's code, too.
    return jvm.limit_each_task(each.coalesce(tasks), limit)


def _first_of_each_task(rows: DataFrame, count: int) -> DataFrame:
    """The first ``count`` rows of each task. Unlike a limit it reads the rows that it leaves out,
    too, but its code is made once and runs in the scan's own loop.
    """
    from pyspark.sql import functions as F

    return rows.where(jvm.sum_before(rows.sparkSession, F.lit(1).cast("bigint")) < count)


def _weighed(rows: DataFrame, max_bytes: int) -> DataFrame:
    """``rows`` with NULL for each value without a fixed width, and _OVER true, once the values
    before it in its task weigh more than ``max_bytes``.

    The driver's memory then does not depend on what a table holds.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    texts = t.StringType | t.BinaryType
    wide = {
        f.name: f.dataType
        for f in rows.schema.fields
        if isinstance(f.dataType, texts | t.ArrayType | t.MapType | t.StructType)
    }
    if not wide:
        return rows
    weights = []
    for name, kind in wide.items():
        text = (
            identifier(name) if isinstance(kind, texts) else f"CAST({identifier(name)} AS STRING)"
        )
        weights.append(f"coalesce(octet_length({text}), 0)")
    before = jvm.sum_before(rows.sparkSession, F.expr(f"CAST({' + '.join(weights)} AS bigint)"))
    shown = [
        f"IF({_OVER}, NULL, {identifier(n)}) AS {identifier(n)}" if n in wide else identifier(n)
        for n in rows.columns
    ]
    return rows.select("*", (before > max_bytes).alias(_OVER)).selectExpr(*shown, _OVER)


def _wall_clock(name: str, hive_type: HiveType) -> str:
    return (
        f"CAST({name} AS {wall_clock_type(hive_type)}) AS {name}"
        if holds(hive_type, is_timestamp)
        else name
    )
