"""The hook without a scheduler: connections, statements, errors, DataFrames, lineage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.session import Session
from tests.metastore.hms.service import HiveService

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

TABLE = "CREATE TABLE IF NOT EXISTS t (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT = "INSERT INTO t VALUES (1, 'a')"


@pytest.fixture
def hook(connection: dict[str, Any]) -> Callable[..., Any]:
    """Makes hooks of the connection "acid", whose warehouse has an empty table."""
    from acidsql.airflow.hook import AcidSqlHook

    AcidSqlHook("acid").run(TABLE)
    return lambda **options: AcidSqlHook("acid", **options)


def rows(warehouse: Path, table: str = "t") -> list[tuple[Any, ...]]:
    with Session(str(warehouse)) as session:
        return sorted(session.sql(f"SELECT * FROM {table}").rows())


def test_the_provider_is_found(airflow: Path) -> None:
    """Airflow reads it by its entry point, takes it for valid, and knows the hook and its form."""
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()
    assert "acidsql" in manager.providers
    hook = manager.hooks["acidsql"]
    assert hook is not None
    assert (hook.hook_class_name, hook.connection_id_attribute_name) == (
        "acidsql.airflow.hook.AcidSqlHook",
        "acidsql_conn_id",
    )
    fields = {name for name in manager.connection_form_widgets if "acidsql" in name}
    assert len(fields) == 5


def test_a_connection_opens_its_warehouse(
    airflow: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Database, Spark's settings and ours, as objects or JSON; the same by SQLAlchemy's URL."""
    from acidsql.airflow.hook import AcidSqlHook

    with Session(str(warehouse)) as session:
        session.sql("CREATE DATABASE sales")
        session.sql("CREATE TABLE sales.c (id INT) STORED AS ORC")
    extra = {
        "warehouse": str(warehouse),
        "conf": '{"spark.x": 1}',
        "settings": {"acidsql.retries": 2, "acidsql.dry.run": True},
    }
    monkeypatch.setenv(
        "AIRFLOW_CONN_ACID", json.dumps({"conn_type": "acidsql", "schema": "sales", "extra": extra})
    )
    hook = AcidSqlHook("acid")
    with closing(hook.get_conn()) as opened:
        assert opened.session.database == "sales"
        assert opened.session.settings.text("acidsql.retries") == "2"
        assert opened.session.settings.flag("acidsql.dry.run")
        assert opened.autocommit is False
    with closing(AcidSqlHook("acid", schema="default").get_conn()) as opened:
        assert opened.session.database == "default"
    assert hook.get_uri().startswith(f"acidsql:///{warehouse}?")
    with hook.get_sqlalchemy_engine().connect() as connected:
        assert connected.exec_driver_sql("SHOW TABLES").all() == [("c",)]
    assert hook.test_connection() == (True, "Connection successfully tested")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({}, 'the connection "acid" names no warehouse'),
        (
            {"warehouse": "w", "conf": "[1]"},
            'the field "conf" of the connection "acid" is no object',
        ),
        ({"warehouse": "w", "settings": {"a": {}}}, 'the field "settings" of the connection'),
        (
            {"warehouse": "w", "metastore": "nowhere"},
            'the metastore of the connection "acid" is no URL',
        ),
    ],
)
def test_connections_that_are_refused(
    airflow: Path, monkeypatch: pytest.MonkeyPatch, extra: dict[str, Any], message: str
) -> None:
    """Are named, with the field."""
    from airflow.sdk.exceptions import AirflowFailException

    from acidsql.airflow.hook import AcidSqlHook

    monkeypatch.delenv("ACIDSQL_WAREHOUSE", raising=False)
    monkeypatch.setenv("AIRFLOW_CONN_ACID", json.dumps({"conn_type": "acidsql", "extra": extra}))
    with pytest.raises(AirflowFailException, match=message):
        AcidSqlHook("acid").run("SELECT 1")


