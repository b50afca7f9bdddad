"""Statements are transactions: what they see, who wins, what is left after a failure."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acidsql import crash_points
from acidsql.errors import Error, ExecutionError, TableNotFoundError, WriteConflictError
from acidsql.session import Session

pytestmark = pytest.mark.spark
TABLE = "CREATE TABLE t (id INT, n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def names_below(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if "_acidsql" not in p.parts}


@contextmanager
def meanwhile(action: Callable[[], object]) -> Iterator[None]:
    """Runs ``action`` once, when the next statement has written its files and is about
    to commit.
    """

    def hook(point: str) -> None:
        if point == "written":
            crash_points.hook = None
            action()

    crash_points.hook = hook
    try:
        yield
    finally:
        crash_points.hook = None


def test_a_result_keeps_its_snapshot(session: Session) -> None:
    """A SELECT's DataFrame shows the rows of the moment it was asked for, however late
    it is read.
    """
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    early = session.sql("SELECT * FROM t")
    session.sql("DELETE FROM t WHERE id = 1")
    session.sql("INSERT INTO t VALUES (3, 3)")
    assert sorted(early.rows()) == [(1, 1), (2, 2)]
    assert sorted(session.sql("SELECT * FROM t").rows()) == [(2, 2), (3, 3)]


def test_a_failed_statement_leaves_no_files(session: Session, warehouse: Path) -> None:
    """When Spark fails while rows are computed, nothing is left in the table's directory, hidden
    names included.
    """
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 1), (0, 2)")
    before = names_below(warehouse / "t")
    session.sql("SET acidsql.ansi=true")
    for path in ("small", "big"):
        session.sql(f"SET acidsql.write.path={path}")
        with pytest.raises(Error):
            session.sql("UPDATE t SET n = 1 / id")
        with pytest.raises(Error):
            session.sql("INSERT INTO t SELECT id, raise_error('no') FROM t")
        assert names_below(warehouse / "t") == before
    assert sorted(session.sql("SELECT * FROM t").rows()) == [(0, 2), (1, 1)]


def test_the_first_to_commit_wins(session: Session, warehouse: Path) -> None:
    """Of two overlapping updates of one table the second to commit fails, changes nothing, and may
    be run again.
    """
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    with Session(warehouse, spark=session.spark) as other:
        overtake = meanwhile(lambda: other.sql("UPDATE t SET n = n + 10 WHERE id = 1"))
        with overtake, pytest.raises(WriteConflictError) as caught:
            session.sql("UPDATE t SET n = n + 100 WHERE id = 1")
        assert caught.value.retryable
        assert sorted(session.sql("SELECT * FROM t").rows()) == [(1, 11), (2, 2)]
        session.sql("UPDATE t SET n = n + 100 WHERE id = 1")
        assert sorted(other.sql("SELECT * FROM t").rows()) == [(1, 111), (2, 2)]


def test_inserts_never_conflict(session: Session, warehouse: Path) -> None:
    """Threads that insert into one table, each with a session of its own, lose and
    double nothing.
    """
    session.sql(TABLE)
    failures: list[BaseException] = []

    def insert(number: int) -> None:
        try:
            with Session(warehouse, spark=session.spark) as mine:
                for i in range(5):
                    mine.sql(f"INSERT INTO t VALUES ({number}, {i})")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=insert, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(session.sql("SELECT * FROM t").rows()) == [
        (n, i) for n in range(4) for i in range(5)
    ]


@pytest.mark.processes
def test_processes_insert_at_once(session: Session, warehouse: Path) -> None:
    """Real processes that insert at the same time all commit, each under its own write ids."""
    session.sql(TABLE)
    code = "import sys; from acidsql.session import Session\nwith Session(sys.argv[1]) as s:\n  for i in range(10): s.sql(f'INSERT INTO t VALUES ({sys.argv[2]}, {i})')"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(warehouse), str(n)]) for n in range(3)
    ]
    assert [p.wait(timeout=120) for p in running] == [0, 0, 0]
    assert sorted(session.sql("SELECT * FROM t").rows()) == [
        (n, i) for n in range(3) for i in range(10)
    ]
    assert session.sql("SELECT count(DISTINCT ROW__ID) FROM t").rows().__next__() == (30,)


def test_a_dropped_table_is_gone_for_writers(session: Session, warehouse: Path) -> None:
    """A statement whose table is dropped, without locks, while it runs fails and leaves no rows in a
    table made anew.
    """
    session.sql(TABLE)
    with Session(
        warehouse, spark=session.spark, settings={"hive.support.concurrency": "false"}
    ) as other:
        with meanwhile(lambda: other.sql("DROP TABLE t")), pytest.raises(Error):
            session.sql("INSERT INTO t VALUES (1, 1)")
        with pytest.raises(TableNotFoundError):
            session.sql("SELECT * FROM t")
        other.sql(TABLE)
        assert list(other.sql("SELECT * FROM t").rows()) == []


def test_files_that_are_not_ours_are_not_taken_over(session: Session, warehouse: Path) -> None:
    """CREATE TABLE refuses a directory with files in it: they would become rows."""
    (warehouse / "t").mkdir(parents=True)
    (warehouse / "t" / "000000_0").write_bytes(b"x")
    with pytest.raises(Error, match="not empty"):
        session.sql(TABLE)


def test_a_lost_file_is_an_error(session: Session, warehouse: Path) -> None:
    """A data file that vanished is reported by name, not read as no rows."""
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1, 1)")
    result = session.sql("SELECT * FROM t")
    next((warehouse / "t").rglob("bucket_00000")).unlink()
    with pytest.raises(ExecutionError, match="bucket_00000"):
        result.to_arrow()
