"""Two transactions side by side, and a compaction between their commits: it fails neither, and hides
no conflict.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import WriteConflictError
from acidsql.session import Session
from acidsql.txn.compactions import CompactionType
from tests.compaction.cleaning import ACID, clean_all, queued, states
from tests.compaction.compacting import MAJOR, MINOR, directories

pytestmark = pytest.mark.spark

QUERY = "SELECT * FROM t ORDER BY id"


@pytest.fixture
def other(session: Session, warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """Another user of the same warehouse. The table ``t`` has the rows 1 to 4, of two statements,
    and a compaction behind it.
    """
    session.sql(f"CREATE TABLE t (id INT, n INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    session.sql("INSERT INTO t VALUES (3, 30), (4, 40)")
    with Session(str(warehouse), spark=spark) as opened:
        yield opened


def compact_in_turn(session: Session, kinds: tuple[CompactionType, ...]) -> None:
    """Each compaction has an insert before it, so that it has something to do."""
    for kind in kinds:
        session.sql("INSERT INTO t VALUES (9, 90)")
        assert queued(session, "t", kind)
        clean_all(session)


KINDS = [(MINOR,), (MAJOR,), (MINOR, MAJOR)]


@pytest.mark.parametrize("kinds", KINDS)
def test_changes_of_different_rows_both_commit(
    session: Session, other: Session, kinds: tuple[CompactionType, ...]
) -> None:
    """Though what the first has deleted is in a base when the second commits."""
    session.sql("START TRANSACTION")
    session.sql("SELECT count(*) FROM t").to_arrow()
    other.sql("UPDATE t SET n = 22 WHERE id = 2")
    compact_in_turn(other, kinds)
    session.sql("UPDATE t SET n = 11 WHERE id = 1")
    assert "delete_delta_0000003_0000003_0000" in directories(session, "t")
    session.sql("COMMIT")
    expected = [(1, 11), (2, 22), (3, 30), (4, 40), *[(9, 90)] * len(kinds)]
    assert list(other.sql(QUERY).rows()) == expected
    clean_all(other)
    assert set(states(other)) == {"succeeded"}
    queued(other, "t", MAJOR)
    clean_all(other)
    assert list(session.sql(QUERY).rows()) == expected


def test_what_is_open_is_not_compacted(session: Session, other: Session) -> None:
    """Nor what is committed behind it: the compaction takes what comes before."""
    session.sql("START TRANSACTION")
    session.sql("UPDATE t SET n = 11 WHERE id = 1")
    other.sql("UPDATE t SET n = 22 WHERE id = 2")
    compact_in_turn(other, (MAJOR,))
    assert "base_0000002" in directories(other, "t")
    session.sql("COMMIT")
    clean_all(other)
    assert states(other) == ["succeeded"]
    expected = [(1, 11), (2, 22), (3, 30), (4, 40), (9, 90)]
    assert list(other.sql(QUERY).rows()) == expected


@pytest.mark.parametrize("kinds", KINDS)
def test_changes_of_one_row_still_conflict(
    session: Session, other: Session, kinds: tuple[CompactionType, ...]
) -> None:
    """The second to commit is told which row, though that lies in a base by now."""
    session.sql("START TRANSACTION")
    session.sql("SELECT count(*) FROM t").to_arrow()
    other.sql("UPDATE t SET n = 22 WHERE id = 2")
    compact_in_turn(other, kinds)
    session.sql("DELETE FROM t WHERE id IN (2, 3)")
    with pytest.raises(WriteConflictError, match=r"both changed 1 row, ROW__ID \{") as caught:
        session.sql("COMMIT")
    assert '"writeid":1' in str(caught.value)
    expected = [(1, 10), (2, 22), (3, 30), (4, 40), *[(9, 90)] * len(kinds)]
    assert list(session.sql(QUERY).rows()) == expected
