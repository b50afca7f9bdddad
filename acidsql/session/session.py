"""One session: SQL text in, results out, and the transaction that is open between two of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from acidsql.catalog.model import DEFAULT_DATABASE, TableName
from acidsql.commit.transactional import TransactionWork
from acidsql.compaction.background import Background
from acidsql.errors import Error, InterfaceError, Warning
from acidsql.expressions.spark_words import identifier, text_literal
from acidsql.files.fileio import FileIO
from acidsql.metastore.locations import warehouse_path
from acidsql.result import Result
from acidsql.run.engine import Engine
from acidsql.session.observing import Observed
from acidsql.session.opening import check_arguments, default_warehouse, opened_store
from acidsql.session.spine import Spine
from acidsql.session.transaction import Turn
from acidsql.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from acidsql.compaction.examination import Report
    from acidsql.compaction.health import TableHealth
    from acidsql.parser.parameters import Params
    from acidsql.session.scan import TableScan
    from acidsql.session.tables import SessionTable
    from acidsql.session.transaction import Block
    from acidsql.txn.runs import CommittedRun
    from acidsql.txn.store import SessionStore

Value = TypeVar("Value")
DEFAULT_BATCH_ROWS = 131_072


class Session:
    """A user's connection to a warehouse, for one process and one thread at a time: open a session
    for each.

    InterfaceError if two threads use it at once, and for all but ``close`` in a forked child, whose
    parent has it. Ctrl-C in a statement raises KeyboardInterrupt when its Spark jobs have ended;
    nothing of the statement is visible then, unless a note says otherwise.

    warehouse: a directory; where it has no metastore the first CREATE makes one (see the setting
    acidsql.store.create), and reading is a MetastoreError. None is $ACIDSQL_WAREHOUSE, else
    ``./warehouse``.
    metastore: the URL of a PostgreSQL database, ``postgresql+psycopg://..``, or of Hive's
    metastore, ``thrift://host:9083``, which has its own warehouse; None is $ACIDSQL_METASTORE, else
    a file in the warehouse, which "" stands for.
    spark: a SparkSession to work on; its settings are left as they are and its temporary views can
    be read.  Without one, acidsql starts its own when a statement first needs it, with ``master``
    (default ``local[*]``) and the Spark settings ``conf``.  settings: initial values, by name, as
    SET has them: texts, numbers, bools.
    """

    def __init__(
        self,
        warehouse: str | os.PathLike[str] | None = None,
        *,
        metastore: str | None = None,
        spark: SparkSession | None = None,
        database: str = DEFAULT_DATABASE,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        settings: Mapping[str, str | float] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        from acidsql.metastore.embedded import current_user

        check_arguments(metastore, database, settings, spark, master, conf)
        self.settings = Settings(settings)
        self.warehouse = warehouse_path(os.fspath(warehouse or default_warehouse()))
        self.user = current_user()
        open_store = partial(
            opened_store, self.warehouse, metastore, self.user, clock, self.settings
        )
        self._store: SessionStore | None = open_store()
        if warehouse is not None and self.warehouse != self._store.warehouse:
            self._store.close()
            raise InterfaceError(
                f'the metastore has its own warehouse, "{self._store.warehouse}"',
                hint="Leave the warehouse out: a Hive metastore says where its tables lie.",
            )
        self.warehouse = self._store.warehouse
        self._spark_given = (spark, master, conf)
        self._engine = Engine(
            self.settings,
            self._store,
            spark=spark,
            master=master,
            conf=conf,
            warehouse=self.warehouse,
        )
        self.turn = Turn(self._engine.cancel)
        self._background = Background(
            settings=self.settings, clock=clock or time.time, open_store=open_store
        )
        self._spine = Spine(
            root=self.warehouse,
            user=self.user,
            clock=clock or time.time,
            open_store=lambda: self.store,
            engine=self._engine,
            settings=self.settings,
            turn=self.turn,
            background=self._background,
        )
        self._transaction = self._spine.transaction
        if database != DEFAULT_DATABASE:
            self.sql(f"USE {identifier(database)}")

    def open_beside(self) -> Session:
        """Another session on the same warehouse and metastore, with this one's settings and
        database, and its Spark, which is not started for it.
        """
        spark, master, conf = self._spark_given
        return Session(
            self.warehouse,
            metastore=self.store.metastore or "",
            spark=spark,
            database=self.database,
            master=master,
            conf=conf,
            settings={name: self.settings.text(name) for name in self.settings.changed()},
        )

    # ---- statements

    def sql(self, text: str, params: Params | None = None, *, run_id: str | None = None) -> Result:
        """Runs one statement; DML is committed when it returns.

        params: a sequence fills the ``?`` of the text, a mapping its ``:name``; each value becomes
        a literal. A list or tuple may be an item of ``IN (?)``. run_id: as for ``record_run``, of a
        statement that is a transaction of its own and changes rows. Any error is an
        ``acidsql.errors.Error``; then nothing of the statement is visible (CommitStateUnknownError
        excepted).
        """
        started = time.perf_counter()
        warnings: list[Warning] = []
        recorded = nullcontext() if run_id is None else self._transaction.recorded(run_id)
        with self.turn.taken(), Observed(text, self._spine.database) as observed, recorded:
            source, plan = self._spine.plan(text, params, warnings.append)
            result = self._spine.run(plan, source)
            observed.done(result.stats)
        result.warnings = (*(warning.at(source) for warning in warnings), *result.warnings)
        result.stats = replace(result.stats, seconds=time.perf_counter() - started)
        result.text = source
        return result.over_spark(lambda rows: self.engine.frame_of(rows))

    def scan(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        *,
        as_of: int | None = None,
        batch_size: int = DEFAULT_BATCH_ROWS,
    ) -> TableScan:
        """The visible rows of a table as a stream of Arrow's record batches, read without Spark.

        columns: names, ROW__ID among them if it is wanted; None is all columns. filter: a condition
        in SQL. as_of: a write id of the table: what was committed by it and those below, as far as
        the files are still there (SnapshotTooOldError). batch_size: the most rows of a batch.
        UnsupportedStatementError for what only Spark reads, or a filter that only Spark
        understands. In a transaction the scan sees what its statements have written.
        """
        from acidsql.session.scan import SessionScan

        with self.turn.taken():
            return SessionScan(spine=self._spine).scan(table, columns, filter, as_of, batch_size)

    def explain(self, text: str, params: Params | None = None) -> str:
        """The plan of one statement, as EXPLAIN prints it. Starts nothing."""
        with self.turn.taken():
            _, plan = self._spine.plan(text, params)
            return "\n".join(self._spine.explain(plan))

    def attach(
        self,
        table: str,
        location: str | os.PathLike[str] | None = None,
        *,
        columns: str = "",
        partitioned_by: str = "",
        committed: Iterable[int] | None = None,
        aborted: Iterable[int] | None = None,
        dump: str | os.PathLike[str] | None = None,
        metastore: str | None = None,
        overlay: bool = False,
    ) -> Result:
        """Attaches a table that others write, read only: ATTACH TABLE.

        columns, partitioned_by: definitions, as in CREATE TABLE, where files and directories do not
        tell them. committed, aborted: of the write ids of which the directories prove nothing,
        those that count, or those that do not while all others do (``aborted=[]``: all count;
        ``committed=[]``: none does).
        dump: a file that tells all of that; metastore: the URL of Hive's metastore or of its
        database, which do, and the location as well. overlay: it can be changed here, and nothing
        of that is written to its location: ATTACH TABLE .. OVERLAY. BindError that names these ids
        if there are any and nothing tells.
        """
        if dump is not None and metastore is not None:
            raise InterfaceError("a dump or a metastore tells of a table, not both")
        if committed is not None and aborted is not None:
            raise InterfaceError("write ids are told by those committed, or by those aborted")
        text = f"ATTACH TABLE {table}" + (f" ({columns})" if columns else "")
        text += f" PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        text += f" FROM {text_literal(os.fspath(location))}" if location is not None else ""
        text += " OVERLAY" if overlay else " READ ONLY"
        source = metastore if dump is None else os.fspath(dump)
        text += f" USING {text_literal(source)}" if source is not None else ""
        if committed is not None:
            listed = ", ".join(str(int(one)) for one in committed)
            text += f" ASSUME COMMITTED ({listed})"
        elif aborted is not None:
            ids = ", ".join(str(int(one)) for one in aborted)
            text += " ASSUME COMMITTED" + (f" EXCEPT ({ids})" if ids else "")
        return self.sql(text)

    def attach_database(
        self,
        database: str,
        metastore: str | os.PathLike[str],
        location: str | os.PathLike[str] | None = None,
        *,
        overlay: bool = False,
    ) -> Result:
        """Attaches all tables of one of Hive's databases: ATTACH DATABASE. A row for each says what
        came of it.

        metastore: the URL of the database of Hive's metastore, or a directory of exports of one;
        ``?database=sales`` behind it names Hive's database where that has another name. location:
        where Hive's directory of the database lies here. overlay: each table can be changed here.
        BindError if none can be attached.
        """
        text = f"ATTACH DATABASE {identifier(database)}"
        text += f" FROM {text_literal(os.fspath(location))}" if location is not None else ""
        text += " OVERLAY" if overlay else " READ ONLY"
        return self.sql(f"{text} USING {text_literal(os.fspath(metastore))}")

    def adopt(
        self,
        table: str,
        *,
        clustered_by: str | Iterable[str] | None = None,
        buckets: int | None = None,
        bucketing_version: int | None = None,
    ) -> Result:
        """Makes a table that is attached one of this warehouse, once nobody else writes it: ADOPT
        TABLE.

        clustered_by, buckets, bucketing_version: its buckets, where neither a dump nor files tell;
        ``clustered_by=()``: it has none. BindError that says so if it is to be said.
        """
        text = f"ADOPT TABLE {table}"
        names = (clustered_by,) if isinstance(clustered_by, str) else clustered_by
        columns = None if names is None else ", ".join(map(identifier, names))
        if bool(columns) != (buckets is not None):
            raise InterfaceError("clustered_by and buckets go together")
        if columns == "":
            text += " NOT CLUSTERED"
        elif buckets is not None:
            text += f" CLUSTERED BY ({columns}) INTO {int(buckets)} BUCKETS"
        if bucketing_version is not None:
            text += f" TBLPROPERTIES ('bucketing_version'='{int(bucketing_version)}')"
        return self.sql(text)

    def dump(self, table: str) -> str:
        """What another warehouse needs to know of a table to attach it (``t``, ``db.t``): the text
        of a file that ``ATTACH TABLE .. USING`` names.
        """
        with self.turn.taken():
            return self._spine.dump(table)

    def health(self, table: str, report: Report | None = None) -> TableHealth:
        """The health of a table (``db.t``, ``t PARTITION (day='x')``): what DESCRIBE HEALTH tells,
        as an object; ``print`` and notebooks show it as a picture. ``report(done, known)`` hears of
        the footers that are read. Starts nothing.
        """
        with self.turn.taken():
            return self._spine.health(table, report)

    # ---- frames

    def table(self, name: str) -> SessionTable:
        """A table (``t``, ``db.t``) that takes DataFrames: ``append``, ``overwrite``, ``merge``,
        and ``delete`` and ``update`` beside them. TableNotFoundError when it is used.
        """
        from acidsql.session.tables import session_table

        return session_table(self._spine, name, self.sql, self.explain)

    def create_table(self, name: str, frame: Any, partitioned_by: Sequence[str] = ()) -> Result:
        """A new transactional table (``t``, ``db.t``) with the columns and rows of a DataFrame:
        pandas, polars, Arrow, Spark. ``partitioned_by``: its columns that are the table's partition
        columns.

        AlreadyExistsError if there is one of that name; BindError for columns that no table can
        have.
        """
        self.turn.check_process()
        return self.table(name).create(frame, partitioned_by)

    def register(self, name: str, frame: Any) -> None:
        """Makes a DataFrame a relation that this session's statements can read: pandas, polars,
        Arrow, Spark. Its rows are those it has now: of a stream they are read here, once.

        InterfaceError for a name that is taken by a frame; AlreadyExistsError by a table of the
        current database or a view of Spark's: no one shadows the other.
        """
        from acidsql.session.tables import register

        register(self._spine, name, frame)

    def unregister(self, name: str) -> None:
        """Takes a registered name away. InterfaceError if it is none."""
        from acidsql.session.tables import unregister

        unregister(self._spine, name)

    def begin_work(self, tables: Sequence[TableName] = ()) -> TransactionWork:
        """A transaction. ``tables``: those that are sure to be written to."""
        return self._spine.changes.begin_work(tables)

    # ---- transactions over several statements

    def begin(self, *, read_only: bool = False, run_id: str | None = None) -> None:
        """START TRANSACTION: the statements that follow see one snapshot and become visible
        together with ``commit``. ``run_id``: as for ``record_run``.
        """
        with self.turn.taken(), Observed("START TRANSACTION"):
            self._transaction.begin(read_only=read_only, run_id=run_id)

    def record_run(self, run_id: str) -> None:
        """Has the open transaction, or with autocommit off the next one, recorded as ``run_id`` by
        its commit, if it changes rows: of all with that id one is ever committed, others raise
        RunCommittedError, here or from ``commit``. It is remembered for acidsql.run.kept.
        """
        with self.turn.taken():
            self._transaction.record(run_id)

    def find_run(self, run_id: str) -> CommittedRun | None:
        """What was committed as ``run_id``: counts, write ids, when; None if nothing was."""
        return self.store.find_run(run_id)

    def forget_run(self, run_id: str) -> bool:
        """Has the work of ``run_id`` be done again; whether it was on record."""
        return self.store.forget_run(run_id)

    def commit(self) -> None:
        """Makes all statements of the open transaction visible at once; without one there is
        nothing to do.

        WriteConflictError, TransactionAbortedError: nothing of it is or will be visible, it may be
        run again. CommitStateUnknownError: nobody knows; touch nothing.
        """
        with self.turn.taken(), Observed("COMMIT" if self._transaction.is_open else None):
            self._transaction.commit()
            self._spine.clean_up()

    def rollback(self) -> None:
        """Gives the open transaction up; nothing of it was ever visible. Without one there is
        nothing to do.

        Whatever is raised, the session is free for another one.
        """
        with self.turn.taken(), Observed("ROLLBACK" if self._transaction.is_open else None):
            self._transaction.rollback()

    def transaction(
        self, *, read_only: bool = False, retries: int = 0, run_id: str | None = None
    ) -> Block[Self]:
        """``with session.transaction():`` commits at the end, and rolls back if an error leaves it.
        ``for attempt in session.transaction(retries=3): with attempt: ..`` runs the block again
        after retryable errors. ``run_id``: as for ``record_run``.
        """
        from acidsql.session.transaction import Block

        return Block(self, read_only=read_only, retries=retries, run_id=run_id)

    def retry(self, work: Callable[[Self], Value], *, retries: int = 3) -> Value:
        """What ``work(session)`` returns, called in a transaction of its own; called again, with
        growing pauses, after errors that are ``retryable``.
        """
        from acidsql.session.transaction import run_again

        return run_again(self.transaction(retries=retries), work)

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a transaction of its own, as it is at first. Turning it on
        commits the open transaction.
        """
        self.turn.check_process()
        return self._transaction.autocommit

    @autocommit.setter
    def autocommit(self, on: bool) -> None:
        with self.turn.taken():
            self._transaction.set_autocommit(on)

    # ---- the parts

    @property
    def database(self) -> str:
        """The one that names without a database belong to."""
        return self._spine.database

    @property
    def hive_variables(self) -> dict[str, str]:
        return self._spine.hive_variables

    @property
    def store(self) -> SessionStore:
        """The catalog and transaction manager. InterfaceError after ``close``."""
        self.turn.check_process()
        if self._store is None:
            raise InterfaceError("the session is closed")
        return self._store

    @property
    def engine(self) -> Engine:
        self.turn.check_process()
        return self._engine

    @property
    def files(self) -> FileIO:
        """The file systems, each path on that of its URL."""
        self.turn.check_process()
        return self._engine.files

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction over several statements is open."""
        self.turn.check_process()
        return self._transaction.is_open

    @property
    def transaction_is_lost(self) -> bool:
        """Whether others have ended the open transaction, so that nothing but ``rollback`` is left.
        Asks the metastore.
        """
        self.turn.check_process()
        return self._transaction.is_lost

    @property
    def has_uncommitted_changes(self) -> bool:
        """Whether closing now would lose rows that statements have changed."""
        self.turn.check_process()
        return self._transaction.has_changes

    @property
    def spark(self) -> SparkSession:
        """The Spark session that runs the queries; starts it if need be."""
        self.turn.check_process()
        return self._engine.spark

    @property
    def spark_started(self) -> bool:
        self.turn.check_process()
        return self._engine.started

    def start_spark(self) -> None:
        """Starts Spark now, so that the first query need not wait. May be called in
        another thread.
        """
        self.turn.check_process()
        self._engine.start_spark()

    def when_waiting_for_spark(self, notice: Callable[[str | None], object]) -> None:
        """Has ``notice`` called whenever a statement is about to wait until Spark has started, with
        the reason why it needs Spark, if there is one to tell.
        """
        self.turn.check_process()
        self._engine.when_waiting_for_spark(notice)

    def cancel(self) -> None:
        """Cancels the Spark jobs of the running statement; it then fails and is rolled back. For
        another thread.
        """
        self.turn.check_process()
        self._engine.cancel()

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known so far) of the Spark jobs that run now, None if there are none.
        For another thread.
        """
        self.turn.check_process()
        return self._engine.running_tasks()

    def close(self) -> None:
        """Drops what the session keeps; a SparkSession that was handed in stays open. Closing twice
        is no error.

        In a forked child nothing is touched: it all is the parent's.
        """
        if self.turn.is_elsewhere:
            return
        with self.turn.taken():
            self._background.stop()
            if self._store is not None:
                with suppress(Error):  # the store's reaper ends what could not be ended here
                    self._transaction.rollback()
                self._spine.reads.close()
                self._spine.recovery.before()  # what was kept for these
                self._spine.frames.close()
                self._engine.close()
                self._store.close()
                self._store = None

    def __enter__(self) -> Session:
        self.turn.check_process()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session cannot be sent to another process: open one there")
