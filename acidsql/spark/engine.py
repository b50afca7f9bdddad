"""Carries plans out on Spark: snapshots of tables become views, bound queries become DataFrames, changes become files.

Spark is imported and started only when a statement needs it; literal rows go straight to files.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, assert_never

from acidsql.acid.ids import NO_STATEMENT, TxnId, WriteId
from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import DEFAULT_PARTITION, Partition, Table
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.types import HiveType, PrimitiveType, parse_type
from acidsql.errors import BindError, Error, ExecutionError, InternalError
from acidsql.planner.bind_table import wrong_column_count
from acidsql.planner.bound import BoundDelete, BoundInsert, BoundQuery, BoundRead, BoundRows, BoundUpdate
from acidsql.planner.lowering import identifier, store_cast, text_literal
from acidsql.planner.merge import LEADING_COLUMNS, changes_query, inserts_query, source_query, whole_query
from acidsql.planner.physical import MergePlan, WritePlan
from acidsql.planner.pruning import prune
from acidsql.planner.query_text import Piece
from acidsql.planner.rules import default_value
from acidsql.settings import Settings, show_value
from acidsql.spark import classic, driver_writer
from acidsql.spark.enforce import checked_rows, enforced, enforcing
from acidsql.spark.file_systems import FileSystems
from acidsql.spark.fileio import FileIO
from acidsql.spark.partition_places import PartitionPlaces, key_names
from acidsql.spark.pending import PendingRoot, PendingWrites
from acidsql.spark.publish import publish_files
from acidsql.spark.schema import arrow_schema
from acidsql.spark.settle import needs_settling, settle
from acidsql.spark.snapshots import Snapshots, Visibility
from acidsql.spark.stored import holds, is_timestamp
from acidsql.spark.target import StagedFile, WriteTarget, Written
from acidsql.txn.transaction import Transaction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.reader import SnapshotReader
    from acidsql.spark.touched import Touched


NO_TXN, NO_WRITE = TxnId(0), WriteId(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a statement that writes has of its transaction; a table that is not transactional needs no more than ``snapshots``."""

    snapshots: Snapshots
    txn_id: TxnId = NO_TXN
    write_id: WriteId = NO_WRITE
    pending: PendingWrites | None = None


