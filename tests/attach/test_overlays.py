"""ATTACH TABLE .. OVERLAY: tonight's job runs here on the rows of others, whose files nobody
touches. Tables of one warehouse have overlays in another.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.catalog.model import TableName
from acidsql.compaction.initiator import Initiator
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    Error,
    OperationalError,
    WriteConflictError,
)
from acidsql.files.local_files import LOCAL as LOCAL_FILES
from acidsql.session import Session
from acidsql.txn.compactions import CompactionRequest, CompactionType
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
from tests.cli.running import called
from tests.compaction.cleaning import cleaner_of
from tests.compaction.compacting import worker
from tests.spark.stores import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.stores import S3Server

JOB = (
    "INSERT INTO t VALUES (4, 'd'), (5, 'e')",
    "UPDATE t SET v = upper(v) WHERE k IN (2, 4)",
    "DELETE FROM t WHERE k = 5 OR k = 3",
    "MERGE INTO t USING (SELECT 2 AS k UNION ALL SELECT 7) s ON t.k = s.k WHEN MATCHED THEN UPDATE"
    " SET v = concat(t.v, '+') WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'm')",
)
AFTER_JOB = [(2, "B+"), (4, "D"), (7, "m")]
REFUSED = {
    "ALTER TABLE t ADD COLUMNS (n INT)": "its definition is that of others",
    "ALTER TABLE t CHANGE v w STRING": "its definition is that of others",
    "ALTER TABLE t SET TBLPROPERTIES ('a'='b')": "its definition is that of others",
    "ALTER TABLE t RENAME TO u": "its definition is that of others",
    "ALTER TABLE t SET LOCATION '/tmp/elsewhere'": "its definition is that of others",
    "ALTER TABLE t COMPACT 'major'": "would be a copy",
    "ALTER TABLE t COMPACT 'rebalance'": "would be a copy",
    "ALTER TABLE t CONCATENATE": "would be a copy",
    "MSCK REPAIR TABLE t": "those it was attached with",
    "ADOPT TABLE t NOT CLUSTERED": "not for those who own the files",
    "DROP TABLE t": "is an overlay",
    "DROP TABLE IF EXISTS t": "is an overlay",
}


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Their warehouse, which nobody may write to."""
    return make_tables(tmp_path / "Their Warehouse")


@pytest.fixture
def session(tmp_path: Path, others: Path) -> Iterator[Session]:
    """Ours; theirs is byte for byte what it was, and none of it newer, when it ends."""
    before = contents(others)
    with Session(tmp_path / "warehouse", settings=LOCAL) as opened:
        yield opened
    assert contents(others) == before


def test_a_job_runs_on_the_rows_of_others(session: Session) -> None:
    """What it changes is seen here alone; a minor compaction of it changes no row and no ROW__ID."""
    others = Path(session.warehouse).parent / "Their Warehouse"
    overlay(session, others)
    assert rows(session, "SELECT * FROM t") == [(2, "b"), (3, "C")]
    for statement in JOB:
        session.sql(statement)
    assert rows(session, "SELECT * FROM t") == AFTER_JOB
    assert rows(session, "SELECT count(*), max(k) FROM t") == [(3, 7)]
    assert session.scan("t", filter="k > 2").to_arrow().num_rows == 2
    ids = rows(session, "SELECT ROW__ID, k FROM t")
    assert min(row[0]["writeid"] for row in ids) > 4  # type: ignore[call-overload]
    session.sql("ALTER TABLE t COMPACT 'minor' AND WAIT")
    assert rows(session, "SELECT ROW__ID, k FROM t") == ids
    own = sorted(path.name for path in Path(session.warehouse, "t").iterdir())
    assert own == ["delete_delta_0000005_0000008", "delta_0000005_0000008"]


