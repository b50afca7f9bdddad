"""Carries plans out: what one session's statements read, write and publish, by the first way of a
plan that goes through, on the driver alone or on Spark.

Spark is imported and started only when a statement needs it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeVar

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.path_relation import PathRelation
from acidsql.catalog.types import HiveType
from acidsql.commit.publishing import Publisher
from acidsql.errors import CardinalityError, InternalError
from acidsql.expressions.not_here import NotHere
from acidsql.files.fileio import FileIO
from acidsql.plan.choices import engines, only_spark
from acidsql.plan.operators import Choose, LocalFiles, LocalRows, LocalScan, Step
from acidsql.plan.plans import MergePlan, Plan, ReadPlan, WritePlan
from acidsql.plan.reasons import why_spark
from acidsql.planner.bind.bound import BoundQuery
from acidsql.planner.bind.local.query_trees import Semantics
from acidsql.run.driver.changes import LocalChanges
from acidsql.run.driver.queries import columns_made, reading_files
from acidsql.run.resources import Resources
from acidsql.run.spark.queries import Queries
from acidsql.run.spark.targets import Work, write_target
from acidsql.run.trace import UNTRACED, Trace
from acidsql.settings import Settings
from acidsql.spark import jvm
from acidsql.spark.read.answers import Answer, columns_of
from acidsql.spark.start.translation import translated
from acidsql.storage.snapshots import Snapshots, Visibility
from acidsql.storage.write.pending import Roots
from acidsql.storage.write.target import Written

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.plan.new_table import Given
    from acidsql.run.driver.merges import LocalMerges
    from acidsql.run.spark.changes import WriteSteps
    from acidsql.run.spark.merges import MergeSteps
    from acidsql.run.spark.touched import Counts
    from acidsql.storage.write.touched import Touching


Ways = Sequence[tuple[Step, ...]]
_T = TypeVar("_T")


class Engine:
    """One session's hands: ``queries`` reads, ``write`` makes files, ``publisher`` gives them their
    names. ``spark``: a session that was handed in; without one, one is started on first need, if it
    ``may_start``. ``files``: other file systems than those of the settings.
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
    ) -> None:
        self.resources = Resources(
            settings,
            catalog,
            spark=spark,
            master=master,
            conf=conf,
            files=files,
            may_start=may_start,
        )
        self.queries = Queries(self.resources)
        self.publisher = Publisher(self.resources)
        self._local_changes = LocalChanges(self.files, self.resources.local)

    # ---- the parts, some of which most sessions never ask for

    @cached_property
    def _writes(self) -> WriteSteps:
        from acidsql.run.spark.changes import WriteSteps

        return WriteSteps(self.resources, self.queries)

    @cached_property
    def _merges(self) -> MergeSteps:
        from acidsql.run.spark.merges import MergeSteps

        return MergeSteps(self.resources, self.queries)

    @cached_property
    def _local_merges(self) -> LocalMerges:
        from acidsql.run.driver.merges import LocalMerges

        return LocalMerges(self.files, self.resources.local, self.resources.settings)

    @cached_property
    def _counts(self) -> Counts:
        from acidsql.run.spark.touched import Counts

        return Counts(self.resources, self._writes, self._merges)

    @property
    def files(self) -> FileIO:
        return self.resources.files

    @property
    def started(self) -> bool:
        return self.resources.running.started

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
        self.resources.running.needed_for = why_spark(plan, engine)

    def frame_of(self, rows: pa.Table) -> DataFrame:
        return self.resources.running.handed_out(jvm.frame_of(self.spark, rows))

    def has_view(self, name: str) -> bool:
        """Whether Spark's session knows the name."""
        return self.resources.running.has_view(name)

    def knows_function(self, name: str) -> bool:
        """Whether there may be a function of that name, which Spark has not by itself."""
        return self.resources.running.knows_function(name)

    def add_view(self, frame: DataFrame, name: str) -> tuple[tuple[str, HiveType], ...]:
        """Makes one of Spark's DataFrames a view that statements can read; its columns."""
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
        from acidsql.storage.by_path.relations import relation_at
        from acidsql.storage.by_path.stamps import is_relative

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

    def answer(self, plan: ReadPlan, snapshots: Snapshots, trace: Trace) -> Answer:
        """The answer of a query, whose rows may be made when they are asked for."""
        answer = self._first((plan.steps,), snapshots, trace)
        if answer is None:
            raise InternalError("no way of the plan went through")
        return answer

    def _first(self, ways: Ways, snapshots: Snapshots, trace: Trace) -> Answer | None:
        """The answer of the first way that gives one; None if none does."""
        for number, steps in enumerate(ways):
            match steps[0]:
                case Choose(ways=inner):
                    answer = self._first([way.steps for way in inner], snapshots, trace)
                case LocalScan() | LocalFiles() | LocalRows():
                    answer = self._by_driver(steps, ways[number + 1 :], snapshots, trace)
                case _:
                    answer = self.queries.answer(steps, snapshots, trace)
            if answer is not None:
                return answer
        return None

    def _by_driver(
        self, steps: tuple[Step, ...], others: Ways, snapshots: Snapshots, trace: Trace
    ) -> Answer | None:
        """The answer of local steps; None where more would be read than they allow. ``others`` are
        taken where a value turns out to be Spark's, or Spark's DataFrame is asked for.
        """
        with _without_spark():
            late = self.resources.local.late(steps, snapshots, trace)
        if late is None:
            return None

        def fetch() -> pa.Table:
            try:
                with translated():
                    return late.table()
            except NotHere as signal:
                return self._instead(others, snapshots, trace, signal).fetch()

        def stream() -> Iterator[pa.RecordBatch]:
            with _without_spark():
                yield from late.stream()

        @cache
        def by_spark() -> Answer | None:
            snapshots.files.look_again()
            return self._first(others, snapshots, UNTRACED)

        def frame() -> DataFrame | None:
            other = by_spark()
            return None if other is None or other.frame is None else other.frame()

        return Answer(
            columns=columns_made(steps),
            fetch=fetch,
            late=True,
            frame=frame if others else None,
            stream=stream if late.streams and not others else None,
        )

    def _instead(self, others: Ways, snapshots: Snapshots, trace: Trace, signal: NotHere) -> Answer:
        """The answer of the ``others`` to a query that the driver has begun, and cannot end.
        UnsupportedStatementError if there is none.
        """
        self.resources.running.needed_for = signal.reason
        snapshots.files.look_again()
        answer = self._first(others, snapshots, trace)
        if answer is None:
            raise only_spark(signal) from signal
        return answer

    def new_columns(self, query: BoundQuery, snapshots: Snapshots) -> Given:
        """The columns of a query; None is the type of those that hold NULL and nothing else."""
        # few statements make a table, and what binds its columns is much
        from acidsql.plan.new_table import known_columns

        known = known_columns(query, self.resources.settings)
        if known is not None:
            return known
        df = self.queries.dataframe(query, snapshots)
        kinds = [field.dataType.typeName() for field in df.schema.fields]
        return [
            (name, None if kind == "void" else known)
            for (name, known), kind in zip(columns_of(df), kinds, strict=True)
        ]

    def write(self, leg: WritePlan | MergePlan, work: Work, trace: Trace) -> Written:
        """The files of one statement, or of one leg of it, below hidden names until the commit
        publishes them.
        """
        with self._violations_named(leg, work):
            return self._written(leg, work, trace)

    def _written(self, leg: WritePlan | MergePlan, work: Work, trace: Trace) -> Written:
        written = self._by_driver_alone(leg, work, trace) if leg.local else None
        if written is not None:
            return written
        if isinstance(leg, MergePlan):
            return self._merges.merge(leg, work, trace)
        return self._writes.write(leg, work, trace)

    def _by_driver_alone(
        self, leg: WritePlan | MergePlan, work: Work, trace: Trace
    ) -> Written | None:
        """What the local way of a plan has written; None where Spark's is to be taken.
        UnsupportedStatementError if there is no other.
        """
        target, snapshots = write_target(self.resources.settings, leg, work), work.snapshots
        if isinstance(leg, WritePlan):
            return self._unless_spark(
                leg, lambda: self._local_changes.write(leg, target, snapshots, trace)
            )
        return self._unless_spark(
            leg, lambda: self._local_merges.write(leg, target, snapshots, trace)
        )

    def touched(self, leg: WritePlan | MergePlan, work: Work) -> Touching:
        """What the statement would write, by clause, partition and bucket."""
        with self._violations_named(leg, work):
            touched = self._touched_by_driver(leg, work) if leg.local else None
            return self._counts.touched(leg, work) if touched is None else touched

    @contextmanager
    def _violations_named(self, leg: WritePlan | MergePlan, work: Work) -> Iterator[None]:
        """Gives a CardinalityError of a MERGE the values of the row that it speaks of."""
        try:
            yield
        except CardinalityError as error:
            if not isinstance(leg, MergePlan):
                raise
            from acidsql.run.driver.violations import add_key_values

            most = int(self.resources.settings.number("acidsql.run.driver.max.bytes"))
            scanner = self.resources.local.scanner
            add_key_values(error, leg, work.snapshots, scanner, most)
            raise

    def _touched_by_driver(self, leg: WritePlan | MergePlan, work: Work) -> Touching | None:
        target = write_target(self.resources.settings, leg, work)
        if isinstance(leg, WritePlan):
            return self._unless_spark(
                leg, lambda: self._local_changes.touched(leg, target, work.snapshots)
            )
        return self._unless_spark(
            leg, lambda: self._local_merges.touched(leg, target, work.snapshots)
        )

    def _unless_spark(
        self, leg: WritePlan | MergePlan, by_driver: Callable[[], _T | None]
    ) -> _T | None:
        """What the driver alone has made; None where Spark's way is to be taken.
        UnsupportedStatementError if there is no other.
        """
        reason = "so many bytes"
        try:
            with translated():
                result = by_driver()
        except NotHere as signal:
            self.resources.running.needed_for = signal.reason
            result, reason = None, signal.reason
        if result is None and not leg.has_spark:
            raise only_spark(NotHere(reason))
        return result


@contextmanager
def _without_spark() -> Iterator[None]:
    """What is done by the driver, with nobody to take over: UnsupportedStatementError, which says
    why Spark would be needed.
    """
    try:
        with translated():
            yield
    except NotHere as signal:
        raise only_spark(signal) from signal
