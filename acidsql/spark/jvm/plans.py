"""What Spark's plans of a DataFrame do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from acidsql.spark.jvm.java import (
    JavaObject,
    Jvm,
    integer,
    java_class,
    need_java,
    remembered,
    scala_object,
    seq,
    sql_class,
)

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
    """Spark's own estimate of a plan's output, None on Spark Connect.

    Joins and aggregates make it far too large or small.
    """
    if not hasattr(frame, "_jdf"):
        return None
    return int(str(cast(Any, frame)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def row_bytes(frame: DataFrame) -> int | None:
    """What Spark takes a row to weigh by its types: a string 20 bytes, an array one element.

    None on Spark Connect.
    """
    return (
        max(1, int(cast(Any, frame)._jdf.schema().defaultSize()))
        if hasattr(frame, "_jdf")
        else None
    )


def keeps_all_rows(frame: DataFrame) -> bool:
    """Whether the plan only scans and computes columns, so that the estimate of its size is one of
    what is really there.

    False on Spark Connect.
    """
    return hasattr(frame, "_jdf") and _consists_of(frame, _KEEPS_ALL_ROWS)


def reads_the_same(frame: DataFrame) -> bool:
    """Whether the plan gives the same rows again: it filters and computes, certainly, what lies in
    files or in the plan itself.

    False on Spark Connect.
    """
    if not hasattr(frame, "_jdf") or _has_subqueries(frame):
        return False
    return all(
        _kind(plan) in _SAME_AGAIN and plan.deterministic() and _is_of_files(plan)
        for plan in _nodes(frame)
    )


_SAME_AGAIN = (
    "Project",
    "Filter",
    "LocalRelation",
    "Range",
    "Union",
    "SubqueryAlias",
    "View",
    "LogicalRelation",
    "Relation",
)


def _is_of_files(plan: JavaObject) -> bool:
    """Whether a plan reads files; also True of a plan that is no relation of a source."""
    if str(plan.getClass().getSimpleName()) != "LogicalRelation":
        return True
    return str(plan.relation().getClass().getSimpleName()) == "HadoopFsRelation"


def task_count(frame: DataFrame) -> int | None:
    """How many tasks run a plan that only scans, filters and computes columns; None for another
    plan, and on Spark Connect.
    """
    if (
        not hasattr(frame, "_jdf")
        or _joins(frame)
        or not _consists_of(frame, (*_KEEPS_ALL_ROWS, "Filter", "LocalLimit"))
    ):
        return None
    if _has_subqueries(frame):  # they would run here and now
        return None
    return int(cast(Any, frame)._jdf.queryExecution().toRdd().getNumPartitions())


def is_one_aggregate(frame: DataFrame) -> bool:
    """Whether a query gives one row, of functions over all rows of what it scans, filters and
    computes; not those of distinct values.

    False on Spark Connect.
    """
    if not hasattr(frame, "_jdf"):
        return False
    plan = cast(Any, frame)._jdf.queryExecution().analyzed()
    door = need_java(frame.sparkSession)
    if (
        str(plan.nodeName()) != "Aggregate"
        or not plan.groupingExpressions().isEmpty()
        or plan.containsPattern(_pattern(door, _SUBQUERY))
    ):
        return False
    others = remembered(
        door,
        "patterns of exchanges",
        lambda: seq(door, *(_pattern(door, name) for name in _EXCHANGES)),
    )
    return not plan.child().containsAnyPattern(others) and "distinct" not in str(
        plan.aggregateExpressions().toString()
    )


_SUBQUERY = "PLAN_EXPRESSION"
_EXCHANGES = (
    "AGGREGATE",
    "DISTINCT_LIKE",
    "JOIN",
    "LIMIT",
    "REPARTITION_OPERATION",
    "SORT",
    "WINDOW",
)


def is_literal(frame: DataFrame) -> bool:
    """Whether the rows are part of the plan, as those of VALUES: Spark computes further columns of
    them while it plans.

    False on Spark Connect, where the caller must take any rows for such.
    """
    return hasattr(frame, "_jdf") and _consists_of(frame, ("LocalRelation",))


def mixed_marks(frame: DataFrame, key: str) -> frozenset[str] | None:
    """What the metadata under ``key`` say of columns whose values have come together with others':
    where not all branches of a UNION say it, or in structs, which may come together anywhere. Spark
    takes what is said of the first for what is said of all.

    None, for any of them, on Spark Connect.
    """
    if not hasattr(frame, "_jdf"):
        return None
    door = need_java(frame.sparkSession)
    union, struct = _pattern(door, "UNION"), _pattern(door, "CREATE_NAMED_STRUCT")
    plan = cast(Any, frame)._jdf.queryExecution().analyzed()
    mixed: set[str | None] = set()
    for node in _below(plan, (union, struct)):
        if _kind(node) == "Union":
            branches = [_marks(child, key) for child in _items(node.children())]
            for marks in zip(*branches, strict=True):
                mixed.update(marks if len(set(marks)) > 1 else ())
        for one in _items(node.expressions()):
            if one.containsPattern(struct):
                mixed.update(_mark(a, key) for a in _items(one.references().toSeq()))
    return frozenset(mark for mark in mixed if mark is not None)


def _marks(plan: JavaObject, key: str) -> list[str | None]:
    return [_mark(attribute, key) for attribute in _items(plan.output())]


def _mark(attribute: JavaObject, key: str) -> str | None:
    metadata = attribute.metadata()
    return str(metadata.getString(key)) if metadata.contains(key) else None


def limit_each_task(frame: DataFrame, rows: int) -> DataFrame:
    """The first rows of each task, at most ``rows``: this is ``limit`` without the exchange that
    gathers all rows in one task.

    UnsupportedStatementError on Spark Connect.
    """
    from pyspark.sql import DataFrame

    door = need_java(frame.sparkSession)
    java = cast(Any, frame)._jdf
    local_limit = java_class(door, "org.apache.spark.sql.catalyst.plans.logical.LocalLimit")
    limited = local_limit(integer(door, rows), java.queryExecution().logical())
    return DataFrame(
        sql_class(door, "Dataset").ofRows(frame.sparkSession._jsparkSession, limited),
        frame.sparkSession,
    )


def _joins(frame: DataFrame) -> bool:
    """Whether the query says so; then it need not be optimized first."""
    join = _pattern(need_java(frame.sparkSession), "JOIN")
    return bool(cast(Any, frame)._jdf.queryExecution().analyzed().containsPattern(join))


def _pattern(door: Jvm, name: str) -> JavaObject:
    """A mark that trees of plans and expressions carry."""
    patterns = "org.apache.spark.sql.catalyst.trees.TreePattern"
    return remembered(
        door, f"pattern {name}", lambda: getattr(scala_object(door, patterns), name)()
    )


def _consists_of(frame: DataFrame, kinds: Collection[str]) -> bool:
    return all(kind in kinds or kind.startswith("Relation") for kind in map(_kind, _nodes(frame)))


def _kind(plan: JavaObject) -> str:
    return str(plan.nodeName()).split()[0]


def _has_subqueries(frame: DataFrame) -> bool:
    return not cast(Any, frame)._jdf.queryExecution().optimizedPlan().subqueriesAll().isEmpty()


def _nodes(frame: DataFrame) -> Iterator[JavaObject]:
    """The nodes of the optimized plan, from its root."""
    pending = [cast(Any, frame)._jdf.queryExecution().optimizedPlan()]
    while pending:
        plan = pending.pop()
        yield plan
        pending += _items(plan.children())


def _below(plan: JavaObject, patterns: Sequence[JavaObject]) -> Iterator[JavaObject]:
    """The nodes of a plan, and of the sub-queries in its expressions, that have one of the
    patterns, or something below them does.
    """
    pending = [plan]
    while pending:
        plan = pending.pop()
        if any(plan.containsPattern(pattern) for pattern in patterns):
            yield plan
            pending += [*_items(plan.children()), *_items(plan.subqueries())]


def _items(sequence: JavaObject) -> list[JavaObject]:
    return [sequence.apply(i) for i in range(sequence.size())]
