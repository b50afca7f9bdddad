"""ATTACH TABLE and DETACH TABLE: what is asked, what is refused, and that nothing is written below
the location. Tables of one warehouse are attached to another one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.catalog.model import TableName
from acidsql.errors import BindError, Error, NotSupportedError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
CHANGES = (
    "INSERT INTO t VALUES (9, 'z')",
    "INSERT OVERWRITE TABLE t SELECT 9, 'z'",
    "FROM t INSERT INTO t SELECT *",
    "UPDATE t SET v = 'z'",
    "DELETE FROM t",
    "MERGE INTO t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE t",
    "LOAD DATA LOCAL INPATH '/tmp/x' INTO TABLE t",
    "ALTER TABLE t ADD COLUMNS (n INT)",
    "ALTER TABLE t SET TBLPROPERTIES ('a'='b')",
    "ALTER TABLE t RENAME TO u",
    "ALTER TABLE t SET LOCATION '/tmp/elsewhere'",
    "ALTER TABLE t COMPACT 'major'",
    "ALTER TABLE t CONCATENATE",
    "MSCK REPAIR TABLE t",
    "DROP TABLE t",
    "DROP TABLE IF EXISTS t",
)


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """The warehouse of others: table ``t``, of which write id 2 is in question."""
    with Session(tmp_path / "others", settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (k INT, v STRING) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        session.sql("INSERT INTO t VALUES (3, 'c')")
        session.sql("DELETE FROM t WHERE k = 1")
        session.sql(f"CREATE TABLE p (k INT) PARTITIONED BY (d STRING, n INT) {ACID}")
        session.sql("INSERT INTO p PARTITION (d, n) VALUES (1, 'x', 1), (2, 'x', 2), (3, 'y', 1)")
    return tmp_path / "others"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", settings={"acidsql.engine": "local"}) as opened:
        yield opened


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return sorted(session.sql(query).rows())


def attach(session: Session, others: Path, clause: str = "ASSUME COMMITTED") -> None:
    session.sql(f"ATTACH TABLE t FROM '{others / 't'}' READ ONLY {clause}")


def test_what_is_not_proven_is_asked(session: Session, others: Path) -> None:
    """Each write id with its directories, at the location; nothing is attached meanwhile."""
    with pytest.raises(BindError) as raised:
        session.sql(f"ATTACH TABLE t FROM '{others / 't'}'")
    error = raised.value
    assert error.detail == "\n".join(
        [
            "1: delta_0000001_0000001_0000",
            "2: delta_0000002_0000002_0000",
            "3: delete_delta_0000003_0000003_0000",
        ]
    )
    assert "ASSUME COMMITTED" in (error.hint or "")
    assert f"FROM '{others / 't'}'" in str(error)
    assert rows(session, "SHOW TABLES") == []


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", [(2, "b"), (3, "c")]),
        ("EXCEPT (2)", [(2, "b")]),
        ("EXCEPT (3)", [(1, "a"), (2, "b"), (3, "c")]),
        ("(1)", [(1, "a"), (2, "b")]),
        ("(1, 3)", [(2, "b")]),
    ],
)
def test_what_is_said_counts(
    clause: str, expected: list[object], session: Session, others: Path
) -> None:
    """Of the write ids in question; count(*), ROW__ID and scans agree, and it stays on record."""
    attach(session, others, f"ASSUME COMMITTED {clause}")
    assert rows(session, "SELECT * FROM t") == expected
    assert rows(session, "SELECT count(*) FROM t") == [(len(expected),)]
    assert session.scan("t").to_arrow().num_rows == len(expected)
    recorded = dict(session.sql("SHOW TBLPROPERTIES t").rows())
    assert recorded["acidsql.attached.assumed"] == f"COMMITTED {clause}".strip()


def test_a_write_id_nobody_asks_about_is_refused(session: Session, others: Path) -> None:
    """It may be a slip of the pen."""
    with pytest.raises(BindError, match="no directory asks about write id 7"):
        attach(session, others, "ASSUME COMMITTED EXCEPT (7)")


@pytest.mark.parametrize("statement", CHANGES)
def test_nothing_is_written(statement: str, session: Session, others: Path) -> None:
    """No statement changes the rows, the files or the definition; none needs more than its text."""
    attach(session, others)
    before = sorted(os.walk(others / "t"))
    with pytest.raises(Error, match="attached read only"):
        session.sql(statement)
    assert sorted(os.walk(others / "t")) == before


def test_no_write_id_is_given_out(session: Session, others: Path) -> None:
    """The store itself refuses, whoever asks."""
    attach(session, others)
    txn = session.store.open_txn()
    with pytest.raises(NotSupportedError, match="attached read only"):
        session.store.allocate_write_id(txn, TableName("default", "t"))
    session.store.abort(txn)


def test_partitions_are_those_of_the_directories(session: Session, others: Path) -> None:
    """Their values are text, or have the types that are given."""
    location = others / "p"
    session.sql(f"ATTACH TABLE p FROM '{location}' ASSUME COMMITTED")
    assert rows(session, "SELECT * FROM p WHERE n = '1'") == [(1, "x", "1"), (3, "y", "1")]
    session.sql("DETACH TABLE p")
    session.sql(
        f"ATTACH TABLE p PARTITIONED BY (d STRING, n INT) FROM '{location}' ASSUME COMMITTED"
    )
    assert rows(session, "SELECT n, k FROM p WHERE n > 1") == [(2, 2)]
    assert len(rows(session, "SHOW PARTITIONS p")) == 3
    session.sql("DETACH TABLE p")
    with pytest.raises(BindError, match="partitions by d, n, not by n"):
        session.sql(f"ATTACH TABLE q PARTITIONED BY (n INT) FROM '{location}' ASSUME COMMITTED")


def test_detached_tables_leave_their_files(session: Session, others: Path) -> None:
    """So do those that go with their database; a table of this warehouse's own is not let go of."""
    attach(session, others)
    session.sql("DETACH TABLE t")
    session.sql("DETACH TABLE IF EXISTS t")
    session.sql("CREATE DATABASE d")
    session.sql(f"ATTACH TABLE d.t FROM '{others / 't'}' ASSUME COMMITTED")
    session.sql("DROP DATABASE d CASCADE")
    session.sql(f"CREATE TABLE t (k INT) {ACID}")
    session.sql("INSERT INTO t VALUES (7)")
    with pytest.raises(BindError, match="not attached"):
        session.sql("DETACH TABLE t")
    assert rows(session, "SELECT * FROM t") == [(7,)]
    with Session(others) as theirs:
        assert rows(theirs, "SELECT k FROM t") == [(2,), (3,)]


