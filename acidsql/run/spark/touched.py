"""What a statement would write, counted and not written: rows by clause, partition and bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.expressions.losses import Counter, added, counted, counts_sql, lost_names
from acidsql.plan.merge_sql import CLAUSE, LEADING_COLUMNS
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import MergeAction
from acidsql.run.spark import merge_job
from acidsql.spark.write import sinks, writer
from acidsql.spark.write.tasks import with_new_bucket
from acidsql.storage.partitions import key_names
from acidsql.storage.write.target import WriteTarget
from acidsql.storage.write.touched import Touched, Touching

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUCKET = "acidsql_bucket"
_FIRST = "acidsql_first"


def of_inserts(target: WriteTarget, rows: DataFrame, counters: Sequence[Counter] = ()) -> Touching:
    """What an INSERT touches; its rows are those that ``writer.as_named`` takes."""
    named = writer.named(target, rows).selectExpr("0 AS " + CLAUSE, "*")
    return _counted(target, _with_new_bucket(target, named), counters)


def of_changes(
    target: WriteTarget, rows: DataFrame, counters: Sequence[Counter] = (), *, values: bool
) -> Touching:
    """What an UPDATE (``values``) or DELETE touches; its rows are those that ``writer.as_named``
    takes.
    """
    named = writer.named(target, rows, *ID_FIELDS, values=values)
    located = named.selectExpr("0 AS " + CLAUSE, "*", f"{sinks.DECODED_BUCKET} AS {_BUCKET}")
    return _counted(target, located, counters)


def of_merge(
    plan: MergePlan,
    target: WriteTarget,
    whole: DataFrame,
    counters: Sequence[Counter] = (),
    *,
    check: bool,
) -> Touching:
    """What the clauses of a MERGE touch. CardinalityError as MERGE itself would raise it; without
    ``check`` a row is of the first clause that would change it.
    """
    from pyspark.sql import functions as F

    rows = writer.named(target, whole, *LEADING_COLUMNS)
    if check:
        merge_job.check_once(plan, rows)
    inserting = [
        number
        for number, clause in enumerate(plan.merge.clauses)
        if clause.action is MergeAction.INSERT
    ]
    keys, lost = [*key_names(target.table), _BUCKET], lost_names(rows.columns)
    inserts = rows.where(F.col(CLAUSE).isin(inserting))
    new = _with_new_bucket(target, inserts).select(CLAUSE, *keys, *lost)
    old = rows.where(~F.col(CLAUSE).isin(inserting)).selectExpr(
        "*", f"{sinks.DECODED_BUCKET} AS {_BUCKET}"
    )
    if not check:
        first = F.min(F.struct(CLAUSE, *lost)).alias(_FIRST)
        old = old.groupBy(*ID_FIELDS, *keys).agg(first).select(*keys, f"{_FIRST}.*")
    every = new.unionByName(old.select(CLAUSE, *keys, *lost))
    return _counted(target, every, counters)


def _with_new_bucket(target: WriteTarget, rows: DataFrame) -> DataFrame:
    bucketing = target.table.bucketing
    if bucketing is None:
        return rows.selectExpr("*", f"CAST(NULL AS int) AS {_BUCKET}")
    rows, number = with_new_bucket(target.table, bucketing, rows)
    return rows.withColumn(_BUCKET, number)


def _counted(target: WriteTarget, rows: DataFrame, counters: Sequence[Counter]) -> Touching:
    from pyspark.sql import functions as F

    grouped = [CLAUSE, *key_names(target.table), _BUCKET]
    every = [F.count(F.lit(1)), *map(F.expr, counts_sql(counters))]
    counts = [tuple(row) for row in rows.groupBy(*grouped).agg(*every).collect()]
    parts: list[Touched] = []
    lost = [0] * len(counters)
    for row in sorted(counts, key=lambda row: [(v is None, v) for v in row[: len(grouped)]]):
        clause, *values, bucket = row[: len(grouped)]
        count, *marks = row[len(grouped) :]
        partition = target.at(tuple(values)).partition
        parts.append(Touched(clause=clause, partition=partition, bucket=bucket, rows=count))
        lost = added(lost, marks)
    return Touching(parts=parts, lost=counted(counters, lost))
