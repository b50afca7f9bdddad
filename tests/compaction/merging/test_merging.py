"""What a compaction makes of a table: the same rows under the same ids, in fewer files."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.session import Session
from tests.compaction.compacting import (
    MAJOR,
    MINOR,
    clean,
    compact,
    directories,
    rows,
)

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PATHS = ("small", "big")


def fill(session: Session, table: str = "t") -> None:
    """Three statements of inserts, an update and a delete."""
    session.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')")
    session.sql(f"INSERT INTO {table} VALUES (5, 'e')")
    session.sql(f"UPDATE {table} SET v = concat(v, '!') WHERE id < 3")
    session.sql(f"DELETE FROM {table} WHERE id = 4")


@pytest.mark.parametrize("path", PATHS)
def test_major(session: Session, path: str) -> None:
    """A major compaction leaves one base, whose rows have the ids they had."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    fill(session)
    before = rows(session, "t")
    session.sql(f"SET acidsql.write.path={path}")
    [merged] = compact(session, "t", MAJOR)
    assert merged is not None
    assert merged.outputs == ("base_0000004",)
    assert merged.rows == 4
    assert rows(session, "t") == before
    clean(session, "t")
    assert directories(session, "t") == ["base_0000004"]
    assert rows(session, "t") == before
    assert compact(session, "t", MAJOR) == [None]


@pytest.mark.parametrize("path", PATHS)
def test_minor(session: Session, path: str) -> None:
    """A minor compaction leaves one delta and one delete delta over all write ids."""
    session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    fill(session)
    before = rows(session, "t")
    session.sql(f"SET acidsql.write.path={path}")
    [merged] = compact(session, "t", MINOR)
    assert merged is not None
    assert merged.outputs == ("delta_0000001_0000004", "delete_delta_0000001_0000004")
    assert rows(session, "t") == before
    clean(session, "t")
    assert directories(session, "t") == ["delete_delta_0000001_0000004", "delta_0000001_0000004"]
    assert rows(session, "t") == before
    assert compact(session, "t", MINOR) == [None]
    session.sql("UPDATE t SET v = 'x' WHERE id = 5")
    after = rows(session, "t")
    assert compact(session, "t", MAJOR) != [None]
    clean(session, "t")
    assert directories(session, "t") == ["base_0000005"]
    assert rows(session, "t") == after


def test_no_java_is_needed(warehouse: Path) -> None:
    """A small table is compacted without Spark."""
    with Session(str(warehouse)) as session:
        session.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
        for number in range(3):
            session.sql(f"INSERT INTO t VALUES ({number}, 'v')")
        assert compact(session, "t", MINOR) != [None]
        clean(session, "t")
        session.sql("INSERT INTO t VALUES (9, 'v')")
        assert compact(session, "t", MAJOR) != [None]
        assert not session.engine.started
