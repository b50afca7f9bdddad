"""What a statement would write, counted and not written: rows by clause, partition and bucket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.catalog.model import Partition
from acidsql.planner.bound import MergeAction
from acidsql.planner.merge import CLAUSE, LEADING_COLUMNS
from acidsql.planner.physical import MergePlan
from acidsql.spark import merge_job, sinks, writer
from acidsql.spark.driver_writer import ID_COLUMNS, bucket_order, row_values
from acidsql.spark.expressions import bucket_number
from acidsql.spark.partition_places import by_values, key_names
from acidsql.spark.target import WriteTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUCKET = "acidsql_bucket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Rows of one clause (0 for a statement that has none) in one partition and bucket; ``bucket`` None: any may be chosen."""

    clause: int
    partition: Partition | None
    bucket: int | None
    rows: int


def of_literals(target: WriteTarget, rows: pa.Table) -> list[Touched]:
    """Of literal rows to insert."""
    found = []
    for values, part in by_values(target.table, rows):
        partition = target.at(values).partition
        for bucket, of_bucket in bucket_order(target.table, row_values(part, target.table.columns)):
            known = int(bucket) if target.table.bucketing is not None else None
            found.append(Touched(clause=0, partition=partition, bucket=known, rows=len(of_bucket)))
    return found


def of_inserts(target: WriteTarget, rows: DataFrame) -> list[Touched]:
    """Of rows to insert, as ``writer.insert`` takes them."""
    named = writer.named(target, rows).selectExpr("0 AS " + CLAUSE, "*")
    return list(_counted(target, _with_new_bucket(target, named)))


def of_changes(target: WriteTarget, rows: DataFrame, *, values: bool) -> list[Touched]:
    """Of rows to update (``values``) or delete, as ``writer.update`` and ``writer.delete`` take them."""
    named = writer.named(target, rows, *ID_COLUMNS, values=values)
    return list(_counted(target, named.selectExpr("0 AS " + CLAUSE, "*", f"{sinks.DECODED_BUCKET} AS {_BUCKET}")))


def of_merge(plan: MergePlan, target: WriteTarget, whole: DataFrame, *, check: bool) -> list[Touched]:
    """Of every clause. CardinalityError as MERGE itself would raise it; without ``check`` a row is of the first clause that would change it."""
    from pyspark.sql import functions as F

    rows = writer.named(target, whole, *LEADING_COLUMNS)
    if check:
        merge_job.check_once(plan, rows)
    inserting = [number for number, clause in enumerate(plan.merge.clauses) if clause.action is MergeAction.INSERT]
    place = [*key_names(target.table), _BUCKET]
    new = _with_new_bucket(target, rows.where(F.col(CLAUSE).isin(inserting))).select(CLAUSE, *place)
    old = rows.where(~F.col(CLAUSE).isin(inserting)).selectExpr("*", f"{sinks.DECODED_BUCKET} AS {_BUCKET}")
    if not check:
        old = old.groupBy(*ID_COLUMNS, *place).agg(F.min(CLAUSE).alias(CLAUSE))
    return list(_counted(target, new.unionByName(old.select(CLAUSE, *place))))


def _with_new_bucket(target: WriteTarget, rows: DataFrame) -> DataFrame:
    bucketing = target.table.bucketing
    if bucketing is None:
        return rows.selectExpr("*", f"CAST(NULL AS int) AS {_BUCKET}")
    columns = {c.name: (name, c.type) for name, c in zip(sinks.data_names(target.table.columns), target.table.columns, strict=True)}
    return rows.withColumn(_BUCKET, bucket_number([columns[name] for name in bucketing.columns], bucketing.count, bucketing.version))


def _counted(target: WriteTarget, rows: DataFrame) -> Iterator[Touched]:
    keys = key_names(target.table)
    counts = rows.groupBy(CLAUSE, *keys, _BUCKET).count().collect()
    for clause, *values, bucket, count in sorted((tuple(row) for row in counts), key=lambda row: [(v is None, v) for v in row]):
        yield Touched(clause=clause, partition=target.at(tuple(values)).partition, bucket=bucket, rows=count)
