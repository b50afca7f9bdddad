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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array, numpy_array, row_of_nothing
from acidsql.errors import NestingError, ParseError
from acidsql.expressions.losses import Counter, given_name
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.reader import read_expression
from acidsql.expressions.spark_words import GIVEN, SOURCE_ROW, Piece, QueryText, Slot, identifier
from acidsql.expressions.tree import Call, constants_in, parts_of
from acidsql.expressions.vectors import vectorized
from acidsql.expressions.vectors.functions import DETERMINISTIC
from acidsql.lazy import dataclass
from acidsql.parser.tokens import tokenize
from acidsql.plan.merge_sql import (
    CLAUSE,
    LEADING_COLUMNS,
    MATCHED_CLAUSE,
    changes_query,
    inserts_query,
    keeps_target,
    source_query,
    whole_query,
)
from acidsql.plan.operators import CountByJob, FetchSource, InsertUnmatched, Job, Join
from acidsql.plan.plans import MergePlan
from acidsql.planner.bind.bound import BoundMerge, BoundQuery
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run import merge_source
from acidsql.run.clause_files import counted
from acidsql.run.flow import Figures, Merging
from acidsql.run.spark import merge_job
from acidsql.run.spark.changes import TOO_LARGE, enforced
from acidsql.run.spark.merge_job import of_merge
from acidsql.spark import jvm
from acidsql.spark.read.answers import wall_clock
from acidsql.spark.read.scan_words import temporary_view
from acidsql.spark.write import writer
from acidsql.spark.write.counting import Counting
from acidsql.spark.write.fetching import fetch, fetch_rows
from acidsql.spark.write.losses import Store, types_of, value_at, with_marks
from acidsql.storage.write.target import WriteTarget, Written, partitions_of, staging, take_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from acidsql.run.spark.operators import Spark


# ---- merge constants
#
# Constants of a MERGE, which Spark computes once before its rows: whether its optimizer comes to
# see them depends on the path.


def check_constants(spark: SparkSession, merge: BoundMerge, semantics: Semantics) -> None:
    """Raises the error of a constant that fails, in a clause or in ON."""
    doubtful = [
        text for text in dict.fromkeys(_constants(merge)) if not _is_certain(text, semantics)
    ]
    if doubtful:
        shown = ", ".join(f"({text}) AS c{number}" for number, text in enumerate(doubtful))
        spark.sql(f"SELECT {shown}").collect()


def _constants(merge: BoundMerge) -> Iterator[str]:
    """The words of the constants, as Spark SQL."""
    for pieces in _expressions(merge):
        if any(isinstance(piece, Slot) for piece in pieces):
            continue  # a sub-query
        text = QueryText(merge.text_source, pieces).render(())
        try:
            tree = read_expression(text, tokenize(text))
        except (ParseError, NestingError, RecursionError):
            tree = None
        for constant in () if tree is None else constants_in(tree):
            calls = (part.name for part in parts_of(constant) if isinstance(part, Call))
            if DETERMINISTIC.issuperset(calls):
                yield constant.span.cut(text)


def _expressions(merge: BoundMerge) -> Iterator[tuple[Piece, ...]]:
    yield merge.on
    for clause in merge.clauses:
        if clause.condition is not None:
            yield clause.condition
        yield from clause.values


def _is_certain(text: str, semantics: Semantics) -> bool:
    """Whether the driver can compute it."""
    tree = read_expression(text, tokenize(text))
    if tree is None:
        return False
    meaning = semantics
    if meaning.only_spark is not None:
        return False
    nothing = row_of_nothing()
    try:
        vector = vectorized(tree, {}, ansi=meaning.ansi, zone=meaning.zone, now=meaning.now)
        vector.run(nothing)
    except NotHere:
        return False
    return True


# ---- merge queries
#
# The queries of a MERGE as DataFrames under the statement's snapshot.


MAX_KEY_BYTES = 10 << 20
"""The most bytes of the source's keys, as Spark estimates them, that it broadcasts by default."""


@dataclass(frozen=True, slots=True)
class MergeQueries:
    """The queries of ``plan.merge_sql`` as DataFrames over the statement's scans. ``counters``:
    those of the marks of the rows that they give, as far as they have been asked for.
    """

    plan: MergePlan
    dataframe: Callable[[BoundQuery], DataFrame]
    counters: list[Counter]

    def source(self) -> DataFrame:
        return self.dataframe(source_query(self.plan.merge))

    def changes(self, numbered_source: str | None) -> DataFrame:
        return self._enforced(changes_query(self.plan, numbered_source))

    def pairs(self, numbered_source: str) -> DataFrame:
        return self.dataframe(changes_query(self.plan, numbered_source, values=False))

    def inserts(self, unmatched_source: str) -> DataFrame:
        return self._enforced(inserts_query(self.plan, unmatched_source))

    def whole(self) -> DataFrame:
        source = None if keeps_target(self.plan) else self.source()
        if source is None or not self._has_few_keys(source):
            return self._enforced(whole_query(self.plan))
        with temporary_view(source) as name:
            return self._enforced(whole_query(self.plan, source_view=name))

    def _has_few_keys(self, source: DataFrame) -> bool:
        """Whether the target can be filtered by the source's keys at little cost, and the source
        has the same rows when it is read again.
        """
        names, keys = (
            [name.lower() for name in source.columns],
            [key for _, key in self.plan.merge.keys],
        )
        if any(names.count(key) != 1 for key in keys) or not jvm.reads_the_same(source):
            return False
        size = jvm.estimated_bytes(source.select(*map(identifier, keys)))
        return size is not None and size <= MAX_KEY_BYTES

    def _enforced(self, query: BoundQuery) -> DataFrame:
        writing = [
            str(number)
            for number, clause in enumerate(self.plan.merge.clauses)
            if clause.makes_rows
        ]
        exempt = f"NOT coalesce(acidsql_1 IN ({', '.join(writing)}), FALSE)" if writing else "TRUE"
        leading = [f"acidsql_{ordinal}" for ordinal in range(len(LEADING_COLUMNS))]
        return enforced(self.plan.table, self._marked(query), *leading, exempt=exempt)

    def _marked(self, query: BoundQuery) -> DataFrame:
        """The rows of a query with the marks of what their values lose."""
        frame = self.dataframe(query)
        givens = {name: at for at, name in enumerate(frame.columns) if name.startswith(GIVEN)}
        first = len(LEADING_COLUMNS) + len(givens)
        every = (*self.plan.table.columns, *self.plan.table.partition_columns)
        clause = value_at(LEADING_COLUMNS.index(CLAUSE))
        stores = [
            Store(
                given=givens[given],
                stored=first + ordinal,
                column=column,
                when=f"{clause} = {number}",
            )
            for number in range(len(self.plan.merge.clauses))
            for ordinal, column in enumerate(every)
            if (given := given_name(ordinal, number)) in givens
        ]
        types = types_of(frame) if stores else []
        return with_marks(frame, types, stores, self.counters)


# ---- merge


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
