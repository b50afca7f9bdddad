"""MERGE: which of the two paths, and how the answers of its queries become the files of each
clause.

Small path: the source's rows are fetched once and numbered on the driver, the target's are looked
up by their keys (key_lookup) or, where more than equal keys counts, joined with them by a
broadcast, and what no pair names was not matched. So the target is scanned once, nothing is
shuffled, and a source that gives other rows each time it is read is read once. Values that are mere
columns of the source are copied on the driver (merge_source). Big path: see merge_job.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.expressions.losses import Counter
from acidsql.expressions.predicate import Predicate
from acidsql.expressions.spark_words import SOURCE_ROW
from acidsql.expressions.tree import PartitionCondition
from acidsql.files.fileio import FileIO
from acidsql.parser.statements import Match
from acidsql.plan.merge_sql import CLAUSE, LEADING_COLUMNS
from acidsql.plan.operators import (
    CheckOnce,
    FetchSource,
    InsertUnmatched,
    Job,
    Join,
    LookUp,
    WriteFiles,
)
from acidsql.plan.plans import MergePlan
from acidsql.run.driver import merge_source
from acidsql.run.driver.merge_files import counted, once_each, write_clauses
from acidsql.run.resources import temporary_view
from acidsql.run.spark import merge_job
from acidsql.run.trace import Trace, all_steps
from acidsql.spark import jvm
from acidsql.spark.read.answers import wall_clock
from acidsql.spark.write import writer
from acidsql.spark.write.fetching import fetch, fetch_rows
from acidsql.spark.write.losses import Counting
from acidsql.storage.key_lookup import Keys
from acidsql.storage.partitions import key_names
from acidsql.storage.stored import data_names, needs_java_writer
from acidsql.storage.write.publish import partitions_of, staging, take_in
from acidsql.storage.write.target import ID_BYTES, WriteTarget, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


class Queries(Protocol):
    """The queries of ``planner.steps.merge`` as DataFrames under the statement's snapshot.
    ``lookup``: see KeyLookup.pairs. ``counters``: those of the marks of the rows that they give, as
    far as they have been asked for.
    """

    @property
    def counters(self) -> Sequence[Counter]: ...

    def source(self) -> DataFrame: ...
    def changes(self, numbered_source: str | None) -> DataFrame: ...
    def pairs(self, numbered_source: str) -> DataFrame: ...
    def lookup(self, keys: Keys, limit: int) -> pa.Table | None: ...
    def narrowed(
        self, predicates: Sequence[Predicate], partitions: Sequence[PartitionCondition]
    ) -> Queries: ...
    def inserts(self, unmatched_source: str) -> DataFrame: ...
    def whole(self) -> DataFrame: ...


def merge(
    spark: SparkSession,
    io: FileIO,
    plan: MergePlan,
    target: WriteTarget,
    queries: Queries,
    trace: Trace,
    *,
    check: bool,
) -> Written:
    """Carries a MERGE out; ``target`` has the statement's own write id. CardinalityError if
    ``check`` and a row would be changed twice; else one change wins.
    """
    fetched = None if target.force_path == "big" else _fetch(spark, plan, target, queries, trace)
    if fetched is None:
        with trace.running_a(Job) as figures:
            written = _merge_by_job(spark, io, plan, target, queries, check=check)
            figures.rows, figures.files = sum(written.clauses), len(written.directories)
        return written
    changes, inserts = fetched
    if any(isinstance(step, CheckOnce) for step in all_steps(plan.steps)):
        with trace.running_a(CheckOnce) as figures:
            changes, figures.rows = once_each(target, changes, check=True), changes.num_rows
    elif not check:
        changes = once_each(target, changes, check=False)
    with trace.running_a(WriteFiles) as figures:
        written = write_clauses(io, plan, target, changes, inserts, queries.counters)
        figures.rows, figures.files = sum(written.clauses), len(written.directories)
    return written


# ---- small path


def _fetch(
    spark: SparkSession, plan: MergePlan, target: WriteTarget, queries: Queries, trace: Trace
) -> tuple[pa.Table, pa.Table] | None:
    """LEADING_COLUMNS and values of the rows to change, and of those to insert; None if they are
    too many for the driver.
    """
    matches = {clause.match for clause in plan.merge.clauses}
    frame = queries.source()
    kinds = _kinds(frame.schema)
    copying = merge_source.are_copies(plan, kinds)
    source = (
        _fetch_source(target, frame, trace) if copying or Match.NOT_MATCHED in matches else None
    )
    if source is None and Match.NOT_MATCHED not in matches:
        changes = _joined(trace, False, lambda: _fetch_rows(target, queries.changes(None)))
        return None if changes is None else (changes, changes.slice(0, 0))
    if source is None:
        return None
    if Match.NOT_MATCHED_BY_SOURCE not in matches:
        queries = queries.narrowed(*merge_source.key_predicates(plan, source, kinds))
    if copying:
        pairs = _fetch_pairs(
            spark,
            plan,
            target,
            queries,
            source,
            merge_source.lookup_keys(plan, source, kinds),
            trace,
        )
    else:
        pairs = _joined(trace, True, lambda: _fetch_changes(spark, target, queries, source))
    if pairs is None:
        return None
    changes = pairs.filter(pc.is_valid(pairs.column(CLAUSE)))
    if Match.NOT_MATCHED not in matches:
        return changes, changes.slice(0, 0)
    with trace.running_a(InsertUnmatched) as figures:
        inserts = _inserts(spark, plan, target, queries, source, pairs, kinds)
        figures.rows, figures.in_vain = (
            (None, True) if inserts is None else (inserts.num_rows, False)
        )
    if inserts is None or needs_java_writer(inserts):
        return None
    return changes, inserts if inserts.num_rows else changes.slice(0, 0)


def _inserts(
    spark: SparkSession,
    plan: MergePlan,
    target: WriteTarget,
    queries: Queries,
    source: pa.Table,
    pairs: pa.Table,
    kinds: merge_source.Kinds,
) -> pa.Table | None:
    """The new rows that come of source rows which no pair names."""
    unmatched = source.filter(
        pc.invert(pc.is_in(source.column(SOURCE_ROW), pairs.column(SOURCE_ROW).combine_chunks()))
    )
    if not unmatched.num_rows:
        return unmatched
    if merge_source.inserts_are_copies(plan, kinds):
        return merge_source.copied_inserts(plan, wall_clock(unmatched))
    with _view(spark, unmatched) as rest:
        # no more than the source's rows
        return _fetch_rows(target, queries.inserts(rest), unbounded=True)


def _joined(trace: Trace, fetched: bool, join: Callable[[], pa.Table | None]) -> pa.Table | None:
    """What Spark's join gives the driver."""
    with trace.running_a(Join, lambda step: step.fetched == fetched) as figures:
        pairs = join()
        figures.in_vain = pairs is None
        if pairs is not None:
            figures.rows, figures.bytes = pairs.num_rows, pairs.nbytes
    return pairs


