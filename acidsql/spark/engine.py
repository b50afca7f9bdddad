"""Carries plans out on Spark: snapshots of tables become views, bound queries become DataFrames, changes become files.

Spark is imported and started only when a statement needs it; literal rows go straight to files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from acidsql.acid.ids import FIRST_WRITE_ID
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import Column, FileFormat, Partition, Table
from acidsql.catalog.statistics import Analyzed, StatisticsChange
from acidsql.catalog.types import HiveType
from acidsql.errors import InternalError
from acidsql.planner.bound import BoundDelete, BoundInsert, BoundLoad, BoundQuery, BoundRead, BoundRows, BoundUpdate
from acidsql.planner.bound_catalog import BoundAnalyze
from acidsql.planner.counting import row_count
from acidsql.planner.lowering import identifier
from acidsql.planner.physical import MergePlan, WritePlan
from acidsql.planner.pruning import prune
from acidsql.planner.rules import loads_files
from acidsql.settings import Settings
from acidsql.spark import classic, driver_writer, statistics
from acidsql.spark.answers import Answer, columns_of, count_answer, wall_clock
from acidsql.spark.counting import RowCounter
from acidsql.spark.enforce import checked_rows, enforced, enforcing
from acidsql.spark.file_systems import FileSystems
from acidsql.spark.fileio import FileIO
from acidsql.spark.garbage import collector_paused
from acidsql.spark.known_files import KnownFiles
from acidsql.spark.literal_rows import literal_table
from acidsql.spark.merge_queries import MergeQueries
from acidsql.spark.new_tables import NewTable
from acidsql.spark.pending import PendingRoot, PendingWrites
from acidsql.spark.publish import publish_files
from acidsql.spark.running import RunningSpark
from acidsql.spark.session import settings_during
from acidsql.spark.settle import needs_settling, settle
from acidsql.spark.snapshots import Snapshots, Visibility
from acidsql.spark.target import StagedFile, WriteTarget, Written
from acidsql.spark.translation import relocated, translated
from acidsql.spark.write_targets import NO_WRITE, Work, rows_to_insert, write_target
from acidsql.txn.transaction import Transaction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.reader import SnapshotReader, TableSnapshot
    from acidsql.spark.touched import Touched


class Engine:
    """One session's hands. ``spark``: a session that was handed in; without one, one is started on first need."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        *,
        spark: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self.files: FileIO = FileSystems(settings, lambda: self.spark)
        self._running = RunningSpark(settings, spark, master, conf)
        self._reader: SnapshotReader | None = None
        self._known = KnownFiles.of(self.files, lambda: self.spark if self.started else None)
        self._counter = RowCounter(self._known)

    @property
    def started(self) -> bool:
        return self._running.started

    @property
    def spark(self) -> SparkSession:
        """The session statements run in; ExecutionError if Spark cannot be started."""
        return self._running.session

    @property
    def reader(self) -> SnapshotReader:
        if self._reader is None:
            from acidsql.spark.reader import SnapshotReader

            self._reader = SnapshotReader(self.spark, self._settings, self.files, self._known)
        return self._reader

    def has_view(self, name: str) -> bool:
        """Whether Spark's session knows the name."""
        return self._running.has_view(name)

    def cancel(self) -> None:
        self._running.cancel()

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known) of the Spark jobs that run now. For another thread."""
        return self._running.running_tasks()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._known.close()
        self._reader = None
        self._running.close()

    # ---- reading

    def snapshots(self, visible: Visibility, own: Mapping[str, PendingRoot] | None = None) -> Snapshots:
        """What one statement is to see. ``own``: what its transaction has written before it."""
        return Snapshots(self.files, visible, self._catalog, clean=isinstance(visible, Transaction), own=own or {})

    def query(self, query: BoundQuery, snapshots: Snapshots) -> Answer:
        """The DataFrame of a query under one snapshot. Spark's analysis errors come back at the user's place."""
        counted = row_count(query)
        if counted is not None:
            with translated():
                number = self._counter.answer(counted, query.reads[0].table, snapshots, self._settings)
            if number is not None:
                return count_answer(counted, number)
        df = self.dataframe(query, snapshots, counting=counted is not None)
        return Answer(df=df, columns=columns_of(df), fetch=lambda: self._collect(df))

    def dataframe(self, query: BoundQuery, snapshots: Snapshots, *, counting: bool = False) -> DataFrame:
        """``counting``: the query uses no column of what it reads but its partition columns."""
        views = self._views(query, snapshots, frozenset() if counting else None)
        text = query.text.render(views)
        with translated(lambda error: relocated(error, query, views)):
            return self.spark.sql(text)

    def _views(self, query: BoundQuery, snapshots: Snapshots, columns_used: frozenset[str] | None) -> list[str]:
        """A view for each read that stands in the query, "" for others. What is read twice is listed once: both see the same files."""
        slots = query.text.slots
        used = [(place, read) for place, read in enumerate(query.reads) if place in slots]
        with translated(), collector_paused():
            seen = [self._found(read, snapshots) for _, read in used]
        self._running.import_views(name for name in query.views if name not in snapshots.views)
        snapshots.views.update(query.views)
        self._running.check_time_zone(*(read.table for _, read in used))
        views = [""] * len(query.reads)
        with translated(), collector_paused():
            for snapshot, (place, read) in zip(seen, used, strict=True):
                views[place] = self.reader.view(snapshot, row_id=read.row_id, predicates=read.predicates, columns_used=columns_used)
        return views

    def _found(self, read: BoundRead, snapshots: Snapshots) -> TableSnapshot:
        return snapshots.take(read.table, self._partitions_needed(read, snapshots))

    def _partitions_needed(self, read: BoundRead, snapshots: Snapshots) -> tuple[Partition, ...]:
        """The partitions that can hold rows the query needs; what the planner cannot tell by itself is put to Spark."""
        columns, partitions = read.table.partition_columns, snapshots.partitions(read.table)
        if not partitions or not read.partition_filter:
            return partitions
        pruning = prune(columns, partitions, read.partition_filter, ansi=self._settings.flag("acidsql.ansi"))
        return self.meeting(columns, pruning.kept, pruning.undecided) if len(pruning.kept) > 1 else pruning.kept

    def meeting(self, columns: Sequence[Column], partitions: tuple[Partition, ...], conditions: Sequence[str]) -> tuple[Partition, ...]:
        """The partitions whose values meet ``conditions``, Spark SQL over the partition ``columns``. Without any, Spark is not asked."""
        if not conditions or not partitions:
            return partitions
        from acidsql.spark.partition_places import meeting

        with translated():
            return meeting(self.spark, columns, partitions, conditions)

    def _collect(self, df: DataFrame) -> pa.Table:
        # Adaptive execution would plan again between the two stages of such a query, where nothing is left to choose.
        fixed = {"spark.sql.adaptive.enabled": "false"} if classic.is_one_aggregate(df) else {}
        with translated(), self._running.tagged(), settings_during(self.spark, fixed):
            return wall_clock(df.toArrow())

    # ---- writing

    def write(self, plan: WritePlan, work: Work) -> Written:
        """Writes the files of one DML statement on a transactional table; they are published when the transaction commits."""
        target = write_target(self._settings, plan, work)
        action = plan.action
        if isinstance(action, BoundInsert) and isinstance(action.source, BoundRows):
            return self._write_literals(target, checked_rows(plan.table, literal_table(action, action.source)))
        if isinstance(action, BoundLoad):
            return self._load(plan.table, action, target)
        return self._write_query(plan, self.files, target, work.snapshots)

    def write_new(self, plan: WritePlan, snapshots: Snapshots) -> Written:
        """The first rows of a table that is not there yet, and the table with them. See NewTable."""
        from acidsql.spark import writer

        new = NewTable(self._catalog, plan.table, counted=self._settings.flag("hive.stats.autogather"))
        work = Work(snapshots=snapshots, write_id=FIRST_WRITE_ID if plan.table.is_transactional else NO_WRITE)
        target = replace(write_target(self._settings, plan, work), publishing=new.publishing)
        action = plan.action
        assert isinstance(action, BoundInsert)
        self._running.check_time_zone(plan.table)
        rows = self._rows_to_insert(action, snapshots)
        with translated(), self._running.tagged():
            insert = writer.insert if plan.table.is_transactional else writer.insert_plain
            written = insert(self.spark, self.files, target, rows)
            if not new.made:  # there were no rows
                self.files.make_directory(plan.table.location)
                with new.publishing(()):
                    pass
        return written

    def new_columns(self, query: BoundQuery, snapshots: Snapshots) -> list[tuple[str, HiveType | None]]:
        """The columns of a query; None is the type of those that hold NULL and nothing else."""
        df = self.dataframe(query, snapshots)
        kinds = [field.dataType.typeName() for field in df.schema.fields]
        return [(name, None if kind == "void" else found) for (name, found), kind in zip(columns_of(df), kinds, strict=True)]

    def _write_literals(self, target: WriteTarget, rows: pa.Table) -> Written:
        """Without Spark, where the files are ORC."""
        if target.table.file_format is FileFormat.ORC or not rows.num_rows:
            write = driver_writer.write_rows if target.table.is_transactional else driver_writer.write_plain_rows
            with translated():
                return write(self.files, target, rows)
        from acidsql.spark import writer

        self._running.check_time_zone(target.table)
        with translated(), self._running.tagged():
            return writer.insert_plain(self.spark, self.files, target, writer.literal_rows(self.spark, target.table, rows))

    def _write_query(self, plan: WritePlan, io: FileIO, target: WriteTarget, snapshots: Snapshots) -> Written:
        from acidsql.spark import writer

        action = plan.action
        spark = self.spark
        self._running.check_time_zone(plan.table)
        match action:
            case BoundInsert():
                rows = enforced(plan.table, self._rows_to_insert(action, snapshots))
                with translated(), enforcing(plan.table), self._running.tagged():
                    return writer.insert(spark, io, target, rows)
            case BoundLoad():
                raise InternalError("files are loaded, not queried")
            case BoundUpdate():
                changed = enforced(plan.table, self.dataframe(action.query, snapshots), "acidsql_0", "acidsql_1", "acidsql_2")
                with translated(), enforcing(plan.table), self._running.tagged():
                    return writer.update(spark, io, target, changed)
            case BoundDelete():
                doomed = self.dataframe(action.query, snapshots)
                with translated(), self._running.tagged():
                    return writer.delete(spark, io, target, doomed)
            case _:
                assert_never(action)

    def _load(self, table: Table, action: BoundLoad, target: WriteTarget) -> Written:
        """Files as they are, or their rows by INSERT."""
        from acidsql.spark import loading, writer

        if loads_files(table):
            with translated():
                return loading.write_load(self.files, target, action)
        self._running.check_time_zone(table)
        with translated():
            sources = loading.sources_of(self.files, action)
            rows = enforced(table, loading.rows(self.spark, self.reader, target, action, sources))
        with translated(), enforcing(table), self._running.tagged():
            insert = writer.insert if table.is_transactional else writer.insert_plain
            return replace(insert(self.spark, self.files, target, rows), moved=loading.moved(action, sources))

    def delete_moved(self, paths: Sequence[str]) -> None:
        """Of files that LOAD DATA has moved, once their rows are there for good. ExecutionError for one that stays."""
        if paths:
            from acidsql.spark import loading

            loading.delete_moved(self.files, paths)

    def merge(self, plan: MergePlan, work: Work) -> Written:
        """Writes the files of a MERGE; they are published when the transaction commits."""
        from acidsql.spark import merge

        io = self.files
        target = write_target(self._settings, plan, work)
        self._running.check_time_zone(plan.table)
        check = self._settings.flag("hive.merge.cardinality.check")
        with translated(), enforcing(plan.table), self._running.tagged():
            return merge.merge(self.spark, io, plan, target, self._merge_queries(plan, work.snapshots), check=check)

    def _merge_queries(self, plan: MergePlan, snapshots: Snapshots) -> MergeQueries:
        from acidsql.spark.key_lookup import KeyLookup

        keys = KeyLookup(self._known, int(self._settings.number("acidsql.read.deletes.max.events")))
        return MergeQueries(plan, lambda query: self.dataframe(query, snapshots), lambda read: self._found(read, snapshots), keys)

    def touched(self, plan: WritePlan | MergePlan, work: Work) -> list[Touched]:
        """What the statement would write, by clause, partition and bucket."""
        from acidsql.spark import touched

        target = write_target(self._settings, plan, work)
        with translated(), enforcing(plan.table), self._running.tagged():
            if isinstance(plan, MergePlan):
                check = self._settings.flag("hive.merge.cardinality.check")
                return touched.of_merge(plan, target, self._merge_queries(plan, work.snapshots).whole(), check=check)
            match plan.action:
                case BoundInsert(source=BoundRows() as rows) as action:
                    return touched.of_literals(target, checked_rows(plan.table, literal_table(action, rows)))
                case BoundInsert() as action:
                    return touched.of_inserts(target, enforced(plan.table, self._rows_to_insert(action, work.snapshots)))
                case BoundLoad():
                    raise InternalError("LOAD DATA is explained, not counted")
                case BoundUpdate(query=query):
                    changed = enforced(plan.table, self.dataframe(query, work.snapshots), "acidsql_0", "acidsql_1", "acidsql_2")
                    return touched.of_changes(target, changed, values=True)
                case BoundDelete(query=query):
                    return touched.of_changes(target, self.dataframe(query, work.snapshots), values=False)
                case _:
                    assert_never(plan.action)

    def publish(self, pending: PendingWrites) -> None:
        """Gives the files of a transaction that is about to commit their names."""
        with translated():
            for name, root in pending.roots.items():
                if needs_settling(root):
                    with self._running.tagged():
                        pending.roots[name] = settle(self.files, root, self._live_rows)
            roots = pending.roots.values()
            files = [file for root in roots for file in root.files]
            empty = [root.base for root in roots if root.overwritten]
            raw = [root.base for root in roots if root.table.is_insert_only]
            locations = {root.table.location for root in roots}
            pending.published += [(self.files, d) for d in publish_files(self.files, locations, files, empty=empty, raw=raw)]

    def _live_rows(self, root: PendingRoot, files: Sequence[StagedFile]) -> tuple[SparkSession, DataFrame]:
        from acidsql.spark.reader import Place, TableSnapshot

        place = Place(root=root.target.root, own_inserts=root.found(files), own_deletes=root.found(root.deletes))
        table = replace(root.table, partition_columns=())
        view = identifier(self.reader.view(TableSnapshot(table=table, places=(place,)), row_id=True))
        names = ", ".join(identifier(c.name) for c in table.columns)
        return self.spark, self.spark.sql(f"SELECT ROW__ID.*, {names} FROM {view}")

    def forget(self, pending: PendingWrites) -> None:
        """Removes what a transaction that will never commit has written."""
        with translated():
            pending.discard(published=True)

    def write_plain(self, plan: WritePlan, visible: Visibility) -> Written:
        """INSERT into a table without transactions."""
        action = plan.action
        if not isinstance(action, BoundInsert | BoundLoad):
            raise InternalError("only INSERT and LOAD DATA write to a table without transactions")
        snapshots = self.snapshots(visible)
        snapshots.check_unchanged(plan.table)
        target = write_target(self._settings, plan, Work(snapshots=snapshots))
        if isinstance(action, BoundLoad):
            return self._load(plan.table, action, target)
        if isinstance(action.source, BoundRows):
            return self._write_literals(target, checked_rows(plan.table, literal_table(action, action.source)))
        from acidsql.spark import writer

        self._running.check_time_zone(plan.table)
        rows = enforced(plan.table, self._rows_to_insert(action, snapshots))
        with translated(), enforcing(plan.table), self._running.tagged():
            return writer.insert_plain(self.spark, self.files, target, rows)

    def _rows_to_insert(self, action: BoundInsert, snapshots: Snapshots) -> DataFrame:
        """The rows of the query in the columns of the target."""
        assert isinstance(action.source, BoundQuery)
        return rows_to_insert(self.dataframe(action.source, snapshots), action)

    # ---- statistics

    def analyze(self, action: BoundAnalyze, snapshots: Snapshots) -> list[Analyzed]:
        """What ANALYZE has found of the table or of each partition asked for. Starts Spark only to read rows."""
        from acidsql.spark import analyze

        table = action.table
        most = int(self._settings.number("acidsql.read.deletes.max.events"))
        with translated():
            snapshot = snapshots.take(table, action.partitions or ())
            rows = self._counter.rows(snapshot, max_events=most) if table.file_format is FileFormat.ORC else None
            found = analyze.of_files(snapshot, rows)
            if action.noscan or (rows is not None and not action.columns):
                return found
            self._running.check_time_zone(table)
            view = self.reader.view(snapshot, columns_used=None if action.columns else frozenset())
            frame = self.spark.sql(analyze.aggregate(table, action.columns, view))
        return analyze.with_rows(table, action.columns, found, self._collect(frame))

    def begun(self, table: Table, partitions: Sequence[Partition], snapshots: Snapshots) -> tuple[Partition, ...]:
        """Partitions a statement has written to, those it makes with their statistics, as they are before it commits."""
        if not self._settings.flag("hive.stats.autogather"):
            return tuple(partitions)
        with translated():
            return tuple(statistics.as_begun(self.files, table, partitions, snapshots))

    def statistics(self, pending: PendingWrites) -> tuple[StatisticsChange, ...]:
        """What a transaction whose files are published changes."""
        counted = self._settings.flag("hive.stats.autogather")
        return tuple(statistics.of_transaction(pending.roots.values(), counted=counted))

    def of_plain(self, plan: WritePlan, written: Written) -> tuple[tuple[Partition, ...], tuple[StatisticsChange, ...]]:
        """The same of a table without transactions: its new partitions as they were before, and what has changed."""
        table = plan.table
        counted = self._settings.flag("hive.stats.autogather")
        overwrite = isinstance(plan.action, BoundInsert | BoundLoad) and plan.action.overwrite
        begun = written.partitions
        if counted and begun:
            with translated():
                begun = tuple(statistics.as_written(self.files, table, written, self._catalog.list_partitions(table)))
        return begun, tuple(statistics.of_plain_files(table, written, overwrite=overwrite, counted=counted))
