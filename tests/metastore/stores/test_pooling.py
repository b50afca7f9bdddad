"""A pooler in transaction mode between acidsql and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session
from tests.metastore.stores.pooler import PROCESSES, Pooler, pooler
from tests.postgresql_server import USER, PostgreSQLServer

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
LEFT = """
SELECT name || '=' || setting FROM pg_settings
WHERE source = 'session' AND name NOT IN ('client_encoding')
UNION ALL SELECT 'prepared: ' || name FROM pg_prepared_statements
UNION ALL SELECT 'advisory lock' FROM pg_locks WHERE locktype = 'advisory'
UNION ALL SELECT 'temporary: ' || relname FROM pg_class WHERE relpersistence = 't'
"""
"""What one transaction may have left in a process for the next one."""


@pytest.fixture
def pooled(postgresql_server: PostgreSQLServer) -> Iterator[Pooler]:
    name = postgresql_server.make_database(None)
    with pooler(postgresql_server, name, USER) as one:
        yield one
    postgresql_server.drop_database(name)


@pytest.fixture
def url(pooled: Pooler) -> str:
    return f"postgresql://{USER}@127.0.0.1:{pooled.port}/any"


def test_nothing_is_left_for_the_next_transaction(
    warehouse: Path, pooled: Pooler, url: str
) -> None:
    """Whichever process of the server a transaction gets: no setting, no prepared statement and no
    lock outlives one, and all that a session does works.
    """
    with Session(warehouse, metastore=url) as session:
        session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
        for number in range(8):  # a statement is prepared when it comes for the sixth time
            session.sql(f"INSERT INTO t VALUES ({number}, 'a')")
        session.sql("UPDATE t SET v = 'u' WHERE id < 3")
        with session.transaction():
            session.sql("DELETE FROM t WHERE id = 7")
        session.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
        session.sql("ALTER TABLE t RENAME TO s")
        rows = session.sql("SELECT count(*), count(DISTINCT v), sum(id) FROM s").rows()
        assert [tuple(row) for row in rows] == [(7, 2, 21)]
    assert pooled.asked_everywhere(LEFT) == []
    assert min(pooled.transactions) > PROCESSES


@pytest.mark.slow
def test_twenty_sessions_share_a_few_processes(warehouse: Path, pooled: Pooler, url: str) -> None:
    """All write to one table and to one of their own, at once: each row is there once."""
    with Session(warehouse, metastore=url) as session:
        session.sql(f"CREATE TABLE shared (who INT, n INT) {ACID}")

    def work(number: int) -> None:
        with Session(warehouse, metastore=url) as session:
            session.sql(f"CREATE TABLE own{number} (n INT) {ACID}")
            for n in range(3):
                session.sql(f"INSERT INTO shared VALUES ({number}, {n})")
                session.sql(f"INSERT INTO own{number} VALUES ({n})")
            session.sql("SET acidsql.retries=20")
            session.sql(f"UPDATE shared SET n = n + 10 WHERE who = {number}")

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    with Session(warehouse, metastore=url) as session:
        rows = session.sql("SELECT count(*), count(DISTINCT who), sum(n) FROM shared").rows()
        assert [tuple(row) for row in rows] == [(60, 20, 20 * (10 + 11 + 12))]
    assert pooled.asked_everywhere(LEFT) == []


def test_a_store_is_made_through_a_pooler(warehouse: Path, pooled: Pooler, url: str) -> None:
    """By several at once, one of whom makes the tables."""
    with ThreadPoolExecutor(4) as pool:
        opened = list(
            pool.map(lambda _: EmbeddedMetastore(str(warehouse), metastore=url), range(4))
        )
    assert sorted(one.open_txn() for one in opened) == [1, 2, 3, 4]
    for one in opened:
        one.close()
