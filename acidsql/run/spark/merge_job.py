"""MERGE's big path: one join, one Spark job that writes the sinks of all clauses.

Each row of the join becomes the events of its clause, told apart by SINK; the tasks sort them so
that one file is written after the other. The old ids of all clauses are then looked at together:
one that comes twice is the cardinality violation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from acidsql.acid.ids import StatementId
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.errors import CardinalityError
from acidsql.expressions.losses import Counter, added, counted, counts_sql, lost_names
from acidsql.files.fileio import FileIO, spark_url
from acidsql.plan.merge_sql import CLAUSE, LEADING_COLUMNS, changes_rows
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import MergeAction
from acidsql.run.spark import merge_job
from acidsql.spark.start.session import settings_during
from acidsql.spark.write import sinks, writer
from acidsql.spark.write.counting import Counting
from acidsql.spark.write.event_files import delete_files, finish_inserts, staged_ids
from acidsql.spark.write.stored_sql import refusals
from acidsql.spark.write.tasks import in_tasks_of_merge, with_new_bucket
from acidsql.storage.events.row_ids import (
    cardinality_error,
    check_distinct,
    read_ids,
    row_ids,
    sort_order,
)
from acidsql.storage.partitions import key_names
from acidsql.storage.write import finish
from acidsql.storage.write.finish import PartFile
from acidsql.storage.write.target import ID_BYTES, StagedFile, WriteTarget
from acidsql.storage.write.touched import Touched, Touching

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_LOCAL_READER = "spark.sql.adaptive.localShuffleReader.enabled"
"""Where Spark finds while it runs that the rows of the target are few, it joins the source as it
was read: by one task, if it is one file.
"""


def stage_merge(
    spark: SparkSession,
    io: FileIO,
    plan: MergePlan,
    target: WriteTarget,
    directory: str,
    whole: DataFrame,
    *,
    counting: Counting,
    check: bool,
) -> tuple[list[StagedFile], dict[int, int]]:
    """Finished files of ``whole`` (``plan.merge_sql``), and how many rows each
    clause is about.

    CardinalityError if ``check`` and a row of the target would be changed twice; else one change of
    each is kept.
    """
    rows = writer.named(target, whole, *LEADING_COLUMNS)
    if not check:
        rows = _once_each(plan, rows)
    clauses = [
        (clause.action, first.statement_id)
        for clause, (first, *_) in zip(plan.merge.clauses, plan.clause_sinks, strict=True)
    ]
    root = f"{directory}/rows"
    parts = _write_events(spark, io, target, root, clauses, rows, counting)
    old = {
        statement: parts.get(sinks.sink(statement, deletes=True), []) for _, statement in clauses
    }
    _check_once(spark, io, target, root, old)
    files: list[StagedFile] = []
    counts: dict[int, int] = {}
    for number, (_, statement) in enumerate(clauses):
        of_clause = replace(target, statement_id=statement)
        inserts = finish_inserts(spark, io, of_clause, parts.get(sinks.sink(statement), []))
        deletes = delete_files(
            spark, io, of_clause, root, f"{directory}/clause{number}", old[statement]
        )
        counts[number] = sum(file.rows for file in inserts or deletes)
        files += [*deletes, *inserts]
    return counting.checked(files), counts


def _write_events(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    root: str,
    clauses: Sequence[tuple[MergeAction, StatementId]],
    rows: DataFrame,
    counting: Counting,
) -> dict[int, list[PartFile]]:
    """One job that writes flat events below ``root``: the files of each sink."""
    inserting = [
        number for number, (action, _) in enumerate(clauses) if action is MergeAction.INSERT
    ]
    placed = in_tasks_of_merge(
        target, rows, f"{CLAUSE} IN ({', '.join(map(str, inserting))})" if inserting else "FALSE"
    )
    keys = key_names(target.table)
    with refusals(), settings_during(spark, {_LOCAL_READER: "false"}):
        counted = counting.of(placed, sinks.merged_events(clauses))
        events = sinks.merge_events(target, clauses, counted)
        sinks.orc_writer(target, events).partitionBy(sinks.SINK, *keys).orc(spark_url(root))
    folders = {entry.path.partition("/")[0] for entry in io.list_files(root)}
    return {
        int(folder.partition("=")[2]): sinks.part_files(io, f"{root}/{folder}")
        for folder in sorted(folders)
    }


def _once_each(plan: MergePlan, rows: DataFrame) -> DataFrame:
    """Each row of the target once, whichever change it is; rows to insert are all kept."""
    changing = [
        str(number) for number, clause in enumerate(plan.merge.clauses) if changes_rows(clause)
    ]
    alone = (
        f"IF({CLAUSE} IN ({', '.join(changing) or '-1'}), 0L, monotonically_increasing_id() + 1) AS"
        " acidsql_alone"
    )
    return (
        rows.selectExpr("*", alone)
        .dropDuplicates([*ID_FIELDS, *key_names(plan.table), "acidsql_alone"])
        .drop("acidsql_alone")
    )


def _check_once(
    spark: SparkSession,
    io: FileIO,
    target: WriteTarget,
    root: str,
    old: Mapping[StatementId, Sequence[PartFile]],
) -> None:
    """CardinalityError if an id stands in the ids staged below ``root`` twice: on the driver if
    they fit, else by a job that reads nothing else.
    """
    parts = [part for of_statement in old.values() for part in of_statement]
    count = sum(finish.tail_of(io, part.path).row_count for part in parts)
    if count * ID_BYTES > target.max_bytes:
        _check_by_job(
            staged_ids(spark, target, root, parts), [*ID_FIELDS, *key_names(target.table)]
        )
        return
    partition_numbers = {
        values: number for number, values in enumerate(dict.fromkeys(part.values for part in parts))
    }
    tables = [read_ids(io, [part.path]) for part in parts]
    if tables:
        numbers = np.concatenate(
            [
                np.full(len(t), partition_numbers[part.values], np.int64)
                for t, part in zip(tables, parts, strict=True)
            ]
        )
        ids = row_ids(pa.concat_tables(tables), numbers)
        check_distinct(ids.taken(sort_order(ids)), list(partition_numbers))


def _check_by_job(ids: DataFrame, identity: Sequence[str]) -> None:
    from pyspark.sql import functions as F

    again = ids.groupBy(*identity).count().where("count > 1")
    hit = again.agg(
        F.count(F.lit(1)).alias("rows"), F.min(F.struct(*identity, "count")).alias("first")
    ).collect()[0]
    if hit["rows"]:
        raise _violation(hit["rows"], hit["first"])


def _violation(rows_hit: int, first: Sequence[Any]) -> CardinalityError:
    """``first``: the id of the first row, its partition's values, how often it comes."""
    from acidsql.acid.ids import RowId

    *identity, changes = first
    row_id, partition = identity[: len(ID_FIELDS)], tuple(identity[len(ID_FIELDS) :])
    error = cardinality_error(RowId(*row_id), rows_hit, changes)
    error.partition = partition or None
    return error


def check_once(plan: MergePlan, rows: DataFrame) -> None:
    """CardinalityError as the statement itself would raise it, of its joined rows; for
    a dry run.
    """
    changing = [number for number, clause in enumerate(plan.merge.clauses) if changes_rows(clause)]
    if changing:
        changes = rows.where(f"{CLAUSE} IN ({', '.join(map(str, changing))})")
        _check_by_job(changes, [*ID_FIELDS, *key_names(plan.table)])


# ---- dry runs
#
# What a statement would write, counted and not written: rows by clause, partition and bucket.


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
