"""What docs/erasing.md promises: after its steps no file of the warehouse holds the value any more.
All bytes are searched, and all values of ORC files and of the metastore. No Spark.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow.orc as orc
import pytest

from acidsql.session import Session

MAIL = "zebrafinch@example.org"
NUMBER = 7_777_000_123
MARKS = (MAIL, str(NUMBER))
TYPE = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'orc.compress'='NONE'"
ACID, INSERT_ONLY = f"{TYPE})", f"{TYPE}, 'transactional_properties'='insert_only')"
MAJOR = "COMPACT 'major' AND WAIT"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session without Spark on the warehouse ``tmp_path / "w"``."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        yield session
        assert not session.spark_started


def places(session: Session) -> list[str]:
    """The files that hold a mark: in their bytes, their names, the values of ORC files, or the rows
    of the metastore.
    """
    root = Path(session.warehouse)
    names_of_files = {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and any(mark in text for text in _texts(path) for mark in MARKS)
    }
    store = sqlite3.connect(f"file:{root}/_acidsql/metastore.db?mode=ro", uri=True)
    tables = [
        name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    rows = [str(row) for name in tables for row in store.execute(f'SELECT * FROM "{name}"')]
    store.close()
    names_of_files |= {
        "a row of the metastore" for row in rows if any(mark in row for mark in MARKS)
    }
    return sorted(names_of_files)


def _texts(path: Path) -> Iterator[str]:
    yield str(path)
    content = path.read_bytes()
    yield content.decode("latin-1")
    if content.startswith(b"ORC"):
        yield str(orc.ORCFile(path).read().to_pydict())


def fill(session: Session, table: str, *, update: bool = True) -> None:
    """Rows of which two hold marks, one of them by UPDATE; the statistics and queries know them."""
    partition = ", 'a'" if table == "p" else ""
    insert = f"INSERT INTO {table} VALUES"
    session.sql(f"{insert} (1, 'x@x'{partition}), ({NUMBER}, '{MAIL}'{partition})")
    session.sql(f"{insert} (3, 'y@y'{partition})")
    if update:
        session.sql(f"UPDATE {table} SET mail = '{MAIL}' WHERE k = 3")
    session.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS")
    assert session.sql(f"SELECT k FROM {table} WHERE mail = '{MAIL}'").fetchall()
    assert "a row of the metastore" in places(session)


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("t", "(k BIGINT, mail STRING)"),
        ("t", "(k BIGINT, mail STRING) CLUSTERED BY (k) INTO 2 BUCKETS"),
        ("p", "(k BIGINT, mail STRING) PARTITIONED BY (d STRING)"),
    ],
    ids=["unpartitioned", "bucketed", "partitioned"],
)
def test_deleted_rows_are_in_no_file_after_a_major_compaction(
    session: Session, table: str, columns: str
) -> None:
    """Nor in the statistics of columns, the metastore's free pages or its log."""
    session.sql(f"CREATE TABLE {table} {columns} {ACID}")
    fill(session, table)
    session.sql(f"DELETE FROM {table} WHERE mail = '{MAIL}'")
    assert places(session)
    result = session.sql(f"ALTER TABLE {table} {MAJOR}")
    assert result.warnings == ()
    assert places(session) == []
    assert session.sql(f"SELECT k, mail FROM {table}").fetchall() == [(1, "x@x")]


def test_a_statement_without_partition_compacts_every_partition(session: Session) -> None:
    """However few rows were deleted of however few; those with nothing to do are named."""
    session.sql(f"CREATE TABLE p (k BIGINT, mail STRING) PARTITIONED BY (d STRING) {ACID}")
    many = ", ".join(f"({k}, '{MAIL if k == 7 else 'x@x'}', 'b')" for k in range(200))
    session.sql(f"INSERT INTO p VALUES (1, '{MAIL}', 'a'), (2, 'x@x', 'a'), {many}, (3, 'x', 'c')")
    session.sql(f"DELETE FROM p WHERE mail = '{MAIL}'")
    result = session.sql(f"ALTER TABLE p {MAJOR}")
    assert result.warnings == ()
    assert result.notes == (
        "Compaction enqueued with id 1",
        "Compaction enqueued with id 2",
        "Compaction with id 1 finished with status: succeeded",
        "Compaction with id 2 finished with status: succeeded",
        "nothing to compact in default.p partition d=c: no file has rows that were deleted, and"
        " there is nothing to merge",
    )
    assert places(session) == []
    again = session.sql("ALTER TABLE p CONCATENATE")
    assert again.notes == (
        "nothing to compact in default.p 3 partitions (d=a, d=b, d=c): no file has rows that were"
        " deleted, and there is nothing to merge",
    )
    assert session.sql("SELECT count(*) FROM p").fetchall() == [(201,)]


