"""What the machines of a cluster lack is told in the first job; what can be shipped is."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acidsql.spark.start import workers
from tests.spark.cluster.standalone import Machine, program_on_cluster, told_in

PROGRAM = """
import json, sys, time, warnings
import acidsql

warehouse, master, python, check, steps = sys.argv[1:]
conf = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.driver.memory": "700m",
    "spark.pyspark.python": python,
}
settings = {"acidsql.write.path": "big", "acidsql.spark.check.workers": check}
ROWS = "SELECT CAST(id AS INT) AS id, id / 2 AS x FROM range(0, 1000, 1, 6)"
MERGE = f"MERGE INTO p USING ({ROWS}) s ON p.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.x)"
told = {"errors": {}}

def executors():
    from pyspark import SparkContext

    return len(list(SparkContext.getOrCreate()._jsc.sc().statusTracker().getExecutorInfos())) - 1

def joined(count):
    while executors() < count:
        time.sleep(0.05)

with warnings.catch_warnings(record=True) as words:
    warnings.simplefilter("always", UserWarning)
    with acidsql.Session(warehouse, master=master, conf=conf, settings=settings) as session:
        session.sql("CREATE TRANSACTIONAL TABLE p (id INT, x DOUBLE) STORED AS ORC")
        session.sql("CREATE TRANSACTIONAL TABLE b (id INT, x DOUBLE) CLUSTERED BY (x) INTO 3 BUCKETS STORED AS ORC")
        session.sql("CREATE TABLE t (id INT, x DOUBLE) STORED AS PARQUET TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')")
        for step in steps:
            if step.isdigit():
                session.sql("SELECT 1 AS one").df
                joined(int(step))
            elif step == "+":
                before = executors()
                print("JOIN", flush=True)
                joined(before + 1)
            else:
                table = "p" if step == "m" else step
                try:
                    session.sql(MERGE if step == "m" else f"INSERT INTO {table} {ROWS}")
                except acidsql.Error as error:
                    told["errors"][step] = str(error)
                else:
                    counted = session.sql(f"SELECT count(*), count(DISTINCT id), sum(x) FROM {table}")
                    told[step] = [list(map(str, row)) for row in counted.rows()]
        told["executors"] = executors() if told.keys() - {"errors"} else 0
told["warnings"] = [str(one.message) for one in words if one.category is UserWarning]
print("TOLD " + json.dumps(told))
"""
THREE = 3
LACKS = (
    "no package pyarrow on host2; no package numpy on host2; no package google.protobuf on host2"
)
MEANS = "so the driver finishes files on object stores, and buckets of some types cannot be written"
MISSED = r"Spark's workers wrote 1000 rows, and files with (\d+) of them are there"
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


def run(
    folder: Path,
    machines: Sequence[Machine],
    steps: str,
    *,
    joins: Machine | None = None,
    check: bool = True,
) -> dict[str, Any]:
    """What the program tells that inserts into tables; at a step ``+`` one more machine joins, and
    at a number it waits for so many.
    """
    arguments = ("python-of-worker", str(check), steps)
    with program_on_cluster(folder, machines, PROGRAM, *arguments) as (cluster, lines):
        line = next(lines, "")
        while line == "JOIN\n":
            assert joins is not None
            cluster.join(joins)
            line = next(lines, "")
    return told_in(line, folder)


@pytest.fixture
def good(tmp_path: Path) -> str:
    """The Python of the tests, which has no acidsql without PYTHONPATH."""
    return python(tmp_path / "good", "python-of-worker", f'exec {sys.executable} "$@"')


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """One without packages."""
    return python(tmp_path / "bare", "python-of-worker", f'exec {sys.executable} -S "$@"')


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_acidsql_is_shipped_to_three_workers(tmp_path: Path, good: str) -> None:
    """They have none; buckets that Python computes are right all the same, and nobody is told."""
    told = run(tmp_path, [machine(good, named=f"host{n}") for n in range(THREE)], "b")
    assert told == {"b": ROWS, "errors": {}, "executors": THREE, "warnings": []}


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_a_worker_without_the_warehouse_is_told(tmp_path: Path, good: str) -> None:
    """By its name, before the first statement has written anything."""
    warehouse = tmp_path / "warehouse"
    machines = [machine(good, named="host1"), machine(good, named="host2", without=warehouse)]
    told = run(tmp_path, machines, "p")
    first, *more = told["errors"]["p"].splitlines()
    assert first == "Spark's workers lack what acidsql needs"
    assert f'"{warehouse}" is another directory than the driver\'s on host2' in more[0]
    assert not list(warehouse.rglob("delta_*"))


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_a_worker_without_packages_is_told(tmp_path: Path, good: str, bare: str) -> None:
    """A warning, once, with its name; the statement that needs them says so, others work."""
    machines = [machine(good, named="host1"), machine(bare, named="host2")]
    told = run(tmp_path, machines, "pb")
    assert told["warnings"] == [f"Spark's workers lack something: {LACKS}; {MEANS}"]
    assert told["p"] == ROWS
    first, second = told["errors"]["b"].splitlines()[:2]
    assert first == "the bucket of a column of type double takes Python on Spark's workers"
    assert second == f"detail: {LACKS}"


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_a_worker_that_joins_later_is_asked(tmp_path: Path, good: str) -> None:
    """Before the next statement does anything."""
    warehouse = tmp_path / "warehouse"
    late = machine(good, named="host2", without=warehouse)
    told = run(tmp_path, [machine(good, named="host1")], "b+p", joins=late)
    assert told["b"] == ROWS
    first, second = told["errors"]["p"].splitlines()[:2]
    assert first == "Spark's workers lack what acidsql needs"
    assert second == f'detail: "{warehouse}" is another directory than the driver\'s on host2'
    assert not list((warehouse / "p").rglob("delta_*"))


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.spark
def test_files_that_nobody_sees_are_missed(tmp_path: Path, good: str) -> None:
    """Where nobody has asked the workers, a statement does not commit fewer rows than its job has
    written.
    """
    without = machine(good, named="host2", without=tmp_path / "warehouse")
    steps = "2ptm"
    told = run(tmp_path, [machine(good, named="host1"), without], steps, check=False)
    assert told["errors"].keys() == {"p", "t", "m"}
    for error in told["errors"].values():
        first = re.fullmatch(MISSED, error.splitlines()[0])
        assert first is not None, error
        assert 0 < int(first[1]) < len(range(1000))
    for table in ("p", "t"):
        assert not list((tmp_path / "warehouse" / table).rglob("delta_*"))


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
