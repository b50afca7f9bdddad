"""MERGE by Spark: how the answers of its queries become the rows of each clause.

Small path: the source's rows are fetched once and numbered on the driver, the target's are looked
up by their keys or, where more than equal keys counts, joined with them by a broadcast, and what no
pair names was not matched. So the target is scanned once, nothing is shuffled, and a source that
gives other rows each time it is read is read once. Values that are mere columns of the source are
copied on the driver (merge_source). Big path: see merge_job.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, numpy_array
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import SOURCE_ROW
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.merge_sql import CLAUSE, LEADING_COLUMNS, MATCHED_CLAUSE
from acidsql.plan.operators import CountByJob, FetchSource, InsertUnmatched, Job, Join
from acidsql.planner.bind.bound import BoundQuery
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run import merge_source
from acidsql.run.clause_files import counted
from acidsql.run.flow import Merging
from acidsql.run.spark import merge_job
from acidsql.run.spark.changes import TOO_LARGE
from acidsql.run.spark.merge_constants import check_constants
from acidsql.run.spark.merge_queries import MergeQueries
from acidsql.run.spark.touched import of_merge
from acidsql.run.trace import Figures
from acidsql.spark import jvm
from acidsql.spark.read.answers import wall_clock
from acidsql.spark.read.views import temporary_view
from acidsql.spark.write import writer
from acidsql.spark.write.fetching import fetch, fetch_rows
from acidsql.spark.write.losses import Counting
from acidsql.storage.write.publish import partitions_of, staging, take_in
from acidsql.storage.write.target import WriteTarget, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from acidsql.run.spark.operators import Spark

MergeOperator = FetchSource | Join | InsertUnmatched | Job | CountByJob


@dataclass(frozen=True, slots=True)
class FetchedSource:
    """The rows of the source as Spark gave them, numbered, with MATCHED_CLAUSE if that is known."""

    rows: pa.Table
    table: pa.Table
    kinds: Mapping[str, str]

    def matched_clauses(self) -> pa.Array:
        """The number of the clause that acts on each row's match; NULL if none does."""
        return self.rows.column(MATCHED_CLAUSE).combine_chunks()


def carry_out(spark: Spark, operator: MergeOperator, flow: Merging, figures: Figures) -> None:
    """Carries out an operator of a MERGE."""

    def dataframe(query: BoundQuery) -> DataFrame:
        return spark.queries.planned(query, flow.views, flow.snapshots)

    queries = MergeQueries(flow.plan, dataframe, list(flow.counters))
    with spark.running.tagged():
        match operator:
            case FetchSource():
                _check_constants(spark, flow)
                _fetch_source(operator, flow, queries, figures)
            case Join():
                if not operator.fetched:
                    _check_constants(spark, flow)
                _join(spark.resources.spark, operator, flow, queries)
                assert flow.changes is not None
                figures.rows, figures.bytes = flow.changes.num_rows, flow.changes.nbytes
            case InsertUnmatched():
                flow.inserts = _inserts(spark.resources.spark, flow, queries)
                figures.rows = flow.inserts.num_rows
            case Job(once=once):
                _check_constants(spark, flow)
                flow.written = _write(spark, flow, queries, check=once is not False)
                figures.rows = sum(flow.written.clauses)
                figures.files = len(flow.written.directories)
            case CountByJob(once=once):
                whole = queries.whole()
                flow.touching = of_merge(
                    flow.plan, flow.target, whole, queries.counters, check=once is not False
                )
    flow.counters = tuple(queries.counters)


def _check_constants(spark: Spark, flow: Merging) -> None:
    running, settings = spark.running, spark.resources.settings
    meaning = Semantics(
        ansi=settings.flag("acidsql.ansi"),
        zone=running.time_zone,
        now=datetime.datetime.now(datetime.UTC),
        only_spark=running.changed_meaning(),
    )
    check_constants(spark.resources.spark, flow.plan.merge, meaning)


# ---- small path


