"""What follows when Spark's Java process dies, and when pyspark is too old."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import ExecutionError
from acidsql.spark import jvm
from acidsql.spark.start.java import ensure_java, java_environment
from acidsql.spark.start.session import check_version
from acidsql.spark_release import NEWEST, OLDEST, release_text

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import os, signal, sys, time

import acidsql
from pyspark import SparkContext
from pyspark.sql import SparkSession

def kill():
    java = SparkContext._gateway.proc
    os.kill(java.pid, signal.SIGKILL)
    os.waitid(os.P_PID, java.pid, os.WEXITED | os.WNOWAIT)

def said(session, text):
    try:
        return session.sql(text).fetchall()
    except acidsql.Error as error:
        return f"{type(error).__name__}: {error}"

conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.driver.memory": "1g"}
first, second = (acidsql.Session(sys.argv[1], master="local[1]", conf=conf) for _ in range(2))
first.sql("CREATE TABLE t (a INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
first.sql("INSERT INTO t VALUES (1), (2)")
for session in (first, second):
    session.sql("SET acidsql.engine=spark")
    print(said(session, "SELECT sum(a) FROM t"))
kill()
for session in (first, second, first):
    print(said(session, "SELECT sum(a) FROM t"))
given = acidsql.Session(sys.argv[1], spark=SparkSession.builder.getOrCreate())
given.sql("SET acidsql.engine=spark")
print(said(given, "SELECT sum(a) FROM t"))
kill()
for text in ("SELECT sum(a) FROM t", "SELECT sum(a) FROM t", "SHOW TABLES"):
    print(said(given, text))
for session in (first, second, given):
    session.close()
print("closed")
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.processes
def test_a_session_starts_spark_again_when_java_is_gone(tmp_path: Path) -> None:
    """A session with a Spark of its own goes on with the next statement, as do others beside it; one
    that was given a Spark tells each time that it is gone, and does what needs none; all close.
    """
    with java_environment():
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path / "warehouse")],
            capture_output=True, text=True, timeout=280, check=False, cwd=ROOT,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    gone = "ExecutionError: the Java process of Spark is gone"
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("detail:", "hint:"))]
    assert lines == ["[(3,)]"] * 6 + [gone, gone, "[('t',)]", "closed"]


def test_connections_of_others_are_not_javas() -> None:
    """A connection that was refused is the Java process's only if its protocol has met that."""
    with pytest.raises(ConnectionError) as caught:
        raise ConnectionRefusedError(111, "Connection refused")
    assert not jvm.is_of_java(caught.value)


def lose_java() -> None:
    """Starts a Java process, loses it and starts another one."""
    from pyspark import SparkContext

    ensure_java()
    assert not jvm.started_java()
    assert not jvm.java_has_ended()
    jvm.launch({}, quiet=True)
    gateway: Any = SparkContext._gateway
    assert jvm.started_java()
    assert not jvm.java_has_ended()
    os.kill(gateway.proc.pid, signal.SIGKILL)
    jvm.await_end()
    assert jvm.java_has_ended()
    with pytest.raises(ConnectionError) as caught:
        gateway.jvm.java.lang.System.nanoTime()
    assert jvm.is_of_java(caught.value)
    jvm.forget_java()
    assert not jvm.started_java()
    assert not jvm.java_has_ended()
    assert jvm.running_session() is None
    jvm.launch({}, quiet=True)
    another: Any = SparkContext._gateway
    assert another is not gateway
    assert jvm.started_java()
    assert not jvm.java_has_ended()
    another.shutdown()


@pytest.mark.processes
def test_a_java_process_that_is_gone_is_known_and_forgotten() -> None:
    """Its end is seen, an error of its connection is told from others, and the next start is that of
    a new one."""
    process = multiprocessing.get_context("spawn").Process(target=lose_java)
    process.start()
    process.join(280)
    assert process.exitcode == 0


@pytest.mark.parametrize("installed", ["3.4.4", "3.0.0", "2.4"])
def test_a_pyspark_that_is_too_old_is_named(installed: str) -> None:
    """The error says which version is there, and which are taken."""
    with pytest.raises(
        ExecutionError, match=f"pyspark {re.escape(installed)} is too old"
    ) as caught:
        check_version(installed)
    assert "Spark 3.5 to 4.3" in caught.value.message


@pytest.mark.parametrize("installed", ["3.5.0", "4.0.0", "4.3.0", "4.3.1.dev0"])
def test_a_pyspark_of_the_range_is_taken(installed: str) -> None:
    """Nothing is said of it."""
    check_version(installed)


@pytest.mark.parametrize("installed", ["4.4.0", "4.10.0", "5.0.0"])
def test_newer_ones_are_tried(installed: str) -> None:
    """No release behind the newest is refused, but the user is told."""
    with pytest.warns(
        UserWarning, match=r"newer than what acidsql was tried with: Spark 3\.5 to 4\.3"
    ):
        check_version(installed)


def test_the_releases_are_those_of_the_package() -> None:
    """What is checked is what pip is told."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [needed] = [line for line in project["dependencies"] if re.match(r"pyspark\b", line)]
    major, minor = NEWEST
    assert needed == f"pyspark>={release_text(OLDEST)},<{release_text((major, minor + 1))}"
