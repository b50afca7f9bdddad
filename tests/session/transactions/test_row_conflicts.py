"""Transactions side by side that change rows of one table: different rows both commit, of one row
the first to commit wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import WriteConflictError
from acidsql.session import Session
from tests.meanwhile import at_point
from tests.session.rows.acid_files import check_files
from tests.session.transactions.test_open_transactions import ACID, listing, rows, run

pytestmark = pytest.mark.spark


@pytest.fixture
def other(session: Session, warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """Another user of the same warehouse."""
    with Session(warehouse, spark=spark) as opened:
        yield opened


@pytest.fixture
def third(session: Session, warehouse: Path, spark: SparkSession) -> Iterator[Session]:
    """One more."""
    with Session(warehouse, spark=spark) as opened:
        yield opened


@pytest.fixture
def table(session: Session) -> str:
    """``t`` with the rows 1 to 6, of two statements."""
    run(
        session,
        f"CREATE TABLE t (id INT, n INT) {ACID}",
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
        "INSERT INTO t VALUES (4, 40), (5, 50), (6, 60)",
    )
    return "t"


def check_counts(session: Session, name: str, count: int) -> None:
    """The number of rows, by statistics and by a scan."""
    known = dict(session.sql(f"SHOW TBLPROPERTIES {name}").rows())
    assert int(known["numRows"]) == count
    assert list(session.sql(f"SELECT count(*) FROM {name}").rows()) == [(count,)]
    assert len(rows(session, name)) == count


@pytest.mark.parametrize("path", ["small", "big"])
@pytest.mark.parametrize(
    ("ours", "theirs", "after"),
    [
        (
            "UPDATE t SET n = n + 1 WHERE id = 1",
            "UPDATE t SET n = n + 2 WHERE id IN (2, 4)",
            [(1, 11), (2, 22), (3, 30), (4, 42), (5, 50), (6, 60)],
        ),
        (
            "DELETE FROM t WHERE id > 4",
            "UPDATE t SET n = 0 WHERE id < 3",
            [(1, 0), (2, 0), (3, 30), (4, 40)],
        ),
        ("DELETE FROM t WHERE id IN (1, 3, 5)", "DELETE FROM t WHERE id IN (2, 4, 6)", []),
    ],
    ids=["update-update", "delete-update", "delete-delete"],
)
def test_different_rows_both_commit(
    session: Session,
    other: Session,
    table: str,
    path: str,
    ours: str,
    theirs: str,
    after: list[tuple[int, int]],
) -> None:
    """Whichever way they are written; the numbers of both count in the statistics."""
    for who, text in ((session, ours), (other, theirs)):
        run(who, f"SET acidsql.write.path={path}", "START TRANSACTION", text)
    other.sql("COMMIT")
    session.sql("COMMIT")
    for who in (session, other):
        assert rows(who, table) == after
    check_counts(session, table, len(after))
    check_files(session, table)


@pytest.mark.parametrize("ours", ["UPDATE t SET n = 0 WHERE id IN (1, 2)", "DELETE FROM t"])
@pytest.mark.parametrize(
    "theirs", ["UPDATE t SET n = 1 WHERE id > 1", "DELETE FROM t WHERE id = 2"]
)
def test_one_row_has_one_winner(
    session: Session, other: Session, table: str, warehouse: Path, ours: str, theirs: str
) -> None:
    """The second to commit fails, names such a row and leaves no file; it may be run again."""
    for who, text in ((session, ours), (other, theirs)):
        run(who, "START TRANSACTION", text)
    other.sql("COMMIT")
    before, files = rows(other, table), listing(warehouse)
    row_ids = {tuple(row[0].values()) for row in other.sql("SELECT ROW__ID FROM t").rows()}
    with pytest.raises(WriteConflictError) as caught:
        session.sql("COMMIT")
    error = caught.value
    assert (error.retryable, error.code) == (True, 10263)
    assert "due to a write conflict on default/t committed by [txnid:4," in error.message
    assert 'ROW__ID {"writeid":1,"bucketid":536870912,"rowid":1}' in error.message
    assert (1, 536870912, 1) not in row_ids
    assert rows(session, table) == before
    assert {name for name in listing(warehouse) if name not in files} == set()
    check_files(session, table)
    session.sql(ours)


def test_a_single_statement_is_overtaken(session: Session, other: Session, table: str) -> None:
    """Without a transaction of the user's it is the same."""
    text = "UPDATE t SET n = n + 1 WHERE id = {}"
    with at_point("written", lambda: other.sql(text.format(2))):
        session.sql(text.format(1))
    with (
        at_point("written", lambda: other.sql(text.format(1))),
        pytest.raises(WriteConflictError, match="both changed 1 row"),
    ):
        session.sql(text.format(1))
    assert rows(session, table)[:3] == [(1, 12), (2, 21), (3, 30)]


