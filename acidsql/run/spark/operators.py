"""Operators of Spark: tables become views, queries DataFrames, rows come to the driver or become
files by a job.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from acidsql.catalog.model import Column, Partition, Table, TableKind
from acidsql.catalog.types import HiveType
from acidsql.expressions.spark_words import identifier
from acidsql.plan.operators import Collect, Query, Scan, SparkOperator
from acidsql.planner.bind.bound import BoundQuery, BoundRead
from acidsql.run.analyze import aggregate
from acidsql.run.flow import Change, Figures, Flow, Merging
from acidsql.run.resources import Resources
from acidsql.run.spark.changes import enforcing
from acidsql.run.translation import relocated, translated
from acidsql.spark import jvm
from acidsql.spark.read.answers import Spool, columns_of, wall_clock
from acidsql.spark.read.file_times import paths_replaced
from acidsql.spark.start.session import settings_during
from acidsql.storage.snapshots import Snapshots, TableSnapshot
from acidsql.storage.write.pending import PendingRoot
from acidsql.storage.write.target import StagedFile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


# ---- queries
#
# Tables at a snapshot become views, bound queries DataFrames over them, whose rows come to the
# driver.


class Queries:
    """What one session's statements read, each under the snapshots it is given."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._running = resources.running

    def dataframe(self, query: BoundQuery, snapshots: Snapshots) -> DataFrame:
        """The DataFrame of a query that is no statement's."""
        views = {
            number: self.scan(read, snapshots, Figures())
            for number, read in enumerate(query.reads)
            if number in query.text.slots
        }
        return self.planned(query, views, snapshots)

    def scan(
        self,
        read: BoundRead,
        snapshots: Snapshots,
        figures: Figures,
        *,
        counting: bool = False,
    ) -> str:
        """A view of a table. What is read twice is listed once: both see the same files.
        ``counting``: no column of it is used.
        """
        with translated(), collector_paused():
            snapshot = self.table_at(read, snapshots)
            if read.table.kind is TableKind.FRAME:
                self._running.check_frames()
            used = frozenset[str]() if counting else None
            view = self._resources.reader.view(
                snapshot, row_id=read.row_id, predicates=read.predicates, columns_used=used
            )
            files = snapshot.insert_files
            figures.files, figures.bytes = len(files), sum(file.file.size for file in files)
            return view

    def planned(
        self, query: BoundQuery, views: Mapping[int, str], snapshots: Snapshots
    ) -> DataFrame:
        """The query over the views of its reads. Spark looks at it, and runs nothing."""
        self._running.import_views(name for name in query.views if name not in snapshots.views)
        snapshots.views.update(query.views)
        names = [views.get(number, "") for number in range(len(query.reads))]
        text = query.text.render(names)
        with translated(lambda error: relocated(error, query, names)):
            spark = self._resources.spark
            with paths_replaced(spark, text) as replaced:
                return spark.sql(replaced)

    def table_at(self, read: BoundRead, snapshots: Snapshots) -> TableSnapshot:
        """A table, without the partitions that the conditions on it leave out."""
        return snapshots.take(read.table, self._partitions_needed(read, snapshots))

    def _partitions_needed(self, read: BoundRead, snapshots: Snapshots) -> tuple[Partition, ...]:
        """The partitions that can hold rows the query needs; what the planner cannot tell by itself
        is put to Spark.
        """
        wanted = read.wanted(ansi=self._settings.flag("acidsql.ansi"))
        pruning = wanted.prune(snapshots.partitions(read.table, wanted.among))
        if len(pruning.kept) <= 1:
            return pruning.kept
        return self.meeting(read.table.partition_columns, pruning.kept, pruning.undecided)

    def meeting(
        self,
        columns: Sequence[Column],
        partitions: tuple[Partition, ...],
        conditions: Sequence[str],
    ) -> tuple[Partition, ...]:
        """The partitions whose values meet ``conditions``, Spark SQL over the partition
        ``columns``. Without any, Spark is not asked.
        """
        if not conditions or not partitions:
            return partitions
        from acidsql.spark.read.scan_words import meeting

        with translated():
            return meeting(self._resources.spark, columns, partitions, conditions)

    def collect(self, df: DataFrame) -> pa.Table:
        # Adaptive execution would plan again between the two stages of such a query, where nothing
        # is left to choose.
        fixed = {"spark.sql.adaptive.enabled": "false"} if jvm.is_one_aggregate(df) else {}
        spark = self._resources.spark
        with translated(), self._running.tagged(), settings_during(spark, fixed):
            return wall_clock(jvm.arrow_table(df))

    def stream(self, df: DataFrame) -> Iterator[pa.RecordBatch]:
        """The rows, of which many lie on disk until they are asked for."""
        import pyarrow as pa

        with Spool() as spool:
            with translated(), self._running.tagged():
                schema = jvm.arrow_schema(df)
                order = jvm.collect_arriving(df, spool.add)
            if order is None:
                yield from self.collect(df).to_batches()
                return
            for batch in spool.in_order(order):
                table = pa.Table.from_batches([batch]).cast(schema)
                yield from wall_clock(table).to_batches()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Holds the collector back, but not for what may take long: no thread's cycles are freed
    meanwhile.

    The collector looks through all objects whenever their number has grown by a quarter. Of a
    snapshot of 100,000 files that is a sixth of the time, and none of them is garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# ---- operators


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
