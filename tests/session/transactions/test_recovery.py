"""What a killed process leaves is taken away by the next one that writes: killed for real at every
step of every statement, with the rows, the locks and the garbage looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.session import Session
from acidsql.txn.locks import LockComponent, LockRequest, LockType
from tests.session.transactions.crashes import garbage, killed, rows_of, run_all

pytestmark = pytest.mark.processes

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = ACID.replace("true'", "true', 'transactional_properties'='insert_only'")
T = f"CREATE TABLE t (id INT) {ACID}"
P = f"CREATE TABLE p (id INT) PARTITIONED BY (k STRING) {ACID}"

OPENING = ("begun",)
WRITING = ("staged", "settled", "directory made", "announced")
PUBLISHING = ("file published", "published", "unstaged", "written", "commit prepared")
BEFORE = (*OPENING, *WRITING, *PUBLISHING)
BEHIND = ("committed",)


@pytest.fixture
def opened(warehouse: Path) -> Iterator[Session]:
    """A session without Spark, of a process that outlives all those that are killed."""
    with Session(warehouse) as session:
        yield session


CASES = {
    "insert": ((T, "INSERT INTO t VALUES (1)"), ("INSERT INTO t VALUES (2), (3)",), "t", [(1,)], [(1,), (2,), (3,)]),
    "insert only": (
        (T.replace(ACID, INSERT_ONLY), "INSERT INTO t VALUES (1)"),
        ("INSERT INTO t VALUES (2)",),
        "t",
        [(1,)],
        [(1,), (2,)],
    ),
    "dynamic partitions": (
        (P, "INSERT INTO p VALUES (1, 'a')"),
        ("INSERT INTO p VALUES (2, 'a'), (3, 'b/c'), (4, 'd')",),
        "p",
        [(1, "a")],
        [(1, "a"), (2, "a"), (3, "b/c"), (4, "d")],
    ),
    "overwrite": ((T, "INSERT INTO t VALUES (1)"), ("INSERT OVERWRITE TABLE t VALUES (2)",), "t", [(1,)], [(2,)]),
    "overwrite a partition": (
        (P, "INSERT INTO p VALUES (1, 'a'), (2, 'b')"),
        ("INSERT OVERWRITE TABLE p PARTITION (k = 'a') VALUES (3)",),
        "p",
        [(1, "a"), (2, "b")],
        [(2, "b"), (3, "a")],
    ),
    "truncate": ((T, "INSERT INTO t VALUES (1)"), ("TRUNCATE TABLE t",), "t", [(1,)], []),
    "truncate insert only": (
        (T.replace(ACID, INSERT_ONLY), "INSERT INTO t VALUES (1)"),
        ("TRUNCATE TABLE t",),
        "t",
        [(1,)],
        [],
    ),
    "several statements": (
        (T, P, "INSERT INTO t VALUES (1)"),
        (
            "START TRANSACTION",
            "INSERT INTO t VALUES (2)",
            "INSERT INTO p VALUES (7, 'a')",
            "INSERT INTO t VALUES (3)",
            "COMMIT",
        ),
        "t",
        [(1,)],
        [(1,), (2,), (3,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_killed_at_every_step(warehouse: Path, opened: Session, case: str) -> None:
    """Before the commit nobody sees a row of it, behind it all are seen; the next statement waits
    for nothing and goes through, and nothing is left of it then.
    """
    made, statements, table, before, behind = CASES[case]
    run_all(opened, [f"CREATE TABLE other (id INT) {ACID}", "SET hive.lock.numretries=0", *made])
    reached = []
    for point in (*BEFORE, *BEHIND):
        if killed(warehouse, point, *statements):
            reached.append(point)
            assert rows_of(opened, table) == (behind if point in BEHIND else before), point
            opened.sql("INSERT INTO other VALUES (1)")
            assert garbage(opened) == [], point
    missing = set(BEFORE) - set(reached)
    assert missing <= ({"staged"} if "truncate" in case else set())
    assert "committed" in reached


@pytest.mark.parametrize("partition", ["", "PARTITION (k = 'a')"])
def test_killed_while_a_large_file_is_written(
    warehouse: Path, opened: Session, partition: str
) -> None:
    """A half of it is on disk, which nobody sees, and which is taken away with the rest."""
    keys = "PARTITIONED BY (k STRING)" if partition else ""
    run_all(
        opened,
        [
            "SET acidsql.engine=local",
            f"CREATE TABLE other (id INT) {ACID}",
            f"CREATE TABLE source (id INT, name STRING) {ACID}",
            f"CREATE TABLE t (id INT, name STRING) {keys} {ACID}",
            f"INSERT INTO t {partition} VALUES (1, 'b')",
        ],
    )
    many = pa.table({"id": pa.array(range(200_000), pa.int32()), "name": ["x" * 200] * 200_000})
    opened.table("source").append(many)
    before = rows_of(opened, "t")
    statement = f"INSERT INTO t {partition} SELECT * FROM source"
    for times in (1, 2):
        assert killed(warehouse, "piece written", statement, times=times)
        assert rows_of(opened, "t") == before
        [half] = [p for p in (warehouse / "t").rglob("*") if p.is_file() and ".acidsql" in str(p)]
        assert half.stat().st_size > 0
        opened.sql("INSERT INTO other VALUES (1)")
        assert garbage(opened) == []
    opened.sql(statement)
    assert len(rows_of(opened, "t")) == 200_001


PLAIN = "CREATE TABLE t (id INT) STORED AS ORC"
BOTH = [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("statement", "points", "after"),
    [
        ("DROP TABLE p", ("table dropped",), None),
        ("DROP DATABASE d CASCADE", ("database dropped",), BOTH),
        ("ALTER TABLE p DROP PARTITION (k = 'a')", ("directory hidden",), BOTH),
        ("ALTER TABLE p DROP PARTITION (k = 'a')", ("partitions dropped",), [(2, "b")]),
        ("ALTER TABLE p RENAME TO q", ("directory moved",), BOTH),
        ("ALTER TABLE p PARTITION (k = 'a') RENAME TO PARTITION (k = 'c')", ("directory moved",), BOTH),
    ],
)  # fmt: skip
def test_killed_in_a_definition(
    warehouse: Path,
    opened: Session,
    statement: str,
    points: tuple[str, ...],
    after: list[tuple[object, ...]] | None,
) -> None:
    """It took place or did not, locks are free at once, and no file is left that nobody owns: what
    was dropped does not come back, and its name can be used again.
    """
    for point in points:
        run_all(
            opened,
            [
                "SET hive.lock.numretries=0",
                P,
                "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
                "CREATE DATABASE d",
                T.replace(" t ", " d.t "),
                "INSERT INTO d.t VALUES (1)",
            ],
        )
        assert killed(warehouse, point, statement)
        assert next(
            opened.sql("SELECT count(*) FROM p" if after else "SELECT count(*) FROM d.t").rows()
        )
        if after is None:
            run_all(opened, [P, "INSERT INTO p VALUES (7, 'a')"])
            assert rows_of(opened, "p") == [(7, "a")]
        else:
            assert rows_of(opened, "p") == after
            opened.sql("INSERT INTO p VALUES (7, 'a')")
            assert rows_of(opened, "p") == sorted([*after, (7, "a")])
        assert garbage(opened) == []
        run_all(opened, ["DROP TABLE p", "DROP DATABASE IF EXISTS d CASCADE"])
        assert [path.name for path in warehouse.iterdir()] == ["_acidsql"]


def test_killed_while_writing_to_a_plain_table(warehouse: Path, opened: Session) -> None:
    """Its files show one by one; hidden ones are taken away, and its locks are free at once."""
    run_all(opened, ["SET hive.lock.numretries=0", PLAIN, "INSERT INTO t VALUES (1)"])
    for point, rows in (
        ("staged", [(1,)]),
        ("published", [(1,), (2,)]),
        ("committed", [(1,), (2,), (2,)]),
    ):
        assert killed(warehouse, point, "INSERT INTO t VALUES (2)")
        assert rows_of(opened, "t") == rows
        opened.sql(f"CREATE TABLE other_{point} (id INT) STORED AS ORC")
        assert garbage(opened) == []
    opened.sql("INSERT OVERWRITE TABLE t VALUES (3)")
    assert rows_of(opened, "t") == [(3,)]


@pytest.mark.parametrize(
    "statement",
    ["INSERT OVERWRITE TABLE t VALUES (2)", "DROP TABLE t", "INSERT OVERWRITE TABLE u VALUES (2)"],
)
def test_killed_while_it_waits_for_a_lock(warehouse: Path, opened: Session, statement: str) -> None:
    """Its place in the queue is free at once, and nothing has happened."""
    run_all(opened, [T, PLAIN.replace(" t ", " u "), "SET hive.lock.numretries=0", "BEGIN"])
    opened.sql("INSERT INTO t VALUES (1)")
    request = LockRequest(
        components=(LockComponent(database="default", table="u", type=LockType.SHARED_READ),)
    )
    held = opened.store.lock(request)
    assert killed(warehouse, "waiting", statement)
    opened.sql("INSERT INTO t VALUES (2)")
    opened.sql("COMMIT")
    opened.store.unlock(held.lock_id)
    opened.sql("INSERT INTO u VALUES (3)")
    assert (rows_of(opened, "t"), rows_of(opened, "u")) == ([(1,), (2,)], [(3,)])
    assert garbage(opened) == []


@pytest.mark.parametrize("point", ["locked", "unlocking"])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO u VALUES (2)",
        "ALTER TABLE u RENAME TO v",
        "ALTER TABLE t ADD COLUMNS (name STRING)",
        "ALTER TABLE p ADD PARTITION (k = 'a')",
        "ALTER TABLE p SET TBLPROPERTIES ('a' = 'b')",
        "MSCK REPAIR TABLE p",
    ],
)
def test_killed_with_locks_of_a_statement(
    warehouse: Path, opened: Session, point: str, statement: str
) -> None:
    """They are free at once."""
    run_all(opened, [T, P, PLAIN.replace(" t ", " u "), "SET hive.lock.numretries=0"])
    assert killed(warehouse, point, statement)
    for table in opened.store.list_tables("default"):
        opened.sql(f"DROP TABLE {table}")
    assert garbage(opened) == []


CLEANING = (
    "staging cleaned",
    "directories hidden",
    "directories cleaned",
    "writes forgotten",
    "directory taken away",
)


@pytest.mark.parametrize("point", CLEANING)
def test_killed_while_cleaning(warehouse: Path, opened: Session, point: str) -> None:
    """The statement of the one who cleaned is committed; the next one goes on with the cleaning."""
    run_all(opened, [T, P, "INSERT INTO p VALUES (1, 'a')", "INSERT INTO t VALUES (1)"])
    run_all(opened, [T.replace(" t ", " gone "), "INSERT INTO gone VALUES (1)"])
    assert killed(warehouse, "published", "INSERT OVERWRITE TABLE t VALUES (5)")
    assert killed(warehouse, "published", "INSERT INTO p VALUES (5, 'new')")
    assert killed(warehouse, "partitions dropped", "ALTER TABLE p DROP PARTITION (k = 'a')")
    assert killed(warehouse, "table dropped", "DROP TABLE gone")
    assert killed(warehouse, point, "INSERT INTO t VALUES (2)")
    before = [(1,)] if point == "directory taken away" else [(1,), (2,)]
    assert rows_of(opened, "t") == before
    opened.sql("INSERT INTO t VALUES (3)")
    assert rows_of(opened, "t") == [*before, (3,)]
    assert rows_of(opened, "p") == []
    assert garbage(opened) == []