def test_what_others_write_later_is_not_seen(session: Session, others: Path) -> None:
    """Not until it is attached again: every statement sees the same rows."""
    attach(session, others)
    with Session(others, settings={"acidsql.engine": "local"}) as theirs:
        theirs.sql("INSERT INTO t VALUES (4, 'd')")
    assert rows(session, "SELECT k FROM t") == [(2,), (3,)]


def test_explain_says_what_would_be_assumed(session: Session, others: Path) -> None:
    """All of it, each with its reason, and changes nothing."""
    text = session.explain(f"ATTACH TABLE t FROM '{others / 't'}'")
    assert text.replace(str(others), "$OTHERS").splitlines() == [
        "ATTACH TABLE default.t",
        "  location: $OTHERS/t, read only: nothing is written below it",
        "  columns: k int, v string (of the footers of files)",
        "  rows: ACID events (of the footers of files)",
        "  buckets: not known, and not needed to read",
        "  highest write id: 3 (of the names of directories)",
        "  to be said with ASSUME COMMITTED, because nothing proves it:",
        "    1: delta_0000001_0000001_0000",
        "    2: delta_0000002_0000002_0000",
        "    3: delete_delta_0000003_0000003_0000",
    ]
    assumed = session.explain(f"ATTACH TABLE t FROM '{others / 't'}' ASSUME COMMITTED EXCEPT (2)")
    assert "left out: write id 2, delta_0000002_0000002_0000" in assumed
    assert rows(session, "SHOW TABLES") == []


