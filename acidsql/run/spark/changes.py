"""The steps that write: rows of Spark's, rows on the driver or files that were found become
finished files, which the commit publishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from acidsql.errors import InternalError, Warning
from acidsql.expressions.losses import Counter
from acidsql.lazy_dataclass import dataclass
from acidsql.plan.operators import (
    Check,
    Choose,
    Fetch,
    FindFiles,
    Job,
    Literals,
    Query,
    ReadFiles,
    Scan,
    Step,
    TakeFiles,
    WriteFiles,
)
from acidsql.plan.plans import WritePlan
from acidsql.planner.bind.bound import BoundInsert, BoundLoad, BoundQuery, BoundUpdate
from acidsql.run.driver.changes import write_files
from acidsql.run.driver.literal_rows import literal_table
from acidsql.run.resources import Resources
from acidsql.run.spark.queries import Queries
from acidsql.run.spark.targets import (
    Work,
    checked_rows,
    enforced,
    enforcing,
    rows_to_insert,
    rows_to_update,
    write_target,
)
from acidsql.run.trace import Figures, Trace
from acidsql.spark.start.translation import translated
from acidsql.storage.load import loading
from acidsql.storage.load.sources import Source
from acidsql.storage.snapshots import Snapshots
from acidsql.storage.write.target import WriteTarget, Written

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

OLD_ROW = ("acidsql_0", "acidsql_1", "acidsql_2")
"""What the identity of a row is called while the new values beside it are checked."""


@dataclass(slots=True)
class Rows:
    """What the source steps of a statement have come to: rows of Spark's, rows on the driver, or
    files that were found. ``counters``: those of the marks of rows.
    """

    frame: DataFrame | None = None
    counters: tuple[Counter, ...] = ()
    warnings: tuple[Warning, ...] = ()
    table: pa.Table | None = None
    sources: tuple[Source, ...] = ()


class WriteSteps:
    """Carries out what is left of a plan's steps once its target is known."""

    def __init__(self, resources: Resources, queries: Queries) -> None:
        self._resources = resources
        self._queries = queries

    def write(self, plan: WritePlan, work: Work, trace: Trace) -> Written:
        """The files of one DML statement, below hidden names."""
        target = write_target(self._resources.settings, plan, work)
        rows = self.source(plan, target, work.snapshots, trace)
        with translated(), enforcing(plan.table):
            written = self._written(plan.writing, target, rows, trace)
        if written is None:
            raise InternalError("no way of the plan went through")
        if rows.warnings:
            written = replace(written, warnings=rows.warnings)
        if isinstance(plan.action, BoundLoad) and not plan.action.local:
            return replace(written, moved=tuple(source.path for source in rows.sources))
        return written

    # ---- where the rows come from

    def source(
        self, plan: WritePlan, target: WriteTarget, snapshots: Snapshots, trace: Trace
    ) -> Rows:
        """What the source steps of a plan come to."""
        rows, views = Rows(), dict[int, str]()
        for step in plan.source:
            if isinstance(step, Scan):
                views[step.number] = self._queries.scan(step.read, snapshots, trace.running(step))
                continue
            with trace.running(step) as figures, translated():
                match step:
                    case Query():
                        rows.frame, rows.counters = self._planned(plan, step, views, snapshots)
                        match plan.action:
                            case BoundInsert() as insert:
                                given = rows_to_insert(rows.frame, insert, rows.counters)
                                rows.frame, rows.counters, rows.warnings = given
                            case BoundUpdate() as update:
                                rows.frame, rows.counters = rows_to_update(rows.frame, update)
                    case Literals():
                        assert isinstance(plan.action, BoundInsert)
                        rows.table = literal_table(plan.action, step.source)
                        figures.rows = rows.table.num_rows
                    case FindFiles():
                        rows.sources = self._found_files(step, figures)
                    case ReadFiles():
                        rows.frame = self._read_files(plan, target, rows)
                    case Check():
                        _check(plan, rows)
                    case _:
                        raise InternalError(f"{type(step).__name__} gives no rows")
        return rows

    def _planned(
        self, plan: WritePlan, step: Query, views: Mapping[int, str], snapshots: Snapshots
    ) -> tuple[DataFrame, tuple[Counter, ...]]:
        """The rows of a query, with marks and their counters where its values are stored one by
        one.
        """

        def planned(query: BoundQuery) -> DataFrame:
            return self._queries.planned(query, views, snapshots)

        if not step.query.values or not isinstance(plan.action, BoundInsert):
            return planned(step.query), ()
        from acidsql.spark.write.computed_rows import marked_values

        return marked_values(step.query, plan.action.columns, planned)

    def _found_files(self, step: FindFiles, figures: Figures) -> tuple[Source, ...]:
        load = step.load
        sources = loading.sources_of(self._resources.files, load.table, load.path, load.span)
        figures.files, figures.bytes = len(sources), sum(source.size for source in sources)
        return sources

    def _read_files(self, plan: WritePlan, target: WriteTarget, rows: Rows) -> DataFrame:
        from acidsql.spark.write.loading import loaded_rows

        assert isinstance(plan.action, BoundLoad)
        spark, reader = self._resources.spark, self._resources.reader
        return loaded_rows(spark, reader, target, plan.action, rows.sources)

    # ---- where they go

    def _written(
        self, steps: tuple[Step, ...], target: WriteTarget, rows: Rows, trace: Trace
    ) -> Written | None:
        """The files of the rows. None if another way is to be taken, before anything is written."""
        for step in steps:
            if isinstance(step, Choose):
                ways = (self._written(way.steps, target, rows, trace) for way in step.ways)
                return next((written for written in ways if written is not None), None)
            with trace.running(step) as figures:
                if isinstance(step, Fetch):
                    rows.table = self._fetched(step, target, rows, figures)
                    if rows.table is None:
                        return None
                    continue
                written = self._files_of(step, target, rows)
                figures.rows = written.inserted + written.updated + written.deleted
                figures.files = len(written.directories) or None
                return written
        return None

    def _files_of(self, step: Step, target: WriteTarget, rows: Rows) -> Written:
        match step:
            case WriteFiles():
                assert rows.table is not None
                files = self._resources.files
                return write_files(files, target, rows.table, step.effect, rows.counters)
            case Job():
                return self._by_job(step, target, rows)
            case TakeFiles(load=load):
                files, moving = self._resources.files, not load.local
                return loading.write_load(files, target, rows.sources, load.span, moving=moving)
            case _:
                raise InternalError(f"{type(step).__name__} writes nothing")

    def _fetched(
        self, step: Fetch, target: WriteTarget, rows: Rows, figures: Figures
    ) -> pa.Table | None:
        from acidsql.spark.write import writer

        assert rows.frame is not None
        with self._resources.running.tagged():
            table = writer.fetched(target, rows.frame, step.effect, step.max_bytes)
        if table is None:
            figures.in_vain = True
        else:
            figures.rows, figures.bytes = table.num_rows, table.nbytes
        return table

    def _by_job(self, step: Job, target: WriteTarget, rows: Rows) -> Written:
        from acidsql.spark.write import writer

        spark, running = self._resources.spark, self._resources.running
        frame = (
            rows.frame
            if rows.frame is not None
            else writer.literal_rows(spark, target.table, rows.table)
        )
        with running.tagged():
            return writer.write_by_job(
                spark, self._resources.files, target, frame, step.effect, rows.counters
            )


def _check(plan: WritePlan, rows: Rows) -> None:
    if rows.table is not None:
        rows.table = checked_rows(plan.table, rows.table)
    elif rows.frame is not None:
        leading = OLD_ROW if isinstance(plan.action, BoundUpdate) else ()
        rows.frame = enforced(plan.table, rows.frame, *leading)
