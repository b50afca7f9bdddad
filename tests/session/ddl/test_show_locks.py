"""SHOW LOCKS: Hive's thirteen columns and its filters, on locks that the test lays down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.acid.ids import TxnId
from acidsql.errors import BindError, UnsupportedStatementError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session
from acidsql.txn.locks import NO_TXN, LockComponent, LockInfo, LockState, LockType


def lock(
    number: int,
    component: LockComponent,
    *,
    part: int = 1,
    txn_id: TxnId = NO_TXN,
    blocked_by: tuple[int, int] | None = None,
    heartbeat: int = 0,
    acquired_at: int = 0,
    agent: str | None = None,
) -> LockInfo:
    return LockInfo(
        lock_id=number,
        part=part,
        component=component,
        state=LockState.WAITING if blocked_by else LockState.ACQUIRED,
        txn_id=txn_id,
        blocked_by=blocked_by,
        last_heartbeat=heartbeat,
        acquired_at=acquired_at,
        user="ann",
        host="node1",
        agent=agent,
        statement="SELECT 1",
    )


OF_DATABASE = lock(1, LockComponent(database="sales", type=LockType.SHARED_READ), heartbeat=7000)
OF_TABLE = lock(
    2,
    LockComponent(database="sales", table="t", type=LockType.SHARED_WRITE),
    txn_id=TxnId(5),
    acquired_at=9000,
    agent="4711@node1",
)
OF_PARTITION = lock(
    3,
    LockComponent(database="sales", table="p", partition="ds=a%3Ab/hr=1", type=LockType.EXCL_WRITE),
    part=2,
    txn_id=TxnId(6),
    acquired_at=9500,
)
WAITING = lock(
    4,
    LockComponent(database="sales", table="p", type=LockType.EXCLUSIVE),
    txn_id=TxnId(7),
    blocked_by=(3, 2),
)
ELSEWHERE = lock(
    5, LockComponent(database="default", table="t", type=LockType.SHARED_READ), txn_id=TxnId(8)
)
LOCKS = (OF_DATABASE, OF_TABLE, OF_PARTITION, ELSEWHERE, WAITING)


@pytest.fixture
def sales(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session in a database whose locks, and others, are LOCKS."""
    monkeypatch.setattr(EmbeddedMetastore, "list_locks", lambda _: LOCKS, raising=False)
    with Session(str(warehouse)) as session:
        acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        session.sql(f"CREATE TABLE t (a INT) {acid}")
        session.sql("CREATE DATABASE sales")
        session.sql("USE sales")
        session.sql(f"CREATE TABLE t (a INT) {acid}")
        session.sql(f"CREATE TABLE p (a INT) PARTITIONED BY (ds STRING, hr INT) {acid}")
        yield session
        assert not session.spark_started


def shown(session: Session, sql: str) -> list[str]:
    """The ids of the locks that a statement shows."""
    return [str(row[0]) for row in session.sql(sql).rows()]


def test_the_columns_are_hives(sales: Session) -> None:
    """Thirteen columns of text, by Hive's names; what there is none of is the word NULL, and a
    lock that does not wait has twelve blanks.
    """
    result = sales.sql("SHOW LOCKS")
    assert [column.name for column in result.columns] == [
        "lockid", "database", "table", "partition", "lock_state", "blocked_by", "lock_type",
        "transaction_id", "last_heartbeat", "acquired_at", "user", "hostname", "agent_info",
    ]  # fmt: skip
    assert {str(column.type) for column in result.columns} == {"string"}
    free = " " * 12
    assert [tuple(row) for row in result.rows()] == [
        ("1.1", "sales", "NULL", "NULL", "ACQUIRED", free, "SHARED_READ", "NULL", "7000", "NULL", "ann", "node1", "NULL"),
        ("2.1", "sales", "t", "NULL", "ACQUIRED", free, "SHARED_WRITE", "5", "0", "9000", "ann", "node1", "4711@node1"),
        ("3.2", "sales", "p", "ds=a%3Ab/hr=1", "ACQUIRED", free, "EXCL_WRITE", "6", "0", "9500", "ann", "node1", "NULL"),
        ("5.1", "default", "t", "NULL", "ACQUIRED", free, "SHARED_READ", "8", "0", "NULL", "ann", "node1", "NULL"),
        ("4.1", "sales", "p", "NULL", "WAITING", "3.2", "EXCLUSIVE", "7", "0", "NULL", "ann", "node1", "NULL"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        ("t", ["2.1"]),
        ("p", ["3.2", "4.1"]),
        ("P PARTITION (ds = 'a:b', hr = 1)", ["3.2"]),
        ("p PARTITION (hr = '1', ds = 'a:b') EXTENDED", ["3.2"]),
        ("p PARTITION (ds = 'other', hr = 1)", []),
        ("DATABASE sales", ["1.1", "2.1", "3.2", "4.1"]),
        ("SCHEMA default EXTENDED", ["5.1"]),
        ("EXTENDED", ["1.1", "2.1", "3.2", "5.1", "4.1"]),
    ],
)
def test_filters_are_hives(sales: Session, filter: str, ids: list[str]) -> None:
    """A table shows its partitions' locks too, a partition its own alone, a database all in it;
    EXTENDED changes nothing.
    """
    assert shown(sales, f"SHOW LOCKS {filter}") == ids


def test_a_qualified_table_is_found(sales: Session) -> None:
    """Hive 4 finds nothing here: it takes the qualified name for one in the current database."""
    assert shown(sales, "SHOW LOCKS default.t") == ["5.1"]


def test_locks_are_shown_inside_a_transaction(sales: Session) -> None:
    """Whoever is about to commit may look who stands in the way."""
    sales.sql("START TRANSACTION")
    sales.sql("INSERT INTO t VALUES (1)")
    assert shown(sales, "SHOW LOCKS t") == ["2.1"]
    sales.sql("ROLLBACK")


@pytest.mark.parametrize("subject", ["nope", "DATABASE nope", "t PARTITION (ds = 'x')"])
def test_what_is_not_there_is_refused(sales: Session, subject: str) -> None:
    """A misspelt name is no table without locks."""
    with pytest.raises(BindError):
        sales.sql(f"SHOW LOCKS {subject}")


@pytest.mark.parametrize(
    "sql",
    [
        "LOCK TABLE t SHARED",
        "LOCK TABLE p PARTITION (ds = 'x', hr = 1) EXCLUSIVE",
        "UNLOCK TABLE t",
        "LOCK DATABASE sales EXCLUSIVE",
        "UNLOCK DATABASE sales",
    ],
)
def test_explicit_locks_are_refused_in_hives_words(sales: Session, sql: str) -> None:
    """DbTxnManager takes no locks on demand, and gives none back."""
    with pytest.raises(UnsupportedStatementError) as refused:
        sales.sql(sql)
    assert refused.value.code == 10271
    assert refused.value.message == (
        "Current transaction manager does not support explicit lock requests.  Transaction"
        " manager:   org.apache.hadoop.hive.ql.lockmgr.DbTxnManager"
    )
