"""RETURNING: the rows that a statement has written, as it has written them."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from acidsql import crash_points
from acidsql.errors import (
    BindError,
    ColumnNotFoundError,
    Error,
    ParseError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def alone(alone: Session) -> Session:
    """With a table of three rows."""
    alone.sql(f"CREATE TABLE t (id INT, name VARCHAR(4), n DECIMAL(6,2) DEFAULT 1.5) {ACID}")
    alone.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, NULL)")
    return alone


def test_insert_gives_what_is_stored(alone: Session) -> None:
    """With defaults, as the columns' types have it, under the names that are asked for; the counts
    are those of the statement.
    """
    done = alone.sql("INSERT INTO t (id, name) VALUES (4, 'too long') RETURNING *, n * 2 AS twice")
    assert [column.name for column in done.columns] == ["id", "name", "n", "twice"]
    assert done.fetchall() == [(4, "too ", Decimal("1.50"), Decimal("3.00"))]
    assert (done.stats.statement, done.stats.rows_inserted) == ("INSERT", 1)
    assert done.stats.txn_id is not None
    assert "too long" in str(done.warnings[0])
    done = alone.sql("INSERT INTO t SELECT id + 10, name, n FROM t WHERE id < 3 RETURNING t.id")
    assert done.to_arrow().to_pydict() == {"id": [11, 12]}


def test_row_ids_are_those_that_a_query_finds(alone: Session) -> None:
    """Of new rows and of changed ones, whole and in parts."""
    for statement in (
        "INSERT INTO t VALUES (4, 'd', 4), (5, 'e', 5) RETURNING id, ROW__ID, row__id.rowid",
        "UPDATE t SET n = n + 1 WHERE id > 3 RETURNING id, t.ROW__ID, t.ROW__ID.rowid",
    ):
        done = alone.sql(statement)
        assert [column.name for column in done.columns] == ["id", "ROW__ID", "rowid"]
        query = "SELECT id, ROW__ID, ROW__ID.rowid FROM t WHERE id > 3 ORDER BY id"
        assert sorted(done.fetchall(), key=str) == alone.sql(query).fetchall()


def test_update_gives_new_values_and_delete_old_ones(alone: Session) -> None:
    """No row where none was changed."""
    done = alone.sql(
        "UPDATE t x SET n = coalesce(n, 0) + 1 WHERE id > 1 RETURNING x.id, n, upper(name)"
    )
    assert sorted(done.fetchall()) == [(2, Decimal("3.00"), "B"), (3, Decimal("1.00"), None)]
    assert done.stats.rows_updated == 2
    done = alone.sql("DELETE FROM t WHERE id IN (1, 3) RETURNING *")
    assert sorted(done.fetchall()) == [(1, "a", Decimal("1.00")), (3, None, Decimal("1.00"))]
    assert done.stats.rows_deleted == 2
    assert alone.sql("DELETE FROM t WHERE id = 99 RETURNING id").fetchall() == []
    assert alone.sql("SELECT id FROM t").fetchall() == [(2,)]


def test_merge_gives_new_rows(alone: Session) -> None:
    """Those that it has updated and those that it has inserted."""
    done = alone.sql(
        "MERGE INTO t USING (VALUES (1, 'x'), (9, 'y')) s(id, name) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name) RETURNING id, name, n"
    )
    assert sorted(done.fetchall()) == [(1, "x", Decimal("1.00")), (9, "y", Decimal("1.50"))]
    assert (done.stats.rows_inserted, done.stats.rows_updated) == (1, 1)


def test_merge_gives_what_deleted_rows_were(alone: Session) -> None:
    """Beside the new rows, with their ROW__IDs; also of rows that no row of the source is for."""
    before = dict(alone.sql("SELECT id, ROW__ID FROM t").fetchall())
    done = alone.sql(
        "MERGE INTO t USING (VALUES (1, 'x'), (2, 'y'), (9, 'z')) s(id, name) ON t.id = s.id"
        " WHEN MATCHED AND s.name = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
        " RETURNING id, name, n, ROW__ID"
    )
    rows = {row[0]: row[1:] for row in done.fetchall()}
    assert {key: row[:2] for key, row in rows.items()} == {
        1: ("a", Decimal("1.00")),
        2: ("y", Decimal("2.00")),
        9: ("z", Decimal("1.50")),
    }
    assert rows[1][2] == before[1]
    assert rows[2][2] != before[2]
    assert (done.stats.rows_inserted, done.stats.rows_updated, done.stats.rows_deleted) == (1, 1, 1)
    done = alone.sql(
        "MERGE INTO t USING (VALUES (2), (3)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING name, n"
    )
    assert sorted(done.fetchall(), key=str) == [
        ("y", Decimal("2.00")),
        ("z", Decimal("1.50")),
        (None, None),
    ]
    assert alone.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_partitions_and_buckets(alone: Session) -> None:
    """The columns of partitions are among them, NULL too."""
    alone.sql(
        "CREATE TABLE p (id INT) PARTITIONED BY (day DATE, k STRING) CLUSTERED BY (id) INTO 2"
        f" BUCKETS {ACID}"
    )
    alone.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    day = datetime.date(2026, 1, 1)
    done = alone.sql("INSERT INTO p VALUES (1, DATE '2026-01-01', 'x'), (2, NULL, 'y') RETURNING *")
    assert sorted(done.fetchall()) == [(1, day, "x"), (2, None, "y")]
    done = alone.sql("DELETE FROM p WHERE id > 0 RETURNING k, id, day")
    assert sorted(done.fetchall()) == [("x", 1, day), ("y", 2, None)]


def test_tables_without_ids(alone: Session) -> None:
    """INSERT gives the rows of plain and of insert-only tables."""
    only = "'transactional'='true', 'transactional_properties'='insert_only'"
    for properties in ("", f" TBLPROPERTIES ({only})"):
        alone.sql("DROP TABLE IF EXISTS o")
        alone.sql(f"CREATE TABLE o (id INT, k STRING) STORED AS ORC{properties}")
        assert alone.sql("INSERT INTO o VALUES (1, 'x') RETURNING k, id").fetchall() == [("x", 1)]
        with pytest.raises(BindError, match=r"rows of table default\.o have no ROW__ID"):
            alone.sql("INSERT INTO o VALUES (1, 'x') RETURNING ROW__ID")
    alone.sql("CREATE TABLE q (id INT) STORED AS PARQUET")
    with pytest.raises(UnsupportedStatementError, match="wants a table of ORC files"):
        alone.sql("INSERT INTO q VALUES (1) RETURNING id")


@pytest.mark.parametrize(
    ("clause", "error", "message"),
    [
        ("nix", ColumnNotFoundError, "nix"),
        ("x.id", Error, "x"),
        ("id FROM t", ParseError, 'unexpected "FROM"'),
        ("DISTINCT id WHERE id = 1", ParseError, 'unexpected "WHERE"'),
        ("(SELECT max(id) FROM t)", BindError, "no sub-queries"),
        ("id,", ParseError, "an expression is missing"),
        ("", ParseError, "unexpected end"),
    ],
)
def test_lists_that_are_none(alone: Session, clause: str, error: type[Error], message: str) -> None:
    """They are refused at their place, and nothing is deleted."""
    with pytest.raises(error, match=message) as caught:
        alone.sql(f"DELETE FROM t WHERE id = 1 RETURNING {clause}")
    assert caught.value.span is not None
    assert alone.sql("SELECT count(*) FROM t").fetchall() == [(3,)]


def test_a_list_that_was_forgotten_is_no_alias(alone: Session) -> None:
    """Or every row would go."""
    for statement in ("DELETE FROM t RETURNING", "UPDATE t RETURNING SET n = 1"):
        with pytest.raises(ParseError):
            alone.sql(statement)
    assert alone.sql("SELECT count(*) FROM t WHERE n = 2").fetchall() == [(1,)]
    alone.sql("SET acidsql.strict.hive=true")
    with pytest.raises(UnsupportedStatementError, match="not Hive SQL"):
        alone.sql("DELETE FROM t RETURNING id")


def test_returning_is_a_name_elsewhere(alone: Session) -> None:
    """Of a column, of a table's alias, of an output."""
    alone.sql(f"CREATE TABLE r (returning INT) {ACID}")
    alone.sql("INSERT INTO r SELECT id AS returning FROM t AS returning")
    done = alone.sql(
        "UPDATE r SET returning = returning + 1 WHERE NOT returning = 3 RETURNING `returning`"
    )
    assert sorted(done.fetchall()) == [(2,), (3,)]
    assert alone.sql("SELECT `returning` FROM r WHERE `returning` = 2").fetchall() == [(2,)]


