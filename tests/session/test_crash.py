"""A statement whose process is killed leaves nothing that anybody sees, and the next statement works."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acidsql.session import Session

CHILD = """
import os, signal, sys
from acidsql import crash_points
from acidsql.session import Session

warehouse, point, path, statement = sys.argv[1:]
def kill(reached):
    if reached == point:
        os.kill(os.getpid(), signal.SIGKILL)
crash_points.hook = kill
session = Session(warehouse, master="local[1]", conf={"spark.driver.memory": "1g"}, settings={"acidsql.write.path": path})
session.sql(statement)
"""

TABLE = "CREATE TABLE t (id INT, name STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true')"
BEFORE_COMMIT = ("begun", "directory made", "file published", "written")


def run_and_kill(warehouse: Path, point: str, statement: str, path: str = "auto") -> None:
    """Runs a statement in a process of its own, which must die at ``point``."""
    command = [sys.executable, "-c", CHILD, str(warehouse), point, path, statement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


def ids(session: Session) -> list[int]:
    return sorted(row[0] for row in session.sql("SELECT id FROM t").rows())


@pytest.mark.spark
@pytest.mark.parametrize("point", BEFORE_COMMIT)
def test_killed_before_the_commit(warehouse: Path, session: Session, point: str) -> None:
    """Killed at any point before the commit: no row of the statement is ever seen, and its names are never used again."""
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    run_and_kill(warehouse, point, "INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    assert ids(session) == [1, 2]
    done = session.sql("INSERT INTO t VALUES (5, 'e')")
    assert done.stats.write_ids == {"default.t": 3}
    assert ids(session) == [1, 2, 5]
    assert [t.state for t in session.store.list_txns()] == ["a"]


@pytest.mark.spark
def test_killed_after_the_commit(warehouse: Path, session: Session) -> None:
    """Killed right after the commit: all rows are there."""
    session.sql(TABLE)
    run_and_kill(warehouse, "committed", "INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    assert ids(session) == [3, 4]


@pytest.mark.spark
@pytest.mark.parametrize("path", ["small", "big"])
@pytest.mark.parametrize("statement", ["UPDATE t SET name = 'x' WHERE id > 1", "DELETE FROM t WHERE id > 1"])
def test_killed_while_changing_rows(warehouse: Path, session: Session, statement: str, path: str) -> None:
    """An UPDATE or DELETE killed when some of its files have their final names changed nothing, and can be run again."""
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    run_and_kill(warehouse, "file published", statement, path)
    before = sorted(session.sql("SELECT id, name FROM t").rows())
    assert before == [(1, "a"), (2, "b"), (3, "c")]
    stats = session.sql(statement).stats
    assert stats.rows_changed == 2
    assert len(ids(session)) == (3 if statement.startswith("UPDATE") else 1)
