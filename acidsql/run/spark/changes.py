"""INSERT, LOAD DATA, UPDATE and DELETE by Spark: rows as the table stores them come to the driver,
or become files by one job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Column, Table
from acidsql.catalog.partitions import unescape
from acidsql.errors import Warning
from acidsql.expressions.losses import Counter, given_name, lost_names, possible_losses
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import GIVEN, Piece, identifier, store_cast, text_literal
from acidsql.plan.operators import Check, CountByJob, Fetch, Job, Query, ReadFiles
from acidsql.plan.plans import WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundQuery, BoundUpdate
from acidsql.planner.bind.tables import (
    MARK,
    columns_by_name,
    default_value,
    enforcement,
    in_other_order,
    other_order,
    rules_of,
    wrong_column_count,
)
from acidsql.run.flow import Change, Figures, note_written
from acidsql.run.spark.merge_job import of_changes, of_inserts
from acidsql.run.translation import placed, translated
from acidsql.spark.start.clocks import user_clock
from acidsql.spark.write.losses import Store, types_of, with_marks
from acidsql.storage.partitions import check_nameable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from acidsql.run.spark.operators import Spark


# ---- rows as a table stores them
#
# Rows of Spark's as a table stores them: those of an INSERT in the target's columns, those of an
# UPDATE, and the table's rules, which Spark applies to the rows it computes.


def rows_to_insert(
    df: DataFrame, action: BoundInsert, counters: Sequence[Counter] = ()
) -> tuple[DataFrame, tuple[Counter, ...], tuple[Warning, ...]]:
    """The source's columns, cast to the target's and put in its order; columns that were not named
    are NULL or their DEFAULT. Behind them are the marks of the counters; those with ``counters``
    have some already. The warnings are of what only Spark can tell of the names of its columns.
    """
    lost = lost_names(df.columns)
    given = len(df.columns) - len(lost)
    warnings: tuple[Warning, ...] = ()
    if isinstance(action.source, BoundQuery) and action.source.names is None:
        text = action.source.text.source
        if action.by_name:
            columns = columns_by_name(action.table, action.partition, df.columns, text, action.span)
            action = replace(action, columns=columns)
        elif action.by_position and in_other_order(action.columns, df.columns):
            warnings = (other_order(action.table, action.span).at(text),)
    if given != len(action.columns):
        raise wrong_column_count(action.table, action.columns, given, action.span)
    source_names = {c.name: f"_c{i}" for i, c in enumerate(action.columns)}
    static = dict(action.partition.static) if action.partition is not None else {}
    types = types_of(df)
    losing: list[tuple[int, int, Column]] = []
    casts = []
    for ordinal, column in enumerate((*action.table.columns, *action.table.partition_columns)):
        source_name = source_names.get(column.name)
        if column.name in static:
            pieces: tuple[Piece, ...] = (text_literal(static[column.name]),)
        else:
            pieces = (
                default_value(action.table, column, user_clock(df.sparkSession).zone)
                if source_name is None
                else store_cast((source_name,), column.type)
            )
        casts.append(
            "".join(p for p in pieces if isinstance(p, str)) + f" AS {identifier(column.name)}"
        )
        if source_name is not None and column.name not in static:
            at = int(source_name.removeprefix("_c"))
            if not lost and possible_losses(types[at], column.type):
                losing.append((at, ordinal, column))
    givens = [f"_c{at} AS {GIVEN}{at}" for at, _, _ in losing]
    every_counter = list(counters)
    with translated(lambda error: placed(error, action)):
        stored = df.toDF(*[f"_c{i}" for i in range(given)], *lost)
        stored = stored.selectExpr(*casts, *givens, *lost)
        stores = [
            Store(given=len(casts) + number, stored=ordinal, column=column)
            for number, (_, ordinal, column) in enumerate(losing)
        ]
        every = [c.type for c in (*action.table.columns, *action.table.partition_columns)]
        given_types = [types[at] for at, _, _ in losing]
        marked = with_marks(stored, [*every, *given_types], stores, every_counter)
        return marked, tuple(every_counter), warnings


def rows_to_update(df: DataFrame, action: BoundUpdate) -> tuple[DataFrame, tuple[Counter, ...]]:
    """The rows of an UPDATE's query as they are stored, with the marks of the counters behind
    them.
    """
    names, counters = df.columns, list[Counter]()
    givens = {name: at for at, name in enumerate(names) if name.startswith(GIVEN)}
    first = len(ID_FIELDS) + len(givens)
    stores = [
        Store(given=givens[given], stored=first + ordinal, column=column)
        for ordinal, column in enumerate(action.table.columns)
        if (given := given_name(ordinal)) in givens
    ]
    types = types_of(df) if stores else []
    return with_marks(df, types, stores, counters), tuple(counters)


def enforced(table: Table, rows: DataFrame, *leading: str, exempt: str = "FALSE") -> DataFrame:
    """``rows`` (``leading`` columns, under these names, then the table's and its partitions'),
    which fail where one breaks a rule of it.
    """
    condition = enforcement(table, exempt)
    if condition is None:
        return rows
    names = (c.name for c in (*table.columns, *table.partition_columns))
    return rows.toDF(*leading, *names, *lost_names(rows.columns)).where(condition)


@contextmanager
def enforcing(table: Table) -> Iterator[None]:
    """Turns what ``enforced`` rows raise inside Spark into the rule's own error.

    It does the same for partitions whose directories Spark cannot make, because nothing can be
    called after their values.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if (broken := re.search(rf"{MARK}(\d+)", text)) is not None:
            raise rules_of(table)[int(broken[1])].violation() from None
        if (
            directory := re.search(r"Mkdirs failed to create (.*?)(?: \(exists=|\n|$)", text)
        ) is not None:
            for number, value in re.findall(r"/k(\d+)=([^/]*)", directory[1]):
                check_nameable(table, int(number), unescape(value))
        raise


