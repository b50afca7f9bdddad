"""The steps that read: tables at a snapshot become views, bound queries become DataFrames over
them, and their rows come to the driver.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from acidsql.catalog.model import Column, FileFormat, Partition, TableKind
from acidsql.catalog.statistics import Analyzed
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.pruning import prune
from acidsql.plan.choices import engines, only_spark
from acidsql.plan.operators import Collect, CountRows, Query, Scan, Step
from acidsql.planner.bind.bound import BoundQuery, BoundRead
from acidsql.planner.bind.bound_catalog import BoundAnalyze
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run.resources import Resources
from acidsql.run.trace import UNTRACED, Figures, Trace
from acidsql.spark import jvm
from acidsql.spark.read.answers import Answer, columns_of, count_answer, wall_clock
from acidsql.spark.read.path_times import paths_replaced
from acidsql.spark.read.spool import Spool
from acidsql.spark.start.session import settings_during
from acidsql.spark.start.translation import relocated, translated
from acidsql.storage.snapshots import Snapshots, TableSnapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Queries:
    """What one session's statements read, each under the snapshots it is given."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._running = resources.running

    def answer(self, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace) -> Answer | None:
        """The answer by these steps; None if they cannot tell. Spark's analysis errors come back
        with the user's spans.
        """
        for step in steps:
            if isinstance(step, CountRows):
                return self._count(step, snapshots, trace)
        frame = _Planned(self, steps, snapshots, trace)
        return self._answer(frame, trace)

    def frame(self, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace) -> DataFrame:
        """The DataFrame that steps make."""
        views: dict[int, str] = {}
        df: DataFrame | None = None
        counting = any(isinstance(step, Query) and step.counting for step in steps)
        for step in steps:
            match step:
                case Scan():
                    running = trace.running(step)
                    views[step.number] = self.scan(step.read, snapshots, running, counting=counting)
                case Query():
                    with trace.running(step):
                        df = self.planned(step.query, views, snapshots)
        assert df is not None
        return df

    def _count(self, step: CountRows, snapshots: Snapshots, trace: Trace) -> Answer | None:
        with trace.running(step) as figures, translated():
            number = self._resources.counter.answer(
                step.read.table, step.count.condition, snapshots, self._settings
            )
            figures.in_vain = number is None
        return None if number is None else count_answer(step.count, number)

    def _answer(self, planned: _Planned, trace: Trace) -> Answer:
        def fetch() -> pa.Table:
            df = planned.now()
            with trace.running_a(Collect) as figures:
                table = self._collect(df)
                figures.rows, figures.bytes = table.num_rows, table.nbytes
            return table

        return Answer(
            columns=columns_of(planned.frame),
            fetch=fetch,
            late=True,
            frame=lambda: self._running.handed_out(planned.now()),
            stream=lambda: self._stream(planned.now()),
        )

    def dataframe(
        self,
        query: BoundQuery,
        snapshots: Snapshots,
        trace: Trace = UNTRACED,
        scans: Mapping[int, Scan] | None = None,
    ) -> DataFrame:
        """The DataFrame of a query. ``scans``: the steps of a plan that stand for its reads, by
        their numbers.
        """
        views = {}
        for number, read in enumerate(query.reads):
            if number in query.text.slots:
                step = scans[number] if scans else Scan(read=read, number=number)
                views[number] = self.scan(read, snapshots, trace.running(step))
        return self.planned(query, views, snapshots)

    def scan(
        self,
        read: BoundRead,
        snapshots: Snapshots,
        running: AbstractContextManager[Figures],
        *,
        counting: bool = False,
    ) -> str:
        """A view of a table. What is read twice is listed once: both see the same files.
        ``counting``: no column of it is used.
        """
        with running as figures, translated(), collector_paused():
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
        columns, partitions = read.table.partition_columns, snapshots.partitions(read.table)
        if not partitions or not read.partition_filter:
            return partitions
        pruning = prune(
            columns, partitions, read.partition_filter, ansi=self._settings.flag("acidsql.ansi")
        )
        return (
            self.meeting(columns, pruning.kept, pruning.undecided)
            if len(pruning.kept) > 1
            else pruning.kept
        )

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

    def _collect(self, df: DataFrame) -> pa.Table:
        # Adaptive execution would plan again between the two stages of such a query, where nothing
        # is left to choose.
        fixed = {"spark.sql.adaptive.enabled": "false"} if jvm.is_one_aggregate(df) else {}
        spark = self._resources.spark
        with translated(), self._running.tagged(), settings_during(spark, fixed):
            return wall_clock(df.toArrow())

    def _stream(self, df: DataFrame) -> Iterator[pa.RecordBatch]:
        """The rows, of which many lie on disk until they are asked for."""
        import pyarrow as pa

        with Spool() as spool:
            with translated(), self._running.tagged():
                schema = jvm.arrow_schema(df)
                order = jvm.collect_arriving(df, spool.add)
            if order is None:
                yield from self._collect(df).to_batches()
                return
            for batch in spool.in_order(order):
                table = pa.Table.from_batches([batch]).cast(schema)
                yield from wall_clock(table).to_batches()

    def analyze(self, action: BoundAnalyze, snapshots: Snapshots) -> list[Analyzed]:
        """What ANALYZE has found of the table or of each partition asked for. Starts Spark only to
        read rows.
        """
        from acidsql.spark.read import analyze

        table = action.table
        most = int(self._settings.number("acidsql.read.deletes.max.events"))
        with translated():
            snapshot = snapshots.take(table, action.partitions or ())
            rows = (
                self._resources.counter.rows(snapshot, max_events=most)
                if table.file_format is FileFormat.ORC
                else None
            )
            analyzed = analyze.of_files(snapshot, rows)
            if action.noscan or (rows is not None and not action.columns):
                return analyzed
            figures = self._measured(action, snapshot, snapshots)
            if figures is not None:
                return analyze.with_figures(action.columns, analyzed, figures)
            view = self._resources.reader.view(
                snapshot, columns_used=None if action.columns else frozenset()
            )
            frame = self._resources.spark.sql(analyze.aggregate(table, action.columns, view))
        return analyze.with_rows(table, action.columns, analyzed, self._collect(frame))

    def _measured(
        self, action: BoundAnalyze, snapshot: TableSnapshot, snapshots: Snapshots
    ) -> list[Mapping[str, Any]] | None:
        """The figures of the driver alone; None where they are Spark's.
        UnsupportedStatementError if there is to be no Spark.
        """
        from acidsql.run.driver.measuring import measured

        allowed = engines(self._settings)
        if not allowed.driver:
            return None
        meaning = Semantics(
            zone=self._running.time_zone, only_spark=self._running.changed_meaning()
        )
        local = self._resources.local
        try:
            return measured(local, snapshot, snapshots, action.columns, meaning, allowed.read_bytes)
        except NotHere as signal:
            if not allowed.spark:
                raise only_spark(signal) from signal
        return None


class _Planned:
    """The DataFrame of a query's steps, which is planned again once files of it were moved."""

    def __init__(
        self, queries: Queries, steps: tuple[Step, ...], snapshots: Snapshots, trace: Trace
    ) -> None:
        self._queries = queries
        self._steps = steps
        self._snapshots = snapshots
        self._moves = snapshots.files.moves
        self.frame = queries.frame(steps, snapshots, trace)

    def now(self) -> DataFrame:
        files = self._snapshots.files
        files.look_again()
        if files.moves != self._moves:
            self._moves = files.moves
            self.frame = self._queries.frame(self._steps, self._snapshots, UNTRACED)
        return self.frame


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
