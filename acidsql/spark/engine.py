"""Carries plans out on Spark: snapshots of tables become views, bound queries become DataFrames, changes become files.

Spark is imported and started only when a statement needs it; literal rows go straight to files.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, assert_never

from acidsql.acid.ids import NO_STATEMENT, TxnId, WriteId
from acidsql.catalog.model import DEFAULT_PARTITION, Partition, Table
from acidsql.catalog.partitions import partition_text
from acidsql.catalog.types import HiveType, PrimitiveType, parse_type
from acidsql.errors import BindError, Error, ExecutionError, InternalError
from acidsql.planner.bind_table import wrong_column_count
from acidsql.planner.bound import BoundDelete, BoundInsert, BoundQuery, BoundRows, BoundUpdate
from acidsql.planner.lowering import identifier, store_cast, text_literal
from acidsql.planner.merge import LEADING_COLUMNS, changes_query, inserts_query, source_query, whole_query
from acidsql.planner.physical import MergePlan, WritePlan
from acidsql.planner.query_text import Piece
from acidsql.planner.rules import default_value
from acidsql.settings import Settings, show_value
from acidsql.spark import classic, driver_writer
from acidsql.spark.enforce import checked_rows, enforced, enforcing
from acidsql.spark.fileio import FileIO, file_io
from acidsql.spark.partition_places import PartitionPlaces, key_names
from acidsql.spark.schema import arrow_schema
from acidsql.spark.snapshots import Snapshots, Visibility
from acidsql.spark.stored import holds, is_timestamp
from acidsql.spark.target import WriteTarget, Written
from acidsql.txn.transaction import Transaction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from acidsql.spark.reader import SnapshotReader


class OpenTransaction(Visibility, Protocol):
    @property
    def txn_id(self) -> TxnId: ...


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
        list_partitions: Callable[[Table], tuple[Partition, ...]],
        *,
        spark: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._list_partitions = list_partitions
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

            self._reader = SnapshotReader(self.spark, self._settings)
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

    def query(self, query: BoundQuery, visible: Visibility) -> Answer:
        """The DataFrame of a query under one snapshot. Spark's analysis errors come back at the user's place."""
        from acidsql.spark.reader import HIVE_TYPE

        df = self.dataframe(query, visible)
        columns = tuple((f.name, hive_type((f.metadata or {}).get(HIVE_TYPE) or f.dataType.simpleString())) for f in df.schema.fields)
        return Answer(df=df, columns=columns, fetch=lambda: self._collect(df))

    def dataframe(self, query: BoundQuery, visible: Visibility, snapshots: Snapshots | None = None) -> DataFrame:
        """``snapshots`` keeps the listings for further queries of the same statement."""
        views = self._views(query, snapshots or self._snapshots(visible))
        text = query.text.render(views)
        with translated(lambda error: _relocate(error, query, views)):
            return self.spark.sql(text)

    def _snapshots(self, visible: Visibility) -> Snapshots:
        return Snapshots(visible, self._list_partitions, clean=isinstance(visible, Transaction))

    def _views(self, query: BoundQuery, snapshots: Snapshots) -> list[str]:
        """A view for each read. What is read twice is listed once: both see the same files."""
        with translated():
            seen = [snapshots.take(read.table, snapshots.partitions(read.table)) for read in query.reads]
        spark = self.spark
        if self._theirs is not None and query.views:
            from acidsql.spark import session

            for name in query.views:
                with translated():
                    session.import_view(spark, self._theirs, name)
        self._check_time_zone(*(read.table for read in query.reads))
        with translated():
            return [self.reader.view(s, row_id=r.row_id, predicates=r.predicates) for s, r in zip(seen, query.reads, strict=True)]

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

    def write(self, plan: WritePlan, txn: OpenTransaction, write_id: WriteId) -> Written:
        """Writes the files of one DML statement on a transactional table; they become visible when the transaction commits."""
        io = file_io(plan.table.location)
        snapshots = self._snapshots(txn)
        target = self._target(plan, write_id, snapshots, staging=f".acidsql_{txn.txn_id}_{uuid.uuid4().hex[:8]}")
        action = plan.action
        if isinstance(action, BoundInsert) and isinstance(action.source, BoundRows):
            with translated():
                return driver_writer.write_rows(io, target, checked_rows(plan.table, literal_table(action, action.source)))
        return self._write_query(plan, io, target, txn, snapshots)

    def _write_query(self, plan: WritePlan, io: FileIO, target: WriteTarget, visible: Visibility, snapshots: Snapshots) -> Written:
        from acidsql.spark import writer

        action = plan.action
        spark = self.spark
        self._check_time_zone(plan.table)
        match action:
            case BoundInsert():
                rows = enforced(plan.table, self._rows_to_insert(action, visible, snapshots))
                with translated(), enforcing(plan.table), self._tagged():
                    return writer.insert(spark, io, target, rows)
            case BoundUpdate():
                changed = enforced(plan.table, self.dataframe(action.query, visible, snapshots), "acidsql_0", "acidsql_1", "acidsql_2")
                with translated(), enforcing(plan.table), self._tagged():
                    return writer.update(spark, io, target, changed)
            case BoundDelete():
                doomed = self.dataframe(action.query, visible, snapshots)
                with translated(), self._tagged():
                    return writer.delete(spark, io, target, doomed)
            case _:
                assert_never(action)

    def merge(self, plan: MergePlan, txn: OpenTransaction, write_id: WriteId) -> Written:
        """Writes the files of a MERGE; they become visible when the transaction commits."""
        from acidsql.spark import merge

        io = file_io(plan.table.location)
        staging = f".acidsql_{txn.txn_id}_{uuid.uuid4().hex[:8]}"
        snapshots = self._snapshots(txn)
        target = self._target(plan, write_id, snapshots, staging=staging)
        self._check_time_zone(plan.table)
        check = self._settings.flag("hive.merge.cardinality.check")
        with translated(), enforcing(plan.table), self._tagged():
            return merge.merge(self.spark, io, plan, target, _MergeQueries(self, plan, txn, snapshots), check=check)

    def remove(self, table: Table, directories: Sequence[str]) -> None:
        """Deletes directories of a transaction that is not committed."""
        io = file_io(table.location)
        with translated():
            for directory in directories:
                io.delete_tree(directory)

    def write_plain(self, plan: WritePlan, visible: Visibility) -> Written:
        """INSERT into a table without transactions."""
        action = plan.action
        if not isinstance(action, BoundInsert):
            raise InternalError("only INSERT writes to a table without transactions")
        io = file_io(plan.table.location)
        snapshots = self._snapshots(visible)
        target = self._target(plan, WriteId(0), snapshots, staging=f".acidsql_{uuid.uuid4().hex[:12]}")
        if isinstance(action.source, BoundRows):
            with translated():
                return driver_writer.write_plain_rows(io, target, checked_rows(plan.table, literal_table(action, action.source)))
        from acidsql.spark import writer

        self._check_time_zone(plan.table)
        rows = enforced(plan.table, self._rows_to_insert(action, visible, snapshots))
        with translated(), enforcing(plan.table), self._tagged():
            return writer.insert_plain(self.spark, io, target, rows)

    def _target(self, plan: WritePlan | MergePlan, write_id: WriteId, snapshots: Snapshots, *, staging: str) -> WriteTarget:
        table = plan.table
        insert = plan.action if isinstance(plan, WritePlan) and isinstance(plan.action, BoundInsert) else None
        places = PartitionPlaces.of(table, snapshots.partitions(table)) if table.partition_columns else None
        return WriteTarget(
            table=table,
            write_id=write_id,
            statement_id=plan.sinks[0].statement_id if plan.sinks else NO_STATEMENT,
            codec=table.properties.get("orc.compress", "ZLIB"),
            max_bytes=int(self._settings.number("acidsql.write.driver.max.bytes")),
            force_path=self._settings.text("acidsql.write.path"),
            staging=staging,
            places=places,
            sure=() if insert is None or places is None else _named_partitions(insert, places),
            overwrite=insert is not None and insert.overwrite,
        )

    def _rows_to_insert(self, action: BoundInsert, visible: Visibility, snapshots: Snapshots) -> DataFrame:
        """The source's columns, cast to the target's and put in its order; columns that were not named are NULL or their DEFAULT."""
        assert isinstance(action.source, BoundQuery)
        df = self.dataframe(action.source, visible, snapshots)
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


def _named_partitions(action: BoundInsert, places: PartitionPlaces) -> tuple[Partition, ...]:
    """The partitions an INSERT or TRUNCATE names, whatever rows there are."""
    if action.truncated is not None:
        return action.truncated
    values = action.partition.values if action.partition is not None else None
    return () if values is None else (places.find(values),)


@dataclass(frozen=True, slots=True)
class _MergeQueries:
    """merge.Queries. Each is a query of its own for Spark; the tables they read are listed once for all of them."""

    engine: Engine
    plan: MergePlan
    visible: Visibility
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
        return self.engine.dataframe(query, self.visible, self.snapshots)


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
