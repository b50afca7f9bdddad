"""What a statement would write, counted and not written: rows by clause, partition and bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.errors import InternalError
from acidsql.expressions.losses import Counter, added, counted, counts_sql, lost_names
from acidsql.plan.merge_sql import CLAUSE, LEADING_COLUMNS
from acidsql.plan.plans import MergePlan, WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundUpdate, MergeAction
from acidsql.run.resources import Resources
from acidsql.run.spark import merge_job
from acidsql.run.spark.changes import WriteSteps
from acidsql.run.spark.merges import CARDINALITY_CHECK, MergeSteps
from acidsql.run.spark.targets import Work, enforcing, write_target
from acidsql.run.trace import UNTRACED
from acidsql.spark.start.translation import translated
from acidsql.spark.write import sinks, writer
from acidsql.spark.write.bucket_expressions import bucket_number
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names
from acidsql.storage.write.target import WriteTarget
from acidsql.storage.write.touched import Touched, Touching, by_new_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUCKET = "acidsql_bucket"
_FIRST = "acidsql_first"


class Counts:
    """Counts with the statement's own source steps."""

    def __init__(self, resources: Resources, writes: WriteSteps, merges: MergeSteps) -> None:
        self._resources = resources
        self._writes = writes
        self._merges = merges

    def touched(self, plan: WritePlan | MergePlan, work: Work) -> Touching:
        target = write_target(self._resources.settings, plan, work)
        with translated(), enforcing(plan.table):
            if isinstance(plan, MergePlan):
                return self._of_merge(plan, target, work)
            return self._of_write(plan, target, work)

    def _of_merge(self, plan: MergePlan, target: WriteTarget, work: Work) -> Touching:
        check = self._resources.settings.flag(CARDINALITY_CHECK)
        with self._resources.running.tagged():
            queries = self._merges.queries(plan, work.snapshots, UNTRACED)
            return of_merge(plan, target, queries.whole(), queries.counters, check=check)

    def _of_write(self, plan: WritePlan, target: WriteTarget, work: Work) -> Touching:
        rows = self._writes.source(plan, target, work.snapshots, UNTRACED)
        if rows.table is not None:
            return Touching(parts=list(by_new_rows(target, rows.table)))
        if rows.frame is None:
            raise InternalError("LOAD DATA is explained, not counted")
        with self._resources.running.tagged():
            if isinstance(plan.action, BoundInsert):
                touching = of_inserts(target, rows.frame, rows.counters)
                return replace(touching, warnings=rows.warnings)
            updating = isinstance(plan.action, BoundUpdate)
            return of_changes(target, rows.frame, rows.counters, values=updating)


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
    columns = {
        c.name: (name, c.type)
        for name, c in zip(data_names(target.table.columns), target.table.columns, strict=True)
    }
    return rows.withColumn(
        _BUCKET,
        bucket_number(
            [columns[name] for name in bucketing.columns], bucketing.count, bucketing.version
        ),
    )


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
