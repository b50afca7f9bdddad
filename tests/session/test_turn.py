"""A session is used by the process that opened it, and by one thread at a time."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql.catalog.model import TableName
from acidsql.dbapi import Connection
from acidsql.errors import Error, InterfaceError, MetastoreError, OperationalError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.processes

TABLE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PATIENCE_SECONDS = 120
FOREIGN = "the session belongs to another process"


@pytest.fixture
def mine(warehouse: Path) -> Iterator[Session]:
    """A session with a table ``t``, which starts no Spark."""
    with Session(warehouse) as session:
        session.sql(TABLE)
        yield session


def fork() -> int:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return os.fork()  # newer Pythons dislike it beside threads


def in_child(work: Callable[[], object]) -> str:
    """What ``work`` gives, or the error it raises, in a forked child."""
    receiving, sending = os.pipe()
    child = fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE_SECONDS)
        try:
            answer = repr(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        os.write(sending, answer.encode())
        os._exit(0)
    os.close(sending)
    with open(receiving) as answers:
        text = answers.read()
    assert os.waitpid(child, 0)[1] == 0
    return text


def count(session: Session) -> int:
    return int(next(session.sql("SELECT count(*) FROM t").rows())[0])


# ---- forked children

USES: dict[str, Callable[[Session], object]] = {
    "sql": lambda s: s.sql("SHOW TABLES"),
    "explain": lambda s: s.explain("SHOW TABLES"),
    "scan": lambda s: s.scan("t"),
    "attach": lambda s: s.attach("others", s.warehouse, aborted=[]),
    "attach_database": lambda s: s.attach_database("others", "/exports"),
    "adopt": lambda s: s.adopt("t"),
    "dump": lambda s: s.dump("t"),
    "open_beside": lambda s: s.open_beside(),
    "health": lambda s: s.health("t"),
    "begin": lambda s: s.begin(),
    "record_run": lambda s: s.record_run("a"),
    "find_run": lambda s: s.find_run("a"),
    "forget_run": lambda s: s.forget_run("a"),
    "transaction_is_lost": lambda s: s.transaction_is_lost,
    "when_waiting_for_spark": lambda s: s.when_waiting_for_spark(lambda reason: None),
    "commit": lambda s: s.commit(),
    "rollback": lambda s: s.rollback(),
    "transaction": lambda s: s.transaction().__enter__(),
    "retry": lambda s: s.retry(lambda session: None),
    "table": lambda s: s.table("t").delete("id = 1"),
    "create_table": lambda s: s.create_table("u", s.settings),
    "append": lambda s: s.table("t").append(s.settings),
    "register": lambda s: s.register("df", s.settings),
    "unregister": lambda s: s.unregister("df"),
    "autocommit": lambda s: s.autocommit,
    "set autocommit": lambda s: setattr(s, "autocommit", True),
    "store": lambda s: s.store,
    "engine": lambda s: s.engine,
    "files": lambda s: s.files,
    "in_transaction": lambda s: s.in_transaction,
    "has_uncommitted_changes": lambda s: s.has_uncommitted_changes,
    "spark": lambda s: s.spark,
    "spark_started": lambda s: s.spark_started,
    "start_spark": lambda s: s.start_spark(),
    "cancel": lambda s: s.cancel(),
    "running_tasks": lambda s: s.running_tasks(),
    "enter": lambda s: s.__enter__(),
    "cursor": lambda s: Connection(s).cursor(),
    "execute": lambda s: Connection(s).execute("SHOW TABLES"),
    "connection's commit": lambda s: Connection(s).commit(),
    "connection's rollback": lambda s: Connection(s).rollback(),
    "connection's autocommit": lambda s: Connection(s).autocommit,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_child_cannot_use_its_parents_session(
    mine: Session, use: Callable[[Session], object]
) -> None:
    """Whatever it does, with an open transaction or without; the parent goes on."""
    assert in_child(lambda: use(mine)) == f"InterfaceError: {FOREIGN}"
    mine.begin()
    mine.sql("INSERT INTO t VALUES (1)")
    assert in_child(lambda: use(mine)) == f"InterfaceError: {FOREIGN}"
    mine.commit()
    assert count(mine) == 1


def test_every_public_name_is_tried() -> None:
    """A new method of a session must be closed to children, too."""
    harmless = {"close", "turn", "settings", "hive_variables", "warehouse", "user", "database"}
    beneath = {"begin_work"}  # the store and the engine are asked for what it needs
    public = {name for name in vars(Session) if not name.startswith("_")}
    assert public - harmless - beneath <= USES.keys()


LEAVING: dict[str, Callable[[Session], object]] = {
    "close": lambda s: s.close(),
    "with": lambda s: s.__exit__(None, None, None),
    "with and an error": lambda s: s.__exit__(ValueError, ValueError(), None),
    "connection": lambda s: Connection(s).close(),
    "connection's with": lambda s: Connection(s).__exit__(None, None, None),
}


@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
def test_a_child_that_leaves_a_session_leaves_it_alone(
    mine: Session, warehouse: Path, leave: Callable[[Session], object]
) -> None:
    """The parent's transaction is open as before, its heartbeat beats, its files are there."""
    mine.begin()
    mine.sql("INSERT INTO t VALUES (1)")
    before = sorted(warehouse.rglob("*"))
    store = (warehouse / "_acidsql/metastore.db").read_bytes()
    assert in_child(lambda: leave(mine)) == "None"
    assert sorted(path for path in warehouse.rglob("*") if "-" not in path.suffix) == [
        path for path in before if "-" not in path.suffix
    ]
    assert (warehouse / "_acidsql/metastore.db").read_bytes()[:16] == store[:16]
    assert [txn.state for txn in mine.store.list_txns()] == ["o"]
    assert any("heartbeat" in thread.name for thread in threading.enumerate())
    mine.sql("INSERT INTO t VALUES (2)")
    mine.commit()
    assert count(mine) == 2