@dataclass(slots=True, kw_only=True)
class Answer:
    """A query's DataFrame and the columns it gives; ``fetch`` runs it."""

    df: DataFrame
    columns: tuple[tuple[str, HiveType], ...]
    fetch: Callable[[], pa.Table]


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
        self._theirs = spark
        self._master = master
        self._conf = dict(conf or {})
        self._ours: SparkSession | None = None
        self._reader: SnapshotReader | None = None
        self._lock = threading.Lock()
        self._tag = f"acidsql-{uuid.uuid4().hex[:12]}"
        settings.on_change(self._setting_changed)

    # ---- Spark's session

    @property
    def started(self) -> bool:
        return self._ours is not None

    @property
    def spark(self) -> SparkSession:
        """The session statements run in; ExecutionError if Spark cannot be started."""
        with self._lock:
            if self._ours is None:
                self._ours = self._open()
            return self._ours

    def _open(self) -> SparkSession:
        from acidsql.spark import session

        given = {k: show_value(v) for k, v in self._settings.items() if k.startswith("spark.")}
        given["spark.sql.ansi.enabled"] = show_value(self._settings.flag("acidsql.ansi"))
        if self._theirs is not None:
            return session.derive(self._theirs, given)
        fast = self._settings.flag("acidsql.spark.fast.start")
        return session.derive(session.start(self._master, self._conf, fast_start=fast), given)

    @property
    def reader(self) -> SnapshotReader:
        if self._reader is None:
            from acidsql.spark.reader import SnapshotReader

            self._reader = SnapshotReader(self.spark, self._settings, self.files)
        return self._reader

    def has_view(self, name: str) -> bool:
        """Whether Spark's session knows the name: asked only of a session there is, none is started."""
        spark = self._theirs or self._ours
        return spark is not None and bool(spark.catalog.tableExists(name))

    def cancel(self) -> None:
        if self._ours is not None:
            self._ours.interruptTag(self._tag)

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known) of the Spark jobs that run now. For another thread."""
        return None if self._ours is None else classic.running_tasks(self._ours)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = self._ours = None

    def _setting_changed(self, name: str) -> None:
        if self._ours is None:
            return
        if name == "acidsql.ansi":
            self._ours.conf.set("spark.sql.ansi.enabled", show_value(self._settings.flag(name)))
        elif name.startswith("spark."):
            self._set_conf(name, self._settings.get(name))

    def _set_conf(self, name: str, value: Any) -> None:
        assert self._ours is not None
        with translated():
            if value is None:
                self._ours.conf.unset(name)
            else:
                self._ours.conf.set(name, show_value(value))

    # ---- reading

    def snapshots(self, visible: Visibility, own: Mapping[str, PendingRoot] | None = None) -> Snapshots:
        """What one statement is to see. ``own``: what its transaction has written before it."""
        return Snapshots(self.files, visible, self._catalog, clean=isinstance(visible, Transaction), own=own or {})

    def query(self, query: BoundQuery, snapshots: Snapshots) -> Answer:
        """The DataFrame of a query under one snapshot. Spark's analysis errors come back at the user's place."""
        from acidsql.spark.reader import HIVE_TYPE

        df = self.dataframe(query, snapshots)
        columns = tuple((f.name, hive_type((f.metadata or {}).get(HIVE_TYPE) or f.dataType.simpleString())) for f in df.schema.fields)
        return Answer(df=df, columns=columns, fetch=lambda: self._collect(df))

    def dataframe(self, query: BoundQuery, snapshots: Snapshots) -> DataFrame:
        views = self._views(query, snapshots)
        text = query.text.render(views)
        with translated(lambda error: _relocate(error, query, views)):
            return self.spark.sql(text)

    def _views(self, query: BoundQuery, snapshots: Snapshots) -> list[str]:
        """A view for each read. What is read twice is listed once: both see the same files."""
        with translated():
            seen = [snapshots.take(read.table, self._partitions_needed(read, snapshots)) for read in query.reads]
        spark = self.spark
        if self._theirs is not None and query.views:
            from acidsql.spark import session

            for name in query.views:
                with translated():
                    session.import_view(spark, self._theirs, name)
        self._check_time_zone(*(read.table for read in query.reads))
        with translated():
            return [self.reader.view(s, row_id=r.row_id, predicates=r.predicates) for s, r in zip(seen, query.reads, strict=True)]

    def _partitions_needed(self, read: BoundRead, snapshots: Snapshots) -> tuple[Partition, ...]:
        """The partitions that can hold rows the query needs; what the planner cannot tell by itself is put to Spark."""
        columns, partitions = read.table.partition_columns, snapshots.partitions(read.table)
        if not partitions or not read.partition_filter:
            return partitions
        pruning = prune(columns, partitions, read.partition_filter, ansi=self._settings.flag("acidsql.ansi"))
        if not pruning.undecided or len(pruning.kept) < 2:
            return pruning.kept
        from acidsql.spark.partition_places import meeting

        return meeting(self.spark, columns, pruning.kept, pruning.undecided)

    def _check_time_zone(self, *tables: Table) -> None:
        """ExecutionError where the timestamps of these tables would shift: see session.check_time_zone."""
        if any(holds(column.type, is_timestamp) for table in tables for column in table.columns):
            from acidsql.spark import session

            session.check_time_zone(self.spark)

    def _collect(self, df: DataFrame) -> pa.Table:
        with translated(), self._tagged():
            return wall_clock(df.toArrow())

    @contextmanager
    def _tagged(self) -> Iterator[None]:
        """Jobs inside can be cancelled from another thread."""
        spark = self.spark
        spark.addTag(self._tag)
        try:
            yield
        finally:
            spark.removeTag(self._tag)

    # ---- writing

    def write(self, plan: WritePlan, work: Work) -> Written:
        """Writes the files of one DML statement on a transactional table; they are published when the transaction commits."""
        io = self.files
        target = self._target(plan, work)
        action = plan.action
        if isinstance(action, BoundInsert) and isinstance(action.source, BoundRows):
            with translated():
                return driver_writer.write_rows(io, target, checked_rows(plan.table, literal_table(action, action.source)))
        return self._write_query(plan, io, target, work.snapshots)

    def _write_query(self, plan: WritePlan, io: FileIO, target: WriteTarget, snapshots: Snapshots) -> Written:
        from acidsql.spark import writer

        action = plan.action
        spark = self.spark
        self._check_time_zone(plan.table)
        match action:
            case BoundInsert():
                rows = enforced(plan.table, self._rows_to_insert(action, snapshots))
                with translated(), enforcing(plan.table), self._tagged():
                    return writer.insert(spark, io, target, rows)
            case BoundUpdate():
                changed = enforced(plan.table, self.dataframe(action.query, snapshots), "acidsql_0", "acidsql_1", "acidsql_2")
                with translated(), enforcing(plan.table), self._tagged():
                    return writer.update(spark, io, target, changed)
            case BoundDelete():
                doomed = self.dataframe(action.query, snapshots)
                with translated(), self._tagged():
                    return writer.delete(spark, io, target, doomed)
            case _:
                assert_never(action)

    def merge(self, plan: MergePlan, work: Work) -> Written:
        """Writes the files of a MERGE; they are published when the transaction commits."""
        from acidsql.spark import merge

        io = self.files
        target = self._target(plan, work)
        self._check_time_zone(plan.table)
        check = self._settings.flag("hive.merge.cardinality.check")
        with translated(), enforcing(plan.table), self._tagged():
            return merge.merge(self.spark, io, plan, target, _MergeQueries(self, plan, work.snapshots), check=check)

    def touched(self, plan: WritePlan | MergePlan, work: Work) -> list[Touched]:
        """What the statement would write, by clause, partition and bucket."""
        from acidsql.spark import touched

        target = self._target(plan, work)
        with translated(), enforcing(plan.table), self._tagged():
            if isinstance(plan, MergePlan):
                check = self._settings.flag("hive.merge.cardinality.check")
                return touched.of_merge(plan, target, _MergeQueries(self, plan, work.snapshots).whole(), check=check)
            match plan.action:
                case BoundInsert(source=BoundRows() as rows) as action:
                    return touched.of_literals(target, checked_rows(plan.table, literal_table(action, rows)))
                case BoundInsert() as action:
                    return touched.of_inserts(target, enforced(plan.table, self._rows_to_insert(action, work.snapshots)))
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
                    with self._tagged():
                        pending.roots[name] = settle(self.files, root, self._live_rows)
            roots = pending.roots.values()
            files = [file for root in roots for file in root.files]
            empty = [root.base for root in roots if root.overwritten]
            locations = {root.table.location for root in roots}
            pending.published += [(self.files, d) for d in publish_files(self.files, locations, files, empty=empty)]

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
        if not isinstance(action, BoundInsert):
            raise InternalError("only INSERT writes to a table without transactions")
        io = self.files
        snapshots = self.snapshots(visible)
        snapshots.check_unchanged(plan.table)
        target = self._target(plan, Work(snapshots=snapshots))
        if isinstance(action.source, BoundRows):
            with translated():
                return driver_writer.write_plain_rows(io, target, checked_rows(plan.table, literal_table(action, action.source)))
        from acidsql.spark import writer

        self._check_time_zone(plan.table)
        rows = enforced(plan.table, self._rows_to_insert(action, snapshots))
        with translated(), enforcing(plan.table), self._tagged():
            return writer.insert_plain(self.spark, io, target, rows)

    def _target(self, plan: WritePlan | MergePlan, work: Work) -> WriteTarget:
        table, snapshots = plan.table, work.snapshots
        insert = plan.action if isinstance(plan, WritePlan) and isinstance(plan.action, BoundInsert) else None
        places = PartitionPlaces.of(table, snapshots.partitions(table)) if table.partition_columns else None
        return WriteTarget(
            table=table,
            write_id=work.write_id,
            statement_id=plan.sinks[0].statement_id if plan.sinks else NO_STATEMENT,
            codec=table.properties.get("orc.compress", "ZLIB"),
            max_bytes=int(self._settings.number("acidsql.write.driver.max.bytes")),
            force_path=self._settings.text("acidsql.write.path"),
            staging=f".acidsql_{work.txn_id}_{uuid.uuid4().hex[:8]}",
            places=places,
            sure=() if insert is None or places is None else _named_partitions(insert, places, snapshots),
            max_partitions=self._max_partitions(insert),
            overwrite=insert is not None and insert.overwrite,
            pending=work.pending,
        )

    def _max_partitions(self, insert: BoundInsert | None) -> int | None:
        dynamic = insert is not None and insert.partition is not None and insert.partition.dynamic
        return int(self._settings.number("hive.exec.max.dynamic.partitions")) if dynamic else None

    def _rows_to_insert(self, action: BoundInsert, snapshots: Snapshots) -> DataFrame:
        """The source's columns, cast to the target's and put in its order; columns that were not named are NULL or their DEFAULT."""
        assert isinstance(action.source, BoundQuery)
        df = self.dataframe(action.source, snapshots)
        given = len(df.columns)
        if given != len(action.columns):
            raise wrong_column_count(action.table, len(action.columns), given, action.span)
        places = {c.name: f"_c{i}" for i, c in enumerate(action.columns)}
        static = dict(action.partition.static) if action.partition is not None else {}
        casts = []
        for column in (*action.table.columns, *action.table.partition_columns):
            place = places.get(column.name)
            if column.name in static:
                pieces: tuple[Piece, ...] = (text_literal(static[column.name]),)
            else:
                pieces = default_value(action.table, column) if place is None else store_cast((place,), column.type)
            casts.append("".join(p for p in pieces if isinstance(p, str)) + f" AS {identifier(column.name)}")
        with translated(lambda error: _place(error, action)):
            return df.toDF(*[f"_c{i}" for i in range(given)]).selectExpr(*casts)


def _named_partitions(action: BoundInsert, places: PartitionPlaces, snapshots: Snapshots) -> tuple[Partition, ...]:
    """The partitions an INSERT or TRUNCATE names, whatever rows there are."""
    if action.truncate:
        columns, wanted = [c.name for c in action.table.partition_columns], set(action.truncated)
        return tuple(p for p in snapshots.partitions(action.table) if wanted <= set(zip(columns, p.values, strict=True)))
    values = action.partition.values if action.partition is not None else None
    return () if values is None else (places.find(values),)


@dataclass(frozen=True, slots=True)
class _MergeQueries:
    """merge.Queries. Each is a query of its own for Spark; the tables they read are listed once for all of them."""

    engine: Engine
    plan: MergePlan
    snapshots: Snapshots

    def source(self) -> DataFrame:
        return self._dataframe(source_query(self.plan.merge))

    def changes(self, numbered_source: str | None) -> DataFrame:
        return self._enforced(changes_query(self.plan, numbered_source))

    def inserts(self, unmatched_source: str) -> DataFrame:
        return self._enforced(inserts_query(self.plan, unmatched_source))

    def whole(self) -> DataFrame:
        return self._enforced(whole_query(self.plan))

    def _enforced(self, query: BoundQuery) -> DataFrame:
        writing = [str(number) for number, clause in enumerate(self.plan.merge.clauses) if clause.values]
        exempt = f"NOT coalesce(acidsql_1 IN ({', '.join(writing)}), FALSE)" if writing else "TRUE"
        leading = [f"acidsql_{place}" for place in range(len(LEADING_COLUMNS))]
        return enforced(self.plan.table, self._dataframe(query), *leading, exempt=exempt)

    def _dataframe(self, query: BoundQuery) -> DataFrame:
        return self.engine.dataframe(query, self.snapshots)


def literal_table(action: BoundInsert, source: BoundRows) -> pa.Table:
    """Literal rows as Arrow: all columns of the table in its order, and the texts of its partition columns."""
    import pyarrow as pa

    table = action.table
    place = {c.name: i for i, c in enumerate(action.columns)}
    static = dict(action.partition.static) if action.partition is not None else {}
    arrays, names = [], []
    for column in arrow_schema(table.columns):
        at = place.get(column.name)
        arrays.append(pa.nulls(len(source.rows), column.type) if at is None else pa.array([row[at] for row in source.rows], column.type))
        names.append(column.name)
    for key, name in zip(table.partition_columns, key_names(table), strict=True):
        texts = [static[key.name] if key.name in static else partition_text(row[place[key.name]]) for row in source.rows]
        arrays.append(pa.array([text or DEFAULT_PARTITION for text in texts], pa.string()))
        names.append(name)
    return pa.Table.from_arrays(arrays, names=names)


def hive_type(spark_name: str) -> HiveType:
    """Spark's name of a type as Hive's; a type Hive has not keeps Spark's name."""
    name = spark_name.replace("timestamp_ntz", "timestamp")
    try:
        return parse_type("string" if name == "void" else name)
    except BindError:
        return PrimitiveType(name)