def test_only_committed_rows_are_given(alone: Session) -> None:
    """Where the commit fails nothing is given; in a transaction rows are those that it has."""
    with Session(alone.warehouse, settings={"acidsql.engine": "local"}) as other:

        def change(point: str) -> None:
            if point == "written":
                crash_points.hook = None
                other.sql("DELETE FROM t WHERE id = 1")

        crash_points.hook = change
        with pytest.raises(WriteConflictError):
            alone.sql("UPDATE t SET n = 0 WHERE id = 1 RETURNING id")
    alone.sql("START TRANSACTION")
    assert alone.sql("INSERT INTO t (id) VALUES (7) RETURNING id").fetchall() == [(7,)]
    done = alone.sql("UPDATE t SET name = 'own' WHERE id > 2 RETURNING id, name")
    assert sorted(done.fetchall()) == [(3, "own"), (7, "own")]
    assert alone.sql("DELETE FROM t WHERE id = 7 RETURNING name").fetchall() == [("own",)]
    alone.sql("ROLLBACK")
    assert alone.sql("SELECT id FROM t ORDER BY id").fetchall() == [(2,), (3,)]


def test_plans_and_dry_runs(alone: Session) -> None:
    """EXPLAIN says that rows are given back; a dry run gives none."""
    text = "UPDATE t SET n = 0 RETURNING id"
    lines = [line.strip() for (line,) in alone.sql(f"EXPLAIN {text}")]
    assert "give back rows as they are written" in lines
    assert alone.sql(f"DRY RUN {text}").columns[0].name == "Dry run"
    assert alone.sql(f"EXPLAIN ANALYZE {text}").columns[0].name == "Explain"
    assert alone.sql("SELECT count(*) FROM t WHERE n = 0").fetchall() == [(3,)]


