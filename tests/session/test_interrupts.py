"""Ctrl-C during a statement: KeyboardInterrupt, nothing goes on behind it, and a note tells what
was too late to be stopped.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql import interrupts
from acidsql.errors import CommitStateUnknownError, Error, ExecutionError
from acidsql.files.parallel import in_parallel
from acidsql.interrupts import CARRIED_OUT
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.run.translation import translated
from acidsql.session import Session

TABLE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT = "INSERT INTO t VALUES (1), (2)"
BEFORE_COMMIT = ("begun", "directory made", "file published", "written")


@pytest.fixture(autouse=True)
def heeded_interrupts() -> Iterator[None]:
    """Python's own way with Ctrl-C, also where the tests run as a background job, which
    ignores it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def opened(warehouse: Path) -> Iterator[Session]:
    """A session with a table ``t``, which starts no Spark."""
    with Session(warehouse) as session:
        session.sql(TABLE)
        yield session


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Ctrl-C is pressed when a statement comes to the point, for the first time."""

    def at(point: str) -> None:
        points = [point]

        def reached(name: str) -> None:
            if name in points:
                points.remove(name)
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr("acidsql.crash_points.hook", reached)

    return at


def notes(caught: pytest.ExceptionInfo[KeyboardInterrupt]) -> list[str]:
    return list(getattr(caught.value, "__notes__", ()))


def count(session: Session) -> int:
    return int(next(session.sql("SELECT count(*) FROM t").rows())[0])


def files(session: Session) -> list[str]:
    return sorted(path.name for path in Path(session.warehouse, "t").rglob("*"))


def test_while_spark_starts(opened: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement ends at once, and the start goes on behind it."""
    released, ended = threading.Event(), threading.Event()

    def opening(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        released.wait(20)
        ended.set()
        raise ExecutionError("the start went on to its end")

    monkeypatch.setattr("acidsql.run.resources.RunningSpark._open", opening)
    monkeypatch.setattr("acidsql.spark.jvm.running_session_if_any", lambda: None)
    with pytest.raises(KeyboardInterrupt) as caught:
        opened.sql("SELECT count(*) FROM t LATERAL VIEW explode(array(1)) e AS n").fetchall()
    assert (notes(caught), ended.is_set()) == ([], False)
    released.set()
    assert ended.wait(60)


# ---- statements without Spark


@pytest.mark.parametrize("point", BEFORE_COMMIT)
def test_before_the_commit(opened: Session, press: Callable[[str], None], point: str) -> None:
    """Nothing of the statement is visible, no file is left, and no note says otherwise."""
    press(point)
    with pytest.raises(KeyboardInterrupt) as caught:
        opened.sql(INSERT)
    assert (notes(caught), count(opened), files(opened)) == ([], 0, [])
    assert [txn.state for txn in opened.store.list_txns()] == ["a"]
    opened.sql(INSERT)
    assert count(opened) == 2


def test_behind_the_commit(opened: Session, press: Callable[[str], None]) -> None:
    """The rows are there, and the interrupt says so."""
    press("committed")
    with pytest.raises(KeyboardInterrupt) as caught:
        opened.sql(INSERT)
    assert (notes(caught), count(opened)) == ([CARRIED_OUT], 2)
    assert not any(name.startswith((".", "_")) and "acid" not in name for name in files(opened))


@pytest.mark.parametrize("point", [*BEFORE_COMMIT[1:], "committed"])
def test_in_the_commit_of_a_transaction(
    opened: Session, press: Callable[[str], None], point: str
) -> None:
    """It is rolled back or committed, and the interrupt says which; the session is free
    either way.
    """
    opened.begin()
    opened.sql(INSERT)
    press(point)
    with pytest.raises(KeyboardInterrupt) as caught:
        opened.commit()
    assert not opened.in_transaction
    committed = point == "committed"
    assert notes(caught) == ([CARRIED_OUT] if committed else [])
    assert count(opened) == (2 if committed else 0)


def test_a_statement_in_a_transaction(opened: Session, press: Callable[[str], None]) -> None:
    """Only the statement is taken back."""
    opened.begin()
    opened.sql(INSERT)

    def interrupted() -> None:
        with opened.turn.taken():
            signal.raise_signal(signal.SIGINT)
            opened.sql(INSERT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    opened.commit()
    assert count(opened) == 2


def test_a_commit_of_unknown_outcome(opened: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user must look at is not lost in the interrupt."""

    def fail(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        raise CommitStateUnknownError("nobody knows")

    monkeypatch.setattr(EmbeddedMetastore, "commit", fail)
    with pytest.raises(KeyboardInterrupt) as caught:
        opened.sql(INSERT)
    assert notes(caught) == ["nobody knows"]


def test_a_commit_interrupted_twice(opened: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second Ctrl-C breaks in; the note says what the store says."""
    commit = EmbeddedMetastore.commit

    def interrupted(self: EmbeddedMetastore, *args: Any) -> None:
        commit(self, *args)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedMetastore, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            opened.sql(INSERT)
    assert any("is already committed" in note for note in notes(caught))
    assert count(opened) == 2


def test_ddl_is_carried_out(opened: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition is not left half done: the interrupt comes behind it."""
    drop = EmbeddedMetastore.drop_table

    def interrupted(self: EmbeddedMetastore, *args: Any, **more: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return drop(self, *args, **more)

    monkeypatch.setattr(EmbeddedMetastore, "drop_table", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        opened.sql("DROP TABLE t")
    assert notes(caught) == [CARRIED_OUT]
    assert list(opened.sql("SHOW TABLES").rows()) == []
    assert not Path(opened.warehouse, "t").exists()


def test_between_files() -> None:
    """No further file is begun after a Ctrl-C; those under way are finished first."""
    begun: list[int] = []
    never = threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        never.wait(0.001)  # as long as a file: all of them would take twelve seconds

    def run() -> None:
        with interrupts.heeded(lambda: None):
            signal.raise_signal(signal.SIGINT)
            in_parallel(work, range(100_000))

    with pytest.raises(KeyboardInterrupt):
        run()
    assert 0 < len(begun) < 100_000


# ---- who handles Ctrl-C


def test_a_second_one_does_not_wait() -> None:
    """Where the statement does not come to a point at which it can stop."""

    def stubborn() -> None:
        with interrupts.heeded(lambda: None):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the second one was kept, too")

    with pytest.raises(KeyboardInterrupt):
        stubborn()


def test_it_cancels_until_the_end() -> None:
    """In another thread, again and again, whatever that raises; then no more."""
    calls = threading.Semaphore(0)

    def cancel() -> None:
        calls.release()
        raise ValueError

    def run() -> None:
        with interrupts.heeded(cancel):
            signal.raise_signal(signal.SIGINT)
            for _ in range(3):
                assert calls.acquire(timeout=60)

    with pytest.raises(KeyboardInterrupt):
        run()
    for thread in threading.enumerate():
        if thread.name == "acidsql cancel":
            thread.join(60)
            assert not thread.is_alive()


def test_an_error_over_an_interrupt_is_an_interrupt() -> None:
    """A clean-up that fails, or a job that was cancelled: the user is told of the
    interrupt alone.
    """

    def cancelled() -> None:
        with interrupts.heeded(lambda: None), translated():
            signal.raise_signal(signal.SIGINT)
            raise ExecutionError("the job was cancelled")

    def cleaned_up() -> None:
        with translated():
            try:
                raise KeyboardInterrupt
            finally:
                raise ValueError

    for run in (cancelled, cleaned_up):
        with pytest.raises(KeyboardInterrupt) as caught:
            run()
        assert caught.value.__suppress_context__


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_handler_of_the_users_own(opened: Session, handler: Any) -> None:
    """It stays, and what it makes of Ctrl-C holds: here, nothing."""
    signal.signal(signal.SIGINT, handler)
    with opened.turn.taken():
        assert signal.getsignal(signal.SIGINT) is handler
        signal.raise_signal(signal.SIGINT)
        opened.sql(INSERT)
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is handler
    assert count(opened) == 2


def test_statements_of_other_threads(opened: Session) -> None:
    """Signals are the main thread's: a statement elsewhere neither gets them nor takes them."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with opened.turn.taken():
                signal.raise_signal(signal.SIGINT)  # handled by the main thread
                opened.sql(INSERT)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)

    def wait() -> None:
        thread.start()
        while True:
            thread.join(1)

    with pytest.raises(KeyboardInterrupt):
        wait()
    thread.join()
    assert errors == []
    assert count(opened) == 2


# ---- Spark's jobs, in a process of its own

CHILD = """
import json, os, signal, sys, threading, time
import pyspark
from pyspark.sql import SparkSession
from acidsql import Session, Error, interrupts
from acidsql.spark.jvm import jobs
from acidsql.spark.start.java import java_environment

signal.signal(signal.SIGINT, signal.default_int_handler)
with java_environment():
    spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g").config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
        .config("spark.sql.shuffle.partitions", "2").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
handler = signal.getsignal(signal.SIGINT)
wait = "java_method('java.lang.Thread', 'sleep', 20L)"
spark.range(0, 20000, 1, 2).selectExpr("CAST(id AS INT) AS id", f"{wait} AS w").createOrReplaceTempView("slow")
session = Session(sys.argv[1], spark=spark)
session.sql("CREATE TABLE t (id INT, w STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
slow = "SELECT id, w FROM slow"

def running():
    return jobs._any_task_runs(spark)

def when_running(act):
    def wait_and_act():
        while session.running_tasks() is None or not running():
            time.sleep(0.01)
        act()
    threading.Thread(target=wait_and_act, daemon=True).start()

def attempt(name, statement, act=lambda: os.kill(os.getpid(), signal.SIGINT), path="auto"):
    session.settings.set("acidsql.write.path", path)
    when_running(act)
    try:
        try:
            session.sql(statement).to_arrow()
            outcome = "done"
        except Error as error:
            outcome = type(error).__name__
    except KeyboardInterrupt as error:
        outcome = "KeyboardInterrupt" + "".join(getattr(error, "__notes__", ()))
    still = running()
    left = [entry for _, names, files in os.walk(os.path.join(sys.argv[1], "t")) for entry in names + files if "stag" in entry]
    same = signal.getsignal(signal.SIGINT) is handler
    rows = session.sql("SELECT count(*) AS n, min(id) AS low FROM t WHERE id > 0").to_arrow().to_pylist()
    print(json.dumps([name, outcome, still, left, same, rows, sorted(spark.sparkContext.getJobTags())]), flush=True)

attempt("select", slow)
attempt("small insert", "INSERT INTO t " + slow, path="small")
attempt("big insert", "INSERT INTO t " + slow, path="big")
attempt("update", "UPDATE t SET w = (SELECT max(w) FROM slow)")
attempt("merge", "MERGE INTO t USING (SELECT id, w FROM slow) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET w = s.w", path="big")
attempt("create", "CREATE TABLE u STORED AS ORC AS " + slow)
attempt("cancel", "INSERT INTO t " + slow, act=session.cancel, path="big")
session.begin()
session.sql("INSERT INTO t VALUES (3, 'c')")
attempt("in a transaction", "INSERT INTO t " + slow, path="big")
session.commit()
print(json.dumps(["tables", [row[0] for row in session.sql("SHOW TABLES").rows()]]), flush=True)
session.close()
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
def test_spark_jobs_end_before_the_interrupt_is_raised(warehouse: Path) -> None:
    """On every path: a real Ctrl-C while tasks run ends them all, nothing is staged any more,
    stderr has no tracebacks.
    """
    command = [sys.executable, "-c", CHILD, str(warehouse)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    *attempts, tables = map(json.loads, done.stdout.splitlines())
    two = [{"n": 2, "low": 1}]
    three = [{"n": 3, "low": 1}]
    names = ("select", "small insert", "big insert", "update", "merge", "create")
    assert attempts == [
        *([name, "KeyboardInterrupt", False, [], True, two, []] for name in names),
        ["cancel", "ExecutionError", False, [], True, two, []],
        ["in a transaction", "KeyboardInterrupt", False, [], True, three, []],
    ]
    assert tables == ["tables", ["t"]]
    assert "Traceback" not in done.stderr
    assert "py4j" not in done.stderr


def test_errors_of_ours_do_not_catch_interrupts() -> None:
    """A loop with ``except Error`` is left by Ctrl-C."""
    assert not issubclass(KeyboardInterrupt, Error)