def test_secrets_are_masked(airflow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metastore's password, which the connection's own fields may hold, and Spark's keys."""
    from airflow.sdk._shared.secrets_masker import redact

    from acidsql.airflow.hook import AcidSqlHook

    extra = {
        "warehouse": "w",
        "metastore": "postgresql+psycopg://db/meta",
        "conf": {"spark.hadoop.fs.s3a.secret.key": "s3kr1t-k3y"},
    }
    made = {"conn_type": "acidsql", "login": "ann", "password": "p4ssw0rd!", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_ACID", json.dumps(made))
    target = AcidSqlHook("acid")._target()
    assert target.metastore == "postgresql+psycopg://ann:p4ssw0rd%21@db/meta"
    assert "s3kr1t" not in str(redact("the key s3kr1t-k3y"))
    assert "p4ssw0rd" not in str(redact(f"opened {target.metastore} by p4ssw0rd!"))


def test_a_run_id_of_ones_own(hook: Callable[..., Any], warehouse: Path) -> None:
    """Another hook with the same id does nothing, unless it was given other statements; without
    one, and outside of tasks, nothing is kept from being done again.
    """
    from airflow.sdk.exceptions import AirflowFailException

    hook(run_id="load").run([INSERT, "INSERT INTO t VALUES (2, 'b')"])
    hook(run_id="load").run([INSERT, "INSERT INTO t VALUES (2, 'b')"])
    assert rows(warehouse) == [(1, "a"), (2, "b")]
    with pytest.raises(AirflowFailException, match="with other statements"):
        hook(run_id="load").run("INSERT INTO t VALUES (?, 'b')", parameters=[3])
    hook().run(INSERT)
    hook(run_id="load", idempotent=False).run(INSERT)
    assert len(rows(warehouse)) == 4
    same = hook(run_id="twice")
    same.run(INSERT)
    same.run(INSERT)
    assert len(rows(warehouse)) == 6


def test_the_answers_of_skipped_statements(hook: Callable[..., Any]) -> None:
    """Have no rows; queries beside them are carried out as ever."""
    from airflow.providers.common.sql.hooks.handlers import fetch_all_handler

    texts = "SELECT 7; INSERT INTO t VALUES (1, 'a'); SELECT count(*) FROM t WHERE id < 1"
    answers = [
        hook(run_id="load").run(texts, handler=fetch_all_handler, return_last=False)
        for _ in range(2)
    ]
    assert answers[0] == answers[1] == [[(7,)], None, [(0,)]]


def test_autocommit_that_fails_between_statements(
    hook: Callable[..., Any], warehouse: Path
) -> None:
    """What was committed stays and is skipped the next time, DDL before it too; the rest is done."""
    from airflow.sdk.exceptions import AirflowFailException

    texts = [
        TABLE.replace("IF NOT EXISTS t", "u"),
        INSERT.replace("INTO t", "INTO u"),
        "INSERT INTO u VALUES (2, 'b')",
    ]
    commits = iter(range(2))

    def fail(point: str) -> None:
        if point == "written" and next(commits) == 1:
            from acidsql.errors import ExecutionError

            raise ExecutionError("the disk is full")

    crash_points.hook = fail
    try:
        with pytest.raises(AirflowFailException, match="the disk is full"):
            hook(run_id="load").run(texts, autocommit=True)
    finally:
        crash_points.hook = None
    assert rows(warehouse, "u") == [(1, "a")]
    hook(run_id="load").run(texts, autocommit=True)
    hook(run_id="load").run(texts, autocommit=True)
    assert rows(warehouse, "u") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("autocommit", [True, False])
def test_what_cannot_be_kept_from_being_done_twice(
    hook: Callable[..., Any], warehouse: Path, autocommit: bool
) -> None:
    """Is refused under a run id of one's own: a table without transactions, a divided task."""
    from airflow.sdk.exceptions import AirflowFailException

    hook().run("CREATE TABLE p (id INT) STORED AS ORC")
    with pytest.raises(
        AirflowFailException, match=r"cannot be recorded|not allowed in a transaction"
    ):
        hook(run_id="load").run("INSERT INTO p VALUES (1)", autocommit=autocommit)
    assert rows(warehouse, "p") == []
    with pytest.raises(
        AirflowFailException, match='"COMMIT" cannot be part of a task with a run id'
    ):
        hook(run_id="load").run(f"{INSERT}; COMMIT; {INSERT}", autocommit=autocommit)
    assert rows(warehouse) == []


@pytest.mark.parametrize("retries", [0, 2])
def test_retryable_errors(hook: Callable[..., Any], warehouse: Path, retries: int) -> None:
    """The whole task's transaction is run again here; then Airflow may try the task again. Any
    other error fails it for good, with nothing done.
    """
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    hook().run(INSERT)
    others = iter([True])

    def change(point: str) -> None:
        if point == "written" and next(others, False):
            crash_points.hook = None
            with Session(str(warehouse)) as other:
                other.sql("UPDATE t SET name = 'other' WHERE id = 1")

    crash_points.hook = change
    texts = "INSERT INTO t VALUES (2, 'b'); UPDATE t SET name = concat(name, '!') WHERE id = 1"
    try:
        if retries:
            hook(run_id="shout", retries=retries).run(texts)
        else:
            with pytest.raises(AirflowException, match="write conflict") as caught:
                hook(run_id="shout", retries=retries).run(texts)
            assert not isinstance(caught.value, AirflowFailException)
    finally:
        crash_points.hook = None
    assert rows(warehouse) == ([(1, "other!"), (2, "b")] if retries else [(1, "other")])
    with pytest.raises(AirflowFailException, match="line 1: INSERT INTO nowhere"):
        hook().run(f"{INSERT}; INSERT INTO nowhere VALUES (1)")
    assert len(rows(warehouse)) == 1 + bool(retries)


def test_another_attempt_that_commits_first(hook: Callable[..., Any], warehouse: Path) -> None:
    """A task that Airflow took for dead and its successor: both end well, their rows are there
    once.
    """
    successors = iter([True])

    def succeed(point: str) -> None:
        if point == "written" and next(successors, False):
            hook(run_id="load").run(INSERT)

    crash_points.hook = succeed
    try:
        hook(run_id="load").run(INSERT)
    finally:
        crash_points.hook = None
    assert rows(warehouse) == [(1, "a")]


def test_data_frames(hook: Callable[..., Any]) -> None:
    """Of pandas and polars, whole and in parts, with parameters; typed as the table is."""
    hook().run("INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')")
    pandas = hook().get_df("SELECT * FROM t WHERE id < ?", parameters=[3])
    assert (list(pandas["id"]), str(pandas["id"].dtype)) == ([1, 2], "int32")
    polars = hook().get_df("SELECT * FROM t", df_type="polars")
    assert polars["name"].to_list() == ["a", None, "c"]
    parts = hook().get_df_by_chunks("SELECT * FROM t", chunksize=2)
    assert [len(part) for part in parts] == [2, 1]
    parts = hook().get_df_by_chunks("SELECT * FROM t", chunksize=2, df_type="polars")
    assert [len(part) for part in parts] == [2, 1]
    with pytest.raises(TypeError, match="get_df takes no index_col"):
        hook().get_df("SELECT * FROM t", index_col="id")


def test_rows_of_python_values(hook: Callable[..., Any], warehouse: Path) -> None:
    """``insert_rows`` takes them as they are, ``get_records`` and ``get_first`` give them."""
    hook().insert_rows("t", [(1, "a"), (2, None)], target_fields=["id", "name"])
    assert rows(warehouse) == [(1, "a"), (2, None)]
    assert hook().get_records("SELECT * FROM t WHERE id > :low", {"low": 1}) == [(2, None)]
    assert hook().get_first("SELECT name FROM t WHERE id = 1") == ("a",)


def test_open_lineage(hook: Callable[..., Any], warehouse: Path) -> None:
    """Inputs, outputs and what columns were made of, for the operators of the common provider."""
    pytest.importorskip("airflow.providers.openlineage")
    from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator

    hook().run(TABLE.replace("t (id", "s (id"))
    operator = SQLExecuteQueryOperator(
        task_id="copy",
        conn_id="acid",
        sql="INSERT INTO t SELECT id, upper(name) FROM s; DELETE FROM s WHERE id = 1",
    )
    operator.execute({})
    lineage = operator.get_openlineage_facets_on_complete(None)
    assert {one.name for one in lineage.inputs} == {"default.s"}
    assert [one.name for one in lineage.outputs] == ["default.t", "default.s"]
    assert {one.namespace for one in (*lineage.inputs, *lineage.outputs)} == {f"file://{warehouse}"}
    target = lineage.outputs[0].facets
    assert [(one.name, one.type) for one in target["schema"].fields] == [
        ("id", "int"),
        ("name", "string"),
    ]
    made = {
        name: [(one.name, one.field) for one in field.inputFields]
        for name, field in target["columnLineage"].fields.items()
    }
    assert made == {"id": [("default.s", "id")], "name": [("default.s", "name")]}


def test_open_lineage_of_what_was_done_before(hook: Callable[..., Any]) -> None:
    """A task that is skipped under its run id tells what it had told; of a table that is gone,
    nothing."""
    pytest.importorskip("airflow.providers.openlineage")
    hook().run(TABLE.replace("t (id", "s (id"))
    statements = (
        "INSERT INTO t SELECT id, name FROM s WHERE id > ?; UPDATE s SET name = 'x' WHERE id = ?"
    )
    told = []
    for _ in range(2):
        one = hook(run_id="copy")
        one.run(statements.split(";"), parameters=[0])
        told.append(one.get_openlineage_database_specific_lineage(None))
    assert [d.name for d in told[0].outputs] == ["default.t", "default.s"]
    assert told[0] == told[1]
    hook().run("DROP TABLE s")
    last = hook(run_id="copy")
    last.run(statements.split(";"), parameters=[0])
    assert last.plans == []


@pytest.fixture
def metastore(airflow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The connection "hive" to a Hive metastore; its URL."""
    served = HiveService(tmp_path / "hive")
    extra = {"metastore": served.url, "settings": {"acidsql.engine": "local"}}
    made = {"conn_type": "acidsql", "schema": "sales", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_HIVE", json.dumps(made))
    with Session(metastore=served.url) as session:
        session.sql("CREATE DATABASE sales")
    yield served.url
    served.close()


def test_a_connection_to_a_hive_metastore(metastore: str) -> None:
    """Its tables are changed and read, by the hook and by SQLAlchemy's URL; they are known by the
    metastore's name.
    """
    from acidsql.airflow.connections import Target
    from acidsql.airflow.hook import AcidSqlHook

    hook = AcidSqlHook("hive", idempotent=False)
    hook.run(
        "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true');"
        "INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE id = 1"
    )
    assert hook.get_records("SELECT * FROM t") == [(2,)]
    with hook.get_sqlalchemy_engine().connect() as connected:
        assert connected.exec_driver_sql("SELECT id FROM t").all() == [(2,)]
    assert hook.test_connection() == (True, "Connection successfully tested")
    assert Target.of(hook.connection).origin == metastore.replace("thrift", "hive")


def test_runs_are_not_recorded_by_a_hive_metastore(metastore: str) -> None:
    """A call that is to be done once is refused, with nothing done."""
    from acidsql.airflow.hook import AcidSqlHook

    AcidSqlHook("hive", idempotent=False).run("CREATE TABLE t (id INT) STORED AS ORC")
    hook = AcidSqlHook("hive", run_id="once")
    with pytest.raises(Exception, match="cannot record a task's run"):
        hook.run("INSERT INTO t VALUES (1)")
    assert AcidSqlHook("hive").get_records("SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"extra": {"warehouse": "/w"}}, "names a warehouse and a Hive metastore"),
        ({"password": "p"}, "has a user or password"),
        ({"login": "ann"}, "has a user or password"),
    ],
)
def test_what_a_hive_metastore_does_not_take(
    airflow: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], message: str
) -> None:
    """Is refused, and not ignored."""
    from acidsql.airflow.hook import AcidSqlHook

    extra = {"metastore": "thrift://a:9083,thrift://b:9083", **more.get("extra", {})}
    made = {"conn_type": "acidsql", **more, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_HIVE", json.dumps(made))
    with pytest.raises(Exception, match=message):
        AcidSqlHook("hive").get_conn()
