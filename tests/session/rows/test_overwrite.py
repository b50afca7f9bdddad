"""INSERT OVERWRITE: nothing it has not seen is hidden, and no base of a statement that failed
stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidsql import crash_points
from acidsql.catalog.model import TableName
from acidsql.errors import Error, WriteConflictError
from acidsql.session import Session

pytestmark = pytest.mark.spark

T = TableName("default", "t")
TABLE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def rows(session: Session) -> list[Any]:
    return sorted(row[0] for row in session.sql("SELECT id FROM t").rows())


def names(warehouse: Path) -> list[str]:
    return sorted(path.name for path in (warehouse / "t").iterdir())


@pytest.fixture
def table(session: Session) -> Session:
    session.sql(TABLE)
    session.sql("INSERT INTO t VALUES (1)")
    return session


@pytest.mark.parametrize("point", ["begun", "written"])
def test_a_row_inserted_meanwhile_is_never_hidden(
    table: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """An INSERT without locks that was committed after the overwriting began makes it fail; the base is gone,
    both rows are there.
    """
    other = Session(warehouse, settings={"hive.support.concurrency": "false"})

    def meanwhile(reached: str) -> None:
        if reached == point:
            monkeypatch.setattr(crash_points, "reached", lambda _: None)
            other.sql("INSERT INTO t VALUES (2)")

    monkeypatch.setattr(crash_points, "reached", meanwhile)
    with pytest.raises(WriteConflictError):
        table.sql("INSERT OVERWRITE TABLE t SELECT id + 10 FROM t")
    assert rows(table) == [1, 2]
    assert not [name for name in names(warehouse) if name.startswith("base")]
    table.sql("INSERT OVERWRITE TABLE t SELECT id + 10 FROM t")
    assert rows(table) == [11, 12]
    other.close()


def test_an_insert_that_an_overwriting_would_hide_fails(
    table: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An INSERT with a lower write id than a base that heeds no lock is refused
    instead of lost.
    """
    other = Session(warehouse, settings={"hive.support.concurrency": "false"})

    def meanwhile(reached: str) -> None:
        if reached == "begun":
            monkeypatch.setattr(crash_points, "reached", lambda _: None)
            other.sql("INSERT OVERWRITE TABLE t VALUES (5)")

    monkeypatch.setattr(crash_points, "reached", meanwhile)
    with pytest.raises(WriteConflictError):
        table.sql("INSERT INTO t VALUES (2)")
    assert rows(table) == [5]
    table.sql("INSERT INTO t VALUES (2)")
    assert rows(table) == [2, 5]
    other.close()


def test_a_failure_behind_the_writing_takes_the_base_back(
    table: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hive 3.1 trips over a base that is not valid: none stays, whatever fails."""

    def fail(reached: str) -> None:
        if reached == "written":
            raise OSError("no")

    monkeypatch.setattr(crash_points, "reached", fail)
    with pytest.raises((Error, OSError)):
        table.sql("INSERT OVERWRITE TABLE t VALUES (5)")
    monkeypatch.undo()
    assert names(warehouse) == ["delta_0000001_0000001_0000"]
    assert rows(table) == [1]


def test_a_killed_overwriting_leaves_no_base_for_long(table: Session, warehouse: Path) -> None:
    """A base whose transaction was aborted, on which Hive 3.1 would fail, is removed by the next
    statement that changes anything.
    """
    opened = table.store.begin([T])
    base = warehouse / "t" / f"base_{opened.write_ids[T]:07d}"
    base.mkdir()
    (base / "_orc_acid_version").write_text("2")
    table.store.abort(opened.txn_id)
    assert rows(table) == [1]
    assert base.exists()
    table.sql("UPDATE t SET id = 3")
    assert not base.exists()
    assert rows(table) == [3]


def test_legs_of_one_statement_become_visible_together(
    table: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing second leg takes the first one's rows back."""
    table.sql("CREATE TABLE u (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    with pytest.raises(Error):
        table.sql(
            "FROM t INSERT INTO u SELECT id + 1 INSERT INTO t SELECT CAST(raise_error('no') AS INT)"
        )
    assert rows(table) == [1]
    assert table.sql("SELECT count(*) FROM u").to_arrow().to_pylist()[0]["count(1)"] == 0
    stats = table.sql("FROM t INSERT INTO u SELECT id + 1 INSERT INTO t SELECT id + 2").stats
    assert stats.rows_inserted == 2
    assert set(stats.write_ids) == {"default.u", "default.t"}
    assert rows(table) == [1, 3]
