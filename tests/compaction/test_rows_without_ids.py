"""Insert-only tables, whose rows have no ids, and rebalancing, which gives rows other ids."""

from __future__ import annotations

import pytest

from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.compacting import MAJOR, MINOR, REBALANCE, clean, directories, rows, work

pytestmark = pytest.mark.spark

INSERT_ONLY = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
READY = CompactionState.READY_FOR_CLEANING


@pytest.mark.parametrize("path", ["small", "big"])
@pytest.mark.parametrize(
    "kind", ["STORED AS ORC", "STORED AS PARQUET", "CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC"]
)
def test_insert_only(session: Session, kind: str, path: str) -> None:
    """Minor makes one delta, major one base, and a rebalance is a major compaction."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {kind} {INSERT_ONLY}")
    session.sql(f"SET acidsql.write.path={path}")
    for number in range(4):
        session.sql(f"INSERT INTO t VALUES ({number}, 'v{number}'), ({number + 10}, NULL)")
    before = sorted(session.sql("SELECT * FROM t").rows(), key=repr)
    for asked, names in (
        (MINOR, ["delta_0000001_0000004"]),
        (MAJOR, None),
        (REBALANCE, ["base_0000005"]),
    ):
        done = work(session, "t", asked)
        if names is None:  # one delta alone is nothing to merge
            assert done.state is CompactionState.REFUSED
            session.sql("INSERT INTO t VALUES (99, 'more')")
            before = sorted(session.sql("SELECT * FROM t").rows(), key=repr)
            continue
        assert done.state is READY, done.message
        session.store.mark_cleaned(done.compaction_id)
        assert sorted(session.sql("SELECT * FROM t").rows(), key=repr) == before
        clean(session, "t")
        assert directories(session, "t") == names
        assert sorted(session.sql("SELECT * FROM t").rows(), key=repr) == before


@pytest.mark.parametrize("path", ["small", "big"])
def test_rebalance(session: Session, path: str) -> None:
    """Rows are numbered through, in buckets of one size, and keep their write ids."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    for number in range(7):
        session.sql(f"INSERT INTO t VALUES ({number}, 'v{number}')")
    session.sql("DELETE FROM t WHERE id = 3")
    session.sql(f"SET acidsql.write.path={path}")
    done = work(session, "t", REBALANCE, buckets=4)
    assert done.state is READY, done.message
    clean(session, "t")
    first = 1 << 29
    assert [row[:4] for row in sorted(rows(session, "t"))] == [
        (1, first, 0, 0),
        (2, first, 1, 1),
        (3, first + (1 << 16), 2, 2),
        (5, first + (1 << 16), 3, 4),
        (6, first + (2 << 16), 4, 5),
        (7, first + (2 << 16), 5, 6),
    ]
    session.sql("UPDATE t SET v = 'x' WHERE id = 4")
    session.sql("DELETE FROM t WHERE id = 5")
    assert sorted(session.sql("SELECT * FROM t").rows()) == [
        (0, "v0"),
        (1, "v1"),
        (2, "v2"),
        (4, "x"),
        (6, "v6"),
    ]


def test_rebalance_in_an_order(session: Session) -> None:
    """ORDER BY puts the rows in that order, all under the highest write id."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'c'), (2, 'a')")
    session.sql("INSERT INTO t VALUES (3, 'b')")
    done = work(session, "t", REBALANCE, buckets=1, order_by="v DESC")
    assert done.state is READY, done.message
    clean(session, "t")
    first = 1 << 29
    assert sorted(rows(session, "t")) == [
        (2, first, 0, 1, "c"),
        (2, first, 1, 3, "b"),
        (2, first, 2, 2, "a"),
    ]