def test_three_at_once(session: Session, other: Session, third: Session, table: str) -> None:
    """One transaction is compared with all that committed beside it, not with the last alone."""
    for number, who in enumerate((session, other, third), 1):
        run(who, "START TRANSACTION", f"UPDATE t SET n = -{number} WHERE id = {number}")
    third.sql("COMMIT")
    other.sql("COMMIT")
    session.sql("DELETE FROM t WHERE id = 3")
    with pytest.raises(WriteConflictError, match=r"committed by \[txnid:5,5\]"):
        session.sql("COMMIT")
    assert rows(session, table)[:3] == [(1, 10), (2, -2), (3, -3)]
    for number, who in enumerate((session, other, third), 1):
        run(who, "START TRANSACTION", f"UPDATE t SET n = {number} WHERE id = {number}")
    for who in (other, session, third):
        who.sql("COMMIT")
    assert rows(session, table)[:4] == [(1, 1), (2, 2), (3, 3), (4, 40)]
    check_counts(session, table, 6)


@pytest.mark.parametrize("same", [False, True])
def test_another_commit_while_rows_are_compared(
    session: Session, other: Session, third: Session, table: str, same: bool
) -> None:
    """It is compared in a second round, and there it may be the conflict."""
    run(session, "START TRANSACTION", "UPDATE t SET n = 1 WHERE id = 1")
    other.sql("UPDATE t SET n = 2 WHERE id = 2")
    between = f"UPDATE t SET n = 3 WHERE id = {1 if same else 3}"
    with at_point("rows compared", lambda: third.sql(between)):
        if same:
            with pytest.raises(WriteConflictError, match="both changed 1 row"):
                session.sql("COMMIT")
        else:
            session.sql("COMMIT")
    expected = [(1, 3), (2, 2), (3, 30)] if same else [(1, 1), (2, 2), (3, 3)]
    assert rows(session, table)[:3] == expected
    check_counts(session, table, 6)


MERGE = """
MERGE INTO t USING (SELECT {0} AS a UNION ALL SELECT {1} UNION ALL SELECT {2}) s ON t.id = s.a
WHEN MATCHED AND id > 3 THEN DELETE
WHEN MATCHED THEN UPDATE SET n = n + 1
WHEN NOT MATCHED THEN INSERT VALUES (a, 0)
"""


@pytest.mark.parametrize("path", ["small", "big"])
def test_merges(session: Session, other: Session, table: str, path: str) -> None:
    """Rows that are updated and rows that are deleted both count; rows that are inserted do not:
    each has inserted its own row of one key.
    """
    for who in (session, other):
        who.sql(f"SET acidsql.write.path={path}")
    run(session, "START TRANSACTION", MERGE.format(1, 4, 9))
    other.sql(MERGE.format(2, 5, 9))
    session.sql("COMMIT")
    assert rows(session, table) == [(1, 11), (2, 21), (3, 30), (6, 60), (9, 0), (9, 0)]
    for text in (MERGE.format(1, 7, 8), MERGE.format(6, 7, 8)):
        run(session, "START TRANSACTION", text)
        other.sql("DELETE FROM t WHERE id IN (1, 6)")
        with pytest.raises(WriteConflictError):
            session.sql("COMMIT")
        other.sql("INSERT INTO t VALUES (1, 11), (6, 60)")
    check_counts(session, table, 6)
    check_files(session, table)