# ---- changes


OLD_ROW = ("acidsql_0", "acidsql_1", "acidsql_2")
"""What the identity of a row is called while the new values beside it are checked."""

TOO_LARGE = "so many bytes"
"""Why the driver does not write what Spark has made."""

ChangeOperator = Query | ReadFiles | Check | Fetch | Job | CountByJob


def carry_out(spark: Spark, operator: ChangeOperator, flow: Change, figures: Figures) -> None:
    """Carries out an operator of a statement that changes rows."""
    assert isinstance(flow.leg, WritePlan)
    match operator:
        case Query(query=query):
            _plan(spark, query, flow, flow.leg)
        case ReadFiles():
            flow.frame = _files_read(spark, flow, flow.leg)
        case Check():
            assert flow.frame is not None
            leading = OLD_ROW if isinstance(flow.leg.action, BoundUpdate) else ()
            flow.frame = enforced(flow.leg.table, flow.frame, *leading)
        case Fetch():
            _fetch(spark, operator, flow, figures)
        case Job():
            _write(spark, operator, flow)
            assert flow.written is not None
            note_written(flow.written, figures)
        case CountByJob():
            _count(spark, flow, flow.leg)


def _plan(spark: Spark, query: BoundQuery, flow: Change, leg: WritePlan) -> None:
    """The rows of a query as the table stores them, with marks."""
    flow.frame, flow.counters = _planned(spark, query, flow, leg)
    match leg.action:
        case BoundInsert() as insert:
            stored = rows_to_insert(flow.frame, insert, flow.counters)
            flow.frame, flow.counters, flow.warnings = stored
        case BoundUpdate() as update:
            flow.frame, flow.counters = rows_to_update(flow.frame, update)


def _planned(
    spark: Spark, query: BoundQuery, flow: Change, leg: WritePlan
) -> tuple[DataFrame, tuple[Counter, ...]]:
    """The rows of a query, with marks and their counters where its values are stored one by one."""

    def planned(query: BoundQuery) -> DataFrame:
        return spark.queries.planned(query, flow.views, flow.snapshots)

    if not query.values or not isinstance(leg.action, BoundInsert):
        return planned(query), ()
    from acidsql.spark.write.losses import marked_values

    return marked_values(query, leg.action.columns, planned)


def _files_read(spark: Spark, flow: Change, leg: WritePlan) -> DataFrame:
    from acidsql.spark.write.writer import loaded_rows

    assert isinstance(leg.action, BoundLoad)
    resources = spark.resources
    return loaded_rows(resources.spark, resources.reader, flow.target, leg.action, flow.sources)


def _fetch(spark: Spark, operator: Fetch, flow: Change, figures: Figures) -> None:
    from acidsql.spark.write import writer

    assert flow.frame is not None
    with spark.running.tagged():
        rows = writer.fetched(flow.target, flow.frame, operator.effect, operator.max_bytes)
    if rows is None:
        raise NotHere(TOO_LARGE)
    flow.rows = rows
    figures.rows, figures.bytes = rows.num_rows, rows.nbytes


def _write(spark: Spark, operator: Job, flow: Change) -> None:
    from acidsql.spark.write import writer

    session, files = spark.resources.spark, spark.resources.files
    frame = flow.frame
    if frame is None:
        frame = writer.literal_rows(session, flow.target.table, flow.rows)
    with spark.running.tagged():
        flow.written = writer.write_by_job(
            session, files, flow.target, frame, operator.effect, flow.counters
        )


def _count(spark: Spark, flow: Change, leg: WritePlan) -> None:
    from acidsql.storage.write.touched import Touching, by_new_rows

    if flow.frame is None:  # literal rows
        assert flow.rows is not None
        flow.touching = Touching(parts=list(by_new_rows(flow.target, flow.rows)))
        return
    with spark.running.tagged():
        if isinstance(leg.action, BoundInsert):
            flow.touching = of_inserts(flow.target, flow.frame, flow.counters)
        else:
            values = isinstance(leg.action, BoundUpdate) or flow.target.returns
            flow.touching = of_changes(flow.target, flow.frame, flow.counters, values=values)
