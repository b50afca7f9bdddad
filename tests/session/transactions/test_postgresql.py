"""Statements of sessions whose metastore is a PostgreSQL database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acidsql.errors import LockTimeoutError, WriteConflictError
from acidsql.session import Session
from tests.postgresql_server import PostgreSQLServer

ROOT = Path(__file__).resolve().parents[3]
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NOT_AT_ALL = {"hive.lock.numretries": "0"}
LONG = 60


@pytest.fixture
def one(warehouse: Path, postgresql: str) -> Iterator[Session]:
    """A session that does not wait, and ``t`` with one row."""
    with Session(warehouse, metastore=postgresql, settings=NOT_AT_ALL) as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 'ann')")
        yield session


@pytest.fixture
def other(one: Session, warehouse: Path, postgresql: str) -> Iterator[Session]:
    with Session(warehouse, metastore=postgresql, settings=NOT_AT_ALL) as session:
        yield session


def count(session: Session) -> int:
    return next(iter(session.sql("SELECT count(*) FROM t").rows()))[0]


def shown(session: Session, statement: str) -> list[str]:
    return [str(row[0]) for row in session.sql(statement).rows()]


def test_what_is_not_committed_is_seen_by_nobody_else(one: Session, other: Session) -> None:
    """And what is rolled back by nobody at all."""
    with one.transaction():
        one.sql("INSERT INTO t VALUES (2, 'bob')")
        assert (count(one), count(other)) == (2, 1)
    assert count(other) == 2
    one.begin()
    one.sql("INSERT INTO t VALUES (3, 'cy')")
    one.rollback()
    assert (count(one), count(other)) == (2, 2)


def test_definitions_change_for_all(one: Session, other: Session) -> None:
    """Databases, tables, partitions and columns, with what may be asked about them."""
    one.sql("CREATE DATABASE sales COMMENT 'x'")
    one.sql(f"CREATE TABLE sales.p (id INT) PARTITIONED BY (ds STRING) {ACID}")
    for day in ("b", "B", "é"):
        other.sql(f"INSERT INTO sales.p PARTITION (ds = '{day}') VALUES (1)")
    one.sql("ALTER TABLE sales.p DROP PARTITION (ds = 'b')")
    one.sql("ALTER TABLE t ADD COLUMNS (n INT)")
    one.sql("ALTER TABLE t RENAME TO u")
    assert shown(other, "SHOW PARTITIONS sales.p") == ["ds=B", "ds=é"]
    assert shown(other, "SHOW TABLES") == ["u"]
    other.sql("INSERT INTO u VALUES (2, 'bob', 3)")
    one.sql("DROP DATABASE sales CASCADE")
    assert shown(other, "SHOW DATABASES") == ["default"]
    other.sql("TRUNCATE TABLE u")
    assert list(one.sql("SELECT count(*) FROM u").rows()) == [(0,)]


def test_locks_are_waited_for(one: Session, warehouse: Path, postgresql: str) -> None:
    """Who needs what another session changes goes on when that one has ended, and sees its rows."""
    one.begin()
    one.sql("INSERT INTO t VALUES (2, 'bob')")
    with Session(warehouse, metastore=postgresql) as patient, ThreadPoolExecutor() as pool:
        waiting = pool.submit(patient.sql, "INSERT OVERWRITE TABLE t VALUES (3, 'cy')")
        while not any(lock.state.value == "w" for lock in one.store.list_locks()):
            assert not waiting.done()
        one.commit()
        assert waiting.result(LONG).stats.write_ids == {"default.t": 3}
    assert count(one) == 1


def test_a_lock_that_is_held_is_told_of(one: Session, other: Session) -> None:
    """With its holder, as with a file."""
    one.begin()
    one.sql("INSERT INTO t VALUES (2, 'bob')")
    with pytest.raises(LockTimeoutError, match=r"default\.t") as caught:
        other.sql("DROP TABLE t")
    assert "by: INSERT INTO t VALUES (2, 'bob')" in str(caught.value.detail)
    one.commit()
    other.sql("DROP TABLE t")
    assert shown(one, "SHOW TABLES") == []


def test_a_killed_session_of_this_host_frees_its_locks(
    one: Session, warehouse: Path, postgresql: str
) -> None:
    """At once, and nothing of it is seen."""
    code = (
        "import sys; from acidsql.session import Session; s = Session(sys.argv[1]); s.begin();"
        " s.sql(\"INSERT INTO t VALUES (9, 'x')\"); print('holds', flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ACIDSQL_METASTORE": postgresql}
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(warehouse)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        holder.kill()
        holder.wait()
    one.sql("INSERT OVERWRITE TABLE t VALUES (5, 'e')")
    assert count(one) == 1


def test_a_lost_connection_costs_its_statement_only(
    one: Session, postgresql_server: PostgreSQLServer
) -> None:
    """Between statements nobody notices; what was committed is there."""
    name = one.store._store._url.database  # type: ignore[attr-defined]
    with postgresql_server.admin() as admin:
        for number in range(2, 5):
            admin.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
                [name],
            )
            one.sql(f"INSERT INTO t VALUES ({number}, 'x')")
    assert count(one) == 4


@pytest.mark.spark
def test_rows_are_changed(warehouse: Path, postgresql: str, spark: object) -> None:
    """UPDATE, DELETE and MERGE by Spark, of sessions that overlap row by row."""
    with (
        Session(warehouse, metastore=postgresql, spark=spark) as one,  # type: ignore[arg-type]
        Session(warehouse, metastore=postgresql, spark=spark) as other,  # type: ignore[arg-type]
    ):
        one.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
        one.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
        one.begin()
        other.begin()
        one.sql("UPDATE t SET name = upper(name) WHERE id = 1")
        other.sql("DELETE FROM t WHERE id = 2")
        one.commit()
        other.commit()
        one.begin()
        other.begin()
        one.sql("UPDATE t SET name = 'one' WHERE id = 3")
        other.sql("UPDATE t SET name = 'other' WHERE id = 3")
        one.commit()
        with pytest.raises(WriteConflictError):
            other.commit()
        other.sql(
            "MERGE INTO t USING (SELECT 4 AS id UNION ALL SELECT 5) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET name = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'n')"
        )
        rows = sorted(one.sql("SELECT id, name FROM t").rows())
        assert rows == [(1, "A"), (3, "one"), (4, "m"), (5, "n")]
        assert one.store.list_locks() == ()
