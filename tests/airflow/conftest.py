"""A real Airflow in a directory of its own; without one installed these tests are skipped."""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DAGS = Path(__file__).resolve().parent / "dags"
DAY = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def environment(home: Path) -> dict[str, str]:
    """What Airflow is told by its environment."""
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of an Airflow whose database is ready."""
    if importlib.util.find_spec("airflow") is None:  # not a part of it: that would import it
        pytest.skip(
            "no Airflow is installed: pip install 'acidsql[airflow]' in a virtual environment of its own"
        )
    home = tmp_path_factory.mktemp("airflow")
    os.environ.update(environment(home))
    command = [sys.executable, "-m", "airflow", "db", "migrate"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return home


@pytest.fixture
def connection(airflow: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The connection "acid" to the test's warehouse."""
    extra = {
        "warehouse": str(warehouse),
        "master": "local[2]",
        "conf": {"spark.driver.memory": "1g"},
    }
    made = {"conn_type": "acidsql", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_ACID", json.dumps(made))
    return made


@pytest.fixture
def run_dag(connection: dict[str, Any]) -> Callable[[str], RunOfDag]:
    """Runs a DAG in this process, always as the same run: what it did before is cleared."""

    def run(dag_id: str) -> RunOfDag:
        from tests.airflow.dags import acid_dags

        dag = next(
            one
            for one in vars(acid_dags).values()
            if getattr(one, "dag_id", "") == dag_id and hasattr(one, "test")
        )
        return RunOfDag(dag.test(run_after=DAY, logical_date=DAY))

    return run


class RunOfDag:
    """What became of a run."""

    def __init__(self, dag_run: Any) -> None:
        from airflow.models.xcom import XComModel
        from airflow.sdk.serde import deserialize
        from airflow.utils.session import create_session
        from sqlalchemy import select

        self.state = str(dag_run.state)
        self.states = {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}
        with create_session() as session:
            of_run = select(XComModel).where(
                XComModel.run_id == dag_run.run_id, XComModel.dag_id == dag_run.dag_id
            )
            self.xcom = {
                (row.task_id, row.key): deserialize(XComModel.deserialize_value(row))
                for row in session.scalars(of_run)
            }
