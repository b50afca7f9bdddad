"""What Spark's plans of a DataFrame do."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from acidsql.spark.classic.java import CATALYST, TYPES, java_class, jvm, scala_object

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    count = java_class(door, f"{CATALYST}.Literal")(rows, scala_object(door, f"{TYPES}.IntegerType"))
    limited = java_class(door, "org.apache.spark.sql.catalyst.plans.logical.LocalLimit")(count, java.queryExecution().logical())
    return DataFrame(
        java_class(door, "org.apache.spark.sql.classic.Dataset").ofRows(frame.sparkSession._jsparkSession, limited), frame.sparkSession
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
