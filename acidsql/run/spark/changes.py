"""INSERT, LOAD DATA, UPDATE and DELETE by Spark: rows as the table stores them come to the driver,
or become files by one job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.expressions.losses import Counter
from acidsql.expressions.not_here import NotHere
from acidsql.plan.operators import Check, CountByJob, Fetch, Job, Query, ReadFiles
from acidsql.plan.plans import WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundQuery, BoundUpdate
from acidsql.run.flow import Change, Figures, note_written
from acidsql.run.spark.targets import enforced, rows_to_insert, rows_to_update
from acidsql.run.spark.touched import of_changes, of_inserts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from acidsql.run.spark.operators import Spark

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
    from acidsql.spark.write.computed_rows import marked_values

    return marked_values(query, leg.action.columns, planned)


def _files_read(spark: Spark, flow: Change, leg: WritePlan) -> DataFrame:
    from acidsql.spark.write.loading import loaded_rows

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