def test_a_compaction_that_never_committed_is_passed_over(session: Session, others: Path) -> None:
    """Its empty base would hide all rows; the result warns of it."""
    (others / "t" / "base_0000003_v0000021").mkdir()
    result = session.sql(f"ATTACH TABLE t FROM '{others / 't'}' ASSUME COMMITTED")
    assert [warning.message for warning in result.warnings] == [
        'a compaction that never committed is passed over: "base_0000003_v0000021"'
    ]
    assert rows(session, "SELECT k FROM t") == [(2,), (3,)]


def test_columns_are_asked_for_where_files_do_not_tell(session: Session, others: Path) -> None:
    """A table without files; and a given list counts."""
    with Session(others) as theirs:
        theirs.sql(f"CREATE TABLE nothing (k INT) {ACID}")
    (others / "nothing").mkdir(exist_ok=True)
    with pytest.raises(BindError, match="no file tells the columns"):
        session.sql(f"ATTACH TABLE n FROM '{others / 'nothing'}'")
    session.sql(f"ATTACH TABLE n (k INT) FROM '{others / 'nothing'}'")
    assert rows(session, "SELECT * FROM n") == []
    session.sql(f"ATTACH TABLE t (key INT, value STRING) FROM '{others / 't'}' ASSUME COMMITTED")
    assert rows(session, "SELECT value FROM t WHERE key = 3") == [("c",)]


def test_wrong_places_are_told(session: Session, others: Path, tmp_path: Path) -> None:
    """A directory that is not there, that of another table here, and files that are not ORC."""
    with pytest.raises(BindError, match="there is no directory"):
        session.sql("ATTACH TABLE t FROM '/nowhere/at/all'")
    attach(session, others)
    with pytest.raises(BindError, match=r"overlaps that of table default\.t"):
        session.sql(f"ATTACH TABLE u FROM '{others / 't'}' ASSUME COMMITTED")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "000000_0").write_text("1,a\n" * 30)
    with pytest.raises(BindError, match="is no ORC file"):
        session.sql(f"ATTACH TABLE u FROM '{tmp_path / 'text'}'")
    shutil.copytree(others / "t", tmp_path / "both" / "d=1")
    shutil.copytree(others / "t", tmp_path / "both" / "e=1")
    with pytest.raises(BindError, match="are not partitions of one table"):
        session.sql(f"ATTACH TABLE u FROM '{tmp_path / 'both'}' ASSUME COMMITTED")


def test_python_attaches(session: Session, others: Path) -> None:
    """``session.attach`` is the statement."""
    session.attach("t", others / "t", aborted=[2])
    assert rows(session, "SELECT k FROM t") == [(2,)]
    session.sql("DETACH TABLE t")
    session.attach("t", others / "t", committed=[])
    assert rows(session, "SELECT k FROM t") == []


def test_queries_of_all_kinds_read_it(session: Session, others: Path) -> None:
    """Beside a table of the same columns, into one of its rows, and as a MERGE's source."""
    attach(session, others)
    session.sql(f"CREATE TABLE mine (k INT, v STRING) {ACID}")
    session.sql("INSERT INTO mine SELECT * FROM t WHERE k = 2")
    session.sql("INSERT INTO mine VALUES (10, 'x')")
    session.sql(
        "MERGE INTO mine USING t ON mine.k = t.k WHEN MATCHED THEN UPDATE SET v = 'both'"
        " WHEN NOT MATCHED THEN INSERT VALUES (t.k, t.v)"
    )
    assert rows(session, "SELECT * FROM mine") == [(2, "both"), (3, "c"), (10, "x")]
    assert rows(session, "SELECT * FROM t") == [(2, "b"), (3, "c")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1;", "does not begin with CREATE TABLE"),
        ("CREATE TABLE t (k INT)", "no semicolon behind it"),
        ("CREATE TABLE t (k INT);\naborted 2\n", 'no line "high watermark N"'),
        ("CREATE TABLE t (k INT);\nhigh watermark 3\n\n???\n", r"line 4 of the dump"),
        (
            "CREATE TABLE t (k INT) PARTITIONED BY (d INT);\nhigh watermark 3\n",
            "names no partition",
        ),
        (
            "CREATE TABLE t (k INT) PARTITIONED BY (d INT);\nhigh watermark 3\ne=1\n",
            "no partition of",
        ),
    ],
)
def test_a_dump_that_is_not_understood_is_refused(
    text: str, message: str, session: Session, others: Path, tmp_path: Path
) -> None:
    """With its line, and nothing is attached."""
    (tmp_path / "dump").write_text(text)
    with pytest.raises(BindError, match=message):
        session.sql(f"ATTACH TABLE t FROM '{others / 't'}' USING '{tmp_path / 'dump'}'")
    assert rows(session, "SHOW TABLES") == []