def test_a_partition_of_deleted_rows_alone_is_compacted(session: Session) -> None:
    """By a rebalance, too; a minor compaction says that it leaves deleted rows where they are."""
    for kind in ("major", "rebalance"):
        session.sql(f"CREATE TABLE p (k BIGINT, mail STRING) PARTITIONED BY (d STRING) {ACID}")
        session.sql(f"INSERT INTO p VALUES (1, '{MAIL}', 'a'), (2, 'x@x', 'b')")
        session.sql("DELETE FROM p WHERE d = 'a'")
        [note] = session.sql("ALTER TABLE p COMPACT 'minor' AND WAIT").notes
        assert note.endswith("a major compaction takes out what was deleted")
        assert places(session)
        assert session.sql(f"ALTER TABLE p COMPACT '{kind}' AND WAIT").warnings == ()
        assert places(session) == []
        assert session.sql("SELECT k, mail, d FROM p").fetchall() == [(2, "x@x", "b")]
        session.sql("DROP TABLE p")


def test_rows_of_original_files_are_erased(session: Session) -> None:
    """Of a table that became transactional with its files."""
    session.sql("CREATE TABLE t (k BIGINT, mail STRING) STORED AS ORC")
    session.sql(f"INSERT INTO t VALUES (1, 'x@x'), ({NUMBER}, '{MAIL}')")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')")
    session.sql(f"DELETE FROM t WHERE k = {NUMBER}")
    assert session.sql(f"ALTER TABLE t {MAJOR}").warnings == ()
    assert places(session) == []


@pytest.mark.parametrize("change", ["TRUNCATE TABLE t", "INSERT OVERWRITE TABLE t VALUES (1, 'x')"])
@pytest.mark.parametrize("kind", [ACID, INSERT_ONLY], ids=["full", "insert-only"])
def test_what_was_overwritten_is_erased_by_a_compaction(
    session: Session, change: str, kind: str
) -> None:
    """It stays hidden until then."""
    session.sql(f"CREATE TABLE t (k BIGINT, mail STRING) {kind}")
    fill(session, "t", update=kind is ACID)
    session.sql(change)
    assert any(place.startswith("t/") for place in places(session))
    assert session.sql(f"ALTER TABLE t {MAJOR}").warnings == ()
    assert places(session) == []


def test_what_is_dropped_is_erased(session: Session) -> None:
    """With its statistics; what it leaves in the metastore's log goes with the next compaction."""
    session.sql(f"CREATE TABLE t (k BIGINT, mail STRING) {ACID}")
    session.sql(f"CREATE TABLE p (k BIGINT, mail STRING) PARTITIONED BY (d STRING) {ACID}")
    fill(session, "p")
    fill(session, "t")
    session.sql("ALTER TABLE p DROP PARTITION (d='a')")
    session.sql("DROP TABLE t")
    assert {place.split("/")[0] for place in places(session)} <= {"_acidsql"}
    session.sql("INSERT INTO p VALUES (1, 'x', 'b')")
    session.sql(f"ALTER TABLE p {MAJOR}")
    assert places(session) == []


def test_rows_that_were_rolled_back_are_erased(session: Session) -> None:
    """At once: nobody has seen them."""
    session.sql(f"CREATE TABLE t (k BIGINT, mail STRING) {ACID}")
    session.sql("START TRANSACTION")
    session.sql(f"INSERT INTO t VALUES (1, '{MAIL}')")
    session.sql("ROLLBACK")
    assert not any(place.startswith("t/") for place in places(session))


