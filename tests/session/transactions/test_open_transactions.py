"""Transactions over several statements: one snapshot, the own writes, one commit for all tables,
nothing left of what was taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql.commit import unit_of_work
from acidsql.errors import (
    BindError,
    CardinalityError,
    Error,
    InterfaceError,
    OperationalError,
    TransactionAbortedError,
    WriteConflictError,
)
from acidsql.session import Session
from tests.session.rows.acid_files import check_files

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PATHS = ("small", "big")
Rows = list[tuple[Any, ...]]


@pytest.fixture
def other(session: Session, warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """Another user of the same warehouse, whose statements are transactions of their own."""
    with Session(warehouse, spark=spark) as opened:
        yield opened


@pytest.fixture
def tables(session: Session) -> Session:
    """``t`` with three rows, ``b`` (two buckets) and ``p`` (partitioned) without any."""
    run(
        session,
        f"CREATE TABLE t (id INT, n INT) {ACID}",
        f"CREATE TABLE b (id INT, n INT) CLUSTERED BY (id) INTO 2 BUCKETS {ACID}",
        f"CREATE TABLE p (id INT, n INT) PARTITIONED BY (k STRING) {ACID}",
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
    )
    return session


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.sql(statement)


def rows(session: Session, table: str) -> Rows:
    return sorted(session.sql(f"SELECT * FROM {table}").rows(), key=repr)


def listing(warehouse: Path) -> set[str]:
    """All files and directories of the tables, hidden ones too."""
    return {
        str(p.relative_to(warehouse))
        for p in warehouse.rglob("*")
        if "_acidsql" not in p.relative_to(warehouse).parts
    }


def directories(warehouse: Path, table: str) -> set[str]:
    return {
        str(p.relative_to(warehouse / table))
        for p in (warehouse / table).rglob("*delta_*")
        if p.is_dir()
    } | {
        str(p.relative_to(warehouse / table))
        for p in (warehouse / table).rglob("base_*")
        if p.is_dir()
    }


# ---- ids and the snapshot


def test_one_txn_id_one_write_id_a_table_rising_statement_ids(
    tables: Session, warehouse: Path
) -> None:
    """Every statement says so, and so do the names of the directories; nothing has a name before
    the commit.
    """
    before = directories(warehouse, "t")
    tables.sql("START TRANSACTION")
    done = [
        tables.sql(text).stats
        for text in (
            "INSERT INTO t VALUES (4, 40)",
            "INSERT INTO b SELECT id, n FROM t",
            "UPDATE t SET n = n + 1 WHERE id = 1",
            "INSERT INTO p PARTITION (k) SELECT id, n, 'x' FROM b WHERE id < 3",
            "DELETE FROM t WHERE id = 2",
        )
    ]
    assert {stats.txn_id for stats in done} == {2}
    assert [dict(stats.write_ids) for stats in done] == [
        {f"default.{name}": 2 if name == "t" else 1} for name in "tbtpt"
    ]
    assert [(stats.rows_inserted, stats.rows_updated, stats.rows_deleted) for stats in done] == [
        (1, 0, 0),
        (4, 0, 0),
        (0, 1, 0),
        (2, 0, 0),
        (0, 0, 1),
    ]
    assert directories(warehouse, "t") == before
    tables.sql("COMMIT")
    assert directories(warehouse, "t") - before == {
        "delta_0000002_0000002_0000",
        "delete_delta_0000002_0000002_0002",
        "delta_0000002_0000002_0002",
        "delete_delta_0000002_0000002_0004",
    }
    assert directories(warehouse, "b") == {"delta_0000001_0000001_0001"}
    assert directories(warehouse, "p") == {"k=x/delta_0000001_0000001_0003"}
    check_files(tables, "t", "b", "p")
    assert rows(tables, "t") == [(1, 11), (3, 30), (4, 40)]
    assert rows(tables, "p") == [(1, 10, "x"), (2, 20, "x")]


def test_the_snapshot_is_taken_at_the_first_statement(tables: Session, other: Session) -> None:
    """What others commit behind START TRANSACTION is still seen, behind the first statement not any
    more; behind the end it is.
    """
    tables.sql("START TRANSACTION")
    other.sql("INSERT INTO t VALUES (4, 40)")
    assert len(rows(tables, "t")) == 4
    other.sql("INSERT INTO t VALUES (5, 50)")
    other.sql("INSERT INTO b VALUES (1, 1)")
    other.sql("INSERT INTO p PARTITION (k = 'new') VALUES (1, 1)")
    other.sql("DELETE FROM t WHERE id = 1")
    tables.sql("INSERT INTO t VALUES (6, 60)")
    assert [row[0] for row in rows(tables, "t")] == [1, 2, 3, 4, 6]
    assert (rows(tables, "b"), rows(tables, "p")) == ([], [])
    tables.sql("COMMIT")
    assert [row[0] for row in rows(tables, "t")] == [2, 3, 4, 5, 6]
    assert (rows(tables, "b"), rows(tables, "p")) == ([(1, 1)], [(1, 1, "new")])


def test_others_see_all_tables_change_at_once(tables: Session, other: Session) -> None:
    """Not a row before COMMIT, every row behind it."""
    with tables.transaction():
        run(
            tables,
            "INSERT INTO b SELECT * FROM t",
            "DELETE FROM t",
            "INSERT INTO p VALUES (1, 1, 'x')",
        )
        assert (len(rows(other, "t")), rows(other, "b"), rows(other, "p")) == (3, [], [])
        assert list(other.sql("SHOW PARTITIONS p").rows()) == []
        assert (rows(tables, "t"), len(rows(tables, "b")), rows(tables, "p")) == (
            [],
            3,
            [(1, 1, "x")],
        )
    assert (rows(other, "t"), len(rows(other, "b")), rows(other, "p")) == ([], 3, [(1, 1, "x")])
    assert list(other.sql("SHOW PARTITIONS p").rows()) == [("k=x",)]


# ---- the transaction's own rows


@pytest.mark.parametrize(
    ("path", "table"),
    [
        *(("small", table) for table in ("t", "b")),
        ("big", "p"),
        *(pytest.param("big", table, marks=pytest.mark.slow) for table in ("t", "b")),
        pytest.param("small", "p", marks=pytest.mark.slow),
    ],
)
def test_own_rows_can_be_changed(tables: Session, path: str, table: str) -> None:
    """Rows inserted, updated, deleted and merged by the statements before; once committed no delete
    event aims at one of them.
    """
    tables.sql(f"SET acidsql.write.path={path}")
    key = ", 'x'" if table == "p" else ""
    tables.sql(f"TRUNCATE TABLE {table}")
    tables.sql(f"INSERT INTO {table} SELECT id, 0{key} FROM range(6)")
    with tables.transaction():
        run(
            tables,
            f"INSERT INTO {table} SELECT id + 10, 1{key} FROM range(6)",
            f"UPDATE {table} SET n = n + 100 WHERE id IN (0, 1, 10, 11)",
            f"UPDATE {table} SET n = n + 100 WHERE id IN (1, 2, 11, 12)",
            f"DELETE FROM {table} WHERE id IN (2, 3, 12, 13)",
            f"MERGE INTO {table} USING (SELECT explode(array(1, 4, 11, 14, 20, 21)) AS id) s ON {table}.id = s.id "
            "WHEN MATCHED AND s.id IN (4, 14) THEN DELETE WHEN MATCHED THEN UPDATE SET n = -1 "
            f"WHEN NOT MATCHED THEN INSERT VALUES (s.id, 2{key})",
            f"DELETE FROM {table} WHERE id = 20",
        )
        expected = {0: 100, 1: -1, 5: 0, 10: 101, 11: -1, 15: 1, 21: 2}
        assert {row[0]: row[1] for row in rows(tables, table)} == expected
        ids = sorted(tables.sql(f"SELECT id, ROW__ID FROM {table}").rows(), key=repr)
    assert {row[0]: row[1] for row in rows(tables, table)} == expected
    assert sorted(tables.sql(f"SELECT id, ROW__ID FROM {table}").rows(), key=repr) == ids, (
        "a row's id must not change with the commit"
    )
    check_files(tables, table)


@pytest.mark.parametrize("path", PATHS)
def test_rows_that_came_and_went_leave_nothing(tables: Session, warehouse: Path, path: str) -> None:
    """What a transaction inserts and deletes again makes no directory at all."""
    tables.sql(f"SET acidsql.write.path={path}")
    before = listing(warehouse)
    with tables.transaction():
        run(
            tables,
            "INSERT INTO t SELECT 7, 7",
            "UPDATE t SET n = 8 WHERE id = 7",
            "DELETE FROM t WHERE id = 7",
        )
        assert len(rows(tables, "t")) == 3
    assert listing(warehouse) == before
    assert len(rows(tables, "t")) == 3


@pytest.mark.parametrize(
    ("table", "path", "emptied"),
    [
        ("b", "small", "INSERT OVERWRITE TABLE {} SELECT 1, 1{}"),
        ("p", "small", "TRUNCATE TABLE {}"),
        ("p", "big", "INSERT OVERWRITE TABLE {} SELECT 1, 1{}"),
        # how the base came to be is the same on both paths and in both tables
        pytest.param("b", "big", "INSERT OVERWRITE TABLE {} SELECT 1, 1{}", marks=pytest.mark.slow),
        pytest.param("b", "big", "TRUNCATE TABLE {}", marks=pytest.mark.slow),
        pytest.param(
            "p", "small", "INSERT OVERWRITE TABLE {} SELECT 1, 1{}", marks=pytest.mark.slow
        ),
    ],
)
def test_changes_behind_an_overwriting(
    tables: Session, warehouse: Path, path: str, table: str, emptied: str
) -> None:
    """They all end in one base: a delta beside a base of its own write id would not be read."""
    tables.sql(f"SET acidsql.write.path={path}")
    key = ", 'x'" if table == "p" else ""
    tables.sql(f"INSERT INTO {table} SELECT id + 50, 0{key} FROM range(4)")
    with tables.transaction():
        run(
            tables,
            f"INSERT INTO {table} SELECT 99, 99{key}",
            f"DELETE FROM {table} WHERE id = 50",
            emptied.format(table, key),
        )
        left = {1: 1} if "OVERWRITE" in emptied else {}
        assert {row[0]: row[1] for row in rows(tables, table)} == left
        run(
            tables,
            f"INSERT INTO {table} SELECT id + 2, 2{key} FROM range(6)",
            f"UPDATE {table} SET n = 3 WHERE id IN (1, 2, 3)",
            f"DELETE FROM {table} WHERE id = 4",
            f"MERGE INTO {table} USING (SELECT explode(array(3, 5, 30)) AS id) s ON {table}.id = s.id "
            f"WHEN MATCHED AND s.id = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 4 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 5{key})",
        )
        left = {**({1: 3} if left else {}), 2: 3, 3: 4, 6: 2, 7: 2, 30: 5}
        assert {row[0]: row[1] for row in rows(tables, table)} == left
    assert {row[0]: row[1] for row in rows(tables, table)} == left
    assert {p.name for p in warehouse.rglob("*_0000002*")} == {"base_0000002"}
    check_files(tables, table)


def test_a_table_may_be_emptied_twice(tables: Session, warehouse: Path) -> None:
    """The last overwriting counts; an empty base is left of TRUNCATE."""
    with tables.transaction():
        run(
            tables,
            "INSERT OVERWRITE TABLE t VALUES (7, 7)",
            "INSERT INTO t VALUES (8, 8)",
            "TRUNCATE TABLE t",
        )
        assert rows(tables, "t") == []
    assert rows(tables, "t") == []
    assert directories(warehouse, "t") == {"delta_0000001_0000001_0000", "base_0000002"}
    check_files(tables, "t")


def test_tables_read_each_others_changes(tables: Session) -> None:
    """Queries, subqueries, MERGE's source and multi-insert see what stood before them, and never
    themselves.
    """
    with tables.transaction():
        run(
            tables,
            "INSERT INTO b SELECT id, n FROM t",
            "INSERT INTO b SELECT id + 10, n FROM b",
            "UPDATE t SET n = 0 WHERE id IN (SELECT id - 10 FROM b WHERE id > 11)",
            "MERGE INTO t USING b ON t.id = b.id WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.n)",
            "FROM t INSERT INTO t SELECT id + 100, n WHERE id < 3 INSERT INTO p SELECT id, n, 'x' WHERE id > 2",
        )
        expected = [(1, 10), (101, 10), (102, 0), (11, 10), (12, 20), (13, 30), (2, 0), (3, 0)]
        assert rows(tables, "t") == expected
    assert rows(tables, "t") == expected
    assert [row[0] for row in rows(tables, "p")] == [11, 12, 13, 3]
    check_files(tables, "t", "b", "p")


def test_new_partitions_can_be_used_at_once(tables: Session) -> None:
    """Their rows are read, changed, overwritten and truncated by name; SHOW PARTITIONS knows them
    behind COMMIT.
    """
    with tables.transaction():
        run(
            tables,
            "INSERT INTO p PARTITION (k = 'x') VALUES (1, 1)",
            "INSERT INTO p VALUES (2, 2, 'y'), (3, 3, 'z'), (4, 4, 'w')",
        )
        tables.sql("INSERT OVERWRITE TABLE p PARTITION (k = 'x') IF NOT EXISTS VALUES (9, 9)")
        tables.sql("INSERT OVERWRITE TABLE p PARTITION (k = 'y') VALUES (5, 5)")
        tables.sql("TRUNCATE TABLE p PARTITION (k = 'z')")
        assert rows(tables, "p WHERE k <> 'w'") == [(1, 1, "x"), (5, 5, "y")]
        tables.sql("DELETE FROM p WHERE k = 'w'")
        assert list(tables.sql("SHOW PARTITIONS p").rows()) == []
    assert rows(tables, "p") == [(1, 1, "x"), (5, 5, "y")]
    assert sorted(tables.sql("SHOW PARTITIONS p").rows()) == [
        ("k=w",),
        ("k=x",),
        ("k=y",),
        ("k=z",),
    ]
    check_files(tables, "p")


# ---- taking back


@pytest.mark.parametrize("path", PATHS)
def test_rollback_leaves_nothing(
    tables: Session, other: Session, warehouse: Path, path: str
) -> None:
    """No row, no file, no partition, no hidden name; the next statement works."""
    tables.sql(f"SET acidsql.write.path={path}")
    before = listing(warehouse)
    tables.sql("START TRANSACTION")
    run(
        tables,
        "INSERT INTO p SELECT id, n, 'x' FROM t",
        "UPDATE t SET n = 0",
        "UPDATE t SET n = 1",
        "INSERT OVERWRITE TABLE b SELECT * FROM t",
        "TRUNCATE TABLE t",
    )
    assert listing(warehouse) != before
    tables.sql("ROLLBACK")
    assert listing(warehouse) == before
    for session in (tables, other):
        assert (len(rows(session, "t")), rows(session, "b"), rows(session, "p")) == (3, [], [])
        assert list(session.sql("SHOW PARTITIONS p").rows()) == []
    assert tables.sql("INSERT INTO b SELECT * FROM t").stats.rows_inserted == 3
    assert len(rows(other, "b")) == 3


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "close"])
def test_nothing_hidden_is_left(tables: Session, warehouse: Path, end: str) -> None:
    """However a transaction ends, its staging directories are gone, those of failed
    statements too.
    """
    tables.sql("SET acidsql.write.path=big")
    tables.sql("BEGIN")
    run(tables, "UPDATE t SET n = n + 1", "UPDATE t SET n = n + 1", "INSERT INTO b SELECT * FROM t")
    with pytest.raises(Error):
        tables.sql("INSERT INTO p SELECT id, n, if(id = 3, raise_error('no'), 'x') FROM t")
    assert [p for p in warehouse.rglob(".*") if p.name.startswith(".acidsql_")]
    tables.close() if end == "close" else tables.sql(end)
    assert not list(warehouse.rglob(".*"))


def test_the_staging_files_of_a_failed_statement_are_dropped(
    tables: Session, warehouse: Path
) -> None:
    """At once, and not with the end of the transaction."""
    tables.sql("START TRANSACTION")
    tables.sql("INSERT INTO b VALUES (1, 1)")
    before = listing(warehouse)
    for path in PATHS:
        tables.sql(f"SET acidsql.write.path={path}")
        with pytest.raises(Error):
            tables.sql(
                "FROM t INSERT INTO t SELECT id, n INSERT INTO b SELECT id, raise_error('no')"
            )
        with pytest.raises(Error):
            tables.sql("UPDATE t SET n = if(id = 2, raise_error('no'), 1)")
        assert listing(warehouse) == before
    tables.sql("COMMIT")
    assert rows(tables, "b") == [(1, 1)]


def test_a_failing_statement_is_undone_alone(tables: Session, warehouse: Path) -> None:
    """What failed in the middle leaves no row and no partition; what stood before and comes behind
    is committed.
    """
    tables.sql("START TRANSACTION")
    tables.sql("UPDATE t SET n = 11 WHERE id = 1")
    failing = {
        "INSERT INTO t SELECT id, raise_error('no') FROM t": Error,
        "FROM t INSERT INTO p SELECT id, n, 'lost' INSERT INTO b SELECT id, raise_error('no')": Error,
        "MERGE INTO t USING (SELECT explode(array(1, 1)) AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE": CardinalityError,
        "INSERT OVERWRITE TABLE t SELECT id, raise_error('no') FROM t": Error,
        "INSERT INTO nothing VALUES (1)": Error,
        "INSERT INTO t VALUES (1, 2, 3)": BindError,
        "SELECT raise_error('no') FROM t": Error,
        "SELEC": Error,
    }
    for path in PATHS:
        tables.sql(f"SET acidsql.write.path={path}")
        for text, kind in failing.items():
            with pytest.raises(kind):
                tables.sql(text).to_arrow()
            assert rows(tables, "t") == [(1, 11), (2, 20), (3, 30)]
    tables.sql("DELETE FROM t WHERE id = 2")
    tables.sql("COMMIT")
    assert rows(tables, "t") == [(1, 11), (3, 30)]
    assert list(tables.sql("SHOW PARTITIONS p").rows()) == []
    assert directories(warehouse, "b") == directories(warehouse, "p") == set()
    check_files(tables, "t", "b", "p")


def test_an_error_inside_the_context_manager_rolls_back(tables: Session) -> None:
    """And leaves it as it was raised."""

    def change_and_fail() -> None:
        with tables.transaction():
            tables.sql("DELETE FROM t")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()
    assert not tables.in_transaction
    assert len(rows(tables, "t")) == 3


# ---- what cannot be part of it


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE TABLE x (id INT) {ACID}",
        "CREATE DATABASE d",
        "CREATE VIEW v AS SELECT * FROM t",
        "DROP TABLE t",
        "ALTER TABLE t RENAME TO x",
        "ALTER TABLE t ADD COLUMNS (m INT)",
        "ALTER TABLE p ADD PARTITION (k = 'x')",
        "ALTER TABLE p DROP PARTITION (k = 'old')",
    ],
)
def test_ddl_is_refused(tables: Session, statement: str) -> None:
    """With Hive's error 20007 and what to do; the transaction goes on."""
    tables.sql("INSERT INTO p VALUES (1, 1, 'old')")
    tables.sql("START TRANSACTION")
    for _ in range(2):
        with pytest.raises(BindError, match="not allowed in a transaction") as caught:
            tables.sql(statement)
        assert caught.value.code == 20007
        assert "COMMIT or ROLLBACK" in (caught.value.hint or "")
        tables.sql("DELETE FROM t WHERE id = 1")
    assert tables.in_transaction
    tables.sql("COMMIT")
    assert [row[0] for row in rows(tables, "t")] == [2, 3]