def test_a_file_system_that_refuses_writes_will_do(tmp_path: Path, others: Path) -> None:
    """Every statement of the job, compaction, doctor, DETACH and clean-ups, on a medium that is
    mounted read only.
    """
    place = tmp_path / "medium"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this user may not mount anything")
    try:
        shutil.copytree(others, place / "w")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with pytest.raises(OSError, match="Read-only"):
            (place / "w" / "t" / "new").touch()
        with Session(tmp_path / "warehouse", settings=LOCAL) as session:
            for name in ("t", "p", "b", "m"):
                overlay(session, place / "w", name)
            for statement in JOB:
                session.sql(statement)
            session.sql("INSERT OVERWRITE TABLE p PARTITION (d='x y', n=1) SELECT 8, 'new'")
            session.sql("UPDATE b SET v = 'z' WHERE k > 2")
            session.sql("INSERT INTO m VALUES (3, 'c')")
            for name in ("t", "b", "m"):
                session.sql(f"ALTER TABLE {name} COMPACT 'minor' AND WAIT")
            session.sql("TRUNCATE TABLE b")
            assert rows(session, "SELECT * FROM t") == AFTER_JOB
            assert rows(session, "SELECT k FROM p") == [(2,), (3,), (8,)]
            assert rows(session, "SELECT k FROM m") == [(1,), (2,), (3,)]
            assert rows(session, "SELECT k FROM b") == []
            for name in ("t", "p", "b", "m"):
                session.sql(f"DETACH TABLE {name}")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_more_than_rows_is_refused(statement: str, session: Session, others: Path) -> None:
    """With its reason and a way out; nothing has changed."""
    overlay(session, others)
    with pytest.raises(BindError, match=REFUSED[statement]) as raised:
        session.sql(statement)
    assert "DETACH TABLE" in (raised.value.hint or "")
    assert raised.value.span is not None
    assert rows(session, "SELECT * FROM t") == [(2, "b"), (3, "C")]


def test_partitions_are_changed_each_for_itself(session: Session, others: Path) -> None:
    """New rows go to the partition that others have; an overwritten one hides theirs; a new one and
    an empty one are the overlay's alone. Names with blanks and ``=`` are escaped as theirs are.
    """
    overlay(session, others, "p")
    session.sql("INSERT INTO p PARTITION (d, n) VALUES (5, 'e', 'x y', 1), (6, 'f', 'New', 7)")
    session.sql("UPDATE p SET v = 'z' WHERE d = 'x y' AND k < 3")
    session.sql("INSERT OVERWRITE TABLE p PARTITION (d='A=b', n=1) SELECT 30, 'over'")
    session.sql("ALTER TABLE p ADD PARTITION (d='empty', n=0)")
    with pytest.raises(BindError, match="lie beside its changes"):
        session.sql("ALTER TABLE p ADD PARTITION (d='e', n=0) LOCATION '/tmp/elsewhere'")
    assert rows(session, "SELECT k, v, d, n FROM p") == [
        (1, "z", "x y", 1), (2, "z", "x y", 2), (30, "over", "A=b", 1), (4, "d", "x y", 1),
        (5, "e", "x y", 1), (6, "f", "New", 7),
    ]  # fmt: skip
    assert len(rows(session, "SHOW PARTITIONS p")) == 5
    described = session.sql("DESCRIBE CHANGES OF p")
    assert list(described.rows()) == [
        ("d=A%3Db/n=1", "1", "0", "1"),
        ("d=New/n=7", "1", "0", "0"),
        ("d=x y/n=1", "1", "1", "0"),
        ("d=x y/n=2", "0", "1", "0"),
    ]
    assert described.notes == ("rows: 3 inserted, 2 updated, 1 deleted",)
    session.sql("TRUNCATE TABLE p PARTITION (d='x y', n=1)")
    assert rows(session, "SELECT k FROM p WHERE d = 'x y'") == [(2,)]
    session.sql("INSERT INTO p PARTITION (d='x y', n=1) VALUES (44, 'behind')")
    assert rows(session, "SELECT k FROM p WHERE d = 'x y'") == [(2,), (44,)]


