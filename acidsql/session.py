"""One session: SQL text in, results out. The whole spine is here: parse, bind, plan, begin, execute, commit."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from acidsql.catalog.model import DEFAULT_DATABASE, TableName
from acidsql.dry_run import dry_run, would
from acidsql.errors import Error, InterfaceError
from acidsql.metastore.locations import warehouse_path
from acidsql.planner.bind import Surroundings, bind
from acidsql.planner.bound import BoundInsert, BoundLoad
from acidsql.planner.explain import explain
from acidsql.planner.physical import (
    CatalogCommand,
    ChangePlan,
    DryRunPlan,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    SessionCommand,
    WritePlan,
    plan,
)
from acidsql.planner.runnable import check_runnable
from acidsql.result import Result, ResultColumn, Stats
from acidsql.session_commands import run_catalog_command, run_session_command
from acidsql.session_transaction import SessionTransaction
from acidsql.settings import Settings
from acidsql.spark.engine import Engine
from acidsql.spark.fileio import FileIO
from acidsql.spark.snapshots import Snapshots
from acidsql.spark.urls import relative_to
from acidsql.txn.transaction import ReadSnapshot
from acidsql.unit_of_work import Done, UnitOfWork

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from acidsql.metastore.embedded import EmbeddedMetastore

DEFAULT_WAREHOUSE = "warehouse"


class Session:
    """A user's connection to a warehouse. Not to be used by two threads at once; open a session for each.

    warehouse: a directory, made when missing; None is ``./warehouse``.  spark: a SparkSession to work on; its settings are left as
    they are and its temporary views can be read.  Without one, acidsql starts its own when a statement first needs it, with
    ``master`` (default ``local[*]``) and the Spark settings ``conf``.  settings: initial values, by name, as text.
    """

    def __init__(
        self,
        warehouse: str | os.PathLike[str] | None = None,
        *,
        spark: SparkSession | None = None,
        database: str = DEFAULT_DATABASE,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        from acidsql.metastore.embedded import EmbeddedMetastore

        self.settings = Settings(settings)
        self.hive_variables: dict[str, str] = {}
        self.warehouse = warehouse_path(os.fspath(warehouse or DEFAULT_WAREHOUSE))
        self.user = _user()
        self._clock = clock
        timeout = self.settings.number("hive.txn.timeout")
        self._store: EmbeddedMetastore | None = EmbeddedMetastore(self.warehouse, user=self.user, clock=clock, txn_timeout_seconds=timeout)
        self._engine = Engine(self.settings, self._store, spark=spark, master=master, conf=conf)
        self._transaction = SessionTransaction(self.begin_work)
        self.database = DEFAULT_DATABASE
        if database != DEFAULT_DATABASE:
            self.sql(f"USE `{database}`")

    # ---- the spine

    def sql(self, text: str, params: Sequence[Any] | None = None) -> Result:
        """Runs one statement; DML is committed when it returns. ``params`` fill the ``?`` of the text.

        Any error is an ``acidsql.errors.Error``; then nothing of the statement is visible (CommitStateUnknownError excepted).
        """
        started = time.perf_counter()
        source, made = self._plan(text, params)
        try:
            result = self._run(made)
        except Error as error:
            if error.source is None:
                error.at(source)
            raise
        result.stats = replace(result.stats, seconds=time.perf_counter() - started)
        return result.over_spark(lambda: self.spark)

    def explain(self, text: str) -> str:
        """The plan of one statement, as EXPLAIN prints it. Starts nothing."""
        return "\n".join(explain(self._plan(text, None)[1], self.settings, self.store))

    def _plan(self, text: str, params: Sequence[Any] | None) -> tuple[str, Plan]:
        from acidsql.parser.parameters import bind_parameters
        from acidsql.parser.parse import parse

        source = text if params is None else bind_parameters(text, params)
        around = Surroundings(
            catalog=self.store,
            database=self.database,
            has_view=self._engine.has_view,
            user=self.user,
            now=int(self._clock()),
            settings=self.settings,
            own_partitions=self._transaction.partitions,
        )
        return source, plan(bind(parse(source), source, around))

    def _run(self, made: Plan) -> Result:
        check_runnable(made)
        self._transaction.check(made)
        if self.settings.flag("acidsql.dry.run"):
            made = would(made)
        match made:
            case ReadPlan():
                return self._read(made)
            case WritePlan() | MergePlan():
                return self._write([made])
            case MultiInsertPlan(legs=legs):
                return self._write(legs)
            case CatalogCommand(action=action):
                return run_catalog_command(self, action)
            case SessionCommand(action=action):
                return run_session_command(self, action)
            case DryRunPlan(plan=inner):
                return self._dry_run(inner)
            case ExplainPlan(plan=inner, mode=mode):
                lines = explain(inner, self.settings, self.store, mode)
                return Result.of_text(Stats(statement="EXPLAIN"), ["Explain"], [[line] for line in lines])
            case _:
                assert_never(made)

    def _read(self, made: ReadPlan) -> Result:
        work, snapshots = self._transaction.work(), self._snapshots()
        answer = self._engine.query(made.query, snapshots)
        columns = [ResultColumn(name=n, type=t) for n, t in answer.columns]
        df, fetch = answer.df, answer.fetch
        if work is not None and work.has_written:  # its own files have other names once it has ended: the rows are kept here
            found = fetch()
            df, fetch = None, lambda: found
        return Result(columns, Stats(statement="SELECT"), fetch=fetch, make_df=None if df is None else lambda: df)

    def _snapshots(self) -> Snapshots:
        """What a statement that only reads sees now."""
        work = self._transaction.work()
        return self._engine.snapshots(ReadSnapshot(self.store)) if work is None else work.snapshots()

    def _dry_run(self, made: ChangePlan) -> Result:
        lines = dry_run(self._engine, made, self._snapshots(), self.settings)
        return Result.of_text(Stats(statement="DRY RUN"), ["Dry run"], [[line] for line in lines])

    def _write(self, legs: Sequence[WritePlan | MergePlan]) -> Result:
        """Carries out the legs of one statement in one transaction, its own or the session's open one."""
        statement = _statement(legs[0])
        legs = [leg for leg in legs if not self._is_done(leg)]
        if not legs:
            return Result((), Stats(statement=statement))
        if isinstance(legs[0], WritePlan) and not legs[0].sinks:
            return self._write_plain(statement, legs[0])
        if (open_work := self._transaction.work()) is not None:
            return Result((), self._stats(statement, open_work, open_work.run(legs)))
        with self.begin_work(tuple(dict.fromkeys(leg.table.name for leg in legs))) as work:
            done = work.run(legs)
            work.commit()
        return Result((), self._stats(statement, work, done))

    def _write_plain(self, statement: str, leg: WritePlan) -> Result:
        written = self._engine.write_plain(leg, ReadSnapshot(self.store))
        partitions, statistics = self._engine.of_plain(leg, written)
        if partitions:
            self.store.add_partitions(leg.table.name, partitions, if_not_exists=True)
        self.store.change_statistics(statistics)
        self._engine.delete_moved(written.moved)
        return Result((), Stats(statement=statement, rows_inserted=written.inserted, path=written.path))

    def begin_work(self, tables: Sequence[TableName] = ()) -> UnitOfWork:
        """A transaction. ``tables``: those that are sure to be written to."""
        return UnitOfWork.begin(self.store, self._engine, tables, heartbeat_seconds=self.settings.number("hive.txn.timeout") / 2)

    def _is_done(self, leg: WritePlan | MergePlan) -> bool:
        """Whether an INSERT OVERWRITE .. IF NOT EXISTS finds its partition there."""
        if not isinstance(leg, WritePlan) or not isinstance(leg.action, BoundInsert) or not leg.action.if_not_exists:
            return False
        values = leg.action.partition.values if leg.action.partition is not None else None
        return any(partition.values == values for partition in self._snapshots().partitions(leg.table))

    def _stats(self, statement: str, work: UnitOfWork, done: Sequence[Done]) -> Stats:
        written = [leg.written for leg in done]
        return Stats(
            statement=statement,
            rows_inserted=sum(w.inserted for w in written),
            rows_updated=sum(w.updated for w in written),
            rows_deleted=sum(w.deleted for w in written),
            clauses=tuple(c for leg in done for c in leg.clauses) if len(done) > 1 or isinstance(done[0].leg, MergePlan) else (),
            txn_id=work.txn.txn_id,
            write_ids={str(leg.leg.table.name): work.write_ids[leg.leg.table.name] for leg in done},
            directories=tuple(relative_to(directory, self.warehouse) for w in written for directory in w.directories),
            path="big" if any(w.path == "big" for w in written) else "small",
        )

    # ---- transactions over several statements

    def begin(self, *, read_only: bool = False) -> None:
        """START TRANSACTION: the statements that follow see one snapshot and become visible together with ``commit``."""
        self._transaction.begin(read_only=read_only)

    def commit(self) -> None:
        """Makes all statements of the open transaction visible at once; without one there is nothing to do.

        WriteConflictError, TransactionAbortedError: nothing of it is or will be visible, it may be run again.
        CommitStateUnknownError: nobody knows; touch nothing.
        """
        self._transaction.commit()

    def rollback(self) -> None:
        """Gives the open transaction up; nothing of it was ever visible. Without one there is nothing to do."""
        self._transaction.rollback()

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Session]:
        """``with session.transaction():`` commits at the end, and rolls back if an error leaves it."""
        self.begin(read_only=read_only)
        try:
            yield self
        except BaseException:
            self.rollback()
            raise
        self.commit()

    @property
    def autocommit(self) -> bool:
        """Whether each statement is a transaction of its own, as it is at first. Turning it on commits the open transaction."""
        return self._transaction.autocommit

    @autocommit.setter
    def autocommit(self, on: bool) -> None:
        self._transaction.set_autocommit(on)

    # ---- the parts

    @property
    def store(self) -> EmbeddedMetastore:
        """The catalog and transaction manager. InterfaceError after ``close``."""
        if self._store is None:
            raise InterfaceError("the session is closed")
        return self._store

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def files(self) -> FileIO:
        """The file systems, each path on that of its URL."""
        return self._engine.files

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction over several statements is open."""
        return self._transaction.is_open

    @property
    def has_uncommitted_changes(self) -> bool:
        """Whether closing now would lose rows that statements have changed."""
        return self._transaction.has_changes

    @property
    def spark(self) -> SparkSession:
        """The Spark session that runs the queries; starts it if need be."""
        return self._engine.spark

    @property
    def spark_started(self) -> bool:
        return self._engine.started

    def start_spark(self) -> None:
        """Starts Spark now, so that the first query need not wait. May be called in another thread."""
        _ = self._engine.spark

    def cancel(self) -> None:
        """Cancels the Spark jobs of the running statement; it then fails and is rolled back. For another thread or a signal."""
        self._engine.cancel()

    def running_tasks(self) -> tuple[int, int] | None:
        """(tasks done, tasks known so far) of the Spark jobs that run now, None if there are none. For another thread."""
        return self._engine.running_tasks()

    def close(self) -> None:
        """Drops what the session keeps; a SparkSession that was handed in stays open. Closing twice is no error."""
        if self._store is not None:
            with suppress(Error):  # the store's reaper ends what could not be ended here
                self._transaction.rollback()
            self._engine.close()
            self._store.close()
            self._store = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _statement(made: WritePlan | MergePlan) -> str:
    if isinstance(made, WritePlan) and isinstance(made.action, BoundInsert) and made.action.truncate:
        return "TRUNCATE"
    if isinstance(made, WritePlan) and isinstance(made.action, BoundLoad):
        return "LOAD DATA"
    return "MERGE" if isinstance(made, MergePlan) else type(made.action).__name__.removeprefix("Bound").upper()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a passwd entry
        return "unknown"