def test_a_table_without_transactions_can_be_read(tables: Session) -> None:
    """Only writing to it is refused (see test_plain_in_transaction)."""
    tables.sql("CREATE TABLE plain (id INT) STORED AS ORC")
    tables.sql("INSERT INTO plain VALUES (1)")
    tables.sql("START TRANSACTION")
    tables.sql("INSERT INTO t SELECT id + 10, 0 FROM plain")
    tables.sql("COMMIT")
    assert [row[0] for row in rows(tables, "t")] == [1, 11, 2, 3]


def test_plain_rows_are_those_the_transaction_sees(tables: Session) -> None:
    """Where the setting lets them pass: own changes are among them, what others have committed
    since is not.
    """
    tables.sql("CREATE TABLE plain (id INT) STORED AS ORC")
    tables.sql("SET acidsql.plain.in.transaction=warn")
    with Session(tables.warehouse) as other, tables.transaction():
        tables.sql("INSERT INTO t VALUES (4, 40)")
        other.sql("INSERT INTO t VALUES (5, 50)")
        assert tables.sql("INSERT INTO plain SELECT id FROM t").warnings
        tables.rollback()
    assert rows(tables, "plain") == [(1,), (2,), (3,), (4,)]


def test_looking_around_is_allowed(tables: Session) -> None:
    """USE, SHOW, DESCRIBE, SET and EXPLAIN do not disturb an open transaction."""
    tables.sql("START TRANSACTION")
    tables.sql("INSERT INTO t VALUES (4, 40)")
    for text in (
        "USE default", "SHOW TABLES", "SHOW DATABASES", "SHOW PARTITIONS p", "SHOW CREATE TABLE t", "DESCRIBE FORMATTED t",
        "SET acidsql.write.path=big", "EXPLAIN DELETE FROM t", "EXPLAIN SELECT * FROM t", "SHOW TRANSACTIONS",
    ):  # fmt: skip
        tables.sql(text).to_arrow() if not text.startswith(("USE", "SET ")) else tables.sql(text)
    assert tables.explain("SET AUTOCOMMIT TRUE").startswith(
        "SET AUTOCOMMIT TRUE\n  commit: the open transaction"
    )
    assert (
        tables.explain("COMMIT").splitlines()[-1]
        == "  commit: all of it becomes visible at once, or nothing"
    )
    assert tables.in_transaction
    tables.sql("ROLLBACK")
    assert len(rows(tables, "t")) == 3


