"""One session: SQL text in, results out. The whole spine is here: parse, bind, plan, begin, execute, commit."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from acidsql import crash_points
from acidsql.acid.ids import WriteId
from acidsql.catalog.model import DEFAULT_DATABASE, Table
from acidsql.catalog.partitions import name_of
from acidsql.errors import Error, InterfaceError, TransactionAbortedError
from acidsql.planner.bind import Surroundings, bind
from acidsql.planner.bound import BoundInsert
from acidsql.planner.explain import explain
from acidsql.planner.physical import (
    CatalogCommand,
    ExplainPlan,
    MergePlan,
    MultiInsertPlan,
    Plan,
    ReadPlan,
    SessionCommand,
    SinkKind,
    WritePlan,
    plan,
)
from acidsql.planner.runnable import check_runnable
from acidsql.result import Result, ResultColumn, Stats
from acidsql.session_commands import run_catalog_command, run_session_command
from acidsql.settings import Settings
from acidsql.spark.engine import Engine
from acidsql.spark.target import Written
from acidsql.txn.manager import OperationType, TxnComponent
from acidsql.txn.transaction import ReadSnapshot, Transaction, TransactionState

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
        self.warehouse = os.path.abspath(warehouse or DEFAULT_WAREHOUSE)
        self.user = _user()
        self._clock = clock
        timeout = self.settings.number("hive.txn.timeout")
        self._store: EmbeddedMetastore | None = EmbeddedMetastore(self.warehouse, user=self.user, clock=clock, txn_timeout_seconds=timeout)
        self._engine = Engine(self.settings, lambda table: self.store.list_partitions(table), spark=spark, master=master, conf=conf)
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
        return "\n".join(explain(self._plan(text, None)[1], self.settings))

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
        )
        return source, plan(bind(parse(source), source, around))

    def _run(self, made: Plan) -> Result:
        check_runnable(made)
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
            case ExplainPlan(plan=inner, mode=mode):
                return Result.of_text(Stats(statement="EXPLAIN"), ["Explain"], [[line] for line in explain(inner, self.settings, mode)])
            case _:
                assert_never(made)

    def _read(self, made: ReadPlan) -> Result:
        answer = self._engine.query(made.query, ReadSnapshot(self.store))
        columns = [ResultColumn(name=n, type=t) for n, t in answer.columns]
        return Result(columns, Stats(statement="SELECT"), fetch=answer.fetch, make_df=lambda: answer.df)

    def _write(self, legs: Sequence[WritePlan | MergePlan]) -> Result:
        """Carries out the legs of one statement in one transaction."""
        statement = _statement(legs[0])
        if isinstance(legs[0], WritePlan) and not legs[0].sinks:
            done = self._engine.write_plain(legs[0], ReadSnapshot(self.store))
            self.store.add_partitions(legs[0].table.name, done.partitions, if_not_exists=True)
            return Result((), Stats(statement=statement, rows_inserted=done.inserted, path=done.path))
        tables = tuple(dict.fromkeys(leg.table.name for leg in legs))
        with Transaction.begin(self.store, tables, heartbeat_seconds=self.settings.number("hive.txn.timeout") / 2) as txn:
            crash_points.reached("begun")
            written: list[tuple[WritePlan | MergePlan, Written]] = []
            with self._without_bases_after_failure(txn, written):
                for leg in legs:
                    self._check_unchanged(leg.table)
                    write_id = txn.write_id(leg.table.name)
                    done = self._carry_out(leg, txn, write_id)
                    written.append((leg, done))
                    if done.directories:
                        txn.record(_components(leg, done, write_id))
                    self.store.add_partitions(leg.table.name, done.partitions, if_not_exists=True)
                crash_points.reached("written")
                txn.commit()
            crash_points.reached("committed")
        return Result((), self._stats(statement, txn, written))

    def _carry_out(self, leg: WritePlan | MergePlan, txn: Transaction, write_id: WriteId) -> Written:
        return self._engine.merge(leg, txn, write_id) if isinstance(leg, MergePlan) else self._engine.write(leg, txn, write_id)

    def _stats(self, statement: str, txn: Transaction, written: Sequence[tuple[WritePlan | MergePlan, Written]]) -> Stats:
        locations = [d for _, done in written for d in done.directories]
        return Stats(
            statement=statement,
            rows_inserted=sum(done.inserted for _, done in written),
            rows_updated=sum(done.updated for _, done in written),
            rows_deleted=sum(done.deleted for _, done in written),
            txn_id=txn.txn_id,
            write_ids={str(leg.table.name): txn.allocated[leg.table.name] for leg, _ in written},
            directories=tuple(os.path.relpath(location, self.warehouse) for location in locations),
            path="big" if any(done.path == "big" for _, done in written) else "small",
        )

    @contextmanager
    def _without_bases_after_failure(self, txn: Transaction, written: Sequence[tuple[WritePlan | MergePlan, Written]]) -> Iterator[None]:
        """Takes back the ``base_N`` of a statement that is not committed: Hive 3.1 trips over one whose write id is not valid."""
        try:
            yield
        except BaseException:
            if txn.state not in (TransactionState.COMMITTED, TransactionState.UNKNOWN):
                for leg, done in written:
                    if any(sink.overwrite for sink in leg.sinks):
                        self._engine.remove(leg.table, done.directories)
            raise

    def _check_unchanged(self, table: Table) -> None:
        """The write id belongs to the table that was bound, not to one made anew under its name since."""
        found = self.store.find_table(table.name)
        if found is None or found.table_id != table.table_id:
            raise TransactionAbortedError(f"table {table.name} was dropped while the statement began")

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
    def in_transaction(self) -> bool:
        """Whether a transaction over several statements is open."""
        return False

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
    return "MERGE" if isinstance(made, MergePlan) else type(made.action).__name__.removeprefix("Bound").upper()


def _components(leg: WritePlan | MergePlan, done: Written, write_id: WriteId) -> list[TxnComponent]:
    """What the leg wrote to: the table, or each partition by its name."""
    names: list[str | None] = [name_of(leg.table, partition) for partition in done.partitions]
    operation = _operation(leg)
    return [TxnComponent(table=leg.table.name, partition=name, operation=operation, write_id=write_id) for name in names or [None]]


def _operation(made: WritePlan | MergePlan) -> OperationType:
    kinds = {s.kind for s in made.sinks}
    if any(s.overwrite for s in made.sinks):
        return OperationType.OVERWRITE
    if kinds == {SinkKind.INSERT}:
        return OperationType.INSERT
    return OperationType.DELETE if kinds == {SinkKind.DELETE} else OperationType.UPDATE


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a passwd entry
        return "unknown"
