"""DAGs that run in a real Airflow: the operators of the common provider, and tasks that are run
again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.session import Session
from tests.airflow.conftest import DAY, RunOfDag

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]

RunDag = Callable[[str], RunOfDag]

KILLED = f"""
import os, signal, sys
from acidsql import crash_points
from tests.airflow.dags import acid_dags

def kill(point):
    if point == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)

crash_points.hook = kill
import datetime
day = datetime.datetime.fromisoformat({DAY.isoformat()!r})
acid_dags.load_only.test(run_after=day, logical_date=day)
"""


def rows(warehouse: Path, table: str = "t") -> list[tuple[Any, ...]]:
    with Session(str(warehouse)) as session:
        return sorted(session.sql(f"SELECT * FROM {table}").rows())


def test_operators_of_the_common_provider(run_dag: RunDag, warehouse: Path) -> None:
    """Work unchanged: statements, checks of columns and tables, branches; queries give XComs, and
    changes their counts and write ids. Run again, the DAG changes nothing and says so.
    """
    first = run_dag("acid_operators")
    assert first.state == "success"
    assert first.states["few"] == "skipped"
    assert {state for name, state in first.states.items() if name != "few"} == {"success"}
    once = [(1, "a;b"), (2, "b"), (3, None)]
    assert rows(warehouse) == once
    assert [tuple(row) for row in first.xcom["read", "return_value"]] == once[:2]
    done = first.xcom["load", "acidsql"]
    assert done["run_id"].startswith("airflow/acid_operators/manual__2026-01-02")
    assert done["run_id"].endswith("/load/-1")
    assert (done["rows_inserted"], done["write_ids"], done["done_before"]) == (
        3,
        {"default.t": 1},
        False,
    )
    again = run_dag("acid_operators")
    assert again.states == first.states
    assert rows(warehouse) == once
    assert again.xcom["load", "acidsql"] == done | {"done_before": True}


@pytest.mark.parametrize(("point", "committed"), [("written", False), ("committed", True)])
def test_a_worker_that_is_killed_around_its_commit(
    run_dag: RunDag, warehouse: Path, airflow: Path, point: str, committed: bool
) -> None:
    """The task that is run again finds its rows there, or not, and they are there once."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, point],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    assert len(rows(warehouse)) == (3 if committed else 0)
    again = run_dag("acid_load")
    assert again.state == "success"
    assert again.xcom["load", "acidsql"]["done_before"] is committed
    assert rows(warehouse) == [(1, "a;b"), (2, "b"), (3, None)]


def test_several_calls_and_statements_of_one_task(run_dag: RunDag, warehouse: Path) -> None:
    """Each call has its run, and with autocommit each statement; rows of a table that has no
    transactions cannot be kept from coming twice, which the log says.
    """
    first = run_dag("acid_once")
    assert first.state == "success"
    assert first.xcom["two_calls", "acidsql_2"]["rows_inserted"] == 2
    assert len(first.xcom["alone", "acidsql"]["txn_ids"]) == 2
    assert rows(warehouse) == [(1, "a"), (2, "b"), (3, "c")]
    assert rows(warehouse, "u") == [(1, "a"), (2, "b")]
    with Session(str(warehouse)) as session:
        session.sql("DROP TABLE p")
    again = run_dag("acid_once")
    assert again.state == "success"
    assert again.xcom["two_calls", "acidsql"]["done_before"] is True
    assert again.xcom["two_calls", "acidsql_2"]["done_before"] is True
    assert rows(warehouse) == [(1, "a"), (2, "b"), (3, "c")]
    assert rows(warehouse, "u") == [(1, "a"), (2, "b")]
    assert rows(warehouse, "p") == [(1,)]


def test_a_task_that_is_killed_in_a_statement(
    run_dag: RunDag, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM, as Airflow sends it, ends the statement where nothing is spoiled: no row of the task
    is visible and no transaction is left open. Sent in the commit it comes too late.
    """
    assert run_dag("acid_load").state == "success"
    before = rows(warehouse)

    def kill(point: str) -> None:
        if point == "directory made":
            crash_points.hook = None
            os.kill(os.getpid(), signal.SIGTERM)

    slow = _slow("INSERT INTO t VALUES (9, 'killed'); INSERT INTO t VALUES (10, 'killed')")
    crash_points.hook = kill
    try:
        killed = run_dag("acid_slow")
    finally:
        crash_points.hook = None
        slow.sql = "SELECT 1"
    assert killed.states == {"slow": "failed"}
    assert rows(warehouse) == before
    with Session(str(warehouse)) as session:
        assert all(row[1] != "OPEN" for row in session.sql("SHOW TRANSACTIONS").rows())


def test_a_task_that_is_killed_in_spark(run_dag: RunDag, warehouse: Path) -> None:
    """Its jobs are cancelled: the task does not go on to their end."""
    from pyspark import SparkContext

    def has_jobs() -> bool:
        context = SparkContext._active_spark_context
        if getattr(context, "_jsc", None) is None:  # Spark names its context before it is ready
            return False
        return bool(context.statusTracker().getActiveJobsIds())

    def kill() -> None:
        while not has_jobs():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    slow = _slow("SELECT sum(a.id * b.id) FROM range(1000000) a CROSS JOIN range(100000) b")
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        killed = run_dag("acid_slow")
    finally:
        killer.join()
        slow.sql = "SELECT 1"
    assert killed.states == {"slow": "failed"}


def test_the_page_s_dag(airflow: Path, tmp_path: Path) -> None:
    """The DAG of docs/airflow.md runs as the page says, and its task says who it was."""
    page = (ROOT / "docs" / "airflow.md").read_text("utf-8")
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "sales.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    extra = {"warehouse": str(tmp_path / "sales")}
    made = {
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW_CONN_SALES": json.dumps({"conn_type": "acidsql", "extra": extra}),
    }
    done = subprocess.run(
        [sys.executable, "sales.py"],
        cwd=dags,
        env=os.environ | made,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    with Session(extra["warehouse"]) as session:
        assert [row[0] for row in session.sql("SELECT id FROM orders").rows()] == [1, 2]


def _slow(sql: str) -> Any:
    from tests.airflow.dags import acid_dags

    task = acid_dags.slow.get_task("slow")
    task.sql = sql
    return task