@pytest.mark.spark
def test_rows_of_spark(session: Session) -> None:
    """The same by Spark's small path; its big one cannot give rows back, which is said before
    anything is written.
    """
    session.sql("SET acidsql.engine=spark")
    session.sql(f"CREATE TABLE t (id INT, name STRING) PARTITIONED BY (k INT) {ACID}")
    done = session.sql("INSERT INTO t SELECT id, 'a', 1 FROM VALUES (1), (2) AS v(id) RETURNING *")
    assert sorted(done.fetchall()) == [(1, "a", 1), (2, "a", 1)]
    done = session.sql("UPDATE t SET name = upper(name) WHERE id = 2 RETURNING id, name, ROW__ID")
    assert done.fetchall() == session.sql("SELECT id, name, ROW__ID FROM t WHERE id = 2").fetchall()
    done = session.sql(
        "MERGE INTO t USING (SELECT 2 AS id UNION ALL SELECT 3) s ON t.id = s.id WHEN MATCHED THEN"
        " UPDATE SET name = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'i', 2)"
        " RETURNING id, name, k"
    )
    assert sorted(done.fetchall()) == [(2, "m", 1), (3, "i", 2)]
    done = session.sql(
        "MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 4) s ON t.id = s.id WHEN MATCHED THEN"
        " DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'i', 2) RETURNING id, name, k"
    )
    assert sorted(done.fetchall()) == [(1, "a", 1), (4, "i", 2)]
    session.sql("DELETE FROM t WHERE id = 4")
    done = session.sql("DELETE FROM t WHERE id > 1 RETURNING k, name, id")
    assert sorted(done.fetchall()) == [(1, "m", 2), (2, "i", 3)]
    session.sql("SET acidsql.write.path=big")
    with pytest.raises(UnsupportedStatementError, match="rows that the driver writes"):
        session.sql("DELETE FROM t RETURNING id")
    session.sql("RESET acidsql.write.path")
    session.sql("INSERT INTO t SELECT id, 'many', 1 FROM range(20000)")
    session.sql("SET acidsql.write.driver.max.bytes=1000")
    with pytest.raises(UnsupportedStatementError, match="the driver can hold"):
        session.sql("DELETE FROM t RETURNING id")
    assert session.sql("SELECT count(*) FROM t").fetchall() == [(20000,)]