def test_history_that_is_kept_is_told(session: Session) -> None:
    """Erased is what was kept on purpose once it may go."""
    session.sql(f"CREATE TABLE t (k BIGINT, mail STRING) {ACID}")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('acidsql.history.retention'='7d')")
    session.sql(f"INSERT INTO t VALUES (1, 'x'), (2, '{MAIL}')")
    session.sql("DELETE FROM t WHERE k = 2")
    [warning] = session.sql(f"ALTER TABLE t {MAJOR}").warnings
    assert warning.message == (
        "files that were replaced in default.t are still there, with the rows that were deleted"
    )
    assert warning.detail == "acidsql.history.retention keeps them"
    assert places(session)
    session.sql("ALTER TABLE t UNSET TBLPROPERTIES ('acidsql.history.retention')")
    session.sql("INSERT INTO t VALUES (3, 'y')")
    assert session.sql(f"ALTER TABLE t {MAJOR}").warnings == ()
    assert places(session) == []


def test_readers_that_keep_files_are_told(session: Session) -> None:
    """A result that was not fetched whole reads the files of its snapshot."""
    session.sql(f"CREATE TABLE t (k BIGINT, mail STRING) {ACID}")
    session.sql(f"INSERT INTO t VALUES (1, 'x'), (2, '{MAIL}')")
    with Session(session.warehouse, settings={"acidsql.engine": "local"}) as other:
        other.sql("START TRANSACTION")
        other.sql("SELECT * FROM t").fetchall()
        session.sql("DELETE FROM t WHERE k = 2")
        [warning] = session.sql(f"ALTER TABLE t {MAJOR}").warnings
        assert warning.message.startswith("files that were replaced in default.t are still there")
        other.sql("COMMIT")
    session.sql("INSERT INTO t VALUES (3, 'y')")
    assert session.sql(f"ALTER TABLE t {MAJOR}").warnings == ()
    assert places(session) == []


def test_what_lies_behind_an_open_transaction_is_told(session: Session) -> None:
    """A compaction ends below the lowest open write id: nobody knows what that will have done."""
    session.sql(f"CREATE TABLE p (k BIGINT, mail STRING) PARTITIONED BY (d STRING) {ACID}")
    session.sql(f"INSERT INTO p VALUES (1, 'x', 'a'), (2, '{MAIL}', 'a')")
    with Session(session.warehouse, settings={"acidsql.engine": "local"}) as other:
        other.sql("START TRANSACTION")
        other.sql("INSERT INTO p VALUES (3, 'y', 'b')")
        session.sql("DELETE FROM p WHERE k = 2")
        result = session.sql(f"ALTER TABLE p {MAJOR}")
        assert [warning.message for warning in result.warnings] == [
            "what was written to default.p partition d=a behind an open transaction is not compacted"
        ]
        assert result.notes == (
            "nothing to compact in default.p partition d=a: there is nothing that can be merged now",
        )
        other.sql("COMMIT")
    assert session.sql(f"ALTER TABLE p {MAJOR}").warnings == ()
    assert places(session) == []


def test_under_strict_hive_thresholds_decline_with_a_warning(session: Session) -> None:
    """As Hive 4.0.1 does, without a word about it."""
    session.sql(f"CREATE TABLE p (k BIGINT, mail STRING) PARTITIONED BY (d STRING) {ACID}")
    session.sql(f"INSERT INTO p VALUES (1, 'x', 'a'), (2, '{MAIL}', 'a')")
    session.sql("DELETE FROM p WHERE k = 2")
    session.sql("SET acidsql.strict.hive=true")
    result = session.sql(f"ALTER TABLE p {MAJOR}")
    assert [warning.message for warning in result.warnings] == [
        "Not enough deltas to initiate compaction for table=p partition=d=a"
    ]
    assert places(session)


def test_a_log_in_use_is_told(session: Session) -> None:
    """Whoever reads the metastore meanwhile reads its log."""
    session.sql(f"CREATE TABLE t (k BIGINT, mail STRING) {ACID}")
    session.sql(f"INSERT INTO t VALUES (1, 'x'), (2, '{MAIL}')")
    session.sql("DELETE FROM t WHERE k = 2")
    store = sqlite3.connect(f"{session.warehouse}/_acidsql/metastore.db", isolation_level=None)
    store.execute("BEGIN")
    store.execute("SELECT count(*) FROM TBLS").fetchone()
    [warning] = session.sql(f"ALTER TABLE t {MAJOR}").warnings
    assert warning.message.startswith("others use the metastore: its log")
    store.close()
    session.sql(f"ALTER TABLE t {MAJOR}")
    assert places(session) == []
