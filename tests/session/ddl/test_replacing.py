"""CREATE OR REPLACE TABLE: a table in the place of another one, or the old one as it was."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.catalog.model import Column, TableName
from acidsql.catalog.types import PrimitiveType
from acidsql.ddl import replacing
from acidsql.ddl.warehouse import Warehouse
from acidsql.errors import BindError, Error, WriteConflictError
from acidsql.planner.bind.bound_catalog import BoundCreateTable
from acidsql.result import Result
from acidsql.session import Session
from tests.session.transactions.test_recovery import killed

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def alone(alone: Session) -> Session:
    """With a table of two rows."""
    alone.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
    alone.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return alone


def check_untouched(session: Session) -> None:
    """The old table is there with its rows, and nothing else."""
    assert sorted(session.sql("SELECT * FROM t")) == [(1, "a"), (2, "b")]
    assert session.sql("SHOW TABLES").fetchall() == [("t",)]


def test_a_table_is_replaced(alone: Session, tmp_path: Path) -> None:
    """With its columns, rows and kind; what is left is one table and one directory, which takes
    changes.
    """
    alone.sql(f"CREATE OR REPLACE TABLE t (k BIGINT) {ACID}")
    assert alone.sql("SELECT * FROM t").fetchall() == []
    alone.sql("INSERT INTO t VALUES (5)")
    alone.sql("CREATE OR REPLACE TABLE t (line STRING)")
    assert alone.sql("DESCRIBE t").fetchall() == [("line", "string", "")]
    alone.sql("CREATE OR REPLACE TABLE t LIKE t TBLPROPERTIES ('a'='b')")
    assert alone.sql("SHOW TBLPROPERTIES t ('a')").fetchall()[0][-1] == "b"
    assert alone.sql("SHOW TABLES").fetchall() == [("t",)]
    [directory] = [name for name in os.listdir(tmp_path / "w") if not name.startswith("_")]
    assert directory.startswith("t__new_")  # no directory moves


def test_a_new_table_may_be_made_of_the_old_one(alone: Session) -> None:
    """The query reads the old rows; the new ones are counted."""
    done = alone.sql(f"CREATE OR REPLACE TABLE t {ACID} AS SELECT id + 10 AS k FROM t")
    assert (done.stats.statement, done.stats.rows_inserted) == ("CREATE OR REPLACE TABLE", 2)
    alone.sql("UPDATE t SET k = 20 WHERE k = 12")
    assert sorted(alone.sql("SELECT k FROM t")) == [(11,), (20,)]


def test_where_there_is_none_it_is_made(alone: Session) -> None:
    """As by CREATE TABLE."""
    alone.sql(f"CREATE OR REPLACE TABLE new {ACID} AS SELECT * FROM t")
    assert len(alone.sql("SELECT * FROM new")) == 2


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE OR REPLACE TABLE t {ACID} AS SELECT nix FROM t",
        f"CREATE OR REPLACE TABLE t {ACID} AS SELECT date(name) AS d, 1 / 0 AS e FROM t",
        f"CREATE OR REPLACE TABLE t {ACID} AS SELECT NULL AS a",
        "CREATE OR REPLACE TABLE t (a INT, a INT)",
        "CREATE OR REPLACE TABLE IF NOT EXISTS t (a INT)",
    ],
)
def test_a_new_table_that_cannot_be_made(alone: Session, statement: str) -> None:
    """The old one is what it was."""
    alone.sql("SET acidsql.ansi=true")
    with pytest.raises(Error):
        alone.sql(statement)
    check_untouched(alone)


def test_names_that_cannot_change(alone: Session, tmp_path: Path) -> None:
    """A transaction writes to the old table: it is what it was, and the new one is gone."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as other:
        other.begin()
        other.sql("INSERT INTO t VALUES (3, 'c')")
        alone.sql("SET hive.lock.numretries=0")
        with pytest.raises(Error):
            alone.sql(f"CREATE OR REPLACE TABLE t {ACID} AS SELECT 1 AS a")
        other.rollback()
    check_untouched(alone)