def wall_clock(table: pa.Table) -> pa.Table:
    """Timestamps without a zone, as Hive's are: the session's zone is where their clock stands."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
        columns.append(pc.local_timestamp(column) if zoned else column)
    return pa.Table.from_arrays(columns, names=table.column_names)


@contextmanager
def translated(place: Callable[[Error], Error] | None = None) -> Iterator[None]:
    """Whatever fails inside leaves as an error of ours; ``place`` may give it its place in the user's text."""
    noise = logging.getLogger("SQLQueryContextLogger")  # PySpark prints there, as JSON, what it is about to raise
    before, noise.disabled = noise.disabled, True
    try:
        yield
    except Error as error:
        raise (place(error) if place else error) from error.__cause__
    except OSError as error:
        where = f' "{error.filename}"' if error.filename else ""
        raise ExecutionError(f"cannot read or write{where}: {error.strerror or error}") from error
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        from acidsql.spark.session import translate

        ours = translate(error)
        raise (place(ours) if place else ours) from error
    finally:
        noise.disabled = before


def _relocate(error: Error, query: BoundQuery, views: Sequence[str]) -> Error:
    """Moves an error's place from the text Spark got to the user's own."""
    if error.span is not None and error.source is None:
        error.span = query.text.source_span(error.span.start, views)
        error.source = query.text.source
    for read, view in zip(query.reads, views, strict=True):
        error.message = error.message.replace(f"`{view}`", f"`{read.table.name.table}`").replace(view, read.table.name.table)
    error.args = (error.message,)
    return error


def _place(error: Error, action: BoundInsert) -> Error:
    error.span = action.span
    return error