def _fetch_source(
    operator: FetchSource, flow: Merging, queries: MergeQueries, figures: Figures
) -> None:
    """The source's rows with their numbers. NotHere if they are too many, if two columns have one
    name, or if a type does not come back from Arrow as it went.
    """
    frame = queries.source()
    kinds, names = _kinds(frame.schema), [name.lower() for name in frame.columns]
    if operator.copies and not merge_source.are_copies(flow.plan, kinds):
        raise NotHere("values that are computed", begun=False)
    if len(set(names)) < len(names) or not _comes_back(frame.schema):
        raise NotHere("a source that only Spark can hold", begun=False)
    rows = _some(fetch(flow.target, frame, operator.max_bytes))
    figures.rows, figures.bytes = rows.num_rows, rows.nbytes
    rows = rows.append_column(SOURCE_ROW, pa.array(np.arange(rows.num_rows)))
    flow.source = FetchedSource(rows, wall_clock(rows), kinds)
    flow.plan = merge_source.narrowed_by(flow.plan, rows, kinds)


def _some(rows: pa.Table | None) -> pa.Table:
    """Rows that were few enough for the driver. NotHere if they were not."""
    if rows is None:
        raise NotHere(TOO_LARGE)
    return rows


def _source(flow: Merging) -> FetchedSource:
    assert isinstance(flow.source, FetchedSource)
    return flow.source


def _join(spark: SparkSession, operator: Join, flow: Merging, queries: MergeQueries) -> None:
    """The pairs on which clauses act, and which rows of the source have some."""
    if not operator.fetched:
        flow.changes = _fetch_rows(flow.target, queries.changes(None))
        return
    source = _source(flow)
    copying = merge_source.are_copies(flow.plan, source.kinds)
    if copying:
        pairs = _pairs(spark, flow, queries, source)
    else:
        with _view(spark, source.rows, broadcast=True) as numbered:
            pairs = _fetch_rows(flow.target, queries.changes(numbered))
    numbers = pairs.column(SOURCE_ROW).drop_null().combine_chunks()
    flow.matched = np.zeros(source.rows.num_rows, np.bool_)
    flow.matched[numpy_array(numbers)] = True
    changes = pairs.filter(pc.is_valid(pairs.column(CLAUSE)))
    if copying:
        changes = merge_source.with_copies(flow.plan, changes, source.table)
        merge_source.check_writable(changes)
    flow.changes = changes


def _pairs(
    spark: SparkSession, flow: Merging, queries: MergeQueries, source: FetchedSource
) -> pa.Table:
    """The pairs of the join without values."""
    asked = merge_source.asked_columns(flow.plan, source.rows)
    with _view(spark, asked, broadcast=True) as numbered:
        pairs = writer.named(flow.target, queries.pairs(numbered), *LEADING_COLUMNS, values=False)
        return _some(fetch(flow.target, pairs, flow.target.max_bytes))


def _inserts(spark: SparkSession, flow: Merging, queries: MergeQueries) -> pa.Table:
    """The new rows that come of source rows which no pair names."""
    source = _source(flow)
    assert flow.matched is not None
    assert flow.changes is not None
    unmatched = source.rows.filter(arrow_array(~flow.matched))
    if not unmatched.num_rows:
        return flow.changes.slice(0, 0)
    if merge_source.inserts_are_copies(flow.plan, source.kinds):
        inserts = merge_source.copied_inserts(flow.plan, wall_clock(unmatched))
    else:
        with _view(spark, unmatched) as rest:
            # no more than the source's rows
            inserts = _fetch_rows(flow.target, queries.inserts(rest), unbounded=True)
    merge_source.check_writable(inserts)
    return inserts


def _fetch_rows(target: WriteTarget, frame: DataFrame, *, unbounded: bool = False) -> pa.Table:
    """The rows of a frame on the driver. NotHere if they are too many, or need Java's writer."""
    columns = target.table.columns
    bound = None if unbounded else target.max_bytes
    named = writer.named(target, frame, *LEADING_COLUMNS)
    return _some(fetch_rows(target, named, LEADING_COLUMNS, columns, bound))


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


def _write(spark: Spark, flow: Merging, queries: MergeQueries, *, check: bool) -> Written:
    """The files of each clause by one job. CardinalityError if ``check`` and a row would be changed
    twice; else one change wins.
    """
    whole, files = queries.whole(), spark.resources.files
    counting = Counting(queries.counters)
    with staging(files, flow.target) as directory:
        staged, counts = merge_job.stage_merge(
            spark.resources.spark,
            files,
            flow.plan,
            flow.target,
            directory,
            whole,
            counting=counting,
            check=check,
        )
        directories = take_in(flow.target, staged)
    return replace(
        counted(flow.plan, counts, path="big"),
        directories=directories,
        partitions=partitions_of(staged),
        lost=counting.lost(),
    )
