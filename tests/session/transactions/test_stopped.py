"""A process that is stopped (SIGSTOP) inside a transaction of the metastore, and goes on later."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import MetastoreBusyError
from acidsql.session import Session

ROOT = Path(__file__).resolve().parents[3]
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
BRIEF = {"acidsql.store.patience": "1s"}

CHILD = """
import json, os, signal, sys
from acidsql import crash_points
from acidsql.errors import Error
from acidsql.session import Session

warehouse, metastore, point, statement, settings = json.loads(sys.argv[1])
points = [point]

def stop(reached):
    if points == [reached]:
        points.clear()
        os.kill(os.getpid(), signal.SIGSTOP)

with Session(warehouse, metastore=metastore, settings=settings) as session:
    crash_points.hook = stop
    told = {"warnings": []}
    try:
        told["warnings"] = [w.message for w in session.sql(statement).warnings]
    except Error as error:
        told |= {"error": type(error).__name__, "again": error.retryable, "text": str(error)}
    print(json.dumps(told))
"""


class Stopped:
    """A process that has stopped at ``point`` of ``statement``."""

    def __init__(self, warehouse: Path, metastore: str, point: str, statement: str, **more: str):
        given = json.dumps([str(warehouse), metastore, point, statement, {**BRIEF, **more}])
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD, given],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status

    def goes_on(self) -> dict[str, Any]:
        """What came of the statement."""
        self._process.send_signal(signal.SIGCONT)
        out, _ = self._process.communicate(timeout=60)
        told: dict[str, Any] = json.loads(out)
        return told

    def __enter__(self) -> Stopped:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture
def session(warehouse: Path, postgresql: str) -> Iterator[Session]:
    """A session in PostgreSQL, and ``t`` with one row."""
    with Session(warehouse, metastore=postgresql) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        session.sql("INSERT INTO t VALUES (1)")
        yield session


def ids(session: Session, table: str = "t") -> list[int]:
    return sorted(row[0] for row in session.sql(f"SELECT id FROM {table}").rows())


def holders(session: Session) -> int:
    """Transactions that are open in the server, beside the one that looks."""
    with session.store._store.read() as connection:  # type: ignore[attr-defined]
        return int(
            connection.exec_driver_sql(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND state = 'idle in transaction' AND pid <> pg_backend_pid()"
            ).scalar()
        )


@pytest.mark.processes
def test_a_commit_that_stands_still_lets_others_write(
    session: Session, warehouse: Path, postgresql: str
) -> None:
    """Its right to write ends, and what it did with it; it says so, and may be run again."""
    statement = "INSERT INTO t VALUES (2)"
    with Stopped(warehouse, postgresql, "commit prepared", statement) as stopped:
        session.sql("INSERT INTO t VALUES (3)")
        assert holders(session) == 0
        told = stopped.goes_on()
    assert (told["error"], told["again"]) == ("MetastoreBusyError", True)
    assert "acidsql.store.patience" in told["text"]
    assert ids(session) == [1, 3]
    session.sql(statement)
    assert ids(session) == [1, 2, 3]


@pytest.mark.processes
def test_a_statement_that_stood_still_is_run_again(
    session: Session, warehouse: Path, postgresql: str
) -> None:
    """Once, with acidsql.retries: its rows are there once."""
    more = {"acidsql.retries": "1"}
    with Stopped(warehouse, postgresql, "commit prepared", "INSERT INTO t VALUES (2)", **more) as s:
        session.sql("UPDATE t SET id = 10 WHERE id = 1")
        told = s.goes_on()
    assert "the statement was run again 1 time" in told["warnings"][0]
    assert ids(session) == [2, 10]


@pytest.mark.processes
def test_a_table_of_which_the_renaming_stood_still_has_its_rows(
    session: Session, warehouse: Path, postgresql: str
) -> None:
    """Its directory has moved, and its new name is not committed: it moves back."""
    rename = "ALTER TABLE t RENAME TO u"
    with Stopped(warehouse, postgresql, "directory moved", rename) as stopped:
        session.sql(f"CREATE TABLE other (id INT) {ACID}")
        session.sql("INSERT INTO other VALUES (7)")
        told = stopped.goes_on()
    assert (told["error"], told["again"]) == ("MetastoreBusyError", True)
    assert ids(session) == [1]
    assert ids(session, "other") == [7]
    session.sql(rename)
    assert ids(session, "u") == [1]


@pytest.mark.processes
def test_a_move_that_stands_still_is_undone_before_its_lock_ends(
    session: Session, warehouse: Path, postgresql: str
) -> None:
    """Others move the directory back as soon as they could have the table; who comes late finds it
    done, also where they have written since.
    """
    rename = "ALTER TABLE t RENAME TO u"
    with Stopped(warehouse, postgresql, "directory moved", rename) as stopped:
        quick = {"hive.txn.timeout": "1s", "acidsql.retries": "10"}
        with Session(warehouse, metastore=postgresql, settings=quick) as other:
            other.sql("INSERT INTO t VALUES (2)")  # waits for the lock
            assert ids(other) == [1, 2]
        told = stopped.goes_on()
    assert (told["error"], told["again"]) == ("MetastoreBusyError", True)
    assert ids(session) == [1, 2]


@pytest.mark.processes
def test_who_holds_a_file_and_stands_still_is_named(warehouse: Path) -> None:
    """Nothing can take SQLite's lock away from it: others are told who it is, and may try again."""
    with Session(warehouse, settings=BRIEF) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        with Stopped(warehouse, "", "commit prepared", "INSERT INTO t VALUES (2)") as stopped:
            with pytest.raises(MetastoreBusyError, match="database is locked") as caught:
                session.sql("INSERT INTO t VALUES (3)")
            assert caught.value.retryable
            assert f"process {stopped._process.pid} (python" in str(caught.value.hint)
            assert "which is stopped" in str(caught.value.hint)
            assert stopped.goes_on() == {"warnings": []}
        session.sql("INSERT INTO t VALUES (3)")
        assert ids(session) == [2, 3]