def test_partitions_and_buckets(session: Session, other: Session) -> None:
    """Rows of two partitions may have one ROW__ID, and are different rows; so are those of two
    buckets. A row that goes to another partition is deleted where it was.
    """
    run(
        session,
        f"CREATE TABLE p (id INT, n INT) PARTITIONED BY (k STRING) {ACID}",
        f"CREATE TABLE b (id INT, n INT) CLUSTERED BY (id) INTO 4 BUCKETS {ACID}",
        "INSERT INTO p VALUES (1, 1, 'x'), (2, 2, 'x'), (3, 3, 'y'), (4, 4, 'y')",
        "INSERT INTO b VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8)",
    )
    run(
        session,
        "START TRANSACTION",
        "UPDATE p SET n = n + 10 WHERE id IN (1, 4)",
        "UPDATE b SET n = n + 10 WHERE id % 2 = 1",
    )
    other.sql("UPDATE p SET n = n + 20 WHERE id IN (2, 3)")
    other.sql("DELETE FROM b WHERE id % 2 = 0")
    session.sql("COMMIT")
    for who in (session, other):
        assert rows(who, "p") == [(1, 11, "x"), (2, 22, "x"), (3, 23, "y"), (4, 14, "y")]
        assert rows(who, "b") == [(1, 11), (3, 13), (5, 15), (7, 17)]
    check_counts(session, "b", 4)
    run(session, "START TRANSACTION", "DELETE FROM b WHERE id = 1", "DELETE FROM p WHERE id = 3")
    other.sql("UPDATE p SET n = 0 WHERE id >= 3")
    with pytest.raises(WriteConflictError, match="on default/p/k=y committed by"):
        session.sql("COMMIT")
    assert rows(session, "b")[0] == (1, 11)
    check_files(session, "p", "b")


@pytest.mark.parametrize("same", [False, True])
def test_a_partition_at_a_location_of_its_own(
    session: Session, other: Session, tmp_path: Path, same: bool
) -> None:
    """The delete files are looked for where the partition is."""
    run(
        session,
        f"CREATE TABLE p (id INT, n INT) PARTITIONED BY (k STRING) {ACID}",
        f"ALTER TABLE p ADD PARTITION (k = 'x') LOCATION '{tmp_path / 'elsewhere'}'",
        "INSERT INTO p VALUES (1, 1, 'x'), (2, 2, 'x')",
    )
    run(session, "START TRANSACTION", "DELETE FROM p WHERE id = 1")
    other.sql(f"UPDATE p SET n = 9 WHERE id = {1 if same else 2}")
    if same:
        with pytest.raises(WriteConflictError, match="on default/p/k=x committed by"):
            session.sql("COMMIT")
    else:
        session.sql("COMMIT")
    assert rows(session, "p") == ([(1, 9, "x"), (2, 2, "x")] if same else [(2, 9, "x")])


@pytest.mark.parametrize("same", [False, True])
def test_original_files_of_a_converted_table(session: Session, other: Session, same: bool) -> None:
    """Rows without ids of their own have those of their positions, over all files of a bucket."""
    run(
        session,
        "CREATE TABLE c (id INT, n INT) STORED AS ORC",
        "INSERT INTO c VALUES (1, 1), (2, 2)",
        "INSERT INTO c VALUES (3, 3), (4, 4)",
        "ALTER TABLE c SET TBLPROPERTIES ('transactional'='true')",
    )
    run(session, "START TRANSACTION", "UPDATE c SET n = 10 * n WHERE id IN (1, 3)")
    other.sql(f"DELETE FROM c WHERE id IN (2, {3 if same else 4})")
    if same:
        with pytest.raises(WriteConflictError, match=r'changed 1 row, ROW__ID ."writeid":0,'):
            session.sql("COMMIT")
    else:
        session.sql("COMMIT")
    assert rows(session, "c") == ([(1, 1), (4, 4)] if same else [(1, 10), (3, 30)])
    check_files(session, "c")


