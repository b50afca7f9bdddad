"""What the machines of a cluster lack is told in the first job; what can be shipped is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from acidsql.spark.start import workers
from acidsql.spark.start.java import java_environment
from tests.spark.standalone import ROOT, Machine, standalone_cluster

PROGRAM = """
import json, sys, warnings
import acidsql

warehouse, master, python, tables = sys.argv[1:]
conf = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.driver.memory": "700m",
    "spark.pyspark.python": python,
}
told = {}
with warnings.catch_warnings(record=True) as words:
    warnings.simplefilter("always", UserWarning)
    with acidsql.Session(warehouse, master=master, conf=conf) as session:
        session.sql("SET acidsql.write.path=big")
        session.sql("CREATE TRANSACTIONAL TABLE p (id INT, x DOUBLE) STORED AS ORC")
        session.sql("CREATE TRANSACTIONAL TABLE b (id INT, x DOUBLE) CLUSTERED BY (x) INTO 3 BUCKETS STORED AS ORC")
        try:
            for table in tables:
                rows = "SELECT CAST(id AS INT), id / 2 FROM range(0, 1000, 1, 6)"
                session.sql(f"INSERT INTO {table} {rows}")
                counted = session.sql(f"SELECT count(*), count(DISTINCT id), sum(x) FROM {table}")
                told[table] = [list(map(str, row)) for row in counted.rows()]
            spark = session.sql("SELECT 1").df.sparkSession
            status = spark.sparkContext._jsc.sc().statusTracker()
            told["executors"] = len(list(status.getExecutorInfos())) - 1
        except acidsql.Error as error:
            told["error"] = str(error)
told["warnings"] = [str(one.message) for one in words if one.category is UserWarning]
print("TOLD " + json.dumps(told))
"""
THREE = 3
ROWS = [["1000", "1000", "249750.0"]]


def python(folder: Path, name: str, text: str) -> str:
    """A folder in which a Python is called ``name``."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(folder)


def machine(folder: str, *, named: str | None = None, without: Path | None = None) -> Machine:
    """One in whose path a folder is. ``named``: what it is called; ``without``: a directory that it
    has not. Both take a namespace of its own.
    """
    variables = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    if named is None:
        return Machine(environment=variables)
    hosts = Path(folder, f"{named}.hosts")  # Java asks for the address of its own name
    hosts.write_text(f"{Path('/etc/hosts').read_text()}\n127.0.0.1 {named}\n")
    known = f"mount --bind '{hosts}' /etc/hosts && "
    hidden = "" if without is None else f"mount -t tmpfs none '{without}' && "
    script = f'hostname {named} && {known}{hidden}exec "$@"'
    return Machine(environment=variables, command=[*_namespace(), "sh", "-c", script, "sh"])


def _namespace() -> Sequence[str]:
    return ("unshare", "-mu") if os.geteuid() == 0 else ("unshare", "-rmu")


def run(folder: Path, machines: Sequence[Machine], tables: str) -> dict[str, Any]:
    """What the program tells that inserts into tables."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "warehouse").mkdir()
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_CONF_DIR": str(folder)}
    with standalone_cluster(folder, machines) as master, java_environment(variables):
        arguments = [str(folder / "warehouse"), master, "python-of-worker", tables]
        done = subprocess.run(
            [sys.executable, str(folder / "program.py"), *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=folder,
            env=variables,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert lines, (done.stdout[-2000:], done.stderr[-4000:])
    return cast(dict[str, Any], json.loads(lines[0].removeprefix("TOLD ")))


@pytest.fixture
def good(tmp_path: Path) -> str:
    """The Python of the tests, which has no acidsql without PYTHONPATH."""
    return python(tmp_path / "good", "python-of-worker", f'exec {sys.executable} "$@"')


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_acidsql_is_shipped_to_three_workers(tmp_path: Path, good: str) -> None:
    """They have none; buckets that Python computes are right all the same, and nobody is told."""
    told = run(tmp_path, [machine(good, named=f"host{n}") for n in range(THREE)], "b")
    assert told == {"b": ROWS, "executors": THREE, "warnings": []}


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_a_worker_without_the_warehouse_is_told(tmp_path: Path, good: str) -> None:
    """By its name, before the first statement has written anything."""
    warehouse = tmp_path / "warehouse"
    machines = [machine(good, named="host1"), machine(good, named="host2", without=warehouse)]
    told = run(tmp_path, machines, "p")
    first, *more = told["error"].splitlines()
    assert first == "Spark's workers lack what acidsql needs"
    assert f'"{warehouse}" is another directory than the driver\'s on host2' in more[0]
    assert not list(warehouse.rglob("delta_*"))


def test_what_is_missing_is_told_by_host() -> None:
    """Several processes of a host are one; of many hosts a few are named."""
    reports = {
        f"h{n}": workers._Report(missing=frozenset({"numpy"}), version="", trouble="is not there")
        for n in range(9)
    }
    assert list(workers._lacking(reports, None)) == [
        "no package numpy on h0, h1, h2, h3, h4 and 4 more"
    ]
    assert list(workers._unreached(reports, "/w")) == [
        '"/w" is not there on h0, h1, h2, h3, h4 and 4 more'
    ]
    message = 'x\nIOException: Cannot run program "python9": error=2\n at y'
    assert list(workers._lacking({}, workers._reason(message))) == [
        'Python cannot run there: IOException: Cannot run program "python9": error=2'
    ]
