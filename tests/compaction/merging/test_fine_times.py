"""Compaction of timestamps finer than Spark's and ours."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.session import Session
from acidsql.txn.compactions import CompactionState
from tests.compaction.compacting import MAJOR, directories, find, work
from tests.compaction.conftest import ACID

pytestmark = pytest.mark.spark

FINE = 1_000_000_000_000_000_001


@pytest.mark.parametrize("path", ["auto", "big"])
@pytest.mark.parametrize("nested", [False, True])
def test_nothing_is_cut(session: Session, path: str, nested: bool) -> None:
    """A file with nanoseconds that lies in a table is refused, by either way, and stays."""
    kind = pa.timestamp("ns")
    of_table = "array<struct<x:timestamp>>" if nested else "timestamp"
    values = (
        pa.array([[{"x": FINE}], None], pa.list_(pa.struct([("x", kind)])))
        if nested
        else pa.array([FINE, None], kind)
    )
    session.sql(f"CREATE TABLE t (id INT, v {of_table}) {ACID.format('')}")
    location = Path(find(session, "t").location)
    orc.write_table(
        pa.table({"id": pa.array([1, 2], pa.int32()), "v": values}), location / "000000_0"
    )
    session.sql("DELETE FROM t WHERE id = 7")
    session.sql("INSERT INTO t SELECT 3, NULL")
    before = directories(session, "t")
    session.sql(f"SET acidsql.write.path={path}")
    done = work(session, "t", MAJOR)
    assert done.state is CompactionState.FAILED
    assert "finer than can be carried over" in (done.message or "")
    assert directories(session, "t") == before


def test_far_times_of_ours_are_compacted(session: Session) -> None:
    """Rows without ids and in years that nanoseconds do not reach are no reason to refuse."""
    only = "'transactional'='true', 'transactional_properties'='insert_only'"
    session.sql(f"CREATE TABLE t (id INT, v TIMESTAMP) STORED AS ORC TBLPROPERTIES ({only})")
    for number in range(2):
        session.sql(f"INSERT INTO t VALUES ({number}, TIMESTAMP '9999-12-31 23:59:59')")
    before = sorted(session.sql("SELECT * FROM t").rows())
    done = work(session, "t", MAJOR)
    assert done.state is CompactionState.READY_FOR_CLEANING, done.message
    assert sorted(session.sql("SELECT * FROM t").rows()) == before