CHILDREN = """
import gc, multiprocessing, os, sys
import acidsql

warehouse, way = sys.argv[1:]

def in_a_process():
    gc.collect()

with acidsql.Session(warehouse) as session:
    session.sql("INSERT INTO t VALUES (1)")
    with session.transaction():
        session.sql("INSERT INTO t VALUES (2)")
        if way == "multiprocessing":
            child = multiprocessing.get_context("fork").Process(target=in_a_process)
            child.start()
            child.join()
            assert child.exitcode == 0
        elif pid := os.fork():
            assert os.waitpid(pid, 0)[1] == 0
        elif way == "sys.exit":
            sys.exit(0)
        elif way == "an error":
            sys.excepthook = lambda *_: None
            sys.stderr.close()
            try:
                raise ValueError
            finally:
                os._exit(0)
        elif way == "garbage":
            del session
            gc.collect()
            sys.exit(0)
        session = globals().get("session")
        if way != "to the end" or pid:
            session.sql("INSERT INTO t VALUES (3)")
"""


@pytest.mark.parametrize(
    "way", ["sys.exit", "an error", "garbage", "to the end", "multiprocessing"]
)
def test_a_child_ends(mine: Session, warehouse: Path, way: str) -> None:
    """Inside a transaction's block: however the child ends, the parent's transaction is whole."""
    command = [sys.executable, "-c", CHILDREN, str(warehouse), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert count(mine) == 3
    assert mine.store.list_txns() == ()


def test_a_session_is_not_sent_to_another_process(mine: Session) -> None:
    """Nor is a result, as multiprocessing's "spawn" would: the error says what to do."""
    with pytest.raises(TypeError, match="a session cannot be sent to another process: open one"):
        pickle.dumps(mine)
    with pytest.raises(TypeError, match=r"a result cannot be sent .*: send its to_arrow"):
        pickle.dumps(mine.sql("SHOW TABLES"))


def spawned(warehouse: str, number: int) -> None:
    with Session(warehouse) as session:
        session.sql(f"INSERT INTO t VALUES ({number})")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_each_process_opens_a_session(mine: Session, warehouse: Path, method: str) -> None:
    """Of one warehouse, while the parent has a transaction open in its own."""
    mine.begin()
    mine.sql("INSERT INTO t VALUES (0)")
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        children = [context.Process(target=spawned, args=(str(warehouse), n)) for n in (1, 2)]
        for child in children:
            child.start()
    for child in children:
        child.join(300)
        assert child.exitcode == 0
    mine.commit()
    assert count(mine) == 3


def open_files() -> list[str]:
    links = []
    for entry in os.scandir("/proc/self/fd"):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            continue
    return [link for link in links if "metastore.db" in link]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_connection_crosses_a_fork(mine: Session, warehouse: Path) -> None:
    """SQLite would take the locks of the parent for the child's."""
    assert open_files()
    assert in_child(open_files) == "[]"
    assert in_child(lambda: count(Session(warehouse))) == "0"


def test_forks_while_threads_write(warehouse: Path) -> None:
    """Children and threads commit side by side: none is lost, and the store is sound."""
    errors: list[BaseException] = []

    def commit_some(metastore: EmbeddedMetastore) -> None:
        for _ in range(20):
            metastore.commit(metastore.begin([TableName("default", "t")]).txn_id)

    def commit_in_thread(metastore: EmbeddedMetastore) -> None:
        try:
            commit_some(metastore)
        except BaseException as error:
            errors.append(error)

    def commit_in_child() -> None:
        with EmbeddedMetastore(str(warehouse)) as metastore:
            commit_some(metastore)

    with EmbeddedMetastore(str(warehouse)) as metastore:
        threads = [threading.Thread(target=commit_in_thread, args=(metastore,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            assert in_child(commit_in_child) == "None"
        for thread in threads:
            thread.join()
        assert errors == []
        assert metastore.valid_txns().high_watermark == 7 * 20
        assert metastore.list_txns() == ()
        with metastore._store.read() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


def test_a_fork_waits_for_what_a_thread_does_in_the_store(warehouse: Path) -> None:
    """The write is whole before the child begins."""
    with EmbeddedMetastore(str(warehouse)) as metastore:
        inside, ended = threading.Event(), threading.Event()

        def write() -> None:
            with metastore._store.write():
                inside.set()
                time.sleep(0.2)
                ended.set()

        thread = threading.Thread(target=write)
        thread.start()
        inside.wait()
        assert in_child(ended.is_set) == "True"
        thread.join()


@pytest.mark.spark
def test_a_child_does_not_use_its_parents_spark(warehouse: Path, spark: SparkSession) -> None:
    """Both would talk over one connection to Java: neither one handed in nor one to be started."""
    foreign = "InterfaceError: Spark belongs to the process that started it"
    assert in_child(lambda: Session(warehouse, spark=spark)) == foreign
    assert in_child(lambda: Session(warehouse).spark) == foreign
    with Session(warehouse, spark=spark) as session:
        assert list(session.sql("SELECT 1").rows()) == [(1,)]


# ---- threads


def test_two_threads_at_once(mine: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused while the first is at it, but may cancel it, and has its turn later."""
    inside, leave = threading.Event(), threading.Event()

    def wait(point: str) -> None:
        if point == "begun" and not inside.is_set():
            inside.set()
            assert leave.wait(60)

    monkeypatch.setattr("acidsql.crash_points.hook", wait)
    thread = threading.Thread(target=mine.sql, args=("INSERT INTO t VALUES (1)",))
    thread.start()
    assert inside.wait(60)
    uses = ("sql", "explain", "begin", "commit", "rollback", "set autocommit", "execute")
    for use in (*(USES[name] for name in uses), Session.close):
        with pytest.raises(InterfaceError, match="the session is in use by another thread"):
            use(mine)
    mine.cancel()
    assert mine.running_tasks() is None
    leave.set()
    thread.join()
    assert count(mine) == 1


def test_rows_are_fetched_in_turn(mine: Session) -> None:
    """The rows of an earlier statement are fetched by Spark: not while another thread uses it."""
    result = mine.sql("SELECT count(*) FROM t")
    refused: list[type[BaseException]] = []

    def fetch() -> None:
        try:
            result.to_arrow()
        except Error as error:
            refused.append(type(error))

    with mine.turn.taken():
        thread = threading.Thread(target=fetch)
        thread.start()
        thread.join()
    assert refused == [InterfaceError]
    assert next(result.rows()) == (0,)


def test_the_same_thread_may_enter_again(warehouse: Path) -> None:
    """As a clock, a callback or a signal handler of the user's might."""
    sessions: list[Session] = []

    def clock() -> float:
        if sessions:
            sessions.pop().sql("SHOW TABLES")
        return time.time()

    with Session(warehouse, clock=clock) as session:
        session.sql(TABLE)
        sessions.append(session)
        session.sql("INSERT INTO t VALUES (1)")
        assert sessions == []


# ---- ROLLBACK always frees the session


@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_a_transaction_that_another_process_has_committed(mine: Session, end: str) -> None:
    """The error says so, no file of it is touched, and the session is free."""
    mine.begin()
    mine.sql("INSERT INTO t VALUES (1)")
    work = mine._transaction.work()
    assert work is not None
    work._publisher.publish(work._pending, work._announce)
    statistics = work._publisher.statistics(work._pending)
    mine.store.commit(work.txn.txn_id, (), statistics)
    with pytest.raises(OperationalError, match=r"Transaction txnid:\d+ is already committed"):
        mine.sql(end)
    assert not mine.in_transaction
    assert not any("heartbeat" in thread.name for thread in threading.enumerate())
    mine.sql("INSERT INTO t VALUES (2)")
    assert count(mine) == 2


@pytest.mark.parametrize("error", [MetastoreError("the disk is gone"), RuntimeError("strange")])
def test_a_commit_that_fails_strangely(
    mine: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """And whose rollback fails too: the session is free, and the reaper ends the rest."""

    def fail(*_: object) -> None:
        raise error

    mine.begin()
    mine.sql("INSERT INTO t VALUES (1)")
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedMetastore, "commit", fail)
        patch.setattr(EmbeddedMetastore, "abort", fail)
        with pytest.raises(type(error)):
            mine.commit()
        mine.rollback()
    assert not mine.in_transaction
    assert not any("heartbeat" in thread.name for thread in threading.enumerate())
    mine.sql("INSERT INTO t VALUES (2)")
    assert count(mine) == 1


def test_a_rollback_that_fails(mine: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can commit the transaction any more: its files go, and the session is free."""

    def fail(*_: object) -> None:
        raise MetastoreError("the disk is gone")

    mine.begin()
    mine.sql("INSERT INTO t VALUES (1)")
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedMetastore, "abort", fail)
        with pytest.raises(MetastoreError, match="the disk is gone"):
            mine.rollback()
    assert not mine.in_transaction
    gc.collect()
    assert [path for path in Path(mine.warehouse, "t").rglob("*") if path.is_file()] == []
    mine.sql("INSERT INTO t VALUES (2)")
    assert count(mine) == 1


def test_the_package_is_thread_safe_as_pep_249_says() -> None:
    """Level 1: threads may share the module, but not connections."""
    assert acidsql.dbapi.threadsafety == 1