def test_a_change_meanwhile(alone: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old table gets a column while the new one is made: it stays, with that."""
    make = replacing.create_table

    def made_late(warehouse: Warehouse, new: BoundCreateTable) -> Result:
        result = make(warehouse, new)
        before = warehouse.store.find_table(TableName("default", "t"))
        assert before is not None
        grown = (*before.columns, Column(name="more", type=PrimitiveType("int")))
        warehouse.store.alter_table(before, replace(before, columns=grown))
        return result

    monkeypatch.setattr(replacing, "create_table", made_late)
    with pytest.raises(WriteConflictError, match="was changed by another session"):
        alone.sql("CREATE OR REPLACE TABLE t (a INT)")
    assert sorted(alone.sql("SELECT id, more FROM t")) == [(1, None), (2, None)]
    assert alone.sql("SHOW TABLES").fetchall() == [("t",)]


@pytest.mark.processes
@pytest.mark.parametrize("point", ["table made", "tables exchanged"])
def test_killed(warehouse: Path, point: str) -> None:
    """There is a whole table of the name at any time, and the other one under a name that says
    which.
    """
    with Session(warehouse, settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (id INT) {ACID}")
        session.sql("INSERT INTO t VALUES (1), (2)")
        assert killed(
            warehouse, point, f"CREATE OR REPLACE TABLE t {ACID} AS SELECT id + 10 AS id FROM t"
        )
        rows = [[(1,), (2,)], [(11,), (12,)]]
        if point == "tables exchanged":
            rows.reverse()
        [t, other] = (name for (name,) in session.sql("SHOW TABLES"))
        assert t == "t"
        assert other.startswith("t__new_" if point == "table made" else "t__old_")
        assert [sorted(session.sql(f"SELECT * FROM {name}")) for name in (t, other)] == rows
        session.sql("INSERT INTO t VALUES (7)")
        session.sql(f"DROP TABLE {other}")
        assert len(session.sql("SELECT * FROM t")) == 3


def test_readers_of_the_old_table_keep_its_rows(alone: Session, tmp_path: Path) -> None:
    """Of this session and of another one."""
    late = alone.sql("SELECT id FROM t")
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as other:
        there = other.sql("SELECT name FROM t")
        alone.sql("CREATE OR REPLACE TABLE t (a INT)")
        assert sorted(late) == [(1,), (2,)]
        assert sorted(there) == [("a",), ("b",)]


def test_an_external_table_keeps_its_files(alone: Session, tmp_path: Path) -> None:
    """As by DROP TABLE."""
    folder = tmp_path / "files"
    alone.sql(f"CREATE EXTERNAL TABLE e (id INT) STORED AS ORC LOCATION '{folder}'")
    alone.sql("INSERT INTO e VALUES (1)")
    alone.sql(f"CREATE OR REPLACE TABLE e {ACID} AS SELECT id + 1 AS id FROM e")
    assert alone.sql("SELECT * FROM e").fetchall() == [(2,)]
    assert len(list(folder.iterdir())) == 1


def test_views_and_transactions(alone: Session) -> None:
    """A view is not replaced; an open transaction takes no such statement."""
    alone.sql("CREATE VIEW v AS SELECT 1 AS a")
    with pytest.raises(BindError, match="is a view") as caught:
        alone.sql("CREATE OR REPLACE TABLE v (a INT)")
    assert caught.value.column == 25
    alone.sql("START TRANSACTION")
    with pytest.raises(BindError):
        alone.sql("CREATE OR REPLACE TABLE t (a INT)")
    alone.sql("ROLLBACK")
    lines = [line for (line,) in alone.sql("DRY RUN CREATE OR REPLACE TABLE t (a INT)")]
    assert any(line.startswith("DROP TABLE default.t: 2 rows") for line in lines)
