"""A process that is killed while it makes an overlay, changes it or lets go of it: the table is
there or it is not, nothing is left of it when the next statement has ended, and the files of others
are what they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.session import Session
from tests.attach.overlays import (
    ACID,
    ASSUMED,
    LOCAL,
    changes,
    contents,
    make_tables,
    overlay,
    rows,
)
from tests.session.transactions.crashes import killed

pytestmark = pytest.mark.processes


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Path]:
    made = make_tables(tmp_path / "others")
    before = contents(made)
    yield made
    assert contents(made) == before


def start(warehouse: Path) -> None:
    """Makes the warehouse, with a table beside the overlays."""
    with Session(warehouse, settings=LOCAL) as session:
        session.sql(f"CREATE TABLE mine (k INT) {ACID}")
        session.sql("INSERT INTO mine VALUES (1)")


def hidden(warehouse: Path) -> list[str]:
    return [path.name for path in warehouse.rglob("*") if path.name.startswith(".acidsql")]


@pytest.mark.parametrize("point", ["table dropped", "directory taken away"])
@pytest.mark.parametrize("table", ["t", "p"])
def test_a_killed_detach_is_ended_by_the_next_statement(
    warehouse: Path, others: Path, table: str, point: str
) -> None:
    """The changes are gone from the drop on; another overlay has the name at once."""
    start(warehouse)
    with Session(warehouse, settings=LOCAL) as session:
        overlay(session, others, table)
        session.sql(f"UPDATE {table} SET v = 'changed'")
    assert killed(warehouse, point, f"DETACH TABLE {table}")
    with Session(warehouse, settings=LOCAL) as session:
        assert rows(session, "SHOW TABLES") == [("mine",)]
        session.sql("INSERT INTO mine VALUES (2)")
        assert not (warehouse / table).exists()
        assert hidden(warehouse) == []
        overlay(session, others, table)
        assert changes(session, table) == "0 inserted, 0 updated, 0 deleted"
        assert ("changed",) not in rows(session, f"SELECT v FROM {table}")
        assert rows(session, "SELECT * FROM mine") == [(1,), (2,)]


@pytest.mark.parametrize("point", ["overlay directory made", "overlay attached"])
def test_a_killed_attach_is_whole_or_not_at_all(warehouse: Path, others: Path, point: str) -> None:
    """Said again, it is made or told to be there."""
    start(warehouse)
    text = f"FROM '{others / 't'}' OVERLAY {ASSUMED} EXCEPT (3)"
    assert killed(warehouse, point, f"ATTACH TABLE t {text}")
    with Session(warehouse, settings=LOCAL) as session:
        there = ("t",) in rows(session, "SHOW TABLES")
        assert there == (point == "overlay attached")
        session.sql(f"ATTACH TABLE IF NOT EXISTS t {text}")
        session.sql("INSERT INTO t VALUES (4, 'd')")
        assert rows(session, "SELECT * FROM t") == [(2, "b"), (3, "C"), (4, "d")]


@pytest.mark.parametrize("point", ["written", "committed"])
def test_a_killed_change_is_seen_whole_or_not_at_all(
    warehouse: Path, others: Path, point: str
) -> None:
    """As of any table; what it has left goes."""
    start(warehouse)
    with Session(warehouse, settings=LOCAL) as session:
        overlay(session, others)
    assert killed(warehouse, point, "UPDATE t SET v = 'changed'")
    with Session(warehouse, settings={**LOCAL, "hive.txn.timeout": "1s"}) as session:
        value = {v for (v,) in session.sql("SELECT v FROM t").rows()}
        assert value == ({"changed"} if point == "committed" else {"b", "C"})
