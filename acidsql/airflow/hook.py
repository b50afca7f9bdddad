"""The hook: Airflow's connections as warehouses, and tasks that are not done twice.

A task's statements are carried out as ``runs`` says. An error that may be gone if they are run
again (``retryable``) has them run again here, ``retries`` times, and is an AirflowException then,
after which Airflow does what the task's own retries say; any other is an AirflowFailException, as
the next attempt would fail, too.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.sql.hooks.lineage import send_sql_hook_lineage
from airflow.providers.common.sql.hooks.sql import DbApiHook
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.sdk.log import mask_secret

from acidsql.airflow.connections import Target
from acidsql.airflow.runs import (
    Kind,
    RunIds,
    TaskRun,
    current_context,
    default_run_id,
    ids_of_task,
    task_statements,
)
from acidsql.dbapi import Connection, Cursor, connect
from acidsql.errors import (
    CommitStateUnknownError,
    Error,
    NotSupportedError,
    RunCommittedError,
)
from acidsql.parser.script import split
from acidsql.session import Session
from acidsql.session.transaction import Attempts

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from airflow.providers.openlineage.extractors import OperatorLineage
    from sqlalchemy.engine import URL

    from acidsql.plan.plans import Plan


# ---- on_kill
#
# ``on_kill`` of a task that is in the middle of a statement.
#
# Airflow tells a task that it is to end by SIGTERM, whose handler calls the operator's ``on_kill``
# in the main thread, between two steps of whatever runs there, and then lets it go on. Here that
# becomes a Ctrl-C, which statements know how to heed: Spark's jobs are cancelled, and
# KeyboardInterrupt comes where nothing is spoiled (see ``interrupts``), never in the middle of a
# commit.


class KillSwitch:
    """What ``on_kill`` calls while statements run. ``cancel``: for other threads."""

    def __init__(self, cancel: Callable[[], object], before: Callable[[], object]) -> None:
        self.was_used = False
        self._cancel = cancel
        self._before = before

    def __call__(self) -> None:
        self.was_used = True
        self._before()
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        else:
            self._cancel()


@contextmanager
def kill_switch(task: Any | None, cancel: Callable[[], object]) -> Iterator[KillSwitch]:
    """The statements of a task: a KeyboardInterrupt leaves it if the task is killed. ``task``: the
    operator that runs; None outside of tasks.
    """
    switch = KillSwitch(cancel, task.on_kill if task is not None else lambda: None)
    if task is None:
        yield switch
        return
    in_main = threading.current_thread() is threading.main_thread()
    previous = signal.getsignal(signal.SIGINT) if in_main else None
    # Airflow leaves Ctrl-C to the system in its tasks, which would end the process there and then
    replaced = in_main and previous in (signal.SIG_DFL, signal.SIG_IGN)
    if replaced:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    own = task.__dict__.get("on_kill")
    task.__dict__["on_kill"] = switch
    try:
        yield switch
    finally:
        if own is None:
            del task.__dict__["on_kill"]
        else:
            task.__dict__["on_kill"] = own
        if replaced:
            signal.signal(signal.SIGINT, previous)


# ---- hook


XCOM_KEY = "acidsql"


class AcidSqlHook(DbApiHook):  # type: ignore[misc]
    """A warehouse, by a connection of the type ``acidsql``.

    run_id: what the task's changes are recorded as, with their commit; None: dag, run, task and map
    index of the task that runs, and nothing outside of tasks. idempotent: whether they are recorded
    at all. retries: how often statements are run again after an error that says they may be.
    schema: the database; None: the connection's.
    """

    conn_name_attr = "acidsql_conn_id"
    default_conn_name = "acidsql_default"
    conn_type = "acidsql"
    hook_name = "AcidSQL"
    supports_autocommit = True
    supports_executemany = True
    strip_semicolon = True
    _placeholder = "?"
    _test_connection_sql = "SELECT 1"
    _escape: ClassVar[str] = "`{}`"

    def __init__(
        self,
        *args: Any,
        run_id: str | None = None,
        idempotent: bool = True,
        retries: int = 3,
        schema: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, schema=schema, **{"escape_word_format": self._escape} | kwargs)
        self.schema = schema
        self.run_id = run_id
        self.idempotent = idempotent
        self.retries = retries
        self._own_ids = RunIds()
        self._task_run: TaskRun | None = None
        self._session: Session | None = None
        self.plans: list[Plan] = []
        """What the last ``run`` has carried out, statement by statement, as it was bound."""

    # ---- connections

    def get_conn(self) -> Connection:
        """A new PEP 249 connection, autocommit off."""
        target = self._target()
        settings: dict[str, Any] = dict(target.settings)
        return connect(
            target.warehouse,
            metastore=target.metastore or "",
            database=target.database,
            master=target.master,
            conf=target.conf,
            **settings,
        )

    def _target(self) -> Target:
        target = Target.of(self.connection, self.schema)
        for secret in target.secrets():
            mask_secret(secret)
        return target

    @property
    def sqlalchemy_url(self) -> URL:
        """The URL of SQLAlchemy's dialect, secrets and all."""
        return self._target().url()

    def get_uri(self) -> str:
        """``acidsql:////srv/warehouse?..``, secrets and all."""
        return self.sqlalchemy_url.render_as_string(hide_password=False)

    # ---- statements

    @staticmethod
    def split_sql_string(sql: str, strip_semicolon: bool = False) -> list[str]:
        """The statements of a text, without their semicolons."""
        return [statement.text for statement in split(sql)]

    def run(
        self,
        sql: str | Iterable[str],
        autocommit: bool = False,
        parameters: Iterable[Any] | Mapping[str, Any] | None = None,
        handler: Callable[[Any], Any] | None = None,
        split_statements: bool = True,
        return_last: bool = True,
    ) -> Any:
        """Carries out statements, and gives what ``handler`` makes of each one's cursor, or of the
        last one's, as DbApiHook says.

        autocommit: whether each statement is a transaction of its own; else all are one.
        """
        texts = sql if isinstance(sql, str) else list(sql)
        params = parameters if isinstance(parameters, Mapping) else list(parameters or ())
        context = current_context()
        task = None if context is None else context["ti"].task
        with self._airflow_errors(), kill_switch(task, self.cancel) as switch:
            task_run = self._new_run(texts, params, context, autocommit, split_statements)
            with _killed_error(switch):
                result = self._carry_out(
                    task_run,
                    lambda: super(AcidSqlHook, self).run(
                        texts, autocommit, params, handler, split_statements, return_last
                    ),
                )
        self._tell(task_run, context)
        return result

    def _new_run(
        self,
        texts: str | list[str],
        params: Mapping[str, Any] | list[Any],
        context: Mapping[str, Any] | None,
        autocommit: bool,
        split_statements: bool,
    ) -> TaskRun:
        whole = [texts] if isinstance(texts, str) else texts
        if isinstance(texts, str) and split_statements:
            whole = self.split_sql_string(texts)
        statements = task_statements(whole, params)
        task_run = TaskRun(
            statements=statements,
            run_id=None,
            is_default=self.run_id is None,
            autocommit=autocommit,
            log=self.log,
        )
        if any(one.kind is Kind.CHANGE for one in statements):
            task_run.run_id = self._run_id(context)
        task_run.check()
        return task_run

    def _run_id(self, context: Mapping[str, Any] | None) -> str | None:
        """What the next call that changes rows is recorded as."""
        if not self.idempotent:
            return None
        name = self.run_id
        if name is None:
            name = None if context is None else default_run_id(context)
        if name is not None and self._target().is_service:
            raise NotSupportedError(
                "a Hive metastore cannot record a task's run with its commit",
                hint=(
                    'hook_params={"idempotent": False} of an operator has its changes made in each'
                    " attempt, as a MERGE or an INSERT OVERWRITE may be."
                ),
            )
        ids = self._own_ids if context is None else ids_of_task(context)
        return None if name is None else ids.number(name)

    def _carry_out(self, task_run: TaskRun, run: Callable[[], Any]) -> Any:
        attempts = Attempts(retries=self.retries)
        result = None
        for _ in attempts:
            with attempts.one():
                result = self._attempt(task_run, run)
        for warning in attempts.warnings():
            self.log.warning("%s", warning.message)
        return result

    def _attempt(self, task_run: TaskRun, run: Callable[[], Any]) -> Any:
        """One attempt. If another process has committed the same run meanwhile it is made once
        more, and finds that on record.
        """
        self._task_run = task_run
        try:
            task_run.begin()
            try:
                return run()
            except RunCommittedError:
                task_run.begin()
                return run()
        finally:
            self._task_run = self._session = None
            self.plans = task_run.plans

    def _run_command(
        self, cur: Cursor, sql_statement: str, parameters: Mapping[str, Any] | list[Any] | None
    ) -> None:
        """Carries out the next statement of ``run``."""
        if self._task_run is None:
            super()._run_command(cur, sql_statement, parameters)
            return
        if self.log_sql:
            self.log.info("Running statement: %s, parameters: %s", sql_statement, parameters)
        self._session = cur.connection.session
        self._task_run.carry_out(cur, parameters or None)
        send_sql_hook_lineage(context=self, sql=sql_statement, sql_parameters=parameters, cur=cur)
        if cur.rowcount >= 0:
            self.log.info("Rows affected: %s", cur.rowcount)

    def cancel(self) -> None:
        """Cancels what runs in Spark for the statement of ``run``; for another thread."""
        if self._session is not None:
            self._session.cancel()

    @contextmanager
    def _airflow_errors(self) -> Iterator[None]:
        """Errors as Airflow knows them: those that an attempt of the task can be rid of, and
        others.
        """
        try:
            yield
        except CommitStateUnknownError as error:
            # under a run id the next attempt finds out, and does nothing twice
            known = self.idempotent and (self.run_id or current_context()) is not None
            raise (AirflowException if known else AirflowFailException)(str(error)) from error
        except Error as error:
            kind = AirflowException if error.retryable else AirflowFailException
            raise kind(str(error)) from error

    def _tell(self, task_run: TaskRun, context: Mapping[str, Any] | None) -> None:
        """Pushes what was changed as the XCom ``acidsql``, or ``acidsql_2`` of a second call."""
        if context is None or not task_run.has_changes or not context["ti"].task.do_xcom_push:
            return
        key = ids_of_task(context).next_key(XCOM_KEY)
        context["ti"].xcom_push(key, {"run_id": task_run.run_id, **asdict(task_run.outcome)})

    @staticmethod
    def _serialize_cell(cell: object, conn: object = None) -> Any:
        """Values go to a statement as they are."""
        return cell

    # ---- OpenLineage

    def get_openlineage_database_info(self, connection: object) -> None:
        """None: nobody need guess at the SQL."""

    def get_openlineage_database_specific_lineage(self, task_instance: object) -> OperatorLineage:
        """What the last ``run`` has read and written, by its plans."""
        from acidsql.airflow.lineage import lineage_of, namespace_of, operator_lineage

        namespace = namespace_of(self._target().origin)
        return operator_lineage(lineage_of(self.plans), namespace)

    # ---- DataFrames

    def _arrow(self, sql: Any, parameters: Any, options: Mapping[str, Any]) -> pa.Table:
        if not isinstance(sql, str):
            raise TypeError("get_df takes one query, as text")
        if options:
            raise TypeError(f"get_df takes no {', '.join(options)}")
        with self._airflow_errors(), closing(self.get_conn()) as connection:
            return connection.session.sql(sql, parameters or None).to_arrow()

    def _get_pandas_df(self, sql: Any, parameters: Any = None, **kwargs: Any) -> pandas.DataFrame:
        return self._arrow(sql, parameters, kwargs).to_pandas()

    def _get_polars_df(self, sql: Any, parameters: Any = None, **kwargs: Any) -> polars.DataFrame:
        import polars

        frame = polars.from_arrow(self._arrow(sql, parameters, kwargs))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _get_pandas_df_by_chunks(
        self, sql: Any, parameters: Any = None, *, chunksize: int, **kwargs: Any
    ) -> Generator[pandas.DataFrame, None, None]:
        table = self._arrow(sql, parameters, kwargs)
        for start in range(0, table.num_rows, chunksize):
            yield table.slice(start, chunksize).to_pandas()

    def _get_polars_df_by_chunks(
        self, sql: Any, parameters: Any = None, *, chunksize: int, **kwargs: Any
    ) -> Generator[polars.DataFrame, None, None]:
        yield from self._get_polars_df(sql, parameters, **kwargs).iter_slices(chunksize)


@contextmanager
def _killed_error(switch: KillSwitch) -> Iterator[None]:
    """What a task that is killed ends with."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not switch.was_used:
            raise
        notes = "; ".join(getattr(interrupt, "__notes__", ()))
        raise AirflowException(
            f"the task was killed: {notes}" if notes else "the task was killed and rolled back"
        ) from None