def test_changes_are_counted_as_they_are_in_the_end(session: Session, others: Path) -> None:
    """What was inserted and deleted again is none; an update is one where it is the last change."""
    overlay(session, others)
    assert changes(session) == "0 inserted, 0 updated, 0 deleted"
    session.sql("INSERT INTO t VALUES (4, 'd'), (5, 'e')")
    session.sql("DELETE FROM t WHERE k = 4")
    assert changes(session) == "1 inserted, 0 updated, 0 deleted"
    session.sql("UPDATE t SET v = 'u' WHERE k IN (2, 5)")
    assert changes(session) == "1 inserted, 1 updated, 0 deleted"
    session.sql("DELETE FROM t WHERE k = 3")
    assert changes(session) == "1 inserted, 1 updated, 1 deleted"
    session.sql("ALTER TABLE t COMPACT 'minor' AND WAIT")
    assert changes(session) == "2 inserted, 0 updated, 2 deleted"
    session.sql("INSERT OVERWRITE TABLE t SELECT * FROM t")
    assert changes(session) == "2 inserted, 0 updated, 2 deleted"
    session.sql(f"CREATE TABLE mine (k INT) {ACID}")
    with pytest.raises(BindError, match="is no overlay"):
        session.sql("DESCRIBE CHANGES OF mine")
    assert rows(session, "DESCRIBE mine") == [("k", "int", "")]


def test_a_merge_in_a_transaction_is_counted_by_its_statements(
    session: Session, others: Path
) -> None:
    """Its legs have numbers of their own; what is rolled back has changed nothing."""
    overlay(session, others)
    session.sql("START TRANSACTION")
    session.sql("DELETE FROM t")
    assert rows(session, "SELECT * FROM t") == []
    session.sql("ROLLBACK")
    assert changes(session) == "0 inserted, 0 updated, 0 deleted"
    session.sql("START TRANSACTION")
    session.sql(
        "MERGE INTO t USING (SELECT 2 AS k UNION ALL SELECT 3 UNION ALL SELECT 8) s ON t.k = s.k"
        " WHEN MATCHED AND t.k = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'u'"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'n')"
    )
    session.sql("INSERT INTO t VALUES (10, 'more')")
    session.sql("COMMIT")
    assert changes(session) == "2 inserted, 1 updated, 1 deleted"