def test_a_dump_names_what_does_not_count(session: Session, others: Path, tmp_path: Path) -> None:
    """Aborted and open ids, and all above the high watermark; a compaction that never committed is
    passed over here, too.
    """
    (others / "t" / "base_0000002_v0000021").mkdir()
    (tmp_path / "dump").write_text(
        "CREATE TABLE t (k INT, v STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');\n"
        "-- as of today\nhigh watermark 2\nopen 2\n"
    )
    result = session.sql(f"ATTACH TABLE t FROM '{others / 't'}' USING '{tmp_path / 'dump'}'")
    assert [warning.message for warning in result.warnings] == [
        'a compaction that never committed is passed over: "base_0000002_v0000021"'
    ]
    assert rows(session, "SELECT k FROM t") == [(1,), (2,)]


def test_servers_are_refused_for_now(session: Session, others: Path) -> None:
    """With a hint at what can be asked."""
    with pytest.raises(NotSupportedError, match="cannot be asked by jdbc yet"):
        session.sql(f"ATTACH TABLE t FROM '{others / 't'}' USING 'jdbc:hive2://host:10000'")


def test_properties_of_attached_tables_are_not_for_users(session: Session) -> None:
    """Else a table could claim write ids that it has not."""
    with pytest.raises(BindError, match="not for users"):
        session.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('acidsql.attached.write.ids'='x')")


@pytest.mark.spark
def test_spark_reads_the_same(session: Session, others: Path, spark: object) -> None:
    """Two attached tables of like columns in one query, and partitions."""
    with Session(others, settings={"acidsql.engine": "local"}) as theirs:
        theirs.sql(f"CREATE TABLE u (k INT, v STRING) {ACID}")
        theirs.sql("INSERT INTO u VALUES (2, 'b'), (30, 'c')")
    attach(session, others, "ASSUME COMMITTED EXCEPT (2)")
    session.sql(f"ATTACH TABLE u FROM '{others / 'u'}' ASSUME COMMITTED")
    session.sql(f"ATTACH TABLE p FROM '{others / 'p'}' ASSUME COMMITTED")
    with Session(session.warehouse, spark=spark, settings={"acidsql.engine": "spark"}) as other:  # type: ignore[arg-type]
        assert rows(other, "SELECT k, v FROM t") == [(2, "b")]
        assert rows(other, "SELECT t.k, u.k FROM t JOIN u ON t.v = u.v") == [(2, 2)]
        assert rows(other, "SELECT max(k), d FROM p GROUP BY d") == [(2, "x"), (3, "y")]


def test_a_dry_run_asks_the_same(session: Session, others: Path) -> None:
    """It tells what EXPLAIN tells, by statement and by setting, and attaches nothing."""
    attach_text = f"ATTACH TABLE t FROM '{others / 't'}'"
    explained = [line for (line,) in session.sql(f"EXPLAIN {attach_text}").rows()]
    assert [line for (line,) in session.sql(f"DRY RUN {attach_text}").rows()] == explained
    session.sql("SET acidsql.dry.run=true")
    assert [line for (line,) in session.sql(attach_text).rows()] == explained
    assert rows(session, "SHOW TABLES") == []


def test_ids_without_a_directory_do_not_count(session: Session, others: Path) -> None:
    """Their transactions may be open: what they write later was never asked about."""
    shutil.move(others / "t" / "delta_0000002_0000002_0000", others / "later")
    attach(session, others)
    shutil.move(others / "later", others / "t" / "delta_0000002_0000002_0000")
    assert rows(session, "SELECT k FROM t") == [(2,)]