def test_own_rows_and_rows_that_are_not_there(session: Session, other: Session, table: str) -> None:
    """Statements that hit no row, and rows that the transaction inserted itself, are in nobody's
    way; several statements count together.
    """
    run(
        session,
        "START TRANSACTION",
        "UPDATE t SET n = 0 WHERE id > 100",
        "INSERT INTO t VALUES (7, 70), (8, 80)",
        "UPDATE t SET n = 71 WHERE id = 7",
        "DELETE FROM t WHERE id = 8",
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET n = 21 WHERE id = 2",
        "UPDATE t SET n = 22 WHERE id = 2",
    )
    other.sql("UPDATE t SET n = n + 1 WHERE id IN (3, 4, 5, 6)")
    session.sql("COMMIT")
    assert rows(other, table) == [(2, 22), (3, 31), (4, 41), (5, 51), (6, 61), (7, 71)]
    check_counts(session, table, 6)
    check_files(session, table)


@pytest.mark.parametrize(
    "overwriting", ["TRUNCATE TABLE t", "INSERT OVERWRITE TABLE t VALUES (1, 1)"]
)
def test_an_overwriting_stays_a_conflict(
    session: Session, other: Session, table: str, overwriting: str
) -> None:
    """Either way round, where no lock keeps them apart: it hides rows that it does not name."""
    other.sql("SET hive.support.concurrency=false")
    change = "UPDATE t SET n = 0 WHERE id = 1"
    for ours, theirs in ((change, overwriting), (overwriting, change)):
        run(session, "START TRANSACTION", ours)
        other.sql("DELETE FROM t WHERE id = 2")
        other.sql("INSERT INTO t VALUES (1, 1)")
        other.sql(theirs)
        with pytest.raises(WriteConflictError) as caught:
            session.sql("COMMIT")
        assert "ROW__ID" not in caught.value.message


def test_rows_that_cannot_be_compared_any_more(
    session: Session, other: Session, table: str, warehouse: Path
) -> None:
    """Where a base may have taken the other's delete events away it is a conflict, with the
    reason.
    """
    run(session, "START TRANSACTION", "UPDATE t SET n = 0 WHERE id = 1")
    other.sql("UPDATE t SET n = 0 WHERE id = 2")
    (warehouse / "t" / "base_0000003_v0000009").mkdir()
    with pytest.raises(WriteConflictError) as caught:
        session.sql("COMMIT")
    assert "its rows cannot be compared" in (caught.value.detail or "")
    (warehouse / "t" / "base_0000003_v0000009").rmdir()
    assert rows(session, table)[:2] == [(1, 10), (2, 0)]
    check_files(session, table)


def test_by_partition_as_in_hive(session: Session, other: Session, table: str) -> None:
    """With ``acidsql.conflict.granularity=partition`` rows do not count; the setting is that of the
    session that commits second, at its COMMIT.
    """
    for granularity in ("partition", "row"):
        session.sql("SET acidsql.conflict.granularity=row")
        run(session, "START TRANSACTION", "UPDATE t SET n = 0 WHERE id = 1")
        other.sql("DELETE FROM t WHERE id = 6")
        other.sql("INSERT INTO t VALUES (6, 60)")
        session.sql(f"SET acidsql.conflict.granularity={granularity}")
        if granularity == "row":
            session.sql("COMMIT")
        else:
            with pytest.raises(WriteConflictError) as caught:
                session.sql("COMMIT")
            assert caught.value.message.endswith(" u/d")
    assert rows(session, table)[0] == (1, 0)
