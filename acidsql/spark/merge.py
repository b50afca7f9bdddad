"""MERGE: which of the two paths, and how the answers of its queries become the files of each clause.

Small path: the source's rows are fetched once and numbered on the driver, the target's are looked up by their keys (key_lookup) or, where
more than equal keys counts, joined with them by a broadcast, and what no pair names was not matched. So the target is scanned once, nothing
is shuffled, and a source that gives other rows each time it is read is read once. Values that are mere columns of the source are copied on
the driver (merge_source). Big path: see merge_job.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.parser.statements import Match
from acidsql.planner.bound import MergeAction
from acidsql.planner.conditions import PartitionCondition
from acidsql.planner.merge import CLAUSE, LEADING_COLUMNS, SOURCE_ROW
from acidsql.planner.physical import MergePlan
from acidsql.planner.plan import Predicate
from acidsql.spark import driver_writer, merge_job, merge_source, sinks, writer
from acidsql.spark.driver_writer import ID_COLUMNS, EventFile
from acidsql.spark.fetching import fetch, fetch_rows
from acidsql.spark.fileio import FileIO
from acidsql.spark.key_lookup import Keys
from acidsql.spark.partition_places import by_values, key_names, numbered
from acidsql.spark.publish import partitions_of, publish, staging
from acidsql.spark.target import ID_BYTES, WritePath, WriteTarget, Written
from acidsql.spark.timestamps import needs_java_writer
from acidsql.spark.views import temporary_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


class Queries(Protocol):
    """The queries of planner.merge as DataFrames under the statement's snapshot. ``lookup``: see KeyLookup.pairs."""

    def source(self) -> DataFrame: ...
    def changes(self, numbered_source: str | None) -> DataFrame: ...
    def pairs(self, numbered_source: str) -> DataFrame: ...
    def lookup(self, keys: Keys, limit: int) -> pa.Table | None: ...
    def narrowed(self, predicates: Sequence[Predicate], partitions: Sequence[PartitionCondition]) -> Queries: ...
    def inserts(self, unmatched_source: str) -> DataFrame: ...
    def whole(self) -> DataFrame: ...


def merge(spark: SparkSession, io: FileIO, plan: MergePlan, target: WriteTarget, queries: Queries, *, check: bool) -> Written:
    """``target`` of the statement's own write id. CardinalityError if ``check`` and a row would be changed twice; else one change wins."""
    found = None if target.force_path == "big" else _fetch(spark, plan, target, queries)
    if found is None:
        return _merge_by_job(spark, io, plan, target, queries, check=check)
    changes, inserts = found
    if not changes.num_rows and not inserts.num_rows:
        return _counted(plan, {}, path="small")
    changes = _once_each(target, changes, check=check)
    files: list[EventFile] = []
    counts: dict[int, int] = {}
    for number, sink in _targets(plan, target):
        rows = inserts if plan.merge.clauses[number].action is MergeAction.INSERT else changes
        mine = rows.filter(pc.equal(rows.column(CLAUSE), number))
        counts[number] = mine.num_rows
        for values, part in by_values(target.table, mine) if mine.num_rows else ():
            files += _files(plan, number, sink.at(values), part)
    return driver_writer.write_files(io, target, files, _counted(plan, counts, path="small"))


# ---- small path


def _fetch(spark: SparkSession, plan: MergePlan, target: WriteTarget, queries: Queries) -> tuple[pa.Table, pa.Table] | None:
    """LEADING_COLUMNS and values of the rows to change, and of those to insert; None if they are too many for the driver."""
    matches = {clause.match for clause in plan.merge.clauses}
    frame = queries.source()
    copying = merge_source.are_copies(plan, frame.schema)
    source = _fetch_source(target, frame) if copying or Match.NOT_MATCHED in matches else None
    if source is None and Match.NOT_MATCHED not in matches:
        changes = _fetch_rows(target, queries.changes(None))
        return None if changes is None else (changes, changes.slice(0, 0))
    if source is None:
        return None
    if Match.NOT_MATCHED_BY_SOURCE not in matches:
        queries = queries.narrowed(*merge_source.key_predicates(plan, source, frame.schema))
    if copying:
        pairs = _fetch_pairs(spark, plan, target, queries, source, merge_source.lookup_keys(plan, source, frame.schema))
    else:
        pairs = _fetch_changes(spark, target, queries, source)
    if pairs is None:
        return None
    changes = pairs.filter(pc.is_valid(pairs.column(CLAUSE)))
    if Match.NOT_MATCHED not in matches:
        return changes, changes.slice(0, 0)
    unmatched = source.filter(pc.invert(pc.is_in(source.column(SOURCE_ROW), pairs.column(SOURCE_ROW).combine_chunks())))
    if not unmatched.num_rows:
        return changes, changes.slice(0, 0)
    if merge_source.inserts_are_copies(plan, frame.schema):
        inserts: pa.Table | None = merge_source.copied_inserts(plan, unmatched)
    else:
        with _view(spark, unmatched) as rest:
            inserts = _fetch_rows(target, queries.inserts(rest), unbounded=True)  # no more than the source's rows
    return None if inserts is None or needs_java_writer(inserts) else (changes, inserts)


def _fetch_changes(spark: SparkSession, target: WriteTarget, queries: Queries, source: pa.Table) -> pa.Table | None:
    """The pairs of the join with the values Spark computes."""
    with _view(spark, source, broadcast=True) as numbered:
        return _fetch_rows(target, queries.changes(numbered))