def test_look_alikes_keep_their_rows_apart(session: Session, others: Path) -> None:
    """Two overlays over one location, and the location itself read only: each has its own rows, and
    each can be merged into the other.
    """
    overlay(session, others, "t", "one")
    overlay(session, others, "t", "two")
    session.sql(f"ATTACH TABLE theirs FROM '{others / 't'}' READ ONLY {ASSUMED} EXCEPT (3)")
    session.sql("UPDATE one SET v = 'one' WHERE k = 2")
    session.sql("DELETE FROM two WHERE k = 2")
    session.sql("INSERT INTO two VALUES (4, 'two')")
    assert rows(session, "SELECT * FROM one") == [(2, "one"), (3, "C")]
    assert rows(session, "SELECT * FROM two") == [(3, "C"), (4, "two")]
    assert rows(session, "SELECT * FROM theirs") == [(2, "b"), (3, "C")]
    session.sql(
        "MERGE INTO one USING two ON one.k = two.k WHEN MATCHED THEN UPDATE SET v = 'both'"
        " WHEN NOT MATCHED THEN INSERT VALUES (two.k, two.v)"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert rows(session, "SELECT * FROM one") == [(3, "both"), (4, "two")]
    assert rows(session, "SELECT * FROM two") == [(3, "C"), (4, "two")]
    with pytest.raises(BindError, match=r"overlay default\.\w+ lies over table default\.theirs"):
        session.sql("ADOPT TABLE theirs NOT CLUSTERED")
    session.sql("DETACH TABLE one")
    session.sql("DETACH TABLE theirs")
    assert rows(session, "SELECT * FROM two") == [(3, "C"), (4, "two")]


def test_it_is_pinned(session: Session, others: Path, tmp_path: Path) -> None:
    """What others write later is not seen, not even a new partition or a compaction that leaves the
    old directories where they are.
    """
    copy = tmp_path / "copy"
    shutil.copytree(others, copy)
    overlay(session, copy)
    overlay(session, copy, "p")
    session.sql("INSERT INTO t VALUES (4, 'd')")
    with Session(copy, settings=LOCAL) as theirs:
        theirs.sql("INSERT INTO t VALUES (40, 'later')")
        theirs.sql("INSERT INTO p PARTITION (d='later', n=1) VALUES (50, 'later')")
    (copy / "t" / "base_0000004_v0000099").mkdir()
    shutil.copytree(copy / "t" / "delta_0000003_0000003_0000", copy / "t" / "base_0000004")
    assert rows(session, "SELECT * FROM t") == [(2, "b"), (3, "C"), (4, "d")]
    assert len(rows(session, "SELECT * FROM p")) == 4
    session.sql("INSERT INTO p PARTITION (d='later', n=1) VALUES (6, 'ours')")
    assert rows(session, "SELECT k FROM p WHERE d = 'later'") == [(6,)]


@pytest.mark.parametrize("what", ["delta", "file", "all"])
def test_what_is_gone_is_told(what: str, session: Session, others: Path, tmp_path: Path) -> None:
    """The next statement names what others have taken away, and never shows the rest; the overlay
    can be let go of.
    """
    copy = tmp_path / "copy"
    shutil.copytree(others / "t", copy)
    session.sql(f"ATTACH TABLE t FROM '{copy}' OVERLAY {ASSUMED} EXCEPT (3)")
    session.sql("INSERT INTO t VALUES (4, 'd')")
    gone = {
        "delta": copy / "delete_delta_0000002_0000002_0000",
        "file": next((copy / "delta_0000004_0000004_0000").glob("bucket_*")),
        "all": copy,
    }[what]
    gone.unlink() if what == "file" else shutil.rmtree(gone)
    for statement in ("SELECT * FROM t", "DELETE FROM t", "SELECT count(*) FROM t"):
        with pytest.raises(OperationalError, match="others have changed it since") as raised:
            session.sql(statement).rows()
        assert not raised.value.retryable
        assert "DETACH TABLE" in (raised.value.hint or "")
    assert session.sql("DETACH TABLE t").notes[0] == "the changes go; they could not be counted"
    assert rows(session, "SHOW TABLES") == []


def test_detach_says_what_goes(session: Session, others: Path) -> None:
    """So does its dry run, which changes nothing. The directory goes, and the name is free."""
    overlay(session, others)
    session.sql("INSERT INTO t VALUES (4, 'd')")
    session.sql("DELETE FROM t WHERE k = 2")
    lines = [line for (line,) in session.sql("DRY RUN DETACH TABLE t").rows()]
    assert lines[0].startswith("DETACH TABLE default.t: 2 files (")
    assert lines[1:] == [
        "  rows: 1 inserted, 0 updated, 1 deleted",
        f"  cannot be undone: {session.warehouse}/t is deleted",
        f"  the rows of others stay at {others}/t",
    ]
    late = session.sql("SELECT * FROM t")
    session.sql("SET acidsql.dry.run=true")
    session.sql("DETACH TABLE t")
    session.sql("SET acidsql.dry.run=false")
    assert len(rows(session, "SELECT * FROM t")) == 2
    assert session.sql("DETACH TABLE t").notes == (
        "changes that go: 1 inserted, 0 updated, 1 deleted",
    )
    assert sorted(late.rows()) == [(3, "C"), (4, "d")]
    late.close() if hasattr(late, "close") else None
    session.sql(f"CREATE TABLE t (k INT) {ACID}")
    session.sql("INSERT INTO t VALUES (1)")
    assert rows(session, "SELECT * FROM t") == [(1,)]


def test_a_database_takes_its_overlays_with_it(session: Session, others: Path) -> None:
    """And nothing of others."""
    session.sql("CREATE DATABASE night")
    overlay(session, others, "t", "night.t")
    session.sql("INSERT INTO night.t VALUES (4, 'd')")
    session.sql("DROP DATABASE night CASCADE")
    assert not Path(session.warehouse, "night.db", "t").exists()


def test_what_cannot_be_is_told_at_its_place(
    session: Session, others: Path, tmp_path: Path
) -> None:
    """Plain tables, names and directories that are taken, tables of this warehouse; nothing is
    left of it.
    """
    (tmp_path / "plain").mkdir()
    orc.write_table(pa.table({"k": [1]}), tmp_path / "plain" / "000000_0")
    with pytest.raises(BindError, match="only a transactional table can have an overlay"):
        session.sql(f"ATTACH TABLE u FROM '{tmp_path / 'plain'}' OVERLAY")
    overlay(session, others)
    with pytest.raises(AlreadyExistsError):
        overlay(session, others)
    session.sql(f"CREATE TABLE mine (k INT) {ACID}")
    session.sql("INSERT INTO mine VALUES (1)")
    with pytest.raises(BindError, match=r"overlaps that of table default\.mine"):
        session.sql(f"ATTACH TABLE u FROM '{session.warehouse}/mine' OVERLAY {ASSUMED}")
    with pytest.raises(BindError, match=r"overlaps that of table default\.t"):
        session.sql(f"ATTACH TABLE u FROM '{session.warehouse}/t' OVERLAY {ASSUMED}")
    Path(session.warehouse, "taken").mkdir()
    Path(session.warehouse, "taken", "file").touch()
    with pytest.raises(BindError, match="is not empty"):
        overlay(session, others, "t", "taken")
    with pytest.raises(Error, match="the one or the other"):
        session.sql(f"ATTACH TABLE u FROM '{others / 't'}' READ ONLY OVERLAY {ASSUMED}")
    with pytest.raises(BindError, match="half of its files"):
        session.dump("t")
    assert rows(session, "SHOW TABLES") == [("mine",), ("t",)]
    assert not Path(session.warehouse, "u").exists()


def test_python_attaches(session: Session, others: Path) -> None:
    """``session.attach(.., overlay=True)`` is the statement; with a dump, buckets are known."""
    copy = shutil.copytree(others, Path(session.warehouse).parent / "copy")
    with Session(copy, settings=LOCAL) as theirs:
        dump = theirs.dump("b")
    path = Path(session.warehouse).parent / "b.dump"
    path.write_text(dump)
    session.attach("b", others / "b", dump=path, overlay=True)
    session.sql("INSERT INTO b VALUES (5, 'e'), (6, 'f'), (7, 'g')")
    names = {file.name for file in Path(session.warehouse, "b").rglob("bucket_*")}
    assert len(names) > 1
    assert rows(session, "SELECT k FROM b WHERE k IN (4, 7)") == [(4,), (7,)]
    session.attach("t", others / "t", aborted=[3], overlay=True)
    assert session.sql("UPDATE t SET v = 'x'").stats.rows_updated == 2


def test_a_job_of_two_conflicts_as_on_any_table(session: Session, others: Path) -> None:
    """Two that change one row of others: the first that commits wins."""
    overlay(session, others)
    with Session(session.warehouse, settings=LOCAL) as other:
        session.sql("START TRANSACTION")
        session.sql("UPDATE t SET v = 'one' WHERE k = 2")
        other.sql("START TRANSACTION")
        other.sql("UPDATE t SET v = 'three' WHERE k = 3")
        other.sql("COMMIT")
        session.sql("COMMIT")
        assert rows(other, "SELECT * FROM t") == [(2, "one"), (3, "three")]
        session.sql("START TRANSACTION")
        session.sql("DELETE FROM t WHERE k = 2")
        other.sql("START TRANSACTION")
        other.sql("UPDATE t SET v = 'two' WHERE k = 2")
        session.sql("COMMIT")
        with pytest.raises(WriteConflictError):
            other.sql("COMMIT")
        assert rows(other, "SELECT * FROM t") == [(3, "three")]


def test_load_and_analyze(session: Session, others: Path, tmp_path: Path) -> None:
    """Files that are loaded lie in the overlay; statistics are of both, and count(*) agrees."""
    overlay(session, others)
    orc.write_table(
        pa.table({"k": pa.array([7, 8], pa.int32()), "v": ["x", "y"]}), tmp_path / "000000_0"
    )
    session.sql(f"LOAD DATA LOCAL INPATH '{tmp_path / '000000_0'}' INTO TABLE t")
    session.sql("UPDATE t SET v = 'z' WHERE k = 8")
    session.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert rows(session, "SELECT count(*) FROM t") == [(4,)]
    session.sql("DELETE FROM t WHERE k = 7")
    assert rows(session, "SELECT count(*) FROM t") == [(3,)]
    assert rows(session, "SELECT * FROM t") == [(2, "b"), (3, "C"), (8, "z")]
    assert changes(session) == "1 inserted, 0 updated, 0 deleted"


def test_no_base_is_ever_made(session: Session, others: Path) -> None:
    """The initiator asks for minor compactions alone, at any threshold; a worker refuses others."""
    overlay(session, others)
    for k in range(12):
        session.sql(f"INSERT INTO t VALUES ({k + 100}, 'x')")
    asks = Initiator(
        store=session.store,
        files=LOCAL_FILES,
        settings=session.settings,
        clock=time.time,
        name="here-0",
    )
    assert asks.run_once()
    while worker(session).run_once():
        pass
    cleaner_of(session).run_once()
    request = CompactionRequest(
        table=TableName("default", "t"),
        partition=None,
        type=CompactionType.MAJOR,
        initiator="here-0",
    )
    assert session.store.enqueue_compaction(request).accepted
    while worker(session).run_once():
        pass
    shown = [(row[4], row[5]) for row in session.sql("SHOW COMPACTIONS").rows()]
    assert sorted(shown) == [("MAJOR", "refused"), ("MINOR", "succeeded")]
    assert [path.name for path in Path(session.warehouse, "t").glob("base_*")] == []


def test_the_doctor_finds_nothing(
    session: Session, others: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partitions without changes have no directory of their own, and lack none."""
    overlay(session, others)
    overlay(session, others, "p")
    session.sql("UPDATE t SET v = 'x'")
    session.sql("INSERT INTO p PARTITION (d='new', n=1) VALUES (1, 'x')")
    ran = called(capsys, "doctor", "--warehouse", session.warehouse, "--metastore", "")
    assert ran.code == 0, ran.out


@pytest.mark.spark
@pytest.mark.parametrize("path", [pytest.param("small", marks=pytest.mark.slow), "big"])
def test_spark_keeps_look_alikes_apart(
    session: Session, others: Path, spark: SparkSession, path: str
) -> None:
    """Two overlays and the location read only in one statement; the one is merged from the other;
    partitions that only the overlay has, and overwritten ones.
    """
    for name in ("one", "two"):
        overlay(session, others, "t", name)
    session.sql(f"ATTACH TABLE theirs FROM '{others / 't'}' READ ONLY {ASSUMED} EXCEPT (3)")
    overlay(session, others, "p")
    settings = {**LOCAL, "acidsql.engine": "spark", "acidsql.write.path": path}
    with Session(session.warehouse, spark=spark, settings=settings) as on_spark:
        on_spark.sql("UPDATE one SET v = 'one' WHERE k = 2")
        on_spark.sql("DELETE FROM two WHERE k = 2")
        on_spark.sql("INSERT INTO two VALUES (4, 'two')")
        query = (
            "SELECT coalesce(r.k, o.k, w.k), r.v, o.v, w.v FROM theirs r"
            " FULL JOIN one o ON r.k = o.k FULL JOIN two w ON w.k = coalesce(r.k, o.k)"
        )
        expected = [(2, "b", "one", None), (3, "C", "C", "C"), (4, None, None, "two")]
        assert rows(on_spark, query) == expected
        on_spark.sql(
            "MERGE INTO one USING two ON one.k = two.k WHEN MATCHED THEN UPDATE SET v = 'both'"
            " WHEN NOT MATCHED THEN INSERT VALUES (two.k, two.v)"
            " WHEN NOT MATCHED BY SOURCE THEN DELETE"
        )
        assert rows(on_spark, query) == [
            (2, "b", None, None), (3, "C", "both", "C"), (4, None, "two", "two"),
        ]  # fmt: skip
        on_spark.sql("INSERT OVERWRITE TABLE p PARTITION (d, n) SELECT 30, 'over', 'A=b', 1")
        on_spark.sql("INSERT INTO p SELECT 6, 'f', 'New', 7")
        on_spark.sql("UPDATE p SET v = 'z' WHERE k < 3")
        assert rows(on_spark, "SELECT k, v, d FROM p") == [
            (1, "z", "x y"), (2, "z", "x y"), (30, "over", "A=b"), (4, "d", "x y"), (6, "f", "New"),
        ]  # fmt: skip
    assert changes(session, "p") == "2 inserted, 2 updated, 1 deleted"


def test_the_doctor_tells_what_is_gone(
    session: Session, others: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the partition that cannot be read any more, and what to do."""
    copy = tmp_path / "copy"
    shutil.copytree(others, copy)
    overlay(session, copy, "p")
    shutil.rmtree(copy / "p" / "d=A%3Db")
    ran = called(capsys, "doctor", "--warehouse", session.warehouse, "--metastore", "")
    assert ran.code == 1
    assert "gone below an overlay" in ran.out
    assert "d=A%3Db/n=1" in ran.out
    assert "DETACH TABLE default.p" in ran.out


def test_health_names_what_it_lies_over(session: Session, others: Path) -> None:
    """And promises nothing of a major compaction, which there is none of."""
    overlay(session, others)
    session.sql("UPDATE t SET v = 'x'")
    facts = [(item, value) for _, item, value in session.sql("DESCRIBE HEALTH t").rows()]
    assert ("is an overlay over", f"{others}/t") in facts
    assert not any("major" in str(item) for item, _ in facts)


def test_attach_makes_a_warehouse(tmp_path: Path) -> None:
    """It may be the first statement of all."""
    others = make_tables(tmp_path / "others")
    settings = {**LOCAL, "acidsql.store.create": "needed"}
    with Session(tmp_path / "new", settings=settings) as session:
        overlay(session, others)
        session.sql("DELETE FROM t WHERE k = 2")
        assert rows(session, "SELECT * FROM t") == [(3, "C")]


def test_an_older_snapshot_is_read(session: Session, others: Path) -> None:
    """The overlay's and that of others: a write id of theirs tells the rows of that time."""
    overlay(session, others)
    session.sql("UPDATE t SET v = 'x'")
    seen = [
        sorted(row["v"] for row in session.scan("t", as_of=one).to_arrow().to_pylist())
        for one in (1, 2, 4, 5)
    ]
    assert seen == [["a", "b", "c"], ["b", "c"], ["C", "b"], ["x", "x"]]


def test_it_lies_over_a_store_of_objects(tmp_path: Path, s3: S3Server) -> None:
    """What others have on S3 stays as it is; the changes lie on the local disk."""
    location = f"s3://{BUCKET}/warehouse/t"
    with Session(tmp_path / "others", settings={**LOCAL, **s3.settings}) as others:
        others.sql(
            f"CREATE TABLE t (k INT, v STRING) PARTITIONED BY (d STRING) STORED AS ORC"
            f" LOCATION '{location}' TBLPROPERTIES ('transactional'='true')"
        )
        others.sql("INSERT INTO t VALUES (1, 'a', 'x y'), (2, 'b', 'z')")
        others.sql("DELETE FROM t WHERE k = 1")
        others.sql("INSERT INTO t VALUES (3, 'c', 'x y')")
    before = s3.names()
    with Session(tmp_path / "warehouse", settings={**LOCAL, **s3.settings}) as session:
        session.sql(f"ATTACH TABLE t FROM '{location}' OVERLAY {ASSUMED}")
        session.sql("UPDATE t SET v = 'C' WHERE k = 3")
        session.sql("INSERT OVERWRITE TABLE t PARTITION (d='z') SELECT 5, 'e'")
        assert rows(session, "SELECT k, v FROM t") == [(3, "C"), (5, "e")]
        assert changes(session) == "1 inserted, 1 updated, 1 deleted"
        assert s3.names() == before
        session.sql("DETACH TABLE t")
        assert s3.names() == before
