"""The DAGs of the tests: operators of the common provider, as users write them."""

from __future__ import annotations

import datetime
import os

from airflow.providers.common.sql.operators.sql import (
    BranchSQLOperator,
    SQLColumnCheckOperator,
    SQLExecuteQueryOperator,
    SQLTableCheckOperator,
)
from airflow.sdk import DAG, task

from acidsql.airflow.hook import AcidSqlHook

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TABLE = "CREATE TABLE IF NOT EXISTS {} (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def loading() -> SQLExecuteQueryOperator:
    """A task that makes a table, and the one behind it, that loads it by two statements."""
    create = SQLExecuteQueryOperator(task_id="create", conn_id="acid", sql=TABLE.format("t"))
    load = SQLExecuteQueryOperator(
        task_id="load",
        conn_id="acid",
        sql="INSERT INTO t VALUES (1, 'a;b'), (2, 'b'); -- two statements\nINSERT INTO t VALUES (3, NULL)",
    )
    create >> load
    return load


with DAG("acid_load", schedule=None, start_date=START) as load_only:
    loading()

with DAG("acid_operators", schedule=None, start_date=START) as operators:
    load = loading()
    read = SQLExecuteQueryOperator(
        task_id="read", conn_id="acid", sql="SELECT id, name FROM t WHERE id < ?", parameters=[3]
    )
    columns = SQLColumnCheckOperator(
        task_id="columns",
        conn_id="acid",
        table="t",
        column_mapping={"id": {"null_check": {"equal_to": 0}, "min": {"geq_to": 1}}},
    )
    table = SQLTableCheckOperator(
        task_id="table",
        conn_id="acid",
        table="t",
        checks={"rows": {"check_statement": "COUNT(*) = 3"}},
    )
    branch = BranchSQLOperator(
        task_id="branch",
        conn_id="acid",
        sql="SELECT count(*) > 2 FROM t",
        follow_task_ids_if_true=["many"],
        follow_task_ids_if_false=["few"],
    )

    @task
    def many() -> str:
        return "many"

    @task
    def few() -> str:
        return "few"

    load >> read >> columns >> table >> branch >> [many(), few()]

with DAG("acid_once", schedule=None, start_date=START) as once:

    @task
    def two_calls() -> None:
        """Two calls of one task, by two hooks, and one that reads."""
        AcidSqlHook("acid").run(TABLE.format("t"))
        AcidSqlHook("acid").run("INSERT INTO t VALUES (1, 'a')")
        AcidSqlHook("acid").run("SELECT * FROM t")
        AcidSqlHook("acid").run(["INSERT INTO t VALUES (2, 'b')", "INSERT INTO t VALUES (3, 'c')"])

    alone = SQLExecuteQueryOperator(
        task_id="alone",
        conn_id="acid",
        autocommit=True,
        sql=[
            "CREATE TABLE p (id INT) STORED AS ORC",
            "INSERT INTO p VALUES (1)",
            TABLE.format("u").replace("IF NOT EXISTS ", ""),
            "INSERT INTO u VALUES (1, 'a')",
            "INSERT INTO u VALUES (2, 'b')",
        ],
    )
    two_calls() >> alone

with DAG("acid_slow", schedule=None, start_date=START) as slow:
    SQLExecuteQueryOperator(
        task_id="slow", conn_id="acid", sql=os.environ.get("ACID_SLOW_SQL", "SELECT 1")
    )
