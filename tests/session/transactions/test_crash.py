"""A statement whose process is killed leaves nothing that anybody sees, and the next statement
works.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acidsql.catalog.model import TableName
from acidsql.session import Session
from tests.session.transactions.crashes import garbage, killed

CHILD = """
import os, signal, sys
from acidsql import crash_points
from acidsql.session import Session

warehouse, point, times, path, *statements = sys.argv[1:]
left = int(times)
def kill(reached):
    global left
    left -= reached == point
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
crash_points.hook = kill
conf = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
session = Session(warehouse, master="local[1]", conf=conf, settings={"acidsql.write.path": path})
for statement in statements:
    session.sql(statement)
"""

TABLE = "CREATE TABLE t (id INT, name STRING) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional'='true')"
MERGE = (
    "MERGE INTO t USING (SELECT id + 1 AS id FROM t WHERE id > 1) s ON t.id = s.id"
    " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'm')"
)
BEFORE_COMMIT = ("begun", "directory made", "file published", "written")


def run_and_kill(warehouse: Path, point: str, *statements: str, path: str, times: int = 1) -> None:
    """Runs statements by a Spark of their own, in a process that must die when it comes to ``point``
    for so many ``times``.
    """
    command = [sys.executable, "-c", CHILD, str(warehouse), point, str(times), path, *statements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


def ids(session: Session) -> list[int]:
    return sorted(row[0] for row in session.sql("SELECT id FROM t").rows())


@pytest.mark.spark
@pytest.mark.parametrize("point", BEFORE_COMMIT)
def test_killed_before_the_commit(warehouse: Path, session: Session, point: str) -> None:
    """Killed at any point before the commit: no row of the statement is ever seen, and its names
    are never used again.
    """
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    assert killed(warehouse, point, "INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    assert ids(session) == [1, 2]
    done = session.sql("INSERT INTO t VALUES (5, 'e')")
    assert done.stats.write_ids == {"default.t": 3}
    assert ids(session) == [1, 2, 5]
    assert [t.state for t in session.store.list_txns()] == ["a"]
    assert garbage(session) == []


@pytest.mark.spark
def test_killed_after_the_commit(warehouse: Path, session: Session) -> None:
    """Killed right after the commit: all rows are there."""
    session.sql(TABLE)
    assert killed(warehouse, "committed", "INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    assert ids(session) == [3, 4]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("statement", "path"),
    [  # the other three, and more points: test_killed_at_every_step_of_spark
        ("UPDATE t SET name = 'x' WHERE id > 1", "big"),
        pytest.param("DELETE FROM t WHERE id > 1", "small", marks=pytest.mark.slow),
        pytest.param(MERGE, "small", marks=pytest.mark.slow),
    ],
    ids=["UPDATE", "DELETE", "MERGE"],
)
def test_killed_while_changing_rows(
    warehouse: Path, session: Session, statement: str, path: str
) -> None:
    """An UPDATE or DELETE killed when some of its files have their final names changed nothing, and
    can be run again.
    """
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    run_and_kill(warehouse, "file published", statement, path=path)
    before = sorted(session.sql("SELECT id, name FROM t").rows())
    assert before == [(1, "a"), (2, "b"), (3, "c")]
    stats = session.sql(statement).stats
    assert stats.rows_changed == 2
    assert len(ids(session)) == {"UPDATE": 3, "DELETE": 1, "MERGE ": 3}[statement[:6]]
    assert garbage(session) == []


PLAIN = "CREATE TABLE t (id INT, name STRING) STORED AS ORC"
CTAS = TABLE.replace("(id INT, name STRING) ", "").replace("CLUSTERED BY (id) INTO 2 BUCKETS ", "")
NEW = f"{CTAS} AS SELECT 3 AS id"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("statements", "point", "rows"),
    [
        ((PLAIN, "INSERT INTO t VALUES (3, 'c'), (4, 'd')"), "committed", [3, 4]),
        ((NEW,), "file published", None),
        pytest.param((NEW,), "committed", [3], marks=pytest.mark.slow),
        pytest.param((NEW,), "files of new table in place", None, marks=pytest.mark.slow),
    ],
)
def test_killed_without_a_transaction(
    warehouse: Path,
    session: Session,
    statements: tuple[str, ...],
    point: str,
    rows: list[int] | None,
) -> None:
    """A table without transactions, or one that is made of a query, goes through the same commit:
    behind it all rows are there, and before it nobody knows the new table.
    """
    assert killed(warehouse, point, *statements)
    session.sql("CREATE TABLE other (id INT) STORED AS ORC")
    assert garbage(session) == []
    if rows is None:
        assert session.store.find_table(TableName("default", "t")) is None
    else:
        assert ids(session) == rows


INSERTS = (
    "START TRANSACTION",
    "INSERT INTO t VALUES (3, 'c'), (4, 'd')",
    "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO t VALUES (5, 'e')",
    "INSERT OVERWRITE TABLE p PARTITION (name = 'c') VALUES (7)",
    "COMMIT",
)
CHANGES = (
    "START TRANSACTION",
    "INSERT INTO t VALUES (3, 'c'), (4, 'd')",
    "UPDATE t SET name = 'new' WHERE id IN (1, 3)",
    "INSERT INTO p SELECT id, name FROM t",
    "DELETE FROM t WHERE id = 4",
    "DELETE FROM p WHERE id < 3",
    "COMMIT",
)
Rows = list[tuple[object, ...]]
BEFORE: tuple[Rows, Rows] = ([(1, "a"), (2, "b")], [(9, "c")])
BEHIND: dict[tuple[str, ...], tuple[Rows, Rows]] = {
    INSERTS: ([(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")], [(1, "a"), (2, "b"), (7, "c")]),
    CHANGES: ([(1, "new"), (2, "b"), (3, "new")], [(3, "new"), (4, "d"), (9, "c")]),
}


def both(session: Session) -> tuple[Rows, Rows]:
    t, p = (sorted(session.sql(f"SELECT id, name FROM {table}").rows()) for table in "tp")
    return t, p


@pytest.mark.spark
@pytest.mark.parametrize(
    ("point", "times", "statements", "path"),
    [
        ("the end", 1, INSERTS[:-1], "auto"),
        ("directory made", 1, INSERTS, "auto"),
        pytest.param("directory made", 4, INSERTS, "auto", marks=pytest.mark.slow),
        ("file published", 1, INSERTS, "auto"),
        pytest.param("file published", 5, INSERTS, "auto", marks=pytest.mark.slow),
        ("written", 1, INSERTS, "auto"),
        ("committed", 1, INSERTS, "auto"),
        pytest.param("file published", 4, CHANGES, "big", marks=pytest.mark.slow),
        pytest.param("written", 1, CHANGES, "small", marks=pytest.mark.slow),
    ],
)
def test_killed_in_a_transaction(
    warehouse: Path,
    session: Session,
    point: str,
    times: int,
    statements: tuple[str, ...],
    path: str,
) -> None:
    """Of a transaction over two tables that is killed before its COMMIT, or anywhere in it, all is
    seen or nothing; it can be run again.

    Times: the first directory or file of the first table, and one of the second.
    """
    session.sql(TABLE)
    session.sql(
        TABLE.replace("TABLE t", "TABLE p").replace(
            ", name STRING)", ") PARTITIONED BY (name STRING)"
        )
    )
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql("INSERT INTO p VALUES (9, 'c')")
    if path == "auto":
        assert killed(warehouse, point, *statements, times=times)
    else:
        run_and_kill(warehouse, point, *statements, path=path, times=times)
    again = CHANGES if statements is CHANGES else INSERTS
    if point == "committed":
        assert both(session) == BEHIND[again]
        return
    assert both(session) == BEFORE
    for statement in again:
        session.sql(statement)
    assert both(session) == BEHIND[again]
    assert garbage(session) == []


STEPS = ("staged", "announced", "published", "commit prepared")


SEVERAL = (
    "START TRANSACTION",
    "UPDATE t SET name = 'x' WHERE id > 1",
    "INSERT INTO t VALUES (9, 'n')",
    "DELETE FROM t WHERE id = 9 OR id = 1",
    "COMMIT",
)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "statements"),
    [
        ("small", ("UPDATE t SET name = 'x' WHERE id > 1",)),
        ("big", ("DELETE FROM t WHERE id > 1",)),
        ("big", (MERGE,)),
        ("big", ("INSERT INTO t SELECT id + 10, name FROM t",)),
        ("small", ("INSERT OVERWRITE TABLE t SELECT id + 10, name FROM t",)),
        ("big", SEVERAL),
    ],
    ids=["UPDATE", "DELETE", "MERGE", "INSERT", "OVERWRITE", "several"],
)
def test_killed_at_every_step_of_spark(
    warehouse: Path, session: Session, statements: tuple[str, ...], path: str
) -> None:
    """The rows are as before, no lock is held, and the next statement leaves nothing of it."""
    session.sql(TABLE)
    session.sql("CREATE TABLE other (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql("SET hive.lock.numretries=0")
    for point in STEPS:
        run_and_kill(warehouse, point, *statements, path=path)
        rows = sorted(session.sql("SELECT id, name FROM t").rows())
        assert rows == [(1, "a"), (2, "b"), (3, "c")], point
        session.sql("INSERT INTO other VALUES (1)")
        assert garbage(session) == [], point
