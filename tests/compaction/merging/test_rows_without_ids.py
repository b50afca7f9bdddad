"""Insert-only tables, whose rows have no ids, and rebalancing, which gives rows other ids."""

from __future__ import annotations

import pytest

from acidsql import crash_points
from acidsql.compaction.doctor.rounds import examine_table
from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.cleaning import clean_all, cleaner_of
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    REBALANCE,
    clean,
    directories,
    enqueue,
    entry,
    find,
    rows,
    work,
    worker,
)

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


def base_alone(session: Session) -> None:
    """A table t of four rows in base_0000002."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql("INSERT INTO t VALUES (3, 'c'), (4, 'd')")
    work(session, "t", MAJOR)
    clean_all(session)
    assert directories(session, "t") == ["base_0000002"]


@pytest.mark.parametrize("path", ["small", "big"])
def test_rebalance_of_a_base_alone(session: Session, path: str) -> None:
    """Its name is taken: a write id is given out for another. An older snapshot goes on with the
    base that it knows; later writes and compactions go on from there.
    """
    base_alone(session)
    before = rows(session, "t")
    session.sql(f"SET acidsql.write.path={path}")
    with Session(session.warehouse, spark=session.engine.spark) as old:
        old.sql("START TRANSACTION READ ONLY")
        assert rows(old, "t") == before
        done = work(session, "t", REBALANCE, buckets=2)
        assert (done.state, done.highest_write_id) == (READY, 3), done.message
        assert rows(old, "t") == before
        clean_all(session)
        assert directories(session, "t") == ["base_0000002", "base_0000003"]
        old.sql("COMMIT")
    clean_all(session)
    assert directories(session, "t") == ["base_0000003"]
    first, second = 1 << 29, (1 << 29) + (1 << 16)
    assert rows(session, "t") == [
        (1, first, 0, 1, "a"),
        (1, first, 1, 2, "b"),
        (2, second, 2, 3, "c"),
        (2, second, 3, 4, "d"),
    ]
    table = find(session, "t")
    assert list(examine_table(session.store, session.files, table)) == []
    session.sql("UPDATE t SET v = 'x' WHERE id = 3")
    assert work(session, "t", MAJOR).state is READY
    clean_all(session)
    assert directories(session, "t") == ["base_0000004"]
    values = [(1, "a"), (2, "b"), (3, "x"), (4, "d")]
    assert sorted(session.sql("SELECT * FROM t").rows()) == values


@pytest.mark.parametrize("point", ["compaction published", "compaction counted", "compaction done"])
def test_a_rebalance_of_a_base_alone_that_dies(session: Session, point: str) -> None:
    """Whatever it wrote is never seen, and goes; what is changed meanwhile are the old ROW__IDs."""
    base_alone(session)
    before = rows(session, "t")

    def hook(reached: str) -> None:
        if reached == point:
            crash_points.hook = None
            if point != "compaction published":  # there the store lets nobody in
                assert rows(session, "t") == before
            raise KeyboardInterrupt

    compaction_id = enqueue(session, "t", REBALANCE)
    crash_points.hook = hook
    try:
        with pytest.raises(KeyboardInterrupt):
            worker(session).run_once()
    finally:
        crash_points.hook = None
    assert rows(session, "t") == before
    session.sql("DELETE FROM t WHERE id = 2")
    cleaner_of(session).clean_aborted()
    there = ["base_0000002", "delete_delta_0000004_0000004_0000"]
    assert directories(session, "t") == there
    assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (3,), (4,)]
    session.store.forget_writes(session.store.aborted_writes(10))  # nothing tells it was aborted
    recorded = session.store.written_directories(find(session, "t"))
    assert sorted(one.directory for one in recorded) == there
    assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (3,), (4,)]
    assert worker(session).run_once()
    assert entry(session, compaction_id).state is READY
    assert sorted(session.sql("SELECT id FROM t").rows()) == [(1,), (3,), (4,)]


def test_a_base_alone_beside_a_writer_is_not_rebalanced(session: Session) -> None:
    """What is being inserted below its write id would be hidden: it says so, and nothing is lost."""
    base_alone(session)
    with Session(session.warehouse, spark=session.engine.spark) as other:
        other.sql("START TRANSACTION")
        other.sql("INSERT INTO t VALUES (5, 'e')")
        done = work(session, "t", REBALANCE)
        assert done.state is CompactionState.REFUSED
        assert done.message is not None
        assert "is being written to" in done.message
        other.sql("COMMIT")
    assert len(rows(session, "t")) == 5


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
