"""Carries plans out: what one session's statements read, write and publish, by the first way of a
plan that goes through, on the driver alone or on Spark.

Spark is imported and started only when a statement needs it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import FileFormat, ForeignTable
from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.statistics import Analyzed
from acidsql.catalog.types import HiveType
from acidsql.errors import CardinalityError, Error, InternalError, UnsupportedStatementError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.plan.building import counted
from acidsql.plan.engines import SparkAtHand, engines, only_spark
from acidsql.plan.facts import needed_for
from acidsql.plan.operators import Operators
from acidsql.plan.plans import MergePlan, Plan, ReadPlan, WritePlan
from acidsql.planner.bind.bound import BoundLoad, BoundQuery
from acidsql.planner.bind.bound_catalog import BoundAnalyze
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run.driver.operators import Driver, reading_files
from acidsql.run.flow import UNTRACED, Change, Merging, Trace, Work, write_target
from acidsql.run.interpreter import Interpreter, ways_of
from acidsql.run.resources import Resources
from acidsql.run.translation import translated
from acidsql.settings import Settings
from acidsql.spark import jvm
from acidsql.storage.snapshots import Snapshots, TableSnapshot, Visibility
from acidsql.storage.write.pending import PendingRoot, Roots
from acidsql.storage.write.target import StagedFile, Written

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.plan.new_table import Given
    from acidsql.run.interpreter import Reading
    from acidsql.run.spark.operators import Spark
    from acidsql.storage.write.touched import Touching


class Engine:
    """One session's hands: what it reads and writes, by the ``driver``'s operators and by those of
    Spark (``by_spark``). ``spark``: a session that was handed in; without one, one is started on
    first need, if it ``may_start``. ``files``: other file systems than those of the settings.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        *,
        spark: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        files: FileIO | None = None,
        may_start: bool = True,
        warehouse: str | None = None,
    ) -> None:
        self.resources = Resources(
            settings,
            catalog,
            spark=spark,
            master=master,
            conf=conf,
            files=files,
            may_start=may_start,
            warehouse=warehouse,
        )
        self.driver = Driver(settings, self.files, self.resources.known)
        self._interpreter = Interpreter(
            self.driver, lambda: self.by_spark, self._note_left, self._refused
        )

    @cached_property
    def by_spark(self) -> Spark:
        """What carries Spark's operators out, which most statements do not need."""
        from acidsql.run.spark.operators import Spark

        return Spark(self.resources)

    @property
    def files(self) -> FileIO:
        return self.resources.files

    @property
    def started(self) -> bool:
        return self.resources.running.started

    @property
    def spark_at_hand(self) -> SparkAtHand:
        """Whether Spark runs, and how much it does at once; starts none."""
        return self.resources.running.at_hand

    @property
    def spark(self) -> SparkSession:
        """The session statements run in; ExecutionError if Spark cannot be started."""
        return self.resources.spark

    def start_spark(self) -> None:
        """Starts Spark for what may need it later."""
        self.resources.running.start()

    def when_waiting_for_spark(self, notice: Callable[[str | None], object]) -> None:
        """``notice`` is called with the reason whenever a statement is about to wait for Spark's
        start.
        """
        self.resources.running.when_waiting(notice)

    def about_to_plan(self) -> None:
        """Lets go of a Spark that is gone, if another can be started."""
        self.resources.renew()

    def about_to_run(self, plan: Plan) -> None:
        """Notes what the plan would need Spark for."""
        engine = self.resources.settings.text("acidsql.engine")
        self.resources.running.needed_for = needed_for(plan, engine)

    def frame_of(self, rows: pa.Table) -> DataFrame:
        return self.resources.running.handed_out(jvm.frame_of(self.spark, rows))

    def has_view(self, name: str) -> bool:
        """Whether Spark's session knows the name."""
        return self.resources.running.has_view(name)

    def has_foreign(self, table: ForeignTable) -> bool:
        """Whether Spark's session has a table of another catalog."""
        return self.resources.running.has_foreign(table)

    def knows_function(self, name: str) -> bool:
        """Whether there may be a function of that name, which Spark has not by itself."""
        return self.resources.running.knows_function(name)

    def add_view(self, frame: DataFrame, name: str) -> tuple[tuple[str, HiveType], ...]:
        """Makes one of Spark's DataFrames a view that statements can read; its columns."""
        from acidsql.spark.read.answers import columns_of

        self.resources.running.add_view(frame, name)
        return columns_of(frame)

    def drop_view(self, name: str) -> None:
        """Takes such a view away."""
        self.resources.running.drop_view(name)

    def semantics(self, database: str) -> Semantics:
        """What expressions mean in the session; asks a Spark that runs, and starts none."""
        running = self.resources.running
        return Semantics(
            database=database,
            ansi=self.resources.settings.flag("acidsql.ansi"),
            zone=running.time_zone,
            now=datetime.datetime.now(datetime.UTC),
            only_spark=running.changed_meaning(),
        )

    def find_files(self, format: str, path: str) -> PathRelation | NotHere:
        """The files of a format at a path, or why they are read by Spark alone. Asks a Spark that
        runs which file system it takes a path for, and starts none.
        """
        if not engines(self.resources.settings).driver:
            return NotHere("acidsql.engine=spark")
        from acidsql.files.fileio import is_relative
        from acidsql.storage.by_path.relations import relation_at

        reason = self.resources.running.reads_otherwise(relative=is_relative(path))
        if reason is not None:
            return NotHere(reason)
        try:
            with reading_files():
                return relation_at(format, path)
        except NotHere as signal:
            return signal.to_keep()

    def cancel(self) -> None:
        self.resources.running.cancel()

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known) of the Spark jobs that run now. For another thread."""
        return self.resources.running.running_tasks()

    def close(self) -> None:
        self.resources.close()

    # ---- what statements ask for

    def snapshots(self, visible: Visibility, own: Roots | None = None) -> Snapshots:
        """What one statement is to see. ``own``: what its transaction has written before it."""
        return Snapshots(
            self.files,
            visible,
            self.resources.catalog,
            own=own or {},
        )

    def answer(self, plan: ReadPlan, snapshots: Snapshots, trace: Trace) -> Reading:
        """The answer of a query, whose rows are made when they are asked for."""
        from acidsql.run.interpreter import Reading

        ways = list(ways_of(plan.operators))
        try:
            return Reading(self._interpreter, ways, snapshots, trace)
        except NotHere as signal:
            raise self._refused(signal) from signal

    def new_columns(self, query: BoundQuery, snapshots: Snapshots) -> Given:
        """The columns of a query; None is the type of those that hold NULL and nothing else."""
        # few statements make a table, and what binds its columns is much
        from acidsql.plan.new_table import known_columns

        known = known_columns(query, self.resources.settings)
        if known is not None:
            return known
        from acidsql.spark.read.answers import columns_of

        df = self.by_spark.queries.dataframe(query, snapshots)
        kinds = [field.dataType.typeName() for field in df.schema.fields]
        return [
            (name, None if kind == "void" else known)
            for (name, known), kind in zip(columns_of(df), kinds, strict=True)
        ]

    def write(self, leg: WritePlan | MergePlan, work: Work, trace: Trace) -> Written:
        """The files of one statement, or of one leg of it, below hidden names until the commit
        publishes them.
        """
        flow = self._walked(leg, leg.operators, work, trace)
        written = flow.written
        if written is None:
            raise InternalError("a plan that writes nothing")
        if flow.warnings:
            written = replace(written, warnings=flow.warnings)
        if isinstance(leg, WritePlan) and isinstance(leg.action, BoundLoad):
            moved = () if leg.action.local else tuple(source.path for source in flow.sources)
            written = replace(written, moved=moved)
        return written

    def touched(self, leg: WritePlan | MergePlan, work: Work) -> Touching:
        """What the statement would write, by clause, partition and bucket."""
        flow = self._walked(leg, counted(leg.operators), work, UNTRACED)
        if flow.touching is None:
            raise InternalError("a plan that counts nothing")
        return replace(flow.touching, warnings=flow.warnings)

    def _walked(
        self, leg: WritePlan | MergePlan, operators: Operators, work: Work, trace: Trace
    ) -> Change:
        target, snapshots = write_target(self.resources.settings, leg, work), work.snapshots
        flow = (
            Merging(snapshots=snapshots, leg=leg, target=target, plan=leg)
            if isinstance(leg, MergePlan)
            else Change(snapshots=snapshots, leg=leg, target=target)
        )
        with self._violations_named(leg, work):
            try:
                return self._interpreter.walk(operators, flow, trace)
            except NotHere as signal:
                if leg.returning is not None and engines(self.resources.settings).spark:
                    raise _not_returned(signal) from signal
                raise self._refused(signal) from signal

    def _note_left(self, signal: NotHere) -> None:
        """Notes why a way is left, for who waits for Spark."""
        self.resources.running.needed_for = signal.reason

    def _refused(self, signal: NotHere) -> Error:
        """The error of a statement of which no way goes through."""
        if engines(self.resources.settings).spark:
            return InternalError(f"no way of the plan goes through: {signal.reason}")
        return only_spark(signal)

    @contextmanager
    def _violations_named(self, leg: WritePlan | MergePlan, work: Work) -> Iterator[None]:
        """Gives a CardinalityError of a MERGE the values of the row that it speaks of."""
        try:
            yield
        except CardinalityError as error:
            if not isinstance(leg, MergePlan):
                raise
            from acidsql.run.driver.merges import add_key_values

            most = int(self.resources.settings.number("acidsql.local.max.bytes"))
            add_key_values(error, leg, work.snapshots, self.driver.scanner, most)
            raise

    def analyze(self, action: BoundAnalyze, snapshots: Snapshots) -> list[Analyzed]:
        """What ANALYZE has found of the table or of each partition asked for. Starts Spark only to
        read rows.
        """
        from acidsql.run import analyze

        table = action.table
        most = int(self.resources.settings.number("acidsql.read.deletes.max.events"))
        with translated():
            snapshot = snapshots.take(table, action.partitions or ())
            rows = (
                self.resources.counter.rows(snapshot, max_events=most)
                if table.file_format is FileFormat.ORC
                else None
            )
            analyzed = analyze.of_files(snapshot, rows)
            if action.noscan or (rows is not None and not action.columns):
                return analyzed
            figures = self._measured(action, snapshot, snapshots)
            if figures is not None:
                return analyze.with_figures(action.columns, analyzed, figures)
            rows_of_spark = self.by_spark.measured(table, action.columns, snapshot)
        return analyze.with_rows(table, action.columns, analyzed, rows_of_spark)

    def _measured(
        self, action: BoundAnalyze, snapshot: TableSnapshot, snapshots: Snapshots
    ) -> list[Mapping[str, Any]] | None:
        """The figures of the driver alone; None where they are Spark's.
        UnsupportedStatementError if there is to be no Spark.
        """
        from acidsql.run.driver.summary import measured

        allowed = engines(self.resources.settings)
        if not allowed.driver:
            return None
        running, most = self.resources.running, allowed.read_bytes
        meaning = Semantics(zone=running.time_zone, only_spark=running.changed_meaning())
        try:
            return measured(self.driver, snapshot, snapshots, action.columns, meaning, most)
        except NotHere as signal:
            if not allowed.spark:
                raise only_spark(signal) from signal
        return None

    # ---- what a commit writes anew

    def stage_live(
        self, root: PendingRoot, snapshot: TableSnapshot, directory: str, buckets: int
    ) -> list[StagedFile]:
        """The rows of a snapshot of one root in new files, with their ids, by the driver if it
        may, else by Spark.
        """
        from acidsql.run.driver.operators import live_rows, stage_rows

        rows = live_rows(self.driver, snapshot)
        if rows is not None:
            return stage_rows(self.files, root, rows, directory)
        with self.resources.running.tagged():
            return self.by_spark.stage_kept(root, snapshot, directory, buckets)


def _not_returned(signal: NotHere) -> UnsupportedStatementError:
    """The error of a statement whose rows the driver cannot give back."""
    return UnsupportedStatementError(
        "RETURNING wants rows that the driver can hold and write",
        detail=signal.reason,
        hint="acidsql.write.driver.max.bytes says how much it may hold.",
    )
