"""The locks that statements take: who waits, how it ends, and what is there afterwards. What waits
for what, step by step, is in golden/txn/waiting.sql.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from acidsql.errors import AlreadyExistsError, BindError, Error, LockTimeoutError, OperationalError
from acidsql.session import Session
from acidsql.session.transaction import Attempts
from acidsql.txn.locks import LockComponent, LockRequest, LockType

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NOT_AT_ALL = {"hive.lock.numretries": "0"}
HOLD = """
import sys
from acidsql.session import Session
session = Session(sys.argv[1])
session.sql("START TRANSACTION")
session.sql("INSERT INTO t VALUES (7)")
print("holds", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def table(warehouse: Path) -> Iterator[Session]:
    """A session that does not wait, and ``t`` with one row."""
    with Session(warehouse, settings=NOT_AT_ALL) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        session.sql("INSERT INTO t VALUES (1)")
        yield session


@pytest.fixture
def other(table: Session, warehouse: Path) -> Iterator[Session]:
    with Session(warehouse, settings=NOT_AT_ALL) as session:
        yield session


def count(session: Session) -> int:
    return next(iter(session.sql("SELECT count(*) FROM t").rows()))[0]


@pytest.mark.parametrize(
    "ddl",
    [
        "DROP TABLE t",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t ADD COLUMNS (n INT)",
        "INSERT OVERWRITE TABLE t VALUES (3)",
    ],
)
def test_no_definition_changes_under_a_writer(table: Session, other: Session, ddl: str) -> None:
    """The error says who holds the table, since when and by which statement; nothing happened."""
    table.sql("START TRANSACTION")
    table.sql("INSERT INTO t VALUES (2)")
    with pytest.raises(LockTimeoutError) as caught:
        other.sql(ddl)
    assert caught.value.code == 10307
    assert "holds SHARED_READ on default.t since" in str(caught.value.detail)
    assert "by: INSERT INTO t VALUES (2)" in str(caught.value.detail)
    table.sql("COMMIT")
    assert count(other) == 2


def test_no_definition_changes_under_a_reader(table: Session, other: Session) -> None:
    """While rows are fetched; a result that is only kept holds nothing."""
    engine, refused = table.engine, []
    answer = engine.answer

    def meanwhile(*given: object) -> object:
        with pytest.raises(LockTimeoutError) as caught:
            other.sql("DROP TABLE t")
        refused.append(caught.value)
        return answer(*given)  # type: ignore[arg-type]

    engine.answer = meanwhile  # type: ignore[method-assign, assignment]
    kept = table.sql("SELECT count(*) FROM t")
    engine.answer = answer  # type: ignore[method-assign]
    assert len(refused) == 1
    assert table.store.list_locks() == ()
    assert [tuple(row) for row in kept.rows()] == [(1,)]
    other.sql("DROP TABLE t")


def test_without_locks_nobody_waits(table: Session, other: Session) -> None:
    """hive.support.concurrency=false neither takes nor heeds a lock."""
    table.sql("START TRANSACTION")
    table.sql("INSERT INTO t VALUES (2)")
    other.sql("SET hive.support.concurrency=false")
    other.sql("DROP TABLE t")
    with pytest.raises(Error):
        table.sql("COMMIT")


def test_a_killed_process_holds_nothing(table: Session, warehouse: Path) -> None:
    """Its locks are free as soon as somebody asks for them."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(warehouse)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holds\n"
    with pytest.raises(LockTimeoutError):
        table.sql("ALTER TABLE t ADD COLUMNS (n INT)")
    holder.kill()
    holder.communicate()
    assert list(table.sql("SHOW LOCKS").rows()) == []
    table.sql("ALTER TABLE t ADD COLUMNS (n INT)")
    assert count(table) == 1


def test_a_statement_that_waited_is_planned_anew(table: Session, warehouse: Path) -> None:
    """An INSERT behind ADD COLUMNS fills the table as it is then."""
    request = LockRequest(
        components=(LockComponent(database="default", table="t", type=LockType.EXCLUSIVE),)
    )
    lock = table.store.lock(request)
    failures: list[BaseException] = []

    def insert() -> None:
        try:
            with Session(warehouse) as late:
                late.sql("INSERT INTO t VALUES (2)")
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=insert)
    thread.start()
    while len(table.store.list_locks()) < 2:  # it cannot go on before it has asked
        assert thread.is_alive()
    table.sql("SET hive.support.concurrency=false")
    table.sql("ALTER TABLE t ADD COLUMNS (n INT)")
    table.store.unlock(lock.lock_id)
    thread.join()
    assert [getattr(error, "code", None) for error in failures] == [10044]
    assert table.store.list_locks() == ()
    assert count(table) == 1


def test_a_table_that_others_make_is_not_waited_for(table: Session) -> None:
    """hive.txn.xlock.ctas: Hive's words, and at once."""
    request = LockRequest(
        components=(LockComponent(database="default", table="u", type=LockType.EXCL_WRITE),)
    )
    table.store.lock(request)
    table.sql("SET hive.lock.numretries=100")
    with pytest.raises(OperationalError, match="Failed to initiate a concurrent CTAS") as caught:
        table.sql(f"CREATE TABLE u {ACID} AS SELECT count(*) AS n FROM t")
    assert caught.value.code == 10104


def test_a_query_that_need_not_wait_does_not(table: Session, other: Session) -> None:
    """hive.txn.xlock.iow=false: a query that meets an EXCLUSIVE lock fails at once."""
    request = LockRequest(
        components=(LockComponent(database="default", table="t", type=LockType.EXCLUSIVE),)
    )
    other.store.lock(request)
    table.sql("SET hive.lock.numretries=100")
    table.sql("SET hive.txn.xlock.iow=false")
    with pytest.raises(LockTimeoutError, match="Unable to acquire read lock"):
        count(table)


def test_a_statement_is_run_again(
    table: Session, other: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """acidsql.retries: as often as it says, outside of transactions, with a warning."""
    pauses: list[float] = []

    def pause(attempts: Attempts) -> None:
        pauses.append(1)
        other.rollback()

    monkeypatch.setattr(Attempts, "_pause", pause)
    other.sql("START TRANSACTION")
    other.sql("INSERT INTO t VALUES (2)")
    with pytest.raises(LockTimeoutError):
        table.sql("INSERT OVERWRITE TABLE t VALUES (3)")
    table.sql("SET acidsql.retries=1")
    done = table.sql("INSERT OVERWRITE TABLE t VALUES (3)")
    assert [warning.message.partition(",")[0] for warning in done.warnings] == [
        "the statement was run again 1 time"
    ]
    assert (len(pauses), count(table)) == (1, 1)
    other.sql("START TRANSACTION")
    other.sql("INSERT INTO t VALUES (2)")
    table.sql("START TRANSACTION")
    with pytest.raises(LockTimeoutError):
        table.sql("INSERT OVERWRITE TABLE t VALUES (3)")
    assert len(pauses) == 1


def test_as_many_transactions_as_may_be_open(warehouse: Path) -> None:
    """hive.max.open.txns, in Hive's words; one more when one has ended."""
    with (
        Session(warehouse, settings={"hive.max.open.txns": "1"}) as session,
        Session(warehouse) as other,
    ):
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        other.sql("START TRANSACTION")
        other.sql("INSERT INTO t VALUES (1)")
        with pytest.raises(OperationalError, match="Maximum allowed number of open transactions"):
            session.sql("INSERT INTO t VALUES (2)")
        other.sql("COMMIT")
        session.sql("INSERT INTO t VALUES (2)")
        assert count(session) == 2


def test_external_tables_are_locked_on_demand(table: Session, tmp_path: Path) -> None:
    """hive.txn.ext.locking.enabled, for queries and for rows that are written."""
    table.sql(f"CREATE EXTERNAL TABLE e (id INT) STORED AS ORC LOCATION '{tmp_path / 'e'}'")

    def locks(text: str) -> list[str]:
        return [line for (line,) in table.sql(f"EXPLAIN LOCKS {text}").rows()][1:]

    assert locks("INSERT INTO e SELECT id FROM t") == ["default.t -> SHARED_READ"]
    assert locks("SELECT * FROM e") == []
    table.sql("SET hive.txn.ext.locking.enabled=true")
    assert locks("SELECT * FROM e") == ["default.e -> SHARED_READ"]
    assert locks("INSERT INTO e SELECT id FROM t") == [
        "default.e -> EXCLUSIVE",
        "default.t -> SHARED_READ",
    ]


def test_nothing_is_held_behind_any_statement(table: Session) -> None:
    """Whether it succeeded or failed."""
    for text in (
        "INSERT INTO t VALUES (2)",
        "INSERT INTO t VALUES (2, 3)",
        "SELECT count(*) FROM t",
        "ALTER TABLE t ADD COLUMNS (n INT)",
        "ALTER TABLE t ADD COLUMNS (n INT)",
        "TRUNCATE TABLE t",
        "CREATE TABLE t (id INT)",
        "DROP TABLE t",
    ):
        with suppress(BindError, AlreadyExistsError):
            table.sql(text)
        assert table.store.list_locks() == ()