def _fetch_pairs(
    spark: SparkSession, plan: MergePlan, target: WriteTarget, queries: Queries, source: pa.Table, keys: Keys | None
) -> pa.Table | None:
    """The pairs of the join; their values are copied from the source. ``keys``: what equal values of make a pair, if that is all."""
    pairs = None if keys is None else queries.lookup(keys, target.max_bytes // ID_BYTES)
    if pairs is not None:
        pairs = merge_source.with_clause(pairs, source)
    else:
        with _view(spark, merge_source.asked_columns(plan, source), broadcast=True) as numbered:
            pairs = fetch(target, writer.named(target, queries.pairs(numbered), *LEADING_COLUMNS, values=False), target.max_bytes)
    if pairs is None:
        return None
    found = merge_source.with_copies(plan, pairs.filter(pc.is_valid(pairs.column(CLAUSE))), source)
    rest = pairs.filter(pc.is_null(pairs.column(CLAUSE)))
    order = [*LEADING_COLUMNS, *sinks.data_names(target.table.columns), *key_names(target.table)]
    whole = pa.concat_tables([found.select(order), rest], promote_options="default") if rest.num_rows else found.select(order)
    return None if needs_java_writer(whole) else whole


def _fetch_rows(target: WriteTarget, frame: DataFrame, *, unbounded: bool = False) -> pa.Table | None:
    """None if they are too many, or need Java's writer."""
    columns = target.table.columns
    bound = None if unbounded else target.max_bytes
    return fetch_rows(target, writer.named(target, frame, *LEADING_COLUMNS), LEADING_COLUMNS, columns, bound)


def _fetch_source(target: WriteTarget, frame: DataFrame) -> pa.Table | None:
    """The source's rows with their numbers as a last column SOURCE_ROW.

    None if they are too many, if two columns have one name, or if a type does not come back from Arrow as it went.
    """
    names = [name.lower() for name in frame.columns]
    if len(set(names)) < len(names) or not _comes_back(frame.schema):
        return None
    found = fetch(target, frame, target.max_bytes)
    return None if found is None else found.append_column(SOURCE_ROW, pa.array(np.arange(found.num_rows)))


def _comes_back(kind: DataType) -> bool:
    from pyspark.sql import types as t

    match kind:
        case t.StructType():
            return all(_comes_back(field.dataType) for field in kind.fields)
        case t.ArrayType():
            return _comes_back(kind.elementType)
        case t.MapType():
            return _comes_back(kind.keyType) and _comes_back(kind.valueType)
        case _:
            plain = (t.NumericType, t.StringType, t.BinaryType, t.BooleanType, t.DateType, t.TimestampType, t.TimestampNTZType)
            return isinstance(kind, plain)


@contextlib.contextmanager
def _view(spark: SparkSession, rows: pa.Table, *, broadcast: bool = False) -> Iterator[str]:
    """The rows as a temporary view."""
    from pyspark.sql import functions

    frame = spark.createDataFrame(rows)
    with temporary_view(functions.broadcast(frame) if broadcast else frame) as name:
        yield name


def _once_each(target: WriteTarget, changes: pa.Table, *, check: bool) -> pa.Table:
    """Each row of the target once; of several changes the one of the first clause and the first row of the source is kept."""
    if not changes.num_rows:
        return changes
    first_wins = changes.sort_by([(CLAUSE, "ascending"), (SOURCE_ROW, "ascending")])
    keys = key_names(target.table)
    ids = driver_writer.row_ids(first_wins, numbered(first_wins.select(keys))[0] if keys else None)
    order = driver_writer.sort_order(ids)
    ordered = ids.taken(order)
    if check:
        driver_writer.check_distinct(ordered)
        return changes
    return first_wins.take(pa.array(order[~driver_writer.repeats(ordered)]))


def _targets(plan: MergePlan, target: WriteTarget) -> Iterator[tuple[int, WriteTarget]]:
    """Where each clause writes."""
    for number, clause_sinks in enumerate(plan.clause_sinks):
        yield number, replace(target, statement_id=clause_sinks[0].statement_id)


def _files(plan: MergePlan, number: int, target: WriteTarget, rows: pa.Table) -> list[EventFile]:
    """Of the rows a clause is about."""
    values = rows.select(sinks.data_names(target.table.columns))
    match plan.merge.clauses[number].action:
        case MergeAction.INSERT:
            return driver_writer.inserted_files(target, values)
        case MergeAction.DELETE:
            return driver_writer.deleted_files(target, rows)
        case MergeAction.UPDATE:
            return driver_writer.updated_files(target, rows.select([*ID_COLUMNS, *values.column_names]))


# ---- big path


def _merge_by_job(spark: SparkSession, io: FileIO, plan: MergePlan, target: WriteTarget, queries: Queries, *, check: bool) -> Written:
    with staging(io, target) as directory:
        files, counts = merge_job.stage_merge(spark, io, plan, target, directory, queries.whole(), check=check)
        directories = publish(io, target, files)
    return replace(_counted(plan, counts, path="big"), directories=directories, partitions=partitions_of(files))


# ---- what was done


def _counted(plan: MergePlan, counts: Mapping[int, int], *, path: WritePath) -> Written:
    totals = dict.fromkeys(MergeAction, 0)
    for number, clause in enumerate(plan.merge.clauses):
        totals[clause.action] += counts.get(number, 0)
    return Written(
        inserted=totals[MergeAction.INSERT],
        updated=totals[MergeAction.UPDATE],
        deleted=totals[MergeAction.DELETE],
        clauses=tuple(counts.get(number, 0) for number in range(len(plan.merge.clauses))),
        path=path,
    )