def test_read_only(tables: Session, other: Session) -> None:
    """Changes are refused, queries see one snapshot, and nobody is in anybody's way."""
    tables.sql("START TRANSACTION READ ONLY")
    assert len(rows(tables, "t")) == 3
    other.sql("DELETE FROM t WHERE id = 1")
    for text in (
        "INSERT INTO t VALUES (1, 1)",
        "UPDATE t SET n = 1",
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "FROM t INSERT INTO b SELECT id, n",
    ):
        with pytest.raises(BindError, match="READ ONLY"):
            tables.sql(text)
    assert len(rows(tables, "t")) == 3
    tables.sql("COMMIT")
    assert len(rows(tables, "t")) == 2
    tables.sql("START TRANSACTION READ WRITE")
    tables.sql("DELETE FROM t")
    tables.sql("COMMIT")
    assert rows(tables, "t") == []


def test_there_is_room_for_so_many_statements(
    tables: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement id has twelve bits. What has found room can be committed."""
    monkeypatch.setattr(unit_of_work, "MAX_STATEMENT_ID", 1)
    with tables.transaction():
        run(tables, "INSERT INTO t VALUES (4, 40)", "INSERT INTO b VALUES (1, 1)")
        with pytest.raises(OperationalError, match="room for 2 statements"):
            tables.sql("INSERT INTO t VALUES (5, 50)")
    assert [row[0] for row in rows(tables, "t")] == [1, 2, 3, 4]


# ---- beginning and ending


def test_beginning_and_ending(tables: Session) -> None:
    """One at a time; COMMIT and ROLLBACK without one are errors in SQL, as in Hive, and nothing to
    do in Python.
    """
    assert not tables.in_transaction
    for text in ("COMMIT", "ROLLBACK", "COMMIT WORK"):
        with pytest.raises(BindError, match="without an active transaction") as caught:
            tables.sql(text)
        assert caught.value.code == 20008
    tables.commit()
    tables.rollback()
    tables.begin()
    assert tables.in_transaction
    with pytest.raises(InterfaceError, match="open already"):
        tables.begin()
    with pytest.raises(InterfaceError, match="open already"):
        tables.sql("START TRANSACTION")
    tables.commit()
    assert not tables.in_transaction
    assert [t.txn_id for t in tables.store.list_txns()] == [], (
        "a transaction without statements never was"
    )


def test_autocommit(tables: Session, other: Session) -> None:
    """On at first. While it is off the first statement begins a transaction; turning it on commits
    what is open.
    """
    assert tables.autocommit
    tables.sql("SET AUTOCOMMIT FALSE")
    tables.sql("DELETE FROM t WHERE id = 1")
    assert tables.in_transaction
    tables.sql("ROLLBACK")
    tables.sql("ROLLBACK")
    tables.sql("DELETE FROM t WHERE id = 2")
    assert len(rows(other, "t")) == 3
    tables.sql("SET AUTOCOMMIT TRUE")
    assert not tables.in_transaction
    assert [row[0] for row in rows(other, "t")] == [1, 3]
    tables.sql("DELETE FROM t WHERE id = 3")
    assert [row[0] for row in rows(other, "t")] == [1]


def test_without_autocommit_ddl_ends_a_transaction_that_has_only_read(tables: Session) -> None:
    """Where nobody asked for the transaction and nothing could be lost, DDL works as ever."""
    tables.autocommit = False
    assert len(rows(tables, "t")) == 3
    tables.sql(f"CREATE TABLE x (id INT) {ACID}")
    tables.sql("INSERT INTO x VALUES (1)")
    with pytest.raises(BindError, match="DROP TABLE is not allowed"):
        tables.sql("DROP TABLE x")
    tables.commit()
    tables.sql("DROP TABLE x")


def test_results_outlive_the_transaction(tables: Session) -> None:
    """Rows of a SELECT can be fetched behind COMMIT and ROLLBACK, as Spark's DataFrame too."""
    for end in ("ROLLBACK", "COMMIT"):
        tables.sql("START TRANSACTION")
        untouched = tables.sql("SELECT * FROM t")
        tables.sql("INSERT INTO t VALUES (4, 40)")
        tables.sql("DELETE FROM t WHERE id = 1")
        own = tables.sql("SELECT * FROM t")
        tables.sql(end)
        assert sorted(untouched.rows()) == [(1, 10), (2, 20), (3, 30)]
        assert sorted(own.rows()) == [(2, 20), (3, 30), (4, 40)]
        assert sorted(map(tuple, own.df.collect())) == [(2, 20), (3, 30), (4, 40)]
        assert sorted(map(tuple, untouched.df.collect())) == [(1, 10), (2, 20), (3, 30)]


# ---- others


@pytest.mark.parametrize(
    "change", ["UPDATE t SET n = 0 WHERE id = 1", "DELETE FROM t WHERE id = 1", "TRUNCATE TABLE t"]
)
def test_the_first_to_commit_wins(
    tables: Session, other: Session, warehouse: Path, change: str
) -> None:
    """The second gets WriteConflictError at COMMIT, for all its tables; nothing of it is left, and
    it may be run again.
    """
    tables.sql("START TRANSACTION")
    tables.sql("INSERT INTO b VALUES (1, 1)")
    tables.sql("UPDATE t SET n = 100 WHERE id = 1")
    other.sql("SET hive.support.concurrency=false")
    other.sql("START TRANSACTION")
    other.sql(change)
    other.sql("INSERT INTO p VALUES (1, 1, 'x')")
    other.sql("COMMIT")
    after = rows(other, "t")
    with pytest.raises(WriteConflictError) as caught:
        tables.sql("COMMIT")
    assert caught.value.retryable
    assert not tables.in_transaction
    assert rows(tables, "t") == after
    assert rows(tables, "b") == []
    assert directories(warehouse, "b") == set()
    check_files(tables, "t", "b", "p")
    assert {
        int(name.split("_")[1 + name.startswith("delete")]) for name in directories(warehouse, "t")
    } == {1, 3}
    with tables.transaction():
        tables.sql("INSERT INTO b VALUES (1, 1)")
        tables.sql("UPDATE t SET n = 100 WHERE id = 1")
    assert rows(other, "b") == [(1, 1)]


def test_what_does_not_conflict(tables: Session, other: Session) -> None:
    """Inserts into one table; changes of different partitions and of different tables; an insert
    beside an update.
    """
    tables.sql("INSERT INTO p VALUES (1, 1, 'x'), (2, 2, 'y')")
    both = ("INSERT INTO t VALUES ({0}, 0)", "INSERT INTO b SELECT {0}, n FROM t WHERE id = 1")
    mine = (
        "UPDATE p SET n = 10 WHERE k = 'x'",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (60, 0)",
        "DELETE FROM t WHERE id = 60",
    )
    theirs = ("UPDATE p SET n = 20 WHERE k = 'y'",)
    tables.sql("START TRANSACTION")
    other.sql("START TRANSACTION")
    run(tables, *(text.format(4) for text in both), *mine)
    run(other, *(text.format(5) for text in both), *theirs)
    other.sql("COMMIT")
    tables.sql("COMMIT")
    for session in (tables, other):
        assert [row[0] for row in rows(session, "t")] == [2, 3, 4, 5]
        assert rows(session, "b") == [(4, 10), (5, 10)]
        assert rows(session, "p") == [(1, 10, "x"), (2, 20, "y")]
    check_files(tables, "t", "b", "p")


def test_own_rows_do_not_conflict(tables: Session, other: Session) -> None:
    """Changing rows that nobody else can know of is as harmless as inserting them."""
    tables.sql("START TRANSACTION")
    run(
        tables,
        "INSERT INTO t VALUES (4, 40), (5, 50)",
        "UPDATE t SET n = 41 WHERE id = 4",
        "DELETE FROM t WHERE id = 5",
    )
    other.sql("UPDATE t SET n = 0")
    tables.sql("COMMIT")
    assert rows(other, "t") == [(1, 0), (2, 0), (3, 0), (4, 41)]


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_aborted_by_somebody_else(
    tables: Session, other: Session, warehouse: Path, end: str
) -> None:
    """ROLLBACK of what another has aborted is no error; COMMIT says so. Nothing is left, and the
    session can go on.
    """
    before = listing(warehouse)
    tables.sql("START TRANSACTION")
    txn_id = tables.sql("DELETE FROM t").stats.txn_id
    other.sql(f"ABORT TRANSACTIONS {txn_id}")
    if end == "COMMIT":
        with pytest.raises(TransactionAbortedError):
            tables.sql(end)
    else:
        tables.sql(end)
    assert not tables.in_transaction
    assert listing(warehouse) == before
    assert len(rows(tables, "t")) == 3
    assert tables.sql("DELETE FROM t").stats.rows_deleted == 3


def test_statements_of_an_aborted_transaction_fail(tables: Session, other: Session) -> None:
    """They do not begin another one behind the user's back; ROLLBACK ends it."""
    tables.sql("START TRANSACTION")
    txn_id = tables.sql("DELETE FROM t WHERE id = 1").stats.txn_id
    other.sql(f"ABORT TRANSACTIONS {txn_id}")
    with pytest.raises(TransactionAbortedError):
        tables.sql("INSERT INTO b VALUES (1, 1)")
    assert tables.in_transaction
    tables.sql("ROLLBACK")
    assert len(rows(tables, "t")) == 3


def test_a_table_dropped_meanwhile(tables: Session, other: Session, warehouse: Path) -> None:
    """Without locks COMMIT fails for all tables, and puts nothing back where the table was; so does
    a statement before it.
    """
    other.sql("SET hive.support.concurrency=false")
    tables.sql("START TRANSACTION")
    tables.sql("INSERT INTO b VALUES (1, 1)")
    tables.sql("UPDATE t SET n = 0")
    other.sql("DROP TABLE t")
    other.sql(f"CREATE TABLE t (id INT, n INT) {ACID}")
    with pytest.raises(Error):
        tables.sql("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(TransactionAbortedError):
        tables.sql("COMMIT")
    assert (rows(tables, "t"), rows(tables, "b")) == ([], [])
    assert directories(warehouse, "t") == directories(warehouse, "b") == set()
    check_files(tables, "t", "b")


@pytest.mark.parametrize(
    "ddl",
    [
        "ALTER TABLE p DROP PARTITION (k = 'x')",
        "ALTER TABLE p PARTITION (k = 'x') RENAME TO PARTITION (k = 'y')",
    ],
)
def test_a_partition_changed_meanwhile(tables: Session, other: Session, ddl: str) -> None:
    """Without locks COMMIT fails: rows must not come up again in a partition that was dropped or is
    called otherwise now.
    """
    other.sql("SET hive.support.concurrency=false")
    tables.sql("INSERT INTO p VALUES (1, 1, 'x')")
    tables.sql("START TRANSACTION")
    tables.sql("UPDATE p SET n = 2")
    other.sql(ddl)
    after = rows(other, "p")
    with pytest.raises(WriteConflictError):
        tables.sql("COMMIT")
    assert rows(tables, "p") == rows(other, "p") == after
    check_files(tables, "p")
