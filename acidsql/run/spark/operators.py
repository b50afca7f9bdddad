"""Operators of Spark: tables become views, queries DataFrames, rows come to the driver or become
files by a job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, Table
from acidsql.catalog.types import HiveType
from acidsql.expressions.spark_words import identifier
from acidsql.plan.operators import Collect, Query, Scan, SparkOperator
from acidsql.run.analyze import aggregate
from acidsql.run.flow import Change, Figures, Flow, Merging
from acidsql.run.resources import Resources
from acidsql.run.spark.changes import enforcing
from acidsql.run.spark.queries import Queries
from acidsql.spark.read.answers import columns_of
from acidsql.storage.snapshots import TableSnapshot
from acidsql.storage.write.pending import PendingRoot
from acidsql.storage.write.target import StagedFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Spark:
    """What carries Spark's operators out for one session, each under the snapshots of its flow."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self.running = resources.running
        self.queries = Queries(resources)

    def carry_out(self, operator: SparkOperator, flow: Flow, figures: Figures) -> None:
        """Carries an operator out. NotHere where another way is to be taken, before anything is
        written.
        """
        rules = enforcing(flow.leg.table) if isinstance(flow, Change) else nullcontext()
        with rules:
            match operator:
                case Scan(number=number, counting=counting):
                    flow.views[number] = self.queries.scan(
                        flow.read_of(operator), flow.snapshots, figures, counting=counting
                    )
                case Query(query=query) if not isinstance(flow, Change):
                    flow.frame = self.queries.planned(query, flow.views, flow.snapshots)
                case Collect():
                    flow.rows = self.queries.collect(_frame(flow))
                    figures.rows, figures.bytes = flow.rows.num_rows, flow.rows.nbytes
                case _ if isinstance(flow, Merging):
                    from acidsql.run.spark import merge

                    assert isinstance(operator, merge.MergeOperator)
                    merge.carry_out(self, operator, flow, figures)
                case _:
                    from acidsql.run.spark import changes

                    assert isinstance(flow, Change)
                    assert isinstance(operator, changes.ChangeOperator)
                    changes.carry_out(self, operator, flow, figures)

    # ---- what is no operator

    def measured(
        self, table: Table, columns: Sequence[Column], snapshot: TableSnapshot
    ) -> pa.Table:
        """The rows of ANALYZE's aggregates."""
        used = None if columns else frozenset[str]()
        view = self.resources.reader.view(snapshot, columns_used=used)
        return self.queries.collect(self.resources.spark.sql(aggregate(table, columns, view)))

    def stage_kept(
        self, root: PendingRoot, snapshot: TableSnapshot, directory: str, buckets: int
    ) -> list[StagedFile]:
        """The rows of a snapshot in new files of a directory, with their ids."""
        from acidsql.spark.write.event_files import stage_kept

        spark = self.resources.spark
        view = identifier(self.resources.reader.view(snapshot, row_id=True))
        names = ", ".join(identifier(c.name) for c in snapshot.table.columns)
        return stage_kept(
            spark,
            self.resources.files,
            root.target,
            directory,
            spark.sql(f"SELECT ROW__ID.*, {names} FROM {view}"),
            buckets=buckets,
            one_base=root.overwritten,
        )

    # ---- the answer of a query

    def columns(self, flow: Flow) -> tuple[tuple[str, HiveType], ...]:
        """Names and types of a DataFrame's columns."""
        return columns_of(_frame(flow))

    def stream(self, flow: Flow) -> Iterator[pa.RecordBatch]:
        """The rows one batch after the other."""
        return self.queries.stream(_frame(flow))

    def handed_out(self, flow: Flow) -> DataFrame:
        """A DataFrame for the user."""
        return self.running.handed_out(_frame(flow))


def _frame(flow: Flow) -> DataFrame:
    assert flow.frame is not None
    return flow.frame
