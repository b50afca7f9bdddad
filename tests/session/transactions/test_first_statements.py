"""The first statement of a transaction takes its snapshot: it is never too late for that, whatever
others have compacted and cleaned since the transaction was opened for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from tests.compaction.cleaning import clean_all, queued
from tests.compaction.compacting import MAJOR
from tests.meanwhile import at_point

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
UPDATE = "UPDATE t SET n = n + 1 WHERE id = 1"
MERGE = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"
SETTINGS = {
    "acidsql.engine": "local",
    "acidsql.compactor.auto": "false",
    # no locks, behind which the snapshot would be taken anew
    "hive.support.concurrency": "false",
}


@pytest.fixture
def other(warehouse: Path) -> Iterator[Session]:
    with Session(warehouse, settings=SETTINGS) as session:
        for table in "ts":
            session.sql(f"CREATE TABLE {table} (id INT, n INT) {ACID}")
            session.sql(f"INSERT INTO {table} VALUES (1, 10)")
        yield session


def change_and_clean(session: Session) -> None:
    for table in "ts":
        session.sql(f"INSERT INTO {table} VALUES (2, 20)")
        queued(session, table, MAJOR)
    clean_all(session)


def counted(session: Session) -> object:
    return session.sql("SELECT count(*) FROM t").fetchall()


def scanned(session: Session) -> object:
    return session.scan("t").to_arrow()["n"].to_pylist()


def run(text: str) -> Callable[[Session], object]:
    def statement(session: Session) -> object:
        session.sql(text)
        return session.sql("SELECT id, n FROM t ORDER BY id").fetchall()

    return statement


def dry_run(session: Session) -> object:
    session.sql("SET acidsql.dry.run = true")
    [line, *_] = session.sql("DELETE FROM t").fetchall()
    return line


@pytest.mark.parametrize(
    ("first", "seen"),
    [
        (counted, [(2,)]),
        (scanned, [10, 20]),
        (run("SELECT * FROM t"), [(1, 10), (2, 20)]),
        (run(UPDATE), [(1, 11), (2, 20)]),
        (run(MERGE), [(1, 10), (2, 20)]),
        (run("INSERT INTO t SELECT id + 2, n FROM s"), [(1, 10), (2, 20), (3, 10), (4, 20)]),
        (run("INSERT OVERWRITE TABLE t SELECT id, n FROM s WHERE id = 2"), [(2, 20)]),
        (dry_run, ("DELETE FROM default.t: 2 rows",)),
    ],
    ids=["count", "scan", "query", "update", "merge", "insert", "overwrite", "dry run"],
)
def test_it_sees_what_was_compacted_since_the_transaction_began(
    other: Session, first: Callable[[Session], object], seen: object
) -> None:
    """Every kind of statement that looks at rows, under one snapshot of now."""
    with Session(other.warehouse, settings=SETTINGS) as session:
        session.autocommit = False
        with at_point("begun", lambda: change_and_clean(other)):
            assert first(session) == seen


def test_it_sees_a_table_that_has_become_transactional_meanwhile(other: Session) -> None:
    """Its plan was made for another: what is registered is what the one of now reads."""
    other.sql("CREATE TABLE u (id INT) STORED AS ORC")
    other.sql("INSERT INTO u VALUES (1)")

    def convert() -> None:
        other.sql("ALTER TABLE u SET TBLPROPERTIES ('transactional'='true')")
        other.sql("INSERT INTO u VALUES (2)")
        queued(other, "u", MAJOR)
        clean_all(other)

    with Session(other.warehouse, settings=SETTINGS) as session:
        session.autocommit = False
        with at_point("begun", convert):
            assert session.sql("SELECT id FROM u ORDER BY id").fetchall() == [(1,), (2,)]