def _fetch_changes(
    spark: SparkSession, target: WriteTarget, queries: Queries, source: pa.Table
) -> pa.Table | None:
    """The pairs of the join with the values Spark computes."""
    with _view(spark, source, broadcast=True) as numbered:
        return _fetch_rows(target, queries.changes(numbered))


def _fetch_pairs(
    spark: SparkSession,
    plan: MergePlan,
    target: WriteTarget,
    queries: Queries,
    source: pa.Table,
    keys: Keys | None,
    trace: Trace,
) -> pa.Table | None:
    """The pairs of the join; their values are copied from the source. ``keys``: what equal values
    of make a pair, if that is all.
    """
    pairs = None if keys is None else _looked_up(queries, keys, target.max_bytes // ID_BYTES, trace)
    if pairs is not None:
        pairs = merge_source.with_clause(pairs, source)
    else:
        with _view(spark, merge_source.asked_columns(plan, source), broadcast=True) as numbered:
            pairs = _joined(
                trace,
                True,
                lambda: fetch(
                    target,
                    writer.named(target, queries.pairs(numbered), *LEADING_COLUMNS, values=False),
                    target.max_bytes,
                ),
            )
    if pairs is None:
        return None
    copied = merge_source.with_copies(
        plan, pairs.filter(pc.is_valid(pairs.column(CLAUSE))), wall_clock(source)
    )
    rest = pairs.filter(pc.is_null(pairs.column(CLAUSE)))
    order = [*LEADING_COLUMNS, *data_names(target.table.columns), *key_names(target.table)]
    whole = (
        pa.concat_tables([copied.select(order), rest], promote_options="default")
        if rest.num_rows
        else copied.select(order)
    )
    return None if needs_java_writer(whole) else whole


def _looked_up(queries: Queries, keys: Keys, limit: int, trace: Trace) -> pa.Table | None:
    with trace.running_a(LookUp) as figures:
        pairs = queries.lookup(keys, limit)
        figures.in_vain = pairs is None
        figures.rows = None if pairs is None else pairs.num_rows
    return pairs


def _fetch_rows(
    target: WriteTarget, frame: DataFrame, *, unbounded: bool = False
) -> pa.Table | None:
    """The rows of a frame on the driver; None if they are too many, or need Java's writer."""
    columns = target.table.columns
    bound = None if unbounded else target.max_bytes
    return fetch_rows(
        target, writer.named(target, frame, *LEADING_COLUMNS), LEADING_COLUMNS, columns, bound
    )


def _fetch_source(target: WriteTarget, frame: DataFrame, trace: Trace) -> pa.Table | None:
    """The source's rows with their numbers as a last column SOURCE_ROW.

    None if they are too many, if two columns have one name, or if a type does not come back from
    Arrow as it went.
    """
    names = [name.lower() for name in frame.columns]
    if len(set(names)) < len(names) or not _comes_back(frame.schema):
        return None
    with trace.running_a(FetchSource) as figures:
        rows = fetch(target, frame, target.max_bytes)
        figures.in_vain = rows is None
        if rows is not None:
            figures.rows, figures.bytes = rows.num_rows, rows.nbytes
    return (
        None if rows is None else rows.append_column(SOURCE_ROW, pa.array(np.arange(rows.num_rows)))
    )


def _kinds(schema: StructType) -> dict[str, str]:
    return {field.name.lower(): field.dataType.simpleString() for field in schema.fields}


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
            plain = (
                t.NumericType,
                t.StringType,
                t.BinaryType,
                t.BooleanType,
                t.DateType,
                t.TimestampType,
                t.TimestampNTZType,
            )
            return isinstance(kind, plain)


@contextlib.contextmanager
def _view(spark: SparkSession, rows: pa.Table, *, broadcast: bool = False) -> Iterator[str]:
    """The rows as a temporary view."""
    from pyspark.sql import functions

    frame = jvm.frame_of(spark, rows)
    with temporary_view(functions.broadcast(frame) if broadcast else frame) as name:
        yield name


# ---- big path


def _merge_by_job(
    spark: SparkSession,
    io: FileIO,
    plan: MergePlan,
    target: WriteTarget,
    queries: Queries,
    *,
    check: bool,
) -> Written:
    whole = queries.whole()
    counting = Counting(queries.counters)
    with staging(io, target) as directory:
        files, counts = merge_job.stage_merge(
            spark, io, plan, target, directory, whole, counting=counting, check=check
        )
        directories = take_in(target, files)
    return replace(
        counted(plan, counts, path="big"),
        directories=directories,
        partitions=partitions_of(files),
        lost=counting.lost(),
    )
